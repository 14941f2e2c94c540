"""Answers over HTTP of no more than so many bytes, unpacked: a few hundred packed ones may be gigabytes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import httpx
import httpx2

MODEL_BYTES: Final = 1 << 26  # of a model's answer, streamed or whole: a book
_PACKINGS: Final = ("", "identity", "gzip", "deflate", "br", "zstd")


def bounded_hooks(most: int) -> Mapping[str, list[Callable[[httpx2.Response], Awaitable[None]]]]:
    """`event_hooks` of a client, whoever reads its answers then: libraries of vendors read them as a whole.

    A longer one, and one that is packed several times over or in an unknown way, ends in httpx2.DecodingError.
    """

    async def bound(answer: httpx2.Response) -> None:
        # The library unpacks a piece at a time, as far as pieces are taken.
        packed = httpx2.Response(answer.status_code, headers=answer.headers, stream=answer.stream)
        answer.stream = _BoundedStream(packed, most)
        for header in ("content-encoding", "content-length"):
            answer.headers.pop(header, None)

    return {"response": [bound]}


def fetch_bounded(method: str, url: str, most: int, **how: Any) -> httpx.Response:
    """One answer as it is, not packed; `how` as of httpx.

    Raises what httpx raises, and httpx.DecodingError: it is longer, or packed although nobody asked for that.
    """
    headers = {**(how.pop("headers", None) or {}), "Accept-Encoding": "identity"}
    with httpx.stream(method, url, headers=headers, **how) as answer:
        if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise httpx.DecodingError("the answer is packed, although nobody asked for that")
        body = bytearray()
        for block in answer.iter_raw():
            body += block
            if len(body) > most:
                raise httpx.DecodingError(f"the answer is longer than {most} bytes")
    return httpx.Response(answer.status_code, headers=answer.headers, content=bytes(body), request=answer.request)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, packed: httpx2.Response, most: int) -> None:
        self._packed, self._most = packed, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        packing = self._packed.headers.get("content-encoding", "").strip().lower()
        if packing not in _PACKINGS:
            raise httpx2.DecodingError(f"the answer is packed as {packing[:40]!r}")
        size = 0
        async for block in self._packed.aiter_bytes():
            size += len(block)
            if size > self._most:
                raise httpx2.DecodingError(f"the answer is longer than {self._most} bytes")
            yield block

    async def aclose(self) -> None:
        await self._packed.aclose()
