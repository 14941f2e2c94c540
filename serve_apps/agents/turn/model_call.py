"""One reply of a model: asked for within the time that is left, shown as it comes, told with what it cost."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cluster.models.messages import ChatRequest, Delta, Fallback, Message, Reply, Sampling, ToolSpec
from cluster.state.canonical_json import normal
from configs.sections import AgentSettings
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.limits import Allowance, OutOfTime, within
from serve_apps.agents.turn.stream_filter import Release
from serve_apps.agents.turn_errors import NoReply
from serve_apps.agents.turn_ports import Choice, Journal, Json, Models, Said, Turn


@dataclass(frozen=True, slots=True)
class Manner:
    """Sampling options of a turn: its own options, else its agent's config, else the settings."""

    temperature: float
    max_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    stop: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)

    @classmethod
    def of(cls, turn: Turn, settings: AgentSettings) -> "Manner":
        """Without tools."""
        return cls(
            float(first(turn, "temperature", settings.temperature)),
            int(first(turn, "max_tokens", settings.max_tokens)),
            sampling=Sampling(**turn.options.get("sampling", {})),
        )

    def request(self, messages: list[Message]) -> ChatRequest:
        """The request for a reply to these."""
        return ChatRequest(
            tuple(messages), self.tools, self.temperature, self.max_tokens, self.stop, sampling=self.sampling
        )


def first(turn: Turn, name: str, otherwise: Any) -> Any:
    """The turn's option, else the agent's, else this."""
    for found in (turn.options.get(name), turn.agent.config.get(name)):
        if found is not None:
            return found
    return otherwise


async def choose(turn: Turn, journal: Journal, models: Models, task: str) -> Choice:
    """The connection that will be asked first, recorded and told as MODEL: later edits do not change a run.

    Raises:
        NoModel: nothing is configured.
        OverBudget: the money is spent.
    """

    async def ask(_: str) -> Json:
        return asdict(await models.choose(turn, task))

    choice = Choice(**await journal.step("choice", task, {"agent": turn.agent.id}, ask))
    journal.emit(
        EventKind.MODEL, connection=choice.connection, model=choice.model, task=choice.task, reason=choice.reason
    )
    return choice


async def hear(
    turn: Turn,
    journal: Journal,
    models: Models,
    task: str,
    request: ChatRequest,
    release: Release,
    allowance: Allowance,
) -> Reply:
    """Ask; `release` is fed with what comes. FALLBACK events are told when it is on record, the rest is the caller's.

    Whoever delegates pays: the connection is the other agent's, the budget that of the agent the user talks to.

    Raises:
        OutOfTime: the turn's time was over before the reply was whole.
        NoReply: it was over before the reply began.
        OverBudget, Unavailable, Overloaded, Invalid: as the router says, or as recorded.
    """
    payer = allowance.payer
    config = {**turn.agent.config, "budget_usd": payer.config.get("budget_usd")}
    billed = replace(turn, agent=replace(turn.agent, id=payer.id, config=config)) if payer != turn.agent else turn
    seconds = allowance.seconds(journal)

    def saying() -> AsyncIterator[Said]:
        return _in_time(models.stream(billed, task, request), seconds)

    reply: Reply | None = None
    async for said in journal.stream(task, request, saying):
        match said:
            case Delta():
                release.feed(normal(said.text))
            case Fallback():
                journal.emit(EventKind.FALLBACK, left=said.left, taken=said.taken, why=said.why)
            case Reply():
                reply = said
    assert reply is not None, "a journal's stream ends with a reply"
    # As it will come back from the record, so that it is read the same way then.
    clean = [replace(one, name=normal(one.name), arguments=normal(one.arguments)) for one in reply.tool_calls]
    return replace(reply, content=normal(reply.content), reasoning=normal(reply.reasoning), tool_calls=tuple(clean))


async def _in_time(said: AsyncIterator[Said], seconds: float) -> AsyncGenerator[Said]:
    """As `within`; a model that has not begun by then never replied, which is another end than one that broke off."""
    begun = False
    try:
        async with aclosing(within(said, seconds)) as items:
            async for item in items:
                begun = begun or not isinstance(item, Fallback)
                yield item
    except OutOfTime as error:
        if begun:
            raise
        raise NoReply(f"it did not begin to reply within the {seconds:.0f} s that were left") from error


def told_usage(journal: Journal, reply: Reply) -> None:
    """Tell what a reply cost."""
    usage = reply.usage
    journal.emit(
        EventKind.USAGE,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=reply.cost_usd,
        connection=reply.connection,
    )
