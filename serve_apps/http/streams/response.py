"""Live events as a response: a disconnect closes the source within a moment, and silence has a heartbeat."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from cluster.basics.errors import AosError
from serve_apps.agents.events import Event, EventKind
from serve_apps.http.streams.sse import HEADERS

T = TypeVar("T")


# An error that nobody named ends a stream like this; the server's log has the rest.
BUG = Event(1, EventKind.ERROR, {"code": "internal", "title": "Something went wrong here.", "detail": "", "fix": ""})


class ReaderGone(Exception):
    """The client closed the connection before its answer was there."""


class CancellingStreamResponse(StreamingResponse):
    """A stream that listens for its reader's leaving all the time, and then closes what it is made of.

    Starlette's own notices with the next byte it sends, and leaves the generator to the garbage collector: a model
    would go on for as long as it has nothing to say.
    """

    def __init__(
        self, content: AsyncGenerator[str, None], source: object = None, bug_frames: Callable[[], Iterable[str]] = tuple
    ) -> None:
        """`content` is written from `source`, if it has one; both are closed, also where nothing was ever sent.

        `bug_frames`: the last that a reader gets where `content` raises what nobody named; it goes on to the log.
        """
        super().__init__(content, media_type="text/event-stream", headers=HEADERS)
        self._content, self._source, self._bug_frames = content, source, bug_frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until all is sent or nobody reads."""
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel_task(leaving)
            await _cancel_task(sending)
            await self._content.aclose()
            if self._source is not None:
                await close_events(self._source)
        if not sending.cancelled() and (error := sending.exception()) is not None and not isinstance(error, OSError):
            raise error

    async def _send_all(self, send: Send) -> None:
        async with AsyncExitStack() as ending:
            ending.push_async_exit(partial(self._tell_of_bug, send))
            await self.stream_response(send)

    async def _tell_of_bug(self, send: Send, _: object, error: BaseException | None, __: object) -> None:
        """Before anything is closed: a source may take long over that, or fail."""
        if isinstance(error, Exception) and not isinstance(error, OSError):
            with suppress(OSError):  # nobody reads any more
                for frame in self._bug_frames():
                    await send({"type": "http.response.body", "body": frame.encode(), "more_body": True})


@asynccontextmanager
async def first_of(*work: Coroutine[Any, Any, Any]) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Tasks, of which one is done when the block begins; all are cancelled and over when it has ended."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def with_heartbeat(events: AsyncIterator[Event], seconds: float) -> AsyncGenerator[Event | None, None]:
    """The events, and None whenever nothing happened for so long. Closing it closes the events."""
    waiting: asyncio.Future[Event] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(_next_event(events))
            done, _ = await asyncio.wait({waiting}, timeout=seconds)
            if not done:
                yield None
                continue
            try:
                event = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            yield event
    finally:
        if waiting is not None:
            await _cancel_task(waiting)
        await close_events(events)


async def while_read(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The work's result, for a request whose body was read; the work is cancelled when the client leaves.

    Raises ReaderGone: nobody waits for it any more.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ReaderGone
        return working.result()
    finally:
        await _cancel_task(leaving)
        await _cancel_task(working)


async def close_events(events: object) -> None:
    """Close it, where it can be closed: an orchestrator's iterator stops its model then."""
    if isinstance(events, _Closable):
        await events.aclose()


class AcceptedEvents:
    """Events of which the first is there already, so what is wrong from the start was raised as an error.

    What goes wrong later becomes an ERROR event: the answer's status is sent by then.
    """

    def __init__(self, first: Event, rest: AsyncIterator[Event]) -> None:
        self.first = first
        self._rest, self._seq, self._over = rest, 0, False

    def __aiter__(self) -> "AcceptedEvents":
        return self

    async def __anext__(self) -> Event:
        if self._over:
            raise StopAsyncIteration
        try:
            event = await anext(self._rest) if self._seq else self.first
        except AosError as error:
            self._over = True
            return error_event(self._seq + 1, error)
        self._seq = event.seq
        return event

    async def aclose(self) -> None:
        """Close the rest, also where nobody asked for the first."""
        await close_events(self._rest)


def error_event(seq: int, error: AosError) -> Event:
    """An error as the last event of a stream."""
    data = {"code": error.code, "title": error.title, "detail": error.detail, "fix": error.hint}
    return Event(seq, EventKind.ERROR, data)


async def await_first_event(events: AsyncIterator[Event]) -> AcceptedEvents:
    """Wait for the first event: STATUS `accepted`. Raises AosError: the turn was not accepted."""
    return AcceptedEvents(await anext(events), events)


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


async def _next_event(events: AsyncIterator[Event]) -> Event:
    return await anext(events)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _cancel_task(task: "asyncio.Future[Any]") -> None:
    """Cancel and wait: what a task holds is free afterwards. Its own error, if it has one, stays in it."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        with suppress(StopAsyncIteration):
            task.exception()
