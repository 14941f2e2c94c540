"""Answers of other people's servers, read up to a bound: a few packed bytes may be gigabytes, and a body has no end."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, cast

import httpx
import httpx2

from cluster.basics.errors import Unavailable

# What is read of JSON takes up to twenty times its bytes. No reply of a model that is taken at all is longer.
ANSWER_BYTES: Final = 32 * 2**20
EVENT_BYTES: Final = 8 * 2**20

_PLAIN: Final = {"Accept-Encoding": "identity"}
# Nothing is packed by these: `none` keeps proxies from packing a stream; a charset is a mistake that nobody notices.
_UNPACKED: Final = frozenset({"", "identity", "none", "utf-8", "utf8"})
# What ends an event for every reader: a lone CR ends lines too, and libraries differ in what they make of it.
_EVENT_ENDS: Final = (b"\n\n", b"\r\n\r\n")


class AnswerRefused(Unavailable):
    """A server's answer is longer than allowed, or packed although nobody asked for that."""


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """Bytes of a whole answer, and of one event of a stream, which may go on for as long as it likes."""

    answer: int = ANSWER_BYTES
    event: int = EVENT_BYTES


def bounded_hooks(
    who: str, answer: int, event: int | None = None
) -> Mapping[str, list[Callable[[Any], Awaitable[None]]]]:
    """`event_hooks` of a client of httpx2 whose answers a vendor's library reads: nothing is packed, all is counted.

    `who` is named in errors, with the host. `answer` and `event` are bytes, as of `AnswerBounds`; without `event` a
    stream is an answer like others. What comes is handed on as it comes, and connections are used again.

    Requests then raise AnswerRefused, and so does the reading of an answer.
    """

    async def ask_plain(request: httpx2.Request) -> None:
        request.headers.update(_PLAIN)

    async def count(response: httpx2.Response) -> None:
        where = f"{who} at {response.request.url.host}"
        _check_plain(response.headers, where)
        size: _BodySize | _EventSize = _BodySize(where, answer)
        if event is not None and response.is_success and holds_events(response.headers):
            size = _EventSize(where, event)
        response.stream = _CountedStream(cast(httpx2.AsyncByteStream, response.stream), size)

    return {"request": [ask_plain], "response": [count]}


def holds_events(headers: Mapping[str, str]) -> bool:
    """True where a body that was to be a stream of events is one: some servers give them no type, or a wrong one."""
    kind = headers.get("content-type", "").lower()
    return "event-stream" in kind or "json" not in kind


async def read_bounded(response: httpx2.Response, who: str, answer: int = ANSWER_BYTES) -> bytes:
    """The whole body, unpacked, a piece at a time. Raises AnswerRefused: it is longer; and as `aiter_bytes`."""
    held = bytearray()
    size = _BodySize(who, answer)
    async with aclosing(response.aiter_bytes()) as blocks:
        async for block in blocks:
            size.add(block)
            held += block
    return bytes(held)


def fetch_bounded(method: str, url: str, who: str, *, seconds: float, **how: Any) -> httpx.Response:
    """One answer of at most `ANSWER_BYTES`, not packed, within `seconds`; `how` as of httpx.

    Raises what httpx raises, and AnswerRefused.
    """
    with httpx.Client() as client:
        return send_bounded(client, method, url, who, seconds=seconds, **how)


def send_bounded(
    client: httpx.Client, method: str, url: httpx.URL | str, who: str, *, seconds: float, **how: Any
) -> httpx.Response:
    """As `fetch_bounded`, by a client that is there."""
    until = time.monotonic() + seconds
    headers = {**(how.pop("headers", None) or {}), **_PLAIN}
    with client.stream(method, url, headers=headers, timeout=seconds, **how) as response:
        _check_plain(response.headers, who)
        held, size = bytearray(), _BodySize(who, ANSWER_BYTES)
        for block in response.iter_raw():
            size.add(block)
            held += block
            if time.monotonic() > until:  # httpx's own limit is for each read: a body may trickle for ever
                raise httpx.ReadTimeout(f"no whole answer within {seconds:g} s", request=response.request)
    return httpx.Response(response.status_code, headers=response.headers, content=bytes(held), request=response.request)


def _check_plain(headers: Mapping[str, str], who: str) -> None:
    packing = headers.get("content-encoding", "").strip().lower()
    if packing not in _UNPACKED:
        raise AnswerRefused(f"{who} answers packed ({packing[:40]!r}), although nobody asked for that")


class _BodySize:
    """The bytes of a body so far."""

    def __init__(self, who: str, most: int) -> None:
        self._who, self._most, self._seen = who, most, 0

    def add(self, block: bytes) -> None:
        """Raises AnswerRefused."""
        self._seen += len(block)
        if self._seen > self._most:
            raise AnswerRefused(f"{self._who} answers with more than {self._most:,} bytes")


class _EventSize:
    """The bytes of a stream since its last blank line: what its reader holds."""

    def __init__(self, who: str, most: int) -> None:
        self._who, self._most, self._seen, self._tail = who, most, 0, b""

    def add(self, block: bytes) -> None:
        """Raises AnswerRefused."""
        near = self._tail + block
        ends = [at + len(mark) for mark in _EVENT_ENDS if (at := near.rfind(mark)) >= 0]
        self._seen = len(near) - max(ends) if ends else self._seen + len(block)
        self._tail = near[-3:]
        if self._seen > self._most:
            raise AnswerRefused(f"{self._who} sends an event of more than {self._most:,} bytes")


class _CountedStream(httpx2.AsyncByteStream):
    """A body's bytes as they come.

    It may be iterated over again, from where it stands: libraries take what is left behind the last event that way, and
    only a connection whose answer was taken whole is used for another.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, size: _BodySize | _EventSize) -> None:
        self._stream, self._size = stream, size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        blocks = aiter(self._stream)
        try:
            async for block in blocks:
                self._size.add(block)
                yield block
        finally:
            if isinstance(blocks, AsyncGenerator):
                await blocks.aclose()

    async def aclose(self) -> None:
        await self._stream.aclose()
