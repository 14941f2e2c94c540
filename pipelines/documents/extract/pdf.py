"""PDF: each page by its own text where it has any, else by OCR of its picture, rendered one at a time."""

import math
import time
from dataclasses import replace
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Page, Reason, Unreadable
from pipelines.documents.extract.image import png
from pipelines.documents.extract.opened import Context, Opened
from pipelines.documents.extract.pdf_shapes import draws_something, picture_share
from pipelines.documents.extract.pdf_tables import find_grids, place_tables
from pipelines.documents.extract.pdf_titles import mark_titles
from pipelines.documents.extract.pdf_words import Native, compose, native_text
from pipelines.documents.ocr.picture import to_array

_DAMAGED_SHARE = 0.3  # above it the font's letters do not mean what they say
_MUCH_OF_THE_PAGE = 0.4


class PdfPages:
    """A PDF that stays open between its pages."""

    def __init__(self, path: Path, context: Context) -> None:
        """Open it, trying the empty password where it has one.

        Raises:
            Unreadable: ENCRYPTED, CORRUPT or EMPTY.
        """
        self._context = context
        try:
            self._pdf = pdfium.PdfDocument(path)
            self.pages = len(self._pdf)
        except (pdfium.PdfiumError, OSError) as error:
            raise _classify(error) from error
        if not self.pages:
            raise Unreadable(Reason.EMPTY, "the document has no pages")
        if self._pdf.get_formtype():
            self._pdf.init_forms()  # so that what was filled in is drawn

    def page(self, number: int) -> Page:
        """Native text with word boxes, or what OCR reads on the rendered page."""
        started = time.monotonic()
        page = self._load(number)
        try:
            native = native_text(page)
            if self._wants_ocr(page, native):
                result = self._by_ocr(page, number, native)
            else:
                result = _by_text(page, number, native)
        except pdfium.PdfiumError as error:
            raise _classify(error) from error
        finally:
            page.close()
        return replace(result, ms=round((time.monotonic() - started) * 1000))

    def picture(self, number: int, dpi: int) -> bytes:
        """The rendered page as PNG."""
        page = self._load(number)
        try:
            bitmap = page.render(scale=self._scale(page, dpi))
            return png(bitmap.to_pil())
        except pdfium.PdfiumError as error:
            raise _classify(error) from error
        finally:
            page.close()

    def close(self) -> None:
        """Close the file."""
        self._pdf.close()

    def _load(self, number: int) -> pdfium.PdfPage:
        try:
            page = self._pdf[number - 1]
            if self._pdf.formenv is not None and page.flatten() == raw.FLATTEN_SUCCESS:
                # What was filled into the form is text of the page from now on.
                page.close()
                page = self._pdf[number - 1]
            return page
        except (pdfium.PdfiumError, IndexError) as error:
            raise Unreadable(Reason.CORRUPT, f"page {number} cannot be loaded") from error

    def _wants_ocr(self, page: pdfium.PdfPage, native: Native) -> bool:
        """IN-10: too little text and a picture that explains it, or letters that mean nothing."""
        if native.damaged > _DAMAGED_SHARE:
            return True
        if native.characters >= self._context.read.min_useful_text:
            return False
        if not native.characters:
            return draws_something(page)
        return picture_share(page) >= _MUCH_OF_THE_PAGE

    def _by_ocr(self, page: pdfium.PdfPage, number: int, native: Native) -> Page:
        scale = self._scale(page, self._context.ocr.dpi)
        pixels = to_array(page.render(scale=scale).to_pil())
        if pixels.min() == pixels.max():
            return _by_text(page, number, native)
        result = self._context.engine.read(pixels, number, round(scale * 72))
        if not result.text.strip() and native.characters and native.damaged <= _DAMAGED_SHARE:
            return replace(_by_text(page, number, native), attempts=result.attempts)
        return result

    def _scale(self, page: pdfium.PdfPage, dpi: int) -> float:
        """Pixels per point; smaller than asked where the page would exceed `max_pixels`."""
        points = max(1.0, page.get_width()) * max(1.0, page.get_height())
        return min(dpi / 72, math.sqrt(self._context.ocr.max_pixels / points))


def open_pdf(path: Path, context: Context) -> Opened:
    """Open a PDF."""
    return PdfPages(path, context)


def _by_text(page: pdfium.PdfPage, number: int, native: Native) -> Page:
    tokens = place_tables(native.tokens, find_grids(page)) if native.tokens else ()
    text, words = compose(mark_titles(tokens))
    return Page(number, text, words)


def _classify(error: BaseException) -> Unreadable:
    code = getattr(error, "err_code", None)
    if code == raw.FPDF_ERR_PASSWORD:
        return Unreadable(Reason.ENCRYPTED, "the PDF needs a password")
    if code == raw.FPDF_ERR_SECURITY:
        return Unreadable(Reason.ENCRYPTED, "the PDF uses a security scheme that is not supported")
    return Unreadable(Reason.CORRUPT, " ".join(str(error).split())[:200])
