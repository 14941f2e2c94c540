"""A scripted chat model over real HTTP on a free port: it answers, stalls, breaks, and knows when its client left.

    with serve_model(Say("Hello."), Say(calls=(Use("calculator", {"expression": "1+1"}),)), busy("1")) as model:
        ...  # model.url is an OpenAI base URL, model.root an Anthropic or Azure one
        assert model.requests[0].body["messages"]

Replies are given in order, the last for ever; a callable in their place decides by the request's body.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import model_wires as wires
from tests.fakes.model_wires import Json, Say, Use, busy, failing

__all__ = ["Asked", "ModelServer", "Say", "Use", "busy", "failing", "serve_model"]

Answer = Say | Callable[[Json], Say]
GARBAGE = b'data: {"choices": [{"del\xff\xfe\n\n'


@dataclass
class Asked:
    """One request that arrived.

    Attributes:
        at: seconds on the monotonic clock.
        closed: set when the client left before the answer's end; `closed_at` is when.
        ended: set when the server is through with it, either way.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    at: float
    closed: threading.Event = field(default_factory=threading.Event)
    closed_at: float | None = None
    ended: threading.Event = field(default_factory=threading.Event)


@dataclass
class ModelServer:
    """What it says and what it was asked.

    Attributes:
        replies: consumed in order, the last stays.
        key: where it is set, requests without it get 401.
        models: what GET /v1/models names; None where there is no such list.
        ollama: whether GET /api/tags is answered.
        prefixes: bases below which the API lives; a request elsewhere gets 404.
        refuses: fields of the body that get a 400, as with servers that do not know them.
        streams: false for an endpoint that answers a streamed request with a whole body.
        everything: the answer to each request of any kind, where it is set.
        first_sent: seconds on the monotonic clock when the first words of each streamed reply were sent.
    """

    replies: list[Answer]
    key: str | None = None
    models: tuple[str, ...] | None = ("scripted-1",)
    ollama: bool = False
    prefixes: tuple[str, ...] = ("/v1", "/openai", "/compatibility/v1")
    refuses: frozenset[str] = frozenset()
    streams: bool = True
    everything: Say | None = None
    dimension: int = 8
    requests: list[Asked] = field(default_factory=list)
    first_sent: list[float] = field(default_factory=list)
    root: str = ""
    open_connections: int = 0

    @property
    def url(self) -> str:
        """The base URL of an OpenAI-compatible client."""
        return f"{self.root}/v1"

    @property
    def chats(self) -> list[Asked]:
        """The requests for a reply."""
        return [
            asked
            for asked in self.requests
            if asked.path.partition("?")[0].endswith(("/chat/completions", "/messages"))
        ]

    def arrived(self, count: int, seconds: float = 5) -> None:
        """Wait (in a thread, where there is a loop) until so many requests for a reply have come."""
        until = time.monotonic() + seconds
        while len(self.chats) < count:
            assert time.monotonic() < until, f"{len(self.chats)} of {count} requests came"
            time.sleep(0.005)

    def next(self, body: Json) -> Say:
        """The reply to this request."""
        answer = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return answer if isinstance(answer, Say) else answer(body)


