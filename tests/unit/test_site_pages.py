"""Pages of a site: one spelling for each URL, what a page says to a crawl, sitemaps, and what is remembered."""

import gzip
import time

import pytest
from protego import Protego

from pipelines.documents.sources.checked_http import CheckedHost, origin_of
from pipelines.documents.sources.site.html_page import decode_html, parse_html
from pipelines.documents.sources.site.page_memory import PageMemory, PageState, pack_memory, unpack_memory
from pipelines.documents.sources.site.site_client import SiteRobots
from pipelines.documents.sources.site.site_urls import SiteScope, is_trap, normal_url, path_of, prefix_of
from pipelines.documents.sources.site.sitemaps import parse_sitemap
from pipelines.documents.sources.source_port import SourceInvalid

URL = "https://example.com/docs/a"


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("HTTPS://Example.COM:443", "https://example.com/"),
        ("b#part", "https://example.com/docs/b"),
        ("../x//y/./z/", "https://example.com/x/y/z/"),
        ("?b=2&a=1&utm_source=x&PHPSESSID=1", "https://example.com/docs/a?a=1&b=2"),
        ("/%7Eme/%c3%bc/ü?q=%20x", "https://example.com/~me/%C3%BC/%C3%BC?q=+x"),
        ("/a%2Fb", "https://example.com/a%2Fb"),
        ("/50%", "https://example.com/50%25"),
        ("/a;jsessionid=9?x", "https://example.com/a?x="),
        ("//other.example:8443/x", "https://other.example:8443/x"),
        ("mailto:a@example.com", None),
        ("javascript:void(0)", None),
        ("https://user:word@example.com/", None),
        ("http://[broken/", None),
        ("https://example.com:99999/", None),
        ("/" + "x" * 3000, None),
        ("/?" + "&".join(f"a{n}" for n in range(300)), None),
        ("/\ud800", None),
    ],
)
def test_a_url_has_one_spelling(given: str, normal: str | None) -> None:
    assert normal_url(given, URL) == normal
    assert normal is None or normal_url(normal) == normal


def test_a_scope_ends_at_its_host_and_folder() -> None:
    scope = SiteScope("https://example.com", ("/docs/",), ("/docs/old/*",))
    inside = ["/docs", "/docs/", "/docs/a?x=1"]
    outside = ["/docs2", "/", "/docs/old/x", "/docs/a.png"]
    assert all(scope.is_wanted(f"https://example.com{one}") for one in inside)
    assert not any(scope.is_wanted(f"https://example.com{one}") for one in outside)
    assert not scope.holds("http://example.com/docs/") and not scope.holds("https://example.com.evil.org/docs/")
    assert (prefix_of("https://x/docs/index.html"), prefix_of("https://x/docs"), prefix_of("https://x/")) == (
        "/docs/",
        "/docs",
        "/",
    )
    assert is_trap("https://x/a/b/a/b/a/b/a/b") and not is_trap("https://x/2026/01/01/title")
    assert path_of("https://x.org/a/?q=1/2", is_page=True) == "x.org/a/index?q=1_2.html"


def test_a_checked_host_gives_no_other() -> None:
    host = CheckedHost("https://example.com", "https://192.0.2.7", {})
    assert host.address_of("https://example.com/a?b=1") == "https://192.0.2.7/a?b=1"
    for url in ("https://example.com.evil/", "http://example.com/", "https://example.com:8443/", "//x", "https://[x"):
        with pytest.raises(SourceInvalid):
            host.address_of(url)
    assert origin_of("https://[2001:db8::1]:443/x") == "https://[2001:db8::1]"


def test_a_page_says_where_it_leads_and_what_it_is() -> None:
    html = """<html><head><base href="/base/"><link rel="canonical" href="/docs/one">
      <meta name="Robots" content="max-snippet:5, NOINDEX"></head>
      <body><a href="x">x</a><a href="y" rel="nofollow">y</a>
      <a href="x#again">x</a><iframe src="/frame"></iframe></body></html>"""
    page = parse_html(html.encode(), URL)
    assert page.links == ("https://example.com/base/x", "https://example.com/frame")
    assert page.canonical == "https://example.com/docs/one" and not page.is_indexed
    assert parse_html(b"<p>x</p>", URL, "googlebot: nofollow, none").links == ()
    assert not parse_html(b"<p>x</p>", URL, "noindex").is_indexed


