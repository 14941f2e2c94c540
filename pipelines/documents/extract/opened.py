"""An opened document: what every format offers, and the ones that have no pages of their own."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from numpy import uint8
from numpy.typing import NDArray

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Caveat, FailureReason, Page, Unreadable


class PageImageReader(Protocol):
    """Port to the OCR cascade, which reads pictures of pages."""

    def read(self, image: NDArray[uint8], number: int, dpi: int | None = None) -> Page:
        """Read an image (height × width, or × 3 channels RGB) with so many dots per inch as page `number`."""
        ...


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """Dependencies of the formats: limits, rendering settings, and the reader of pictures.

    `encoding` is what a person set for this text, `language` that of the workspace; both may be unknown.
    """

    read: ReadSettings
    ocr: OcrSettings
    engine: PageImageReader
    encoding: str | None = None
    language: str | None = None


class OpenedDocument(Protocol):
    """A document that was parsed once and is read page by page."""

    pages: int

    def page(self, number: int) -> Page:
        """Read a 1-based page. Raises Unreadable when this page cannot be read."""
        ...

    def picture(self, number: int, dpi: int) -> bytes:
        """A PNG of a page. Raises Unreadable (UNSUPPORTED) where the format has no geometry."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document without pages, with what its text does not hold."""

    text: str
    caveats: tuple[Caveat, ...] = ()


def document_parts(parts: Iterable[str | DocumentPart]) -> list[DocumentPart]:
    """All of them; an empty document has one empty part."""
    return [one if isinstance(one, DocumentPart) else DocumentPart(one) for one in parts] or [DocumentPart("")]


class UnpagedDocument:
    """A document without pages, cut into parts that are its pages; it holds no file."""

    def __init__(self, parts: Iterable[str | DocumentPart], caveats: Iterable[Caveat] = ()) -> None:
        """Keep the parts; an empty document has one empty part. `caveats` of the whole document go to its first."""
        self._parts = document_parts(parts)
        self._caveats = tuple(replace(caveat, whole=True) for caveat in caveats)
        self.pages = len(self._parts)

    def page(self, number: int) -> Page:
        """The part; no words, since there is no geometry."""
        part = self._parts[number - 1]
        whole = self._caveats if number == 1 else ()
        return Page(number, storable_text(part.text), caveats=(*whole, *part.caveats))

    def picture(self, number: int, dpi: int) -> bytes:
        """Always refused."""
        raise Unreadable(FailureReason.UNSUPPORTED, "this format has no picture of its pages")

    def close(self) -> None:
        """Nothing to let go of."""


def storable_text(text: str) -> str:
    """The text without what neither UTF-8 nor a database column can hold (lone surrogates, NUL), `\\n` line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")


def split_text(text: str, limit: int) -> list[str]:
    """Cut a text into parts of at most `limit` characters, at the best border near the end of each.

    Borders in order of preference: a blank line, a line end, a space; only a run longer than half a part is cut
    anywhere. White space at the borders is dropped, everything else is kept.
    """
    parts = []
    start, size = 0, len(text)
    while size - start > limit:
        cut = _cut_border(text, start + limit // 2, start + limit)
        parts.append(text[start:cut].strip("\n"))
        start = cut
    parts.append(text[start:].strip("\n"))
    return [part for part in parts if part.strip()]


def _cut_border(text: str, low: int, high: int) -> int:
    for border in ("\n\n", "\n", " "):
        at = text.rfind(border, low, high)
        if at >= 0:
            return at + len(border)
    return high


def join_blocks(blocks: Iterable[str], limit: int) -> list[str]:
    """Blocks (paragraphs, tables) as parts of at most `limit` characters, a block whole where it fits."""
    parts: list[str] = []
    current: list[str] = []
    length = 0
    for block in blocks:
        pieces = [block] if len(block) <= limit else split_text(block, limit)
        for piece in pieces:
            if current and length + 2 + len(piece) > limit:
                parts.append("\n\n".join(current))
                current, length = [], 0
            length += len(piece) + (2 if current else 0)
            current.append(piece)
    return [*parts, "\n\n".join(current)] if current else parts


def markdown_table(rows: list[list[str]]) -> list[str]:
    """The lines of a Markdown table; the first row is the head. Short rows are filled, cells are one line each."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return []
    lines = ["| " + " | ".join([*map(markdown_cell, row), *[""] * (width - len(row))]) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * width, *lines[1:]]


def markdown_cell(value: Any) -> str:
    """A value as the content of one Markdown cell."""
    return " ".join(str(value).replace("|", "\\|").split())


def table_parts(lines: list[str], limit: int, title: str = "") -> list[str]:
    """A Markdown table as parts of at most `limit` characters, each with the title and the head row repeated."""
    top = [title, ""] if title else []
    head = [*top, *lines[:2]]
    fixed = sum(len(line) + 1 for line in head)
    if fixed > limit // 2:
        return split_text("\n".join([*top, *lines]), limit)
    parts: list[str] = []
    rows: list[str] = []
    length = fixed
    for row in (piece for line in lines[2:] for piece in split_text(line, limit - fixed)):
        if rows and length + len(row) + 1 > limit:
            parts.append("\n".join([*head, *rows]))
            rows, length = [], fixed
        rows.append(row)
        length += len(row) + 1
    return [*parts, "\n".join([*head, *rows])]
