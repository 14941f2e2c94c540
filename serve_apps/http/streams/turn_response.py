"""A message becomes a turn, and its events one reply or a stream; what every way of chatting shares."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import AfterValidator, Field, StringConstraints

from serve_apps.agents.events import Event
from serve_apps.agents.intake.injected_context import MOST as MOST_NAMED
from serve_apps.agents.streams.collect import ReplyCollector
from serve_apps.agents.streams.encode import StreamChunk, StreamCursor, Verbosity, split_verbosity_flag
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.http.fields import DocumentKey, storable_text
from serve_apps.http.streams.response import (
    BUG,
    CancellingStreamResponse,
    await_first_event,
    close_events,
    while_read,
    with_heartbeat,
)
from serve_apps.http.streams.sse import BEAT, encode_event

MOST_MESSAGE = 100_000

Said = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_MESSAGE), AfterValidator(storable_text)
]
SessionKey = Annotated[str, StringConstraints(min_length=1, max_length=128), AfterValidator(storable_text)]
AgentKey = Annotated[str, StringConstraints(max_length=200), AfterValidator(storable_text)]
Documents = Annotated[
    list[DocumentKey] | None,
    Field(max_length=MOST_NAMED, description="Files that this message is about, by id; the model is told of them."),
]
Verbose = bool | Literal["default", "verbose", "debug"]
Encode = Callable[[Event, str, Verbosity], StreamChunk | None]


def incoming_message(
    agent: str, message: str, session: str | None, verbose: Verbose = False, *, person: bool = True, **options: Any
) -> tuple[IncomingMessage, Verbosity]:
    """Build the orchestrator's message and the reader's verbosity; options that are None are left out.

    `person`: who sends it can be asked something, and answers with their next message.
    """
    text, flagged = split_verbosity_flag(message)
    verbosity = max(verbosity_of(verbose), flagged or Verbosity.DEFAULT)
    chosen = {name: value for name, value in options.items() if value is not None}
    if verbosity:
        chosen["verbose"] = verbosity.name.lower()
    return IncomingMessage(agent, text or message, session, options=chosen, person=person), verbosity


def verbosity_of(verbose: Verbose) -> Verbosity:
    """Verbosity from the request's field; plain true is VERBOSE."""
    return Verbosity.VERBOSE if verbose is True else Verbosity[verbose.upper() if verbose else "DEFAULT"]


def wants_stream(request: Request, stream: bool | None) -> bool:
    """By the body's `stream`, else by the Accept header."""
    return "text/event-stream" in request.headers.get("accept", "") if stream is None else stream


async def collect_turn(request: Request, events: AsyncIterator[Event]) -> ReplyCollector:
    """The whole turn; a client that leaves ends it, as ReaderGone. Raises AosError: the turn was not accepted."""
    return await while_read(request, gather_turn(events))


async def gather_turn(events: AsyncIterator[Event]) -> ReplyCollector:
    """The whole turn; whoever hangs up stops its model. Raises AosError: the turn was not accepted."""
    found, begun = ReplyCollector(), await await_first_event(events)
    try:
        async for event in begun:
            found.add(event)
    finally:
        await close_events(begun)
    return found


async def stream_turn(
    events: AsyncIterator[Event], verbosity: Verbosity, how: Encode, beat: float, reading: StreamCursor | None = None
) -> CancellingStreamResponse:
    """The turn as server-sent events; the first event is waited for.

    After `beat` seconds silence is interrupted by a comment; `reading` is what the reader has already.
    Raises AosError: the turn was not accepted.
    """
    begun = await await_first_event(events)
    frames = _turn_frames(begun, verbosity, how, beat, reading or StreamCursor())

    def bug_frames() -> list[str]:
        chunk = how(BUG, "", verbosity)
        return [] if chunk is None else [chunk_frame(chunk, None)]

    return CancellingStreamResponse(frames, begun, bug_frames)


def chunk_frame(chunk: StreamChunk, id_: str | None) -> str:
    """A chunk on the wire of server-sent events."""
    return encode_event(id_, chunk.type, {"type": chunk.type, "content": chunk.content, "data": dict(chunk.data)})


async def _turn_frames(
    events: AsyncIterator[Event], verbosity: Verbosity, how: Encode, beat: float, reading: StreamCursor
) -> AsyncGenerator[str, None]:
    async with aclosing(with_heartbeat(events, beat)) as beats:
        async for event in beats:
            if event is None:
                yield BEAT
            elif (fresh := reading.take(event)) is not None and (chunk := how(event, fresh, verbosity)) is not None:
                yield chunk_frame(chunk, reading.id)


def data_line(body: dict[str, Any]) -> str:
    """One unnamed server-sent event, as OpenAI's clients read them."""
    return f"data: {json.dumps(body)}\n\n"
