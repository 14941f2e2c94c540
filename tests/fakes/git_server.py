"""A real Git server on loopback: `git http-backend` behind HTTP, with LFS, passwords, and ways to break."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "LC_ALL": "C",
}


def git(folder: Path, *words: str, **env: str) -> str:
    """What it prints; `env` beside the usual."""
    if shutil.which("git") is None:
        raise RuntimeError("these tests need git: apt-get install -y --no-install-recommends git")
    done = subprocess.run(
        ["git", "-C", str(folder), *words], env=ENV | env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@dataclass
class GitServer:
    """Repositories below `root`.

    `password` is asked for where it is set; `spoil` gets each answer to a fetch and gives what is sent instead; `cut`:
    so many bytes of it are sent before the connection ends; `status` answers everything; `sent` counts bytes of packs.
    """

    root: Path
    url: str = ""
    password: str | None = None
    status: int | None = None
    location: str = ""
    cut: int | None = None
    spoil: Any = None
    lfs: dict[str, bytes] = field(default_factory=dict)
    sent: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def repository(self, name: str = "papers") -> Path:
        """A working copy whose bare twin is served; `push` brings it there."""
        bare, work = self.root / f"{name}.git", self.root.parent / f"{name}-work"
        self.root.mkdir(exist_ok=True)
        git(self.root, "init", "-q", "--bare", "-b", "main", str(bare))
        git(bare, "config", "uploadpack.allowFilter", "true")
        work.mkdir()
        git(work, "init", "-q", "-b", "main")
        git(work, "remote", "add", "origin", str(bare))
        return work

    def keep(self, content: bytes) -> str:
        """A pointer to what LFS has."""
        oid = hashlib.sha256(content).hexdigest()
        self.lfs[oid] = content
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


def push(work: Path, message: str = "next", *, rewritten: bool = False) -> None:
    git(work, "add", "-A")
    git(work, "commit", "-q", "--allow-empty", "-m", message, *(["--amend"] if rewritten else []))
    git(work, "push", "-q", "--force", "origin", "HEAD:main")


@contextmanager
def git_server(folder: Path) -> Iterator[GitServer]:
    server = GitServer(folder / "served")
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"told": server}))
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    told: GitServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def _answer(self, body: bytes) -> None:
        server = self.told
        server.asked.append(self.path)
        wanted = None if server.password is None else base64.b64encode(f"git:{server.password}".encode()).decode()
        if server.status is not None:
            self._send(server.status, {"Location": server.location} if server.location else {}, b"")
        elif wanted is not None and self.headers.get("Authorization") != f"Basic {wanted}":
            self._send(401, {"WWW-Authenticate": "Basic"}, b"")
        elif self.path.endswith("/info/lfs/objects/batch"):
            self._send(200, {"Content-Type": "application/vnd.git-lfs+json"}, self._batch(json.loads(body)))
        elif self.path.startswith("/lfs/"):
            content = server.lfs.get(self.path.removeprefix("/lfs/"))
            self._send(404 if content is None else 200, {}, content or b"")
        else:
            self._send(*self._backend(body))

    def _batch(self, asked: dict[str, Any]) -> bytes:
        objects: list[dict[str, Any]] = []
        for one in asked["objects"]:
            there = {"actions": {"download": {"href": f"{self.told.url}/lfs/{one['oid']}"}}}
            objects.append({**one, **(there if one["oid"] in self.told.lfs else {"error": {"code": 404}})})
        return json.dumps({"transfer": "basic", "objects": objects}).encode()

    def _backend(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        path, _, query = self.path.partition("?")
        env = {
            **ENV,
            "GIT_PROJECT_ROOT": str(self.told.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        if b"packfile" in answer or b"PACK" in answer:
            self.told.sent.append(len(answer))
            if self.told.spoil is not None:
                answer = self.told.spoil(answer)
        return status, headers, answer

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = self.told.cut if b"PACK" in body else None
        self.wfile.write(body[:cut])
        if cut is not None:
            self.close_connection = True
