"""HTTP to an address that was checked: the name is for the certificate and the Host header, the address for the socket.

Whatever the name means a moment later (DNS rebinding), the connection goes where the check looked.
"""

import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx

from cluster.basics.errors import Forbidden, Unavailable
from cluster.basics.retry_after import asked_seconds
from pipelines.documents.sources.source_port import SourceAway, SourceDependencies, SourceInvalid, SourceRefused

USER_AGENT: Final = "AOS"
TIMEOUT: Final = httpx.Timeout(60, connect=15)
CONNECTION: Final[Mapping[str, Any]] = {"timeout": TIMEOUT, "trust_env": False, "follow_redirects": False}
"""Of every client here: no proxy of this process's environment connects in our place, and redirects are answers."""
PACKING: Final[Mapping[str, str]] = {"Accept-Encoding": "gzip"}
"""The one packing that is unpacked a piece at a time, see `unpacked`."""
MOST_REDIRECTS: Final = 3
CHECK_SECONDS: Final = 60.0  # for which an address counts as checked
MOST_HOSTS: Final = 200  # that one client connects to: more than those of a turn's items with their redirects
LEAST_WAIT: Final = 0.25  # seconds before one is asked again
BLOCK_BYTES: Final = 1 << 20
NETWORK_ERRORS: Final = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, Forbidden, SourceInvalid, Unavailable)
"""What `network_fault` has names for: of connections, and of the checks of hosts."""
GARBAGE: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What an answer that makes no sense makes us stumble over: the server's fault, and not the worker's."""
_PORTS: Final = {"http": 80, "https": 443}
_Place = tuple[str, str, int | None]  # an origin, as httpx has taken it apart


@dataclass(frozen=True, slots=True)
class CheckedHost:
    """A site's root whose address was checked.

    Attributes:
        origin: as people write it, `https://example.com:8443`.
        base: the same with the address in place of the name.
    """

    origin: str
    base: str
    headers: Mapping[str, str]
    extensions: Mapping[str, Any] = field(default_factory=dict)

    def holds(self, url: str) -> bool:
        """True where the URL lies on this host."""
        return origin_of(url) == self.origin

    def address_of(self, url: str) -> str:
        """A URL of this host, with the address that was checked. Raises SourceInvalid: it lies elsewhere."""
        if not self.holds(url):
            raise SourceInvalid(f"{url} lies elsewhere")
        parts = urlsplit(url)
        return self.base + urlunsplit(("", "", parts.path or "/", parts.query, ""))


def _place_of(url: httpx.URL) -> _Place:
    return url.scheme, url.host.rstrip("."), url.port


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, without the port that its scheme has anyway; empty where it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in _PORTS or not host:
        return ""
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")


def tls_context() -> ssl.SSLContext:
    """With the authorities that SSL_CERT_FILE and SSL_CERT_DIR name, if any; each client loads them once."""
    return httpx.create_ssl_context()


async def check_host_of(url: str, dependencies: SourceDependencies) -> CheckedHost:
    """Have the host of a URL checked, once. Raises what the check raises: it may not be reached."""
    used = await dependencies.check_endpoint(url)
    origin = origin_of(url)
    parts = urlsplit(origin)
    headers = {"Host": parts.netloc, "User-Agent": USER_AGENT}
    if parts.scheme == "http":
        return CheckedHost(origin, origin_of(used), headers)
    host = parts.hostname or ""
    address = (await dependencies.check_host(host, parts.port or _PORTS["https"])).partition("%")[0]
    shown = f"[{address}]" if ":" in address else address
    base = f"https://{shown}" + (f":{parts.port}" if parts.port else "")
    return CheckedHost(origin, base, headers, {"sni_hostname": host})


class CheckedTransport(httpx.AsyncBaseTransport):
    """Takes each request to an address of its host that was checked, wherever a redirect or a link of an answer leads.

    Each host has connections of its own: two names may have one address, and its certificate was shown for one of them.
    """

    def __init__(
        self,
        dependencies: SourceDependencies,
        clock: Callable[[], float] = time.monotonic,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`clock` in seconds; `tls` instead of `tls_context`. Nothing is asked yet."""
        self._dependencies, self._clock, self._tls = dependencies, clock, tls or tls_context()
        self._hosts: dict[_Place, tuple[CheckedHost, httpx.URL, float]] = {}
        self._networks: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises what the check raises: nothing is sent; and as every transport of httpx."""
        host, there = await self._checked(request.url)
        pinned = httpx.Request(
            request.method,
            request.url.copy_with(host=there.host, port=there.port),
            headers=request.headers,  # with the name in `Host`
            stream=request.stream,
            extensions={**request.extensions, **host.extensions},
        )
        try:
            return await self._network(host.origin).handle_async_request(pinned)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            self._hosts.pop(_place_of(request.url), None)  # it may have moved
            raise

    async def aclose(self) -> None:
        """Close the connections of all hosts."""
        for network in self._networks.values():
            await network.aclose()

    async def _checked(self, url: httpx.URL) -> tuple[CheckedHost, httpx.URL]:
        """The host of a URL and the root at its address."""
        place, now = _place_of(url), self._clock()
        known = self._hosts.get(place)
        if known is not None and now < known[2]:
            return known[:2]
        origin = origin_of(str(url))
        if not origin:
            raise SourceInvalid("it leads to what is no URL of http or https")
        if known is None and origin not in self._networks and len(self._networks) >= MOST_HOSTS:
            raise SourceRefused(f"the service leads to more than {MOST_HOSTS} hosts")
        host = await check_host_of(str(url), self._dependencies)
        there = httpx.URL(host.base)
        self._hosts[place] = (host, there, now + CHECK_SECONDS)
        return host, there

    def _network(self, origin: str) -> httpx.AsyncHTTPTransport:
        if origin not in self._networks:
            self._networks[origin] = httpx.AsyncHTTPTransport(verify=self._tls, trust_env=False)
        return self._networks[origin]


def checked_client(
    dependencies: SourceDependencies, tls: ssl.SSLContext | None = None, **how: Any
) -> httpx.AsyncClient:
    """A client whose every request goes to a checked address; `how` may name other settings than `CONNECTION`.

    `tls`: whom it trusts, in place of `tls_context`.
    """
    headers = {"User-Agent": USER_AGENT, **PACKING}
    settings: dict[str, Any] = {**CONNECTION, "headers": headers, **how}
    return httpx.AsyncClient(transport=CheckedTransport(dependencies, tls=tls), **settings)


async def send_checked(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    secret: Mapping[str, str] | None = None,
    most_redirects: int = MOST_REDIRECTS,
    **how: Any,
) -> httpx.Response:
    """The answer that redirects lead to in the end, its body unread; whoever takes it closes it.

    `client` is a `checked_client`. `secret`: headers for the URL's own host alone; once it has led elsewhere nobody is
    given them any more. Redirects are asked by GET, without parameters and body.

    Raises SourceRefused: it leads to a place without TLS, or to none; SourceAway: it leads on and on; what the check
    of the place raises where it leads; httpx.HTTPError.
    """
    sent = {**(headers or {}), **(secret or {})}
    for _ in range(most_redirects + 1):
        answer = await client.send(client.build_request(method, url, headers=sent, **how), stream=True)
        client.cookies.clear()  # each request stands for itself
        if not answer.has_redirect_location:
            return answer
        await answer.aclose()
        there = _where_to(url, answer.headers["location"])
        if url.startswith("https://") and not there.startswith("https://"):
            raise SourceRefused("the service leads to a place without TLS")
        if origin_of(there) != origin_of(url):
            sent = dict(headers or {})
        url, method, how = there, "GET", {}
    raise SourceAway(f"{shown_url(url)} leads on and on")


def part_headers(start: int, length: int | None) -> dict[str, str]:
    """Headers that ask for this part of a body, as its bytes are."""
    plain = {"Accept-Encoding": "identity"}
    if not start and length is None:
        return plain
    return {**plain, "Range": f"bytes={start}-" if length is None else f"bytes={start}-{start + length - 1}"}


async def read_part(answer: httpx.Response, start: int, length: int | None) -> AsyncIterator[bytes]:
    """The part of a body that `part_headers` asked for, also from a server that knows no ranges and gives all of it.

    Raises SourceAway: the server gives another part.
    """
    if answer.status_code == 416 or length == 0:  # it is not so long
        return
    told = answer.headers.get("content-range", "").partition("-")[0].removeprefix("bytes").strip()
    if answer.status_code == 206 and told and told != str(start):
        raise SourceAway("the server gives another part than the one that was asked for")
    async for block in part_of(unpacked(answer), 0 if answer.status_code == 206 else start, length):
        yield block


async def part_of(blocks: AsyncIterator[bytes], skip: int, length: int | None) -> AsyncIterator[bytes]:
    """Of these blocks the bytes after the first `skip`, at most `length` of them; None: all."""
    left = length
    async for block in blocks:
        taken = block[skip:]
        skip = max(0, skip - len(block))
        if left is not None:
            taken = taken[:left]
            left -= len(taken)
        if taken:
            yield taken
        if left == 0:
            return


async def read_whole(answer: httpx.Response, most: int) -> bytes | None:
    """The body; None where it is longer than `most`."""
    held = bytearray()
    async for block in unpacked(answer):
        held += block
        if len(held) > most:
            return None
    return bytes(held)


async def unpacked(answer: httpx.Response) -> AsyncIterator[bytes]:
    """The body in blocks of at most `BLOCK_BYTES`: a small packed one may be gigabytes, and is unpacked as it is taken.

    Raises SourceAway: it is packed otherwise than was asked for, or is not what it says.
    """
    packing = answer.headers.get("content-encoding", "identity").strip().lower()
    if packing == "identity":
        async for block in answer.aiter_raw(BLOCK_BYTES):
            yield block
        return
    if packing not in ("gzip", "x-gzip"):
        raise SourceAway("the server packs its answer in a way that was not asked for")
    packed = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        async for raw in answer.aiter_raw(BLOCK_BYTES):
            full = True
            while not packed.eof and (raw or full):
                block = packed.decompress(raw, BLOCK_BYTES)
                raw, full = packed.unconsumed_tail, len(block) == BLOCK_BYTES
                yield block
    except zlib.error as error:
        raise SourceAway("the server's answer is not packed as it says") from error
    if not packed.eof:
        raise SourceAway("the server's packed answer breaks off")


def wanted_wait(told: str | None, otherwise: float, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float:
    """Seconds that a `Retry-After` asks for; `otherwise` where it asks for nothing.

    Never less than a moment: who says 0 is not asked again at once.
    """
    wait = asked_seconds(told, now())
    return otherwise if wait is None else max(wait, min(otherwise, LEAST_WAIT))


def is_untrusted(error: httpx.HTTPError) -> bool:
    """True where the certificate is why there is no connection."""
    return "CERTIFICATE_VERIFY_FAILED" in str(error)


def network_fault(error: BaseException, what: str) -> SourceAway | SourceRefused | None:
    """A failed connection, or a place that may not be connected to, as a fault of `what`; None: it is something else.

    A name without an address now, and silence, pass by. A certificate and an address stay as they are.
    """
    if isinstance(error, SourceAway | SourceRefused):
        return error
    if isinstance(error, Forbidden | SourceInvalid):  # of a check
        return SourceRefused(f"{what}: {error.detail}", fix=error.hint)
    if isinstance(error, Unavailable):
        return SourceAway(f"{what}: {error.detail}")
    if isinstance(error, httpx.InvalidURL):
        return SourceRefused(f"{what} leads to what is no URL")
    if isinstance(error, httpx.HTTPError):
        if is_untrusted(error):
            return SourceRefused(f"{what}: the certificate is not valid for this host")
        return SourceAway(f"{what} does not answer: {type(error).__name__}")
    return SourceAway(f"{what} does not answer in time") if isinstance(error, TimeoutError) else None


@contextmanager
def classified_faults(what: str) -> Iterator[None]:
    """Faults of the network and of what a server answers get our names: it rests, and is asked another time.

    Raises SourceAway, SourceRefused.
    """
    try:
        yield
    except NETWORK_ERRORS as error:
        raise network_fault(error, what) or error from error
    except GARBAGE as error:
        raise SourceAway(f"{what} answers with what makes no sense") from error


def shown_url(url: str) -> str:
    """Without its query: links of listings and downloads are keys."""
    return url.partition("?")[0][:200]


def _where_to(url: str, location: str) -> str:
    try:
        there = urljoin(url, location)
    except ValueError as error:
        raise SourceRefused(f"{shown_url(url)} leads to what is no URL") from error
    if not origin_of(there):
        raise SourceRefused(f"{shown_url(url)} leads to what is no URL of http or https")
    return there
