"""Asks one site: as often as it may be asked, only at the address that was checked, and never more than a bound."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import httpx
from protego import Protego

from pipelines.documents.sources.checked_http import (
    NETWORK_ERRORS,
    USER_AGENT,
    network_fault,
    origin_of,
    read_whole,
    wanted_wait,
)
from pipelines.documents.sources.site.site_urls import normal_url
from pipelines.documents.sources.source_port import SourceAway, SourceInvalid, SourceRefused

FILE_BYTES: Final = 64 << 20
_ROBOTS_BYTES: Final = 512 << 10  # RFC 9309 asks for 500 KiB at least
_ERROR_BYTES: Final = 1 << 16
_ANSWER_SECONDS: Final = 120.0
_LONGEST_DELAY: Final = 60.0
_TRIES: Final = 3
_ACCEPT: Final = "text/html,application/xhtml+xml,*/*;q=0.8"


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """What the site said to one request. `status` 0: nothing; `body` is None where it was too large."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = b""
    why: str = ""

    @property
    def failed(self) -> bool:
        """True where it says nothing of the page: a server in trouble, or none."""
        return self.status == 0 or self.status == 429 or self.status >= 500

    def header(self, name: str) -> str:
        """One header; empty where there is none."""
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class SiteRobots:
    """What robots.txt says to us."""

    rules: Protego
    text: str

    def allows(self, url: str) -> bool:
        """True for a URL that may be asked for."""
        return bool(self.rules.can_fetch(url, USER_AGENT))

    @property
    def delay(self) -> float:
        """Seconds between requests."""
        delay = float(self.rules.crawl_delay(USER_AGENT) or 0)
        rate = self.rules.request_rate(USER_AGENT)
        return max(delay, rate.seconds / rate.requests if rate is not None and rate.requests else 0)


class SiteClient:
    """One connection's worth: requests follow each other, whoever asks."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        origin: str,
        rate: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`http` is a `checked_client`. `rate`: requests a second, at most."""
        self._http, self._origin, self._gap, self._next = http, origin, 1 / rate, 0.0
        self._turn, self._sleep = asyncio.Lock(), sleep

    async def close(self) -> None:
        """Give connections back."""
        await self._http.aclose()

    async def get(self, url: str, headers: Mapping[str, str] | None = None, most: int = FILE_BYTES) -> SiteAnswer:
        """One answer; redirects are answers, too. A site in trouble is asked again twice, when it says or soon."""
        answer = SiteAnswer(0)
        for attempt in range(_TRIES):
            async with self._turn:
                await self._sleep(max(0.0, self._next - time.monotonic()))
                self._next = time.monotonic() + self._gap
            answer = await self._ask(url, headers or {}, most)
            if not answer.failed or attempt == _TRIES - 1:
                break
            wait = wanted_wait(answer.header("retry-after"), self._gap)
            if wait > _LONGEST_DELAY:
                break
            self._next = max(self._next, time.monotonic() + wait)
        return answer

    async def robots(self) -> SiteRobots:
        """Take robots.txt, and be no faster than it says.

        Raises SourceAway: it cannot be had now, which means that nothing may be asked (RFC 9309); SourceRefused: it
        wants so long a pause that nothing would come of it.
        """
        url: str | None = f"{self._origin}/robots.txt"
        answer = SiteAnswer(0)
        for _ in range(5):
            answer = await self.get(url or "", most=_ROBOTS_BYTES)
            if not 300 <= answer.status < 400:
                break
            url = normal_url(answer.header("location"), url or "")
            if url is None or origin_of(url) != self._origin:
                break
        if answer.failed:
            raise SourceAway(f"{self._origin}/robots.txt: {answer.why or f'the site answers {answer.status}'}")
        text = (answer.body or b"").decode("utf-8", "replace") if answer.status == 200 else ""
        robots = SiteRobots(Protego.parse(text), text)
        if robots.delay > _LONGEST_DELAY:
            raise SourceRefused(f"robots.txt asks for {robots.delay:g} s between two requests")
        self._gap = max(self._gap, robots.delay)
        return robots

    async def _ask(self, url: str, headers: Mapping[str, str], most: int) -> SiteAnswer:
        if origin_of(url) != self._origin:
            raise SourceInvalid(f"{url} lies elsewhere")  # and gets no password of this site
        try:
            request = self._http.build_request("GET", url, headers={**headers, "Accept": _ACCEPT})
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer = await self._http.send(request, stream=True)
                try:
                    # Whoever wants cookies back wants to know who we are: each request stands for itself.
                    self._http.cookies.clear()
                    found = {name.lower(): value for name, value in answer.headers.items()}
                    body = await read_whole(answer, most if answer.status_code == 200 else _ERROR_BYTES)
                    return SiteAnswer(answer.status_code, found, body)
                finally:
                    await answer.aclose()
        except SourceAway as error:  # of this one answer
            return SiteAnswer(0, why=str(error))
        except NETWORK_ERRORS as error:
            fault = network_fault(error, self._origin)
            if isinstance(fault, SourceRefused) and not isinstance(error, httpx.InvalidURL):
                raise fault from error
            return SiteAnswer(0, why=str(network_fault(error, "it")))
