"""Extraction worker in the guarded child: opens files, and keeps one open between calls for its pages."""

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy import uint8
from numpy.typing import NDArray

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Page, Unreadable
from pipelines.documents.extract.containers.unpacked import UnpackedMembers
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument, PageImageReader
from pipelines.documents.extract.picture_memory import PictureMemory
from pipelines.documents.guarded_child import more_memory
from pipelines.documents.sources.sniff import Kind, sniff_kind

Opener = Callable[[Path, ExtractionContext], OpenedDocument]

OPENERS: Mapping[Kind, str] = {
    Kind.PDF: "pdf.pages.open_pdf",
    Kind.IMAGE: "pictures.image.open_image",
    Kind.TEXT: "text.plain_text.open_text",
    Kind.MARKDOWN: "text.plain_text.open_text",
    Kind.CODE: "text.plain_text.open_text",
    Kind.HTML: "text.web_page.open_html",
    Kind.DOCX: "word.docx.open_docx",
    Kind.PPTX: "office.slides.open_pptx",
    Kind.XLSX: "sheets.workbook.open_xlsx",
    Kind.CSV: "sheets.csv_table.open_csv",
    Kind.EMAIL: "mail.eml.open_mail",
    Kind.ODT: "odf.odt.open_odt",
    Kind.ODS: "odf.ods.open_ods",
    Kind.ODP: "odf.odp.open_odp",
    Kind.EPUB: "text.epub.open_epub",
    Kind.RTF: "text.rtf.open_rtf",
    Kind.XLS: "sheets.workbook.open_xls",
    Kind.MSG: "mail.msg.open_msg",
    Kind.MHTML: "mail.eml.open_mhtml",
    Kind.NOTEBOOK: "text.notebook.open_notebook",
    Kind.SVG: "text.svg.open_svg",
    Kind.ZIP: "containers.archive.open_zip",
    Kind.TAR: "containers.archive.open_tar",
    Kind.DOC: "office.old_formats.open_doc",
    Kind.PPT: "office.old_formats.open_ppt",
}
"""Where each kind's opener is. Imported when first needed: all parsers together take a second of CPU, which every
fresh child would spend before its first page."""

_ENTRIES: Mapping[Kind, str] = {
    Kind.ZIP: "containers.archive.zip_entries",
    Kind.TAR: "containers.archive.tar_entries",
    Kind.EMAIL: "mail.attachments.mail_entries",
    Kind.MSG: "mail.msg.msg_entries",
}

EngineMaker = Callable[[OcrSettings], PageImageReader]


class ExtractionWorker:
    """Answers the reader's calls about one file at a time."""

    def __init__(
        self,
        read: ReadSettings,
        ocr: OcrSettings,
        make_engine: EngineMaker,
        find: Callable[[Kind], Opener] | None = None,
    ) -> None:
        """Nothing is loaded yet; OCR is built at the first picture. `find` gives the opener of a kind."""
        self._find = find or find_opener
        self._read, self._ocr, self._make_engine = read, ocr, make_engine
        self._scans: tuple[tuple[str, ...], str | None] = (), None
        self._context = ExtractionContext(read, ocr, _LazyEngine(ocr, make_engine))
        self._key: object = None
        self._document: OpenedDocument | None = None

    def survey(
        self, path: Path, filename: str | None, encoding: str | None = None, language: str | None = None
    ) -> tuple[Kind, int]:
        """The kind and the number of pages; see `Context` for encoding and language. Raises Unreadable."""
        self._set_text_hints(encoding, language)
        kind = sniff_kind(path, filename)
        with self._allow_memory(kind):
            return kind, self._open_file(path, kind).pages

    def unpack(
        self, path: Path, kind: Kind, folder: Path | None, encoding: str | None = None, language: str | None = None
    ) -> UnpackedMembers:
        """Write the members of a container to a folder; without one only say that they are there. Raises Unreadable."""
        from pipelines.documents.extract.containers.members import unpack_entries

        self._set_text_hints(encoding, language)
        entries, read = _find_function(_ENTRIES[kind])(path, self._context), self._read
        return unpack_entries(entries, kind, folder, most=read.archive_members, most_bytes=read.max_unpacked_bytes)

    def page(
        self,
        path: Path,
        kind: Kind,
        number: int,
        encoding: str | None = None,
        language: str | None = None,
        languages: tuple[str, ...] = (),
        strategy: str | None = None,
    ) -> Page:
        """One page, as `survey` counted it, its pictures in these languages by this strategy. Raises Unreadable."""
        self._set_scan_options(languages, strategy)
        self._set_text_hints(encoding, language)
        with self._allow_memory(kind):
            return self._document_with_page(path, kind, number).page(number)

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        """A PNG of one page. Raises Unreadable."""
        with self._allow_memory(kind):
            return self._document_with_page(path, kind, number).picture(number, dpi)

    def _allow_memory(self, kind: Kind) -> AbstractContextManager[None]:
        """A picture's memory follows from its pixels, which are counted before any is decoded."""
        return more_memory(self._context.ocr.memory_bytes) if kind is Kind.IMAGE else nullcontext()

    def _set_text_hints(self, encoding: str | None, language: str | None) -> None:
        """Set the encoding and language hints of a text, from the next file that is opened on."""
        self._context = replace(self._context, encoding=encoding, language=language)

    def _set_scan_options(self, languages: tuple[str, ...], strategy: str | None) -> None:
        """Engines are loaded with what they do: another takes new ones, and a document is opened with its engine.

        Without languages or a strategy those of the settings hold.
        """
        if (languages, strategy) == self._scans:
            return
        other = {name: value for name, value in (("languages", languages), ("strategy", strategy)) if value}
        ocr = self._ocr.model_copy(update=other)
        self._context = ExtractionContext(self._read, ocr, _LazyEngine(ocr, self._make_engine))
        self._scans, self._key = (languages, strategy), None

    def _document_with_page(self, path: Path, kind: Kind, number: int) -> OpenedDocument:
        document = self._open_file(path, kind)
        if not 1 <= number <= document.pages:
            raise Unreadable(FailureReason.CHANGED, f"there is no page {number}; the file has {document.pages}")
        return document

    def _open_file(self, path: Path, kind: Kind) -> OpenedDocument:
        facts = path.stat()
        told = (self._context.encoding, self._context.language)
        key = (path, kind, facts.st_ino, facts.st_size, facts.st_mtime_ns, told)
        if self._document is None or key != self._key:
            if self._document is not None:
                self._document.close()
            self._document, self._key = None, None
            self._document = self._find(kind)(path, self._context)
            self._key = key
        return self._document


def find_opener(kind: Kind) -> Opener:
    """The function that opens files of a kind."""
    found: Opener = _find_function(OPENERS[kind])
    return found


def _find_function(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(f"pipelines.documents.extract.{module}"), name)


class _LazyEngine:
    """Builds OCR when the first picture comes, so that born-digital files never load it."""

    def __init__(self, settings: OcrSettings, make: EngineMaker) -> None:
        self._settings, self._make = settings, make
        self._engine: PageImageReader | None = None

    def read(self, image: NDArray[uint8], number: int, dpi: int | None = None) -> Page:
        if self._engine is None:
            self._engine = PictureMemory(self._make(self._settings))
        with more_memory(self._settings.memory_bytes):
            return self._engine.read(image, number, dpi)
