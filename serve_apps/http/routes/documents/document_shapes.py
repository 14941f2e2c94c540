"""Documents and their pages as the API shows them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from pipelines.documents.document import Status
from pipelines.documents.ingest.remedies import find_remedy
from serve_apps.http.response_shapes import CaveatShape, DocumentCaveat

Failure = Mapping[str, Any]


class DocumentLine(BaseModel):
    """A document in a list; `caveats` are what it lacks or may have wrong, the gravest first.

    `parent_id` is the document of the archive or the letter that it came out of, `classification` the class of data
    that it is of.
    """

    id: str
    filename: str
    file_type: str
    source_type: str
    status: Status
    failure: Failure | None
    caveats: list[DocumentCaveat]
    description: str
    tags: list[str]
    readers: list[str]
    chunk_count: int
    has_embeddings: bool
    page_count: int | None
    file_size: int | None
    upload_date: datetime
    processed_date: datetime | None
    parent_id: str | None
    classification: str | None = None


class DocumentList(BaseModel):
    """A page of documents, newest first."""

    items: list[DocumentLine]
    total: int
    skip: int
    limit: int


class DocumentShape(DocumentLine):
    """A document with the version its readers see; `pages` counts expected, stored, failed and doubtful ones.

    `fix` says what mends its failure, where it has one; `members` is how many documents came out of it.
    """

    fix: str | None
    classified_by: Annotated[str | None, Field(description="`policy` or `hand`; null: nobody has looked yet.")] = None
    parent_filename: str | None
    members: int
    origin: str
    version_id: str | None
    file_hash: str | None
    metadata: dict[str, Any]
    pages: dict[str, int]
    agents: list[dict[str, Any]]


class PageContent(BaseModel):
    """The text of a page as HTML, escaped, chunks marked; `caveats` are what it does not hold or may have wrong."""

    number: int
    html: str
    failure: Failure | None
    caveats: list[CaveatShape]


class Content(BaseModel):
    """Text of consecutive pages: plain in `content` with a form feed between pages; `next_page` where there is more."""

    document_id: str
    version_id: str | None
    filename: str
    page_count: int
    content: str
    pages: list[PageContent]
    next_page: int | None


class PageShape(BaseModel):
    """A page as it was read; a word is [start in text, text, x0, y0, x1, y1 in fractions of the page, confidence]."""

    document_id: str
    version_id: str
    filename: str
    number: int
    page_count: int
    text: str
    words: list[list[float | str]]
    confidence: float | None
    engine: str
    attempts: list[dict[str, Any]]
    ms: int
    failure: Failure | None
    caveats: list[CaveatShape]
    personal_data: Annotated[dict[str, int] | None, Field(description="Finds by kind; null: nobody looked.")] = None
    read_at: datetime
    image: str


class Deleted(BaseModel):
    """Counts of what goes, or went, with a document and its `members`, the documents that came out of it."""

    document_id: str
    members: int
    versions: int
    pages: int
    chunks: int
    embeddings: int
    agents: list[str]


class ContentCounts(BaseModel):
    """Counts of searchable content; `generation` is the live one, with its model and what searches it."""

    backend: Literal["pgvector"] = "pgvector"
    documents: int
    by_status: dict[str, int]
    without_vectors: int
    pages: int
    chunks: int
    embeddings: int
    generation: dict[str, Any]


class Stats(ContentCounts):
    """Counts of searchable content, and who embeds.

    `endpoint` is the server that embeds, null where the model is in this process; `ollama_auto_detected` whether the
    first start found it.
    """

    model: str
    endpoint: str | None
    ollama_auto_detected: bool


def fix_of(failure: Failure | None) -> str | None:
    """Remedy of a failure."""
    return find_remedy(failure.get("reason")).fix if failure else None
