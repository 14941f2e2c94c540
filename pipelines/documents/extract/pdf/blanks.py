"""A minus that a PDF draws for the code of a blank: right after a blank pdfium passes it over."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pypdfium2 as pdfium

from pipelines.documents.document import Box
from pipelines.documents.extract.pdf.glyphs import Glyph, sign_by_shape
from pipelines.documents.extract.pdf.page_words import PageMapper

_DPI = 200
_WIDER, _WIDEST = 0.3, 1.5  # of the type's size: how much wider than others of its line such a blank is
_LOW, _HIGH, _BESIDE = 0.06, 0.75, 0.04  # of the type's size: where a sign stands over the base line, and its distance
_APART = 0.02  # of the size: white on both sides, so that it is no part of a neighbour
_CONTRAST = 60  # of 255
_BEFORE_FIGURES = "0123456789.,$€£¥("


class _Gap(NamedTuple):
    """A blank before a figure that is wide enough for a sign: the blank's index, and from where to where in points."""

    at: int
    left: float
    right: float


def with_drawn_minus(page: pdfium.PdfPage, mapper: PageMapper, glyphs: list[Glyph]) -> list[Glyph]:
    """The glyphs with a `-` where a bar is drawn in a blank before a figure: it must not lose its sign.

    The page is only looked at where a blank before a figure is wider than others of its font.
    """
    gaps = list(_wide_blanks(glyphs))
    if not gaps or page.get_rotation():
        return glyphs
    image = page.render(scale=_DPI / 72, draw_annots=False).to_numpy()
    found: dict[int, Glyph] = {}
    for gap in gaps:
        run = glyphs[gap.at].run
        assert run is not None
        box = mapper.box(gap.left, run.level + _LOW * run.size, gap.right, run.level + _HIGH * run.size)
        ink = _ink_box(image, box)
        if ink is not None:
            wide, high = gap.right - gap.left, (_HIGH - _LOW) * run.size
            left, right = gap.left + ink.x0 * wide, gap.left + ink.x1 * wide
            bottom, top = (run.level + _HIGH * run.size - y * high for y in (ink.y1, ink.y0))
            apart = min(left - gap.left, gap.right - right) >= _APART * run.size
            if apart and sign_by_shape(left, bottom, right, top, run) == "-":
                found[gap.at] = Glyph("-", left, bottom, right, top, run)
    if not found:
        return glyphs
    return [one for at, glyph in enumerate(glyphs) for one in ((glyph, found[at]) if at in found else (glyph,))]


def _wide_blanks(glyphs: Sequence[Glyph]) -> Iterator[_Gap]:
    usual: dict[int, float] = {}
    wide: list[tuple[int, Glyph, Glyph]] = []
    for at, (blank, after) in enumerate(pairwise(glyphs)):
        run = blank.run
        if blank.char != " " or run is None or after.run is not run or run.along != (1.0, 0.0) or run.hidden:
            continue
        gap = after.left - blank.left
        usual[run.font] = min(usual.get(run.font, gap / run.size), gap / run.size) if run.size else 0.0
        if after.char in _BEFORE_FIGURES:
            wide.append((at, blank, after))
    for at, blank, after in wide:
        run = blank.run
        if run is None or not run.size:
            continue
        more = (after.left - blank.left) / run.size - usual[run.font]
        if _WIDER < more < _WIDEST:
            left = blank.left + (usual[run.font] + _BESIDE) * run.size
            yield _Gap(at, left, after.left - _BESIDE * run.size)


def _ink_box(image: np.ndarray, box: Box) -> Box | None:
    """Bounding box of the ink in a part of the page, in fractions of the part; None where nothing is drawn.

    `image` is H × W × colours; of a coloured sign the darkest of them counts.
    """
    height, width = image.shape[:2]
    part = image[
        int(box.y0 * height) : int(np.ceil(box.y1 * height)), int(box.x0 * width) : int(np.ceil(box.x1 * width))
    ]
    if part.size == 0:
        return None
    part = part.min(axis=2).astype(np.int16)
    dark = abs(part - int(np.median(part))) > _CONTRAST
    if not dark.any():
        return None
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    high, wide = part.shape[:2]
    edges = columns[0] / wide, rows[0] / high, (columns[-1] + 1) / wide, (rows[-1] + 1) / high
    return Box(*map(float, edges))
