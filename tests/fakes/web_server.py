"""A real web site on loopback: pages with validators, redirects, robots.txt, sitemaps, and ways to be in trouble."""

import hashlib
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class WebPage:
    """One answer. `validators`: whether it has an ETag and is not sent again to whoever has it."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    validators: bool = True
    seconds: float = 0


@dataclass
class WebServer:
    """A site. `every`: answers all requests instead, where it gives something; `missing`: what stands for no page."""

    url: str = ""
    pages: dict[str, WebPage] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    every: Callable[[str, dict[str, str]], WebPage | None] = lambda path, headers: None
    missing: WebPage = field(default_factory=lambda: WebPage(b"<p>No such page.</p>", status=404))

    def put(self, path: str, text: str, *links: str, head: str = "", **more: object) -> None:
        """A page of HTML."""
        anchors = "".join(f'<p><a href="{one}">see</a></p>' for one in links)
        body = f"<html><head><title>{path}</title>{head}</head><body><p>{text}</p>{anchors}</body></html>"
        self.pages[path] = WebPage(body.encode(), **more)  # type: ignore[arg-type]

    def sent(self) -> list[str]:
        """Paths whose bytes were sent, and forget them."""
        sent = [path for path, status in self.asked if status == 200]
        self.asked.clear()
        return sent


@contextmanager
def web_server(certificate: Path | None = None) -> Iterator[WebServer]:
    """`certificate`: with TLS; its key lies beside it."""
    site = WebServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    site.url = f"http://127.0.0.1:{http.server_port}"
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
        http.socket = tls.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
        site.url = f"https://localhost:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    site: WebServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for each answer
    disable_nagle_algorithm = True

    def log_message(self, *words: object) -> None:
        pass

    def do_GET(self) -> None:
        site, headers = self.site, {name.lower(): value for name, value in self.headers.items()}
        site.hosts.add(headers.get("host", ""))
        page = site.every(self.path, headers) or site.pages.get(self.path) or site.missing
        if page.seconds:
            time.sleep(page.seconds)
        status, tag = page.status, f'"{hashlib.sha256(page.body).hexdigest()[:16]}"'
        if status == 200 and page.validators and headers.get("if-none-match") == tag:
            status = 304
        site.asked.append((self.path, status))
        self.send_response(status)
        for name, value in page.headers.items():
            self.send_header(name, value)
        if page.validators and page.status == 200:
            self.send_header("ETag", tag)
        if status != 304:
            self.send_header("Content-Type", page.kind)
            self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        if status != 304:
            self.wfile.write(page.body)
        self.wfile.flush()
