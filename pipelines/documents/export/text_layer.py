"""The invisible text layer of a PDF page: words of our own where they stand, without doubling what is there."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Box, Word
from pipelines.documents.export.glyphless_font import ADVANCE, EM, NAME, glyphless_truetype, unicode_cmap
from pipelines.documents.export.text_runs import TextRun, page_runs

_FINE = 10_000  # steps along a side in which PDFium is asked for a place
_CODES = 1 << 16
_NEAR = 0.25  # of a word's height: so far around its box a word of the page is the same one


@dataclass(frozen=True, slots=True)
class PageGeometry:
    """A page's place in its own coordinates: its top left corner as it is looked at, and its two sides from there.

    Rotation, crop box and an origin elsewhere are in it.
    """

    x: float
    y: float
    right: tuple[float, float]
    down: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The point at these fractions of the page."""
        return (self.x + x * self.right[0] + y * self.down[0], self.y + x * self.right[1] + y * self.down[1])

    def run_matrix(self, run: TextRun) -> raw.FS_MATRIX:
        """What makes text of size 1 fill the run's box."""
        wide, high = run.box.x1 - run.box.x0, run.box.y1 - run.box.y0
        along = wide / (len(run.text) * ADVANCE / EM)
        x, y = self.at(run.box.x0, run.box.y1)
        right, up = self.right, (-self.down[0], -self.down[1])
        return raw.FS_MATRIX(along * right[0], along * right[1], high * up[0], high * up[1], x, y)

    def bounds(self, box: Box) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of a box."""
        corners = [self.at(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)]
        return (
            min(x for x, _ in corners),
            min(y for _, y in corners),
            max(x for x, _ in corners),
            max(y for _, y in corners),
        )


def page_geometry(page: pdfium.PdfPage) -> PageGeometry:
    """As PDFium draws the page, so that boxes of a drawn page fit."""

    def place(x: int, y: int) -> tuple[float, float]:
        px, py = ctypes.c_double(), ctypes.c_double()
        raw.FPDF_DeviceToPage(page.raw, 0, 0, _FINE, _FINE, 0, x, y, px, py)
        return px.value, py.value

    (x, y), (rx, ry), (dx, dy) = place(0, 0), place(_FINE, 0), place(0, _FINE)
    return PageGeometry(x, y, (rx - x, ry - y), (dx - x, dy - y))


class InvisibleTextWriter:
    """Writes invisible text into the pages of one open PDF, which holds the font once."""

    def __init__(self, pdf: pdfium.PdfDocument) -> None:
        """Nothing is put into the document before its first word."""
        self._pdf = pdf
        self._font: _LayerFont | None = None
        self._fonts: list[_LayerFont] = []

    def write_page(self, page: pdfium.PdfPage, text: str, words: Sequence[Word]) -> int:
        """Put the words on a page, and the text as it is where nothing has a box; how many runs were written."""
        geometry = page_geometry(page)
        runs = page_runs(text, words)
        # Letters outside of the basic plane have no 16-bit code of their own: a page of them has a font of its own.
        beyond = [run.text for run in runs if _is_beyond(run.text)]
        rare = self._load_font(list(dict.fromkeys("".join(beyond)))[: _CODES - 1]) if beyond else None
        for run in runs:
            font = rare if rare is not None and _is_beyond(run.text) else self._plain_font()
            self._insert_run(page, font, run.text, geometry.run_matrix(run))
        if runs:
            raw.FPDFPage_GenerateContent(page.raw)
        return len(runs)

    def close(self) -> None:
        """Let go of the fonts, before the document is closed."""
        for font in self._fonts:
            raw.FPDFFont_Close(font.handle)
        self._font, self._fonts = None, []

    def _insert_run(self, page: pdfium.PdfPage, font: "_LayerFont", text: str, matrix: raw.FS_MATRIX) -> None:
        codes = [font.codes[char] if font.codes else ord(char) for char in text]
        item = raw.FPDFPageObj_CreateTextObj(self._pdf.raw, font.handle, 1.0)
        raw.FPDFText_SetCharcodes(item, (ctypes.c_uint32 * len(codes))(*codes), len(codes))
        raw.FPDFTextObj_SetTextRenderMode(item, raw.FPDF_TEXTRENDERMODE_INVISIBLE)
        raw.FPDFPageObj_SetMatrix(item, matrix)
        raw.FPDFPage_InsertObject(page.raw, item)

    def _plain_font(self) -> "_LayerFont":
        if self._font is None:
            self._font = self._load_font([])
        return self._font

    def _load_font(self, beyond: Sequence[str]) -> "_LayerFont":
        # PDFium takes fonts of one name for the same, also those that an earlier export left in the file.
        name = f"{NAME}-{blake2b(''.join(beyond).encode(), digest_size=6).hexdigest()}" if beyond else NAME
        data, glyphs = glyphless_truetype(name), b"\0\1" * (len(beyond) + 1 if beyond else _CODES)
        buffers = [(ctypes.c_uint8 * len(part)).from_buffer_copy(part) for part in (data, glyphs)]
        cmap = unicode_cmap(beyond)
        handle = raw.FPDFText_LoadCidType2Font(self._pdf.raw, buffers[0], len(data), cmap, buffers[1], len(glyphs))
        if not handle:
            raise pdfium.PdfiumError("the font of the text layer was refused")
        font = _LayerFont(handle, {char: code for code, char in enumerate(beyond, 1)}, buffers)
        self._fonts.append(font)
        return font


@dataclass(frozen=True, slots=True)
class _LayerFont:
    handle: Any
    codes: Mapping[str, int]  # of its letters; empty where their codes are those of UTF-16
    buffers: Sequence[object]  # what it was loaded from lives as long as it does


def missing_words(page: pdfium.PdfPage, words: Sequence[Word]) -> list[Word]:
    """The words that the page's own text does not have at their place: a text that is there is not doubled."""
    own = page.get_textpage()
    try:
        if not own.count_chars():
            return list(words)
        geometry = page_geometry(page)
        return [word for word in words if not _has_word(own, word, geometry)]
    finally:
        own.close()


def remove_invisible_text(page: pdfium.PdfPage) -> bool:
    """Take the invisible text away that another program wrote behind a scan; False where it has to stay.

    PDFium writes a page's drawing anew for it. Pictures survive that as they are, so it is done to pages that draw
    nothing else.
    """
    found = list(page.get_objects(max_depth=1))
    hidden = [item for item in found if _is_invisible(item)]
    others = [item for item in found if not _is_invisible(item)]
    if not hidden or any(item.type != raw.FPDF_PAGEOBJ_IMAGE for item in others):
        return not hidden
    for item in hidden:
        page.remove_obj(item)
    page.gen_content()
    return True


def _is_invisible(item: pdfium.PdfObject) -> bool:
    if item.type != raw.FPDF_PAGEOBJ_TEXT:
        return False
    return bool(raw.FPDFTextObj_GetTextRenderMode(item.raw) == raw.FPDF_TEXTRENDERMODE_INVISIBLE)


def _has_word(own: pdfium.PdfTextPage, word: Word, geometry: PageGeometry) -> bool:
    box = word.box
    more = _NEAR * (box.y1 - box.y0)
    left, bottom, right, top = geometry.bounds(Box(box.x0 - more, box.y0 - more, box.x1 + more, box.y1 + more))
    there = own.get_text_bounded(left, bottom, right, top)
    letters = _plain_letters(word.text)
    return letters in _plain_letters(there) if letters else word.text in there


def _plain_letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_beyond(text: str) -> bool:
    return any(ord(char) >= _CODES for char in text)
