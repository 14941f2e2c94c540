"""Stored events as a stream (WHATWG server-sent events): ids are the events' own, so a reader can reconnect."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row
from cluster.state.work.jobs import JobId, JobState
from pipelines.documents.ingest.outcome import OutcomeCounts

HEARTBEAT_SECONDS = 10.0
BEAT = ": still here\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
ENDS = frozenset({JobState.COMPLETED, JobState.PARTIAL, JobState.FAILED, JobState.CANCELLED})


class EventFeed(Protocol):
    """One stream of stored events: of a job, of a run."""

    async def look(self) -> Row:
        """The job or run that the events belong to, with its `state`."""
        ...

    async def events_after(self, after: int) -> Sequence[Row]:
        """Events above a number, in order: seq, type, payload, at."""
        ...

    def wire(self, event: Row) -> str:
        """An event as it travels; empty where this reader is not told of it."""
        ...

    def end(self, row: Row, last: str) -> str | None:
        """Closing text once all events are sent: None while more may come; `last` is the last event's type."""
        ...


class EventSource(Protocol):
    """Source of a job's stored events: the job queries."""

    async def show(self, scope: Scope, job: JobId) -> Row:
        """The job with its `state`, `progress` and `ended`."""
        ...

    async def events_after(self, scope: Scope, job: JobId, after: int, limit: int = 500) -> list[Row]:
        """Events above a number, in order: seq, type, payload, at."""
        ...


@dataclass(frozen=True, slots=True)
class StreamPacing:
    """Timing of a stream, in seconds.

    `longest` is below Serve's limit of a request, so that a stream ends between two events and not inside of one.
    """

    poll: float = 0.4  # between looks
    longest: float = 540.0  # life of one stream; its reader comes back with Last-Event-ID
    beat: float = HEARTBEAT_SECONDS  # a stream is never silent for longer


@dataclass(frozen=True, slots=True)
class JobFeed:
    """A job's events."""

    source: EventSource
    scope: Scope
    job: JobId

    async def look(self) -> Row:
        """The job."""
        return await self.source.show(self.scope, self.job)

    async def events_after(self, after: int) -> Sequence[Row]:
        """As in Feed."""
        return await self.source.events_after(self.scope, self.job, after)

    def wire(self, event: Row) -> str:
        """Under the type it was written with."""
        return encode_event(event["seq"], str(event["type"]), {**event["payload"], "at": event["at"].isoformat()})

    def end(self, row: Row, last: str) -> str | None:
        """A job that is cancelled while it waits ends without an event of its own."""
        if row["state"] not in ENDS:
            return None
        if last in ENDS:
            return ""
        outcome = OutcomeCounts.of(row["progress"], row["ended"]).as_json()
        return encode_event(None, str(row["state"]), {**row["progress"], "outcome": outcome})


async def stream_stored_events(
    feed: EventFeed, after: int, pace: StreamPacing, clock: Callable[[], float]
) -> AsyncGenerator[str, None]:
    """Events from `after` on as they are written, a comment in between at least every ten seconds.

    It ends when the job or run has ended and everything was told. What was taken up again after an end has later
    events, so an end in the stream counts only where it stands there now. No connection is held while waiting.

    `after` is the number of the last event that the reader has; `clock` gives seconds that only grow.
    """
    told_at, last = clock(), ""
    end = told_at + pace.longest
    while clock() < end:
        # The state first: an end that is written after this look is told in the next round.
        row = await feed.look()
        events = await feed.events_after(after)
        for event in events:
            after, last = int(event["seq"]), str(event["type"])
            if told := feed.wire(event):
                told_at = clock()
                yield told
        if not events and (farewell := feed.end(row, last)) is not None:
            if farewell:
                yield farewell
            return
        if clock() - told_at >= pace.beat:
            told_at = clock()
            yield BEAT
        if not events:
            await asyncio.sleep(pace.poll)


def encode_event(number: int | str | None, kind: str, payload: object) -> str:
    """One event on the wire."""
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(payload)}\n\n"
