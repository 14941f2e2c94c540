"""State of a planned turn, and its calls of models; it lives as long as one replay of the turn (B-15)."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from cluster.basics.errors import AosError
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply
from cluster.models.routing.tasks import Task
from configs.sections import AgentSettings
from serve_apps.agents.events import EventKind
from serve_apps.agents.planning import prompts
from serve_apps.agents.planning.shape import PlanStep, UnreadableReply, read_as
from serve_apps.agents.planning.supervise import StepOutcome
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.knowledge import SourceList
from serve_apps.agents.turn.limits import OutOfTime, TurnAllowance
from serve_apps.agents.turn.model_call import stream_reply, told_usage, turn_option
from serve_apps.agents.turn.quotes import QuoteChecker
from serve_apps.agents.turn.stream_filter import StreamFilter, StreamGuard
from serve_apps.agents.turn.tool_call import ToolResult
from serve_apps.agents.turn_ports import Journal, Json, Turn
from skills.framework.catalogue import ToolCatalog

REPAIRS = 2  # times a model is told what is wrong with its JSON

Shape = TypeVar("Shape", bound=BaseModel)
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """Planning limits of an agent: its own config, else the settings."""

    enabled: bool
    steps: int
    style: Literal["structured", "concise"]
    replans: int

    @classmethod
    def of(cls, turn: Turn, settings: AgentSettings) -> "PlanLimits":
        """An override that makes no sense is passed over: agents are edited by people."""
        own = turn.agent.config
        enabled, steps, style = (own.get(f"deep_planning_{name}") for name in ("enabled", "max_steps", "style"))
        return cls(
            enabled if isinstance(enabled, bool) else settings.planning_enabled,
            steps if type(steps) is int and 1 <= steps <= 50 else settings.max_plan_steps,
            style if style in ("structured", "concise") else settings.plan_style,
            settings.max_replans,
        )


@dataclass(slots=True)
class StepResult:
    """Result of a step."""

    step: PlanStep
    output: Json = None  # by the specialist's schema
    text: str = ""  # what other steps and people read of it
    error: str | None = None  # `code: detail`; None if it went well
    outcome: StepOutcome = StepOutcome.SUCCESS  # what its supervisor said, in the end
    repeatable: bool = True  # the step may be carried out again without harm
    rejected: bool = False

    @property
    def usable(self) -> bool:
        """True if later steps can build on it."""
        return self.error is None and self.outcome in (StepOutcome.SUCCESS, StepOutcome.NOT_VERIFIED)


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that was shown while it was written, its quotes checked; `step` is whose it is."""

    step: str
    text: str


