"""Ports of a turn: a journal that records every effect, chat models, handlers, and the orchestrator."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType, Protocol

from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest, ConnectionFallback, ModelMessage, ModelReply, ReplyDelta
from serve_apps.agents.events import Event, EventKind
from skills.framework.builtin import BASE

RunId = NewType("RunId", str)
SessionId = NewType("SessionId", str)
AgentId = NewType("AgentId", str)
Json = Any

# Performs an effect; gets the step's key, which is the same at every repetition: an idempotency key.
Perform = Callable[[str], Awaitable[Json]]
Said = ReplyDelta | ConnectionFallback | ModelReply
Saying = Callable[[], AsyncIterator[Said]]


class RedoPolicy(StrEnum):
    """Retry policy of a step that was begun and whose end nobody recorded."""

    REPEAT = "repeat"  # nothing outside changes, or its key makes a repetition harmless
    RECONCILE = "reconcile"  # it may have happened: a person says which


class TurnPath(StrEnum):
    """Path that a message is routed to."""

    ANALYTICS = "analytics"
    DOCUMENTS = "documents"
    GENERAL = "general"


@dataclass(frozen=True, slots=True)
class AgentSnapshot:
    """An agent as it was when the turn began: later edits do not change a run."""

    id: AgentId
    name: str
    system_prompt: str
    description: str = ""
    # `llm_routing`, `tools`, `temperature`, `max_tokens`, `max_iterations`, `timeout_seconds`, `rag_top_k`,
    # `deep_planning_enabled`, `deep_planning_max_steps`, `deep_planning_style`, `budget_usd`, as its owner set
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message to one agent, with everything that decides what happens."""

    run: RunId  # its id; a delegated turn has its own
    scope: Scope  # the user's; also when a person's decision resumes it in the background
    session: SessionId  # the conversation
    agent: AgentSnapshot  # frozen at the start
    message: str  # what the user says now
    history: tuple[ModelMessage, ...] = ()  # earlier messages, oldest first, guarded and cut to what fits
    memory: str = ""  # facts and summary worth telling the model; data, not instructions
    path: TurnPath = TurnPath.GENERAL  # decided before the run
    # `stream`, `temperature`, `max_tokens`, `tools` (specs that the client runs itself), `tool_choice`,
    # `parallel_tool_calls` (false: one call of them at most), `use_rag`, `verbose`, `person` (somebody can be asked),
    # `sampling` (`top_p`, penalties, `seed`, `temperature`), `stop` (texts that end what is shown)
    options: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0  # 0 for a user's turn, at most 3 for delegated ones
    ancestors: tuple[AgentId, ...] = ()  # agents above this turn: a delegation to one of them is a cycle
    # Of those that every agent has, the tools that there were at the start: a later one changes no run that is replayed
    base_tools: tuple[str, ...] = BASE


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """Final outcome of a turn."""

    answer: str  # the whole text with [n] marks
    # `stop`, `length` (rounds, time or budget), `tool_calls` (the client runs them), `error`
    finish_reason: str = "stop"
    confidence: float = 0.9  # 0 to 1; 0.9 by default, 0.5 for a fallback, 0.6 after a critique that was not satisfied
    citations: tuple[Mapping[str, Any], ...] = ()  # as in CITATION events
    trace: tuple[Mapping[str, Any], ...] = ()  # what was done, a line each: [{step, ...}]
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # for the client to run: [{id, name, arguments}]
    # finds of personal data in the answer by kind, under `masked` and `marked`; empty where none are, or nobody looks
    personal_data: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    classification: str | None = None  # the highest class of the documents that it cites


