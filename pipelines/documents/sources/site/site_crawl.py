"""A crawl of one site: each URL once, what is known first; nothing is gone but what the site itself says is gone."""

import asyncio
import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from pipelines.documents.sources.site.html_page import HtmlPage, decode_html, parse_html
from pipelines.documents.sources.site.page_memory import PageMemory, PageState
from pipelines.documents.sources.site.site_client import FILE_BYTES, SiteAnswer, SiteClient, SiteRobots
from pipelines.documents.sources.site.site_urls import SiteScope, is_file_url, is_trap, normal_url, path_of
from pipelines.documents.sources.source_port import ListingFault, SourceAway, SourceItem, SourceRefused

_HTML: Final = ("text/html", "application/xhtml+xml")
_FILE_TYPES: Final = (
    *("application/pdf", "application/msword", "application/rtf", "application/epub", "application/vnd.ms-"),
    *(
        "application/vnd.openxmlformats",
        "application/vnd.oasis.opendocument",
        "text/plain",
        "text/markdown",
        "text/csv",
    ),
)
_ALIKE: Final = 5  # pages that say the same: they are no pages of their own, but a wall
_CANONICAL: Final = 10  # paths that name one canonical URL: whoever wrote that did not mean it
_FAILURES: Final = 10  # one after another: the site is away
_QUERIES: Final = 200  # of one path: a calendar, a search
_TRUSTED_DAYS: Final = 7  # so long a sitemap's `lastmod` stands for the page


@dataclass(frozen=True, slots=True)
class CrawlBounds:
    """How far a crawl goes: `pages` it asks for, links from a start that it follows, and today, as days from 1970."""

    pages: int
    depth: int
    today: int


