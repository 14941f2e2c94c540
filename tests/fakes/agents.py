"""A turn without a cluster: models that say what a test wrote down, a journal in memory that can be walked again."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid5

from cluster.basics.errors import AosError, Transient
from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.models.messages import ChatRequest, ConnectionFallback, ModelReply, ReplyDelta, TokenUsage, ToolCall
from cluster.state.canonical_json import normalize_json
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.turn_errors import ActionRejected, ApprovalPending, ReplayDiverged, error_from_record
from serve_apps.agents.turn_ports import (
    AgentId,
    AgentSnapshot,
    Json,
    ModelChoice,
    Perform,
    RedoPolicy,
    RunId,
    Said,
    Saying,
    SessionId,
    Turn,
)

RUN = RunId("0b7f0d3e-5c1c-4c61-9f0b-3f5b8a1d2c4e")
SCOPE = Scope(
    TenantId("11111111-1111-4111-8111-111111111111"),
    WorkspaceId("22222222-2222-4222-8222-222222222222"),
    ("user:ann@example.org", "role:developer"),
    UserId("33333333-3333-4333-8333-333333333333"),
    Role.DEVELOPER,
)
AGENT = AgentSnapshot(AgentId("44444444-4444-4444-8444-444444444444"), "assistant", "You are a careful assistant.")
SESSION = SessionId("55555555-5555-4555-8555-555555555555")

# What a scripted model says: a text, a whole reply, an error, or a function of (turn, task, request) that gives one.
Line = str | ModelReply | AosError | Callable[[Turn, str, ChatRequest], "str | ModelReply | AosError"]


def turn(message: str = "Hello", **other: Any) -> Turn:
    """A turn of the default agent; `other` replaces fields, `config` sets those of the agent."""
    config = other.pop("config", None)
    made = Turn(RUN, SCOPE, SESSION, AGENT if config is None else replace(AGENT, config=config), message)
    return replace(made, **other)


def calls(*wanted: tuple[str, Mapping[str, Any] | str], text: str = "", ids: Sequence[str] | None = None) -> ModelReply:
    """A reply with native tool calls, each (name, arguments); arguments as text are sent as they are."""
    made = tuple(
        ToolCall(
            ids[at] if ids else f"call_{at}_{name}",
            name,
            arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
        for at, (name, arguments) in enumerate(wanted)
    )
    return ModelReply(text, made, "tool_calls", TokenUsage(10, 5), "scripted")


@dataclass
class Ticks:
    """A clock in seconds that a test moves; models and tools may take their time on it."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