class Journal(Protocol):
    """A run's memory: a turn is a function of its input and of what is recorded here.

    Every effect goes through it: models, tools, retrieval, clock, randomness. What was recorded is not performed again,
    so a run that is resumed walks its old path in no time and goes on from where it was; a replay performs nothing.
    """

    @property
    def run(self) -> RunId:
        """Id of the run whose journal this is."""

    @property
    def seed(self) -> int:
        """Of everything random in this run."""

    @property
    def spent_ms(self) -> int:
        """Time of all recorded steps; waiting for people does not count."""

    def emit(self, kind: EventKind, **data: Json) -> Event:
        """Tell what happened: shown at once, stored with the next step or at the end, with its number either way."""

    def emit_delta(self, text: str) -> None:
        """Show a piece of the text that the next TEXT event will hold whole."""

    def draft(self, text: str) -> None:
        """Show what a model is writing before anybody has checked it; it is stored nowhere."""

    async def step(
        self, kind: str, name: str, request: Json, perform: Perform, *, redo: RedoPolicy = RedoPolicy.REPEAT
    ) -> Json:
        """Perform an effect once, or return what it gave when it was performed.

        Args:
            kind: `tool`, `retrieval`, `clock`, `memory`, ...
            request: JSON that decides the effect; kept, and compared at a replay.
            redo: what to do where a step was begun and not ended.

        Raises:
            AosError: what `perform` raised, also when it is recorded (`Recorded`, with the code and detail of then).
            ApprovalPending: the step may have happened, and a person has to say which.
            ReplayDiverged: a replay asks for something else than the recorded run did.
        """

    def stream(self, name: str, request: ChatRequest, saying: Saying, *, about: Json = None) -> AsyncIterator[Said]:
        """Ask a model, as `step`: pieces as they come, `ModelReply` last; a recorded reply comes in one piece."""

    async def ask(self, tool: str, arguments: Mapping[str, Json], reason: str) -> Mapping[str, Json]:
        """Put an action before a person, bound to tool and arguments, and return the arguments that were approved.

        Raises ApprovalPending where nobody has decided (the turn ends here and is resumed by the decision),
        ActionRejected where somebody said no, or nobody said anything in time.
        """

    async def inquire(self, question: Mapping[str, Json]) -> str:
        """Ask the person of this turn, and return what they reply; `question` has question, category and options.

        Raises ApprovalPending where nobody has replied (the turn ends here and is resumed by the reply), ActionRejected
        where nobody said anything in time.
        """


class ChatModels(Protocol):
    """The router: picks a connection for a task and falls back from it."""

    def stream(self, turn: Turn, task: str, request: ChatRequest) -> AsyncIterator[Said]:
        """Ask the connection that this agent has for this task; `ConnectionFallback` items tell what was left.

        Raises NoModel where nothing is configured, OverBudget where the agent or the tenant has spent its money, and
        the last connection's Unavailable, Overloaded or Invalid.
        """

    async def choose(self, turn: Turn, task: str) -> "ModelChoice":
        """The connection that would be asked first, and why."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A connection for a task; `supports_tools` decides between native calls and ReAct."""

    connection: str
    model: str
    task: str
    reason: str
    supports_tools: bool


class TurnHandler(Protocol):
    """Carries a turn out: one for each path."""

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        """Answer. Emits everything but the last DONE, which the runner writes with the outcome.

        Raises ApprovalPending where a person has to decide first.
        """


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message as it comes in."""

    agent: str  # an agent's UUID or display name; empty for the workspace's default agent, `assistant`
    message: str  # what the user says
    # a session's UUID or the client's own name for it (at most 128 characters); None opens a new one
    session: str | None = None
    # earlier messages that the client sent along; used only where the session has none of its own
    history: tuple[ModelMessage, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)  # as in `Turn.options`
    # whoever sends it reads along and can be asked; its message also answers what was asked before
    person: bool = False


class TurnOrchestrator(Protocol):
    """The single way in for messages, wherever it runs."""

    def process(self, scope: Scope, incoming: IncomingMessage) -> AsyncIterator[Event]:
        """Take a message and carry its turn out; closing the iterator stops the model and interrupts the run.

        The first event is STATUS with `state: accepted`, `run_id`, `session_id`, `agent_id`; the last is DONE, ERROR,
        APPROVAL_REQUIRED or INPUT_REQUIRED. A message that answers a question goes on with the turn that asked, and
        what that turn told before is not told again. Raises NotFound where there is no such agent or session,
        Overloaded where too many turns are waiting.
        """

    def resume(self, scope: Scope, run: RunId) -> AsyncIterator[Event]:
        """Carry an interrupted run on: all its events from the first, recorded ones at once.

        Raises NotFound where there is no such run, Conflict where it runs elsewhere, waits for a decision, or has
        ended.
        """

    async def cancel(self, scope: Scope, run: RunId) -> None:
        """Ask a run to end; its owner notices with its next heartbeat."""
