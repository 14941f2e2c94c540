"""Ask, and look into an answer: from each of its claims to the page, the engine, the file and the job it rests on."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field

from cluster.basics.scope import Scope
from pipelines.documents.privacy.answer_masks import AnswerMask, MaskedDeltas
from pipelines.documents.privacy.answer_rules import UNKNOWN_CLASS
from pipelines.documents.usage.document_usage import AnswerUse, PassageUse, passages_used
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import Name, Question, RequestBody
from serve_apps.http.response_shapes import PlacedCaveatShape, copy_fields
from serve_apps.http.routes.agents.chat_shapes import PersonalDataTold
from serve_apps.http.routes.documents.passages import ChartShape, CitationShape, chart_shape, citation_shape
from serve_apps.http.streams.answer_stream import stream_answer
from serve_apps.http.streams.turn_response import wants_stream
from serve_apps.retrieval.answers.answerer import HITS, CitedAnswer
from serve_apps.retrieval.answers.claims import Basis
from serve_apps.retrieval.answers.draft import ShowDraft
from serve_apps.retrieval.answers.stored_answers import calculation_json, judged_json

router = APIRouter(route_class=GuardedRoute, tags=["answers"])

AnswerInPath = Annotated[UUID, Path(description="Of `POST /api/ask`, or of the run where an agent answered.")]
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "The answer, or with `stream` its drafts and the answer as events.",
    }
}
Rectangle = tuple[int, float, float, float, float]


class AskRequest(RequestBody):
    """A question, to everything one may see or to an agent's documents."""

    question: Question
    agent_id: Annotated[Name | None, Field(description="An agent's UUID or its display name.")] = None
    stream: Annotated[
        bool | None,
        Field(
            description="Server-sent events: `draft` while a model writes, unchecked; then `answer`, or `error`. Else "
            "the Accept header decides."
        ),
    ] = None


class ClaimShape(BaseModel):
    """A sentence of an answer and the numbers of the citations that support it.

    `basis` says how it came to them: it was `quoted` by who wrote it, `attributed` by its words, as the model quoted
    nothing that stands there, it was `extracted`, a sentence of the documents, or `calculated` from rows of tables.
    """

    text: str
    citations: list[int]
    basis: Basis


class StatedShape(BaseModel):
    """Value that one source states where others contradict it."""

    value: str | None
    n: int


class DroppedShape(BaseModel):
    """A sentence that the model wrote and that is not shown, and why."""

    text: str
    why: str


class CalculationShape(BaseModel):
    """Query over the tables of documents: `rows` are those it takes in, rows that sum others up are left out of it.

    `table` is the name that the query has for the rows of `documents`, `columns` are its own; `notes` say what is not
    in it.
    """

    sql: str
    table: str
    columns: list[str]
    rows: int
    totals_left_out: int
    documents: list[str]
    document_ids: list[str]
    notes: list[str]


class UsageShape(BaseModel):
    """Tokens and money that the model took, and the connection that it was asked by."""

    connection: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float


class JudgedShape(BaseModel):
    """The language that a question was read in (ISO 639-1, null where no stemmer knows it), and the rules that judged.

    The others know English only, and were left out: `names` and `words` that no passage has, `claims` that turn a
    passage round, `conflicts` between passages.
    """

    language: str | None
    rules: list[str]


class AnswerShape(BaseModel):
    """An answer: `mode` says whether it was extracted, generated, or nothing supports one.

    `abstained` says why there is none; `calculation` is how it was calculated from tables, `chart` its lines where they
    are a measure over a label; `conflicts` are values in which its sources contradict each other; `usage` is what a
    model took for it, null where none replied or the answer was remembered; `id` leads to `GET /api/answers/{id}/why`.
    `support`, of an extracted answer, says how well its best evidence fits the question, up to 1: whoever wants fewer
    wrong answers drops those below a value of their own. `personal_data` counts what the policies masked or marked, by
    kind, and `classification` is the highest class of the documents that are cited.
    """

    id: UUID
    answer: str
    mode: str
    citations: list[CitationShape]
    claims: list[ClaimShape]
    conflicts: list[list[StatedShape]]
    dropped: list[DroppedShape]
    abstained: str | None
    model: str | None
    fallback: str | None
    judged: JudgedShape
    calculation: CalculationShape | None
    usage: UsageShape | None
    support: float | None
    chart: ChartShape | None
    personal_data: PersonalDataTold = {}
    classification: str | None = None


