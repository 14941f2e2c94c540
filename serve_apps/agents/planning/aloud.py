"""The answer of a planned turn, shown while it is written: read out of the JSON that its last step replies with."""

import json
import re
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cluster.basics.errors import AosError
from cluster.models.messages import ModelMessage, ModelReply
from cluster.models.routing.tasks import Task
from cluster.state.canonical_json import normalize_json
from serve_apps.agents.events import EventKind
from serve_apps.agents.planning.shape import PlanStep, StepExecutor, UnreadableReply, read_as
from serve_apps.agents.planning.work import PlannedTurn, StepResult, Streamed
from serve_apps.agents.turn.limits import ENDINGS
from serve_apps.agents.turn.model_call import told_usage
from serve_apps.agents.turn.stream_filter import StreamFilter, StreamGuard

SUFFICIENT = "sufficient"
LONGEST_HEAD = 1_000  # characters before the answer begins
# Only what decides whether the answer will be given may stand before it; otherwise nothing is shown before all is read.
_HEAD = re.compile(
    r"[^{]*\{\s*(?:\"(?:context_adequacy|confidence)\"\s*:\s*(?:\"[a-z]*\"|[\d.]+)\s*,\s*)*\"answer\"\s*:\s*\""
)
_ADEQUACY = re.compile(r"\"context_adequacy\"\s*:\s*\"([a-z]*)\"")
_ENDS = re.compile(r"(?<!\\)(?:\\\\)*\"")
_TORN = re.compile(r"(?<!\\)(?:\\\\)*(?P<torn>(?:\\u[dD][89abAB][0-9a-fA-F]{2})?\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_HALF_PAIR = re.compile(r"(?<!\\)(?:\\\\)*(?P<torn>\\u[dD][89abAB][0-9a-fA-F]{2})\Z")


class Reasoned(BaseModel):
    """Reply of a reasoning step: an answer, how it came about, and whether what was there sufficed for it."""

    model_config = ConfigDict(allow_inf_nan=False)
    answer: str = Field(min_length=1)
    steps: list[str] = []
    context_adequacy: Literal["sufficient", "insufficient"]
    confidence: float = Field(0.9, ge=0, le=1)


class AnswerReader:
    """Takes a JSON object in pieces and gives the text of its `answer`, as far as it is certain."""

    def __init__(self, may_show: Callable[[str | None], bool]) -> None:
        """`may_show`: decides by the adequacy that stands before the answer; None where none does."""
        self._may_show = may_show
        self._raw, self._over = "", False
        self.opened, self.text = False, ""  # the answer began and may be shown; of it so far

    def feed(self, piece: str) -> str:
        """The new part of the answer."""
        if self._over:
            return ""
        self._raw += piece
        if not self.opened and not self._open():
            return ""
        ended = _ENDS.search(self._raw)
        body = self._raw[: ended.end() - 1] if ended else self._raw[: self._whole()]
        try:
            fresh: str = normalize_json(json.loads(f'"{body}"', strict=False))
        except ValueError:  # no JSON: the rest is not read
            self._over = True
            return ""
        self._raw, self._over = self._raw[len(body) :], ended is not None
        self.text += fresh
        return fresh

    def _open(self) -> bool:
        found = _HEAD.match(self._raw)
        if found is None:
            self._over = len(self._raw) > LONGEST_HEAD
            return False
        adequacy = _ADEQUACY.search(found[0])
        self.opened = self._may_show(adequacy[1] if adequacy else None)
        self._over = not self.opened
        self._raw = self._raw[found.end() :]
        return self.opened

    def _whole(self) -> int:
        """The end of the raw text before half an escape, or half of a pair of them."""
        found = _TORN.search(self._raw) or _HALF_PAIR.search(self._raw)
        return found.start("torn") if found else len(self._raw)


class Aloud(StreamFilter):
    """As `StreamFilter`, of the answer inside a reply."""

    def __init__(self, work: PlannedTurn, reader: AnswerReader) -> None:
        """Quotes are checked as they come; `work.lead` parts it from an earlier text."""
        super().__init__(work.journal.emit_delta, work.services.clock, work.quotes, StreamGuard(), work.lead)
        self._reader = reader

    def feed(self, text: str) -> None:
        """Take a delta of the reply."""
        if fresh := self._reader.feed(text):
            super().feed(fresh)


def is_final(work: PlannedTurn, adequacy: str | None) -> bool:
    """True if synthesis will choose an answer of this adequacy, given by the last step."""
    earlier = any(
        one.step.executor == StepExecutor.REASONING and one.usable and one.output["context_adequacy"] == SUFFICIENT
        for one in work.results.values()
    )
    return adequacy == SUFFICIENT or (not work.grounded and not earlier)


async def reason_aloud(
    work: PlannedTurn, step: PlanStep, messages: tuple[ModelMessage, ...]
) -> StepResult | ModelReply:
    """The last step's answer, told as TEXT; the reply where nothing of it could be read or shown.

    What was shown stays the answer: a reply that breaks off behind it is not asked for again. Raises AosError of the
    model; what was shown is no part of the answer then, and the reader is told so.
    """
    reader = AnswerReader(lambda adequacy: is_final(work, adequacy))
    release = Aloud(work, reader)
    try:
        reply = await work.ask(Task.REASONING, messages, release=release)
    except ENDINGS:
        raise
    except AosError as error:
        work.journal.emit(EventKind.THINKING, text=f"The reply broke off: {error.code}.")
        raise
    read = read_as(Reasoned, reply.content)
    unread = isinstance(read, UnreadableReply)
    found = Reasoned(answer=reader.text.strip() or "-", context_adequacy=SUFFICIENT, confidence=0.5) if unread else read
    assert isinstance(found, Reasoned)
    shown = release.finish(found.answer) if reader.opened and reader.text.strip() else ""
    if shown:
        work.journal.emit(EventKind.TEXT, text=shown)
        work.streamed = Streamed(step.id, shown)
    told_usage(work.journal, reply)
    if unread and not shown:
        return reply
    return StepResult(step, found.model_dump() | ({"unread": True} if unread else {}), found.answer)
