"""A message becomes a turn, and its events one reply or a stream; what every way of chatting shares."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import AfterValidator, Field, StringConstraints

from serve_apps.agents.events import Event
from serve_apps.agents.intake.injected_context import MOST as MOST_NAMED
from serve_apps.agents.streams.collect import Collected
from serve_apps.agents.streams.encode import Chunk, Reading, Verbosity, flags
from serve_apps.agents.turn_ports import Incoming
from serve_apps.http.fields import DocumentKey, storable
from serve_apps.http.streams.response import BUG, Live, beating, begin, closed, while_read
from serve_apps.http.streams.sse import BEAT, encode

MOST_MESSAGE = 100_000

Said = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_MESSAGE), AfterValidator(storable)
]
SessionKey = Annotated[str, StringConstraints(min_length=1, max_length=128), AfterValidator(storable)]
AgentKey = Annotated[str, StringConstraints(max_length=200), AfterValidator(storable)]
Documents = Annotated[
    list[DocumentKey] | None,
    Field(max_length=MOST_NAMED, description="Files that this message is about, by id; the model is told of them."),
]
Verbose = bool | Literal["default", "verbose", "debug"]
Encode = Callable[[Event, str, Verbosity], Chunk | None]


def incoming(
    agent: str, message: str, session: str | None, verbose: Verbose = False, *, person: bool = True, **options: Any
) -> tuple[Incoming, Verbosity]:
    """Build the orchestrator's message and the reader's verbosity; options that are None are left out.

    `person`: who sends it can be asked something, and answers with their next message.
    """
    text, flagged = flags(message)
    verbosity = max(verbosity_of(verbose), flagged or Verbosity.DEFAULT)
    chosen = {name: value for name, value in options.items() if value is not None}
    if verbosity:
        chosen["verbose"] = verbosity.name.lower()
    return Incoming(agent, text or message, session, options=chosen, person=person), verbosity


def verbosity_of(verbose: Verbose) -> Verbosity:
    """Verbosity from the request's field; plain true is VERBOSE."""
    return Verbosity.VERBOSE if verbose is True else Verbosity[verbose.upper() if verbose else "DEFAULT"]


def wants_stream(request: Request, stream: bool | None) -> bool:
    """By the body's `stream`, else by the Accept header."""
    return "text/event-stream" in request.headers.get("accept", "") if stream is None else stream


async def collected(request: Request, events: AsyncIterator[Event]) -> Collected:
    """The whole turn; a client that leaves ends it.

    Raises:
        AosError: the turn was not accepted.
        ReaderGone: nobody waits any more.
    """

    async def gather() -> Collected:
        found = Collected()
        begun = await begin(events)
        try:
            async for event in begun:
                found.add(event)
        finally:
            await closed(begun)
        return found

    return await while_read(request, gather())


async def streamed(
    events: AsyncIterator[Event], verbosity: Verbosity, how: Encode, beat: float, reading: Reading | None = None
) -> Live:
    """The turn as server-sent events; the first event is waited for.

    Args:
        events: of the turn.
        verbosity: how much is told.
        how: `s3` or `s4`.
        beat: seconds after which silence is interrupted by a comment.
        reading: what the reader has already.

    Raises:
        AosError: the turn was not accepted.
    """
    begun = await begin(events)
    return Live(_frames(begun, verbosity, how, beat, reading or Reading()), begun)


def frame(chunk: Chunk, id_: str | None) -> str:
    """A chunk on the wire of server-sent events."""
    return encode(id_, chunk.type, {"type": chunk.type, "content": chunk.content, "data": dict(chunk.data)})


async def _frames(
    events: AsyncIterator[Event], verbosity: Verbosity, how: Encode, beat: float, reading: Reading
) -> AsyncGenerator[str, None]:
    try:
        async with aclosing(beating(events, beat)) as beats:
            async for event in beats:
                if event is None:
                    yield BEAT
                    continue
                fresh = reading.take(event)
                chunk = None if fresh is None else how(event, fresh, verbosity)
                if chunk is not None:
                    yield frame(chunk, reading.id)
    except Exception:
        if (chunk := how(BUG, "", verbosity)) is not None:
            yield frame(chunk, None)
        raise


def data_line(body: dict[str, Any]) -> str:
    """One unnamed server-sent event, as OpenAI's clients read them."""
    return f"data: {json.dumps(body)}\n\n"
