"""Runs: what happened in a turn, its events, opinions on its answer, and how to cancel, resume or replay it."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from cluster.basics.errors import Forbidden
from cluster.state.db.postgres import Row
from cluster.state.feedback import Thumb
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.run_record import RunState
from serve_apps.agents.memory.memory_guard import masked
from serve_apps.agents.streams.encode import StreamCursor, Verbosity, s3
from serve_apps.agents.turn_ports import RunId
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ, UNMASK
from serve_apps.http.fields import Limit, Name, Prose, RequestBody, Skip, storable_text
from serve_apps.http.routes.agents.chat_shapes import STREAM, ChatReply
from serve_apps.http.routes.agents.run_access import (
    WATCHERS,
    LastEventId,
    _may_read,
    readers_of,
    reading_of,
    require_readable_run,
    require_visible_run,
    stream_run_events,
)
from serve_apps.http.streams.turn_response import Verbose, collect_turn, stream_turn, verbosity_of, wants_stream

router = APIRouter(route_class=GuardedRoute, tags=["runs"])

_NO_TEXT = frozenset({"finish_reason", "confidence", "code", "title"})  # of an outcome or an error


class RunShape(BaseModel):
    """A turn: one message to one agent, with everything it led to.

    Of other people's turns an operator is told states and figures; `outcome` and `error` lose what could be text.
    """

    id: UUID
    session_id: UUID
    agent_id: UUID
    user_id: UUID
    path: str
    state: str
    attended: bool
    cancel_requested: bool
    outcome: dict[str, Any] | None
    error: dict[str, Any] | None
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    thumbs_up: int
    thumbs_down: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class StepShape(BaseModel):
    """One effect: a model's reply, a tool's result, a retrieval; `request` and `reply` only with `full`."""

    seq: int
    kind: str
    name: str
    state: str
    ms: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    at: datetime
    request: Any = None
    reply: Any = None


class RunTrace(RunShape):
    """A run with its steps in order; `ms` is the time of all of them."""

    ms: int
    steps: list[StepShape]


class RunList(BaseModel):
    """A page of runs, newest first."""

    items: list[RunShape]
    total: int


class ReplayRequest(RequestBody):
    """Changes to replay with; without any the recorded run must come out byte for byte."""

    model: Annotated[Name | None, Field(description="A connection that is asked instead of the recording.")] = None
    prompt: Annotated[Prose | None, Field(description="A system prompt in place of the agent's.")] = None


class UnmaskRequest(RequestBody):
    """Why somebody reads what a run's placeholders stand for; the audit trail keeps it."""

    reason: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=5, max_length=500), AfterValidator(storable_text)
    ]


class UnmaskedValue(BaseModel):
    """A placeholder, and what stands for it in this run: a text or a number."""

    placeholder: str
    value: Any


class UnmaskedValues(BaseModel):
    """All of a run; `answer` is what was answered before the policies on answers masked it, null where they did not."""

    items: list[UnmaskedValue]
    answer: str | None = None


@router.get("/api/runs", dependencies=[READ])
async def runs(
    me: Me,
    parts: Its,
    state: Annotated[RunState | None, Query()] = None,
    session_id: Annotated[UUID | None, Query()] = None,
    agent_id: Annotated[UUID | None, Query()] = None,
    thumb: Annotated[Thumb | None, Query(description="Only with such feedback.")] = None,
    mine: Annotated[bool, Query(description="One's own also for operators.")] = False,
    skip: Skip = 0,
    limit: Limit = 50,
) -> RunList:
    """Runs, newest first: one's own, for operators those of the workspace."""
    user = None if me.role in WATCHERS and not mine else me.user
    found = {"state": state, "session": _optional_text(session_id), "agent": _optional_text(agent_id), "thumb": thumb}
    rows, total = await parts.runs.page(me.scope, **found, user=user, skip=skip, limit=limit)
    return RunList(items=[_run_shape(me, row) for row in rows], total=total)


@router.get("/api/runs/{run_id}", dependencies=[READ])
async def run(run_id: UUID, me: Me, parts: Its, full: bool = False) -> RunTrace:
    """One run with its trace: what was asked of models and tools, how long it took and what it cost.

    `full` is for whose turn it is, and for administrators.
    """
    row = await (require_readable_run if full else require_visible_run)(me, parts, run_id)
    hidden: dict[str, Any] = {} if full else {"request": None, "reply": None}
    steps = [StepShape(**(step | hidden)) for step in await parts.runs.steps(me.scope, str(run_id))]
    return RunTrace(**_run_shape(me, row).model_dump(), ms=sum(step.ms for step in steps), steps=steps)


@router.get("/api/runs/{run_id}/events", response_class=Response, responses={**STREAM, 204: {}}, dependencies=[READ])
async def events(
    run_id: UUID, me: Me, parts: Its, last_event_id: LastEventId = None, verbose: Verbose = False
) -> Response:
    """The run's events from any point on, followed to its end; 204 where all is told."""
    row = await require_readable_run(me, parts, run_id)
    return await stream_run_events(me, parts, row, reading_of(last_event_id), s3, verbosity_of(verbose))


