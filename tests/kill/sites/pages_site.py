"""A web site as a place that documents come from: pages that its sitemap names, and robots.txt lets everybody read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.web_server import WebPage, WebServer, web_server
from tests.kill.sites.site_port import Doorway, PlainSite, Site

OWN = ("/", "/robots.txt", "/sitemap.xml")
HEAD, FOOT = "<html><head><title>Paper</title></head><body><p>", "</p></body></html>"
START = '<html><head><meta name="robots" content="noindex"><title>All</title></head><body>All papers.</body></html>'


@dataclass
class PagesSite(PlainSite):
    """A page that was moved says the same, and so is the same document. `years`: of pages whose clock is wrong."""

    server: WebServer
    door: Doorway
    kind: str = "web"
    secret: Mapping[str, str] = field(default_factory=dict)
    keeps_moved: bool = True
    has_rights: bool = False
    years: dict[str, int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.door.port}"

    @property
    def settings(self) -> Mapping[str, str]:
        return {"url": f"{self.url}/", "max_pages": "20000", "requests_per_second": "1000"}

    def put(self, id_: str, body: bytes) -> None:
        self.server.pages[_path_of(id_)] = WebPage(HEAD.encode() + body + FOOT.encode())

    def delete(self, id_: str) -> None:
        del self.server.pages[_path_of(id_)]

    def rename(self, id_: str, to: str) -> None:
        """Without a redirect."""
        self.server.pages[_path_of(to)] = self.server.pages.pop(_path_of(id_))

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        """A page is for whoever asks for it."""

    def touch(self, id_: str, year: int) -> None:
        """Its header and the sitemap say so."""
        path = _path_of(id_)
        self.years[path] = year
        self.server.pages[path].headers["Last-Modified"] = f"Sat, 01 Jan {year} 00:00:00 GMT"

    def settle(self) -> None:
        """The sitemap and robots.txt of now."""
        rows = []
        for path in sorted(self.server.pages.keys() - set(OWN)):
            when = f"<lastmod>{self.years[path]}-01-01</lastmod>" if path in self.years else ""
            rows.append(f"<url><loc>{self.url}{path}</loc>{when}</url>")
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        text = f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{space}">{"".join(rows)}</urlset>'
        robots = f"User-agent: *\nAllow: /\nSitemap: {self.url}/sitemap.xml\n"
        self.server.pages["/"] = WebPage(START.encode())
        self.server.pages["/sitemap.xml"] = WebPage(text.encode(), "application/xml")
        self.server.pages["/robots.txt"] = WebPage(robots.encode(), "text/plain")

    def stop(self) -> None:
        self.door.close()

    def start(self) -> None:
        self.door.open()

    def errors(self, on: bool) -> None:
        failing = WebPage(b"<p>Something broke.</p>", status=500)
        self.server.every = (lambda path, headers: failing) if on else (lambda path, headers: None)

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        there = {path: page.body for path, page in self.server.pages.items() if path not in OWN}
        return {_id_of(path): (body[len(HEAD) : -len(FOOT)], ()) for path, body in there.items()}


def _path_of(id_: str) -> str:
    return f"/{id_.removesuffix('.txt')}.html"


def _id_of(path: str) -> str:
    return f"{path.removeprefix('/').removesuffix('.html')}.txt"


@contextmanager
def pages_site(base: Path) -> Iterator[Site]:
    """A server of its own, behind a door."""
    with web_server() as server:
        door = Doorway(int(server.url.rpartition(":")[2]))
        door.open()
        try:
            yield PagesSite(server, door)
        finally:
            door.close()