@contextmanager
def serve_model(*replies: Answer, port: int = 0, **options: Any) -> Iterator[ModelServer]:
    """Listen in a thread of its own while the block runs; without replies it says "ok"."""
    model = ModelServer(list(replies) or [Say("ok")], **options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="scripted-model", daemon=True)
    thread.start()

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(lambda r, w: _Connection(model, r, w).serve(), "127.0.0.1", port, backlog=512)

    async def stop(server: asyncio.Server) -> None:
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    model.root = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield model
    finally:
        asyncio.run_coroutine_threadsafe(stop(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


class Gone(Exception):
    """The client left."""


class _Connection:
    """One client's connection: requests one after the other."""

    def __init__(self, model: ModelServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.model, self.reader, self.writer = model, reader, writer

    async def serve(self) -> None:
        self.model.open_connections += 1
        try:
            while (asked := await self._read()) is not None:
                self.model.requests.append(asked)
                try:
                    await self._answer(asked)
                except (Gone, ConnectionError):
                    asked.closed_at = time.monotonic()
                    asked.closed.set()
                    return
                finally:
                    asked.ended.set()
        except (asyncio.IncompleteReadError, ConnectionError, _Cut):
            return
        finally:
            self.model.open_connections -= 1
            self.writer.transport.abort() if self.writer.transport.is_closing() else self.writer.close()

    async def _read(self) -> Asked | None:
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        line, *rest = head.rstrip().split("\r\n")
        method, path, _ = line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (header.partition(":") for header in rest)}
        raw = await self.reader.readexactly(int(headers.get("content-length") or 0))
        return Asked(method, path, headers, json.loads(raw) if raw else None, time.monotonic())

    async def _answer(self, asked: Asked) -> None:
        model, path = self.model, asked.path.partition("?")[0]
        if model.everything is not None:
            return await self._reply(model.everything, {}, False)
        if model.key is not None and model.key not in _credentials(asked.headers):
            return await self._whole(failing(401, "Incorrect API key provided").body, 401)
        if path == "/api/tags" and model.ollama and model.models:
            return await self._whole({"models": [{"name": name, "model": name} for name in model.models]})
        if not path.startswith(model.prefixes):
            return await self._whole({"error": {"message": f"no route {path}"}}, 404)
        if path.endswith("/models") and model.models is not None:
            return await self._whole(_models(model.models, "anthropic-version" in asked.headers))
        if asked.method != "POST":
            return await self._whole({"error": {"message": "Method Not Allowed"}}, 405)
        if unknown := sorted(name for name in model.refuses if asked.body.get(name)):
            message = f"Unrecognized request argument supplied: {unknown[0]}"
            return await self._whole({"error": {"message": message, "param": unknown[0]}}, 400)
        if path.endswith("/embeddings"):
            return await self._whole(wires.embeddings(asked.body, model.dimension))
        if path.endswith(("/chat/completions", "/messages")):
            return await self._reply(model.next(asked.body), asked.body, path.endswith("/messages"))
        return await self._whole({"error": {"message": f"no route {path}"}}, 404)

    async def _reply(self, say: Say, body: Json, anthropic: bool) -> None:
        await self._pause(say.wait)
        if say.status != 200 or say.body is not None:
            return await self._whole(say.body, say.status, say.headers)
        if not (body.get("stream") and self.model.streams):
            if say.after == "hang":
                await self._hang()
            if say.after == "cut":
                self._cut()
            whole = wires.anthropic_body if anthropic else wires.openai_body
            return await self._whole(whole(say, body), headers=say.headers)
        await self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **say.headers})
        frames, end, piece = (
            (wires.anthropic_frames, wires.anthropic_end, wires.anthropic_piece)
            if anthropic
            else (wires.openai_frames, wires.openai_end, wires.openai_piece)
        )
        sent = list(frames(say, body))[: say.upto]
        await self._send_all(sent[:1], 0)
        self.model.first_sent.append(time.monotonic())
        await self._send_all(sent[1:], say.between)
        match say.after:
            case "done":
                await self._send_all(end(say, body), 0)
            case "cut":
                self._cut()
            case "garbage":
                await self._send(GARBAGE)
            case "hang":
                await self._hang()
            case "forever" | "ping":
                while True:
                    await self._send(piece("more ", body) if say.after == "forever" else b": ping\n\n")
                    await self._pause(say.between or 0.01)
            case "stop":
                pass
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def _send_all(self, frames: Iterable[bytes], between: float) -> None:
        for frame in frames:
            await self._send(frame)
            await self._pause(between)

    async def _send(self, data: bytes) -> None:
        if self._left():
            raise Gone
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def _head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def _whole(self, body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sized = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
        await self._head(status, sized)
        self.writer.write(data)
        await self.writer.drain()

    async def _pause(self, seconds: float) -> None:
        """Wait, and notice a client that leaves."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.01))
            if self._left():
                raise Gone

    async def _hang(self) -> None:
        await self._pause(3600)

    def _cut(self) -> None:
        self.writer.transport.abort()
        raise _Cut

    def _left(self) -> bool:
        return self.reader.at_eof() or self.reader.exception() is not None or self.writer.transport.is_closing()


class _Cut(Exception):
    """The server itself breaks the connection."""


def _credentials(headers: Mapping[str, str]) -> list[str]:
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return [bearer, *(value for name, value in headers.items() if "key" in name)]


def _models(names: Sequence[str], anthropic: bool) -> Json:
    if anthropic:
        return {"data": [{"type": "model", "id": name} for name in names], "has_more": False}
    return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "tests"} for name in names]}


def run(port: int, replies: Iterable[Answer] = ()) -> None:
    """Serve until interrupted: `python -m tests.fakes.model_server 8099` is an endpoint to try things with by hand."""
    with serve_model(*(list(replies) or [Say("Hello from the scripted model.")]), port=port) as model:
        print(model.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    import sys

    run(int(sys.argv[1]))
