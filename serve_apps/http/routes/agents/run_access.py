"""Access to runs over HTTP: visible or readable to a caller, and their events as a stream."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Header, Response

from cluster.basics.errors import Forbidden, Invalid, NotFound
from cluster.basics.scope import Role, Scope
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.run_record import RunState
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.encode import ASKS, StreamCursor, Verbosity, is_last
from serve_apps.http.deps import AppDependencies
from serve_apps.http.streams.response import CancellingStreamResponse
from serve_apps.http.streams.sse import stream_stored_events
from serve_apps.http.streams.turn_response import Encode, chunk_frame

ENDED_STATES = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED})
# These see that the runs of others are there, and cancel them; what is said in them is read as sessions are.
WATCHERS = frozenset({Role.OPERATOR, Role.ADMIN})

LastEventId = Annotated[str | None, Header(max_length=40, description="`seq` or `seq.characters`, as it was sent.")]


@dataclass(slots=True)
class RunFeed:
    """A run's stored events, encoded for a reader who has some of them; `over` when the last one was an end."""

    queries: RunQueries
    scope: Scope
    run: str
    reading: StreamCursor
    verbosity: Verbosity
    how: Encode
    over: bool = False

    async def look(self) -> Row:
        """The run."""
        return await self.queries.show(self.scope, self.run)

    async def events_after(self, after: int) -> Sequence[Row]:
        """As in Feed."""
        return await self.queries.events_after(self.scope, self.run, after)

    def wire(self, event: Row) -> str:
        """In the reader's vocabulary."""
        told = Event(int(event["seq"]), EventKind(event["type"]), event["payload"])
        self.over = is_last(told) and told.kind not in ASKS
        fresh = self.reading.take(told)
        chunk = None if fresh is None else self.how(told, fresh, self.verbosity)
        return "" if chunk is None else chunk_frame(chunk, self.reading.id)

    def end(self, row: Row, last: str) -> str | None:
        """A run that is interrupted or cancelled may end without an event of its own."""
        if row["state"] not in ENDED_STATES:
            return None
        chunk = self.how(Event(1, EventKind.STATUS, {"state": row["state"]}), "", self.verbosity)
        return "" if self.over or chunk is None else chunk_frame(chunk, None)


async def require_visible_run(me: WorkspaceMember, parts: AppDependencies, run_id: UUID) -> Row:
    """The run, if the member may know of it. Raises NotFound: there is none, or it is somebody else's."""
    row = await parts.runs.show(me.scope, str(run_id))
    if me.role not in WATCHERS and not _may_read(me, row):
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
    if (
        reading.seq
        and row["state"] in ENDED_STATES
        and not await parts.runs.events_after(me.scope, run_id, reading.seq, 1)
    ):
        return Response(status_code=204)  # tells an EventSource not to come back
    stream = stream_stored_events(feed, reading.seq, parts.pace, time.monotonic)
    return CancellingStreamResponse(stream)


def reading_of(last_event_id: str | None) -> StreamCursor:
    """Read position of a client that reconnects, parsed from its Last-Event-ID.

    Raises Invalid: that is no id of ours.
    """
    try:
        return StreamCursor.after(last_event_id)
    except ValueError as error:
        raise Invalid(str(error)) from error
