"""A receiver of webhooks over real HTTP, which checks signatures by the reference library, and misbehaves on demand."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook


@dataclass(frozen=True)
class Received:
    """A message that was accepted."""

    id: str
    type: str
    data: Mapping[str, Any]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Receiver:
    """Attributes:
    secrets: one of them has to fit, else the answer is 401.
    status, headers, body: the answer; `drip` sends the body slowly, `wait` seconds pass before any.
    asked: how many requests came, accepted or not; `paths` where to.
    """

    port: int = 0
    secrets: list[str] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    raw: bytes | None = None  # in place of an answer
    wait: float = 0.0
    drip: float = 0.0
    got: list[Received] = field(default_factory=list)
    asked: int = 0
    refused: int = 0
    paths: list[str] = field(default_factory=list)
    server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.got]

    def by_subject(self, name: str) -> dict[str, list[str]]:
        """Types in the order in which they came, each event once, by an id in the data."""
        seen, found = set[str](), defaultdict[str, list[str]](list)
        for one in self.got:
            if one.id not in seen and name in one.data:
                found[one.data[name]].append(one.type)
            seen.add(one.id)
        return dict(found)

    def start(self) -> None:
        """From now on somebody listens; again at the same port after a `stop`."""
        self.server = _Server(("127.0.0.1", self.port), _handler_of(self))
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Nobody listens any more."""
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def is_signed(self, body: bytes, headers: Mapping[str, str]) -> bool:
        for secret in self.secrets:
            try:
                Webhook(secret).verify(body, dict(headers))
            except Exception:  # noqa: BLE001 -- the library raises its own and whatever its parsing meets
                continue
            return True
        return False


class _Server(ThreadingHTTPServer):
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 128

    def handle_error(self, *_: Any) -> None:
        """A client that goes is no news."""


def _handler_of(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.asked += 1
            receiver.paths.append(self.path)
            length = int(self.headers.get("content-length", "0"))
            body = self.rfile.read(length)
            if len(body) < length:  # a sender that was killed while it wrote: nothing to judge
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            time.sleep(receiver.wait)
            if receiver.raw is not None:
                self.wfile.write(receiver.raw)
                return
            fits = receiver.is_signed(body, headers)
            receiver.refused += not fits
            status = receiver.status if fits else 401
            if 200 <= status < 300:
                said = json.loads(body)
                receiver.got.append(Received(headers["webhook-id"], said["type"], said["data"], headers, body))
            self.send_response(status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(receiver.body)))
            self.end_headers()
            for start in range(0, len(receiver.body), 10_000):
                self.wfile.write(receiver.body[start : start + 10_000])
                time.sleep(receiver.drip)

        do_GET = do_POST

        def log_message(self, *_: Any) -> None:
            """Nothing on the terminal."""

    return Handler


@contextmanager
def receiving(**how: Any) -> Iterator[Receiver]:
    """A receiver that listens."""
    made = Receiver(**how)
    made.start()
    try:
        yield made
    finally:
        made.stop()
