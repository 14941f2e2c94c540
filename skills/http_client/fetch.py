"""The one way out to the web: each address is checked, the connection goes to what was checked, sizes and time end."""

import asyncio
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

import httpx

from cluster.basics.addresses import Resolve
from cluster.basics.errors import Invalid, Permanent, TooLarge, Unavailable
from skills.framework.contract import OutcomeUnknown
from skills.http_client.guard import RequestTarget, check_addresses, parse_target

MOST_REDIRECTS = 5
READING = frozenset({"GET", "HEAD"})

_TEXT = re.compile(r"text/[\w.+-]+|application/(?:[\w.+-]*\+)?(?:json|xml|yaml|javascript|x-ndjson)", re.IGNORECASE)
_REDIRECTS = {301, 302, 303, 307, 308}
_SEE_OTHER = 303
_NOT_DONE = {301, 307, 308}  # the request itself belongs elsewhere; after a 302 some services have carried it out
_FIELD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class ServiceRedirected(Permanent):
    """The service sends a request elsewhere that is sent to one place only."""

    code, status = "redirected", 502
    fix = "Write the address that the service answers at; only GET and HEAD follow redirects."


@dataclass(frozen=True, slots=True)
class OutboundRequest:
    """A request."""

    url: str = field(repr=False)  # absolute; may hold a secret, so no error quotes more of it than the host
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)  # what is sent to this origin
    login: Mapping[str, str] = field(default_factory=dict, repr=False)  # headers with secrets
    content: bytes | None = field(default=None, repr=False)  # the body; None for none
    reads: bool = True  # nothing there is changed by it: whether it was carried out is no question
    # A certificate (PEM) that is believed beside the usual ones, such as that of a cluster.
    authority: str | None = None


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer."""

    url: str  # that gave it, after redirects
    status: int  # 200 for the 303 by which a service says that it has done what changes something; see `Location`
    headers: Mapping[str, str]
    kind: str  # the media type, lower case, without parameters
    text: str  # the body; empty where a failure's body is no text
    # The body could not be given; only of a request that changes something, for which that is no failure.
    unread: bool = False


@dataclass(frozen=True, slots=True)
class GuardedHttpClient:
    """Sends requests to addresses that are allowed, and nowhere else."""

    allowed: Sequence[str]  # as in `guard.parse_target`; an empty list allows nothing
    find: Resolve  # names of hosts to addresses
    seconds: float  # for all of it, redirects too
    most_bytes: int  # of a body
    wire: httpx.AsyncBaseTransport | None = None  # what carries requests out; None for the network

    async def send(self, ask: OutboundRequest) -> HttpReply:
        """The answer, whatever its status.

        GET and HEAD follow redirects; to another origin neither the login nor any other header but `Accept` goes.

        Raises:
            AddressNotAllowed: the address, or one it redirects to, is not allowed.
            Invalid: no URL, too many redirects, or a header that cannot be sent; not a text, of what reads.
            TooLarge: a larger body, of what reads.
            ServiceRedirected: another method is redirected.
            Unavailable: no connection, or too slow.
            OutcomeUnknown: the same after a request that changes something has gone out, or a 302 to it.
        """
        sent = _Sent(ask.reads)
        here = parse_target(ask.url, self.allowed)
        try:
            async with asyncio.timeout(self.seconds):
                for _ in range(MOST_REDIRECTS + 1):
                    reply = await self._send_once(ask, sent)
                    if isinstance(reply, HttpReply):
                        return reply
                    if ask.method not in READING:
                        raise ServiceRedirected(f"{here.host} answers {ask.method} with a redirect")
                    ask = _follow_redirect(ask, here, _join_url(ask.url, reply), self.allowed)
                    here = parse_target(ask.url, self.allowed)
        except TimeoutError:
            raise sent.failure(f"{here.host} did not answer within {self.seconds:g} s") from None
        raise Invalid(f"more than {MOST_REDIRECTS} redirects")

    async def _send_once(self, ask: OutboundRequest, sent: "_Sent") -> HttpReply | str:
        aim = parse_target(ask.url, self.allowed)
        headers = _request_headers(aim, ask)
        address = check_addresses(await self.find(aim.host, aim.port), aim)
        # No proxy and no netrc of this machine: the connection goes to the address that was checked, or nowhere. The
        # certificate has to be the name's (sni_hostname), though the connection is the address's. No client around
        # it: httpx's would read redirects itself, and fail at those that are no URL.
        wire = self.wire or httpx.AsyncHTTPTransport(verify=_tls_context(ask.authority), trust_env=False)
        async with wire:
            try:
                asked = {"sni_hostname": aim.host, "timeout": httpx.Timeout(self.seconds).as_dict(), "trace": sent}
                where = f"{aim.scheme}://{f'[{address}]' if ':' in address else address}:{aim.port}{aim.path}"
                request = httpx.Request(ask.method, where, headers=headers, content=ask.content, extensions=asked)
                response = await wire.handle_async_request(request)
                return await self._read_answer(ask, aim, response)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # Not the error's own text: libraries quote what was sent.
                raise sent.failure(f"{aim.host} cannot be reached: {type(error).__name__}") from None

    async def _read_answer(self, ask: OutboundRequest, aim: RequestTarget, response: httpx.Response) -> HttpReply | str:
        """The answer, or where a redirect leads."""
        status, headers = response.status_code, response.headers
        if not ask.reads and status == _SEE_OTHER:
            return HttpReply(ask.url, 200, headers, "", "", unread=True)
        if status in _REDIRECTS and "location" in headers:
            if not ask.reads and status not in _NOT_DONE:
                raise OutcomeUnknown(f"{aim.host} answers {ask.method} with a redirect ({status})")
            return str(headers["location"])
        try:
            return HttpReply(ask.url, status, headers, *await self._read_body(response))
        except (Invalid, TooLarge):
            if ask.reads:
                raise
            # The status has said how it went: a body that cannot be given does not undo what was done.
            return HttpReply(ask.url, status, headers, _media_type(response), "", unread=True)

    async def _read_body(self, response: httpx.Response) -> tuple[str, str]:
        kind = _media_type(response)
        if kind and not _TEXT.fullmatch(kind):
            if response.status_code >= 400:
                return kind, ""
            raise Invalid(f"the address gives {kind[:100]}, not a text")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise Invalid("the address gives a packed text though none was asked for")
        raw = bytearray()
        async for piece in response.aiter_raw():
            raw += piece
            if len(raw) > self.most_bytes:
                raise TooLarge(f"the address gives more than {self.most_bytes:,} bytes")
        return kind, bytes(raw).decode(_known_charset(response), errors="replace").replace("\x00", "")


class _Sent:
    """Remembers whether anything of a request has left this machine; httpcore calls it at each of its steps."""

    def __init__(self, reads: bool) -> None:
        self._reads, self._gone = reads, False

    async def __call__(self, step: str, _: Mapping[str, Any]) -> None:
        self._gone = self._gone or step.endswith("send_request_headers.started")

    def failure(self, detail: str) -> Unavailable | OutcomeUnknown:
        return OutcomeUnknown(detail) if self._gone and not self._reads else Unavailable(detail)


def _join_url(url: str, to: str) -> str:
    try:
        return urljoin(url, to)
    except ValueError:
        raise Invalid("the address redirects to what is no URL") from None


def _follow_redirect(ask: OutboundRequest, here: RequestTarget, url: str, allowed: Sequence[str]) -> OutboundRequest:
    if parse_target(url, allowed).origin == here.origin:
        return replace(ask, url=url)
    kept = {name: value for name, value in ask.headers.items() if name.lower() == "accept"}
    return replace(ask, url=url, headers=kept, login={})


def _request_headers(aim: RequestTarget, ask: OutboundRequest) -> dict[str, str]:
    for name, value in (*ask.headers.items(), *ask.login.items()):
        if not _FIELD.fullmatch(name) or not _VALUE.fullmatch(value):  # never quoted: it may be a secret
            raise Invalid("a header has a character that cannot be sent, or is empty")
    # `identity`: a small answer that unpacks into a large one is not asked for, and refused if it comes.
    fixed = {"Host": aim.authority, "Accept-Encoding": "identity", "User-Agent": "aos"}
    return {"Accept": "text/*, application/json", **ask.headers, **ask.login, **fixed}


def tls_context(authority: str | None) -> ssl.SSLContext:
    """TLS context that trusts the web's authorities, those of this system, and the one that is given."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    if authority is not None:
        try:
            context.load_verify_locations(cadata=authority)
        except (ssl.SSLError, ValueError):
            raise Invalid("ca_cert of the credential is no certificate in PEM") from None
    return context


_tls_context = lru_cache(maxsize=64)(tls_context)


def _media_type(response: httpx.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _known_charset(response: httpx.Response) -> str:
    """Character set of the header, where Python knows it; else UTF-8."""
    name = response.charset_encoding or "utf-8"
    try:
        b" ".decode(name)
    except (LookupError, UnicodeError):
        return "utf-8"
    return name
