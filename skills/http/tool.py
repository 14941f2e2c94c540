"""`http_get`: reads a text from an allowed address, resolved once and connected to as it was checked."""

import asyncio
import re
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urljoin

import httpx

from cluster.basics.errors import Invalid, TooLarge, Unavailable
from cluster.models.messages import ToolSpec
from skills.contract import Call, Effect
from skills.ground import Ground, Resolve
from skills.http.guard import Target, check, target
from skills.manifest import Manifest

SECONDS = 20.0  # for all of it, redirects too
MOST_BYTES = 1_000_000
MOST_CHARACTERS = 100_000  # that are given
MOST_REDIRECTS = 5

_TEXT = re.compile(r"text/[\w.+-]+|application/(?:[\w.+-]*\+)?(?:json|xml|yaml|javascript|x-ndjson)", re.IGNORECASE)
_REDIRECTS = {301, 302, 303, 307, 308}


async def resolve(host: str, port: int) -> Sequence[str]:
    """Every address that the system knows for a name.

    Raises:
        Unavailable: it knows none.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unavailable(f"{host} cannot be resolved") from error
    return [str(entry[4][0]) for entry in found]


class HttpGet:
    """GET of a text; nothing is sent but the address."""

    effect = Effect.READ

    def __init__(
        self, spec: ToolSpec, allowed: Sequence[str], find: Resolve = resolve, seconds: float = SECONDS
    ) -> None:
        """`allowed` as in `guard.target`; an empty list allows nothing."""
        self.spec = spec
        self._allowed, self._find, self._seconds = tuple(allowed), find, seconds

    async def run(self, call: Call) -> Any:
        """Give {url, status, content_type, text}; a status of 400 or more is a result too.

        Raises:
            Disallowed: the address, or one it redirects to, may not be read.
            Invalid: no URL, not a text, or too many redirects.
            TooLarge: more than a million bytes.
            Unavailable: no connection, or too slow.
        """
        url = str(call.arguments["url"])
        try:
            async with asyncio.timeout(self._seconds):
                for _ in range(MOST_REDIRECTS + 1):
                    given, onwards = await self._read(url)
                    if given is not None:
                        return given
                    url = onwards
        except TimeoutError as error:
            raise Unavailable(f"{url} did not answer within {self._seconds:g} s") from error
        raise Invalid(f"more than {MOST_REDIRECTS} redirects")

    async def _read(self, url: str) -> tuple[dict[str, Any] | None, str]:
        """What the address gives, or where it sends to."""
        aim = target(url, self._allowed)
        address = check(await self._find(aim.host, aim.port), aim)
        request = httpx.Request(
            "GET", _connect_to(aim, address), headers=_headers(aim),
            extensions={"sni_hostname": aim.host, "timeout": httpx.Timeout(self._seconds).as_dict()},
        )  # fmt: skip
        # No proxy and no netrc of this machine: the connection goes to the address that was checked, or nowhere. The
        # certificate has to be the name's (sni_hostname), though the connection is the address's.
        async with httpx.AsyncClient(trust_env=False) as client:
            try:
                response = await client.send(request, stream=True, follow_redirects=False)
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    return None, urljoin(url, response.headers["location"])
                return {"url": url, "status": response.status_code, **await _text(response)}, ""
            except httpx.HTTPError as error:
                raise Unavailable(f"{aim.host} cannot be read: {type(error).__name__}") from error


def build(manifest: Manifest, ground: Ground) -> HttpGet:
    """See `Build`."""
    return HttpGet(manifest.spec, ground.hosts, ground.resolve)


def _connect_to(aim: Target, address: str) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{aim.scheme}://{host}:{aim.port}{aim.path}"


def _headers(aim: Target) -> dict[str, str]:
    # `identity`: a small answer that unpacks into a large one is not asked for, and refused if it comes.
    return {"Host": aim.authority, "Accept": "text/*, application/json", "Accept-Encoding": "identity"}


async def _text(response: httpx.Response) -> dict[str, Any]:
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind and not _TEXT.fullmatch(kind):
        raise Invalid(f"the address gives {kind}, not a text")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Invalid("the address gives a packed text though none was asked for")
    raw = bytearray()
    async for piece in response.aiter_raw():
        raw += piece
        if len(raw) > MOST_BYTES:
            raise TooLarge(f"the address gives more than {MOST_BYTES:,} bytes")
    text = bytes(raw).decode(_charset(response), errors="replace").replace("\x00", "")
    return {"content_type": kind, "text": text[:MOST_CHARACTERS]}


def _charset(response: httpx.Response) -> str:
    """What the header says, where Python knows it as an encoding of text."""
    name = response.charset_encoding or "utf-8"
    try:
        b" ".decode(name)
    except (LookupError, UnicodeError):
        return "utf-8"
    return name
