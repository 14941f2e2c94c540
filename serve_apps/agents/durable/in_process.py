"""Turns that are carried out in this process, with models that the router chooses."""

from collections.abc import AsyncIterator

from cluster.models.messages import ChatRequest
from cluster.models.routing.router import ModelRouter
from serve_apps.agents.durable.run_loop import TurnRunner
from serve_apps.agents.events import Event
from serve_apps.agents.streams.cancellation import closing_stream
from serve_apps.agents.turn_ports import ModelChoice, Said, Turn


class TurnModels:
    """`Models` over the router: a turn says who asks and with whose settings."""

    def __init__(self, router: ModelRouter) -> None:
        """One router serves all turns."""
        self._router = router

    def stream(self, turn: Turn, task: str, request: ChatRequest) -> AsyncIterator[Said]:
        """See `Models`."""
        return self._router.stream(turn.scope, turn.agent.id, turn.agent.config, task, request)

    async def choose(self, turn: Turn, task: str) -> ModelChoice:
        """See `Models`."""
        pick = await self._router.choose(turn.scope, turn.agent.id, turn.agent.config, task)
        return ModelChoice(pick.connection, pick.model, pick.task, pick.reason, pick.supports_tools)


class InProcessCarrier:
    """A `RunCarrier` in this process."""

    def __init__(self, runner: TurnRunner) -> None:
        """`runner` claims in its own name."""
        self._runner = runner

    async def carry(self, turn: Turn) -> AsyncIterator[Event]:
        """See `RunCarrier`."""
        lease = await self._runner.claim(turn)
        async with closing_stream(self._runner.run(turn, lease)) as events:
            async for event in events:
                yield event
