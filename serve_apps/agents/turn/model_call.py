"""One reply of a model: asked for within the time that is left, shown as it comes, told with what it cost."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cluster.models.chat.response_format import ResponseForm
from cluster.models.messages import (
    ChatRequest,
    ConnectionFallback,
    ModelMessage,
    ModelReply,
    ReplyDelta,
    SamplingParameters,
    ToolSpec,
)
from cluster.state.canonical_json import normalize_json
from configs.sections import AgentSettings
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.limits import OutOfTime, TurnAllowance, stream_in_time
from serve_apps.agents.turn.stream_filter import StreamFilter
from serve_apps.agents.turn_errors import NoReply
from serve_apps.agents.turn_ports import ChatModels, Journal, Json, ModelChoice, Said, Turn


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Sampling options of a turn: its own options, else its agent's config, else the settings.

    `choice` and `form` are the client's `tool_choice` and response format, for providers that enforce them.
    """

    temperature: float
    max_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    stop: tuple[str, ...] = ()
    sampling: SamplingParameters = field(default_factory=SamplingParameters)
    choice: str | None = None
    form: ResponseForm | None = None

    @classmethod
    def of(cls, turn: Turn, settings: AgentSettings) -> "SamplingOptions":
        """Without tools."""
        return cls(
            float(turn_option(turn, "temperature", settings.temperature)),
            int(turn_option(turn, "max_tokens", settings.max_tokens)),
            sampling=SamplingParameters(**turn.options.get("sampling", {})),
        )

    def request(self, messages: list[ModelMessage]) -> ChatRequest:
        """The request for a reply to these."""
        wishes = (self.tools, self.temperature, self.max_tokens, self.stop)
        return ChatRequest(tuple(messages), *wishes, sampling=self.sampling, tool_choice=self.choice, form=self.form)


def turn_option(turn: Turn, name: str, otherwise: Any) -> Any:
    """The turn's option, else the agent's, else this."""
    for found in (turn.options.get(name), turn.agent.config.get(name)):
        if found is not None:
            return found
    return otherwise


async def choose_connection(turn: Turn, journal: Journal, models: ChatModels, task: str) -> ModelChoice:
    """The connection that will be asked first, recorded and told as MODEL: later edits do not change a run.

    Raises:
        NoModel: nothing is configured.
        OverBudget: the money is spent.
    """

    async def ask(_: str) -> Json:
        return asdict(await models.choose(turn, task))

    choice = ModelChoice(**await journal.step("choice", task, {"agent": turn.agent.id}, ask))
    journal.emit(
        EventKind.MODEL, connection=choice.connection, model=choice.model, task=choice.task, reason=choice.reason
    )
    return choice


async def stream_reply(
    turn: Turn,
    journal: Journal,
    models: ChatModels,
    task: str,
    request: ChatRequest,
    release: StreamFilter,
    allowance: TurnAllowance,
) -> ModelReply:
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

    reply: ModelReply | None = None
    async for said in journal.stream(task, request, saying):
        match said:
            case ReplyDelta():
                release.feed(normalize_json(said.text))
            case ConnectionFallback():
                journal.emit(EventKind.FALLBACK, left=said.left, taken=said.taken, why=said.why)
            case ModelReply():
                reply = said
    assert reply is not None, "a journal's stream ends with a reply"
    # As it will come back from the record, so that it is read the same way then.
    clean = normalize_json
    calls = tuple(replace(one, name=clean(one.name), arguments=clean(one.arguments)) for one in reply.tool_calls)
    return replace(reply, content=clean(reply.content), reasoning=clean(reply.reasoning), tool_calls=calls)


async def _in_time(said: AsyncIterator[Said], seconds: float) -> AsyncGenerator[Said]:
    """As `within`; a model that has not begun by then never replied, which is another end than one that broke off."""
    begun = False
    try:
        async with aclosing(stream_in_time(said, seconds)) as items:
            async for item in items:
                begun = begun or not isinstance(item, ConnectionFallback)
                yield item
    except OutOfTime as error:
        if begun:
            raise
        raise NoReply(f"it did not begin to reply within the {seconds:.0f} s that were left") from error


def told_usage(journal: Journal, reply: ModelReply) -> None:
    """Tell what a reply cost."""
    usage = reply.usage
    tokens = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    journal.emit(EventKind.USAGE, **tokens, cost_usd=reply.cost_usd, connection=reply.connection)
