"""Documents within documents: what stands in an office file is read behind it, up to a depth and a size."""

import io
import posixpath
import struct
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module

import olefile

from pipelines.documents.document import CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.office.ooxml import to_transitional
from pipelines.documents.extract.office.zip_package import DAMAGED, Source, check_package, classify_package_error
from pipelines.documents.extract.opened import DocumentPart, ExtractionContext, OpenedDocument
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector

DEEPEST = 3  # a document may hold itself
_MOST = 200  # documents in all that stand in one
_MOST_UNPACKED = 256 * 2**20  # bytes of each
_MOST_PAGES = 2_000  # of all of them together
_PARTS = (
    ("word/document.xml", "word.docx.open_docx"),
    ("ppt/presentation.xml", "office.slides.open_pptx"),
    ("xl/workbook.xml", "sheets.workbook.open_xlsx"),
)
_MIMETYPES = {"text": "odf.odt.open_odt", "spreadsheet": "odf.ods.open_ods", "presentation": "odf.odp.open_odp"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HINT = "save it as a file of its own to have it read"

Opener = Callable[[Source, ExtractionContext, "NestingBudget"], OpenedDocument]


@dataclass(slots=True)
class NestingBudget:
    """Nesting depth of an embedded document, and how many more may be opened in all of them together."""

    depth: int = 0
    left: list[int] = field(default_factory=lambda: [_MOST, _MOST_PAGES])

    def inner(self) -> "NestingBudget":
        """For what stands in it."""
        return NestingBudget(self.depth + 1, self.left)


class EmbeddedDocuments:
    """The documents that were found in one; opened as they are found, read as its further pages."""

    def __init__(self, gathered: PictureCollector, nesting: NestingBudget | None) -> None:
        """Nothing found yet; `nesting` None for a document that stands in no other."""
        self._gathered, self.nesting = gathered, nesting or NestingBudget()
        self._found: list[tuple[str, OpenedDocument]] = []

    def add(self, data: bytes, name: str, where: str = "") -> bool:
        """Open an embedded document; what cannot be read is noted. Tells whether it is read."""
        label = posixpath.basename(name.replace("\\", "/"))
        place = f" {where}" if where else ""
        left = self.nesting.left
        if self.nesting.depth >= DEEPEST or left[0] <= 0 or left[1] <= 0:
            self._gathered.note(CaveatKind.PARTS_SKIPPED, f"documents nested too deep, or too many{place}")
            return False
        left[0] -= 1
        try:
            opened = open_embedded(data, self._inner_context(), self.nesting.inner())
        except Unreadable as error:
            self._gathered.note(CaveatKind.PARTS_SKIPPED, f"embedded {label}{place}: {error.reason}; {_HINT}")
            return False
        if opened is None:
            self._gathered.note(
                CaveatKind.PARTS_SKIPPED, f"embedded {label}{place}: no format that is read there; {_HINT}"
            )
            return False
        left[1] -= opened.pages
        self._found.append((label, opened))
        return True

    def _inner_context(self) -> ExtractionContext:
        """With a smaller limit: there may be many of them in one document, and many in each of those."""
        context = self._gathered.context
        limit = min(context.read.max_unpacked_bytes, _MOST_UNPACKED)
        return replace(context, read=context.read.model_copy(update={"max_unpacked_bytes": limit}))

    def behind(self, document: OpenedDocument) -> OpenedDocument:
        """The document, with what was found in it behind its own pages."""
        return MergedDocument(document, self._found) if self._found else document


def open_package(
    source: Source,
    context: ExtractionContext,
    nesting: NestingBudget | None,
    read: Callable[[zipfile.ZipFile, PictureCollector, EmbeddedDocuments], Iterable[str | DocumentPart]],
    *,
    nothing: str = "",
) -> OpenedDocument:
    """An office file by the parts that `read` gives of its archive, what stands in it behind them.

    Raises Unreadable: the package is damaged or a bomb, or has no parts where `nothing` says that in words.
    """
    check_package(source, context.read.max_unpacked_bytes)
    gathered = PictureCollector(context)
    embedding = EmbeddedDocuments(gathered, nesting)
    try:
        with zipfile.ZipFile(to_transitional(source)) as archive:
            parts = list(read(archive, gathered, embedding))
    except DAMAGED as error:
        raise classify_package_error(error) from error
    if nothing and not parts:
        raise Unreadable(FailureReason.EMPTY, nothing)
    return embedding.behind(gathered.document(parts))


def open_embedded(data: bytes, context: ExtractionContext, nesting: NestingBudget) -> OpenedDocument | None:
    """A document in the bytes of an embedded part; None for what is no format that is read there.

    Raises Unreadable: as the format's own opener.
    """
    try:
        if data.startswith(_OLE):
            return _open_ole(data, context, nesting)
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                found = _find_opener(archive)
            return found(io.BytesIO(data), context, nesting) if found else None
    except (*DAMAGED, struct.error) as error:
        raise Unreadable(FailureReason.CORRUPT, f"{type(error).__name__}: {error}"[:200]) from error
    return None


def _find_opener(archive: zipfile.ZipFile) -> Opener | None:
    names = set(archive.namelist())
    found = next((opener for part, opener in _PARTS if part in names), None)
    if found is None and "mimetype" in names:
        kind = archive.read("mimetype")[:200].decode("ascii", "replace").rpartition(".")[2].strip()
        found = _MIMETYPES.get(kind.removesuffix("-template"))
    if found is None:
        return None
    module, _, name = found.rpartition(".")
    opener: Opener = getattr(import_module(f"pipelines.documents.extract.{module}"), name)
    return opener


def _open_ole(data: bytes, context: ExtractionContext, nesting: NestingBudget) -> OpenedDocument | None:
    """An OLE object: a package, an old workbook, or a file that was dropped in."""
    with olefile.OleFileIO(io.BytesIO(data)) as ole:
        for stream in ("Package", "package_stream", "EmbeddedOdf"):
            if ole.exists(stream):
                return open_embedded(ole.openstream(stream).read(), context, nesting)
        if ole.exists("Workbook") or ole.exists("Book"):
            from pipelines.documents.extract.sheets.workbook import open_xls

            return open_xls(io.BytesIO(data), context)
        if ole.exists("\1Ole10Native"):
            return open_embedded(packaged_file(ole.openstream("\1Ole10Native").read()), context, nesting)
    return None


def packaged_file(stream: bytes) -> bytes:
    """The file in a packager object: behind its label, its two paths and their lengths ([MS-OLEDS] 2.3.6)."""
    for signature in (b"PK\x03\x04", _OLE):
        at = stream.find(signature, 0, 4096)
        if at >= 4:
            (size,) = struct.unpack_from("<I", stream, at - 4)
            return stream[at : at + size]
    return b""


class MergedDocument:
    """A document, and behind its pages those of the documents that stand in it."""

    def __init__(self, document: OpenedDocument, found: list[tuple[str, OpenedDocument]]) -> None:
        self._document = document
        self._pages = [(opened, number, name) for name, opened in found for number in range(1, opened.pages + 1)]
        self.pages = document.pages + len(self._pages)

    def page(self, number: int) -> Page:
        """A page; the first of an embedded document begins with its name."""
        if number <= self._document.pages:
            return self._document.page(number)
        opened, inner, name = self._pages[number - self._document.pages - 1]
        page = opened.page(inner)
        text = f"[embedded document {name}]\n\n{page.text}".rstrip() if inner == 1 else page.text
        return replace(page, number=number, text=text, words=())

    def picture(self, number: int, dpi: int) -> bytes:
        """A picture of a page of the document itself."""
        if number <= self._document.pages:
            return self._document.picture(number, dpi)
        raise Unreadable(FailureReason.UNSUPPORTED, "embedded documents have no picture")

    def close(self) -> None:
        """Let go of all of them."""
        self._document.close()
        for opened in {id(opened): opened for opened, _, _ in self._pages}.values():
            opened.close()
