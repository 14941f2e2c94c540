"""Web sites as sources, over a real site on loopback: asked politely, read once, and gone only where it says so."""

import gzip
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.scope import Scope
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingPage,
    SourceAway,
    SourceBounds,
    SourceInvalid,
    SourceItem,
    SourceRefused,
)
from pipelines.documents.sync.source_opener import EndpointGuard, EndpointRefused, SourceOpener
from pipelines.documents.sync.source_sync import SyncCutOff
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled
from tests.fakes.shelves import CutLedger, SyncBench, sync_bench, use_sync
from tests.fakes.web_server import WebPage, WebServer, web_server
from tests.postgres.test_s3_source import credential

FAST = SourceBounds(web_rate=1000)


@pytest.fixture
def site() -> Iterator[WebServer]:
    with web_server() as one:
        yield one


@pytest.fixture
def sources(ledger: Bench, scope: Scope, tmp_path: Path) -> SyncBench:
    return sync_bench(ledger, scope, None, allow=("127.0.0.1",), cache=tmp_path / "cache", bounds=FAST)


def settings(site: WebServer, path: str = "/docs/", **more: str) -> dict[str, str]:
    return {"url": f"{site.url}{path}", "requests_per_second": "1000", **more}


def fill(site: WebServer, count: int, start: int = 0) -> None:
    """Pages below an index, each linked by it and by the one before."""
    site.put("/docs/", "All papers.", *(f"p{n}.html" for n in range(count)))
    for n in range(start, count):
        site.put(f"/docs/p{n}.html", f"Paper {n} tells of harbour {n}.", f"p{n + 1}.html" if n + 1 < count else "./")


async def crawl(
    sources: SyncBench, asked: dict[str, str], cursor: str | None = None
) -> tuple[dict[str, SourceItem], list[ListingPage], str | None]:
    """Items by the path of their URL, all pages, and the cursor."""
    opened = await sources.parts.opener.open(sources.scope, "web", asked, None)
    pages = [page async for page in opened.list_changes(cursor)]
    await opened.close()
    items = {item.id.partition("//")[2].partition("/")[2]: item for page in pages for item in page.items}
    return items, pages, pages[-1].cursor


def told(pages: Sequence[ListingPage], kind: str = "notes") -> str:
    return "\n".join(f"{one.path}: {one.why}" for page in pages for one in getattr(page, kind))


async def test_a_site_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, site: WebServer
) -> None:
    fill(site, 199)
    site.put("/elsewhere", "Not below the prefix.")
    site.put("/docs/p0.html", "Paper 0 tells of harbour 0.", "/elsewhere", "http://192.0.2.1/x", "p1.html")
    source = await sources.add("web", settings(site))
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    assert len(site.sent()) == 200, "each once, although all were listed and then read"
    before = await sources.ids()
    ledger.reader.readings.clear()
    for n in range(5):
        site.put(f"/docs/new{n}.html", f"New paper {n}.")
        site.put(f"/docs/p{n}.html", f"Paper {n} tells of another harbour.")
        del site.pages[f"/docs/p{n + 10}.html"]
        site.pages[f"/docs/moved{n}.html"] = site.pages.pop(f"/docs/p{n + 20}.html")
    there = [name.removeprefix("/docs/") for name in site.pages if name.startswith("/docs/") and name != "/docs/"]
    site.put("/docs/", "All papers.", *there)
    counts = await sources.sync(source)
    assert counts == {"listed": 200, "added": 5, "changed": 6, "moved": 5, "unchanged": 184, "removed": 5}
    assert len(site.sent()) == 16, "the index, what is new or changed, and what moved: others say 304"
    assert sum(ledger.reader.readings.values()) == 11
    now = await sources.ids()
    assert {now[f"moved{n}.html"] for n in range(5)} == {before[f"p{n + 20}.html"] for n in range(5)}
    found = await sources.documents("user:x@x")
    assert len(found) == 200 and "another harbour" in found["p0.html"]
    assert await sources.sync(source) == {"listed": 200, "unchanged": 200} and site.sent() == []


