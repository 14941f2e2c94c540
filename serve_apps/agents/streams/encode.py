"""Events as clients read them: S3's server-sent events and S4's stream chunks, from one table over all kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.inquiries.inquiry import said_of

S3Name = Literal[
    "thinking",
    "plan",
    "step_start",
    "tool_start",
    "tool_output",
    "skill_activity",
    "content",
    "awaiting_input",
    "error",
    "done",
    "trace_info",
]
S4Type = Literal["text", "tool_call", "tool_result", "status", "error", "done"]


class Verbosity(IntEnum):
    """Verbosity of a stream, as its reader asked for."""

    DEFAULT = 0
    VERBOSE = 1
    DEBUG = 2


@dataclass(frozen=True, slots=True)
class EventEncoding:
    """Encoding of an event kind."""

    s3: S3Name  # name in S3's vocabulary
    s4: S4Type  # type of S4's chunk
    least: Verbosity = Verbosity.DEFAULT  # readers who want to see less are not told
    # keys of `data` that everybody is told, below DEBUG where `least` is DEFAULT; None for all of them
    plain: frozenset[str] | None = None


TABLE: Mapping[EventKind, EventEncoding] = {
    EventKind.STATUS: EventEncoding(
        "trace_info", "status", plain=frozenset({"state", "run_id", "session_id", "agent_id"})
    ),
    EventKind.ROUTE: EventEncoding("trace_info", "status", Verbosity.DEBUG),
    EventKind.RETRIEVED: EventEncoding("skill_activity", "status", Verbosity.VERBOSE),
    EventKind.MODEL: EventEncoding("trace_info", "status", Verbosity.DEBUG),
    EventKind.FALLBACK: EventEncoding("trace_info", "status", Verbosity.DEBUG),
    EventKind.THINKING: EventEncoding("thinking", "status", Verbosity.VERBOSE),
    EventKind.PLAN: EventEncoding("plan", "status", Verbosity.VERBOSE),
    EventKind.STEP_START: EventEncoding("step_start", "status", Verbosity.VERBOSE),
    EventKind.STEP_END: EventEncoding("skill_activity", "status", Verbosity.VERBOSE),
    EventKind.DRAFT: EventEncoding("thinking", "status"),
    EventKind.TEXT: EventEncoding("content", "text"),
    EventKind.CITATION: EventEncoding("content", "status"),
    EventKind.TOOL_CALL: EventEncoding("tool_start", "tool_call", plain=frozenset({"id", "name"})),
    EventKind.TOOL_RESULT: EventEncoding(
        "tool_output", "tool_result", plain=frozenset({"id", "name", "approved", "ms"})
    ),
    EventKind.APPROVAL_REQUIRED: EventEncoding("awaiting_input", "status"),
    EventKind.APPROVAL_DECIDED: EventEncoding("skill_activity", "status", plain=frozenset({"id", "state"})),
    EventKind.INPUT_REQUIRED: EventEncoding("awaiting_input", "status"),
    EventKind.INPUT_GIVEN: EventEncoding("skill_activity", "status", plain=frozenset({"id", "state"})),
    EventKind.USAGE: EventEncoding("trace_info", "status", Verbosity.DEBUG),
    EventKind.ERROR: EventEncoding("error", "error", plain=frozenset({"code", "title", "detail", "fix"})),
    EventKind.DONE: EventEncoding("done", "done"),
}
# A person; the run goes on with what they say.
ASKS = frozenset({EventKind.APPROVAL_REQUIRED, EventKind.INPUT_REQUIRED})
LAST = frozenset({EventKind.DONE, EventKind.ERROR}) | ASKS
CANCELLED = "cancelled"

# Which key of `data` is what a person reads; the rest stays in `data`.
_SAID = {
    EventKind.STATUS: "state",
    EventKind.THINKING: "text",
    EventKind.DRAFT: "text",
    EventKind.STEP_START: "label",
    EventKind.STEP_END: "note",
    EventKind.ERROR: "detail",
    EventKind.DONE: "answer",
}
_S4_STATES = {"executing": "executing_tools"}  # S4's own word


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """S4's StreamChunk; S3's events carry the same without `is_final`, under their own names."""

    type: str
    content: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    is_final: bool = False

    def json(self) -> dict[str, Any]:
        """As it travels."""
        return {"type": self.type, "content": self.content, "data": dict(self.data), "is_final": self.is_final}


class StreamCursor:
    """Replay cursor of one reader of one run: no character is sent twice, and none is left out.

    At most one text is open at a time: pieces belong to the next whole TEXT event, or to a THINKING event where the
    text turns out to stand beside a tool call. `id` is what the reader sends back
    to go on after what it has: the number of the last whole event, with `.` and characters of the text behind it.
    """

    def __init__(self, seq: int = 0, chars: int = 0) -> None:
        """The reader has all events up to `seq` and `chars` characters of the text that follows."""
        self._seq, self._chars = seq, chars

    @classmethod
    def after(cls, last_event_id: str | None) -> "StreamCursor":
        """From `seq` or `seq.characters`; raises ValueError where it is neither."""
        if not last_event_id:
            return cls()
        seq, _, chars = last_event_id.partition(".")
        if not (seq.isascii() and seq.isdigit() and len(seq) < 10) or len(chars) > 9:
            raise ValueError(f"not an event's id: {last_event_id[:40]}")
        if chars and not (chars.isascii() and chars.isdigit()):
            raise ValueError(f"not an event's id: {last_event_id[:40]}")
        return cls(int(seq), int(chars or 0))

    @property
    def seq(self) -> int:
        """Number of the last whole event."""
        return self._seq

    @property
    def id(self) -> str:
        """Value for Last-Event-ID to resume from here."""
        return f"{self._seq}.{self._chars}" if self._chars else str(self._seq)

    def take(self, event: Event) -> str | None:
        """The text that is new to the reader (empty for other events), None where all of the event is known."""
        if event.seq <= self._seq:
            return None
        if event.kind is EventKind.DRAFT:
            return ""
        if event.kind is not EventKind.TEXT:
            self._seq = event.seq
            if event.kind is EventKind.THINKING:
                self._chars = 0
            return ""
        text = str(event.data["text"])
        if not event.piece:
            fresh, self._seq, self._chars = text[self._chars :], event.seq, 0
            return fresh or None
        if event.sent > self._chars:  # something in between was not seen: the whole text brings it
            return None
        fresh = text[self._chars - event.sent :]
        self._chars = max(self._chars, event.sent + len(text))
        return fresh or None


def is_last(event: Event) -> bool:
    """True if a stream ends with this event."""
    return event.kind in LAST or (event.kind is EventKind.STATUS and event.data.get("state") == CANCELLED)


def s3(event: Event, fresh: str, verbosity: Verbosity = Verbosity.DEFAULT) -> StreamChunk | None:
    """The event in S3's vocabulary, None where this reader is not told of it; `fresh` is from `Reading.take`."""
    row = TABLE[event.kind]
    if verbosity < row.least:
        return None
    return StreamChunk(row.s3, _event_content(event, fresh), _visible_data(event, row, verbosity), is_last(event))


