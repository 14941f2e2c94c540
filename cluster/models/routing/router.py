"""Asks the connection that an agent has for a task, falls back from it, and counts what it costs."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from cluster.basics.errors import Invalid, Unavailable
from cluster.basics.scope import Scope
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.messages import ChatRequest, ConnectionFallback, ModelReply, ReplyDelta, TokenUsage
from cluster.models.model_errors import AWAY, NoModel
from cluster.models.ports import ChatModel
from cluster.models.routing.fallback_order import CallRequirements, ModelRoute, plan_route, routing_of
from cluster.models.routing.spend import MonthlySpend
from cluster.models.routing.tasks import Task

CHARACTERS_A_TOKEN = 4  # where the provider did not count


class ConnectionSource(Protocol):
    """The connections of a workspace."""

    async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], str | None]:
        """Every connection, enabled or not, and the id or name of the one that is asked where an agent names none.

        The latter is None where nothing is configured.
        """

    async def open(self, scope: Scope, connection: ModelConnection) -> ChatModel:
        """The model behind it. Raises Unusable: its key cannot be read."""


class SpendLedger(Protocol):
    """Spend by agent and its budgets; `SpendStore` is the one with a database."""

    async def state(self, scope: Scope, agent: str, config: Mapping[str, Any]) -> MonthlySpend:
        """This month's spend and the budgets."""

    async def add(self, scope: Scope, agent: str, usage: TokenUsage, cost_usd: float) -> None:
        """Count one reply."""


@dataclass(frozen=True, slots=True)
class ConnectionChoice:
    """The connection that would be asked first for a task."""

    connection: str
    model: str
    task: str
    reason: str
    supports_tools: bool


class ModelRouter:
    """One for each process; it keeps nothing between two calls."""

    def __init__(self, connections: ConnectionSource, purse: SpendLedger, *, most: int = 3) -> None:
        """`most` fallbacks are made, whatever an agent wishes."""
        self._connections, self._purse, self._most = connections, purse, most

    async def choose(self, scope: Scope, agent: str, config: Mapping[str, Any], task: str) -> ConnectionChoice:
        """The connection that would be asked first, and why.

        Nothing is paid for here: the purse is asked only where its state decides the order, and by `stream` always.

        Raises NoModel, Invalid: as `stream`; OverBudget: as `stream`, of an agent that is `cost_aware`.
        """
        route = await self._plan_route(scope, agent, config, task, tools=False, pays=False)
        chosen, reason = route.stops[0].connection, route.stops[0].reason
        return ConnectionChoice(chosen.name, chosen.model, task, reason, chosen.supports_tools)

    async def stream(
        self, scope: Scope, agent: str, config: Mapping[str, Any], task: str, request: ChatRequest
    ) -> AsyncGenerator[ReplyDelta | ConnectionFallback | ModelReply]:
        """Ask, and ask the next one where a connection cannot be used; never after a piece of a reply was given away.

        Raises:
            NoModel: nothing is configured, or all of it is disabled.
            OverBudget: the agent or its tenant has spent its money.
            Unavailable, Overloaded, Unusable: the last connection's error, or one in the middle of a reply.
            Invalid: the request, the task or the agent's config is wrong; no other connection would take it.
        """
        route = await self._plan_route(scope, agent, config, task, tools=bool(request.tools), pays=True)
        left: tuple[ConnectionFallback, ...] = ()
        for stop, following in zip(route.stops, (*route.stops[1:], None), strict=True):
            connection, attempt = stop.connection, _Attempt(request)
            try:
                model = await self._connections.open(scope, connection)
                async with aclosing(attempt.listen(model)) as pieces:
                    async for piece in pieces:
                        yield piece
            except AWAY as error:
                if attempt.said or following is None:
                    raise
                why = f"{error.code}: {error.detail or error.title}"
                left = (*left, ConnectionFallback(connection.name, following.connection.name, why))
                yield left[-1]
                continue
            finally:
                # A reader who leaves, or a line that breaks, does not make free what was written so far.
                if attempt.usage is not None:
                    await self._purse.add(scope, agent, attempt.usage, connection.cost(attempt.usage))
            reply = attempt.whole()
            yield replace(reply, connection=connection.name, cost_usd=connection.cost(reply.usage), fallbacks=left)
            return

    async def _plan_route(
        self, scope: Scope, agent: str, config: Mapping[str, Any], task: str, *, tools: bool, pays: bool
    ) -> ModelRoute:
        if task not in set(Task):
            raise Invalid(f"{task!r} is no kind of task")
        routing = routing_of(config)
        thrifty = False
        if pays or routing.cost_aware:
            spent = await self._purse.state(scope, agent, config)
            spent.check()
            thrifty = spent.nearly
        wanted = CallRequirements(Task(task), tools, thrifty)
        known, default = await self._connections.offered(scope)
        route = plan_route(routing, wanted, known, default, self._most)
        if not route.stops:
            raise NoModel("; ".join(f"{ref}: {why}" for ref, why in route.skipped))
        return route


class _Attempt:
    """One call of one connection: what it has said so far."""

    def __init__(self, request: ChatRequest) -> None:
        self.said, self._request = 0, request
        self._reply: ModelReply | None = None

    async def listen(self, model: ChatModel) -> AsyncGenerator[ReplyDelta]:
        """The pieces; the reply is kept."""
        stream = cast(AsyncGenerator[ReplyDelta | ModelReply], model.stream(self._request))
        async with aclosing(stream):
            async for piece in stream:
                if isinstance(piece, ModelReply):
                    self._reply = piece
                    return
                self.said += len(piece.text) + len(piece.reasoning)
                yield piece
        raise Unavailable("the model's stream ended without a reply")

    def whole(self) -> ModelReply:
        """The reply that `listen` has kept."""
        assert self._reply is not None
        return self._reply

    @property
    def usage(self) -> TokenUsage | None:
        """The usage to be paid: as counted, estimated where the stream broke off, None where no token came."""
        if self._reply is not None:
            return self._reply.usage
        if not self.said:
            return None
        asked = sum(len(message.content) for message in self._request.messages)
        return TokenUsage(asked // CHARACTERS_A_TOKEN, -(-self.said // CHARACTERS_A_TOKEN), estimated=True)