class ScriptedModels:
    """`Models` that answer line by line; a task with lines of its own in `by_task` reads those.

    `asked` records (task, request). `otherwise` is said when the lines are used up; without it that is a test's error.
    """

    def __init__(
        self,
        *lines: Line,
        by_task: Mapping[str, Sequence[Line]] | None = None,
        otherwise: Line | None = None,
        supports_tools: bool = True,
        failing: AosError | None = None,
        piece: int = 7,
        seconds: float = 0.0,
        clock: Ticks | None = None,
    ) -> None:
        """`piece`: length of a delta; `seconds`: what a reply takes on `clock`; `failing` is raised by `choose`."""
        self._lines = list(lines)
        self._by_task = {task: list(own) for task, own in (by_task or {}).items()}
        self._otherwise, self._supports, self._failing, self._piece = otherwise, supports_tools, failing, piece
        self._seconds, self._clock = seconds, clock or Ticks()
        self.asked: list[tuple[str, ChatRequest]] = []
        self.closed = 0

    async def choose(self, turn: Turn, task: str) -> ModelChoice:
        if self._failing is not None:
            raise self._failing
        return ModelChoice("scripted", "scripted-1", task, "the only one", self._supports)

    async def stream(self, turn: Turn, task: str, request: ChatRequest) -> AsyncIterator[Said]:
        self.asked.append((task, request))
        lines = self._by_task.get(task, self._lines)
        line = lines.pop(0) if lines else self._otherwise
        assert line is not None, f"nothing is left to say to {task}: {request.messages[-1].content[:200]}"
        said = line(turn, task, request) if callable(line) else line
        self._clock.seconds += self._seconds
        if isinstance(said, AosError):
            raise said
        if isinstance(said, str):
            said = ModelReply(said, usage=TokenUsage(10, len(said) // 4), model="scripted-1")
        try:
            for fallback in said.fallbacks:
                yield fallback
            if said.reasoning:
                yield ReplyDelta(reasoning=said.reasoning)
            for at in range(0, len(said.content), self._piece):
                yield ReplyDelta(said.content[at : at + self._piece])
            yield replace(said, connection=said.connection or "scripted")
        except GeneratorExit:
            self.closed += 1
            raise


class Killed(BaseException):
    """The process ended here."""


@dataclass
class Record:
    """A step as it was recorded; `state` is started, done or failed."""

    kind: str
    name: str
    request: Json
    state: str = "started"
    reply: Json = None
    error: tuple[str, str, bool] | None = None
    ms: int = 0


@dataclass
class Decision:
    """What a person is asked, and said: pending, approved, rejected or expired."""

    id: str
    tool: str
    arguments: Mapping[str, Json]
    reason: str
    state: str = "pending"
    decided: Mapping[str, Json] | None = None


@dataclass
class MemoryJournal:
    """A `Journal` in memory. `again()` walks the same records from the start, as a resumed run does.

    `kill_at`: (step from 1, "before" | "between"): the process ends before the effect, or between effect and record.
    `replaying`: nothing is performed; a step that is not recorded, or asks for something else, is `ReplayDiverged`.
    """

    run: RunId = RUN
    seed: int = 7
    clock: Callable[[], float] = field(default_factory=Ticks)
    records: list[Record] = field(default_factory=list)
    decisions: dict[int, Decision] = field(default_factory=dict)
    kill_at: tuple[int, str] | None = None
    replaying: bool = False
    performed: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    _at: int = 0
    _spent: int = 0

    def again(self, *, replaying: bool = False, kill_at: tuple[int, str] | None = None) -> "MemoryJournal":
        """The same records and decisions, from the first step."""
        return MemoryJournal(
            self.run, self.seed, self.clock, self.records, self.decisions, kill_at, replaying, self.performed
        )

    def decide(self, state: str, arguments: Mapping[str, Json] | None = None) -> None:
        """Decide what is pending."""
        pending = [one for one in self.decisions.values() if one.state == "pending"]
        assert pending, "nobody asked"
        pending[-1].state, pending[-1].decided = state, arguments

    @property
    def spent_ms(self) -> int:
        return self._spent

    def emit(self, kind: EventKind, **data: Json) -> Event:
        event = Event(len(self.events) + 1, kind, normalize_json(data))
        if kind is EventKind.TEXT:
            shown = "".join(self.pieces)
            assert event.data["text"].startswith(shown), f"shown {shown!r}, then said {event.data['text']!r}"
            event = replace(event, sent=len(shown))
            self.pieces.clear()
        elif kind is EventKind.THINKING:  # ends a text that broke off
            self.pieces.clear()
        else:
            assert not self.pieces, f"{kind} came between pieces and their text"
        self.events.append(event)
        return event

    def emit_delta(self, text: str) -> None:
        assert text
        self.pieces.append(text)

    def draft(self, text: str) -> None:
        assert text
        self.drafts.append(text)

    async def step(
        self, kind: str, name: str, request: Json, perform: Perform, *, redo: RedoPolicy = RedoPolicy.REPEAT
    ) -> Json:
        number, record = self._next(kind, name, normalize_json(request), redo)
        if record.state == "started":
            begun = self.clock()
            try:
                record.reply = normalize_json(await perform(str(uuid5(UUID(self.run), str(number)))))
            except (ApprovalPending, ReplayDiverged):
                raise
            except AosError as error:
                record.error = (error.code, error.detail, isinstance(error, Transient))
                self._end(number, record, begun)
                raise
            self._end(number, record, begun)
        else:
            self._spent += record.ms
        if record.error is not None:
            raise error_from_record(*record.error)
        return normalize_json(record.reply)

    async def stream(
        self, name: str, request: ChatRequest, saying: Saying, *, about: Json = None
    ) -> AsyncIterator[Said]:
        number, record = self._next("model", name, repr(request), RedoPolicy.REPEAT)
        if record.state == "started":
            begun, said = self.clock(), saying()
            try:
                async for item in said:
                    if isinstance(item, ModelReply):
                        record.reply = item
                        self._end(number, record, begun)
                    if isinstance(item, ConnectionFallback):
                        self.pieces.clear()  # what the one that was left has said is said anew
                    yield item
            except AosError as error:
                record.error = (error.code, error.detail, isinstance(error, Transient))
                self._end(number, record, begun)
                raise
            finally:
                if isinstance(said, AsyncIterator) and hasattr(said, "aclose"):
                    await said.aclose()
            return
        self._spent += record.ms
        if record.error is not None:
            raise error_from_record(*record.error)
        for fallback in record.reply.fallbacks:
            yield ConnectionFallback(fallback.left, fallback.taken, fallback.why)
        if record.reply.content or record.reply.reasoning:
            yield ReplyDelta(record.reply.content, record.reply.reasoning)
        yield record.reply

    async def ask(self, tool: str, arguments: Mapping[str, Json], reason: str) -> Mapping[str, Json]:
        self._at += 1
        known = self.decisions.get(self._at)
        if known is None:
            assert not self.replaying, "a replay asks nobody"
            known = Decision(str(uuid5(UUID(self.run), f"ask {self._at}")), tool, dict(arguments), reason)
            self.decisions[self._at] = known
            self.records.append(Record("approval", tool, dict(arguments), "done"))
        if (known.tool, known.arguments) != (tool, arguments):
            raise ReplayDiverged(f"asked for {known.tool}, now for {tool}")
        shown = {"id": known.id, "tool": tool, "arguments": dict(arguments), "reason": reason}
        self.emit(EventKind.STATUS, state="waiting_approval")
        self.emit(EventKind.APPROVAL_REQUIRED, approval=shown)
        if known.state == "pending":
            raise ApprovalPending(known.id)
        decided = dict(known.arguments if known.decided is None else known.decided)
        self.emit(EventKind.APPROVAL_DECIDED, id=known.id, state=known.state, arguments=decided)
        self.emit(EventKind.STATUS, state="resumed")
        if known.state != "approved":
            raise ActionRejected(known.state.upper())
        return decided

    async def inquire(self, question: Mapping[str, Json]) -> str:
        self._at += 1
        known = self.decisions.get(self._at)
        if known is None:
            assert not self.replaying, "a replay asks nobody"
            known = Decision(str(uuid5(UUID(self.run), f"ask {self._at}")), "request_user_input", dict(question), "")
            self.decisions[self._at] = known
            self.records.append(Record("input", known.tool, dict(question), "done"))
        if known.arguments != question:
            raise ReplayDiverged(f"asked {known.arguments}, now {question}")
        self.emit(EventKind.STATUS, state="waiting_input")
        self.emit(EventKind.INPUT_REQUIRED, input={"id": known.id, "options": [], **question})
        if known.state == "pending":
            raise ApprovalPending(known.id)
        self.emit(EventKind.INPUT_GIVEN, id=known.id, state=known.state, reply=(known.decided or {}).get("reply"))
        self.emit(EventKind.STATUS, state="resumed")
        if known.state != "approved":
            raise ActionRejected(known.state.upper())
        return str((known.decided or {})["reply"])

    def kinds(self) -> list[str]:
        """The kinds of all events, in order."""
        return [str(event.kind) for event in self.events]

    def of(self, kind: EventKind) -> list[Mapping[str, Any]]:
        """The data of all events of a kind."""
        return [event.data for event in self.events if event.kind is kind]

    def _next(self, kind: str, name: str, request: Json, redo: RedoPolicy) -> tuple[int, Record]:
        self._at += 1
        number = self._at
        if number <= len(self.records):
            record = self.records[number - 1]
            if (record.kind, record.name, record.request) != (kind, name, request):
                raise ReplayDiverged(f"step {number} was {record.kind} {record.name}, now it is {kind} {name}")
            if record.state != "started":
                return number, record
            if redo is RedoPolicy.RECONCILE:
                raise ApprovalPending(str(uuid5(UUID(self.run), f"reconcile {number}")), "it may have happened")
        if self.replaying:
            raise ReplayDiverged(f"step {number}, {kind} {name}, was never recorded")
        if number > len(self.records):
            self.records.append(Record(kind, name, request))
        if self.kill_at == (number, "before"):
            raise Killed
        self.performed.append(f"{kind}:{name}")
        return number, self.records[number - 1]

    def _end(self, number: int, record: Record, begun: float) -> None:
        if self.kill_at == (number, "between"):
            record.reply = record.error = None
            raise Killed
        record.state = "failed" if record.error else "done"
        record.ms = round((self.clock() - begun) * 1000)
        self._spent += record.ms
