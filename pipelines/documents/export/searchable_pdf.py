"""Searchable PDFs in the guarded child: a scan's own pages or pictures, and behind them the words that were read."""

import contextlib
import errno
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import pikepdf
import pypdfium2 as pdfium
from pikepdf import Dictionary, Name
from PIL import Image

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Page, Unreadable, Word
from pipelines.documents.export.pdf_export import PDF_KINDS, LayerCounts
from pipelines.documents.export.text_layer import (
    InvisibleTextWriter,
    PageFrame,
    forget_invisible_text,
    may_hold_text,
    missing_words,
    page_frame,
    remove_invisible_text,
)
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.pdf.pages import classify_pdf_error
from pipelines.documents.extract.pictures.image import ImageDocument
from pipelines.documents.guarded_child import more_memory
from pipelines.documents.ocr.reading import Picture
from pipelines.documents.sources.sniff import Kind

OCR_LAYER: Final = "ocr layer"  # the engine of an attempt: what the file itself has behind its picture
_POINTS = 72.0
_LONG_EDGE = 841.9  # points, of a picture that does not tell its size: the long edge of A4
_LONGEST_EDGE = 14_400.0  # points; PDF 32000-1, Annex C
_QUALITY = 92  # of a JPEG made of a frame in grey or colour
_HELD_BYTES = 64 * 2**20  # of pictures that wait in memory for a part of the file to be written


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
            self._source = _ScannedPdf(path) if kind is Kind.PDF else self._picture_file(path, scratch)
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
        return replace(counts, unread=counts.pages - counts.layered - counts.native - counts.empty)

    def _picture_file(self, path: Path, scratch: Path) -> "_PictureFile":
        context = ExtractionContext(self._read, self._ocr, _NoEngine())
        return _PictureFile(ImageDocument(path, context), path, scratch)

    def _opened(self) -> _Source:
        assert self._source is not None, "open comes first"
        return self._source


class _ScannedPdf:
    """The pages of a PDF as they are; those that OCR read get its words."""

    def __init__(self, path: Path) -> None:
        with _pdf_errors():
            self._drawn = pdfium.PdfDocument(path)  # as it is read
            self._pdf = pikepdf.open(path)
            self.pages = len(self._drawn)
            self._writer = InvisibleTextWriter(self._pdf)
        if len(self._pdf.pages) != self.pages:
            detail = f"the file is damaged: {len(self._pdf.pages)} of its {self.pages} pages can be written"
            raise Unreadable(FailureReason.CORRUPT, detail)

    def add_page(self, page: Page, counts: LayerCounts) -> LayerCounts:
        if page.failure is not None:
            return counts
        if page.is_native:
            return _counted_native(counts, page)
        target = self._pdf.pages[page.number - 1]
        layers = [one.kept for one in page.attempts if one.engine == OCR_LAYER]
        replaced = bool(layers) and not any(layers)
        removed = replaced and remove_invisible_text(self._pdf, target)
        words = list(page.words)
        if may_hold_text(target):
            words = self._missing_words(page, page_frame(target), removed)
            if page.words and not words:  # all of it stands there already
                return replace(counts, native=counts.native + 1)
        written = self._writer.write_page(target, page.text, words)
        return _counted(counts, page, written, doubled=replaced and not removed)

    def save(self, target: Path) -> None:
        _save_pdf(self._pdf, target)

    def close(self) -> None:
        self._pdf.close()
        self._drawn.close()

    def _missing_words(self, page: Page, geometry: PageFrame, removed: bool) -> list[Word]:
        drawn = self._drawn[page.number - 1]
        try:
            if removed:
                forget_invisible_text(drawn)
            return missing_words(drawn, page.words, geometry)
        finally:
            drawn.close()


