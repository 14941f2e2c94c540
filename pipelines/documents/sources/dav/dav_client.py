"""Requests to a WebDAV server: redirects on its origin alone, waits that it asks for, and its errors as ours."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx

from pipelines.documents.sources.checked_http import (
    USER_AGENT,
    checked_client,
    classified_faults,
    is_untrusted,
    origin_of,
    part_of,
    wanted_wait,
)
from pipelines.documents.sources.dav.multistatus import (
    PROPFIND_BODY,
    BrokenAnswer,
    HrefRefused,
    MultistatusParser,
    Response,
    child_name,
    path_of_segments,
    segments_of,
)
from pipelines.documents.sources.source_port import ItemGone, SourceAway, SourceDependencies, SourceRefused

MOST_REDIRECTS: Final = 3
TRIES: Final = 4
LONGEST_WAIT: Final = 30.0  # seconds that a server may ask for; a longer one is for the next sync
MOST_LISTED: Final = 1 << 26  # bytes of one folder's listing
LISTING_SECONDS: Final = 300.0
BLOCK: Final = 1 << 20
_TIMES: Final = httpx.Timeout(30.0, connect=10.0)
_BUSY: Final = (429, 503)
_RANGE: Final = re.compile(r"bytes (\d{1,19})-")


class CollectionUnlisted(Exception):
    """This folder could not be listed; the server answers, and others may be. `broken`: the fault is the server's."""

    def __init__(self, why: str, *, broken: bool = False) -> None:
        super().__init__(why)
        self.broken = broken


@dataclass(frozen=True, slots=True)
class CollectionListing:
    """A folder itself, and what is in it by name; `refused` says why parts of it are missing."""

    itself: Response
    entries: Mapping[str, Response]
    refused: Sequence[str]


@dataclass(frozen=True, slots=True)
class DavLogin:
    """How requests are signed in: a name and a password, or a token; nothing of both is anonymous."""

    auth: httpx.Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def dav_connections(dependencies: SourceDependencies, login: DavLogin, trust: ssl.SSLContext) -> httpx.AsyncClient:
    """What a `DavClient` speaks through; `trust`: whose certificates are believed."""
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **login.headers}
    return checked_client(dependencies, tls=trust, auth=login.auth, headers=headers, timeout=_TIMES)


