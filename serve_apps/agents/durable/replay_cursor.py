"""The part of a journal that walks what is recorded: numbers for steps and events, answers without effects."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

from cluster.basics.errors import AosError, Transient
from cluster.models.messages import ChatRequest, ConnectionFallback, ModelReply, ReplyDelta
from cluster.state.canonical_json import json_digest, normalize_json
from cluster.state.work.run_record import RunStep, StepState
from pipelines.documents.usage.document_usage import MOST_PASSAGES, PassageUse
from serve_apps.agents.durable.document_use import passages_found
from serve_apps.agents.durable.message_codec import reply_from_json, request_to_json
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.masked_answer import MaskedAnswer, mask_of_turn
from serve_apps.agents.turn_errors import ReplayDiverged, ToolRefused, error_from_record
from serve_apps.agents.turn_ports import Json, RunId, Said, Turn, TurnOutcome

MODEL, ASK, INPUT = "model", "approval", "input"
ASKED = frozenset({ASK, INPUT})  # of a person; the kinds are named as the categories of what waits

MOST_FOUND = 10 * MOST_PASSAGES

# A text that was being shown ends with one of these; pieces that follow begin another.
_TEXT_ENDS = frozenset({EventKind.TEXT, EventKind.THINKING})


class ReplayCursor(ABC):
    """Replay cursor shared by live journals and replays; `halted` is the error that stopped it early, if any.

    A reply is recorded as `{"said": [[kind, data], ...], "ok": value}` or with `error` in place of `ok`; `said` are the
    events that the journal itself told within the step.
    """

    def __init__(self, run: RunId, seed: int, steps: Sequence[RunStep]) -> None:
        """`steps` are those on record, in order from 1."""
        self.halted: AosError | None = None
        self.delegates: dict[str, None] = {}  # who carried parts of the run out, in the order in which they began
        self.refused: list[tuple[str, str]] = []  # calls that the list of approvals did not allow: tool and reason
        self.found: list[PassageUse] = []  # what its steps have given it of documents
        self._run, self._seed = run, seed
        self._steps = {step.seq: step for step in steps}
        self._at = 0  # the step that was asked for last
        self._events = 0  # number of the last event
        self._shown = 0  # characters of the text that is being shown
        self._spent = 0
        self._used = {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0}
        self._open: int | None = None  # a model step whose reply was not read to its end
        self._masked: MaskedAnswer | None = None

    def mask_answer(self, turn: Turn) -> None:
        """From now on tell what the policies that the turn began with let its reader see."""
        mask = mask_of_turn(turn)
        self._masked = None if mask is None else MaskedAnswer(mask)

    def shown_outcome(self, outcome: TurnOutcome) -> TurnOutcome:
        """The outcome as it is told and stored."""
        return outcome if self._masked is None else self._masked.outcome(outcome)

    @property
    def run(self) -> RunId:
        """Id of the run whose journal this is."""
        return self._run

    @property
    def seed(self) -> int:
        """Of everything random in this run."""
        return self._seed

    @property
    def spent_ms(self) -> int:
        """Time of all recorded steps so far; waiting for people does not count."""
        return self._spent

    @property
    def usage(self) -> Mapping[str, Any]:
        """Tokens and cost of all recorded steps so far."""
        return {**self._used, "cost_usd": round(self._used["cost_usd"], 12)}

    def emit(self, kind: EventKind, **data: Json) -> Event:
        """Number an event and tell it."""
        event = self._number(kind, data)
        self._tell(event)
        if kind is EventKind.STATUS and "agent" in data:
            self.delegates[str(data["agent"])] = None
        code, _, why = str(data.get("error") or "").partition(": ")
        if kind is EventKind.TOOL_RESULT and code == ToolRefused.code:
            self.refused.append((str(data["name"]), why))
        return event

    def _number(self, kind: EventKind, data: Json) -> Event:
        self._events += 1
        data = normalize_json(data) if self._masked is None else self._masked.event(kind, normalize_json(data))
        event = Event(self._events, kind, data, self._shown if kind is EventKind.TEXT else 0)
        if kind in _TEXT_ENDS:
            self._restart_text()
        return event

    def _restart_text(self) -> None:
        self._shown = 0
        if self._masked is not None:
            self._masked.restart_text()

    def emit_delta(self, text: str) -> None:
        """Show a piece of the next TEXT event."""
        text = text if self._masked is None else self._masked.mask_delta(text)
        if text:
            self._show(Event(self._events + 1, EventKind.TEXT, {"text": text}, self._shown, piece=True))
            self._shown += len(text)

    def draft(self, text: str) -> None:
        """Show what a model writes before it is checked."""
        text = text if self._masked is None else self._masked.draft(text)
        if text:
            self._show(Event(self._events + 1, EventKind.DRAFT, {"text": text}, piece=True))

    @abstractmethod
    def _tell(self, event: Event) -> None:
        """A whole event."""

    @abstractmethod
    def _show(self, piece: Event) -> None:
        """A piece of a text."""

    def _next(self, kind: str, name: str, request: Json) -> tuple[RunStep, bool]:
        """The next step, and whether it is on record; one that is not has no state yet but `started`.

        Raises ReplayDiverged where another step is on record, and again the AosError that has halted the walk.
        """
        if self.halted is not None:
            raise self.halted
        if self._open is not None:
            raise RuntimeError(f"the reply of step {self._open} was not read to its end")
        self._at += 1
        wanted = normalize_json(request)
        digest = json_digest([kind, name, _compared_request(kind, wanted)])
        step = RunStep(self._at, kind, name, wanted, digest, StepState.STARTED)
        known = self._steps.get(self._at)
        if known is None:
            return step, False
        if not self._same(known, step):
            raise self._halt(self._other(known, step))
        return known, True

    def _same(self, known: RunStep, wanted: RunStep) -> bool:
        """True if the recorded step is the one that is asked for now, by the hash of its request."""
        return known.request_hash == wanted.request_hash

    def _other(self, known: RunStep, wanted: RunStep) -> AosError:
        was, now = f"{known.kind} {known.name}", f"{wanted.kind} {wanted.name}"
        return ReplayDiverged(f"step {known.seq} was {was}, now it is {now}{' with another request' * (was == now)}")

    def _answer(self, step: RunStep) -> Json:
        """Recorded result of an ended step; emits its events of that time again."""
        self._repeat(step)
        self._count(step)
        if step.state is StepState.FAILED:
            raise error_of(step)
        return step.reply["ok"]

    def _count(self, step: RunStep) -> None:
        self._spent += step.ms
        self._used["prompt_tokens"] += step.prompt_tokens
        self._used["completion_tokens"] += step.completion_tokens
        self._used["cost_usd"] += step.cost_usd
        self.found = [*self.found, *passages_found(step)][:MOST_FOUND]

    def _repeat(self, step: RunStep) -> None:
        """Tell again what the journal itself told within the step."""
        for kind, data in said_within(step):
            self.emit(EventKind(kind), **data)

    async def _resay(self, step: RunStep) -> AsyncIterator[Said]:
        """A recorded reply of a model, in one piece."""
        ended = step.reply or {}
        for fallback in ended.get("fallbacks", ()):
            yield ConnectionFallback(**fallback)
        reply = reply_from_json(self._answer(step))
        if reply.content or reply.reasoning:
            yield ReplyDelta(reply.content, reply.reasoning)
        yield reply

    def _halt(self, error: AosError) -> AosError:
        self.halted = error
        return error

    def _key(self, step: RunStep) -> str:
        """The same at every repetition of the step."""
        return str(uuid5(UUID(self._run), str(step.seq)))


def _compared_request(kind: str, request: Json) -> Json:
    """Part of a request that is compared at replay: an approval's reason is no part of its action."""
    return {"arguments": request["arguments"]} if kind in ASKED else request