class WhyClaim(BaseModel):
    """A claim as in the answer; `text` is null where it can only be read with a passage that one may not."""

    text: str | None
    citations: list[int]
    supported: bool
    basis: Basis


class WhyChunk(BaseModel):
    """The passage that was found; `index` and `headings` are null where the document was chunked anew since."""

    id: str
    index: int | None
    headings: list[str] | None


class WhyJob(BaseModel):
    """The job that read the page."""

    id: UUID
    kind: str
    state: str
    finished_at: datetime | None


class CitedCorrection(BaseModel):
    """A line that somebody corrected since the answer was given: what it said then, and what it says."""

    at: datetime
    text_before: str
    text_after: str


class WhyCitation(BaseModel):
    """A place on a page as it is now; `withheld` says why its passage is not shown, and then nothing else is.

    `attempts` are the engines that were tried on the page, `fingerprint` the settings it was read with. `corrections`
    are those of the passage since the answer was given; where there are some, the answer's words may be of the text
    before.
    """

    n: int
    withheld: str | None
    document_id: str | None
    version_id: str | None
    filename: str | None
    is_current: bool | None
    kind: str | None
    file_hash: str | None
    chunk: WhyChunk | None
    page: int | None
    start: int | None
    end: int | None
    quote: str | None
    boxes: list[Rectangle]
    engine: str | None
    ocr_confidence: float | None
    page_confidence: float | None
    caveats: list[PlacedCaveatShape]
    attempts: list[dict[str, Any]] | None
    fingerprint: str | None
    read_at: datetime | None
    job: WhyJob | None
    url: str | None
    corrections: list[CitedCorrection]


class Why(BaseModel):
    """An answer with all that it rests on.

    `corpus_version` counts the changes of the workspace's documents up to the answer, `corpus_now` up to now. `search`
    has what was found: each passage with the scores of every stage, the stages, their times, what was left out and why.
    """

    id: UUID
    at: datetime
    user_id: UUID | None
    agent_id: UUID | None
    run_id: UUID | None
    question: str
    mode: str
    model: str | None
    fallback: str | None
    abstained: str | None
    classification: str | None
    generation: int | None
    corpus_version: int
    corpus_now: int
    claims: list[WhyClaim]
    citations: list[WhyCitation]
    conflicts: list[list[StatedShape]]
    dropped: list[DroppedShape]
    search: dict[str, Any]
    judged: JudgedShape | None
    calculation: CalculationShape | None


@router.post("/api/ask", response_model=AnswerShape, responses=_STREAM, dependencies=[READ])
async def ask(body: AskRequest, request: Request, me: Me, parts: Its) -> Response | AnswerShape:
    """Answer from the documents, with citations; without support it says so."""
    if not wants_stream(request, body.stream):
        return await answer_question(body, me, parts)

    async def work(draft: ShowDraft, begin: Callable[[], None]) -> AnswerShape:
        return await answer_question(body, me, parts, draft, begin)

    return await stream_answer(work, parts.pace.beat)