class DavClient:
    """One server. Whatever it is asked for lies on its origin: that alone gets the credential."""

    def __init__(
        self, http: httpx.AsyncClient, url: str, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """`http`: see `dav_connections`. `url`: of a folder."""
        self._http, self._origin, self._pause = http, origin_of(url), pause
        self._hosts = frozenset({(urlsplit(url).hostname or "").lower()})

    async def close(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def list_folder(self, segments: Sequence[str]) -> CollectionListing:
        """One level. Raises CollectionUnlisted, SourceRefused, SourceAway."""
        headers = {"Depth": "1", "Content-Type": "application/xml; charset=utf-8"}
        path = path_of_segments(segments, folder=True)
        try:
            async with (
                asyncio.timeout(LISTING_SECONDS),
                self._answer("PROPFIND", path, headers, PROPFIND_BODY) as (answer, where),
            ):
                _check_listed(answer)
                return await self._collect(answer, segments_of(where))
        except TimeoutError as error:
            raise CollectionUnlisted("its listing does not end", broken=True) from error
        except (BrokenAnswer, HrefRefused) as error:
            raise CollectionUnlisted(str(error), broken=True) from error

    async def _collect(self, answer: httpx.Response, folder: Sequence[str]) -> CollectionListing:
        parser, size, itself = MultistatusParser(), 0, None
        entries: dict[str, Response] = {}
        refused: list[str] = []

        def take(found: list[Response]) -> None:
            nonlocal itself
            for one in found:
                try:
                    name = child_name(one.href, folder, self._hosts)
                except HrefRefused as error:
                    refused.append(f"it names {error}")
                    continue
                if name is None:
                    itself = one
                else:
                    entries[name] = one

        async for block in answer.aiter_raw(1 << 16):
            size += len(block)
            if size > MOST_LISTED:
                raise BrokenAnswer("its listing does not end")
            take(parser.feed(block))
        take(parser.close())
        if itself is None:
            raise BrokenAnswer("its listing does not name the folder itself")
        return CollectionListing(itself, entries, refused[:10])

    async def read(
        self, segments: Sequence[str], headers: Mapping[str, str], start: int, length: int | None
    ) -> AsyncIterator[bytes]:
        """Bytes of a file. `headers`: conditions. Raises ItemGone, SourceRefused, SourceAway."""
        asked = dict(headers)
        if length == 0:
            return
        if start or length is not None:
            asked["Range"] = f"bytes={start}-" if length is None else f"bytes={start}-{start + length - 1}"
        async with self._answer("GET", path_of_segments(segments), asked) as (answer, _):
            if answer.status_code == 416:
                return
            _check_read(answer, headers.get("If-Match"))
            skip = start
            if answer.status_code == 206:
                first = _RANGE.match(answer.headers.get("content-range", ""))
                if first is None or int(first[1]) != start:
                    raise SourceRefused("the server gives another range than the one that was asked for")
                skip = 0
            async for block in part_of(answer.aiter_raw(BLOCK), skip, length):
                yield block

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> AsyncIterator[tuple[httpx.Response, str]]:
        """An answer and the path that gave it. Errors of the wire are classified, also while the block reads."""
        with classified_faults(self._origin), _named_distrust():
            answer, where = await self._ask(method, path, headers, content)
            try:
                yield answer, where
            finally:
                await answer.aclose()

    async def _ask(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes | None
    ) -> tuple[httpx.Response, str]:
        redirects, tried = 0, 1
        while True:
            request = self._http.build_request(method, self._origin + path, headers=dict(headers), content=content)
            answer = await self._http.send(request, stream=True)
            code = answer.status_code
            if code in (301, 302, 307, 308):
                await answer.aclose()
                redirects += 1
                path = self._next_path(path, answer.headers.get("location", ""), redirects)
            elif code in _BUSY:
                await answer.aclose()
                wait = wanted_wait(answer.headers.get("retry-after"), float(2 ** (tried - 1)))
                if tried == TRIES or wait > LONGEST_WAIT:
                    raise SourceAway(f"the server is busy ({code})")
                tried += 1
                await self._pause(wait)
            elif code == 401:
                await answer.aclose()
                raise SourceRefused("the server does not take the credential (401)")
            else:
                return answer, path

    def _next_path(self, path: str, location: str, redirects: int) -> str:
        try:
            there = urlsplit(urljoin(self._origin + path, location))
        except ValueError as error:
            raise SourceRefused("the server leads to a place that is none") from error
        if not location or origin_of(there.geturl()) != self._origin:
            raise SourceRefused("the server leads to another place, which gets no credential of ours")
        if redirects > MOST_REDIRECTS:
            raise SourceRefused("the server leads on and on")
        try:
            return path_of_segments(segments_of(there.path), folder=there.path.endswith("/"))
        except HrefRefused as error:
            raise SourceRefused(f"the server leads to {error}") from error


def _check_listed(answer: httpx.Response) -> None:
    code = answer.status_code
    if code == 207:
        return
    if code in (502, 504):
        raise SourceAway(f"the server answers {code}")
    why = {
        403: "it may not be listed (403)",
        404: "it is not there (404)",
        405: "it is no folder of WebDAV (405)",
        501: "it is no folder of WebDAV (501)",
    }
    raise CollectionUnlisted(why.get(code, f"the server answers {code}"), broken=code >= 500 and code not in why)


def _check_read(answer: httpx.Response, wanted: str | None) -> None:
    code = answer.status_code
    if code in (404, 410):
        raise ItemGone("it is not there any more")
    if code == 412:
        raise SourceRefused("it was changed since it was listed", fix="The next sync takes it as it is then.")
    if code >= 500:
        raise SourceAway(f"the server answers {code}")
    if code not in (200, 206):
        raise SourceRefused(f"it may not be read ({code})")
    found = answer.headers.get("etag")
    if wanted and found and not found.startswith("W/") and _plain_tag(found) != _plain_tag(wanted):
        raise SourceRefused("it was changed since it was listed", fix="The next sync takes it as it is then.")
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise SourceRefused("the server packs what was asked for as it is")


def _plain_tag(tag: str) -> str:
    """Apache marks what it packs."""
    return tag.strip().strip('"').removesuffix("-gzip").removesuffix(";gzip")


@contextmanager
def _named_distrust() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        if not is_untrusted(error):
            raise
        raise SourceRefused(
            "the server's certificate is not trusted",
            fix="Where a private authority has signed it, give its certificate as the setting authority.",
        ) from error
