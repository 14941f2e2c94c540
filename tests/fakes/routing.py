"""Connections, models and a purse in memory, for tests of the router."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.connections.endpoint_connection import ConnectionId, ModelConnection, Provider
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply, ReplyDelta, TokenUsage
from cluster.models.routing.spend import MonthlySpend

SCOPE = Scope(TenantId("00000000-0000-0000-0000-0000000000aa"), WorkspaceId("00000000-0000-0000-0000-0000000000bb"))
HELLO = ChatRequest((ModelMessage("user", "Hello"),))


def connection(name: str, *, price: float = 0, tools: bool = True, enabled: bool = True) -> ModelConnection:
    """A connection whose id is derived from its name; `price` is USD for a million tokens, in and out alike."""
    return ModelConnection(
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
    usage: TokenUsage = field(default_factory=lambda: TokenUsage(1000, 500))
    stalls: bool = False
    replies: bool = True
    asked: list[ChatRequest] = field(default_factory=list)
    closed: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        self.asked.append(request)
        try:
            for text in self.pieces:
                yield ReplyDelta(text)
            if self.stalls:
                self.begun.set()
                await asyncio.Event().wait()
            if self.error is not None:
                raise self.error
            if self.replies:
                yield ModelReply("".join(self.pieces), usage=self.usage, model="as-named-by-the-provider")
        finally:
            self.closed += 1


def failing(error: AosError) -> ScriptedModel:
    """Fails before it says anything."""
    return ScriptedModel((), error)


@dataclass
class Shelf:
    """`ConnectionSource` in memory: each with its model; `locked` ones cannot be opened."""

    models: dict[ModelConnection, ScriptedModel]
    by_default: str | None = None
    locked: Mapping[str, AosError] = field(default_factory=dict)

    async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], str | None]:
        assert scope == SCOPE
        return tuple(self.models), self.by_default

    async def open(self, scope: Scope, connection: ModelConnection) -> ScriptedModel:
        if connection.name in self.locked:
            raise self.locked[connection.name]
        return self.models[connection]


@dataclass
class MemoryPurse:
    """What was counted; `spent` is what it says was spent before, `asked` how often it said so."""

    spent: MonthlySpend = field(default_factory=lambda: MonthlySpend(Decimal(0), Decimal(0), None, None))
    added: list[tuple[str, TokenUsage, float]] = field(default_factory=list)
    asked: int = 0

    async def state(self, scope: Scope, agent: str, config: Mapping[str, Any]) -> MonthlySpend:
        self.asked += 1
        return self.spent

    async def add(self, scope: Scope, agent: str, usage: TokenUsage, cost_usd: float) -> None:
        self.added.append((agent, usage, cost_usd))
