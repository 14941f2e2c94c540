"""The one internal vocabulary of what happens in a run; every stream is an encoding of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class EventKind(StrEnum):
    """Kind of a run's event. `data` of each is named beside it; all values are JSON."""

    # state: thinking | executing | waiting_approval | waiting_input | resumed | completed | failed ...
    STATUS = "status"
    ROUTE = "route"  # path, rule, cached
    # sources: [{n, document_id, version_id, chunk_id, filename, page, score}], generation, fallback
    RETRIEVED = "retrieved"
    MODEL = "model"  # connection, model, task, reason
    FALLBACK = "fallback"  # left, taken, why
    THINKING = "thinking"  # text: reasoning, or text beside a tool call
    PLAN = "plan"  # steps: [{id, label, executor, action, tool, args, description, depends_on}]
    STEP_START = "step_start"  # id, label
    STEP_END = "step_end"  # id, outcome, note
    # text: what a model is writing that nobody has checked yet; the TEXT that follows takes its place. It is shown like
    # a piece and never stored
    DRAFT = "draft"
    TEXT = "text"  # text: a part of the answer
    # n, document_id, version_id, chunk_id, filename, page, quote, boxes, ocr_confidence, caveats, …
    CITATION = "citation"
    TOOL_CALL = "tool_call"  # id, name, arguments (object), tier (1..4)
    TOOL_RESULT = "tool_result"  # id, name, result | error, approved, ms
    APPROVAL_REQUIRED = "approval_required"  # approval: {id, tool, arguments, digest, reason, expires_at}
    APPROVAL_DECIDED = "approval_decided"  # id, state, reviewer, arguments
    INPUT_REQUIRED = "input_required"  # input: {id, question, category, options, expires_at}
    INPUT_GIVEN = "input_given"  # id, state, reply
    USAGE = "usage"  # prompt_tokens, completion_tokens, cost_usd, connection
    ERROR = "error"  # code, title, detail, fix; no internals
    DONE = "done"  # answer, finish_reason, confidence, citations, usage, agent_trace


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a run."""

    seq: int  # gapless from 1 within the run; the SSE id
    kind: EventKind  # what
    data: Mapping[str, Any] = field(default_factory=dict)  # as listed beside the kind
    sent: int = 0  # TEXT only: how many characters the live reader was already sent as pieces
    # TEXT: this is a piece of a text that is still being written; `sent` is where it begins in it, `seq` the number the
    # whole text will get. A DRAFT is always one. Pieces are shown and never stored
    piece: bool = False

    @property
    def id(self) -> str:
        """SSE id, sent back as Last-Event-ID: `seq` of the last whole event, `.` and characters of a piece."""
        if not self.piece:
            return str(self.seq)
        if self.kind is EventKind.DRAFT:
            return str(self.seq - 1)
        return f"{self.seq - 1}.{self.sent + len(self.data['text'])}"
