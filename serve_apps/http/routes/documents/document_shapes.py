"""Documents and their pages as the API shows them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

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
    rag_query_count: Annotated[int, Field(description="Answers that had it before them.")] = 0
    cited_count: Annotated[int, Field(description="Those of them that cite it.")] = 0
    last_accessed: Annotated[datetime | None, Field(description="When an answer used it last.")] = None


class DocumentList(BaseModel):
    """A page of documents."""

    items: list[DocumentLine]
    total: int
    skip: int
    limit: int


class ContextUse(BaseModel):
    """A passage that an answer had before it; `used_in_response` says whether the answer cites it.

    `chunk_id` is empty where the answer was calculated from a table; `page` is null once the passage is cut otherwise.
    """

    chunk_id: str
    page: int | None
    relevance_score: float | None
    used_in_response: bool
    used_at: datetime


class DocumentShape(DocumentLine):
    """A document with the version its readers see; `pages` counts expected, stored, failed and doubtful ones.

    `fix` says what mends its failure, where it has one; `members` is how many documents came out of it. `context_usage`
    are the passages that answers used last; nobody who asked is named.
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
    context_usage: list[ContextUse] = []


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


class SourceFigures(BaseModel):
    """A source that is synchronised: its documents, as far as the caller sees them."""

    id: UUID
    name: str
    kind: str
    documents: int
    completed: int
    failed: int
    chunks: int
    storage_bytes: int
    uploads_24h: int


class WorkspaceFigures(BaseModel):
    """A workspace of the tenant: all of its documents, whoever reads them."""

    id: UUID
    name: str
    documents: int
    completed: int
    failed: int
    chunks: int
    storage_bytes: int
    uploads_24h: int


class UsedDocument(BaseModel):
    """A document that answers use much."""

    id: str
    filename: str
    rag_query_count: int
    cited_count: int
    last_accessed: datetime


class UsageFigures(BaseModel):
    """Use of documents in answers: `rag_query_count` sums up how often each was before one, `cited_count` cited."""

    used_documents: int
    never_used: int
    rag_query_count: int
    cited_count: int
    last_accessed: datetime | None
    most_used: list[UsedDocument]


class Analytics(BaseModel):
    """Figures of the documents that the caller sees; those of others are in none of them but `workspaces`.

    `success_rate` is the share of completed documents among those whose reading has ended, null while there are none;
    `storage_bytes` are the files that readers see now. `sources` are for those who may list sources, `workspaces` for
    administrators of the tenant, as numbers of all documents; both are null for others.
    """

    documents: int
    chunks: int
    pages: int
    storage_bytes: int
    uploads_24h: int
    success_rate: float | None
    by_status: dict[str, int]
    by_type: dict[str, int]
    by_origin: dict[str, int]
    usage: UsageFigures
    sources: list[SourceFigures] | None
    workspaces: list[WorkspaceFigures] | None
    at: datetime


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
