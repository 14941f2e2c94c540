"""HTTP to a cloud's API: tokens, patience with limits, redirects without the token, errors in our names."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urljoin

import httpx

from pipelines.documents.sources.checked_http import origin_of
from pipelines.documents.sources.cloud.cloud_tokens import CloudTokens, TokenEndpoint
from pipelines.documents.sources.source_port import ItemGone, SourceAway, SourceGround, SourceOpening, SourceRefused

TRIES: Final = 4
LONGEST_WAIT: Final = 60.0  # seconds that a service may ask for; with more it counts as away
MOST_JSON: Final = 64 << 20  # bytes of one page of a listing
MOST_REDIRECTS: Final = 3
TIMEOUT: Final = httpx.Timeout(60.0, connect=20.0)
_BUSY: Final = (429, 500, 502, 503, 504)
_LIMITS: Final = ("rateLimitExceeded", "userRateLimitExceeded")  # which Google tells by 403


class CursorExpired(Exception):
    """The service has forgotten where a listing left off: everything is listed again."""


class CloudClient:
    """Calls below one base URL. Raises SourceRefused, SourceAway, ItemGone, CursorExpired."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        base: str,
        tokens: CloudTokens,
        check: Callable[[str], Awaitable[str]],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`base` was checked; `check` gives the URL to use for any other host's."""
        self._http, self._base, self._tokens, self._check = http, base.rstrip("/"), tokens, check
        self._pause = pause

    async def get(
        self, path: str, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """A JSON answer; `path` may be a link of an answer before."""
        return await self._json("GET", path, params=params, headers=dict(headers or {}))

    async def post(self, path: str, body: Any) -> Any:
        """A JSON answer to a JSON body."""
        return await self._json("POST", path, json=body)

    async def read(
        self, path: str, start: int, length: int | None, *, method: str = "GET", **how: Any
    ) -> AsyncIterator[bytes]:
        """Bytes of a file from `start` on, at most `length`."""
        headers = dict(how.pop("headers", {}))
        if start or length is not None:
            headers["Range"] = f"bytes={start}-" if length is None else f"bytes={start}-{start + length - 1}"
        async with self._answer(method, path, headers=headers, **how) as answer:
            skip = start if answer.status_code == 200 else 0  # it knows no ranges
            left = length
            async for block in answer.aiter_bytes(1 << 20):
                taken = block[skip:]
                skip = max(0, skip - len(block))
                if left is not None:
                    taken, left = taken[:left], left - len(taken[:left])
                if taken:
                    yield taken
                if left == 0:
                    return

    async def at_other_base(self, base: str) -> "CloudClient":
        """The same connections and token below another base URL; whoever closes one closes both."""
        return CloudClient(self._http, await self._check(base), self._tokens, self._check, self._pause)

    async def close(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _json(self, method: str, path: str, **how: Any) -> Any:
        async with self._answer(method, path, **how) as answer:
            body = bytearray()
            try:
                async for block in answer.aiter_bytes():
                    body += block
                    if len(body) > MOST_JSON:
                        raise SourceAway(f"{_shown(path)} does not end its answer")
                return json.loads(body)
            except ValueError as error:
                raise SourceAway(f"{_shown(path)} answers with no JSON") from error

    @asynccontextmanager
    async def _answer(self, method: str, path: str, **how: Any) -> AsyncIterator[httpx.Response]:
        """An answer of 2xx. Foreign errors of the block, while its bytes are read, are classified, too."""
        try:
            answer = await self._ask(method, self._url_of(path), **how)
            try:
                yield answer
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise SourceAway(f"{_shown(path)}: {type(error).__name__}") from error

    async def _ask(self, method: str, url: str, **how: Any) -> httpx.Response:
        renewed = False
        for tried in range(1, TRIES + 1):
            answer = await self._send(method, url, **how)
            if answer.is_success:
                return answer
            told = (await answer.aread())[:20_000].decode("utf-8", "replace")
            await answer.aclose()
            if answer.status_code == 401 and not renewed and self._tokens.is_renewable():
                renewed = True
                continue
            is_busy = answer.status_code in _BUSY or any(word in told for word in _LIMITS)
            wait = _wanted_wait(answer, tried)
            if not is_busy or tried == TRIES or wait > LONGEST_WAIT:
                raise _error_of(answer.status_code, _shown(url), told, is_busy=is_busy)
            await self._pause(wait)
        raise SourceAway(f"{_shown(url)} refuses every token")

    async def _send(self, method: str, url: str, **how: Any) -> httpx.Response:
        """With the token to the service itself; where that leads elsewhere, without."""
        headers = {"Authorization": f"Bearer {await self._tokens.current()}", **how.pop("headers", {})}
        for _ in range(MOST_REDIRECTS + 1):
            request = self._http.build_request(method, url, headers=headers, **how)
            answer = await self._http.send(request, stream=True)
            if not answer.is_redirect:
                return answer
            await answer.aclose()
            there = urljoin(url, answer.headers["location"])
            if url.startswith("https://") and not there.startswith("https://"):
                raise SourceRefused("the service leads to a place without TLS")
            if origin_of(there) != origin_of(url):
                headers = {name: value for name, value in headers.items() if name != "Authorization"}
            url, method, how = await self._check(there), "GET", {}
        raise SourceAway(f"{_shown(url)} leads on and on")

    def _url_of(self, path: str) -> str:
        if not path.startswith(("http://", "https://")):
            return f"{self._base}/{path.lstrip('/')}"
        if origin_of(path) != origin_of(self._base):
            raise SourceAway("the service continues its listing at another host")
        return path


async def open_cloud(opening: SourceOpening, ground: SourceGround, base: str, tokens: TokenEndpoint) -> CloudClient:
    """A client of a cloud's API; settings `endpoint` and `token_url` name others than `base` and that of `tokens`.

    It follows no redirect by itself, and reads no proxy or certificate from the environment. Raises SourceInvalid: the
    credential gives no token; and what the ground raises.
    """
    settings = opening.settings
    base = await ground.check_endpoint(str(settings.get("endpoint") or base))
    tokens = replace(tokens, url=str(settings.get("token_url") or tokens.url))
    http = httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=False, trust_env=False)
    return CloudClient(
        http, base, CloudTokens(http, opening.secret, tokens, ground.check_endpoint), ground.check_endpoint
    )


def _shown(url: str) -> str:
    """Without its query: links of listings and downloads are keys."""
    return url.partition("?")[0][:200]


def _wanted_wait(answer: httpx.Response, tried: int) -> float:
    try:
        return max(0.0, float(answer.headers.get("retry-after", "")))
    except ValueError:  # none, or a date
        return float(2 ** (tried - 1))


def _error_of(status: int, what: str, told: str, *, is_busy: bool) -> Exception:
    if is_busy:
        return SourceAway(f"{what} answers {status}")
    if status == 410 or (status == 409 and "reset" in told):
        return CursorExpired(what)
    if status == 404 or (status == 409 and "not_found" in told):
        return ItemGone(what)
    return SourceRefused(f"{what} answers {status}")
