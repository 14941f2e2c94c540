"""A web site as a source: pages and documents below its start URLs; known ones are only asked whether they changed."""

import asyncio
import hashlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pipelines.documents.sources.checked_http import checked_client, classified_faults, origin_of
from pipelines.documents.sources.site.html_page import decode_html
from pipelines.documents.sources.site.page_memory import pack_memory, unpack_memory
from pipelines.documents.sources.site.site_client import SiteAnswer, SiteClient, SiteRobots
from pipelines.documents.sources.site.site_crawl import CrawlBounds, SiteCrawl
from pipelines.documents.sources.site.site_urls import SiteScope, normal_url, prefix_of
from pipelines.documents.sources.site.sitemaps import read_sitemaps
from pipelines.documents.sources.source_cache import CachePlace, cache_place
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_BATCH: Final = 10
_BLOCK: Final = 1 << 20
_KEPT_SECONDS: Final = 2 * 86_400
_RATE: Final = 2.0
_MOST_PAGES: Final = 20_000


@dataclass(frozen=True, slots=True)
class SiteBodies:
    """Bytes that a crawl has read, until the job that began it has taken them: nobody is asked twice."""

    place: CachePlace

    def begin(self) -> None:
        """Drop what nobody came for, and of too many bytes those that came first."""
        with self.place.locked(alone=True) as folder:
            kept = sorted((entry.stat().st_mtime, entry.path, entry.stat().st_size) for entry in os.scandir(folder))
            too_much, oldest = sum(size for _, _, size in kept) - self.place.most_bytes, time.time() - _KEPT_SECONDS
            for came_at, path, size in kept:
                if came_at >= oldest and too_much <= 0:
                    return
                Path(path).unlink()
                too_much -= size

    def keep(self, digest: str, body: bytes) -> None:
        """Whole or not at all; not where the disk has no room."""
        with suppress(OSError), self.place.locked(alone=False) as folder:
            if (folder / digest).exists():
                os.utime(folder / digest)
                return
            with tempfile.NamedTemporaryFile(dir=folder, prefix="new-", delete=False) as file:
                try:
                    file.write(body)
                    file.flush()
                    Path(file.name).replace(folder / digest)
                except OSError:
                    Path(file.name).unlink(missing_ok=True)
                    raise

    def find(self, digest: str) -> bytes | None:
        """None where it has gone."""
        with self.place.locked(alone=False) as folder:
            try:
                return (folder / digest).read_bytes()
            except OSError:
                return None


class WebSource:
    """Ids are URLs in one spelling. A page that was moved says the same, and so is the same document."""

    def __init__(
        self, client: SiteClient, scope: SiteScope, starts: list[str], bounds: CrawlBounds, bodies: SiteBodies
    ) -> None:
        """`starts` lie within `scope`."""
        self._client, self._scope, self._starts = client, scope, starts
        self._bounds, self._bodies = bounds, bodies
        self._robots: SiteRobots | None = None

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """Everything there is; pages that are known are only asked whether they have changed."""
        await asyncio.to_thread(self._bodies.begin)
        with classified_faults(self._scope.origin):
            robots = await self._rules()
            yield ListingPage(cursor=cursor)  # it answers
            sitemap, notes = await read_sitemaps(self._client, self._scope, list(robots.rules.sitemaps))
            signature = self._signature(robots)
            before, known = unpack_memory(cursor)
            if before != signature:  # what was not followed then may be now: each page is read for its links again
                known = {url: replace(one, etag="", modified="", lastmod="") for url, one in known.items()}
            crawl = SiteCrawl(self._client, self._scope, robots, self._bounds, known, self._bodies.keep)
            batch: list[SourceItem] = []
            async for item in crawl.run(self._starts, sitemap):
                batch.append(item)
                if len(batch) >= _BATCH:
                    yield ListingPage(batch, cursor=cursor)
                    batch = []
            await asyncio.to_thread(self._bodies.place.trim)
            memory = pack_memory(signature, crawl.results.values())
            yield ListingPage(batch, faults=crawl.faults, notes=[*notes, *crawl.notes], cursor=memory)

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        body = await asyncio.to_thread(self._bodies.find, item.version)
        if body is None:
            with classified_faults(item.id):
                await self._rules()
                body = await self._fetch(item)
        end = len(body) if length is None else min(len(body), start + length)
        for place in range(start, end, _BLOCK):
            yield body[place : min(end, place + _BLOCK)]

    def local_path(self, item: SourceItem) -> None:
        """None: it is fetched."""

    async def close(self) -> None:
        """Give connections back."""
        await self._client.close()
        self._bodies.place.close()

    async def _rules(self) -> SiteRobots:
        if self._robots is None:
            self._robots = await self._client.robots()
        return self._robots

    async def _fetch(self, item: SourceItem) -> bytes:
        answer = await self._client.get(item.id)
        if answer.status in (404, 410):
            raise ItemGone(item.path)
        if answer.failed:
            raise SourceAway(f"{item.id}: {answer.why or f'the site answers {answer.status}'}")
        if answer.status != 200 or answer.body is None:
            raise SourceRefused(f"{item.id}: the site answers {answer.status}")
        return _decoded(answer, answer.body)

    def _signature(self, robots: SiteRobots) -> str:
        told = repr((self._starts, self._scope, self._bounds.pages, self._bounds.depth, robots.text))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _decoded(answer: SiteAnswer, body: bytes) -> bytes:
    kind = answer.header("content-type")
    return decode_html(body, kind) if "html" in kind.lower() else body