def s4(event: Event, fresh: str, verbosity: Verbosity = Verbosity.DEFAULT) -> StreamChunk | None:
    """The event as S4's chunk, None where this reader is not told of it."""
    row = TABLE[event.kind]
    if verbosity < row.least:
        return None
    content, data = _event_content(event, fresh), _visible_data(event, row, verbosity)
    if event.kind is EventKind.STATUS:
        content = _S4_STATES.get(content, content)
    if event.kind is EventKind.APPROVAL_REQUIRED:
        content = "waiting_approval"
        data = {"requires_approval": True, "approval_request": event.data.get("approval", {})}
    if event.kind is EventKind.INPUT_REQUIRED:
        content = "waiting_input"
        data = {"requires_input": True, "input_request": event.data.get("input", {})}
    return StreamChunk(row.s4, content, data, is_last(event))


def split_verbosity_flag(message: str) -> tuple[str, Verbosity | None]:
    """The message without a leading `[VERBOSE]` or `[DEBUG]`, and what it asks for."""
    start = message.lstrip()
    for verbosity in (Verbosity.VERBOSE, Verbosity.DEBUG):
        mark = f"[{verbosity.name}]"
        if start.upper().startswith(mark):
            return start[len(mark) :].lstrip(), verbosity
    return message, None


def _event_content(event: Event, fresh: str) -> str:
    if event.kind is EventKind.TEXT:
        return fresh
    if event.kind is EventKind.INPUT_REQUIRED:
        return said_of(event.data["input"])
    return str(event.data.get(_SAID.get(event.kind, ""), ""))


def _visible_data(event: Event, row: EventEncoding, verbosity: Verbosity) -> dict[str, Any]:
    left_out = {"text"} if event.kind in (EventKind.TEXT, EventKind.THINKING, EventKind.DRAFT) else set()
    shown = {
        key: value
        for key, value in event.data.items()
        if key not in left_out and (row.plain is None or key in row.plain or verbosity > row.least)
    }
    return {"kind": str(event.kind), **shown}
