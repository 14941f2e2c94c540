"""Queries, candidates, hits and results of the search."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from pipelines.documents.document import PageBox, PlacedCaveat, Span
from serve_apps.retrieval.cache.decision import CacheDecision

LONGEST_QUESTION = 4_000  # characters that are looked at; the legs' cost grows with the words of a question

KeywordEngine = Literal["bm25", "full_text", "off"]
VectorEngine = Literal["hnsw", "exact", "off"]
Strategy = Literal["hybrid", "vector", "keyword"]

# Least cosine similarities by who asks, as the product was specified with them; a caller names one, none is
# applied unasked.
LEAST_SIMILARITY: Mapping[str, float] = MappingProxyType(
    {"general": 0.5, "search_knowledge": 0.65, "semantic_search": 0.7, "conversation": 0.4}
)


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Filter on documents; every condition that is set must hold.

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
class ContextBudget:
    """Budget of a packed context: tokens of its formatted text, and chunks."""

    max_tokens: int = 2_000
    max_chunks: int = 8

    @classmethod
    def of(cls, max_tokens: int | None, max_chunks: int | None) -> "ContextBudget":
        """Budget from a caller's limits: without tokens 500 a chunk, and 2,000 at least."""
        chunks = cls().max_chunks if max_chunks is None else max_chunks
        if max_tokens is None:
            return cls(max(2_000, 500 * chunks) if max_chunks is not None else 2_000, chunks)
        return cls(max_tokens, chunks)


# What contexts are for, as the product was specified with them.
BUDGETS: Mapping[str, ContextBudget] = MappingProxyType(
    {"chat": ContextBudget(2_000, 8), "recipe": ContextBudget(4_000, 15), "code": ContextBudget(3_000, 10)}
)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question to the documents.

    Attributes:
        text: in natural language; the first 4,000 characters count.
        limit: hits wanted, 1 or more.
        agent_id: only what is linked to this agent; a UUID as text.
        filters: only some documents.
        min_similarity: least cosine similarity of a hit, -1 to 1.
        strategy: which legs are run.
        enhance: True asks a model for variations, False does not, None leaves it to the rule.
        rerank: False leaves the candidates in their fused order.
        budget: pack the best candidates into a context of this size; None packs nothing.
        round_robin: each document's best hit comes before any document's second.
        spread: another document's passage that is nearly as good comes before a document's further ones; False for who
            wants the best passages, wherever they stand.
        patience_ms: how long the caller will wait for the whole; None for as long as it takes.
        history: what was said before, oldest first; a follow-up question is read together with the last two.
        explain: keep every candidate with what each stage thought of it.
        generation: search this one of the workspace, live or not; None searches the live one.
        fresh: work it out anew, whatever is remembered, and remember nothing of it.
    """

    text: str
    limit: int = 10
    agent_id: str | None = None
    filters: SearchFilters = SearchFilters()
    min_similarity: float | None = None
    strategy: Strategy = "hybrid"
    enhance: bool | None = None
    rerank: bool | None = None
    budget: ContextBudget | None = None
    round_robin: bool = False
    spread: bool = True
    patience_ms: int | None = None
    history: tuple[str, ...] = ()
    explain: bool = False
    generation: int | None = None
    fresh: bool = False

    @property
    def words(self) -> str:
        """The text as it is searched for: without NUL, which Postgres does not store."""
        return self.text.replace("\x00", " ").strip()[:LONGEST_QUESTION]


class Candidate(NamedTuple):
    """A chunk that a leg found, and how each stage judged it; made by the hundred, as `Found` is.

    Attributes:
        scores: `keyword_rank`, `keyword_score`, `vector_rank`, `vector_score` (cosine similarity), the same with `:2`
            and so on for a question's variations, `fused`, `judge` (as the judge gave it), `rerank` (the judge's and
            the keyword leg's score, each brought to 0 to 1, weighted), `spread` (what of it counts after better
            passages of its document): those of the stages that saw it. Ranks begin at 1.
    """

    chunk_id: str
    document_id: str
    scores: Mapping[str, float | int] = MappingProxyType({})

    @property
    def score(self) -> float:
        """Score by the last stage that judged it."""
        scores = self.scores
        return scores.get("spread", scores.get("rerank", scores.get("fused", 0.0)))


@dataclass(frozen=True, slots=True)
class SearchHit:
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
        caveats: what the text of its pages does not hold, or may have wrong.
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
    caveats: tuple[PlacedCaveat, ...] = ()

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles over the passage: its headings and the name of its file."""
        return (*self.headings, self.filename)


@dataclass(frozen=True, slots=True)
class StageReport:
    """Report of what a stage of the pipeline did.

    Attributes:
        name: `enhance`, `keyword`, `vector`, `fuse`, `filter`, `rerank`, `round_robin`, `spread` or `pack`.
        on: whether it took part.
        detail: with what, or why it did not.
        kept: chunks that were left after it; None where it has none to count.
    """

    name: str
    on: bool
    detail: str
    kept: int | None = None


@dataclass(frozen=True, slots=True)
class RAGResult:
    """A context packed from the candidates.

    Attributes:
        chunks: the passages that were chosen, in the order of their ranking.
        formatted_context: them as Markdown, each under its source.
        total_tokens: of the formatted context.
        sources: the filenames, each once.
        query: the question.
        diversity_score: different documents among the chunks, 0 to 1.
        information_gain: the value of what was chosen among the value of all candidates, 0 to 1.
        counted_with: the vocabulary that the tokens were counted with.
    """

    chunks: tuple[SearchHit, ...]
    formatted_context: str
    total_tokens: int
    sources: tuple[str, ...]
    query: str
    diversity_score: float
    information_gain: float
    counted_with: str


@dataclass(frozen=True, slots=True)
class CandidateRanking:
    """Candidates in order, and how they were found.

    Attributes:
        candidates: best first, each chunk once.
        keyword_engine: `off` where the strategy leaves words out.
        vector: `off` when the question could not be embedded, nothing is embedded, or the strategy leaves it out.
        rerank: `on` by the cross-encoder, `on: ` and another judge, or `off: ` and why.
        generation: the index generation that was used throughout; None where the workspace has none.
        fallback: why a part was left out, None when nothing was.
        timings_ms: stage to milliseconds.
        stages: what each stage did, in order.
        variations: what a model made of the question and was searched for beside it.
    """

    candidates: tuple[Candidate, ...]
    keyword_engine: KeywordEngine
    vector: VectorEngine
    rerank: str
    generation: int | None
    fallback: str | None
    timings_ms: Mapping[str, float]
    stages: tuple[StageReport, ...] = ()
    variations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits of a query; see `CandidateRanking` for how they were found.

    Attributes:
        total: different chunks that the legs found, of which `hits` are the best.
        packed: the context, where the query has a budget.
        considered: every candidate in order, where the query wants to be explained.
        cache: what the cache said; None where there is none.
    """

    query: SearchQuery
    hits: tuple[SearchHit, ...]
    total: int
    keyword_engine: KeywordEngine
    vector: VectorEngine
    rerank: str
    generation: int | None
    fallback: str | None
    timings_ms: Mapping[str, float]
    stages: tuple[StageReport, ...] = ()
    variations: tuple[str, ...] = ()
    packed: RAGResult | None = None
    considered: tuple[Candidate, ...] = ()
    cache: CacheDecision | None = None
