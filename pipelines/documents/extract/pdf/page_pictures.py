"""The pictures of a PDF page: where they are, which words lie on them or behind them, and whether they hold text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Box
from pipelines.documents.extract.pdf.page_words import PageMapper, PageToken
from pipelines.documents.extract.pdf.shapes import page_matrix
from pipelines.documents.ocr.picture import rendered_array
from pipelines.documents.ocr.reading import Picture

_CELLS = 256  # the page is looked at in so many rows and columns: strips of one scan touch in them
_LEAST_AREA, _LEAST_WIDE, _LEAST_HIGH = 0.002, 18.0, 7.0  # of the page; points: less is a line, a bullet, an icon
_ON_TOP = 0.5  # of a word's box: more of it on a picture, and it lies there
LOOK_DPI, LAYER_DPI = 110, 50  # to find letters, and to see whether words stand where there is ink
_EDGE = 0.001  # of the page: a picture that is no further from its edges is the page
_LETTER_LEAST, _LETTER_MOST = 4, 70  # pixels at that resolution
_PAIR, _WORD = 2, 4  # letters side by side that count in a drawing, and in a photo
_FLAT = 0.4  # of the pixels: a picture with so many of one shade is drawn, not taken
_CONTRAST = 25  # of 255, between ink and what is around it
_MUCH_OF_GRAIN = 0.1
_MANY_DOTS, _FEW_LETTERS = 6_000, 0.3  # pieces of ink, and the part of them that is as high as letters are


@dataclass(frozen=True, slots=True)
class PictureArea:
    """A part of the page that pictures cover."""

    box: Box  # on the page, in fractions
    share: float  # of the page, 0 to 1
    on_top: tuple[PageToken, ...]  # native words that are seen on it
    behind: tuple[PageToken, ...]  # those that are not: drawn invisibly, or under the picture


def picture_areas(
    page: pdfium.PdfPage, objects: Sequence[pdfium.PdfObject], tokens: Sequence[PageToken]
) -> tuple[PictureArea, ...]:
    """The areas that pictures cover, the largest first; those that touch are one, lines and icons are none."""
    pictures = [(order, item) for order, item in enumerate(objects) if item.type == raw.FPDF_PAGEOBJ_IMAGE]
    if not pictures:
        return ()
    mapper = PageMapper(page)
    boxes = [(order, mapper.box(*page_matrix(item).on_rect(0, 0, 1, 1)), _is_opaque(item)) for order, item in pictures]
    width, height = page.get_size()
    orders = {_object_address(item): order for order, item in enumerate(objects) if item.type == raw.FPDF_PAGEOBJ_TEXT}
    found = []
    for box in _joined_boxes([box for _, box, _ in boxes]):
        share = (box.x1 - box.x0) * (box.y1 - box.y0)
        large = (box.x1 - box.x0) * width >= _LEAST_WIDE and (box.y1 - box.y0) * height >= _LEAST_HIGH
        if share < _LEAST_AREA or not large:
            continue
        on_top: list[PageToken] = []
        behind: list[PageToken] = []
        for token in tokens:
            if token.box is None or overlap_share(token.box, box) < _ON_TOP:
                continue
            order = orders.get(token.source, len(objects))
            under = any(
                above > order and opaque and overlap_share(token.box, cover) > _ON_TOP for above, cover, opaque in boxes
            )
            (behind if token.hidden or under else on_top).append(token)
        found.append(PictureArea(box, share, tuple(on_top), tuple(behind)))
    return tuple(sorted(found, key=lambda area: area.share, reverse=True))


def overlap_share(box: Box, other: Box) -> float:
    """The part of `box` that lies on `other`, 0 to 1."""
    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
    high = min(box.y1, other.y1) - max(box.y0, other.y0)
    if wide <= 0 or high <= 0:
        return 0.0
    return wide * high / max((box.x1 - box.x0) * (box.y1 - box.y0), 1e-12)


@contextmanager
def without_words(page: pdfium.PdfPage, tokens: Sequence[PageToken]) -> Iterator[None]:
    """The page as it would be drawn without the text objects of these words."""
    sources = {token.source for token in tokens if token.source}
    for source in sources:
        raw.FPDFPageObj_SetIsActive(_object_at(source), False)
    try:
        yield
    finally:
        for source in sources:
            raw.FPDFPageObj_SetIsActive(_object_at(source), True)


def render_area(page: pdfium.PdfPage, box: Box, scale: float) -> Picture:
    """A part of the page, at `scale` pixels a point, without the remarks that are drawn over it."""
    width, height = page.get_size()
    crop = (box.x0 * width, (1 - box.y1) * height, (1 - box.x1) * width, box.y0 * height)
    whole = max(box.x0, box.y0, 1 - box.x1, 1 - box.y1) <= _EDGE
    bitmap = page.render(scale=scale, draw_annots=False, crop=(0, 0, 0, 0) if whole else crop)
    return rendered_array(bitmap)


def letters_in(image: Picture) -> int:
    """Count the signs of a picture that stand side by side as letters do; on dark ground, too. Milliseconds.

    A drawing has its labels of two figures counted; in a photo, whose grain stands side by side as well, only words
    count, and only where they are more than a small part of the grain.

    Args:
        image: at LOOK_DPI.
    """
    import cv2  # half of what a file may have in the smallest setting; most pages have no picture to look at

    grey = image if image.ndim == 2 else np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    if grey.size == 0 or grey.min() == grey.max():
        return 0
    shades = np.bincount((grey // 8).ravel(), minlength=32)
    drawn = shades.max() >= _FLAT * grey.size
    # Around each place, not for the whole: a light word on a dark band has its own paper.
    difference = grey.astype(np.int16) - cv2.blur(grey, (25, 25)).astype(np.int16)
    return max(_in_rows(ink.astype(np.uint8), drawn) for ink in (difference < -_CONTRAST, difference > _CONTRAST))


def is_grained(image: Picture) -> bool:
    """True for a picture full of dots and dashes, as squared paper is: OCR would try for minutes to read them.

    Args:
        image: at LOOK_DPI.
    """
    import cv2

    grey = image if image.ndim == 2 else np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    difference = grey.astype(np.int16) - cv2.blur(grey, (25, 25)).astype(np.int16)
    ink = (difference < -_CONTRAST).astype(np.uint8)
    _, _, facts, _ = cv2.connectedComponentsWithStats(ink, connectivity=8, ltype=cv2.CV_32S)
    high = facts[1:, cv2.CC_STAT_HEIGHT]
    return len(high) > _MANY_DOTS and float((high >= _LETTER_LEAST).mean()) < _FEW_LETTERS


def _in_rows(ink: Picture, drawn: bool) -> int:
    import cv2

    _, _, facts, _ = cv2.connectedComponentsWithStats(ink, connectivity=8, ltype=cv2.CV_32S)
    left, top, wide, high, area = facts[1:].T
    fits = (high >= _LETTER_LEAST) & (high <= _LETTER_MOST) & (wide <= 3 * high) & (8 * wide >= high)
    fits &= area >= 0.12 * wide * high
    boxes = sorted(
        zip(left[fits].tolist(), top[fits].tolist(), wide[fits].tolist(), high[fits].tolist(), strict=True),
        key=lambda b: (b[1] + b[3], b[0]),
    )
    count = 0
    row: list[tuple[int, int, int, int]] = []
    for box in [*boxes, (0, 10**9, 1, 1)]:
        if row and box[1] + box[3] - (row[-1][1] + row[-1][3]) > max(2, 0.15 * row[-1][3]):
            count += _side_by_side(row, _PAIR if drawn else _WORD)
            row = []
        row.append(box)
    return count if drawn or count >= _MUCH_OF_GRAIN * len(boxes) else 0


def _side_by_side(row: list[tuple[int, int, int, int]], least: int) -> int:
    """Of signs on one base line, those in groups of so many that are close and of like height."""
    row.sort()
    count, group = 0, 1
    for last, box in pairwise([*row, (10**9, 0, 1, 1)]):
        gap = box[0] - (last[0] + last[2])
        tall = max(last[3], box[3])
        if -0.3 * tall <= gap <= 0.8 * tall and min(last[3], box[3]) >= 0.45 * tall:
            group += 1
            continue
        count += group if group >= least else 0
        group = 1
    return count


def _joined_boxes(boxes: Sequence[Box]) -> Iterator[Box]:
    """The boxes of those that touch or overlap."""
    import cv2

    if len(boxes) < 2:
        yield from boxes
        return
    grid = np.zeros((_CELLS, _CELLS), np.uint8)
    for box in boxes:
        grid[
            int(box.y0 * _CELLS) : int(np.ceil(box.y1 * _CELLS)), int(box.x0 * _CELLS) : int(np.ceil(box.x1 * _CELLS))
        ] = 1
    _, labels = cv2.connectedComponents(grid, connectivity=4)
    groups: dict[int, list[Box]] = {}
    for box in boxes:
        row, column = min(int(box.y0 * _CELLS), _CELLS - 1), min(int(box.x0 * _CELLS), _CELLS - 1)
        groups.setdefault(int(labels[row, column]), []).append(box)
    for group in groups.values():
        yield Box(
            min(box.x0 for box in group),
            min(box.y0 for box in group),
            max(box.x1 for box in group),
            max(box.y1 for box in group),
        )


def _is_opaque(item: pdfium.PdfObject) -> bool:
    return not raw.FPDFPageObj_HasTransparency(item)


def _object_address(item: pdfium.PdfObject) -> int:
    return raw.ctypes.cast(item.raw, raw.ctypes.c_void_p).value or 0


def _object_at(source: int) -> object:
    return raw.ctypes.cast(source, raw.FPDF_PAGEOBJECT)
