"""Events between processes: JSON lists, some milliseconds of them at a time, for a hop a token is ruinous."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from cluster.basics.scope import Scope
from serve_apps.agents.durable.message_codec import message_from_json, message_to_json
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.intake.turn import dump_scope, dump_turn
from serve_apps.agents.streams.cancellation import closing_stream
from serve_apps.agents.turn_ports import IncomingMessage, Json, RunId, Turn

WINDOW_SECONDS = 0.025
ROOM = 256  # events that may wait for a slow reader before the run does

Batch = list[list[Any]]


class Remote(Protocol):
    """A component elsewhere; `cluster.handles.RemoteDeployment` is the one behind a Serve handle."""

    def stream(self, method: str, *arguments: Json) -> AsyncIterator[Any]:
        """Items as they come; closing the iterator ends the call over there.

        Raises the AosError that the component raised, by its name; Unavailable where it died.
        """

    async def call(self, method: str, *arguments: Json) -> Any:
        """One answer; errors as for `stream`."""


class RemoteOrchestrator:
    """An `Orchestrator` in another process."""

    def __init__(self, remote: Remote) -> None:
        """`remote` has `process`, `resume` and `cancel`."""
        self._remote = remote

    def process(self, scope: Scope, incoming: IncomingMessage) -> AsyncIterator[Event]:
        """See `Orchestrator`."""
        return _unpack_batches(self._remote.stream("process", dump_scope(scope), dump_incoming(incoming)))

    def resume(self, scope: Scope, run: RunId) -> AsyncIterator[Event]:
        """See `Orchestrator`."""
        return _unpack_batches(self._remote.stream("resume", dump_scope(scope), run))

    async def cancel(self, scope: Scope, run: RunId) -> None:
        """See `Orchestrator`."""
        await self._remote.call("cancel", dump_scope(scope), run)


class RemoteCarrier:
    """Carries runs out in another process."""

    def __init__(self, remote: Remote) -> None:
        """`remote` has `carry`."""
        self._remote = remote

    def carry(self, turn: Turn) -> AsyncIterator[Event]:
        """See `RunCarrier`."""
        return _unpack_batches(self._remote.stream("carry", dump_turn(turn)))


async def batch_events(events: AsyncIterator[Event], window: float = WINDOW_SECONDS) -> AsyncIterator[Batch]:
    """Events in lists: what comes within `window` seconds of the first travels with it. Closing it closes `events`."""
    queue: asyncio.Queue[Event] = asyncio.Queue(ROOM)
    pump = asyncio.create_task(_pump_events(events, queue))
    try:
        while not (pump.done() and queue.empty()):
            getting = asyncio.create_task(queue.get())
            await asyncio.wait({getting, pump}, return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                getting.cancel()
                continue
            if not pump.done():
                await asyncio.sleep(window)
            batch = [getting.result()]
            while not queue.empty():
                batch.append(queue.get_nowait())
            yield [pack_event(event) for event in batch]
        await pump
    finally:
        pump.cancel()
        await asyncio.wait({pump})


def dump_incoming(incoming: IncomingMessage) -> dict[str, Any]:
    """A message as JSON."""
    return {
        "agent": incoming.agent,
        "message": incoming.message,
        "session": incoming.session,
        "history": [message_to_json(message) for message in incoming.history],
        "options": dict(incoming.options),
        "person": incoming.person,
    }


def load_incoming(found: Mapping[str, Any]) -> IncomingMessage:
    """The inverse."""
    history = tuple(message_from_json(message) for message in found["history"])
    person = bool(found.get("person"))  # a gateway of an older version does not say it
    return IncomingMessage(found["agent"], found["message"], found["session"], history, found["options"], person)


def pack_event(event: Event) -> list[Any]:
    """An event as JSON."""
    return [event.seq, str(event.kind), dict(event.data), event.sent, event.piece]


def unpack_event(packed: Sequence[Any]) -> Event:
    """The event that `pack_event` was given."""
    seq, kind, data, sent, piece = packed
    return Event(seq, EventKind(kind), data, sent, piece)


async def _pump_events(events: AsyncIterator[Event], queue: asyncio.Queue[Event]) -> None:
    async with closing_stream(events) as source:
        async for event in source:
            await queue.put(event)


async def _unpack_batches(batched: AsyncIterator[Any]) -> AsyncIterator[Event]:
    async with closing_stream(batched) as source:
        async for batch in source:
            for packed in batch:
                yield unpack_event(packed)