def test_a_page_is_the_same_while_what_it_says_is() -> None:
    def page(nonce: str, text: str = "Text.", at: str = URL) -> tuple[str, str]:
        html = f"<script>{nonce}</script><!--{nonce}--><form><input type=hidden value={nonce}></form><p>{text}</p>"
        found = parse_html(f"{html}<div data-csrf='{nonce}'>x</div>".encode(), at)
        return found.digest, found.shape

    assert page("1") == page("2") and page("1")[0] != page("1", "Another.")[0]
    assert (
        page("1", f"{URL} is missing")[1]
        == page("1", "https://example.com/nine is missing", at="https://example.com/nine")[1]
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        b"<",
        b"\xff\xfe<\x00p\x00>",
        b"<p" * 50_000,
        b"<div>" * 20_000,
        b"<!--",
        b"<p csrf\x01=1>x",
        b"<a href='?" + b"&a" * 300 + b"'>x</a>",
    ],
)
def test_whatever_bytes_come_something_comes_out(body: bytes) -> None:
    began = time.monotonic()
    page = parse_html(body, URL)
    assert page.digest and time.monotonic() - began < 10


def test_what_only_the_header_tells_of_characters_is_kept() -> None:
    russian = "<p>Гавань</p>"
    assert "Гавань" in decode_html(russian.encode("cp1251"), "text/html; charset=windows-1251").decode()
    for kind in ("text/html", "text/html; charset=none", "text/html; charset=base64", "text/html; charset=utf-8"):
        assert decode_html(b"\xff<p>", kind) == b"\xff<p>"
    for charset in ("idna", "punycode", "undefined", "unicode_escape"):
        assert decode_html(b"\xff<p>\\ud800", f"text/html; charset={charset}") == b"\xff<p>\\ud800"


def test_sitemaps_of_all_forms_are_read_and_bounded() -> None:
    ns = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
    one = f"<urlset {ns}><url><loc> {URL} </loc><lastmod>2026-01-02</lastmod></url><url/></urlset>".encode()
    assert parse_sitemap(one).pages == parse_sitemap(gzip.compress(one)).pages == ((URL, "2026-01-02"),)
    assert parse_sitemap(f"{URL}\nnone\n".encode()).pages == ((URL, ""),)
    index = f"<sitemapindex {ns}><sitemap><loc>{URL}</loc></sitemap></sitemapindex>".encode()
    assert parse_sitemap(index).indexes == (URL,)
    entities = b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>&a;</loc></url></urlset>"
    assert "root:" not in str(parse_sitemap(entities))
    for bad in (b"<html><p>No", gzip.compress(bytes(60 << 20)), b"\x1f\x8bnone"):
        with pytest.raises(ValueError, match=" "):
            parse_sitemap(bad)


def test_what_is_remembered_comes_back_and_damage_is_nothing_remembered() -> None:
    pages = [PageMemory(f"{URL}{n}", PageState.PAGE, 1, digest=f"{n:032x}", size=n) for n in range(2000)]
    text = pack_memory("s", pages)
    signature, found = unpack_memory(text)
    assert signature == "s" and list(found.values()) == sorted(pages, key=lambda one: one.url) and len(text) < 100_000
    for bad in (None, "", "1:", "2:x", text[:-9], text.replace("1:", "1:!", 1), 'ü"'):
        assert unpack_memory(bad) == ("", {})


def test_robots_speak_to_us_by_name() -> None:
    rules = "User-agent: AOS\nCrawl-delay: 7\nDisallow: /a\n\nUser-agent: *\nDisallow: /"
    robots = SiteRobots(Protego.parse(rules), rules)
    assert robots.delay == 7 and robots.allows("http://x/b") and not robots.allows("http://x/a")
    slow = "User-agent: *\nRequest-rate: 1/5"
    assert SiteRobots(Protego.parse(slow), slow).delay == 5
