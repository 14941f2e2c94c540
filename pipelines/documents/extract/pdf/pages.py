"""PDF: each page by its own text and by OCR of its pictures, rendered one at a time."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Box, Caveat, CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument, storable_text
from pipelines.documents.extract.pdf.annotations import (
    PageNotes,
    attached_files,
    is_unseen_form,
    place_notes,
    read_notes,
    xfa_values,
)
from pipelines.documents.extract.pdf.merge import as_tokens
from pipelines.documents.extract.pdf.native_text import NativeText, native_text
from pipelines.documents.extract.pdf.page_pictures import (
    annotation_areas,
    picture_areas,
    render_annotations,
    render_area,
)
from pipelines.documents.extract.pdf.scans import PageReading, PictureReading, is_blank
from pipelines.documents.extract.pdf.shapes import DEPTH
from pipelines.documents.extract.pdf.tables import find_grids
from pipelines.documents.extract.pdf.titles import mark_titles
from pipelines.documents.extract.pdf.unmapped_glyphs import glyph_area, in_question, resolve_glyphs
from pipelines.documents.extract.pictures.image import encode_png
from pipelines.documents.layout.column_tables import find_columns
from pipelines.documents.layout.page_tokens import compose_text
from pipelines.documents.layout.prose import by_column
from pipelines.documents.layout.row_bands import divided_bands
from pipelines.documents.layout.table_grids import place_tables
from pipelines.documents.ocr.letter_rows import LOOK_DPI, seems_to_hold_text
from pipelines.documents.ocr.picture import rendered_array
from pipelines.documents.ocr.reading import EngineMissing

_MOST_OBJECTS = 100_000  # that a page draws; more are a drawing, whose lines make no table
_DAMAGED_SHARE = 0.3  # above it the font's letters do not mean what they say


class PdfPages:
    """A PDF that stays open between its pages."""

    def __init__(self, path: Path, context: ExtractionContext) -> None:
        """Open it, trying the empty password where it has one. Raises Unreadable: ENCRYPTED, CORRUPT, EMPTY or BOMB."""
        self._context = context
        try:
            self._pdf = pdfium.PdfDocument(path)
            self.pages = len(self._pdf)
        except (pdfium.PdfiumError, OSError) as error:
            raise classify_pdf_error(error) from error
        if not self.pages:
            raise Unreadable(FailureReason.EMPTY, "the document has no pages")
        if self._pdf.get_formtype():
            self._pdf.init_forms()  # so that what was filled in is known, and drawn
        self._attached = attached_files(self._pdf)
        self._pictures = PictureReading(context, self._render_scale)

    def page(self, number: int) -> Page:
        """Its own text and what its pictures show, with word boxes; remarks and what was filled in are part of it."""
        started = time.monotonic()
        page = self._load_page(number)
        try:
            result = self._read_page(page, number)
        except pdfium.PdfiumError as error:
            raise classify_pdf_error(error) from error
        finally:
            page.close()
        return replace(result, ms=round((time.monotonic() - started) * 1000))

    def picture(self, number: int, dpi: int) -> bytes:
        """The rendered page as PNG."""
        page = self._load_page(number)
        try:
            bitmap = page.render(scale=self._render_scale(page, dpi))
            return encode_png(bitmap.to_pil())
        except pdfium.PdfiumError as error:
            raise classify_pdf_error(error) from error
        finally:
            page.close()

    def close(self) -> None:
        """Close the file."""
        self._pdf.close()

    def _load_page(self, number: int) -> pdfium.PdfPage:
        try:
            return self._pdf[number - 1]
        except (pdfium.PdfiumError, IndexError) as error:
            raise Unreadable(FailureReason.CORRUPT, f"page {number} cannot be loaded") from error

    def _read_page(self, page: pdfium.PdfPage, number: int) -> Page:
        native = native_text(page)
        notes = read_notes(page, self._pdf.formenv, native.tokens)
        objects = list(islice(page.get_objects(max_depth=DEPTH), _MOST_OBJECTS))
        if native.damaged > _DAMAGED_SHARE or (not native.characters and self._draws_anything(page, objects)):
            result = self._whole_by_ocr(page, number, native, notes)
        else:
            result = self._by_text(page, number, native, objects, notes)
        if number == 1 and is_unseen_form(self._pdf, result.text):
            result = _with_form_data(result, xfa_values(self._pdf))
        if len(objects) == _MOST_OBJECTS:
            detail = f"a drawing of more than {_MOST_OBJECTS:,} parts: pictures among its last ones are not read"
            result = replace(result, caveats=(*result.caveats, Caveat(CaveatKind.PICTURES_UNREAD, detail)))
        return replace(result, caveats=(*result.caveats, *self._remaining_caveats(page, number, native, notes, result)))

    def _draws_anything(self, page: pdfium.PdfPage, objects: Sequence[pdfium.PdfObject]) -> bool:
        """True if there is anything to see on a page without text, stamps included."""
        return raw.FPDFPage_GetAnnotCount(page) > 0 or any(item.type != raw.FPDF_PAGEOBJ_TEXT for item in objects)

    def _by_text(
        self,
        page: pdfium.PdfPage,
        number: int,
        native: NativeText,
        objects: Sequence[pdfium.PdfObject],
        notes: PageNotes,
    ) -> Page:
        """A page with a text of its own: its tables, its titles, and its pictures by OCR where they hold text."""
        tokens = native.tokens
        caveats: tuple[Caveat, ...] = ()
        aspect = page.get_height() / max(1.0, page.get_width())
        if any(map(in_question, tokens)):
            area = glyph_area(tokens, aspect)
            tokens, unmapped = resolve_glyphs(tokens, self._picture_read(page, number, area), area)
            caveats = (unmapped,)
        areas = (*picture_areas(page, objects, tokens), *annotation_areas(notes))
        tokens = place_notes(tokens, [note for note in notes.notes if note.field])
        typed, grids = tokens, divided_bands(find_grids(page, objects), tokens, aspect)
        columns, unsure = find_columns(tokens, grids, aspect)
        tokens = place_tables(by_column(tokens, [*grids, *columns], aspect), [*grids, *columns])
        if unsure:
            detail = "a table without rules: figures may stand under the wrong head; compare it with the picture"
            caveats = (*caveats, Caveat(CaveatKind.TABLE_UNSURE, detail, unsure))
        reading = PageReading(mark_titles(tokens, typed))
        if areas:
            reading = self._pictures.read(page, number, reading.tokens, areas)
        text, words = compose_text(place_notes(reading.tokens, [note for note in notes.notes if not note.field]))
        engine, caveats = reading.engine or "native", (*caveats, *reading.caveats)
        return Page(number, text, words, engine, reading.confidence, reading.attempts, caveats=caveats)

    def _whole_by_ocr(self, page: pdfium.PdfPage, number: int, native: NativeText, notes: PageNotes) -> Page:
        """A page without text of its own, or whose letters mean nothing."""
        scale = self._render_scale(page, self._context.ocr.dpi)
        # Without the remarks, which are text already; but with what else lies on the page, such as stamps.
        pixels = rendered_array(page.render(scale=scale, draw_annots=not notes.notes, may_draw_forms=not notes.notes))
        if is_blank(pixels):
            return self._by_text(page, number, native, (), notes)
        result = self._context.engine.read(pixels, number, round(scale * 72))
        if not result.text.strip() and native.characters and native.damaged <= _DAMAGED_SHARE:
            return replace(self._by_text(page, number, native, (), notes), attempts=result.attempts)
        if not result.text.strip() and _seems_written(page, notes):
            doubt = Caveat(CaveatKind.PICTURES_UNREAD, "the page seems to hold text that OCR cannot read")
            result = replace(result, caveats=(*result.caveats, doubt))
        if not notes.notes:
            return result
        stamps = self._pictures.read(page, number, as_tokens(result, Box(0, 0, 1, 1)), annotation_areas(notes))
        text, words = compose_text(place_notes(stamps.tokens, notes.notes))
        attempts, caveats = (*result.attempts, *stamps.attempts), (*result.caveats, *stamps.caveats)
        return replace(result, text=text, words=words, attempts=attempts, caveats=caveats)

    def _picture_read(self, page: pdfium.PdfPage, number: int, area: Box) -> Page | None:
        """A part of the page as OCR reads it, None where it cannot."""
        scale = self._render_scale(page, self._context.ocr.dpi)
        pixels = render_area(page, area, scale)
        try:
            return self._context.engine.read(pixels, number, round(scale * 72))
        except (Unreadable, EngineMissing):
            return None

    def _remaining_caveats(
        self, page: pdfium.PdfPage, number: int, native: NativeText, notes: PageNotes, result: Page
    ) -> Iterator[Caveat]:
        """Caveats of a page besides those of its pictures."""
        files = (*(self._attached if number == 1 else ()), *notes.files)
        if files:
            names = ", ".join(dict.fromkeys(files))
            said = f"embedded files: {names[:400]}; upload them to have them read"
            yield Caveat(CaveatKind.ATTACHMENTS_UNREAD, said, len(files))
        if native.unsure_lines and result.engine == "native":
            detail = "lines written from right to left may stand in another order than they are read"
            yield Caveat(CaveatKind.ORDER_UNSURE, detail, native.unsure_lines)
        scale = self._render_scale(page, self._context.ocr.dpi)
        if result.engine != "native" and scale * 72 < self._context.ocr.dpi - 1:
            yield Caveat(CaveatKind.REDUCED_SCALE, f"a large sheet, read at {round(scale * 72)} dots per inch")

    def _render_scale(self, page: pdfium.PdfPage, dpi: int) -> float:
        """Pixels per point; smaller than asked where the page would exceed `max_pixels`."""
        width, height = max(1.0, page.get_width()), max(1.0, page.get_height())
        scale = min(dpi / 72, math.sqrt(self._context.ocr.max_pixels / (width * height)))
        # Both sides are rounded up to whole pixels.
        while math.ceil(width * scale) * math.ceil(height * scale) > self._context.ocr.max_pixels and scale > 1e-3:
            scale *= 0.999
        return scale


def open_pdf(path: Path, context: ExtractionContext) -> OpenedDocument:
    """Open a PDF."""
    return PdfPages(path, context)


def _seems_written(page: pdfium.PdfPage, notes: PageNotes) -> bool:
    """True for a page with a drawn stamp, or with signs in rows: OCR should find something there."""
    if any(not is_blank(render_annotations(page, box, LOOK_DPI / 72)) for box in notes.stamps):
        return True
    return seems_to_hold_text(render_area(page, Box(0, 0, 1, 1), LOOK_DPI / 72), LOOK_DPI)


def _with_form_data(page: Page, values: Sequence[str]) -> Page:
    """The first page of a form that only its own program draws: what was filled in, and that there is more."""
    detail = (
        "a form that only Adobe's programs draw (XFA): its labels and pages are not read, only what was filled in; "
        "print it to a PDF and bring that"
    )
    text = "\n\n".join(filter(None, (page.text, storable_text("\n".join(values)))))
    return replace(page, text=text, caveats=(*page.caveats, Caveat(CaveatKind.PARTS_SKIPPED, detail)))


def classify_pdf_error(error: BaseException) -> Unreadable:
    """An error of PDFium's, or of the file's, as its reason."""
    code = getattr(error, "err_code", None)
    if code == raw.FPDF_ERR_PASSWORD:
        return Unreadable(FailureReason.ENCRYPTED, "the PDF needs a password")
    if code == raw.FPDF_ERR_SECURITY:
        return Unreadable(FailureReason.ENCRYPTED, "the PDF uses a security scheme that is not supported")
    return Unreadable(FailureReason.CORRUPT, " ".join(str(error).split())[:200])