async def test_2000_pages_without_validators_are_compared_by_what_they_say(sources: SyncBench, site: WebServer) -> None:
    fill(site, 1999)
    for number, page in enumerate(site.pages.values()):
        page.validators = False
        page.body += f"<script nonce='{number}'>now({number})</script><!-- {number} -->".encode()
    first, _, cursor = await crawl(sources, settings(site))
    assert len(first) == 2000
    for page in site.pages.values():  # another token with each request
        page.body = page.body.replace(b"now(", b"later(")
    site.put("/docs/p7.html", "Paper 7 is another.")
    again, _, _ = await crawl(sources, settings(site), cursor)
    changed = [path for path in again if again[path].version != first[path].version]
    assert changed == ["docs/p7.html"] and len(again) == 2000
    assert cursor is not None and len(cursor) < 200_000, "what is remembered of 2000 pages"


async def test_only_a_page_that_says_that_it_is_gone_is_gone(sources: SyncBench, site: WebServer) -> None:
    fill(site, 30)
    source = await sources.add("web", settings(site))
    await sources.sync(source)
    site.put("/docs/", "All papers.", *(f"p{n}.html" for n in range(2, 30)))  # p0 and p1 are linked by nobody
    site.put("/docs/p29.html", "The last.", "./")
    site.pages["/docs/p2.html"].status = 500
    site.pages["/docs/p3.html"].status = 401
    site.pages["/docs/p4.html"].status = 503
    site.pages["/docs/p5.html"] = WebPage(status=302, headers={"Location": "http://192.0.2.1/login"})
    counts = await sources.sync(source)
    assert counts == {"listed": 31, "changed": 2, "unchanged": 29, "faults": 4}
    assert (await sources.show(source))["last_error"]["code"] == "incomplete"
    for n in (2, 3, 4):
        site.pages[f"/docs/p{n}.html"].status = 200
    site.put("/docs/p5.html", "Paper 5 tells of harbour 5.", "p6.html")
    site.pages["/docs/p1.html"].status = 404
    site.pages["/docs/p2.html"].status = 410
    assert await sources.sync(source) == {"listed": 29, "unchanged": 29, "removed": 2}
    found = await sources.documents("user:x@x")
    assert len(found) == 29 and "p0.html" in found and not found.keys() & {"p1.html", "p2.html"}


async def test_a_site_in_trouble_removes_nothing(
    sources: SyncBench, ledger: Bench, scope: Scope, site: WebServer
) -> None:
    fill(site, 30)
    source = await sources.add("web", settings(site))
    await sources.sync(source)
    robots = "/robots.txt"
    cases: list[tuple[Any, type[Exception] | None, str]] = [
        (lambda path, headers: WebPage(status=500), SyncCutOff, "answers 500"),
        (lambda path, headers: WebPage(status=503) if path == robots else None, SyncCutOff, "robots"),
        (lambda path, headers: WebPage(status=500) if path != robots and "/p" in path else None, SyncCutOff, "500"),
        (lambda path, headers: WebPage(status=401) if path != robots else None, SourceRefused, "access was refused"),
        (
            lambda path, headers: WebPage(status=301, headers={"Location": "https://example.org/"}),
            SourceRefused,
            "example.org",
        ),
        (lambda path, headers: WebPage(b"<p>We will be back soon.</p>"), None, "MANY"),
        (
            lambda path, headers: WebPage(b"User-agent: *\nDisallow: /") if path == robots else None,
            SourceRefused,
            "robots.txt",
        ),
    ]
    for every, kind, words in cases:
        site.every = every
        await sources.start(source)
        if kind is None:
            await ledger.run()
        else:
            with pytest.raises(kind, match=words):
                await ledger.run()
            await ledger.rows(scope, "update jobs set state = 'failed' where state = 'running' returning id")
        found = await sources.documents("user:x@x")
        assert len(found) == 31 and "back soon" not in str(found), words
    site.every = lambda path, headers: None
    counts = await sources.sync(source)
    assert counts == {"listed": 31, "unchanged": 31}