def said_within(step: RunStep) -> Sequence[Any]:
    """Events that the journal itself emitted within a step, as [kind, data]."""
    said: Sequence[Any] = (step.reply or {}).get("said", ())
    return said


def model_request(request: ChatRequest, about: Json) -> dict[str, Any]:
    """Recorded request of a model step, as compared at replay."""
    return {"request": request_to_json(request), "about": about}


def error_to_json(error: AosError) -> dict[str, Any]:
    """An error as it is recorded."""
    transient = isinstance(error, Transient)
    return {"code": error.code, "detail": error.detail, "transient": transient, "fix": error.hint}


def spent_within(value: Json) -> Mapping[str, Any]:
    """Tokens and cost that the value of a step says it took, by the names of a step's fields; empty for none."""
    spent = value.get("spent") if isinstance(value, Mapping) else None
    return {name: spent[name] for name in ("prompt_tokens", "completion_tokens", "cost_usd")} if spent else {}


def usage_of(reply: ModelReply) -> Mapping[str, Any]:
    """Tokens and cost of a reply, by the names of a step's fields."""
    read, said = reply.usage.prompt_tokens, reply.usage.completion_tokens
    return {"prompt_tokens": read, "completion_tokens": said, "cost_usd": reply.cost_usd}


def error_of(step: RunStep) -> AosError:
    """The error that a failed step raised, restored from its record."""
    found = step.reply["error"]
    error = error_from_record(found["code"], found["detail"], found["transient"])
    error.hint = found["fix"]
    return error
