"""Runs: what happened in a turn, its events, and what one may do with it: cancel, resume, replay."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from cluster.basics.errors import Forbidden, Invalid, NotFound
from cluster.basics.scope import Role, Scope
from cluster.state.db.postgres import Row
from cluster.state.feedback import Thumb
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.run_record import RunState
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.encode import ASKS, StreamCursor, Verbosity, is_last, s3
from serve_apps.agents.turn_ports import RunId
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Limit, Name, Prose, RequestBody, Skip
from serve_apps.http.routes.agents.chat import STREAM, ChatReply
from serve_apps.http.streams.response import CancellingStreamResponse
from serve_apps.http.streams.sse import stream_stored_events
from serve_apps.http.streams.turn_response import (
    Encode,
    Verbose,
    chunk_frame,
    collect_turn,
    stream_turn,
    verbosity_of,
    wants_stream,
)

router = APIRouter(route_class=GuardedRoute, tags=["runs"])

RunInPath = Annotated[UUID, Path()]
LastEventId = Annotated[str | None, Header(max_length=40, description="`seq` or `seq.characters`, as it was sent.")]
_ENDS = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED})
# These see that the runs of others are there, and cancel them; what is said in them is read as sessions are.
_WATCHERS = frozenset({Role.OPERATOR, Role.ADMIN})
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


@dataclass(slots=True)
class RunFeed:
    """A run's stored events, encoded for a reader who has some of them; `over` when the last one was an end."""

    desk: RunQueries
    scope: Scope
    run: str
    reading: StreamCursor
    verbosity: Verbosity
    how: Encode
    over: bool = False

    async def look(self) -> Row:
        """The run."""
        return await self.desk.show(self.scope, self.run)

    async def events_after(self, after: int) -> Sequence[Row]:
        """As in Feed."""
        return await self.desk.events_after(self.scope, self.run, after)

    def wire(self, event: Row) -> str:
        """In the reader's vocabulary."""
        told = Event(int(event["seq"]), EventKind(event["type"]), event["payload"])
        self.over = is_last(told) and told.kind not in ASKS
        fresh = self.reading.take(told)
        chunk = None if fresh is None else self.how(told, fresh, self.verbosity)
        return "" if chunk is None else chunk_frame(chunk, self.reading.id)

    def end(self, row: Row, last: str) -> str | None:
        """A run that is interrupted or cancelled may end without an event of its own."""
        if row["state"] not in _ENDS:
            return None
        chunk = self.how(Event(1, EventKind.STATUS, {"state": row["state"]}), "", self.verbosity)
        return "" if self.over or chunk is None else chunk_frame(chunk, None)


@router.get("/api/runs")
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
    rows, total = await parts.runs.page(
        me.scope,
        state=state,
        session=_optional_text(session_id),
        agent=_optional_text(agent_id),
        thumb=thumb,
        user=None if me.role in _WATCHERS and not mine else me.user,
        skip=skip,
        limit=limit,
    )
    return RunList(items=[_run_shape(me, row) for row in rows], total=total)


@router.get("/api/runs/{run_id}")
async def run(run_id: RunInPath, me: Me, parts: Its, full: bool = False) -> RunTrace:
    """One run with its trace: what was asked of models and tools, how long it took and what it cost.

    `full` is for whose turn it is, and for administrators.
    """
    row = await (require_readable_run if full else require_visible_run)(me, parts, run_id)
    hidden: dict[str, Any] = {} if full else {"request": None, "reply": None}
    steps = [StepShape(**(step | hidden)) for step in await parts.runs.steps(me.scope, str(run_id))]
    return RunTrace(**_run_shape(me, row).model_dump(), ms=sum(step.ms for step in steps), steps=steps)


@router.get("/api/runs/{run_id}/events", response_class=Response, responses={**STREAM, 204: {}})
async def events(
    run_id: RunInPath, me: Me, parts: Its, last_event_id: LastEventId = None, verbose: Verbose = False
) -> Response:
    """The run's events from any point on, followed to its end; 204 where all is told."""
    row = await require_readable_run(me, parts, run_id)
    return await stream_run_events(me, parts, row, reading_of(last_event_id), s3, verbosity_of(verbose))