async def answer_question(
    body: AskRequest, me: Me, parts: Its, draft: ShowDraft | None = None, begin: Callable[[], None] = lambda: None
) -> AnswerShape:
    """The answer, stored; `begin` is called once there is a place for the question and its agent is known."""
    async with parts.ask_admission.place():
        agent = await parts.agent_store.resolve(me.scope, body.agent_id)
        begin()
        mask = await parts.governance.policies.mask(me.scope)
        answer = await parts.answerer.ask(me.scope, body.question, agent, draft=_masked_draft(draft, mask))
    async with parts.database.transaction(me.scope) as tx:
        cited = sorted({one.document_id for one in answer.citations})
        of = await parts.governance.classes.highest(tx, me.scope, cited) if cited else None
    kept = await parts.answers.keep(me.scope, body.question, agent, answer, classification=of, mask=mask)
    parts.usage.record(_answer_use(me.scope, kept, answer, parts.clock()))
    shown = answer_shape(kept, answer).model_copy(update={"classification": of})
    if mask is None:
        return shown
    mask.note_sources([{"classification": hit.classification} for hit in answer.search.hits])
    if answer.calculation is not None:  # it is made of rows of other documents than those that were found
        mask.note_sources({"classification": UNKNOWN_CLASS})
    return await asyncio.to_thread(_masked_answer, shown, mask)


def _answer_use(scope: Scope, kept: str, answer: CitedAnswer, at: datetime) -> AnswerUse:
    """What an answer used, also one that was remembered; what says that there is none used nothing.

    A model that wrote it had all passages before it; one that is extracted is made of what it cites.
    """
    given = answer.search.hits[:HITS]
    hits = [PassageUse(hit.document_id, hit.chunk_id, hit.score, False) for hit in given]
    cited = [PassageUse(one.document_id, one.chunk_id, None, True) for one in answer.citations]
    if answer.calculation is not None:
        cited += [PassageUse(one, "", None, True) for one in answer.calculation.document_ids]
    used = () if answer.mode == "not_found" else passages_used(hits, cited, whole=answer.mode == "generated")
    return AnswerUse(Scope.of_worker(scope.tenant, scope.workspace), kept, used, at)


def _masked_answer(shown: AnswerShape, mask: AnswerMask) -> AnswerShape:
    text = mask.text(shown.answer, counted=True)
    told = {**mask.json(shown.model_dump(mode="json")), "answer": text, "personal_data": mask.told}
    return AnswerShape.model_validate(told | {"classification": shown.classification, "id": shown.id})


def _masked_draft(draft: ShowDraft | None, mask: AnswerMask | None) -> ShowDraft | None:
    if draft is None or mask is None or not mask.takes:
        return draft
    pieces = MaskedDeltas(mask, unknown=True)

    def show(text: str) -> None:
        if piece := pieces.feed(text):
            draft(piece)

    return show


def answer_shape(kept: str, answer: CitedAnswer) -> AnswerShape:
    """An answer as it is sent, under the id that it was stored with."""
    chart = None if answer.calculation is None else answer.calculation.chart
    return copy_fields(
        AnswerShape,
        answer,
        id=UUID(kept),
        answer=answer.text,
        citations=[citation_shape(cited) for cited in answer.citations],
        claims=[copy_fields(ClaimShape, one) for one in answer.claims],
        conflicts=[[StatedShape(value=one.value, n=one.citation) for one in row.stated] for row in answer.conflicts],
        dropped=[copy_fields(DroppedShape, one) for one in answer.dropped],
        judged=JudgedShape(**judged_json(answer.judged)),
        calculation=None if answer.calculation is None else CalculationShape(**calculation_json(answer.calculation)),
        usage=None if answer.spend is None else UsageShape.model_validate(answer.spend.figures),
        chart=None if chart is None else chart_shape(chart),
    )


@router.get("/api/answers/{answer_id}/why", dependencies=[READ])
async def why(answer_id: AnswerInPath, me: Me, parts: Its) -> Why:
    """Explain an answer; one's own, for administrators any. What one may no longer read is withheld."""
    found = Why.model_validate(await parts.answers.why(me.scope, str(answer_id)))
    mask = await parts.governance.policies.mask(me.scope)
    if mask is None:
        return found
    told = await asyncio.to_thread(mask.json, found.model_dump(mode="json"), unknown=True)
    return Why.model_validate(told)