class _PictureFile:
    """The frames of a picture file, each a page of its size, with the words on it.

    What waits in memory is written out now and then, and the file that this makes is gone on with.
    """

    def __init__(self, image: ImageDocument, path: Path, scratch: Path) -> None:
        self._image, self._path = image, path
        self._scratch = (scratch, scratch.with_suffix(".more"))
        self.pages = image.pages
        self._held, self._flushes = 0, 0
        self._begin(pikepdf.new())

    def add_page(self, page: Page, counts: LayerCounts) -> LayerCounts:
        self._show_pages(page.number - 1)  # those that are not stored
        target = self._add_picture(page.number)
        if page.failure is not None:
            return counts
        written = self._writer.write_page(target, page.text, page.words)
        return _counted(counts, page, written, doubled=False)

    def save(self, target: Path) -> None:
        self._show_pages(self.pages)
        _save_pdf(self._pdf, target)

    def close(self) -> None:
        self._pdf.close()
        self._image.close()
        for path in self._scratch:
            path.unlink(missing_ok=True)

    def _begin(self, pdf: pikepdf.Pdf) -> None:
        self._pdf, self._writer, self._held = pdf, InvisibleTextWriter(pdf), 0

    def _show_pages(self, last: int) -> None:
        while len(self._pdf.pages) < last:
            self._add_picture(len(self._pdf.pages) + 1)

    def _add_picture(self, number: int) -> pikepdf.Page:
        if self._held > _HELD_BYTES:
            part = self._scratch[self._flushes % 2]
            _save_pdf(self._pdf, part)
            self._pdf.close()
            self._begin(pikepdf.open(part))
            self._flushes += 1
        plain = self._image.plain_jpeg()
        if plain is not None:
            width, height, dpi = plain
            colours, bits, data, coding = self._image.bands(), 8, self._path.read_bytes(), Name.DCTDecode
        else:
            pixels, dpi = self._image.pixels(number)
            height, width = pixels.shape[:2]
            colours = 1 if pixels.ndim == 2 else 3
            bits, data, coding = _encoded_pixels(pixels, is_alone=self.pages == 1)
        self._held += len(data)
        space = Name.DeviceGray if colours == 1 else Name.DeviceRGB
        facts = {"Width": width, "Height": height, "ColorSpace": space, "BitsPerComponent": bits, "Filter": coding}
        picture = self._pdf.make_stream(data, Type=Name.XObject, Subtype=Name.Image, **facts)
        wide, high = _page_size(width, height, dpi)
        page = self._pdf.add_blank_page(page_size=(wide, high))
        page.Resources = Dictionary(XObject=Dictionary(Picture=picture))
        page.Contents = self._pdf.make_stream(f"q {wide:.4f} 0 0 {high:.4f} 0 0 cm /Picture Do Q\n".encode())
        return page


class _NoEngine:
    """Pictures are shown, not read."""

    def read(self, image: Picture, number: int, dpi: int | None = None) -> Page:
        raise Unreadable(FailureReason.UNSUPPORTED, "an export reads nothing")


def _counted(counts: LayerCounts, page: Page, written: int, doubled: bool) -> LayerCounts:
    return replace(
        counts,
        layered=counts.layered + bool(written),
        empty=counts.empty + (not written),
        doubled=counts.doubled + bool(written and doubled),
        unplaced=counts.unplaced + bool(written and not page.words),
    )


def _counted_native(counts: LayerCounts, page: Page) -> LayerCounts:
    if page.text.strip():
        return replace(counts, native=counts.native + 1)
    return replace(counts, empty=counts.empty + 1)


def _page_size(width: int, height: int, dpi: int | None) -> tuple[float, float]:
    """Points of a picture's page."""
    scale = _POINTS / dpi if dpi else _LONG_EDGE / max(width, height)
    scale = min(scale, _LONGEST_EDGE / max(width, height))
    return max(1.0, width * scale), max(1.0, height * scale)


def _is_black_and_white(pixels: Picture) -> bool:
    return pixels.ndim == 2 and bool(((pixels == 0) | (pixels == 255)).all())


def _encoded_pixels(pixels: Picture, is_alone: bool) -> tuple[int, bytes, Name]:
    """Bits a sample, bytes and their filter.

    A book of frames in grey or colour would grow to many times its size without losses: it becomes JPEGs.
    """
    if _is_black_and_white(pixels):
        return 1, zlib.compress(np.packbits(pixels > 0, axis=1).tobytes(), 9), Name.FlateDecode
    if is_alone:
        return 8, zlib.compress(pixels.tobytes()), Name.FlateDecode
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=_QUALITY, subsampling=0)
    return 8, buffer.getvalue(), Name.DCTDecode


def _save_pdf(pdf: pikepdf.Pdf, target: Path) -> None:
    """Write the file with the protection that it had. Raises OSError; Unreadable: TOO_LARGE."""
    try:
        with target.open("wb") as file:
            pdf.save(file, encryption=pdf.is_encrypted, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise Unreadable(FailureReason.TOO_LARGE, "its PDF would be larger than a file may be") from error


@contextlib.contextmanager
def _pdf_errors() -> Iterator[None]:
    try:
        yield
    except pdfium.PdfiumError as error:
        raise classify_pdf_error(error) from error
    except pikepdf.PasswordError as error:
        raise Unreadable(FailureReason.ENCRYPTED, "the PDF needs a password") from error
    except pikepdf.PdfError as error:
        raise Unreadable(FailureReason.CORRUPT, " ".join(str(error).split())[:200]) from error
