"""Document, page and chunk: the values every stage passes on, and their content-hash ids."""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import NewType

DocumentId = NewType("DocumentId", str)
VersionId = NewType("VersionId", str)
PageId = NewType("PageId", str)
ChunkId = NewType("ChunkId", str)


class Reason(StrEnum):
    """Why a file or a page could not be read."""

    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    BOMB = "bomb"
    CHANGED = "changed"
    CRASHED = "crashed"
    ABANDONED = "abandoned"  # of a document whose job ended before it was done


class Status(StrEnum):
    """Where a document stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    PARTIAL = "partial"
    EMBEDDING_PENDING = "embedding_pending"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something was not read: data, not an exception."""

    stage: str
    reason: Reason
    detail: str = ""
    retryable: bool = False


class Unreadable(Exception):
    """A file or page that cannot be read; raised inside extraction, turned into a Failure at its edge."""

    def __init__(self, reason: Reason, detail: str = "", *, retryable: bool = False) -> None:
        """Name the reason; `detail` is one line a person can act on."""
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason, self.detail, self.retryable = reason, detail, retryable

    def as_failure(self, stage: str) -> Failure:
        """The same fact as a value that can be stored."""
        return Failure(stage, self.reason, self.detail, self.retryable)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page, in fractions of its width and height; the origin is top left."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a page: where it stands in the text and on the picture.

    Attributes:
        text: as it appears in the page's text.
        start: offset of its first character in the page's text.
        box: where it is on the page.
        confidence: 0 to 1; 1.0 for born-digital text.
    """

    text: str
    start: int
    box: Box
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One engine's try at a page or at a line of it; kept so that a reading can be explained."""

    engine: str
    confidence: float
    ms: int
    kept: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """What was read from one page (a slide, a sheet, a part of ≤ 20,000 characters).

    Attributes:
        number: 1-based.
        text: what a person would read there, tables as Markdown.
        words: with boxes where the format has a geometry, else empty.
        engine: `native`, `tesseract`, `easyocr` or `tesseract+easyocr`.
        confidence: mean word confidence 0 to 1, None where no engine was asked.
        attempts: every engine that was tried.
        ms: time it took.
        failure: set when the page could not be read; text is empty then.
    """

    number: int
    text: str
    words: tuple[Word, ...] = ()
    engine: str = "native"
    confidence: float | None = None
    attempts: tuple[Attempt, ...] = ()
    ms: int = 0
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a page's text: characters [start, end)."""

    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PageBox:
    """A rectangle on a numbered page."""

    page: int
    box: Box


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage worth finding, made of consecutive spans of pages.

    Attributes:
        ordinal: 0-based position in the document version.
        text: what is shown and embedded.
        spans: where it stands; at least one.
        headings: the titles above it, outermost first.
        method: the strategy that cut it.
        boxes: one rectangle a line on pages that have a geometry.
    """

    ordinal: int
    text: str
    spans: tuple[Span, ...]
    headings: tuple[str, ...] = ()
    method: str = "semantic"
    boxes: tuple[PageBox, ...] = field(default=())


def _digest(*parts: str) -> str:
    """128 bits of SHA-256 over length-prefixed parts, so that no two lists of parts collide by concatenation."""
    state = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()[:32]


def document_id(workspace: str, origin: str) -> DocumentId:
    """The same origin in another workspace is another document."""
    return DocumentId(_digest("document", workspace, origin))


def version_id(document: DocumentId, file_hash: str) -> VersionId:
    """One version for each content of a document; `file_hash` is the SHA-256 of its bytes in hex."""
    return VersionId(_digest("version", document, file_hash))


def page_id(version: VersionId, number: int) -> PageId:
    """The 1-based page of a version."""
    return PageId(_digest("page", version, str(number)))


def chunk_id(version: VersionId, chunker: str, ordinal: int, text: str) -> ChunkId:
    """The same text at the same place, cut by the same chunker, is the same chunk."""
    return ChunkId(_digest("chunk", version, chunker, str(ordinal), text))


def fingerprint(*parts: object) -> str:
    """16 hex digits that change when any setting or engine version in `parts` changes."""
    return _digest("fingerprint", *(repr(part) for part in parts))[:16]
