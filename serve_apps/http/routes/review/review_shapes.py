"""Pages to be reviewed, their lines and their corrections as the API shows them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from pipelines.documents.corrections.page_lines import PageLine, split_lines, weak_lines
from pipelines.documents.document import Page
from pipelines.documents.review.review_queue import PageVersion, Reason
from pipelines.documents.store.page_codec import box_to_json, words_from_json
from serve_apps.http.fields import RequestBody, Text
from serve_apps.http.response_shapes import CaveatShape

SHOWN_LINES = 20  # weak lines of a page in the queue
SHOWN_FIELDS = 20  # values in doubt of a page in the queue
LONGEST_SENT = 20_000  # characters of a line; what a line may hold is told by the page

PageVersionText = Annotated[
    Text, Field(max_length=64, description="Of the page as you saw it; where it is another by now, 409.")
]


class LineShape(BaseModel):
    """A line of a page: `line` is its number in the text, from 0, [start, end) its place there, `box` that on the page
    in fractions; `confidence` is the mean of its words, and `weak` where OCR was less sure than the threshold.

    A word is [start, text, confidence].
    """

    line: int
    start: int
    end: int
    text: str
    confidence: float | None
    weak: bool
    box: list[float] | None
    words: list[tuple[int, str, float]]


class WeakLine(BaseModel):
    """A line that OCR was not sure of."""

    line: int
    text: str
    confidence: float


class DoubtfulField(BaseModel):
    """A value that was extracted and that a person should look at; `path` is a JSON pointer into the result."""

    path: str
    value: Any
    state: Literal["unsure", "invalid"]
    reason: str


class WaitingPage(BaseModel):
    """A page that somebody should look at, and why: OCR was not sure of a line (`confidence`), the page says that its
    text may be wrong (`caveat`), a correction has no place on it since it was read again (`correction`), or a value
    that was extracted from it is in doubt (`field`; one that stands nowhere waits on the first page).

    `weak` has the first of its weak lines, `weak_lines` says how many there are; `fields` has the first of its values
    in doubt.
    """

    document_id: str
    filename: str
    page: int
    page_count: int
    page_version: str
    engine: str
    confidence: float | None
    weakest_line: float | None
    reasons: list[Reason]
    caveats: list[CaveatShape]
    weak: list[WeakLine]
    weak_lines: int
    fields: list[DoubtfulField]
    read_at: datetime
    reviewed_at: datetime | None
    reviewed_by: str | None
    url: str


class WaitingPages(BaseModel):
    """A part of the queue, the least sure first; `threshold` is the confidence below which a line is weak."""

    items: list[WaitingPage]
    total: int
    skip: int
    limit: int
    threshold: float


class PageLinesShape(BaseModel):
    """The lines of a page that readers see; `page_version` goes with each correction."""

    document_id: str
    filename: str
    page: int
    page_count: int
    page_version: str
    engine: str
    confidence: float | None
    caveats: list[CaveatShape]
    threshold: float
    lines: list[LineShape]
    fields: list[DoubtfulField]
    reviewed_at: datetime | None
    reviewed_by: str | None
    image: str


class ReviewMark(RequestBody):
    """Whether the page is fine as it is."""

    page_version: PageVersionText
    fine: bool = True


class ReviewedPage(BaseModel):
    """A page that was marked; null where it waits again."""

    document_id: str
    page: int
    reviewed_at: datetime | None


class CorrectionRequest(RequestBody):
    """What a line is to say; with `word` only the word of it that begins at this offset of the page's text."""

    page_version: PageVersionText
    line: Annotated[int, Field(ge=0, le=1_000_000)]
    text: Annotated[Text, Field(max_length=LONGEST_SENT)]
    word: Annotated[int | None, Field(ge=0, le=100_000_000)] = None


class CorrectionShape(BaseModel):
    """A correction that was made; `page_version` is of the page after it.

    `searchable`: by its `vectors` and words, by its `words` until it is embedded, or `pending` until a job has indexed
    the document. `reembedded` counts chunks. `fresh` is false where the same request was done before.
    """

    id: UUID
    document_id: str
    page: int
    page_version: str
    text: str
    reembedded: int
    searchable: Literal["vectors", "words", "pending"]
    fresh: bool


class CorrectionEntry(BaseModel):
    """A correction in a page's history: who changed which line, when, from what to what.

    `whole` says that all of the line was looked at, `unplaced` that its line was not found again in a later reading.
    """

    id: UUID
    at: datetime
    user_id: UUID | None
    user_email: str | None
    page_version: str
    line: int
    text_before: str
    text_after: str
    whole: bool
    box: list[float] | None
    reembedded: int
    searchable: Literal["vectors", "words", "pending"]
    unplaced: bool


class CorrectionHistory(BaseModel):
    """Corrections of a page, the newest first."""

    items: list[CorrectionEntry]
    total: int


def waiting_shape(row: dict[str, Any], threshold: float) -> WaitingPage:
    """A row of the queue."""
    weak = weak_lines(page_lines(row), threshold)
    told = ("document_id", "filename", "page_count", "engine", "confidence", "weakest_line", "reasons", "caveats")
    return WaitingPage(
        **{name: row[name] for name in (*told, "read_at", "reviewed_at", "reviewed_by")},
        page=row["number"],
        page_version=str(PageVersion.of_row(row)),
        weak=[WeakLine(line=one.number, text=one.text, confidence=one.confidence or 0.0) for one in weak[:SHOWN_LINES]],
        weak_lines=len(weak),
        fields=row["fields"][:SHOWN_FIELDS],
        url=f"/api/documents/{row['document_id']}/pages/{row['number']}/lines",
    )


def lines_shape(row: dict[str, Any], threshold: float) -> PageLinesShape:
    """A page with its lines."""
    told = ("document_id", "filename", "page_count", "engine", "confidence", "caveats", "reviewed_at", "reviewed_by")
    lines = page_lines(row)
    weak = {line.number for line in weak_lines(lines, threshold)}
    return PageLinesShape(
        **{name: row[name] for name in told},
        page=row["number"],
        page_version=str(PageVersion.of_row(row)),
        threshold=threshold,
        lines=[_line_shape(line, line.number in weak) for line in lines],
        fields=row["fields"],
        image=f"/api/documents/{row['document_id']}/pages/{row['number']}/image",
    )


def page_lines(row: dict[str, Any]) -> Sequence[PageLine]:
    """The lines of a stored page."""
    return split_lines(Page(row["number"], row["text"], words_from_json(row["words"])))


def _line_shape(line: PageLine, weak: bool) -> LineShape:
    return LineShape(
        line=line.number,
        start=line.start,
        end=line.end,
        text=line.text,
        confidence=line.confidence,
        weak=weak,
        box=None if line.box is None else box_to_json(line.box),
        words=[(word.start, word.text, word.confidence) for word in line.words],
    )
