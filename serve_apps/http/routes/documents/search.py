"""Search the documents; the cache of what was asked; the language that words are compared in; an agent's chunks."""

import asyncio
from dataclasses import asdict
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field, field_validator

from cluster.basics.scope import Scope
from pipelines.documents.chunk.language import AUTO
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.fields import MOST_AGENT, DocumentKey, Name, Question, RequestBody, Text
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.routes.documents.document_shapes import ContentCounts
from serve_apps.http.routes.documents.passages import Found, MetricsShape, masked_response, search_response
from serve_apps.retrieval.search.inspect_chunks import sample_index
from serve_apps.retrieval.search.query import (
    BUDGETS,
    LEAST_SIMILARITY,
    ContextBudget,
    Quote,
    SearchFilters,
    SearchQuery,
    Strategy,
)
from serve_apps.retrieval.text.stemming_language import StemmingLanguages

router = APIRouter(route_class=GuardedRoute, tags=["search"])

Short = Annotated[Text, Field(min_length=1, max_length=255)]
Said = Annotated[Text, Field(max_length=20_000)]
Preset = Literal["general", "search_knowledge", "semantic_search", "conversation"]
Purpose = Literal["chat", "recipe", "code"]

QUOTE = 'Whether passages with a phrase in quotes count more, or are all there is; +"such a phrase" is always must.'


class Narrowed(BaseModel):
    """Filters on documents; a day without a time means the whole of it, a time without a zone is UTC."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    doc_type: Annotated[Short | None, Field(description="Such as pdf.")] = None
    source_file: Annotated[Short | None, Field(description="Part of the filename.")] = None
    upload_date_from: datetime | None = None
    upload_date_to: datetime | None = None
    document_ids: Annotated[list[DocumentKey] | None, Field(max_length=1_000)] = None

    @field_validator("upload_date_to", mode="before")
    @classmethod
    def _whole_day(cls, value: object) -> object:
        if isinstance(value, str) and len(value) == 10:
            return datetime.combine(date.fromisoformat(value), time.max, UTC)
        return value

    @field_validator("upload_date_from", "upload_date_to")
    @classmethod
    def _default_to_utc(cls, value: datetime | None) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


class SearchRequest(Narrowed, RequestBody):
    """A question to the documents. Conditions stand in `filters` or beside it; those in `filters` win.

    `enhance` and `rerank` switch a stage for this request; without them rules and settings decide. A context is packed
    where `pack`, `max_tokens` or `max_chunks` is given. `preset` names the least similarity of a kind of caller.
    """

    query: Question
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    agent_id: Annotated[Name | None, Field(description="An agent's UUID or its display name.")] = None
    min_similarity: Annotated[float | None, Field(ge=-1, le=1)] = None
    preset: Annotated[Preset | None, Field(description="Least similarity where min_similarity names none.")] = None
    strategy: Annotated[Strategy, Field(description="Which legs are run.")] = "hybrid"
    quote: Annotated[Quote, Field(description=QUOTE)] = "prefer"
    enhance: Annotated[bool | None, Field(description="Let a model make variations of the question.")] = None
    rerank: Annotated[bool | None, Field(description="false leaves the fused order.")] = None
    pack: Annotated[Purpose | bool | None, Field(description="Pack a context, for this or for anything.")] = None
    max_tokens: Annotated[int | None, Field(ge=1, le=16_000, description="Of the packed context.")] = None
    max_chunks: Annotated[int | None, Field(ge=1, le=50, description="In the packed context.")] = None
    round_robin: Annotated[bool, Field(description="Each document's best before any document's second.")] = False
    group_by_document: Annotated[bool, Field(description="Also list the documents, with previews.")] = False
    patience_ms: Annotated[int | None, Field(ge=1, le=600_000, description="How long the caller waits.")] = None
    history: Annotated[list[Said], Field(max_length=50, description="Earlier messages, oldest first.")] = []
    cache: Annotated[bool, Field(description="false works it out anew, and remembers nothing of it.")] = True
    explain: Annotated[bool, Field(description="Say what each stage did and thought of each candidate.")] = False
    filters: Narrowed | None = None

    def narrowed(self) -> SearchFilters:
        """Both places put together."""
        chosen = {name: getattr(self, name) for name in Narrowed.model_fields}
        chosen |= self.filters.model_dump(exclude_none=True) if self.filters else {}
        ids = chosen.pop("document_ids")
        return SearchFilters(**chosen, document_ids=None if ids is None else tuple(ids))

    def budget(self) -> ContextBudget | None:
        """Of the context to pack; None where none is asked for."""
        if not isinstance(self.pack, str):
            given = self.max_tokens is not None or self.max_chunks is not None
            wanted = given if self.pack is None else self.pack
            return ContextBudget.of(self.max_tokens, self.max_chunks) if wanted else None
        known = BUDGETS[self.pack]
        return ContextBudget(self.max_tokens or known.max_tokens, self.max_chunks or known.max_chunks)

    def asked(self, agent: str | None) -> SearchQuery:
        """The query, of an agent by its id."""
        least = self.min_similarity
        if least is None and self.preset is not None:
            least = LEAST_SIMILARITY[self.preset]
        chosen = {"agent_id": agent, "filters": self.narrowed(), "budget": self.budget(), "min_similarity": least}
        said = {"text": self.query, "history": tuple(self.history), "fresh": not self.cache}
        return copy_fields(SearchQuery, self, **chosen, **said)


@router.post("/api/documents/search", dependencies=[READ])
async def search(body: SearchRequest, me: Me, parts: Its) -> Found:
    """Search by words and by meaning."""
    async with parts.admission.place():
        agent = await parts.agent_store.resolve(me.scope, body.agent_id)
        results = await parts.search.run(me.scope, body.asked(agent))
    parts.telemetry.searched(results.timings_ms, None if results.cache is None else results.cache.outcome)
    found = search_response(body.query, results, grouped=body.group_by_document)
    mask = await parts.governance.policies.mask(me.scope, "search")
    return found if mask is None else await asyncio.to_thread(masked_response, found, mask)


class LanguageRequest(RequestBody):
    """Language to stem by, one of those that GET lists; `simple` does no stemming."""

    language: Name


class Language(BaseModel):
    """Stemming language; `chunks` is how many were stemmed anew, null where nothing was asked to change."""

    language: str
    known: list[str]
    chunks: int | None = None


@router.get("/api/search/language", dependencies=[READ])
async def language(me: Me, parts: Its) -> Language:
    """The workspace's language, and those there are."""
    languages = StemmingLanguages(parts.database)
    return Language(language=await languages.current(me.scope), known=await languages.known(me.scope))


