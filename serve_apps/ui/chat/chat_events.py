"""A turn as it is heard: its events, one after the other, folded into what a person is shown."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi, StreamEvent
from serve_apps.ui.kit.problem import ProblemReport

ENDS: Final = frozenset({"completed", "failed", "cancelled", "interrupted"})
QUIET_SECONDS: Final = 1.0
Json = dict[str, Any]


@dataclass(slots=True)
class ToolCallState:
    """A tool's call; `result` and `error` are None while it runs, or waits for a person."""

    id: str
    name: str
    arguments: Json
    tier: int | None = None
    result: Any = None
    error: Any = None
    over: bool = False
    approved: bool | None = None
    ms: int | None = None


@dataclass(slots=True)
class TurnProgress:
    """State of a turn, folded from the events so far."""

    run: str = ""
    session: str = ""
    state: str = ""
    last: str | None = None  # the id to come back with
    path: str = ""
    text: str = ""  # of the answer, whole parts; `piece` is what is being written
    piece: str = ""
    draft: str = ""  # what a model is writing that is not checked yet
    thoughts: list[str] = field(default_factory=list)
    plan: list[Json] = field(default_factory=list)  # its steps, each with `outcome` and `note` once they are over
    calls: list[ToolCallState] = field(default_factory=list)
    found: list[Json] = field(default_factory=list)  # what each search gave: sources, generation, fallback
    citations: list[Json] = field(default_factory=list)
    models: list[Json] = field(default_factory=list)
    fallbacks: list[Json] = field(default_factory=list)
    decisions: list[Json] = field(default_factory=list)
    trace: list[Json] = field(default_factory=list)  # what the answer says of itself: its mode, the model that wrote it
    personal: Json = field(default_factory=dict)  # finds of personal data in it by kind, under `masked` and `marked`
    classification: str = ""  # the highest class of the documents that it cites
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    approval: Json | None = None
    asked: Json | None = None  # what the agent wants to know; the next message of the conversation answers it
    error: ProblemReport | None = None

    @property
    def over(self) -> bool:
        """True if nothing more comes."""
        return self.state in ENDS or self.error is not None

    def call(self, id_: str) -> ToolCallState | None:
        """The call of this id, the latest of them."""
        return next((one for one in reversed(self.calls) if one.id == id_), None)


def fold_event(turn: TurnProgress, told: StreamEvent) -> None:
    """Take one event of the API's stream."""
    turn.last = told.id or turn.last
    if not isinstance(told.data, dict):
        return
    data, content = told.data.get("data") or {}, str(told.data.get("content") or "")
    kind = data.get("kind")
    if kind == "draft":
        turn.draft += content
    elif kind == "text":
        turn.draft = ""
        turn.piece += content
        if "." not in (told.id or ""):  # the part is whole
            turn.text, turn.piece = turn.text + turn.piece, ""
    elif kind == "thinking":
        turn.piece = ""
        turn.thoughts.append(content)
    elif kind == "status":
        turn.run = str(data.get("run_id") or turn.run)
        turn.session = str(data.get("session_id") or turn.session)
        turn.state = str(data.get("state") or turn.state)
    elif kind in ("tool_call", "tool_result"):
        _apply_tool_event(turn, kind, data)
    elif kind in ("plan", "step_start", "step_end"):
        _apply_plan_event(turn, kind, data)
    elif kind == "error":
        title, detail, fix = (str(data.get(name) or "") for name in ("title", "detail", "fix"))
        turn.error = ProblemReport(title, detail, fix, 0, str(data.get("code") or "failed"))
        turn.state = "failed"
    elif kind == "done":
        _apply_answer(turn, data)
    else:
        _apply_detail(turn, str(kind), data)


async def fold_stream(
    stream: AsyncIterator[StreamEvent], turn: TurnProgress, quiet: float = QUIET_SECONDS
) -> AsyncGenerator[StreamEvent, None]:
    """Each event, once it is heard. It ends with the stream, or where a person is asked and nobody has decided yet.

    A stream that tells what was stored goes on after a question that was decided since, so that many `quiet` seconds
    are waited then.
    """
    iterator = aiter(stream)
    while True:
        try:
            wait = quiet if turn.approval is not None or turn.asked is not None else None
            async with asyncio.timeout(wait):
                told = await anext(iterator)
        except (StopAsyncIteration, TimeoutError):
            return
        fold_event(turn, told)
        yield told


async def load_stored_turn(api: SessionApi, run: str) -> TurnProgress:
    """A run that has ended, or waits for a person, from its stored events; raises Problem."""
    turn = TurnProgress(run=run)
    stream = api.stream("GET", f"/api/runs/{run}/events", params={"verbose": "debug"})
    async with aclosing(fold_stream(stream, turn)) as heard:
        async for _ in heard:
            pass
    return turn


def _apply_tool_event(turn: TurnProgress, kind: str, data: Mapping[str, Any]) -> None:
    id_, name = str(data.get("id", "")), str(data.get("name", ""))
    if kind == "tool_call":
        turn.calls.append(ToolCallState(id_, name, dict(data.get("arguments") or {}), data.get("tier")))
        return
    call = turn.call(id_)
    if call is None:
        call = ToolCallState(id_, name, {})
        turn.calls.append(call)
    call.result, call.error, call.over = data.get("result"), data.get("error"), True
    call.approved, call.ms = data.get("approved"), data.get("ms")


def _apply_plan_event(turn: TurnProgress, kind: str, data: Mapping[str, Any]) -> None:
    if kind == "plan":
        turn.plan = [dict(step) for step in data.get("steps", ())]
        return
    for step in turn.plan:
        if str(step.get("id")) == str(data.get("id")):
            ended = kind == "step_end"
            step["outcome"] = str(data.get("outcome", "")) if ended else "running"
            step["note"] = str(data.get("note", "")) if ended else ""


def _apply_answer(turn: TurnProgress, data: Mapping[str, Any]) -> None:
    turn.text, turn.piece, turn.draft = str(data.get("answer", turn.text)), "", ""
    turn.citations = [dict(one) for one in data.get("citations", turn.citations)]
    turn.trace = [dict(one) for one in data.get("agent_trace", ())]
    turn.personal, turn.classification = dict(data.get("personal_data") or {}), str(data.get("classification") or "")
    turn.state = "completed"


def _apply_detail(turn: TurnProgress, kind: str, data: Mapping[str, Any]) -> None:
    match kind:
        case "route":
            turn.path = str(data.get("path", ""))
        case "model" | "fallback" | "retrieved" | "citation":
            if kind == "fallback":
                turn.draft = ""  # it was another's, or of a path that was left
            kept = {"model": turn.models, "fallback": turn.fallbacks, "retrieved": turn.found}
            kept.get(kind, turn.citations).append(dict(data))
        case "approval_required":
            turn.approval, turn.state = dict(data.get("approval") or {}), "waiting"
        case "approval_decided":
            turn.approval, turn.state = None, "running"
            turn.decisions.append(dict(data))
        case "input_required":
            turn.asked, turn.state = dict(data.get("input") or {}), "waiting"
        case "input_given":
            turn.asked, turn.state = None, "running"
        case "usage":
            turn.tokens_in += int(data.get("prompt_tokens") or 0)
            turn.tokens_out += int(data.get("completion_tokens") or 0)
            turn.cost += float(data.get("cost_usd") or 0)