async def _open_web(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings, secret = opening.settings, opening.secret
    starts = [normal_url(one) for one in settings["url"].split()]
    if not starts or None in starts:
        raise SourceInvalid("a start URL is no URL of http or https without a user name")
    urls = [one for one in starts if one is not None]
    origin = origin_of(urls[0])
    prefix = settings.get("prefix")
    if prefix and not prefix.startswith("/"):
        raise SourceInvalid("the prefix is a path that begins with /")
    prefixes = (prefix,) if prefix else tuple(dict.fromkeys(prefix_of(one) for one in urls))
    scope = SiteScope(origin, prefixes, tuple((settings.get("exclude") or "").replace(",", " ").split()))
    if not all(scope.holds(one) for one in urls):
        raise SourceInvalid(
            "the start URLs lie on several hosts, outside the prefix, or are excluded",
            fix="Make a source of each site.",
        )
    pages = int(_number(settings, "max_pages", 2000, 1, _MOST_PAGES))
    depth = int(_number(settings, "max_depth", 10, 0, 50))
    rate = min(_number(settings, "requests_per_second", _RATE, 0.01, 1000), dependencies.bounds.web_rate)
    await dependencies.check_endpoint(urls[0])  # told at once; each connection is checked by itself
    password = secret.get("password") or secret.get("token")
    if secret and not password:
        raise SourceInvalid(
            "the credential has no password", fix="Store one of type custom with username and password."
        )
    auth = (secret.get("username", ""), password) if password else None
    client = SiteClient(checked_client(dependencies, auth=auth), origin, rate)
    bodies = SiteBodies(cache_place(dependencies, opening.place, "web", origin, *prefixes))
    return WebSource(client, scope, urls, CrawlBounds(pages, depth, int(time.time() // 86_400)), bodies)


def _number(settings: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    """Raises SourceInvalid: it is no number, or out of bounds."""
    text = settings.get(name)
    if not text:
        return default
    try:
        number = float(text)
    except ValueError as error:
        raise SourceInvalid(f"{name} is no number") from error
    if not least <= number <= most:
        raise SourceInvalid(f"{name} has to be from {least:g} to {most:g}")
    return number


KIND: Final = SourceKind(
    name="web",
    title="Web site",
    settings={
        "url*": "Where the crawl starts: one URL, or several of one host.",
        "prefix": "Only paths below this one; where none is named, the folder of each start URL.",
        "exclude": "No paths of these patterns, such as /blog/*.",
        "max_pages": "Pages to ask for; 2000 where nothing is named.",
        "max_depth": "Links to follow from a start; 10 where nothing is named.",
        "requests_per_second": "2 where nothing is named; robots.txt may ask for fewer.",
    },
    open=_open_web,
    takes_credential=True,
    listing_reads=True,
)