@router.post("/api/runs/{run_id}/resume", response_model=ChatReply, responses=STREAM, dependencies=[READ])
async def resume(
    run_id: UUID, request: Request, me: Me, parts: Its, stream: bool | None = None, last_event_id: LastEventId = None
) -> Response | ChatReply:
    """Go on with an interrupted run: its events from the first, what was done is not done again.

    A text that was broken off is written anew, so of Last-Event-ID only the whole events count.
    """
    await require_readable_run(me, parts, run_id)
    told = parts.orchestrator.resume(me.scope, RunId(str(run_id)))
    if wants_stream(request, stream):
        reading = StreamCursor(reading_of(last_event_id).seq)
        return await stream_turn(told, Verbosity.DEFAULT, s3, parts.pace.beat, reading)
    return ChatReply.of(await collect_turn(request, told))


@router.post("/api/runs/{run_id}/unmask", dependencies=[UNMASK])
async def unmask(run_id: UUID, body: UnmaskRequest, me: Me, parts: Its) -> UnmaskedValues:
    """Read what the placeholders of a run stand for, and its answer unmasked; each reading is a line of the trail."""
    await require_readable_run(me, parts, run_id)
    answer = await parts.replays.unmasked_answer(me.scope, str(run_id))
    async with parts.database.transaction(me.scope) as tx:
        values = await parts.governance.seals.values(tx, me.scope, str(run_id))
        detail = {"reason": body.reason, "placeholders": len(values), "answer": answer is not None}
        await parts.audit.record(tx, me.scope, "run.unmask", str(run_id), detail=detail)
    items = [UnmaskedValue(placeholder=label, value=value) for label, value in values.items()]
    return UnmaskedValues(items=items, answer=answer)


@router.post("/api/runs/{run_id}/cancel", status_code=202, dependencies=[READ])
async def cancel(run_id: UUID, me: Me, parts: Its) -> RunShape:
    """Ask a run to end; what it has done stays done."""
    await require_visible_run(me, parts, run_id)
    await parts.orchestrator.cancel(me.scope, RunId(str(run_id)))
    return _run_shape(me, await parts.runs.show(me.scope, str(run_id)))


@router.post("/api/runs/{run_id}/replay", dependencies=[READ])
async def replay(run_id: UUID, body: ReplayRequest, me: Me, parts: Its) -> dict[str, Any]:
    """Walk the run again from its journal; with another model or prompt, tell the first step that diverges.

    Another model or prompt asks models in earnest, for money: that is for operators.
    """
    await require_readable_run(me, parts, run_id)
    if (body.model is not None or body.prompt is not None) and me.role not in WATCHERS:
        raise Forbidden("a replay with another model or prompt needs the role operator or admin")
    report = dict(await parts.replays.replay(me.scope, str(run_id), model=body.model, prompt=body.prompt))
    if report.get("diverged") is not None:  # it was walked with what is sealed beside the run
        async with parts.database.transaction(me.scope) as tx:
            report["diverged"] = await parts.governance.seals.hide(tx, me.scope, str(run_id), report["diverged"])
    return report


def _run_shape(me: WorkspaceMember, row: Row) -> RunShape:
    shown = {name: row[name] for name in RunShape.model_fields}
    if not _may_read(me, row):
        for name in ("outcome", "error"):
            shown[name] = shown[name] and {key: shown[name][key] for key in _NO_TEXT & set(shown[name])}
    return RunShape(**shown)


def _optional_text(id_: UUID | None) -> str | None:
    return None if id_ is None else str(id_)


Word = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000), AfterValidator(storable_text)]


class FeedbackRequest(RequestBody):
    """An opinion; a later one takes its place."""

    thumb: Thumb
    word: Annotated[Word, Field(description="What was good or wrong, if one likes to say.")] = ""


class FeedbackShape(BaseModel):
    """One person's opinion. Operators are told the thumbs of others; `word` is for who may read the run."""

    run_id: UUID
    user_id: UUID
    thumb: Thumb
    word: str
    at: datetime


class FeedbackList(BaseModel):
    """Opinions, the newest first."""

    items: list[FeedbackShape]


@router.get("/api/runs/{run_id}/feedback", dependencies=[READ])
async def feedback(run_id: UUID, me: Me, parts: Its) -> FeedbackList:
    """List the feedback on a run's answer."""
    row = await require_visible_run(me, parts, run_id)
    rows = await parts.feedback.of_run(me.scope, str(run_id))
    return FeedbackList(items=[_feedback_shape(me, row, one) for one in rows])


@router.post("/api/runs/{run_id}/feedback", dependencies=[READ])
async def give(run_id: UUID, body: FeedbackRequest, me: Me, parts: Its) -> FeedbackShape:
    """Say what one thinks of an answer that one may read."""
    run, word = await require_readable_run(me, parts, run_id), await masked(body.word)
    async with parts.audited(me, "run.feedback", str(run_id), {"thumb": body.thumb}) as tx:
        given = await parts.feedback.give(tx, me.scope, str(run_id), body.thumb, word)
    return _feedback_shape(me, run, given)


@router.delete("/api/runs/{run_id}/feedback", status_code=204, dependencies=[READ])
async def take_back(run_id: UUID, me: Me, parts: Its) -> Response:
    """Take one's own opinion back; where there is none, nothing happens."""
    await require_readable_run(me, parts, run_id)
    async with parts.database.transaction(me.scope) as tx:
        if await parts.feedback.take_back(tx, me.scope, str(run_id)):
            await parts.audit.record(tx, me.scope, "run.feedback", str(run_id), detail={"thumb": None})
    return Response(status_code=204)


def _feedback_shape(me: WorkspaceMember, run: Row, given: Row) -> FeedbackShape:
    may_read = readers_of(me) in (None, str(run["user_id"]), str(given["user_id"]))
    return FeedbackShape(**(given if may_read else {**given, "word": ""}))
