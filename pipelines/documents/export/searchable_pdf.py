"""Searchable PDFs in the guarded child: a scan's own pages or pictures, and behind them the words that were read."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import numpy as np
import pypdfium2 as pdfium
from PIL import Image

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Page, Unreadable
from pipelines.documents.export.pdf_export import PDF_KINDS, LayerCounts
from pipelines.documents.export.text_layer import InvisibleTextWriter, missing_words, remove_invisible_text
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.pdf.pages import classify_pdf_error
from pipelines.documents.extract.pictures.image import ImageDocument
from pipelines.documents.guarded_child import more_memory
from pipelines.documents.ocr.reading import Picture
from pipelines.documents.sources.sniff import Kind

NATIVE: Final = "native"
_POINTS = 72.0
_LONG_EDGE = 841.9  # points, of a picture that does not tell its size: the long edge of A4
_LONGEST_EDGE = 14_400.0  # points; PDF 32000-1, Annex C
_QUALITY = 92  # of a JPEG made of a frame in grey or colour
_HELD_BYTES = 192 * 2**20  # that wait in memory for a part of the file to be written
_RUN_BYTES = 100  # about what a word in its place takes


class _Source(Protocol):
    """What gives the pages of the PDF that is written."""

    pages: int

    def add_page(self, page: Page, counts: LayerCounts) -> LayerCounts: ...

    def save(self, target: Path) -> None: ...

    def close(self) -> None: ...


class SearchablePdfWorker:
    """Answers the exporter's calls about one document: open, then its pages in order, then save."""

    def __init__(self, read: ReadSettings, ocr: OcrSettings) -> None:
        """Nothing is opened yet."""
        self._read, self._ocr = read, ocr
        self._source: _Source | None = None
        self._memory = 0
        self._counts = LayerCounts()

    def open(self, path: Path, kind: Kind, scratch: Path) -> int:
        """Open a PDF or a picture file; the number of its pages. `scratch` is a file to write parts into.

        Raises Unreadable: ENCRYPTED, CORRUPT or BOMB; UNSUPPORTED for other kinds.
        """
        if kind not in PDF_KINDS:
            raise Unreadable(FailureReason.UNSUPPORTED, f"a {kind} file has no pages that a PDF could show")
        self._memory = self._ocr.memory_bytes if kind is Kind.IMAGE else 0
        with more_memory(self._memory):
            self._source = _ScannedPdf(path, scratch) if kind is Kind.PDF else self._picture_file(path, scratch)
        self._counts = LayerCounts(pages=self._source.pages)
        return self._source.pages

    def add_pages(self, pages: Sequence[Page]) -> None:
        """The next pages as they were read, in order. Raises Unreadable: CHANGED, the file has no such page."""
        source = self._opened()
        with more_memory(self._memory), _pdf_errors():
            for page in pages:
                if not 1 <= page.number <= source.pages:
                    raise Unreadable(FailureReason.CHANGED, f"there is no page {page.number}")
                self._counts = source.add_page(page, self._counts)

    def save(self, target: Path) -> LayerCounts:
        """Write the PDF and look whether it opens with all of its pages. Raises Unreadable: CORRUPT."""
        source = self._opened()
        with more_memory(self._memory), _pdf_errors():
            source.save(target)
            source.close()
            self._source = None
            with contextlib.closing(pdfium.PdfDocument(target)) as written:
                if len(written) != self._counts.pages:
                    detail = f"{len(written)} of {self._counts.pages} pages could be written"
                    raise Unreadable(FailureReason.CORRUPT, detail)
        counts = self._counts
        return replace(counts, empty=counts.pages - counts.layered - counts.native)

    def _picture_file(self, path: Path, scratch: Path) -> "_PictureFile":
        context = ExtractionContext(self._read, self._ocr, _NoEngine())
        return _PictureFile(ImageDocument(path, context), path, scratch)

    def _opened(self) -> _Source:
        assert self._source is not None, "open comes first"
        return self._source


class _GrowingPdf:
    """A PDF that gains page after page; what waits in memory is written out now and then, and it goes on from there."""

    def __init__(self, pdf: pdfium.PdfDocument, scratch: Path) -> None:
        self.pdf, self.writer = pdf, InvisibleTextWriter(pdf)
        self._scratch = (scratch, scratch.with_suffix(".more"))
        self._held, self._flushes = 0, 0

    def hold(self, size: int) -> None:
        """So many bytes more wait in memory; where it becomes much, all of it is written out."""
        self._held += size
        if self._held <= _HELD_BYTES:
            return
        part = self._scratch[self._flushes % 2]
        _save_pdf(self.pdf, part)
        self._close_pdf()
        self.pdf = pdfium.PdfDocument(part)
        self.writer = InvisibleTextWriter(self.pdf)
        self._held, self._flushes = 0, self._flushes + 1

    def save(self, target: Path) -> None:
        _save_pdf(self.pdf, target)

    def close(self) -> None:
        self._close_pdf()
        for path in self._scratch:
            path.unlink(missing_ok=True)

    def _close_pdf(self) -> None:
        self.writer.close()
        self.pdf.close()


