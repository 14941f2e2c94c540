"""Live events as a response: its reader hears of an error that nobody named, and the log does, too."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import pytest

from serve_apps.http.streams.response import CancellingStreamResponse


async def _frames(error: BaseException | None = None) -> AsyncGenerator[str, None]:
    yield "one;"
    if error is not None:
        raise error


async def _sent(
    response: CancellingStreamResponse, *, leaves: bool = False, breaks: bool = False
) -> tuple[str, list[BaseException]]:
    """What a reader got, and what was raised."""
    got: list[str] = []

    async def receive() -> dict[str, Any]:
        if not leaves:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if breaks and message.get("body"):
            raise OSError("the connection is gone")
        got.append(message.get("body", b"").decode())

    raised: list[BaseException] = []
    try:
        await response({"type": "http"}, receive, send)
    except (ZeroDivisionError, OSError) as error:
        raised.append(error)
    return "".join(got), raised


def _bug() -> Iterable[str]:
    yield from ("something ", "went wrong;")


async def test_what_nobody_named_ends_a_stream_with_words_for_its_reader_and_rises() -> None:
    got, raised = await _sent(CancellingStreamResponse(_frames(ZeroDivisionError()), bug_frames=_bug))
    assert got == "one;something went wrong;"
    assert [type(error) for error in raised] == [ZeroDivisionError]


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_stream_that_ends_well_or_loses_its_reader_says_nothing_of_it(leaves: bool) -> None:
    got, raised = await _sent(CancellingStreamResponse(_frames(), bug_frames=_bug), leaves=leaves)
    assert "wrong" not in got and raised == []


async def test_a_connection_that_is_gone_is_no_error() -> None:
    got, raised = await _sent(CancellingStreamResponse(_frames(), bug_frames=_bug), breaks=True)
    assert (got, raised) == ("", [])


async def test_a_reader_hears_of_it_before_a_source_that_cannot_be_closed() -> None:
    class Stuck:
        async def aclose(self) -> None:
            raise OSError("it does not end")

    got, raised = await _sent(CancellingStreamResponse(_frames(ZeroDivisionError()), Stuck(), _bug))
    assert got == "one;something went wrong;"
    assert [type(error) for error in raised] == [OSError]
