"""Connections, models and a purse in memory, for tests of the router."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.connections.endpoint_connection import Connection, ConnectionId, Provider
from cluster.models.messages import ChatRequest, Delta, Message, Reply, Usage
from cluster.models.routing.spend import Spent

SCOPE = Scope(TenantId("00000000-0000-0000-0000-0000000000aa"), WorkspaceId("00000000-0000-0000-0000-0000000000bb"))
HELLO = ChatRequest((Message("user", "Hello"),))


def connection(name: str, *, price: float = 0, tools: bool = True, enabled: bool = True) -> Connection:
    """A connection whose id is derived from its name; `price` is USD for a million tokens, in and out alike."""
    return Connection(
        ConnectionId(f"id-{name}"),
        name,
        f"http://{name}.test/v1",
        f"model-of-{name}",
        Provider.OPENAI,
        tools=tools,
        price_in=price,
        price_out=price,
        enabled=enabled,
    )


@dataclass
class ScriptedModel:
    """Says its pieces, then fails with `error` or ends with a reply; `stalls` after the pieces until it is closed."""

    pieces: tuple[str, ...] = ("Hello", " there")
    error: AosError | None = None
    usage: Usage = field(default_factory=lambda: Usage(1000, 500))
    stalls: bool = False
    replies: bool = True
    asked: list[ChatRequest] = field(default_factory=list)
    closed: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | Reply]:
        self.asked.append(request)
        try:
            for text in self.pieces:
                yield Delta(text)
            if self.stalls:
                self.begun.set()
                await asyncio.Event().wait()
            if self.error is not None:
                raise self.error
            if self.replies:
                yield Reply("".join(self.pieces), usage=self.usage, model="as-named-by-the-provider")
        finally:
            self.closed += 1


def failing(error: AosError) -> ScriptedModel:
    """Fails before it says anything."""
    return ScriptedModel((), error)


@dataclass
class Shelf:
    """`Connections` in memory: each with its model; `locked` ones cannot be opened."""

    models: dict[Connection, ScriptedModel]
    by_default: str | None = None
    locked: Mapping[str, AosError] = field(default_factory=dict)

    async def offered(self, scope: Scope) -> tuple[Sequence[Connection], str | None]:
        assert scope == SCOPE
        return tuple(self.models), self.by_default

    async def open(self, scope: Scope, connection: Connection) -> ScriptedModel:
        if connection.name in self.locked:
            raise self.locked[connection.name]
        return self.models[connection]


@dataclass
class MemoryPurse:
    """What was counted; `spent` is what it says was spent before, `asked` how often it said so."""

    spent: Spent = field(default_factory=lambda: Spent(Decimal(0), Decimal(0), None, None))
    added: list[tuple[str, Usage, float]] = field(default_factory=list)
    asked: int = 0

    async def state(self, scope: Scope, agent: str, config: Mapping[str, Any]) -> Spent:
        self.asked += 1
        return self.spent

    async def add(self, scope: Scope, agent: str, usage: Usage, cost_usd: float) -> None:
        self.added.append((agent, usage, cost_usd))
