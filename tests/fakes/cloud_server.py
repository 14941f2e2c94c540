"""Four clouds over one drive in memory: Microsoft Graph, Google Drive, Dropbox and Box, as their APIs are described."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.fakes.oidc_provider import served

PAGE = 50  # entries of a page
ROOT = "root"
TOKEN = "the-token"
FOLDER = "application/vnd.google-apps.folder"
DOC = "application/vnd.google-apps.document"


@dataclass
class CloudFile:
    """A file, or a folder where it has no bytes; `users` and `groups` may see it."""

    id: str
    name: str
    parent: str = ROOT
    data: bytes | None = None
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    domains: tuple[tuple[str, bool | None], ...] = ()  # with whether their people find it, where that is told
    google: str = ""  # kind of a document of Google's own
    at: int = 0  # of the last change of its bytes


@dataclass
class CloudDrive:
    """What the four show; `changes` are ids in the order in which they changed.

    Attributes:
        read: ids whose bytes were asked for.
        busy: so many answers of 429 come first.
        broken: paths that answer 500 whenever they contain this.
        forgets: cursors are refused with 410.
        cut: listings end after their first page without a link to go on.
        refused: ids of folders, or of files' permissions, that answer 403.
        tokens: how many were given out; each ends the one before.
        instead: answers in place of the service, where it gives something for a path.
        alters: changes what the service would answer.
        bare: Graph names no paths, as some drives do.
        token_answer: what the token endpoint gives, if it is no token of ours.
        throttled: so many permissions of a batch are answered with 429 first.
    """

    url: str = ""
    files: dict[str, CloudFile] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    busy: int = 0
    broken: str = ""
    forgets: bool = False
    cut: bool = False
    refused: set[str] = field(default_factory=set)
    tokens: int = 0
    seen: list[str] = field(default_factory=list)
    instead: Callable[[str, Request], Response | None] = lambda path, request: None
    alters: Callable[[str, Any], Any] | None = None
    bare: bool = False
    token_answer: Response | None = None
    throttled: int = 0

    def put(self, id_: str, data: bytes | None, **more: Any) -> None:
        """A file, or a folder without bytes; what is there keeps what is not named."""
        before = self.files.get(id_)
        values = {} if before is None else {n: getattr(before, n) for n in CloudFile.__dataclass_fields__}
        values |= {"id": id_, "name": f"{id_}.txt", **({} if before is None else {"name": before.name}), **more}
        if before is None or before.data != data:
            values["at"] = len(self.changes) + 1
        self.files[id_] = CloudFile(**{**values, "data": data})
        self.changes.append(id_)

    def drop(self, id_: str) -> None:
        """It is gone."""
        del self.files[id_]
        self.changes.append(id_)

    def above(self, one: CloudFile) -> str:
        """The path of its folder."""
        names = []
        while one.parent != ROOT:
            one = self.files[one.parent]
            names.insert(0, one.name)
        return "/".join(names)

    def routes(self) -> list[Route]:
        """Of the four, each below its own prefix."""
        return [
            Route("/token", self._token, methods=["POST"]),
            Route("/elsewhere/{id}", self._bytes),
            Route("/graph/v1.0/{path:path}", self._guarded(self._graph), methods=["GET", "POST"]),
            Route("/drive/v3/{path:path}", self._guarded(self._google), methods=["GET"]),
            Route("/dropbox/2/{path:path}", self._guarded(self._dropbox), methods=["POST"]),
            Route("/box/2.0/{path:path}", self._guarded(self._box), methods=["GET"]),
        ]

    async def _token(self, request: Request) -> Response:
        form = dict(await request.form())
        if form.get("client_secret") != "s":
            return JSONResponse({"error": "invalid_client", "error_description": "the secret s3cr3t is wrong"}, 401)
        self.tokens += 1
        if self.token_answer is not None:
            return self.token_answer
        return JSONResponse({"access_token": f"{TOKEN}-{self.tokens}", "expires_in": 3600})

    def _guarded(self, answer: Any) -> Any:
        async def guarded(request: Request) -> Response:
            path = request.path_params["path"]
            self.seen.append(path)
            if request.headers.get("authorization") not in (f"Bearer {TOKEN}", f"Bearer {TOKEN}-{self.tokens}"):
                return Response(status_code=401)
            if self.busy:
                self.busy -= 1
                return Response("slow down", 429, headers={"retry-after": "0"})
            if self.broken and self.broken in path:
                return Response("<html>it broke</html>", 500, headers={"retry-after": "0"})
            if (other := self.instead(path, request)) is not None:
                return other
            made: Response = await answer(request, path)
            if self.alters is not None and isinstance(made, JSONResponse):
                return Response(json.dumps(self.alters(path, json.loads(bytes(made.body)))), made.status_code)
            return made

        return guarded

    async def _bytes(self, request: Request) -> Response:
        """A host of its own for bytes, that must not be given the token."""
        assert "authorization" not in request.headers
        return self._file(request, request.path_params["id"])

    def _file(self, request: Request, id_: str, data: bytes | None = None) -> Response:
        if id_ not in self.files:
            return Response(status_code=404)
        self.read.append(id_)
        data = (self.files[id_].data or b"") if data is None else data
        span = request.headers.get("range", "")
        if not span:
            return Response(data)
        first, last = span.removeprefix("bytes=").split("-")
        return Response(data[int(first) : int(last) + 1 if last else None], 206)

    def _since(self, after: int) -> list[str]:
        return list(dict.fromkeys(reversed(self.changes[after:])))[::-1]

    async def _graph(self, request: Request, path: str) -> Response:
        base = f"{self.url}/graph/v1.0"
        if path == "$batch":
            asked = (await request.json())["requests"]
            return JSONResponse({"responses": [self._permissions(one) for one in asked]})
        if path.startswith("users/"):
            return JSONResponse({"id": "b!d"})
        if path.endswith("/content"):
            id_ = path.split("/")[-2]
            return RedirectResponse(f"{self.url.replace('127.0.0.1', 'localhost')}/elsewhere/{id_}", 302)
        if "/items/" in path:
            id_ = path.split("/")[-1]
            return JSONResponse(self._graph_entry(id_)) if id_ in (ROOT, *self.files) else Response(status_code=404)
        since, start = int(request.query_params.get("token", 0)), int(request.query_params.get("skip", 0))
        if since and self.forgets:
            return Response(status_code=410)
        ids = [ROOT, *(self._since(since) if since else self.files)]
        entries = [self._graph_entry(id_) for id_ in ids[start : start + PAGE]]
        found: dict[str, Any] = {"value": entries}
        if start + PAGE < len(ids):
            if not self.cut:
                found["@odata.nextLink"] = f"{base}/drives/b!d/root/delta?token={since}&skip={start + PAGE}"
        else:
            found["@odata.deltaLink"] = f"{base}/drives/b!d/root/delta?token={len(self.changes)}"
        return JSONResponse(found)

    def _graph_entry(self, id_: str) -> dict[str, Any]:
        if id_ == ROOT:
            return {"id": ROOT, "name": ROOT, "root": {}, "folder": {}}
        one = self.files.get(id_)
        if one is None:
            return {"id": id_, "deleted": {"state": "deleted"}}
        kind = {"folder": {}} if one.data is None else {"file": {}, "size": len(one.data), "cTag": f"c{one.at}"}
        above = {"id": one.parent}
        if not self.bare:
            above["path"] = f"/drives/b!d/root:/{self.above(one)}".rstrip("/")
        return {"id": id_, "name": one.name, "parentReference": above, **kind}

    def _permissions(self, asked: dict[str, Any]) -> dict[str, Any]:
        id_ = asked["url"].split("/")[-2]
        if self.throttled:
            self.throttled -= 1
            return {"id": asked["id"], "status": 429, "headers": {"Retry-After": "0"}}
        if id_ in self.refused or id_ not in self.files:
            return {"id": asked["id"], "status": 403 if id_ in self.refused else 404}
        one = self.files[id_]
        value = [{"grantedToV2": {"user": {"email": mail}}} for mail in one.users]
        value += [{"grantedToV2": {"group": {"displayName": name}}} for name in one.groups]
        value += [{"link": {"scope": scope}, "grantedToIdentitiesV2": []} for scope in one.links]
        return {"id": asked["id"], "status": 200, "body": {"value": value}}

    async def _google(self, request: Request, path: str) -> Response:
        asked = request.query_params
        if path == "changes/startPageToken":
            return JSONResponse({"startPageToken": str(len(self.changes))})
        if path == "changes":
            if self.forgets:
                return Response(status_code=410)
            ids = self._since(int(asked["pageToken"]))
            changes = [
                {"changeType": "file", "fileId": id_, "removed": id_ not in self.files}
                | ({"file": self._google_file(id_)} if id_ in self.files else {})
                for id_ in ids
            ]
            return JSONResponse({"changes": changes, "newStartPageToken": str(len(self.changes))})
        if path == "files":
            folders = {False: "!= 'application", True: "= 'application"}
            is_asked = [is_folder for is_folder, words in folders.items() if f"mimeType {words}" in asked["q"]]
            ids = [id_ for id_, one in self.files.items() if not is_asked or (one.data is None) in is_asked]
            start = int(asked.get("pageToken", 0))
            found: dict[str, Any] = {"files": [self._google_file(id_) for id_ in ids[start : start + PAGE]]}
            if self.cut:
                found["incompleteSearch"] = True
            if start + PAGE < len(ids):
                found["nextPageToken"] = str(start + PAGE)
            return JSONResponse(found)
        id_ = path.split("/")[1]
        if path.endswith("/export"):
            return self._file(request, id_, b"exported: " + (self.files[id_].data or b""))
        if asked.get("alt") == "media":
            return self._file(request, id_)
        return JSONResponse(self._google_file(id_)) if id_ in self.files else Response(status_code=404)

    def _google_file(self, id_: str) -> dict[str, Any]:
        one = self.files[id_]
        kind = FOLDER if one.data is None else one.google or "text/plain"
        told: dict[str, Any] = {"id": id_, "name": one.name, "mimeType": kind, "parents": [one.parent]}
        told["modifiedTime"] = f"2026-01-01T00:00:00.{one.at:03}Z"
        if one.data is not None and not one.google:
            told |= {"size": str(len(one.data)), "md5Checksum": hashlib.md5(one.data).hexdigest()}
        if id_ not in self.refused:
            told["permissions"] = [{"type": "user", "emailAddress": mail} for mail in one.users]
            told["permissions"] += [{"type": "group", "emailAddress": mail} for mail in one.groups]
            told["permissions"] += [{"type": scope} for scope in one.links]
            found = [{} if is_found is None else {"allowFileDiscovery": is_found} for _, is_found in one.domains]
            told["permissions"] += [
                {"type": "domain", "domain": d, **f} for (d, _), f in zip(one.domains, found, strict=True)
            ]
        return told

    async def _dropbox(self, request: Request, path: str) -> Response:
        if path == "files/download":
            return self._file(request, json.loads(request.headers["dropbox-api-arg"])["path"])
        start = int((await request.json()).get("cursor", 0))
        if start and self.forgets:
            return JSONResponse({"error_summary": "reset/."}, 409)
        entries = [self._dropbox_entry(one) for one in list(self.files.values())[start : start + PAGE]]
        more = start + PAGE < len(self.files)
        if self.cut and more:
            return Response("{", 200)
        return JSONResponse({"entries": entries, "has_more": more, "cursor": str(start + PAGE)})

    def _dropbox_entry(self, one: CloudFile) -> dict[str, Any]:
        path = f"/{self.above(one)}/{one.name}".replace("//", "/")
        if one.data is None:
            return {".tag": "folder", "id": one.id, "path_display": path}
        digest = hashlib.sha256(one.data).hexdigest()
        return {".tag": "file", "id": one.id, "path_display": path, "size": len(one.data), "content_hash": digest}

    async def _box(self, request: Request, path: str) -> Response:
        kind, id_, *_ = path.split("/")
        if kind == "files":
            return RedirectResponse(f"{self.url.replace('127.0.0.1', 'localhost')}/elsewhere/{id_}", 302)
        if id_ in self.refused:
            return Response(status_code=403)
        folder = ROOT if id_ == "0" else id_
        inside = [one for one in self.files.values() if one.parent == folder]
        start = int(request.query_params.get("marker", 0))
        found: dict[str, Any] = {"entries": [box_entry(one) for one in inside[start : start + PAGE]]}
        if start + PAGE < len(inside):
            found["next_marker"] = str(start + PAGE)
        if self.cut and folder != ROOT:
            found = {"entries": None}
        return JSONResponse(found)


def box_entry(one: CloudFile) -> dict[str, Any]:
    """A row of Box's listings."""
    if one.data is None:
        return {"type": "folder", "id": one.id, "name": one.name}
    digest = hashlib.sha1(one.data).hexdigest()
    return {"type": "file", "id": one.id, "name": one.name, "size": len(one.data), "sha1": digest}


@contextmanager
def run_clouds() -> Iterator[CloudDrive]:
    """The four on a free loopback port."""
    drive = CloudDrive()
    with served(Starlette(routes=drive.routes())) as url:
        drive.url = url
        yield drive