async def test_robots_and_sitemaps_are_followed(sources: SyncBench, site: WebServer) -> None:
    site.put("/", "Home.", "/open", "/private/a", "/mine")
    site.put("/open", "Open to all.")
    site.put("/private/a", "Nobody's.")
    site.put("/mine", "Not for us.")
    site.put("/lonely", "Only the sitemap names it.")
    site.put("/old", "Only the sitemap names this one, too.")
    site.put("/hidden", "Not for an index.", "/behind", head='<meta name="robots" content="noindex">')
    site.put("/behind", "Found through a page that is none.")
    rules = "User-agent: *\nDisallow: /private/\n\nUser-agent: AOS\nDisallow: /private/\nDisallow: /mine\n\n"
    rules += f"Sitemap: {site.url}/s.xml"
    site.pages["/robots.txt"] = WebPage(rules.encode(), "text/plain")
    ns = "http://www.sitemaps.org/schemas/sitemap/0.9"
    index = f"<sitemapindex xmlns='{ns}'><sitemap><loc>{site.url}/a.xml.gz</loc></sitemap></sitemapindex>"
    site.pages["/s.xml"] = WebPage(index.encode(), "application/xml")
    urls = "".join(
        f"<url><loc>{site.url}{path}</loc><lastmod>{day}</lastmod></url>"
        for path, day in (("/lonely", "2020-01-01"), ("/old", "2020-01-01T10:00:00Z"), ("/hidden", ""))
    )
    urls += "<url><loc>https://example.org/foreign</loc></url>"
    site.pages["/a.xml.gz"] = WebPage(
        gzip.compress(f"<urlset xmlns='{ns}'>{urls}</urlset>".encode()), "application/gzip"
    )
    items, pages, cursor = await crawl(sources, settings(site, "/"))
    assert sorted(items) == ["", "behind", "lonely", "old", "open"]
    assert "robots.txt" in told(pages) and not any(path in ("/mine", "/private/a") for path, _ in site.asked)
    site.asked.clear()
    again, _, _ = await crawl(sources, settings(site, "/"), cursor)
    assert again == items and not {"/lonely", "/old"} & {path for path, _ in site.asked}, "their lastmod is the same"
    site.pages["/s.xml"] = WebPage(status=500)
    again, pages, _ = await crawl(sources, settings(site, "/"), cursor)
    assert again == items and "this sitemap does not come" in told(pages)
    site.pages["/robots.txt"] = WebPage(b"User-agent: *\nCrawl-delay: 3600", "text/plain")
    with pytest.raises(SourceRefused, match="3600 s"):
        await crawl(sources, settings(site, "/"))


async def test_one_page_has_one_url(sources: SyncBench, site: WebServer) -> None:
    site.put(
        "/", "Home.", "/a?utm_source=x", "/a#part", "/%61", "/b?y=2&x=1", "/b?x=1&y=2", "/print/a", "/x/../a", "/all"
    )
    site.put("/a", "Page a.")
    site.put("/b?x=1&y=2", "Page b.")
    site.put("/print/a", "Page a for printing.", head='<link rel="canonical" href="/a">')
    site.put("/all", "Names one that is not there.", head='<link rel="canonical" href="/none">')
    items, _, cursor = await crawl(sources, settings(site, "/"))
    assert sorted(items) == ["", "a", "all", "b?x=1&y=2"]
    assert items["b?x=1&y=2"].filename == "b?x=1&y=2.html"
    again, _, _ = await crawl(sources, settings(site, "/"), cursor)
    assert again == items


async def test_traps_are_bounded_and_told(sources: SyncBench, site: WebServer) -> None:
    def calendar(path: str, headers: dict[str, str]) -> WebPage | None:
        if not path.startswith("/cal/"):
            return None
        n = int(path.removeprefix("/cal/").split("?")[0].split("/")[0] or 0)
        return WebPage(f"<p>Month {n} of all.</p><a href='/cal/{n + 1}'>next</a><a href='x/x/{n}'>in</a>".encode())

    site.every = calendar
    site.put("/", "Home.", "/cal/0")
    items, pages, cursor = await crawl(sources, settings(site, "/", max_depth="5"))
    assert len(items) < 40 and "more than 5 links from a start" in told(pages)
    again, _, _ = await crawl(sources, settings(site, "/", max_depth="5"), cursor)
    assert again.keys() == items.keys(), "it does not grow with each sync"
    items, pages, _ = await crawl(sources, settings(site, "/", max_depth="50", max_pages="20"))
    assert len(items) <= 20 and "more than 20 pages" in told(pages)


