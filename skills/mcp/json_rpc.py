"""MCP over HTTP by the guarded way out: each request goes to an address that was checked, and no answer is endless."""

import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, cast

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from cluster.basics.addresses import Resolve
from cluster.basics.errors import AosError, Invalid, TooLarge, Unavailable
from skills.http_client.guard import RequestTarget, check_addresses, parse_target
from skills.http_client.http_answer import ServiceBusy, ServiceDenied, ServiceFailed, TokenRejected
from skills.mcp.results import garbled_error

MOST_BYTES = 8_000_000  # of one answer


class HttpMcpServer:
    """An `McpServer` at an address."""

    def __init__(self, url: str, allowed: Sequence[str], find: Resolve, seconds: float) -> None:
        """Raises Disallowed and Invalid where the address may not be called; `seconds` without a byte are an end."""
        self._url, self._allowed, self._find, self._seconds = url, allowed, find, seconds
        self._aim = parse_target(url, allowed)
        self.name = self._aim.host
        self.fault: AosError | None = None
        self.login: Mapping[str, str] = {}

    def name_error(self, error: BaseException) -> AosError | None:
        """See `McpServer`."""
        return garbled_error(error, self.name)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Client]:
        """See `McpServer`."""
        how: Any = {"headers": {"Accept-Encoding": "identity", "User-Agent": "aos"}, "timeout": self._seconds}
        # No proxy and no netrc of this machine, and no redirects but those within the origin, which the SDK follows.
        async with httpx2.AsyncClient(transport=_Guarded(self), trust_env=False, **how) as http:
            transport = streamable_http_client(self._url, http_client=http, max_sse_event_size=MOST_BYTES)
            async with Client(transport, cache=None) as client:
                yield client

    async def check(self, url: str) -> tuple[RequestTarget, str]:
        """A request's address, and where to connect to. Raises AosError: it is not this server's, or forbidden."""
        aim = parse_target(url, self._allowed)
        if aim.origin != self._aim.origin:
            raise Invalid(f"{self.name} sends requests to {aim.host}")
        return aim, check_addresses(await self._find(aim.host, aim.port), aim)

    def failed(self, fault: AosError) -> httpx2.TransportError:
        """Remember it under its own name; the SDK is told by an error that it knows how to end with."""
        self.fault = fault
        return httpx2.ReadError(fault.detail)


class _Guarded(httpx2.AsyncBaseTransport):
    """Looks at each request, and counts each answer."""

    def __init__(self, wire: HttpMcpServer) -> None:
        self._wire = wire
        self._inner = httpx2.AsyncHTTPTransport(verify=_tls_context(), trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        wire = self._wire
        try:
            aim, address = await wire.check(str(request.url))
        except AosError as error:
            raise wire.failed(error) from None
        headers = [pair for pair in request.headers.raw if pair[0].lower() != b"authorization"]
        headers += [(name.encode(), value.encode()) for name, value in wire.login.items()]
        where, asked = request.url.copy_with(host=address), {**request.extensions, "sni_hostname": aim.host}
        sent = httpx2.Request(request.method, where, headers=headers, stream=request.stream, extensions=asked)
        try:
            answer = await self._inner.handle_async_request(sent)
        except httpx2.TransportError as error:
            raise wire.failed(Unavailable(f"{aim.host} cannot be reached: {type(error).__name__}")) from None
        if (fault := _status_error(answer.status_code, aim.host)) is not None:
            wire.fault = fault
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            await answer.aclose()
            raise wire.failed(Invalid(f"{aim.host} gives a packed answer though none was asked for"))
        stream = _Counted(cast(httpx2.AsyncByteStream, answer.stream), wire)
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=stream, extensions=answer.extensions)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    """An answer's bytes, up to the most."""

    def __init__(self, inner: httpx2.AsyncByteStream, wire: HttpMcpServer) -> None:
        self._inner, self._wire = inner, wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        try:
            async for piece in self._inner:
                seen += len(piece)
                if seen > MOST_BYTES:
                    raise self._wire.failed(TooLarge(f"{self._wire.name} gives more than {MOST_BYTES:,} bytes"))
                yield piece
        except httpx2.TransportError as error:
            if self._wire.fault is None:
                self._wire.fault = Unavailable(f"{self._wire.name} broke off: {type(error).__name__}")
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()


def _status_error(status: int, host: str) -> AosError | None:
    """Error for a status about the caller or the server; others belong to the protocol."""
    if status == 401:
        return TokenRejected(f"{host} answers {status}")
    if status in (403, 407):
        return ServiceDenied(f"{host} answers {status}")
    if status == 429:
        return ServiceBusy(f"{host} answers {status}")
    return ServiceFailed(f"{host} answers {status}") if status >= 500 else None


@cache
def _tls_context() -> ssl.SSLContext:
    """TLS context that trusts the web's authorities, and those of this system."""
    context: Any = httpx2.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return cast(ssl.SSLContext, context)