class _ScannedPdf:
    """The pages of a PDF as they are; those that OCR read get its words."""

    def __init__(self, path: Path, scratch: Path) -> None:
        with _pdf_errors():
            self._made = _GrowingPdf(pdfium.PdfDocument(path), scratch)
            self.pages = len(self._made.pdf)
        # PDFium keeps the streams of the pages that it has looked at.
        self._page_bytes = path.stat().st_size // max(1, self.pages)

    def add_page(self, page: Page, counts: LayerCounts) -> LayerCounts:
        if page.engine == NATIVE or page.failure is not None:
            has_text = page.engine == NATIVE and bool(page.text.strip()) and page.failure is None
            return replace(counts, native=counts.native + has_text)
        target = self._made.pdf[page.number - 1]
        try:
            replaced = any(one.engine == "ocr layer" and not one.kept for one in page.attempts)
            doubled = replaced and not remove_invisible_text(target)
            words = missing_words(target, page.words)
            if page.words and not words:  # all of it stands there already
                return replace(counts, native=counts.native + 1)
            written = self._made.writer.write_page(target, page.text, words)
        finally:
            target.close()
        self._made.hold(self._page_bytes + _RUN_BYTES * written)
        return _counted(counts, page, written, doubled)

    def save(self, target: Path) -> None:
        self._made.save(target)

    def close(self) -> None:
        self._made.close()


class _PictureFile:
    """The frames of a picture file, each a page of its size, with the words on it."""

    def __init__(self, image: ImageDocument, path: Path, scratch: Path) -> None:
        self._image, self._path = image, path
        self.pages = image.pages
        self._made = _GrowingPdf(pdfium.PdfDocument.new(), scratch)

    def add_page(self, page: Page, counts: LayerCounts) -> LayerCounts:
        self._show_pages(page.number - 1)  # those that are not stored
        target, size = self._add_picture(page.number)
        try:
            written = 0 if page.failure is not None else self._made.writer.write_page(target, page.text, page.words)
        finally:
            target.close()
        self._made.hold(size + _RUN_BYTES * written)
        return _counted(counts, page, written, doubled=False)

    def save(self, target: Path) -> None:
        self._show_pages(self.pages)
        self._made.save(target)

    def close(self) -> None:
        self._made.close()
        self._image.close()

    def _show_pages(self, last: int) -> None:
        while len(self._made.pdf) < last:
            page, size = self._add_picture(len(self._made.pdf) + 1)
            page.close()
            self._made.hold(size)

    def _add_picture(self, number: int) -> tuple[pdfium.PdfPage, int]:
        """The page, and how many bytes its picture takes in memory."""
        plain = self._image.plain_jpeg()
        picture = pdfium.PdfImage.new(self._made.pdf)
        if plain is not None:
            width, height, dpi = plain
            picture.load_jpeg(self._path, inline=True)
            size = self._path.stat().st_size
        else:
            pixels, dpi = self._image.pixels(number)
            height, width = pixels.shape[:2]
            size = _show_pixels(picture, pixels, lossless=self.pages == 1 or _is_black_and_white(pixels))
        wide, high = _page_size(width, height, dpi)
        page = self._made.pdf.new_page(wide, high)
        picture.set_matrix(pdfium.PdfMatrix().scale(wide, high))
        page.insert_obj(picture)
        page.gen_content()
        return page, size


class _NoEngine:
    """Pictures are shown, not read."""

    def read(self, image: Picture, number: int, dpi: int | None = None) -> Page:
        raise Unreadable(FailureReason.UNSUPPORTED, "an export reads nothing")


def _counted(counts: LayerCounts, page: Page, written: int, doubled: bool) -> LayerCounts:
    return replace(
        counts,
        layered=counts.layered + bool(written),
        doubled=counts.doubled + bool(written and doubled),
        unplaced=counts.unplaced + bool(written and not page.words),
    )


def _page_size(width: int, height: int, dpi: int | None) -> tuple[float, float]:
    """Points of a picture's page."""
    scale = _POINTS / dpi if dpi else _LONG_EDGE / max(width, height)
    scale = min(scale, _LONGEST_EDGE / max(width, height))
    return max(1.0, width * scale), max(1.0, height * scale)


def _is_black_and_white(pixels: Picture) -> bool:
    return pixels.ndim == 2 and bool(np.isin(pixels, (0, 255)).all())


def _show_pixels(picture: pdfium.PdfImage, pixels: Picture, *, lossless: bool) -> int:
    """Have the picture show the pixels; how many bytes it takes in memory.

    A book of frames in grey or colour would grow to many times its size without losses: it becomes JPEGs.
    """
    image = Image.fromarray(pixels)
    if lossless:
        picture.set_bitmap(pdfium.PdfBitmap.from_pil(image))
        return pixels.nbytes
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY, subsampling=0)
    size = buffer.tell()
    buffer.seek(0)
    picture.load_jpeg(buffer, inline=True)
    return size


class _PdfSink:
    """A file that PDFium writes to; an error of the disk, which cannot travel through it, is kept for later."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        if self.error is None:
            try:
                return self._file.write(data)
            except OSError as error:
                self.error = error
        return 0


def _save_pdf(pdf: pdfium.PdfDocument, target: Path) -> None:
    """Write everything anew, so that what the repair of a damaged file found is written, too. Raises OSError."""
    with target.open("wb") as file:
        sink = _PdfSink(file)
        try:
            pdf.save(sink)
        except pdfium.PdfiumError:
            if sink.error is None:
                raise
        if sink.error is not None:
            raise sink.error


@contextlib.contextmanager
def _pdf_errors() -> Iterator[None]:
    try:
        yield
    except pdfium.PdfiumError as error:
        raise classify_pdf_error(error) from error