async def test_walls_and_soft_errors_are_no_pages(sources: SyncBench, ledger: Bench, site: WebServer) -> None:
    site.missing = WebPage(b"<p>Sorry, nothing is here.</p>")  # with status 200
    fill(site, 20)
    site.put("/docs/", "All papers.", "gone.html", *(f"p{n}.html" for n in range(20)))
    source = await sources.add("web", settings(site))
    assert await sources.sync(source) == {"listed": 21, "added": 21, "passed": 1}
    asked = [f"/docs/p{n}.html" for n in range(3, 12)]
    site.every = lambda path, headers: (
        WebPage(f"<p>Please sign in.</p><input type=hidden value='{path}'>".encode()) if path in asked else None
    )
    counts = await sources.sync(source)
    assert counts == {"listed": 21, "unchanged": 21, "faults": 9, "passed": 2}
    assert "Please" not in str(await sources.documents("user:x@x"))
    site.every = lambda path, headers: (
        WebPage(status=302, headers={"Location": f"/docs/login?next={path}"}) if path in asked else None
    )
    assert (await sources.sync(source))["unchanged"] == 21
    site.every = lambda path, headers: None
    assert await sources.sync(source) == {"listed": 21, "unchanged": 21, "passed": 1}
    fresh = await sources.add("web", settings(site, "/new/"), name="new")
    site.put("/new/", "Start.", *(f"{n}" for n in range(9)))
    for n in range(9):
        site.put(f"/new/{n}", "Please sign in.")
    counts = await sources.sync(fresh)
    assert counts["added"] <= 2 and "9 pages say the same" in str((await sources.show(fresh))["last_plan"]["samples"])


async def test_documents_and_odd_characters_are_read(sources: SyncBench, site: WebServer) -> None:
    site.put(
        "/docs/", "All.", "a.pdf", "get?id=7", "picture.png", "movie", "ru.html", "odd.html", "broken.html", "empty"
    )
    site.pages["/docs/a.pdf"] = WebPage(b"%PDF-1.4 of a", "application/pdf")
    office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    site.pages["/docs/get?id=7"] = WebPage(b"PK office", office)
    site.pages["/docs/movie"] = WebPage(b"film", "video/mp4")
    russian = "<p>Гавань</p>".encode("cp1251")
    site.pages["/docs/ru.html"] = WebPage(russian, "text/html; charset=windows-1251")
    site.pages["/docs/odd.html"] = WebPage(b"<p>Odd \xff\xfe page", "text/html; charset=none-such")
    site.pages["/docs/broken.html"] = WebPage(b"\x00\x01<<<>>>" + os.urandom(2000), "text/html")
    site.pages["/docs/empty"] = WebPage(b"", "text/html")
    items, _, _ = await crawl(sources, settings(site))
    assert {"docs/", "docs/a.pdf", "docs/get?id=7", "docs/ru.html", "docs/odd.html"} <= items.keys()
    assert not items.keys() & {"docs/movie", "docs/picture.png", "docs/empty"}
    opened = await sources.parts.opener.open(sources.scope, "web", settings(site), None)

    async def read(path: str, *span: int) -> bytes:
        return b"".join([block async for block in opened.read(items[path], *span)])

    assert "Гавань" in (await read("docs/ru.html")).decode() and await read("docs/a.pdf", 1, 3) == b"PDF"
    lost = SourceItem(f"{site.url}/docs/lost", "0", "lost")
    with pytest.raises(ItemGone):
        _ = [block async for block in opened.read(lost)]
    await opened.close()


async def test_redirects_stay_within_the_site_and_so_does_the_address(
    sources: SyncBench, ledger: Bench, site: WebServer, tmp_path: Path
) -> None:
    site.put("/docs/", "All.", "old", "out", "inner")
    site.put("/docs/new", "Moved here.")
    site.pages["/docs/old"] = WebPage(status=301, headers={"Location": "new"})
    site.pages["/docs/out"] = WebPage(status=302, headers={"Location": "http://169.254.169.254/latest"})
    site.pages["/docs/inner"] = WebPage(status=302, headers={"Location": "http://localhost:1/"})
    items, pages, _ = await crawl(sources, settings(site))
    assert sorted(items) == ["docs/", "docs/new"] and "leads out of the site" in told(pages)
    port, found = site.url.rpartition(":")[2], ["127.0.0.1"] * 2 + ["169.254.169.254"]

    async def rebinding(host: str, _: int) -> list[str]:
        return [found.pop(0)]

    vault: Any = None
    guard = EndpointGuard(("site.test",), rebinding)
    opener = SourceOpener(ledger.database, vault, None, guard, cache=tmp_path / "other", bounds=FAST)
    asked = {"url": f"http://site.test:{port}/docs/", "requests_per_second": "1000"}
    opened = await opener.open(sources.scope, "web", asked, None)
    listed = [item.id async for page in opened.list_changes(None) for item in page.items]
    assert sorted(listed) == [f"http://site.test:{port}/docs/", f"http://site.test:{port}/docs/new"]
    assert f"site.test:{port}" in site.hosts and found == ["169.254.169.254"], (
        "when it was opened, and once for all requests"
    )
    with pytest.raises(EndpointRefused):
        await sources.parts.opener.open(sources.scope, "web", {"url": "https://169.254.169.254/"}, None)
    bad = [{"url": "ftp://x/"}, {**asked, "max_pages": "many"}, {"url": f"{site.url}/a {site.url}1/b"}, {"url": " "}]
    for one in bad:
        with pytest.raises(SourceInvalid):
            await sources.parts.opener.open(sources.scope, "web", one, None)


