"""A made-up Nextcloud over real HTTP: ids, etags that change in all folders above, shares; any answer may be a lie."""

import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

ROOT = "/remote.php/dav/files/aos"
USER, PASSWORD = "aos", "app-password-of-nobody"
SPACES = 'xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns" xmlns:nc="http://nextcloud.org/ns"'


@dataclass
class Node:
    """A file, or a folder where `bytes` is None."""

    id: int
    etag: int
    bytes: "bytes | None" = None
    owner: str = USER
    users: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    acl: bool = False
    mount: str = ""


@dataclass
class Lie:
    """An answer in the place of the true one; `cut` closes the connection after so many bytes."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None


class FakeNextcloud:
    """Nodes by path; `lie` may give another answer.

    `asked` records (method, path, Authorization); `hosts` the names that were asked for; `lines` the clients' ports.
    """

    def __init__(self) -> None:
        self._numbers = count(1)
        self.nodes: dict[str, Node] = {"": Node(0, 0)}
        self.asked: list[tuple[str, str, str | None]] = []
        self.hosts: set[str] = set()
        self.lines: set[int] = set()
        self.lie: Callable[[str, str], Lie | None] = lambda method, path: None
        self.login = f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
        self.url = ""

    def folder(self, path: str) -> Node:
        """It and those above are there."""
        if path not in self.nodes:
            self.folder(path.rpartition("/")[0])
            self.nodes[path] = Node(next(self._numbers), next(self._numbers))
            self._touch(path)
        return self.nodes[path]

    def put(self, path: str, text: str) -> Node:
        """A file, new or with other bytes."""
        self.folder(path.rpartition("/")[0])
        node = self.nodes.setdefault(path, Node(next(self._numbers), 0))
        node.bytes = text.encode()
        self._touch(path)
        return node

    def drop(self, path: str) -> None:
        for one in [one for one in self.nodes if one == path or one.startswith(f"{path}/")]:
            del self.nodes[one]
        self._touch(path.rpartition("/")[0])

    def move(self, path: str, there: str) -> None:
        """Nothing of the moved nodes themselves changes."""
        self.folder(there.rpartition("/")[0])
        for one in [one for one in self.nodes if one == path or one.startswith(f"{path}/")]:
            self.nodes[there + one[len(path) :]] = self.nodes.pop(one)
        self._touch(path.rpartition("/")[0])
        self._touch(there.rpartition("/")[0])

    def _touch(self, path: str) -> None:
        while True:
            if path in self.nodes:
                self.nodes[path].etag = next(self._numbers)
            if not path:
                return
            path = path.rpartition("/")[0]

    def listing(self, path: str) -> bytes:
        """The answer to PROPFIND, of one level."""
        found = [one for one in self.nodes if one == path or (one and one.rpartition("/")[0] == path)]
        inner = "".join(self.response(one) for one in sorted(found) if one != path)
        return multistatus(self.response(path) + inner)

    def response(self, path: str) -> str:
        node = self.nodes[path]
        folder = node.bytes is None
        shares = [f"<nc:sharee><nc:id>{escape(u)}</nc:id><nc:type>0</nc:type></nc:sharee>" for u in node.users]
        shares += [f"<nc:sharee><nc:id>{escape(g)}</nc:id><nc:type>1</nc:type></nc:sharee>" for g in node.groups]
        shares += ["<nc:sharee><nc:id>token</nc:id><nc:type>3</nc:type></nc:sharee>"]
        size = "" if node.bytes is None else f"<d:getcontentlength>{len(node.bytes)}</d:getcontentlength>"
        place = quote(f"{ROOT}/{path}".rstrip("/")) + ("/" if folder else "")
        return (
            f"<d:response><d:href>{place}</d:href><d:propstat><d:prop>"
            f"<d:resourcetype>{'<d:collection/>' if folder else ''}</d:resourcetype>"
            f"<d:getetag>&quot;{node.etag:x}&quot;</d:getetag>{size}"
            "<d:getlastmodified>Mon, 01 Jan 2035 00:00:00 GMT</d:getlastmodified>"
            f"<oc:fileid>{node.id}</oc:fileid><oc:id>{node.id:08}oc</oc:id><oc:owner-id>{node.owner}</oc:owner-id>"
            f"<nc:sharees>{''.join(shares)}</nc:sharees><nc:mount-type>{node.mount}</nc:mount-type>"
            f"<nc:acl-enabled>{int(node.acl)}</nc:acl-enabled></d:prop>"
            "<d:status>HTTP/1.1 200 OK</d:status></d:propstat>"
            "<d:propstat><d:prop><oc:checksums/></d:prop><d:status>HTTP/1.1 404 Not Found</d:status></d:propstat>"
            "</d:response>"
        )

    def count(self, method: str) -> int:
        """Requests since the last time that one asked."""
        number = sum(one[0] == method for one in self.asked)
        self.asked.clear()
        return number

    def answer(self, method: str, path: str, headers: Mapping[str, str]) -> Lie:
        self.asked.append((method, path, headers.get("Authorization")))
        if (lie := self.lie(method, path)) is not None:
            return lie
        if headers.get("Authorization") != self.login:
            return Lie(401, headers={"WWW-Authenticate": 'Basic realm="x"'})
        node = self.nodes.get(path)
        if node is None:
            return Lie(404)
        if method == "PROPFIND":
            return Lie(207, self.listing(path)) if headers.get("Depth") == "1" else Lie(403)
        if headers.get("If-Match", f'"{node.etag:x}"') != f'"{node.etag:x}"':
            return Lie(412)
        return Lie(200, node.bytes or b"", {"ETag": f'"{node.etag:x}"'})


def multistatus(responses: str) -> bytes:
    return f'<?xml version="1.0"?><d:multistatus {SPACES}>{responses}</d:multistatus>'.encode()


def _handler(cloud: FakeNextcloud) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            raw = self.path if self.path.startswith(ROOT) else "/elsewhere"
            path = unquote(raw.removeprefix(ROOT)).strip("/")
            cloud.hosts.add(self.headers.get("Host", ""))
            cloud.lines.add(self.client_address[1])
            answer = cloud.answer(self.command, path, dict(self.headers))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body if answer.cut is None else answer.body[: answer.cut])
            self.close_connection = answer.cut is not None

        do_GET = do_PROPFIND = _serve

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def run_nextcloud() -> Iterator[FakeNextcloud]:
    """It answers for as long as the block."""
    cloud = FakeNextcloud()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cloud))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    cloud.url = f"http://127.0.0.1:{server.server_address[1]}{ROOT}"
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