@router.put("/api/search/language", dependencies=[OPERATE])
async def change_language(body: LanguageRequest, me: Me, parts: Its) -> Language:
    """Compare words in another language from now on; answers once every chunk's words are cut anew."""
    languages, whole = StemmingLanguages(parts.database), Scope.of_worker(me.scope.tenant, me.scope.workspace)
    detected = await languages.detect(whole) if body.language == AUTO else {}
    async with parts.database.transaction(whole) as tx:
        chunks = await languages.change(tx, me.scope, body.language, detected)
        detail = {"language": body.language, "chunks": chunks}
        await parts.audit.record(tx, me.scope, "search.language", me.scope.workspace, detail=detail)
    return Language(language=body.language, known=await languages.known(me.scope), chunks=chunks)


class CacheStats(BaseModel):
    """A workspace's cache, over all replicas; `refused` are misses beside a question that asks something else."""

    entries: int
    places: int = Field(description="Sets of documents, filters and options that have entries.")
    hits: int
    misses: int
    bypasses: int
    refused: int
    shared: int = Field(description="Questions that waited for the same one of somebody else.")
    stored: int
    garbage: int
    hit_rate: float | None
    risk: float = Field(description="Share of look-alike questions that may be taken for each other.")
    similarity_threshold: float | None = Field(description="With the packaged embedder; null: only the same words.")
    ttl_seconds: int
    refusals: dict[str, int] = Field(default={}, description="What parted those questions, and how often.")


class Forgotten(BaseModel):
    """Number of entries that were invalidated."""

    forgotten: int
    agent_id: str | None


@router.get("/api/rag/cache/stats", dependencies=[OPERATE])
async def cache_stats(me: Me, parts: Its) -> CacheStats:
    """Statistics of the workspace's cache; 503 where it cannot be reached."""
    return CacheStats(**asdict(await parts.cache.get_stats(me.workspace)))


@router.delete("/api/rag/cache", dependencies=[OPERATE])
async def forget(me: Me, parts: Its, agent_id: Name | None = None) -> Forgotten:
    """Forget what was remembered in the workspace, or only for one agent, by its id or display name."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    forgotten = await parts.cache.invalidate(me.workspace, agent)
    async with parts.database.transaction(me.scope) as tx:
        detail = {"agent": agent, "forgotten": forgotten}
        await parts.audit.record(tx, me.scope, "cache.clear", agent or me.workspace, detail=detail)
    return Forgotten(forgotten=forgotten, agent_id=agent)


AgentInPath = Annotated[Text, Path(max_length=MOST_AGENT, description="An agent's UUID or its display name.")]


class SampleShape(BaseModel):
    """A chunk as it lies in the index: `text` is its beginning, `method` cut it, `parent` is its parent's number."""

    chunk_id: str
    document_id: str
    filename: str
    page: int
    chunk_index: int
    text: str
    characters: int
    embedded: bool
    method: str | None
    metrics: MetricsShape | None
    parent: int | None


class Debug(BaseModel):
    """Searchable content of an agent, as far as the caller may see it."""

    agent_id: str
    collection: ContentCounts
    chunk_count: int
    dimensions: int | None
    generation: dict[str, Any]
    sample_chunks: list[SampleShape]


@router.get("/api/rag/debug/{agent_id}", dependencies=[READ])
async def debug(
    agent_id: AgentInPath,
    me: Me,
    parts: Its,
    samples: Annotated[int, Query(ge=0, le=50, description="Chunks to show.")] = 5,
) -> Debug:
    """Collection, chunks, dimensions and generation behind an agent's searches, with some chunks."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    assert agent is not None
    stats = ContentCounts(**await parts.library.stats(me.scope, agent))
    chunks = await sample_index(parts.database, me.scope, agent, samples)
    shown, size = [SampleShape(**asdict(one)) for one in chunks], stats.generation.get("dimension")
    known = {"collection": stats, "chunk_count": stats.chunks, "generation": stats.generation}
    return Debug(agent_id=agent, dimensions=size, sample_chunks=shown, **known)
