"""Scraping skills against a local site: the text, tables, links and elements of pages, hostile ones too."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any

import psutil
import pytest

from cluster.basics.errors import AosError, Invalid, TooLarge, Unavailable
from skills.framework.builtin import build_tool, shipped_skill
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, manifest_of
from skills.http_client.guard import AddressNotAllowed
from skills.http_client.http_answer import ServiceNotFound
from skills.scrape.pages import read_article, read_elements, read_links, read_tables
from skills.scrape.scrape_process import PageUnreadable, read_page
from tests.fakes.agents import SCOPE
from tests.fakes.ground import ground
from tests.fakes.web import Asked, Says, Web, here, web

ARTICLE = """<!doctype html><html><head><title>The harbour opens | Daily</title>
<meta name="author" content="Anna Berg"><meta property="article:published_time" content="2024-03-05T08:00:00Z">
</head><body><nav><a href="/">Home</a><a href="/sport">Sport</a><a href="https://other.test/x#top">Elsewhere</a></nav>
<article><h1>The harbour opens</h1>
<p>The new harbour of the town was opened on Tuesday after four years of work, and the first ship arrived at noon.</p>
<p>It has room for three hundred boats, a crane that lifts forty tonnes, and a quay of eight hundred metres.</p>
<p>The mayor said that the harbour would bring work to the whole region, and thanked everybody who had built it.</p>
</article><aside>Buy our shoes now! <a href="mailto:x@y.test">mail</a> <a href="javascript:alert(1)">js</a></aside>
<script>alert("never")</script><footer>Copyright</footer></body></html>"""

PRICES = """<table class=outer><tr><td><table class=prices>
<tr><th rowspan=2>Size</th><th colspan=2>Price</th></tr><tr><th>net</th><th>gross</th></tr>
<tr><td>S</td><td>1.00</td><td>1.19</td></tr><tr><td>007</td><td>2 <b>00</b></td><td>&nbsp;</td></tr></table>
</td></tr></table>
<table class=other><tr><td rowspan=3>a</td><td>b</td></tr><tr><td>c</td></tr></table>"""


def site_of(pages: Mapping[str, str]) -> Any:
    def answer(asked: Asked) -> Says:
        return Says(pages[asked.target].encode()) if asked.target in pages else Says(b"gone", 404)

    return web(answer)


def on(site: Web) -> SkillDependencies:
    return ground(hosts=(f"news.test:{site.port}",), resolve=here)


async def run(name: str, site: Web, path: str = "/", **arguments: Any) -> Any:
    url = f"http://news.test:{site.port}{path}"
    return await build_tool(shipped_skill(name), on(site)).run(
        ToolInvocation(SCOPE, None, "k", {"url": url, **arguments})
    )


async def test_an_article_is_read_without_what_is_around_it() -> None:
    """SK-02: its text, title, author and date; no menu, no script, no advertising."""
    async with site_of({"/": ARTICLE}) as site:
        given = await run("web_article", site)
        assert given["url"].endswith("/") and given["title"] == "The harbour opens"
        assert (given["author"], given["date"]) == ("Anna Berg", "2024-03-05")
        assert "first ship arrived at noon" in given["text"] and "thanked everybody" in given["text"]
        assert not [one for one in ("shoes", "never", "Sport", "Copyright") if one in given["text"]]
        assert site.asked[0].headers.keys() & {"cookie", "authorization", "referer"} == set()


async def test_tables_are_read_with_their_spans() -> None:
    """SK-02: texts stay texts, a cell stands wherever it spans, a table around others is none."""
    async with site_of({"/": PRICES}) as site:
        given = await run("web_tables", site)
        assert given["tables"] == [
            [["Size", "Price", "Price"], ["Size", "net", "gross"], ["S", "1.00", "1.19"], ["007", "2 00", ""]],
            [["a", "b"], ["a", "c"]],
        ]
        assert len((await run("web_tables", site, selector="table.other"))["tables"]) == 1


async def test_links_are_absolute_and_of_the_web() -> None:
    """SK-02: once each, without fragments, no mail and no scripts."""
    async with site_of({"/": ARTICLE}) as site:
        here_ = f"http://news.test:{site.port}"
        assert (await run("web_links", site))["links"] == [
            {"text": "Sport", "url": f"{here_}/sport"},
            {"text": "Elsewhere", "url": "https://other.test/x"},
        ]
        assert len((await run("web_links", site, selector="nav a:first-child, nav a:nth-child(2)"))["links"]) == 1


async def test_a_selector_finds_texts_and_attributes() -> None:
    """SK-02: in the order of the page."""
    async with site_of({"/": ARTICLE}) as site:
        assert (await run("web_select", site, selector="article h1"))["elements"] == ["The harbour opens"]
        found = await run("web_select", site, selector="meta[name=author]", attribute="content")
        assert found["elements"] == ["Anna Berg"]
        assert (await run("web_select", site, selector="video"))["elements"] == []


@pytest.mark.parametrize(
    "selector", ["a[[", "a:contains(", "::text", "a::attr(href)", "a:nosuch", ">", "//a", "a{}", " "]
)
def test_what_is_no_selector_is_said(selector: str) -> None:
    """SK-02: the model reads what was wrong."""
    with pytest.raises(Invalid):
        read_elements(ARTICLE, "http://news.test/", selector)


async def test_what_is_no_selector_is_said_from_where_it_is_read() -> None:
    """SK-02: the other process tells its failure by name."""
    async with site_of({"/": ARTICLE}) as site:
        with pytest.raises(Invalid):
            await run("web_select", site, selector="a[[")


@pytest.mark.parametrize("html", ["", " ", "\x00", "<", "no markup at all", "<html>", "<a href='http://[bad'>x</a>"])
def test_a_page_without_anything_is_no_crash(html: str) -> None:
    """SK-02: there is nothing to give."""
    assert read_links(html, "http://news.test/") == [] and read_tables(html, "http://news.test/") == []
    assert read_article(html, "http://news.test/")["title"] is None


def test_hostile_pages_are_read_in_bounds() -> None:
    """SK-02: depth, spans and numbers of elements that would fill the memory."""
    deep = "<div>" * 200_000 + "<a href=/x>deep</a>"
    assert len(read_links(deep, "http://news.test/")) <= 1
    wide = (
        "<table>"
        + "<tr><td rowspan=99999 colspan=99999>x</td><td rowspan=-1 colspan=a>y</td></tr>" * 2_000
        + "</table>"
    )
    rows = read_tables(wide, "http://news.test/")[0]
    assert 100 <= len(rows) <= 500 and max(map(len, rows)) <= 200 and sum(map(len, rows)) <= 20_200
    assert len(read_elements("<p>a</p>" * 10_000, "http://news.test/", "p")) == 200
    assert len(read_links("".join(f"<a href=/{n}>n</a>" for n in range(9_000)), "http://news.test/")) == 500
    entities = "<!DOCTYPE h [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;'>]><p>&b;&b;</p>"
    assert read_elements(entities, "http://news.test/", "p") in (["&b;&b;"], [""])
    outside = "<!DOCTYPE h [<!ENTITY f SYSTEM 'file:///etc/hostname'>]><p>a&f;b</p>"
    assert read_elements(outside, "http://news.test/", "p") in (["a&f;b"], ["ab"])


async def test_a_page_that_cannot_be_read_in_time_is_left_and_nothing_goes_on() -> None:
    """SK-02: selectors are quadratic and worse, and the library that finds them cannot be interrupted."""
    html = "<div>" * 200 + "<p>x</p>" * 60_000
    begun = monotonic()
    with pytest.raises(PageUnreadable):
        await read_page("elements", html, "http://news.test/", {"selector": "div div div div div div p"}, 2)
    assert monotonic() - begun < 20 and psutil.Process().children() == []


async def test_a_call_that_is_cancelled_leaves_no_process() -> None:
    """SK-02: the turn was stopped."""
    html = "<div>" * 200 + "<p>x</p>" * 60_000
    reading = asyncio.create_task(
        read_page("elements", html, "http://news.test/", {"selector": "div div div div div div p"}, 60)
    )
    for _ in range(400):
        if psutil.Process().children():
            break
        await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert psutil.Process().children() == []


async def test_memory_is_bounded() -> None:
    """SK-02: a page that takes more than there is ends its own reader."""
    assert (await read_page("links", ARTICLE, "http://news.test/", {}, 30))["links"]
    with pytest.raises(PageUnreadable):
        await read_page("links", ARTICLE, "http://news.test/", {}, 30, memory=24 << 20)


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (Says(b"{}", kind="application/json"), Invalid),
        (Says(b"%PDF", kind="application/pdf"), Invalid),
        (Says(b"x", 404), ServiceNotFound),
        (Says(b"x" * 3_000_001), TooLarge),
        (Says(status=302, headers={"Location": "http://169.254.169.254/"}), AddressNotAllowed),
        (Says(b"x", wait=2), Unavailable),
    ],
)
async def test_what_is_no_page_has_a_name(says: Says, error: type[AosError]) -> None:
    """SK-02: other media, floods, redirects behind the wall, servers that hang."""
    front = {"name": "made", "description": "Made.", "type": "scrapling", "timeout": 0.5, "options": {"reads": "links"}}
    schema = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    async with web(lambda _: says) as site:
        tool = build_tool(manifest_of({**front, "parameters": schema}), on(site))
        with pytest.raises(AosError) as raised:
            await tool.run(ToolInvocation(SCOPE, None, "k", {"url": f"http://news.test:{site.port}/"}))
        assert type(raised.value) is error


@pytest.mark.parametrize(
    "front",
    [
        {"options": {"reads": "thoughts"}},
        {"options": {"reads": "article"}, "parameters": {"type": "object", "properties": {}}},
        {"options": {"reads": "elements"}},
        {"options": {"reads": "article"}, "risk": "write"},
        {"options": {"reads": "article"}, "credential": "bearer_token"},
        {"options": {"reads": "article", "javascript": True}},
    ],
)
def test_a_wrong_manifest_is_refused(front: Mapping[str, Any]) -> None:
    """SK-02: pages are read, and nothing else."""
    schema = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    with pytest.raises(BadManifest):
        given = {"name": "made", "description": "Made.", "type": "scrape", "parameters": schema, **front}
        build_tool(manifest_of(given), ground())
