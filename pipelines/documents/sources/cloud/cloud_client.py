"""HTTP to a cloud's API: tokens, patience with limits, redirects without the token, errors in our names."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Final, Protocol

import httpx

from cluster.basics.cleanup import async_cleanup_on_error
from pipelines.documents.sources.checked_http import (
    checked_client,
    classified_faults,
    origin_of,
    part_headers,
    read_part,
    read_whole,
    send_checked,
    shown_url,
    wanted_wait,
)
from pipelines.documents.sources.cloud.cloud_answers import load_object
from pipelines.documents.sources.cloud.cloud_tokens import CloudTokens, TokenEndpoint
from pipelines.documents.sources.source_port import (
    ItemGone,
    SourceAway,
    SourceDependencies,
    SourceOpening,
    SourceRefused,
)

TRIES: Final = 4
LONGEST_WAIT: Final = 60.0  # seconds that a service may ask for; with more it counts as away
ANSWER_SECONDS: Final = 300.0  # for one page of a listing
MOST_JSON: Final = 32 << 20  # bytes of one page of a listing
TIMEOUT: Final = httpx.Timeout(60.0, connect=20.0)
_ERROR_BYTES: Final = 64 * 1024
_BUSY: Final = (429, 500, 502, 503, 504)
_LIMITS: Final = ("rateLimitExceeded", "userRateLimitExceeded")  # which Google tells by 403


class CursorExpired(SourceAway):
    """The service has forgotten where a listing left off: everything is listed again."""


@contextmanager
def listing_faults(who: str) -> Iterator[None]:
    """As `classified_faults`; a place that is not there cannot be listed. Raises SourceAway, SourceRefused."""
    try:
        with classified_faults(who):
            yield
    except ItemGone as error:
        raise SourceRefused(f"{who} knows no such place: {error.detail}") from error


class CloudKeys(Protocol):
    """What a service knows us by."""

    async def headers(self) -> Mapping[str, str]:
        """Sent to the service's own host alone. Raises SourceRefused, SourceAway."""

    def is_renewable(self) -> bool:
        """True where what was refused is worth asking for anew; that is done once."""


class CloudClient:
    """Calls below one base URL. Raises SourceRefused, SourceAway, ItemGone, CursorExpired, and nothing else."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        base: str,
        keys: CloudKeys,
        check: Callable[[str], Awaitable[str]],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`http` is a `checked_client`; `check` raises where a base URL may not be connected to."""
        self._http, self._base, self._keys, self._check = http, base.rstrip("/"), keys, check
        self._pause = pause

    async def get(
        self, path: str, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        """A JSON answer; `path` may be a link of an answer before."""
        return await self._json("GET", path, params=params, headers=dict(headers or {}))

    async def post(self, path: str, body: Any) -> Mapping[str, Any]:
        """A JSON answer to a JSON body."""
        return await self._json("POST", path, json=body)

    async def read(
        self, path: str, start: int, length: int | None, *, method: str = "GET", **how: Any
    ) -> AsyncIterator[bytes]:
        """Bytes of a file from `start` on, at most `length`."""
        headers = {**how.pop("headers", {}), **part_headers(start, length)}
        try:
            async with self._answer(method, path, may=(416,), headers=headers, **how) as answer:
                async for block in read_part(answer, start, length):
                    yield block
        except CursorExpired as error:  # 410 of a file
            raise ItemGone(shown_url(path)) from error

    async def rest(self, told: str | None, tried: int) -> bool:
        """Wait as a part of an answer asks for by its `Retry-After`; False where it is not worth another try."""
        wait = wanted_wait(told, float(2 ** (tried - 1)))
        if tried >= TRIES or wait > LONGEST_WAIT:
            return False
        await self._pause(wait)
        return True

    def holds(self, link: str) -> bool:
        """True for a link that lies where the token belongs."""
        return origin_of(link) == origin_of(self._base)

    async def at_other_base(self, base: str) -> "CloudClient":
        """The same connections and token below another base URL; whoever closes one closes both."""
        await self._check(base)
        return CloudClient(self._http, base, self._keys, self._check, self._pause)

    async def close(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _json(self, method: str, path: str, **how: Any) -> Mapping[str, Any]:
        async with self._answer(method, path, **how) as answer, asyncio.timeout(ANSWER_SECONDS):
            body = await read_whole(answer, MOST_JSON)
            if body is None:
                raise SourceAway(f"{shown_url(path)} does not end its answer")
            return load_object(body)

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, may: tuple[int, ...] = (), **how: Any
    ) -> AsyncIterator[httpx.Response]:
        """An answer of 2xx, or what it `may` be. Faults of the block, while bytes are read, are classified, too."""
        with classified_faults(shown_url(path)):
            answer = await self._ask(method, self._url_of(path), may, **how)
            try:
                yield answer
            finally:
                await answer.aclose()

    async def _ask(self, method: str, url: str, may: tuple[int, ...], **how: Any) -> httpx.Response:
        renewed, tried = False, 1
        while True:
            secret = await self._keys.headers()
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await send_checked(self._http, method, url, secret=secret, **how)
            if answer.is_success or answer.status_code in may:
                return answer
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    told = (await read_whole(answer, _ERROR_BYTES) or b"").decode("utf-8", "replace")
            finally:
                await answer.aclose()
            if answer.status_code == 401 and not renewed and self._keys.is_renewable():
                renewed = True
                continue
            is_busy = answer.status_code in _BUSY or any(word in told for word in _LIMITS)
            if not is_busy or not await self.rest(answer.headers.get("retry-after"), tried):
                raise _error_of(answer.status_code, shown_url(url), told, is_busy=is_busy)
            tried += 1

    def _url_of(self, path: str) -> str:
        if not path.startswith(("http://", "https://")):
            return f"{self._base}/{path.lstrip('/')}"
        if not self.holds(path):
            raise SourceAway("the service continues its listing at another host")
        return path


async def open_cloud(
    opening: SourceOpening, dependencies: SourceDependencies, base: str, tokens: TokenEndpoint
) -> CloudClient:
    """A client of a cloud's API; settings `endpoint` and `token_url` name others than `base` and that of `tokens`.

    Every request goes to an address that was checked, those for tokens and those that redirects lead to among them.
    Raises SourceInvalid: the credential gives no token; and what the check of an endpoint raises.
    """
    settings = opening.settings
    base = str(settings.get("endpoint") or base)
    await dependencies.check_endpoint(base)
    tokens = replace(tokens, url=str(settings.get("token_url") or tokens.url))
    http = checked_client(dependencies, timeout=TIMEOUT)
    async with async_cleanup_on_error(http.aclose):
        return CloudClient(http, base, CloudTokens(http, opening.secret, tokens), dependencies.check_endpoint)


def _error_of(status: int, what: str, told: str, *, is_busy: bool) -> Exception:
    if is_busy:
        return SourceAway(f"{what} answers {status}")
    if status == 410 or (status == 409 and "reset" in told):
        return CursorExpired(f"{what} answers {status}")
    if status == 404 or (status == 409 and "not_found" in told):
        return ItemGone(what)
    return SourceRefused(f"{what} answers {status}")
