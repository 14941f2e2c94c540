"""Document, page and chunk: the values every stage passes on, and their content-hash ids."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NewType

DocumentId = NewType("DocumentId", str)
VersionId = NewType("VersionId", str)
PageId = NewType("PageId", str)
ChunkId = NewType("ChunkId", str)


class FailureReason(StrEnum):
    """The reason for which a file or a page could not be read."""

    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    BOMB = "bomb"
    CHANGED = "changed"
    CRASHED = "crashed"
    HELD = "held"  # a legal hold keeps what was read before
    ABANDONED = "abandoned"  # of a document whose job ended before it was done


class Status(StrEnum):
    """The processing status of a document."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    DEGRADED = "degraded"  # all of it was looked at, and some of it may be wrong
    PARTIAL = "partial"  # something in it was not read
    EMBEDDING_PENDING = "embedding_pending"
    FAILED = "failed"


class CaveatWeight(StrEnum):
    """The effect of a caveat on its document's status."""

    UNREAD = "unread"  # something is there that is not in the text: the document is `partial`
    UNSURE = "unsure"  # the text may be wrong: the document is `degraded`
    NOTE = "note"  # worth knowing; the text is whole


class CaveatKind(StrEnum):
    """The kind of a gap or a doubt in the text of a page that was read."""

    PICTURES_UNREAD = "pictures_unread"
    PARTS_SKIPPED = "parts_skipped"  # an embedded workbook, a diagram, an imported part, an object nobody can open
    ATTACHMENTS_UNREAD = "attachments_unread"
    GLYPHS_UNMAPPED = "glyphs_unmapped"  # the page draws signs whose meaning its font does not tell
    CUT_SHORT = "cut_short"  # a limit ended the reading
    FORMULAS_UNCALCULATED = "formulas_uncalculated"  # the formula stands where no value is cached
    ENCODING_UNSURE = "encoding_unsure"
    OCR_LAYER_UNSURE = "ocr_layer_unsure"  # the invisible text of a scan does not fit its picture
    LANGUAGE_MISSING = "language_missing"  # a scan in a language that OCR has no data for
    READING_WEAK = "reading_weak"  # OCR reads it badly, and a model that was to look at it gave nothing better
    TABLE_UNSURE = "table_unsure"  # cells may stand in the wrong row or column
    ORDER_UNSURE = "order_unsure"  # lines or letters may stand in the wrong order
    NO_TEXT = "no_text"  # nothing in the whole document can be searched
    REDUCED_SCALE = "reduced_scale"
    READ_AS = "read_as"  # the bytes are another format than the name says
    HIDDEN_CONTENT = "hidden_content"  # hidden sheets, rows or slides, read and in the text
    TRACKED_CHANGES = "tracked_changes"  # read as if they were accepted
    PASSED_OVER = "passed_over"  # of an archive: what systems keep for themselves, earlier entries of one name

    @property
    def weight(self) -> CaveatWeight:
        """Its effect on the document's status."""
        return _WEIGHTS[self]


_NOTED = (
    *(CaveatKind.REDUCED_SCALE, CaveatKind.READ_AS, CaveatKind.HIDDEN_CONTENT),
    *(CaveatKind.TRACKED_CHANGES, CaveatKind.PASSED_OVER),
)
_UNREAD = (
    *(CaveatKind.PICTURES_UNREAD, CaveatKind.PARTS_SKIPPED, CaveatKind.ATTACHMENTS_UNREAD),
    *(CaveatKind.GLYPHS_UNMAPPED, CaveatKind.CUT_SHORT),
)
_WEIGHTS = {
    **dict.fromkeys(CaveatKind, CaveatWeight.UNSURE),
    **dict.fromkeys(_UNREAD, CaveatWeight.UNREAD),
    **dict.fromkeys(_NOTED, CaveatWeight.NOTE),
}


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something a reader of this page should know: what was not looked at, or may be wrong."""

    kind: CaveatKind  # see `CaveatKind`; its weight decides what becomes of the document
    detail: str = ""  # one line for a person: what, where, and what they can do about it
    count: int = 1  # how many such things
    whole: bool = field(default=False, compare=False)  # it is said of the whole document, at its first page


NO_TEXT = Caveat(
    CaveatKind.NO_TEXT,
    "No text was found on any page, so nothing in this document can be searched. Look at it: if words are missing, "
    "bring a better scan, or a version that holds text.",
)


@dataclass(frozen=True, slots=True)
class PlacedCaveat:
    """A caveat as it stands beside a passage; `page` is 1-based, None where it is of the whole document."""

    kind: CaveatKind
    weight: CaveatWeight
    detail: str
    count: int
    page: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason for which something was not read: data, not an exception."""

    stage: str
    reason: FailureReason
    detail: str = ""
    retryable: bool = False


class Unreadable(Exception):
    """A file or page that cannot be read; raised inside extraction, turned into a Failure at its edge."""

    def __init__(self, reason: FailureReason, detail: str = "", *, retryable: bool = False) -> None:
        """`detail` is one line a person can act on."""
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


