"""Search and ask."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, field_validator

from pipelines.documents.document import PageBox, Span
from serve_apps.http.admit import Guarded, Its, Me, agree
from serve_apps.http.fields import Body, DocumentKey, Name, Question, Text
from serve_apps.retrieval.query import Filters, Hit, Query
from serve_apps.retrieval.quote import Citation

router = APIRouter(route_class=Guarded, tags=["search"])

Short = Annotated[Text, Field(min_length=1, max_length=255)]


class Narrowed(BaseModel):
    """Which documents may answer; a day without a time means the whole of it, a time without a zone is UTC."""

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
    def _zoned(cls, value: datetime | None) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


class SearchRequest(Narrowed, Body):
    """A question to the documents. Conditions stand in `filters` or beside it; those in `filters` win."""

    query: Question
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    agent_id: Annotated[Name | None, Field(description="An agent's UUID or its display name.")] = None
    min_similarity: Annotated[float | None, Field(ge=-1, le=1)] = None
    filters: Narrowed | None = None

    def narrowed(self) -> Filters:
        """Both places put together."""
        chosen = {name: getattr(self, name) for name in Narrowed.model_fields}
        chosen |= self.filters.model_dump(exclude_none=True) if self.filters else {}
        ids = chosen.pop("document_ids")
        return Filters(**chosen, document_ids=None if ids is None else tuple(ids))


class HitShape(BaseModel):
    """A passage: `spans` are [page, start, end] in page texts, `boxes` [page, x0, y0, x1, y1] in page fractions."""

    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    doc_type: str
    page: int
    page_end: int
    chunk_index: int
    text: str
    headings: list[str]
    spans: list[tuple[int, int, int]]
    boxes: list[tuple[int, float, float, float, float]]
    ocr_confidence: float | None
    engine: str
    score: float
    scores: dict[str, float]
    url: str


class Found(BaseModel):
    """Passages, best first, and how they were found; `fallback` says what was left out and why."""

    query: str
    total_results: int
    execution_time_ms: float
    keyword_engine: str
    vector: str
    rerank: str
    generation: int | None
    fallback: str | None
    timings_ms: dict[str, float]
    results: list[HitShape]


class AskRequest(Body):
    """A question, to everything one may see or to an agent's documents."""

    question: Question
    agent_id: Annotated[Name | None, Field(description="An agent's UUID or its display name.")] = None


class CitationShape(BaseModel):
    """Where a sentence comes from; `quote` is the page's text at [start, end), character for character."""

    n: int
    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    page: int
    quote: str
    start: int
    end: int
    ocr_confidence: float | None
    boxes: list[tuple[int, float, float, float, float]]
    url: str


class AnswerShape(BaseModel):
    """An answer: `mode` says whether it was extracted, generated, or nothing supports one."""

    answer: str
    mode: str
    citations: list[CitationShape]
    model: str | None
    fallback: str | None


@router.post("/api/documents/search")
async def search(body: SearchRequest, me: Me, parts: Its) -> Found:
    """Search by words and by meaning."""
    agree(me, body.tenant_id, body.workspace_id)
    agent = await parts.links.resolve(me.scope, body.agent_id)
    query = Query(body.query, body.limit, agent, body.narrowed(), body.min_similarity)
    found = await parts.search.run(me.scope, query)
    return Found(
        query=body.query,
        total_results=found.total,
        execution_time_ms=found.timings_ms.get("total", sum(found.timings_ms.values())),
        keyword_engine=found.keyword_engine,
        vector=found.vector,
        rerank=found.rerank,
        generation=found.generation,
        fallback=found.fallback,
        timings_ms=dict(found.timings_ms),
        results=[_hit(hit) for hit in found.hits],
    )


@router.post("/api/ask")
async def ask(body: AskRequest, me: Me, parts: Its) -> AnswerShape:
    """Answer from the documents, with citations; without support it says so."""
    agree(me, body.tenant_id, body.workspace_id)
    agent = await parts.links.resolve(me.scope, body.agent_id)
    answer = await parts.answerer.ask(me.scope, body.question, agent)
    return AnswerShape(
        answer=answer.text,
        mode=answer.mode,
        citations=[_citation(cited) for cited in answer.citations],
        model=answer.model,
        fallback=answer.fallback,
    )


def _hit(hit: Hit) -> HitShape:
    plain: dict[str, Any] = {
        name: getattr(hit, name) for name in HitShape.model_fields if name not in ("spans", "boxes", "url")
    }
    url = f"/api/documents/{hit.document_id}/pages/{hit.page}"
    return HitShape(**plain, spans=_spans(hit.spans), boxes=_boxes(hit.boxes), url=url)


def _citation(cited: Citation) -> CitationShape:
    plain = {name: getattr(cited, name) for name in CitationShape.model_fields if name != "boxes"}
    return CitationShape(**plain, boxes=_boxes(cited.boxes))


def _spans(spans: Sequence[Span]) -> list[tuple[int, int, int]]:
    return [(span.page, span.start, span.end) for span in spans]


def _boxes(boxes: Sequence[PageBox]) -> list[tuple[int, float, float, float, float]]:
    return [(one.page, one.box.x0, one.box.y0, one.box.x1, one.box.y1) for one in boxes]
