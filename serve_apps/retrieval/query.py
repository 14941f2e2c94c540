"""What is asked of search, and what it answers with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from pipelines.documents.document import PageBox, Span

LONGEST_QUESTION = 4_000  # characters that are looked at; the legs' cost grows with the words of a question

KeywordEngine = Literal["bm25", "full_text"]
VectorEngine = Literal["hnsw", "exact", "off"]


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may answer; every condition that is set must hold.

    Attributes:
        doc_type: the documents' file type, exactly.
        source_file: part of the filename, in any case.
        upload_date_from: not uploaded before.
        upload_date_to: not uploaded after.
        document_ids: one of these; an empty tuple admits none.
    """

    doc_type: str | None = None
    source_file: str | None = None
    upload_date_from: datetime | None = None
    upload_date_to: datetime | None = None
    document_ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the documents.

    Attributes:
        text: in natural language; the first 4,000 characters count.
        limit: hits wanted, 1 or more.
        agent_id: only what is linked to this agent; a UUID as text.
        filters: only some documents.
        min_similarity: least cosine similarity of a hit, -1 to 1.
    """

    text: str
    limit: int = 10
    agent_id: str | None = None
    filters: Filters = Filters()
    min_similarity: float | None = None

    @property
    def words(self) -> str:
        """The text as it is searched for: without NUL, which Postgres does not store."""
        return self.text.replace("\x00", " ").strip()[:LONGEST_QUESTION]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that a leg found, and how each stage judged it.

    Attributes:
        scores: `keyword_rank`, `keyword_score`, `vector_rank`, `vector_score` (cosine similarity), `fused`, `rerank`:
            those of the stages that saw it. Ranks begin at 1.
    """

    chunk_id: str
    document_id: str
    scores: Mapping[str, float | int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def score(self) -> float:
        """What the last stage that judged it said."""
        return self.scores.get("rerank", self.scores.get("fused", 0.0))


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found.

    Attributes:
        page: 1-based, where it begins.
        page_end: 1-based, where it ends.
        chunk_index: 0-based position in its document version.
        spans: characters [start, end) of page texts.
        boxes: rectangles in fractions of the page; empty where a format has no geometry.
        ocr_confidence: mean confidence of the words on its pages, 0 to 1; None for born-digital text.
        engine: what read its pages: `native`, `tesseract`, …
        score: of the last stage; hits come in this order.
        scores: of every stage, see `Candidate`.
    """

    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    doc_type: str
    page: int
    page_end: int
    chunk_index: int
    text: str
    headings: tuple[str, ...]
    spans: tuple[Span, ...]
    boxes: tuple[PageBox, ...]
    ocr_confidence: float | None
    engine: str
    score: float
    scores: Mapping[str, float | int]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in order, and how they were found.

    Attributes:
        candidates: best first, each chunk once.
        vector: `off` when the question could not be embedded or nothing is embedded.
        rerank: `on`, or `off: ` and why.
        generation: the index generation that was used throughout; None where the workspace has none.
        fallback: why a part was left out, None when nothing was.
        timings_ms: stage to milliseconds.
    """

    candidates: tuple[Candidate, ...]
    keyword_engine: KeywordEngine
    vector: VectorEngine
    rerank: str
    generation: int | None
    fallback: str | None
    timings_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Results:
    """The hits of a query; see `Ranking` for how they were found.

    Attributes:
        total: different chunks that the legs found, of which `hits` are the best.
    """

    query: Query
    hits: tuple[Hit, ...]
    total: int
    keyword_engine: KeywordEngine
    vector: VectorEngine
    rerank: str
    generation: int | None
    fallback: str | None
    timings_ms: Mapping[str, float]
