"""The HTTP API as far as the command line needs it, over real HTTP, scripted per test."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ApiServer:
    """Answers by `METHOD /path` (query left out); a list is answered one by one, its last for ever."""

    answers: dict[str, Any]
    token: str = "access-1"
    calls: list[Call] = field(default_factory=list)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)  # more of them, by `METHOD /path`
    short: int = 0  # that many bytes of each file never come
    breaks: int = 0  # that many connections are closed without an answer
    url: str = ""

    def of(self, line: str) -> list[Call]:
        """The calls of one route."""
        return [call for call in self.calls if f"{call.method} {call.path.partition('?')[0]}" == line]


@contextmanager
def serve_api(answers: dict[str, Any]) -> Iterator[ApiServer]:
    """Listen on a free port while the block runs. An answer is a body, a stream's text, bytes, or (status, body)."""
    fake = ApiServer(answers)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            sent = self.rfile.read(size)
            kind = self.headers.get("Content-Type", "")  # a body without one is bytes
            body = (sent if kind.startswith("multipart/") or not kind else json.loads(sent)) if size else None
            fake.calls.append(Call(self.command, self.path, dict(self.headers), body))
            if fake.breaks:
                fake.breaks -= 1
                self.connection.close()
                return
            status, answer = _pick(fake, f"{self.command} {self.path.partition('?')[0]}", self.headers)
            stream = isinstance(answer, str)
            data = answer if isinstance(answer, bytes) else answer.encode() if stream else json.dumps(answer).encode()
            kind = "application/json" if status < 400 else "application/problem+json"
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if stream else kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in fake.headers.get(f"{self.command} {self.path.partition('?')[0]}", {}).items():
                self.send_header(name, value)
            self.end_headers()
            cut = fake.short if isinstance(answer, bytes) else 0
            self.wfile.write(data[: len(data) - cut])
            self.close_connection |= cut > 0

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()


def _pick(fake: ApiServer, line: str, headers: Any) -> tuple[int, Any]:
    open_to_all = "/api/auth/" in line and not line.endswith("/password")
    if not open_to_all and headers.get("Authorization") != f"Bearer {fake.token}":
        return 401, {"title": "Sign in first.", "detail": "the token is not valid", "code": "unauthenticated"}
    found = fake.answers.get(line)
    if isinstance(found, list):
        found = found.pop(0) if len(found) > 1 else found[0]
    if found is None:
        return 404, {"title": "There is no such object here.", "detail": "nothing here", "fix": "Check the id."}
    return found if isinstance(found, tuple) else (200, found)
