"""A server whose answers have no end, are packed many times over, or lie about their length; it counts connections."""

import gzip
import itertools
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import brotli

HUGE = 1 << 28  # bytes that a bomb unpacks to
JSON = {"Content-Type": "application/json"}
EVENTS = {"Content-Type": "text/event-stream"}
PACKINGS = ("gzip", "deflate", "br", "gzip, gzip", "gzip, br")


@dataclass(frozen=True, slots=True)
class Flood:
    """One answer; `blocks` makes its body anew for each request. Without Content-Length it is sent in chunks."""

    blocks: Callable[[], Iterable[bytes]]
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)
    status: int = 200


@dataclass
class FloodServer:
    """What it says by path, `*` for all others, and what it has seen."""

    answers: Mapping[str, Flood]
    url: str = ""
    connections: int = 0
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


def text(said: str | bytes, headers: Mapping[str, str] = JSON, status: int = 200) -> Flood:
    """An answer in good faith."""
    data = said.encode() if isinstance(said, str) else said
    return Flood(lambda: (data,), headers, status)


def endless(block: bytes, headers: Mapping[str, str] = JSON, status: int = 200, first: bytes = b"") -> Flood:
    """An answer that never ends."""
    return Flood(lambda: itertools.chain((first,), itertools.repeat(block)), headers, status)


def trickle(block: bytes, seconds: float, headers: Mapping[str, str] = JSON) -> Flood:
    """An answer that never ends and never falls silent."""

    def blocks() -> Iterator[bytes]:
        while True:
            yield block
            time.sleep(seconds)

    return Flood(blocks, headers)


def bomb(packing: str, headers: Mapping[str, str] = JSON, status: int = 200) -> Flood:
    """An answer of a few hundred kilobytes that unpacks to HUGE."""
    return Flood(lambda: (packed(packing),), {**headers, "Content-Encoding": packing}, status)


@cache
def packed(packing: str) -> bytes:
    """HUGE zeros in as few bytes as each way of packing needs; made once, in about a second."""
    first, *others = packing.split(", ")
    body = b"".join(_pack(first))
    for outer in others:
        body = gzip.compress(body) if outer == "gzip" else brotli.compress(body)
    return body


def _pack(packing: str) -> Iterator[bytes]:
    block = bytes(1 << 20)
    if packing == "br":
        packer = brotli.Compressor(quality=1, lgwin=24)
        yield from (packer.process(block) for _ in range(HUGE >> 20))
        yield packer.finish()
    else:
        zipper = zlib.compressobj(1, wbits=31 if packing == "gzip" else 15)
        yield from (zipper.compress(block) for _ in range(HUGE >> 20))
        yield zipper.flush()


@contextmanager
def flooding(answer: Flood | Mapping[str, Flood]) -> Iterator[FloodServer]:
    """Listen on a free port while the block runs."""
    fake = FloodServer({"*": answer} if isinstance(answer, Flood) else answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            fake.connections += 1
            super().setup()

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            fake.asked.append((path, {name.lower(): value for name, value in self.headers.items()}))
            found = fake.answers.get(path) or fake.answers["*"]
            chunked = "Content-Length" not in found.headers
            self.send_response(found.status)
            for name, value in {**found.headers, **({"Transfer-Encoding": "chunked"} if chunked else {})}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for block in found.blocks():
                    if block:
                        self.wfile.write(f"{len(block):x}\r\n".encode() + block + b"\r\n" if chunked else block)
                        self.wfile.flush()
                if chunked:
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:  # the client has had enough
                self.close_connection = True

        do_GET = do_POST = do_PUT = _answer

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        with suppress(OSError):
            server.shutdown()
        server.server_close()
        thread.join()
