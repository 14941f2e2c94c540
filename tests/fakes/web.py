"""A web server on loopback that records every request and answers what a test says, over HTTP or TLS."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request; header names are lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def line(self) -> str:
        return f"{self.method} {self.target}"


@dataclass(frozen=True)
class Says:
    """An answer."""

    body: bytes = b""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0  # seconds before it


def as_json(value: Any, status: int = 200) -> Says:
    return Says(json.dumps(value).encode(), status, "application/json")


Answer = Callable[[Asked], Says]


@dataclass
class Web:
    """`asked` has every request in its order."""

    host: str
    port: int = 0
    asked: list[Asked] = field(default_factory=list)


@asynccontextmanager
async def web(
    answer: Answer, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Web]:
    """Listen while the block runs."""
    made = Web(host)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            method, target, _ = lines[0].split(" ")
            asked = Asked(method, target, headers, body)
            made.asked.append(asked)
            says = answer(asked)
            await asyncio.sleep(says.wait)
            head = {"Content-Type": says.kind, "Content-Length": str(len(says.body)), "Connection": "close"}
            told = "".join(f"{name}: {value}\r\n" for name, value in {**head, **says.headers}.items() if value)
            writer.write(f"HTTP/1.1 {says.status} Said\r\n{told}\r\n".encode("latin-1"))
            writer.write(b"" if method == "HEAD" else says.body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    running = await asyncio.start_server(serve, host, port, ssl=tls)
    made.port = running.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        running.close()


async def here(host: str, port: int) -> Sequence[str]:
    """A resolver for which every name is this machine."""
    return ["127.0.0.1"]
