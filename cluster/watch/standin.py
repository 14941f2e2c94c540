"""Somebody at the API's port while nobody else is: every request is told to come back, and none is told 404."""

import json
import socket
import socketserver
import threading
from contextlib import suppress
from pathlib import Path

from cluster.basics.security_headers import SECURITY_HEADERS

RETRY_SECONDS = 2
WAIT_SECONDS = 5.0  # for a client who says nothing
MOST_HEAD = 64 * 1024
LISTENING = "0A"  # of /proc/net/tcp


def problem_body() -> bytes:
    """The body of the answer: problem details (RFC 9457), in the shape of all others."""
    return json.dumps(
        {
            "type": "urn:aos:problem:unavailable",
            "title": "A part of the system cannot be reached.",
            "status": 503,
            "detail": "the API is being started or repaired",
            "code": "unavailable",
            "fix": f"Send it again in {RETRY_SECONDS} seconds; `aos doctor` says what is wrong.",
            "instance": "urn:aos:port",
        }
    ).encode()


def refusal_response() -> bytes:
    """The whole answer as it goes over the wire; HAProxy's error files have the same form."""
    body = problem_body()
    security = "".join(f"{name}: {value}\r\n" for name, value in SECURITY_HEADERS.items())
    head = (
        "HTTP/1.1 503 Service Unavailable\r\n"
        "Content-Type: application/problem+json\r\n"
        f"Retry-After: {RETRY_SECONDS}\r\n"
        "Cache-Control: no-store\r\n"
        f"{security}"
        "Connection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Refusal(socketserver.BaseRequestHandler):
    request: socket.socket

    def handle(self) -> None:
        self.request.settimeout(WAIT_SECONDS)
        with suppress(OSError):  # clients go away as they like
            head = b""
            while b"\r\n\r\n" not in head and len(head) < MOST_HEAD:
                read = self.request.recv(4096)
                if not read:
                    return
                head += read
            self.request.sendall(refusal_response())
            self.request.shutdown(socket.SHUT_WR)
            self.request.settimeout(0.2)  # what is still on its way would turn our answer into a reset
            while self.request.recv(65536):
                continue


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    allow_reuse_port = True  # the proxy takes the port beside us, so that nobody finds it closed between the two
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client's trouble is no news."""


class StandIn:
    """Answers at a port; opening and closing it twice does no harm."""

    def __init__(self, host: str, port: int) -> None:
        """Nothing is opened."""
        self._host, self._port = host, port
        self._server: _Server | None = None

    @property
    def is_open(self) -> bool:
        """True while it answers."""
        return self._server is not None

    def open(self) -> bool:
        """Begin to answer; False where somebody else is there: the kernel would give us a part of his clients."""
        if self._server is None:
            if count_listeners(self._port):
                return False
            try:
                server = _Server((self._host, self._port), _Refusal)
            except OSError:
                return False
            threading.Thread(target=server.serve_forever, args=(0.1,), name="stand-in", daemon=True).start()
            self._server = server
        return True

    def close(self) -> None:
        """Leave the port to the proxy."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def count_listeners(port: int, tables: tuple[Path, ...] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))) -> int:
    """The number of sockets that listen at a port of this machine."""
    wanted, count = f"{port:04X}", 0
    for table in tables:
        with suppress(OSError):  # no such family here
            for line in table.read_text().splitlines()[1:]:
                words = line.split()
                count += words[3] == LISTENING and words[1].rpartition(":")[2] == wanted
    return count
