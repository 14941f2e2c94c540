"""Queries, candidates, hits and results of the search."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from pipelines.documents.document import ChunkMetrics, PageBox, PlacedCaveat, Span

LONGEST_QUESTION = 4_000  # characters that are looked at; the retrievers' cost grows with the words of a question

KeywordEngine = Literal["bm25", "full_text", "off"]
VectorEngine = Literal["hnsw", "exact", "off"]
Strategy = Literal["hybrid", "vector", "keyword"]
Quote = Literal["prefer", "must"]
CacheOutcome = Literal["hit", "miss", "bypass"]

# Least cosine similarities by who asks, as the product was specified with them; a caller names one, none is
# applied unasked.
LEAST_SIMILARITY: Mapping[str, float] = MappingProxyType(
    {"general": 0.5, "search_knowledge": 0.65, "semantic_search": 0.7, "conversation": 0.4}
)


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """Filter on documents; every condition that is set must hold."""

    doc_type: str | None = None  # the documents' file type, exactly
    source_file: str | None = None  # part of the filename, in any case
    upload_date_from: datetime | None = None  # not uploaded before
    upload_date_to: datetime | None = None  # not uploaded after
    document_ids: tuple[str, ...] | None = None  # one of these; an empty tuple admits none


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
    """A question to the documents."""

    text: str  # in natural language; the first 4,000 characters count
    limit: int = 10  # hits wanted, 1 or more
    agent_id: str | None = None  # only what is linked to this agent; a UUID as text
    filters: SearchFilters = SearchFilters()  # only some documents
    min_similarity: float | None = None  # least cosine similarity of a hit, -1 to 1
    strategy: Strategy = "hybrid"  # which retrievers are run
    quote: Quote = "prefer"  # what a quoted phrase does: passages with it count more, or there are no others
    enhance: bool | None = None  # True asks a model for variations, False does not, None leaves it to the rule
    rerank: bool | None = None  # False leaves the candidates in their fused order
    budget: ContextBudget | None = None  # pack the best candidates into a context of this size; None packs nothing
    round_robin: bool = False  # each document's best hit comes before any document's second
    # another document's passage that is nearly as good comes before a document's further ones; False for who wants the
    # best passages, wherever they stand
    spread: bool = True
    patience_ms: int | None = None  # how long the caller will wait for the whole; None for as long as it takes
    # what was said before, oldest first; a follow-up question is read together with the last two
    history: tuple[str, ...] = ()
    explain: bool = False  # keep every candidate with what each stage thought of it
    generation: int | None = None  # search this one of the workspace, live or not; None searches the live one
    fresh: bool = False  # work it out anew, whatever is remembered, and remember nothing of it

    @property
    def words(self) -> str:
        """The text as it is searched for: without NUL, which Postgres does not store."""
        return self.text.replace("\x00", " ").strip()[:LONGEST_QUESTION]


class Candidate(NamedTuple):
    """A chunk that a leg found, and how each stage judged it; made by the hundred, as `Found` is."""

    chunk_id: str
    document_id: str
    # `keyword_rank`, `keyword_score`, `vector_rank`, `vector_score` (cosine similarity), the same with `:2` and so on
    # for a question's variations, `quoted_rank`, `quoted_score` (how many quoted phrases it holds, and of a long
    # question's identifiers), `fused`, `judge` (as the judge gave it), `rerank` (the judge's and the keyword leg's
    # score, each brought to 0 to 1, weighted), `spread` (what of it counts after better passages of its document):
    # those of the stages that saw it. Ranks begin at 1
    scores: Mapping[str, float | int] = MappingProxyType({})

    @property
    def score(self) -> float:
        """Score by the last stage that judged it."""
        scores = self.scores
        return scores.get("spread", scores.get("rerank", scores.get("fused", 0.0)))


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that was found."""

    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    doc_type: str
    page: int  # 1-based, where it begins
    page_end: int  # 1-based, where it ends
    chunk_index: int  # 0-based position in its document version
    text: str
    headings: tuple[str, ...]
    spans: tuple[Span, ...]  # characters [start, end) of page texts
    boxes: tuple[PageBox, ...]  # rectangles in fractions of the page; empty where a format has no geometry
    ocr_confidence: float | None  # mean confidence of the words on its pages, 0 to 1; None for born-digital text
    engine: str  # what read its pages: `native`, `tesseract`, …
    score: float  # of the last stage; hits come in this order
    scores: Mapping[str, float | int]  # of every stage, see `Candidate`
    caveats: tuple[PlacedCaveat, ...] = ()  # what the text of its pages does not hold, or may have wrong
    stemmer: str = "english"  # by whose language its words are cut
    metrics: ChunkMetrics | None = None  # of the chunk; None of one that was cut before there were any
    # 0-based, among the parents of its document version: text, spans, boxes and pages are then those of the parent of
    # the chunk that was found; None where they are its own
    parent: int | None = None
    # the class of data that its document is of; None of none, `?` (UNKNOWN_CLASS) where nobody has looked yet
    classification: str | None = None

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles over the passage: its headings and the name of its file."""
        return (*self.headings, self.filename)


@dataclass(frozen=True, slots=True)
class StageReport:
    """Report of what a stage of the pipeline did."""

    name: str  # `enhance`, `keyword`, `vector`, `fuse`, `quote`, `filter`, `rerank`, `round_robin`, `spread` or `pack`
    on: bool  # whether it took part
    detail: str  # with what, or why it did not
    kept: int | None = None  # chunks that were left after it; None where it has none to count


@dataclass(frozen=True, slots=True)
class RAGResult:
    """A context packed from the candidates."""

    chunks: tuple[SearchHit, ...]  # the passages that were chosen, in the order of their ranking
    formatted_context: str  # them as Markdown, each under its source
    total_tokens: int  # of the formatted context
    sources: tuple[str, ...]  # the filenames, each once
    query: str  # the question
    diversity_score: float  # different documents among the chunks, 0 to 1
    information_gain: float  # the value of what was chosen among the value of all candidates, 0 to 1
    counted_with: str  # the vocabulary that the tokens were counted with


@dataclass(frozen=True, slots=True)
class CandidateRanking:
    """Candidates in order, and how they were found."""

    candidates: tuple[Candidate, ...]  # best first, each chunk once
    keyword_engine: KeywordEngine  # `off` where the strategy leaves words out
    # `off` when the question could not be embedded, nothing is embedded, or the strategy leaves it out
    vector: VectorEngine
    rerank: str  # `on` by the cross-encoder, `on: ` and another judge, or `off: ` and why
    generation: int | None  # the index generation that was used throughout; None where the workspace has none
    fallback: str | None  # why a part was left out, None when nothing was
    timings_ms: Mapping[str, float]  # stage to milliseconds
    stages: tuple[StageReport, ...] = ()  # what each stage did, in order
    variations: tuple[str, ...] = ()  # what a model made of the question and was searched for beside it


@dataclass(frozen=True, slots=True)
class CacheDecision:
    """Origin of results: cache hit, miss or bypass, and why."""

    outcome: (
        CacheOutcome  # `hit`: remembered; `miss`: worked out now; `bypass`: the cache was not asked, or could not be
    )
    reason: str  # in a few words, for people
    # cosine of the question to the remembered one that was nearest; None where none was compared
    similarity: float | None = None
    age_seconds: float | None = None  # since a hit was worked out
    question: str | None = None  # the remembered question of a hit, or the nearest one that was refused
    shared: bool = False  # somebody else asked the same at the same moment, and it was worked out once


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits of a query; see `CandidateRanking` for how they were found."""

    query: SearchQuery
    hits: tuple[SearchHit, ...]
    total: int  # different chunks that the retrievers found, of which `hits` are the best
    keyword_engine: KeywordEngine
    vector: VectorEngine
    rerank: str
    generation: int | None
    fallback: str | None
    timings_ms: Mapping[str, float]
    stages: tuple[StageReport, ...] = ()
    variations: tuple[str, ...] = ()
    packed: RAGResult | None = None  # the context, where the query has a budget
    considered: tuple[Candidate, ...] = ()  # every candidate in order, where the query wants to be explained
    cache: CacheDecision | None = None  # what the cache said; None where there is none
