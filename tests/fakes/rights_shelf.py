"""A kind of source whose items say who may see them, over real HTTP: the server, and the connector that reads it."""

import json
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import quote, unquote

import httpx

from pipelines.documents.sources.source_port import (
    ItemGone,
    ItemRights,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceItem,
    SourceKind,
    SourceOpening,
)

_PAGE: Final = 50


@dataclass
class RightsShelf:
    """Attributes:
    items: body, version and people by id.
    breaks: the listing breaks off after its first page.
    status: of every answer.
    """

    port: int = 0
    items: dict[str, tuple[bytes, int, tuple[str, ...]]] = field(default_factory=dict)
    versions: int = 0
    breaks: bool = False
    status: int = 200
    server: ThreadingHTTPServer | None = None
    kind: str = "rights_shelf"
    secret: Mapping[str, str] = field(default_factory=dict)
    keeps_moved: bool = True  # no two puts have one version, which so tells what was moved
    has_rights: bool = True

    @property
    def settings(self) -> Mapping[str, str]:
        return {"url": f"http://127.0.0.1:{self.port}"}

    def put(self, id_: str, body: bytes) -> None:
        self.versions += 1
        self.items[id_] = (body, self.versions, self.items.get(id_, (b"", 0, ()))[2])

    def delete(self, id_: str) -> None:
        del self.items[id_]

    def rename(self, id_: str, to: str) -> None:
        self.items[to] = self.items.pop(id_)

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        body, version, _ = self.items[id_]
        self.items[id_] = (body, version, people)

    def touch(self, id_: str, year: int) -> None:
        self.put(id_, self.items[id_][0])

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def start(self) -> None:
        self.server = _Server(("127.0.0.1", self.port), _handler_of(self))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def errors(self, on: bool) -> None:
        self.status = 500 if on else 200

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        return {id_: (body, people) for id_, (body, _, people) in self.items.items()}

    def page(self, after: str) -> dict[str, Any]:
        """The next items by id."""
        ids = sorted(id_ for id_ in self.items if id_ > after)[:_PAGE]
        shown = [{"id": id_, "version": self.items[id_][1], "people": self.items[id_][2]} for id_ in ids]
        return {"items": shown, "next": ids[-1] if len(ids) == _PAGE else None}


class _Server(ThreadingHTTPServer):
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 128

    def handle_error(self, *_: Any) -> None:
        """A client that goes is no news."""


def _handler_of(shelf: RightsShelf) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?after=")
            status, body = shelf.status, b""
            if path == "/items":
                status = 500 if shelf.breaks and query else status  # from the second page on
                body = json.dumps(shelf.page(unquote(query))).encode()
            elif (found := shelf.items.get(unquote(path.removeprefix("/items/")))) is None:
                status = 404
            else:
                body = found[0]
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing on the terminal."""

    return Handler


class _OpenShelf:
    def __init__(self, url: str) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=10)

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        after: str | None = ""
        while after is not None:
            told = (await self._get(f"/items?after={quote(after, safe='')}")).json()
            after = told["next"]
            yield ListingPage([_item_of(one) for one in told["items"]])

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        body = (await self._get(f"/items/{quote(item.id, safe='')}")).content
        yield body[start : None if length is None else start + length]

    def local_path(self, item: SourceItem) -> None:
        return None

    async def close(self) -> None:
        await self._http.aclose()

    async def _get(self, path: str) -> httpx.Response:
        try:
            answer = await self._http.get(path)
        except httpx.HTTPError as error:
            raise SourceAway(type(error).__name__) from error
        if answer.status_code == 404:
            raise ItemGone(path)
        if answer.status_code != 200:
            raise SourceAway(f"it answers {answer.status_code}")
        return answer


def _item_of(told: Mapping[str, Any]) -> SourceItem:
    version = str(told["version"])
    return SourceItem(told["id"], version, told["id"], None, version, ItemRights(tuple(told["people"])))


async def _open_shelf(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    return _OpenShelf(str(opening.settings["url"]))


KIND: Final = SourceKind("rights_shelf", "Shelf with rights", {"url*": "Where it answers."}, _open_shelf, True)
