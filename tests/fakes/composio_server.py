"""Composio's REST API over one drive in memory: the tools of four clouds, and a host for bytes that gets no key.

Answers have the shapes that people who use the service have written down; the service itself was never asked.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.fakes.cloud_server import DOC, FOLDER, CloudFile, box_entry
from tests.fakes.oidc_provider import served

KEY = "ak_the-key"
ACCOUNT = "ca_the-account"
PAGE = 50
ROOT = "root"
APPS = ("googledrive", "onedrive", "dropbox", "box")
INLINE = {
    "googledrive": "downloaded_file_content",
    "onedrive": "content",
    "dropbox": "file_content_bytes",
    "box": "content",
}


@dataclass
class ComposioDrive:
    """What its tools show.

    Attributes:
        calls: tools that ran, with their arguments.
        read: ids whose bytes the host of bytes gave.
        linked: downloads are links to that host; else they are inline.
        pieces: inline downloads have so many bytes at most.
        busy: so many answers of 429 come first.
        cut: listings have a first page, and no way to the next.
        refused: ids of folders or files whose tools are not successful.
        instead: gives an answer in place of the service's for a tool and its arguments, or None.
        bytes_instead: likewise for the host of bytes, by id.
    """

    url: str = ""
    files: dict[str, CloudFile] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    linked: bool = True
    pieces: int | None = None
    busy: int = 0
    cut: bool = False
    refused: set[str] = field(default_factory=set)
    instead: Callable[[str, dict[str, Any]], Response | None] = lambda tool, arguments: None
    bytes_instead: Callable[[str], Response | None] = lambda id_: None
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def put(self, id_: str, data: bytes | None, **more: Any) -> None:
        """A file, or a folder without bytes; what is there keeps what is not named."""
        before = self.files.get(id_)
        kept = {} if before is None else {"name": before.name, "parent": before.parent}
        self.files[id_] = CloudFile(**{"id": id_, "name": f"{id_}.txt", **kept, **more, "data": data})

    def above(self, one: CloudFile) -> str:
        """The path of its folder."""
        names: list[str] = []
        while one.parent != ROOT:
            one = self.files[one.parent]
            names.insert(0, one.name)
        return "/".join(names)

    def routes(self) -> list[Route]:
        """The API, and the host of bytes."""
        return [
            Route("/api/v3/tools/execute/{tool}", self._execute, methods=["POST"]),
            Route("/r2/{id:path}", self._bytes),
        ]

    async def _execute(self, request: Request) -> Response:
        if request.headers.get("x-api-key") != KEY:
            return JSONResponse({"error": {"message": "Invalid API key", "code": 401}}, 401)
        tool, body = request.path_params["tool"], await request.json()
        self.bodies.append(body)
        arguments: dict[str, Any] = body["arguments"]
        self.calls.append((tool, arguments))
        if body["connected_account_id"] != ACCOUNT:
            return JSONResponse({"error": {"message": "No connected account"}}, 404)
        if self.busy:
            self.busy -= 1
            return Response("slow down", 429, headers={"retry-after": "0"})
        if (other := self.instead(tool, arguments)) is not None:
            return other
        answers = {
            "GOOGLEDRIVE_LIST_FILES": self._list_drive,
            "GOOGLEDRIVE_DOWNLOAD_FILE": lambda a: self._content("googledrive", a["file_id"]),
            "ONE_DRIVE_LIST_FOLDER_CHILDREN": self._list_onedrive,
            "ONE_DRIVE_DOWNLOAD_FILE": lambda a: self._content("onedrive", a["item_id"]),
            "DROPBOX_LIST_FILES_IN_FOLDER": self._list_dropbox,
            "DROPBOX_LIST_FOLDER_CONTINUE": self._list_dropbox,
            "DROPBOX_READ_FILE": lambda a: self._content("dropbox", a["path"]),
            "BOX_LIST_ITEMS_IN_FOLDER": self._list_box,
            "BOX_DOWNLOAD_FILE": lambda a: self._content("box", a["file_id"]),
        }
        if tool not in answers:
            return JSONResponse({"error": {"message": f"Tool {tool} not found"}}, 404)
        return answers[tool](arguments)

    async def _bytes(self, request: Request) -> Response:
        """A host of its own, as R2 is: it must not be given the key."""
        sent = [*request.headers.values(), str(request.url)]
        assert not any(KEY in one for one in sent), "the host of bytes was given the key"
        id_ = request.path_params["id"]
        if (other := self.bytes_instead(id_)) is not None:
            return other
        self.read.append(id_)
        data, span = self._data(id_), request.headers.get("range", "")
        if not span:
            return Response(data)
        first, last = span.removeprefix("bytes=").split("-")
        return Response(data[int(first) : int(last) + 1 if last else None], 206)

    def _data(self, id_: str) -> bytes:
        one = self.files[id_]
        return (b"exported: " if one.google == DOC else b"") + (one.data or b"")

    def link(self, id_: str) -> str:
        """Where the bytes of a file are, on another host than the API."""
        return f"{self.url.replace('127.0.0.1', 'localhost')}/r2/{id_}"

    def _content(self, app: str, id_: str) -> Response:
        if id_ in self.refused or id_ not in self.files:
            return failed(f"404 Client Error: Not Found for url: https://cloud.example/{id_}")
        data = self._data(id_)
        if self.linked:
            return done({INLINE[app]: {"s3url": self.link(id_), "name": self.files[id_].name, "mimetype": "x/y"}})
        return done({INLINE[app]: base64.b64encode(data[: self.pieces]).decode(), "id": id_})

    def _inside(self, folder: str) -> list[CloudFile]:
        return [one for one in self.files.values() if one.parent == folder]

    def _page(self, rows: list[CloudFile], token: Any) -> tuple[list[CloudFile], str | None]:
        start = int(token or 0)
        more = start + PAGE < len(rows)
        return rows[start : start + PAGE], str(start + PAGE) if more and not self.cut else None

    def _list_drive(self, asked: dict[str, Any]) -> Response:
        folder = asked["q"].split("'")[1]
        if folder in self.refused:
            return failed("403 Client Error: Forbidden")
        inside = self._inside(folder)
        rows, token = self._page(inside, asked.get("pageToken"))
        found: dict[str, Any] = {"files": [_drive_row(one) for one in rows]}
        if self.cut and len(inside) > PAGE:
            found["incompleteSearch"] = True
        return done(found | ({"nextPageToken": token} if token else {}))

    def _list_onedrive(self, asked: dict[str, Any]) -> Response:
        folder = asked.get("folder_item_id", ROOT)
        if folder in self.refused:
            return failed("403 Client Error: Forbidden")
        inside = self._inside(folder)
        rows, token = self._page(inside, asked.get("page_token"))
        found: dict[str, Any] = {"value": [_onedrive_row(one) for one in rows], "next_page_token": token}
        if self.cut and len(inside) > PAGE:
            found["@odata.nextLink"] = "https://graph.microsoft.com/v1.0/next"
        return done(found)

    def _list_dropbox(self, asked: dict[str, Any]) -> Response:
        everything = list(self.files.values())
        if asked.get("recursive") is False:
            everything = [one for one in everything if f"/{self.above(one)}".rstrip("/") == asked["path"]]
        rows, token = self._page(everything, asked.get("cursor"))
        found = {"entries": [self._dropbox_row(one) for one in rows], "has_more": len(everything) > PAGE and self.cut}
        return done(found | ({"has_more": True, "cursor": token} if token else {}))

    def _dropbox_row(self, one: CloudFile) -> dict[str, Any]:
        path = f"/{self.above(one)}/{one.name}".replace("//", "/")
        if one.data is None:
            return {".tag": "folder", "id": one.id, "path_display": path}
        digest = hashlib.sha256(one.data).hexdigest()
        return {".tag": "file", "id": one.id, "path_display": path, "size": len(one.data), "content_hash": digest}

    def _list_box(self, asked: dict[str, Any]) -> Response:
        folder = ROOT if asked["folder_id"] == "0" else asked["folder_id"]
        if folder in self.refused:
            return failed("403 Client Error: Forbidden")
        inside = self._inside(folder)
        rows, token = self._page(inside, asked.get("marker"))
        found: dict[str, Any] = {"entries": [box_entry(one) for one in rows], "total_count": len(inside)}
        return done(found | ({"next_marker": token} if token else {}))


def done(data: Any, **more: Any) -> Response:
    """The envelope of a tool that was successful."""
    return JSONResponse({"data": data, "successful": True, "error": None, "log_id": "log_1", **more})


def failed(error: str, data: Any = None) -> Response:
    """The envelope of one that was not: also that is 200."""
    return JSONResponse({"data": data or {}, "successful": False, "error": error, "log_id": "log_1"})


def _drive_row(one: CloudFile) -> dict[str, Any]:
    kind = FOLDER if one.data is None else one.google or "text/plain"
    told: dict[str, Any] = {"id": one.id, "name": one.name, "mimeType": kind}
    told["modifiedTime"] = hashlib.md5(one.data or b"").hexdigest()
    if one.data is not None and not one.google:
        told |= {"size": str(len(one.data)), "md5Checksum": hashlib.md5(one.data).hexdigest()}
    return told


def _onedrive_row(one: CloudFile) -> dict[str, Any]:
    if one.data is None:
        return {"id": one.id, "name": one.name, "folder": {"childCount": 1}}
    digest = hashlib.sha1(one.data).hexdigest()
    return {"id": one.id, "name": one.name, "size": len(one.data), "file": {"hashes": {"quickXorHash": digest}}}


@contextmanager
def run_composio() -> Iterator[ComposioDrive]:
    """On a free loopback port."""
    drive = ComposioDrive()
    with served(Starlette(routes=drive.routes())) as url:
        drive.url = url
        yield drive


def garbage() -> dict[str, bytes]:
    """Bodies of answers that make no sense."""
    good = {"successful": True, "data": {}}
    names = ("files", "value", "entries")
    return {
        "nothing": b"",
        "half": b'{"successful": true, "data": {"files": [',
        "deep": b"[" * 100_000,
        "a list": b"[]",
        "a page": b"<html><body>502</body></html>",
        "no envelope": b'{"files": []}',
        "a word for successful": json.dumps({**good, "successful": "yes"}).encode(),
        "data that are a list": json.dumps({**good, "data": []}).encode(),
        "data that are a word": json.dumps({**good, "data": "see attached"}).encode(),
        "no rows": json.dumps(good).encode(),
        "rows that are numbers": json.dumps({**good, "data": {name: [5] for name in names}}).encode(),
        "rows without ids": json.dumps({**good, "data": {name: [_ROW] for name in names}}).encode(),
        "a cut preview": json.dumps({**good, "data": {"data_preview": "{'files': [...", "truncated": True}}).encode(),
    }


_ROW = {"name": "a", "mimeType": "text/plain", "file": {}, ".tag": "file", "type": "file", "path_display": "/a"}