@router.post("/api/runs/{run_id}/resume", response_model=ChatReply, responses=STREAM)
async def resume(
    run_id: RunInPath,
    request: Request,
    me: Me,
    parts: Its,
    stream: bool | None = None,
    last_event_id: LastEventId = None,
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


@router.post("/api/runs/{run_id}/cancel", status_code=202)
async def cancel(run_id: RunInPath, me: Me, parts: Its) -> RunShape:
    """Ask a run to end; what it has done stays done."""
    await require_visible_run(me, parts, run_id)
    await parts.orchestrator.cancel(me.scope, RunId(str(run_id)))
    return _run_shape(me, await parts.runs.show(me.scope, str(run_id)))


@router.post("/api/runs/{run_id}/replay")
async def replay(run_id: RunInPath, body: ReplayRequest, me: Me, parts: Its) -> dict[str, Any]:
    """Walk the run again from its journal; with another model or prompt, tell the first step that diverges.

    Another model or prompt asks models in earnest, for money: that is for operators.
    """
    require_same_scope(me, body.tenant_id, body.workspace_id)
    await require_readable_run(me, parts, run_id)
    if (body.model is not None or body.prompt is not None) and me.role not in _WATCHERS:
        raise Forbidden("a replay with another model or prompt needs the role operator or admin")
    return dict(await parts.replays.replay(me.scope, str(run_id), model=body.model, prompt=body.prompt))


async def require_visible_run(me: WorkspaceMember, parts: AppDependencies, run_id: UUID) -> Row:
    """The run, if the member may know of it.

    Raises:
        NotFound: there is none, or it is somebody else's.
    """
    row = await parts.runs.show(me.scope, str(run_id))
    if me.role not in _WATCHERS and not _may_read(me, row):
        raise NotFound(f"run {run_id}")
    return row


async def require_readable_run(me: WorkspaceMember, parts: AppDependencies, run_id: UUID) -> Row:
    """The run, if the member may read what is said in it.

    Raises:
        NotFound: as for `require_visible_run`.
        Forbidden: the member may only watch it.
    """
    row = await require_visible_run(me, parts, run_id)
    if not _may_read(me, row):
        raise Forbidden("this is somebody else's conversation: only they and administrators read it")
    return row


def readers_of(me: WorkspaceMember) -> str | None:
    """User whose runs the member may read: the member; None means everybody's."""
    return None if me.role is Role.ADMIN else me.user


def _may_read(me: WorkspaceMember, row: Row) -> bool:
    return readers_of(me) in (None, str(row["user_id"]))


async def stream_run_events(
    me: WorkspaceMember,
    parts: AppDependencies,
    row: Row,
    reading: StreamCursor,
    how: Encode,
    verbosity: Verbosity = Verbosity.DEFAULT,
) -> Response:
    """A run's events as they are stored, from where the reader is."""
    run_id = str(row["id"])
    feed = RunFeed(parts.runs, me.scope, run_id, reading, verbosity, how)
    if reading.seq and row["state"] in _ENDS and not await parts.runs.events_after(me.scope, run_id, reading.seq, 1):
        return Response(status_code=204)  # tells an EventSource not to come back
    stream = stream_stored_events(feed, reading.seq, parts.pace, time.monotonic)
    return CancellingStreamResponse(stream)


def reading_of(last_event_id: str | None) -> StreamCursor:
    """Read position of a client that reconnects, parsed from its Last-Event-ID.

    Raises:
        Invalid: that is no id of ours.
    """
    try:
        return StreamCursor.after(last_event_id)
    except ValueError as error:
        raise Invalid(str(error)) from error


def _run_shape(me: WorkspaceMember, row: Row) -> RunShape:
    shown = {name: row[name] for name in RunShape.model_fields}
    if not _may_read(me, row):
        for name in ("outcome", "error"):
            shown[name] = shown[name] and {key: shown[name][key] for key in _NO_TEXT & set(shown[name])}
    return RunShape(**shown)


def _optional_text(id_: UUID | None) -> str | None:
    return None if id_ is None else str(id_)
