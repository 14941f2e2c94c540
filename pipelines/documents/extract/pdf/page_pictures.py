"""The pictures of a PDF page: where they are, and which words lie on them or behind them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Box, bounding_box
from pipelines.documents.extract.pdf.annotations import PageNotes
from pipelines.documents.extract.pdf.page_words import PageMapper
from pipelines.documents.extract.pdf.shapes import outlined_letters, page_matrix
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.ocr.letter_rows import MANY_LETTERS
from pipelines.documents.ocr.picture import rendered_array
from pipelines.documents.ocr.reading import Picture

_CELLS = 256  # the page is looked at in so many rows and columns: strips of one scan touch in them
_LEAST_AREA, _LEAST_WIDE, _LEAST_HIGH = 0.002, 18.0, 7.0  # of the page; points: less is a line, a bullet, an icon
_ON_TOP = 0.5  # of a word's box: more of it on a picture, and it lies there
LAYER_DPI = 50  # to see whether words stand where there is ink
_EDGE = 0.001  # of the page: a picture that is no further from its edges is the page


AreaKind = Literal["picture", "drawing", "stamp", "ink"]
"""A drawing is of shapes that may be letters; stamp and ink are annotations, ink of lines drawn by hand."""


@dataclass(frozen=True, slots=True)
class PictureArea:
    """A part of the page that pictures cover."""

    box: Box  # on the page, in fractions
    share: float  # of the page, 0 to 1
    on_top: tuple[PageToken, ...]  # native words that are seen on it
    behind: tuple[PageToken, ...]  # those that are not: drawn invisibly, or under the picture
    kind: AreaKind = "picture"


def picture_areas(
    page: pdfium.PdfPage, objects: Sequence[pdfium.PdfObject], tokens: Sequence[PageToken]
) -> tuple[PictureArea, ...]:
    """The areas that pictures cover, and shapes that may be letters, the largest first.

    Those that touch are one, lines and icons are none.
    """
    pictures = [(order, item) for order, item in enumerate(objects) if item.type == raw.FPDF_PAGEOBJ_IMAGE]
    mapper = PageMapper(page)
    letters = outlined_letters(objects, MANY_LETTERS)
    if not pictures and letters is None:
        return ()
    boxes = [(order, mapper.box(*page_matrix(item).on_rect(0, 0, 1, 1)), _is_opaque(item)) for order, item in pictures]
    width, height = page.get_size()
    orders = {_object_address(item): order for order, item in enumerate(objects) if item.type == raw.FPDF_PAGEOBJ_TEXT}
    found = []
    for box in _joined_boxes([*(box for _, box, _ in boxes), *([mapper.box(*letters)] if letters else [])]):
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
        pictured = any(overlap_share(picture, box) for _, picture, _ in boxes)
        found.append(PictureArea(box, share, tuple(on_top), tuple(behind), "picture" if pictured else "drawing"))
    return tuple(sorted(found, key=lambda area: area.share, reverse=True))


def annotation_areas(notes: PageNotes) -> tuple[PictureArea, ...]:
    """Areas of annotations of which there is but a picture."""
    kinds: list[tuple[Box, AreaKind]] = [(box, "stamp") for box in notes.stamps]
    kinds += [(box, "ink") for box in notes.ink]
    return tuple(PictureArea(box, (box.x1 - box.x0) * (box.y1 - box.y0), (), (), kind) for box, kind in kinds)


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
    return rendered_array(page.render(scale=scale, draw_annots=False, crop=_crop(page, box)))


def render_annotations(page: pdfium.PdfPage, box: Box, scale: float) -> Picture:
    """What annotations draw over a part of the page, on white paper."""

    def drawn(annotations: bool) -> Picture:
        bitmap = page.render(scale=scale, draw_annots=annotations, may_draw_forms=annotations, crop=_crop(page, box))
        return np.asarray(bitmap.to_numpy()[..., :3])

    shown = drawn(True)
    return np.where((shown != drawn(False)).any(axis=2, keepdims=True), shown, 255)[..., ::-1].astype(np.uint8)


def _crop(page: pdfium.PdfPage, box: Box) -> tuple[float, float, float, float]:
    width, height = page.get_size()
    whole = max(box.x0, box.y0, 1 - box.x1, 1 - box.y1) <= _EDGE
    return (0, 0, 0, 0) if whole else (box.x0 * width, (1 - box.y1) * height, (1 - box.x1) * width, box.y0 * height)


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
    yield from map(bounding_box, groups.values())


def _is_opaque(item: pdfium.PdfObject) -> bool:
    return not raw.FPDFPageObj_HasTransparency(item)


def _object_address(item: pdfium.PdfObject) -> int:
    return raw.ctypes.cast(item.raw, raw.ctypes.c_void_p).value or 0


def _object_at(source: int) -> object:
    return raw.ctypes.cast(source, raw.FPDF_PAGEOBJECT)
