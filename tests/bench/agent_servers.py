"""What bench_agents measures, each in a process of its own: `python -m tests.bench.agent_servers ROLE PORT ...`."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import uvicorn

from cluster.basics.scope import Scope
from cluster.models.chat.factory import open_model
from cluster.models.connections.configured import of_settings
from cluster.models.connections.egress import model_client
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.messages import TokenUsage
from cluster.models.ports import ChatModel
from cluster.models.routing.router import ModelRouter
from cluster.models.routing.spend import MonthlySpend
from configs.sections import LlmSettings
from configs.settings import load_settings
from serve_apps.agents.durable.in_process import TurnModels
from serve_apps.agents.durable.run_loop import emit_opening
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.encode import StreamCursor, s3
from serve_apps.agents.streams.subscriber import EventQueue
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn_ports import Json, RunId, Turn, TurnOrchestrator
from serve_apps.http.app import create_app
from serve_apps.http.streams.turn_response import chunk_frame
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes.agents import MemoryJournal, turn
from tests.fakes.crew import FakeTool, crew
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say
from tests.fakes.models import FakeEmbedder

POOL = 5
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_NUMBER = re.compile(r"number (\d+)")


def question(number: int) -> str:
    """What stream `number` asks; the model at once answers with `answer(number)`."""
    return f"/chat Tell me about the pump with the number {number}."


def answer(number: int) -> str:
    """About 400 characters in which every piece knows whose it is."""
    return " ".join(f"pump{number}.{at}" for at in range(40))


def reply(body: Any) -> Say:
    """By the last question."""
    asked = [str(one["content"]) for one in body["messages"] if one["role"] == "user"]
    found = _NUMBER.findall(asked[-1])
    return Say(answer(int(found[-1])))


def environment(state: Path, model: str) -> dict[str, str]:
    """The product's settings: the embedded servers, five connections, the scripted model."""
    return {
        "AOS_STATE_DIR": str(state),
        "AOS_LIMITS_ENABLED": "false",  # tests ask more often than people do
        "AOS_POSTGRES_POOL_SIZE": str(POOL),
        "LLM_BASE_URL": model,
        "LLM_DEFAULT_MODEL": "scripted-1",
        "AOS_LLM_SUPPORTS_TOOLS": "true",
    }


def product(port: int, state: Path, model: str) -> None:
    """The real application with everything in one process."""

    def nowhere() -> TurnOrchestrator:
        raise AssertionError("agents are placed here")

    parts = build_app_dependencies(load_settings(environment(state, model)), FakeEmbedder(), None, nowhere)
    _listen(create_app(parts), port)


def plain(port: int, model: str) -> None:
    """The same loop and the same router behind nothing but uvicorn; the journal is in memory."""
    _listen(Plain(model), port)


class Plain:
    """An ASGI application with one route."""

    def __init__(self, model: str) -> None:
        """`model` is the base URL of an OpenAI-compatible server."""
        connection = of_settings(LlmSettings(base_url=model, model="scripted-1", supports_tools=True))
        assert connection is not None
        self._crew = crew(TurnModels(ModelRouter(OneConnection(connection, model_client()), NoPurse())), FakeTool())

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Read a message, stream the turn."""
        if scope["type"] == "lifespan":
            return await _live(receive, send)
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        asked = turn(json.loads(body)["message"].removeprefix("/chat "), run=RunId(str(uuid4())))
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        reading = StreamCursor()
        async for event in self._events(asked):
            chunk = None if (fresh := reading.take(event)) is None else s3(event, fresh)
            if chunk is not None:
                line = chunk_frame(chunk, reading.id).encode()
                await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _events(self, asked: Turn) -> AsyncIterator[Event]:
        outlet = EventQueue()

        async def carry() -> None:
            journal = ShownJournal(run=asked.run, shown=outlet)
            emit_opening(asked, journal)
            outcome = await run_conversation(asked, journal, self._crew)
            journal.emit(EventKind.DONE, answer=outcome.answer)

        carried = asyncio.create_task(carry())
        carried.add_done_callback(lambda _: outlet.close())
        async for event in outlet:
            yield event
        await carried


@dataclass
class ShownJournal(MemoryJournal):
    """A journal in memory with somebody who reads along."""

    shown: EventQueue = field(default_factory=EventQueue)
    _passed: int = 0

    def emit(self, kind: EventKind, **data: Json) -> Event:
        event = super().emit(kind, **data)
        self._passed = 0
        self.shown.put(event)
        return event

    def emit_delta(self, text: str) -> None:
        super().emit_delta(text)
        self.shown.put(Event(len(self.events) + 1, EventKind.TEXT, {"text": text}, self._passed, piece=True))
        self._passed += len(text)


@dataclass(frozen=True)
class OneConnection:
    """A workspace's connections, without a database."""

    connection: ModelConnection
    client: httpx2.AsyncClient

    async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], str | None]:
        return (self.connection,), self.connection.id

    async def open(self, scope: Scope, connection: ModelConnection) -> ChatModel:
        return open_model(connection, None, self.client, asyncio.sleep)


class NoPurse:
    """Nothing costs anything."""

    async def state(self, scope: Scope, agent: str, config: Mapping[str, Any]) -> MonthlySpend:
        return MonthlySpend(Decimal(0), Decimal(0), None, None)

    async def add(self, scope: Scope, agent: str, usage: TokenUsage, cost_usd: float) -> None:
        """Nobody counts."""


def model(port: int) -> None:
    """The scripted model, without latency."""
    with serve_model(reply, port=port) as served:
        print(served.url, flush=True)
        sys.stdin.read()


def _listen(app: Any, port: int) -> None:
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False, backlog=512)


async def _live(receive: Receive, send: Send) -> None:
    for answered in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{answered}.complete"})


def main(role: str, port: str, *rest: str) -> None:
    """Serve until stopped; the model until its standard input ends."""
    match role:
        case "product":
            product(int(port), Path(rest[0]), rest[1])
        case "plain":
            plain(int(port), rest[0])
        case "model":
            model(int(port))
        case _:
            sys.exit(f"no role {role}")


if __name__ == "__main__":
    main(*sys.argv[1:])