def bounding_box(boxes: Sequence[Box]) -> Box:
    """The smallest rectangle around some; there is at least one."""
    return Box(min(b.x0 for b in boxes), min(b.y0 for b in boxes), max(b.x1 for b in boxes), max(b.y1 for b in boxes))


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a page: where it stands in the text and on the picture."""

    text: str  # as it appears in the page's text
    start: int  # offset of its first character in the page's text
    box: Box  # where it is on the page
    confidence: float = 1.0  # 0 to 1; 1.0 for born-digital text


@dataclass(frozen=True, slots=True)
class EngineAttempt:
    """One engine's try at a page or at a line of it; kept so that a reading can be explained."""

    engine: str
    confidence: float
    ms: int
    kept: bool
    note: str = ""
    languages: str = ""  # it read in, by Tesseract's names (`jpn+jpn_vert`), where each page's own are found


# Of pages whose text stands in their file: as it is there, and as people have corrected it.
NATIVE_ENGINES: Final = ("native", "native+human")


@dataclass(frozen=True, slots=True)
class Page:
    """The text read from one page (a slide, a sheet, a part of ≤ 20,000 characters)."""

    number: int  # 1-based
    text: str  # what a person would read there, tables as Markdown
    words: tuple[Word, ...] = ()  # with boxes where the format has a geometry, else empty
    engine: str = "native"  # `native`, `tesseract`, `easyocr` or some joined by +; `+human`: corrected by people
    confidence: float | None = None  # mean word confidence 0 to 1, None where no engine was asked
    attempts: tuple[EngineAttempt, ...] = ()  # every engine that was tried
    ms: int = 0  # time it took
    failure: Failure | None = None  # set when the page could not be read; text is empty then
    caveats: tuple[Caveat, ...] = ()  # what the text does not hold, or may have wrong

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled by the columns of its words: word by word, a page of text takes four times as long."""
        values = [getattr(self, one.name) for one in fields(self) if one.name != "words"]
        rows = [(w.text, w.start, w.confidence, w.box.x0, w.box.y0, w.box.x1, w.box.y1) for w in self.words]
        return _page_of_columns, (tuple(zip(*rows, strict=True)), *values)

    @property
    def is_native(self) -> bool:
        """True if the file itself has this text and no engine read it, whether people have corrected it or not."""
        return self.engine in NATIVE_ENGINES


def _page_of_columns(columns: tuple[tuple[Any, ...], ...], number: int, text: str, *others: Any) -> Page:
    words = tuple(
        Word(said, start, Box(x0, y0, x1, y1), sure) for said, start, sure, x0, y0, x1, y1 in zip(*columns, strict=True)
    )
    return Page(number, text, words, *others)


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
class ChunkMetrics:
    """Quality of a chunk, as far as its text and its neighbours tell it."""

    entropy: float  # Shannon entropy of its characters, bits
    coherence: float  # mean Jaccard similarity of its keywords with those of the chunks before and after, 0 to 1
    density: float | None  # mean cosine of its sentences to their centre; None where no sentence was embedded
    importance: float  # 0 to 1, of entropy, coherence and place in the document


@dataclass(frozen=True, slots=True)
class ParentPassage:
    """A passage of several chunks that is read in place of any of them."""

    ordinal: int  # 0-based among the parents of the document version
    first: int  # ordinal of its first chunk
    last: int  # and of its last one
    spans: tuple[Span, ...]  # where it stands; its text is theirs joined by newlines


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage worth finding, made of consecutive spans of pages."""

    ordinal: int  # 0-based position in the document version
    text: str  # what is shown and embedded
    spans: tuple[Span, ...]  # where it stands; at least one
    headings: tuple[str, ...] = ()  # the titles above it, outermost first
    method: str = "semantic"  # the strategy that cut it
    boxes: tuple[PageBox, ...] = field(default=())  # one rectangle a line on pages that have a geometry
    metrics: ChunkMetrics | None = None
    parent: ParentPassage | None = None  # of a hierarchical strategy, which searches chunks and reads parents


def _hash_parts(*parts: str) -> str:
    """128 bits of SHA-256 over length-prefixed parts, so that no two lists of parts collide by concatenation."""
    state = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()[:32]


def document_id(workspace: str, origin: str) -> DocumentId:
    """The same origin in another workspace is another document."""
    return DocumentId(_hash_parts("document", workspace, origin))


def version_id(document: DocumentId, file_hash: str, reading: str | None = None) -> VersionId:
    """One version for each content of a document, and one for each time that somebody asks to read that again.

    `file_hash` is the SHA-256 of its bytes in hex, `reading` the job that reads them again.
    """
    return VersionId(_hash_parts("version", document, file_hash, *(() if reading is None else (reading,))))


def page_id(version: VersionId, number: int) -> PageId:
    """The 1-based page of a version."""
    return PageId(_hash_parts("page", version, str(number)))


def chunk_id(version: VersionId, chunker: str, ordinal: int, text: str) -> ChunkId:
    """The same text at the same place, cut by the same chunker, is the same chunk."""
    return ChunkId(_hash_parts("chunk", version, chunker, str(ordinal), text))


def fingerprint_parts(*parts: object) -> str:
    """16 hex digits that change when any setting or engine version in `parts` changes."""
    return _hash_parts("fingerprint", *(repr(part) for part in parts))[:16]