@dataclass(slots=True)
class PlannedTurn:
    """One turn at work."""

    turn: Turn
    journal: Journal
    services: TurnServices
    tools: ToolCatalog
    allowance: TurnAllowance
    limits: PlanLimits
    sleep: Sleep
    sources: SourceList = field(default_factory=SourceList)
    quotes: QuoteChecker = field(init=False)
    # passages were found for the message: the plan retrieves and reasons, and no answer goes beyond them
    grounded: bool = False
    results: dict[str, StepResult] = field(default_factory=dict)
    # calls that changed something and succeeded, by tool and arguments: none is made twice
    wrote: dict[str, ToolResult] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)  # what the reader has to be told beside the answer
    # CHAT or AGENTIC and who chose so, for the trace
    mode: Mapping[str, Json] = field(default_factory=lambda: {"step": "mode"})
    calls: int = 0
    replans: int = 0
    lead: str = ""  # parts the answer from what was shown before it
    last: bool = False  # no step comes after the one that is carried out now: what it answers is the turn's answer
    streamed: "Streamed | None" = None  # the answer that was told already
    heard: bool = False  # a model has said something in this turn
    unheard: AosError | None = None  # how the last model failed that was asked; None where none did

    def __post_init__(self) -> None:
        """Quotes are those of the sources."""
        self.quotes = QuoteChecker(self.sources)

    async def ask(
        self,
        task: Task,
        messages: tuple[ModelMessage, ...],
        *,
        json_only: bool = True,
        release: StreamFilter | None = None,
    ) -> ModelReply:
        """A reply that nobody is shown while it is written; `release` shows it, and leaves its cost to be told.

        Raises OutOfTime, NoModel, OverBudget, Unavailable, Overloaded, Invalid as `hear`.
        """
        self.in_time()
        most = int(turn_option(self.turn, "max_tokens", self.services.settings.max_tokens))
        request = ChatRequest(messages, temperature=0.0, max_tokens=most, json_only=json_only)
        unseen = StreamFilter(
            _discard_text, self.services.clock, QuoteChecker(SourceList()), StreamGuard(everything=True)
        )
        reply = await self.hear(task, request, release or unseen)
        if release is None:
            told_usage(self.journal, reply)
        return reply

    async def hear(self, task: Task, request: ChatRequest, release: StreamFilter) -> ModelReply:
        """As `hear`, of this turn; whether a model replied at all is remembered."""
        try:
            models = self.services.models
            reply = await stream_reply(self.turn, self.journal, models, str(task), request, release, self.allowance)
        except AosError as error:
            self.unheard = error
            raise
        self.heard = self.heard or bool(reply.content.strip() or reply.tool_calls)
        return reply

    def in_time(self) -> None:
        """Go on only while there is time; raises OutOfTime where there is none left."""
        if not self.allowance.seconds(self.journal):
            raise OutOfTime("a plan was not carried out to its end")

    async def ask_for(
        self,
        shape: type[Shape],
        task: Task,
        messages: tuple[ModelMessage, ...],
        repairs: int = 1,
        heard: ModelReply | None = None,
    ) -> tuple[Shape | None, str]:
        """A reply of a shape, and its text; None where it has not got it, also when told so `repairs` times.

        `heard` is the first reply, where somebody has asked already.
        """
        reply = heard or await self.ask(task, messages)
        for _ in range(repairs):
            found = read_as(shape, reply.content)
            if not isinstance(found, UnreadableReply):
                return found, reply.content
            said = ModelMessage("assistant", reply.content[:4_000])
            reply = await self.ask(task, (*messages, said, ModelMessage("user", prompts.retry_prompt(found.why))))
        found = read_as(shape, reply.content)
        return (None if isinstance(found, UnreadableReply) else found), reply.content

    def earlier(self, step: PlanStep) -> list[tuple[str, str]]:
        """Results that a step builds on: those it names, else all."""
        names = step.depends_on or tuple(self.results)
        found = [(name, self.results[name]) for name in names if name in self.results]
        return [(name, one.text if one.error is None else f"ERROR: {one.error}") for name, one in found]

    def fill(self, value: Any) -> Any:
        """Arguments with `{{id}}` replaced by the results' texts, once: marks in those texts stay as they are."""
        if isinstance(value, Mapping):
            return {str(name): self.fill(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.fill(part) for part in value]
        if not isinstance(value, str) or "{{" not in value:
            return value
        texts = {f"{{{{{name}}}}}": result.text for name, result in self.results.items()}
        if (alone := texts.get(value.strip())) is not None:
            return alone
        return re.sub("|".join(map(re.escape, texts)), lambda mark: texts[mark[0]], value) if texts else value

    def trace(self) -> tuple[Mapping[str, Json], ...]:
        """A line for each step that was carried out, in order."""
        return tuple(
            {
                "step": one.step.id,
                "executor": one.step.executor,
                "tool": one.step.tool,
                "outcome": str(one.outcome),
                "error": one.error,
            }
            for one in self.results.values()
        )

    def notice(self, text: str) -> None:
        """Tell the reader, once."""
        if text not in self.notices:
            self.notices.append(text)
            self.journal.emit(EventKind.STATUS, state="executing", notice=text)


def _discard_text(_: str) -> None:
    """Nobody is shown anything."""
