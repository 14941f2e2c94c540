"""The bound on an event of a stream: however its bytes are cut, no library that reads it holds more than that."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import accumulate
from typing import Any

import httpx2
import pytest
from anthropic._streaming import SSEDecoder
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.basics.bounded_answers import AnswerRefused, bounded_hooks

EVENTS = {"Content-Type": "text/event-stream"}
MOST = 50
PIECES = st.sampled_from([b"data: xy", b":", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b"x" * 30])


async def read(blocks: Sequence[bytes], headers: dict[str, str], answer: int, event: int | None) -> bytes:
    async def sent() -> AsyncIterator[bytes]:
        for block in blocks:
            yield block

    way = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, content=sent()))
    async with httpx2.AsyncClient(transport=way, event_hooks=bounded_hooks("it", answer, event)) as client:
        return (await client.get("http://x/")).content


@pytest.mark.parametrize(
    ("blocks", "passes"),
    [
        ([b"x" * 10], True),
        ([b"x" * 11], False),
        ([b"x" * 8 + b"\n\n", b"x" * 10], True),
        ([b"x" * 9 + b"\n", b"\n" + b"x" * 9], True),  # a blank line across two blocks
        ([b"xxx\r\n", b"\r\n" + b"x" * 10], True),
        ([b"xxx\r", b"\n\r", b"\n" + b"x" * 10], True),
        ([b"xxxx\r\r", b"x" * 10], False),  # libraries differ in what that is
        ([b"xxxx\n", b"x" * 10], False),
        ([b"x"] * 11, False),
    ],
)
async def test_an_event_is_what_stands_between_blank_lines(blocks: list[bytes], passes: bool) -> None:
    if passes:
        assert await read(blocks, EVENTS, 1, 10) == b"".join(blocks)
        return
    with pytest.raises(AnswerRefused, match="it at x sends an event of more than 10 bytes"):
        await read(blocks, EVENTS, 1, 10)


@pytest.mark.parametrize(("headers", "event"), [({"Content-Type": "application/json"}, 1), (EVENTS, None)])
async def test_what_is_no_stream_is_counted_as_a_whole(headers: dict[str, str], event: int | None) -> None:
    assert await read([b"xx\n\n", b"xx\n\n"], headers, 8, event) == b"xx\n\nxx\n\n"
    with pytest.raises(AnswerRefused, match="it at x answers with more than 8 bytes"):
        await read([b"xx\n\n", b"xx\n\n", b"x"], headers, 8, event)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40), st.data())
def test_no_library_holds_more_than_the_bound(pieces: list[bytes], data: Any) -> None:
    body = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    blocks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) if a < b]
    try:
        asyncio.run(read(blocks, EVENTS, 1, MOST))
    except AnswerRefused:
        return
    # A library gives what it can away before it asks for more; a few bytes of a cut line end may stay behind.
    assert held_by_anthropic(blocks) <= MOST + 3
    assert all(held_by_the_standard(seen) <= MOST for seen in accumulate(blocks))


def held_by_anthropic(blocks: Sequence[bytes]) -> int:
    taken = given_away = most = 0

    def feed() -> Iterator[bytes]:
        nonlocal taken, most
        for block in blocks:
            yield block
            taken += len(block)
            most = max(most, taken - given_away)

    for chunk in SSEDecoder()._iter_chunks(feed()):
        given_away += len(chunk)
    return most


def held_by_the_standard(seen: bytes) -> int:
    """The bytes behind the last blank line, as OpenAI's library and the standard of event streams have it."""
    *lines, rest = re.split(rb"\r\n|\n|\r", seen)
    last = max((at for at, line in enumerate(lines) if not line), default=-1)
    return len(rest) + sum(map(len, lines[last + 1 :]))