@dataclass
class _Told:
    """What was passed over, by kind with how often and the first one."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, why: str, url: str) -> None:
        self.counts[why] += 1
        self.first.setdefault(why, url)

    def notes(self) -> list[ListingFault]:
        return [
            ListingFault(self.first[why], why if count == 1 else f"{why} (and {count - 1} more)")
            for why, count in self.counts.items()
        ]


class SiteCrawl:
    """One crawl. `results` is what the next one is to remember; it is whole when `run` has ended."""

    def __init__(
        self,
        client: SiteClient,
        scope: SiteScope,
        robots: SiteRobots,
        bounds: CrawlBounds,
        known: Mapping[str, PageMemory],
        keep: Callable[[str, bytes], None],
    ) -> None:
        """`known`: of the crawl before; `keep` is given bytes that came, under their digest."""
        self._client, self._scope, self._robots, self._bounds = client, scope, robots, bounds
        self._known, self._keep = known, keep
        self._queue: list[tuple[int, int, int, str]] = []
        self._referrer: dict[str, str] = {}
        self._lastmod: dict[str, str] = {}
        self._queued: set[str] = set()
        self._queries: Counter[str] = Counter()
        self._links: dict[str, frozenset[str]] = {}
        self._shapes: dict[str, list[str]] = defaultdict(list)
        self._held: dict[str, PageMemory] = {}
        self._redirects: dict[str, list[str]] = defaultdict(list)
        self._missing_shapes: set[str] = set()
        self._said_missing: list[PageMemory] = []
        self._failures = 0
        self._told = _Told()
        self.results: dict[str, PageMemory] = {}
        self.faults: list[ListingFault] = []

    @property
    def notes(self) -> list[ListingFault]:
        """What was passed over."""
        return self._told.notes()

    async def run(self, starts: list[str], sitemap: Mapping[str, str]) -> AsyncIterator[SourceItem]:
        """Items, as they are found and at the end. Raises SourceAway, SourceRefused."""
        self._lastmod = dict(sitemap)
        await self._probe_missing()
        for url in starts:
            self._push(url, 0, "", first=True)
        for one in self._known.values():
            there = one.state is not PageState.ABSENT or one.other in self._known
            if there and self._scope.is_wanted(one.url):
                self._push(one.url, one.depth, one.other, first=True)
        for url in sitemap:
            self._push(url, 1, "")
        asked = 0
        while self._queue:
            _, depth, _, url = heapq.heappop(self._queue)
            if asked >= self._bounds.pages:
                self._told.add(f"more than {self._bounds.pages} pages: the rest is not read", url)
                break
            asked += 1
            if (item := await self._visit(url, depth, is_start=url in starts)) is not None:
                yield _item_of(item)
        for one in self._settle():
            yield _item_of(one)
        self._forget_absent()

    def _push(self, url: str, depth: int, referrer: str, *, first: bool = False) -> None:
        if url in self._queued:
            return
        known = url in self._known
        if not known and (reason := self._trap(url, depth)):
            self._told.add(reason, url)
            return
        self._queued.add(url)
        self._referrer[url] = referrer
        heapq.heappush(self._queue, (0 if first or known else 1, depth, len(self._queued), url))

    def _trap(self, url: str, depth: int) -> str:
        path, _, query = url.partition("?")
        if depth > self._bounds.depth:
            return f"more than {self._bounds.depth} links from a start"
        if is_trap(url):
            return "its path goes round in circles"
        self._queries[path] += bool(query)
        return f"more than {_QUERIES} queries of one page" if self._queries[path] > _QUERIES else ""

    async def _probe_missing(self) -> None:
        """What the site says where nothing is: one that says it with status 200 would have a page for each mistake."""
        for number in (1, 2):
            url = f"{self._scope.origin}{self._scope.prefixes[0].rstrip('/')}/aos-there-is-no-such-page-{number}"
            if not self._robots.allows(url):
                return
            answer = await self._client.get(url)
            if answer.status == 200 and answer.body and _kind_of(answer) in _HTML:
                page = await asyncio.to_thread(parse_html, answer.body, url)
                self._missing_shapes.add(page.shape)

    async def _visit(self, url: str, depth: int, *, is_start: bool) -> PageMemory | None:
        """Ask for one URL; an item that is certain already."""
        known = self._known.get(url)
        if not self._robots.allows(url):
            if is_start:
                raise SourceRefused(f"robots.txt does not let us read {url}")
            self._told.add("robots.txt does not let us read it", url)
            return None
        if known is not None and self._is_fresh(known):
            return self._stay(known)
        headers = {}
        if known is not None and (known.is_item or known.state in (PageState.ALIAS, PageState.PASSED)):
            told = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
            # Others cannot be sent.
            headers = {name: value for name, value in told.items() if value and value.isascii()}
        answer = await self._client.get(url, headers)
        self._failures = self._failures + 1 if answer.failed else 0
        if self._failures >= _FAILURES or (answer.failed and is_start):
            raise SourceAway(f"{url}: {answer.why or f'the site answers {answer.status}'}")
        if answer.status == 304 and known is not None:
            seen, lastmod = self._bounds.today, self._lastmod.get(url, "")
            return self._stay(replace(known, seen=seen, lastmod=lastmod))
        if answer.status == 200:
            return await self._take(url, depth, answer)
        if is_start:
            self._refuse_start(url, answer)
        return self._miss(url, depth, answer)

    def _is_fresh(self, known: PageMemory) -> bool:
        """True where the sitemap says that it is as it was: for some days, and not for the day on which it was read."""
        told = self._lastmod.get(known.url, "")
        if not known.is_item or not told or told != known.lastmod:
            return False
        try:
            day = (date.fromisoformat(told[:10]) - date(1970, 1, 1)).days
        except ValueError:
            return False
        return day < known.seen and self._bounds.today < known.seen + _TRUSTED_DAYS

    def _stay(self, known: PageMemory) -> PageMemory | None:
        self.results[known.url] = known
        if known.state is PageState.ALIAS:
            self._held[known.url] = known
            self._push(known.other, known.depth, known.url)
        return known if known.is_item else None

    def _refuse_start(self, url: str, answer: SiteAnswer) -> None:
        target = normal_url(answer.header("location"), url) if 300 <= answer.status < 400 else None
        if target is not None and self._scope.holds(target):
            return
        if answer.status in (401, 403):
            raise SourceRefused(f"{url}: access was refused ({answer.status})")
        where = f": it leads to {urlsplit(target).netloc}, and is not followed there" if target else ""
        raise SourceRefused(f"{url}: the site answers {answer.status}{where}", fix="Give the URL at which it lies.")

    def _miss(self, url: str, depth: int, answer: SiteAnswer) -> PageMemory | None:
        """No page came. One that was there is gone only where the site says so."""
        known = self._known.get(url)
        was_item = known is not None and known.is_item
        self.results[url] = PageMemory(url, PageState.ABSENT, depth, other=self._referrer.get(url, ""))
        if answer.status in (404, 410):
            return None
        target = normal_url(answer.header("location"), url) if 300 <= answer.status < 400 else None
        if target is not None and self._scope.is_wanted(target):
            self._push(target, depth, url)
            if was_item:
                self._redirects[target.partition("?")[0]].append(url)
            return None
        why = answer.why or f"the site answers {answer.status}"
        why = "it leads out of the site" if target is not None else why
        if known is not None and was_item:
            return self._keep_known(known, why)
        self._told.add(why, url)
        return None

    def _keep_known(self, known: PageMemory, why: str) -> PageMemory:
        """A fault: it stays as it was, and is asked again without conditions."""
        self.faults.append(ListingFault(known.url, why))
        self.results[known.url] = replace(known, etag="", modified="", lastmod="")
        return known

    async def _take(self, url: str, depth: int, answer: SiteAnswer) -> PageMemory | None:
        known, kind = self._known.get(url), _kind_of(answer)
        if answer.body is None:
            why = f"it has more than {FILE_BYTES} bytes"
            if known is not None and known.is_item:
                return self._keep_known(known, why)
            self._told.add(why, url)
            return None
        fresh = PageMemory(
            url,
            PageState.FILE,
            depth,
            etag=answer.header("etag"),
            modified=answer.header("last-modified"),
            size=len(answer.body),
            seen=self._bounds.today,
            lastmod=self._lastmod.get(url, ""),
            other=self._referrer.get(url, ""),
        )
        if kind not in _HTML:
            if not answer.body or not (kind.startswith(_FILE_TYPES) or is_file_url(url)):
                self.results[url] = replace(fresh, state=PageState.PASSED)
                return None
            fresh = replace(fresh, digest=hashlib.sha256(answer.body).hexdigest()[:32])
            self.results[url] = fresh
            await asyncio.to_thread(self._keep, fresh.digest, answer.body)
            return fresh
        body = await asyncio.to_thread(decode_html, answer.body, answer.header("content-type"))
        page = await asyncio.to_thread(parse_html, body, url, answer.header("x-robots-tag"))
        return await self._take_page(
            replace(fresh, state=PageState.PAGE, digest=page.digest, size=len(body)), page, body
        )

    async def _take_page(self, fresh: PageMemory, page: HtmlPage, body: bytes) -> PageMemory | None:
        url, known = fresh.url, self._known.get(fresh.url)
        if page.shape in self._missing_shapes:
            self._told.add("it says what the site says where nothing is", url)
            self.results[url] = PageMemory(url, PageState.ABSENT, fresh.depth, other=self._referrer.get(url, ""))
            if known is not None and known.is_item:
                self._said_missing.append(known)
            return None
        self._links[url] = frozenset(page.links)
        for link in page.links:
            if self._scope.is_wanted(link):
                self._push(link, fresh.depth + 1, url)
        if not page.is_indexed or not page.words:
            self.results[url] = replace(fresh, state=PageState.PASSED, digest="")
            return None
        await asyncio.to_thread(self._keep, fresh.digest, body)
        self.results[url] = fresh
        if page.canonical not in (None, url) and self._scope.is_wanted(page.canonical or ""):
            self.results[url] = self._held[url] = replace(fresh, state=PageState.ALIAS, other=page.canonical or "")
            self._push(page.canonical or "", fresh.depth, url)
            return None
        alike = self._shapes[page.shape]
        alike.append(url)
        if known is not None and known.is_item and known.digest == fresh.digest:
            return fresh
        if len(alike) > 1 or (known is not None and known.is_item):
            self._held[url] = fresh
            return None
        return fresh

    def _settle(self) -> Iterator[PageMemory]:
        """What could only be told at the end: walls, canonical URLs, and where redirects lead."""
        for urls in self._shapes.values():
            if len(urls) >= _ALIKE:
                yield from self._pass_wall(urls)
        here = sum(one.is_item for one in self._known.values())
        if len(self._said_missing) >= max(_ALIKE, here / 5):  # not so many at once: a notice in place of the site
            for one in self._said_missing:
                yield self._keep_known(one, "it says what the site says where nothing is, as others do")
        for target, urls in self._redirects.items():
            if len(urls) >= _ALIKE:
                for url in urls:
                    yield self._keep_known(self._known[url], f"it leads to {target} as {len(urls) - 1} others do")
        named: dict[str, set[str]] = defaultdict(set)
        for one in self._held.values():
            if one.state is PageState.ALIAS:
                named[one.other].add(one.url.partition("?")[0])
        taken: dict[str, str] = {}
        for url, one in sorted(self._held.items()):
            if one.state is PageState.ALIAS:
                if len(named[one.other]) > _CANONICAL:
                    self._told.add(f"{len(named[one.other])} pages name one canonical URL: it does not count", url)
                elif self._is_listed(one.other) or taken.setdefault(one.other, url) != url:
                    continue
                one = replace(one, state=PageState.PAGE, etag="", modified="")
                self.results[url] = one
            yield one

    def _is_listed(self, url: str) -> bool:
        there = self.results.get(url)
        return there is not None and there.is_item

    def _pass_wall(self, urls: list[str]) -> Iterator[PageMemory]:
        """Many pages that say the same say nothing: a login, an error, a notice. What they were before stays."""
        self._told.add(f"{len(urls)} pages say the same: a login or a notice, and no page of its own", urls[0])
        for url in urls:
            self._held.pop(url, None)
            known = self._known.get(url)
            if known is not None and known.is_item and known.digest == self.results[url].digest:
                continue
            if known is not None and known.is_item:
                yield self._keep_known(known, f"it says the same as {len(urls) - 1} others")
            elif url != urls[0]:
                self.results[url] = replace(self.results[url], state=PageState.PASSED, etag="", modified="", digest="")

    def _forget_absent(self) -> None:
        """What is not there is asked for again only while a page links it."""
        for url, one in list(self.results.items()):
            if one.state is not PageState.ABSENT:
                continue
            linking = self.results.get(one.other)
            there = linking is not None and linking.state is not PageState.ABSENT
            if not there or url not in self._links.get(one.other, frozenset([url])):
                del self.results[url]


def _kind_of(answer: SiteAnswer) -> str:
    return answer.header("content-type").partition(";")[0].strip().lower()


def _item_of(one: PageMemory) -> SourceItem:
    path = path_of(one.url, is_page=one.state is PageState.PAGE)
    return SourceItem(one.url, one.digest, path, one.size, one.digest)