async def test_a_password_is_sent_and_a_wrong_one_refused(
    sources: SyncBench, ledger: Bench, scope: Scope, site: WebServer
) -> None:
    fill(site, 3)
    site.every = lambda path, headers: (
        None if headers.get("authorization") == "Basic dTpyaWdodA==" else WebPage(status=401)
    )
    for word in ("right", "wrong"):
        name = await credential(ledger, scope, {"username": "u", "password": word})
        opened = await sources.parts.opener.open(scope, "web", settings(site), name)
        if word == "right":
            assert sum([len(page.items) async for page in opened.list_changes(None)]) == 4
        else:
            with pytest.raises(SourceRefused, match="access was refused"):
                _ = [page async for page in opened.list_changes(None)]
        await opened.close()


@pytest.mark.parametrize("after", [False, True])
async def test_killed_in_the_middle_nothing_is_lost_or_doubled(
    sources: SyncBench, ledger: Bench, site: WebServer, after: bool
) -> None:
    fill(site, 60)
    source = await sources.add("web", settings(site))
    plain, opener, steps = ledger.jobs, sources.parts.opener, 0
    for at in (2, 3, 5, 30):
        fill(site, 60 + at, 60)
        site.put(f"/docs/p{at}.html", f"Paper {at} was changed.")
        ledger.jobs = CutLedger(ledger.database)
        ledger.jobs.at, ledger.jobs.after = at, after
        use_sync(ledger, opener)
        await sources.start(source)
        try:
            await ledger.run(owner="killed")
        except WorkerKilled:
            steps += 1
        ledger.jobs = plain
        use_sync(ledger, opener)
        if (await sources.show(source))["job_state"] == "running":
            await sources.lapse()
            await ledger.run(owner="next")
    assert (await sources.sync(source))["listed"] == 91
    found = await sources.documents("user:x@x")
    assert steps >= 3 and len(found) == 91 and "was changed" in found["p30.html"]


async def test_a_site_whose_headers_make_no_sense_is_read_again_and_asked_again(
    sources: SyncBench, site: WebServer
) -> None:
    """A validator that cannot be sent back, an odd charset, a wait that is no number, links that are no URL."""
    links = "?" + "&".join(f"a{n}" for n in range(300))
    for n in range(3):
        odd = {"ETag": f'"\xe9{n}"', "Last-Modified": "\xe9"}
        site.put(f"/docs/p{n}", f"Paper {n}.", links, "//[", validators=False, headers=odd)
    site.pages["/docs/p2"].kind = "text/html; charset=idna"
    site.put("/docs/", "All papers.", "p0", "p1", "p2", links)
    asked = settings(site)
    items, _, cursor = await crawl(sources, asked)
    assert set(items) == {"docs/", "docs/p0", "docs/p1", "docs/p2"}
    again, _, _ = await crawl(sources, asked, cursor)
    assert again == items, "and known validators are not in the way"
    opened = await sources.parts.opener.open(sources.scope, "web", asked, None)
    assert b"Paper 2." in b"".join([block async for block in opened.read(items["docs/p2"])])
    site.every = lambda path, headers: WebPage(b"", status=503, headers={"Retry-After": "\xb2"})
    with pytest.raises(SourceAway, match="answers 503"):
        _ = [page async for page in opened.list_changes(cursor)]
    elsewhere = replace(items["docs/p2"], id="https://other.example/p2", version="none")
    site.every = lambda path, headers: None
    with pytest.raises(SourceRefused, match="lies elsewhere"):
        _ = [block async for block in opened.read(elsewhere)]
    await opened.close()
