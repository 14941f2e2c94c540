"""An orchestrator that tells what a test has written down, and remembers who asked, and whether it was closed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.models.messages import ToolSpec
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.turn_ports import IncomingMessage, RunId

# What happens: an event by kind and data, a piece of the text to come, seconds of silence, or an error.
Piece = str
Act = tuple[EventKind, dict[str, Any]] | Piece | float | Exception
Script = Callable[[IncomingMessage], Sequence[Act]]

USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "cost_usd": 0.001}


def says(text: str, *, pieces: Sequence[str] | None = None, **done: Any) -> list[Act]:
    """A turn that answers with a text, in these pieces first."""
    shown = [*(pieces if pieces is not None else [text[:4], text[4:]])]
    end = {"answer": text, "finish_reason": "stop", "confidence": 0.9, "citations": [], "usage": USAGE}
    end |= {"agent_trace": [{"step": "model", "name": "scripted"}], **done}
    return [
        (EventKind.ROUTE, {"path": "general", "rule": "none", "cached": False}),
        (EventKind.MODEL, {"connection": "c", "model": "scripted", "task": "chat", "reason": "primary"}),
        *shown,
        (EventKind.TEXT, {"text": text}),
        (EventKind.USAGE, USAGE | {"connection": "c"}),
        (EventKind.DONE, end),
    ]


def calls_tool(text: str) -> list[Act]:
    """A turn that thinks, calls a tool, and answers."""
    call = {"id": "c1", "name": "calculator", "arguments": {"expression": "6*7"}, "tier": 1}
    return [
        (EventKind.THINKING, {"text": "A secret thought."}),
        (EventKind.TOOL_CALL, call),
        (EventKind.TOOL_RESULT, {"id": "c1", "name": "calculator", "result": "42", "approved": True, "ms": 3}),
        *says(text),
    ]


def asks_first(approval: str) -> list[Act]:
    """A turn that ends with a question to a person."""
    wanted = {"id": approval, "tool": "http_post", "arguments": {"url": "https://x.example"}, "digest": "d" * 64}
    wanted |= {"reason": "configs/approvals.yaml: http_*", "expires_at": "2030-01-01T00:00:00+00:00"}
    return [(EventKind.APPROVAL_REQUIRED, {"approval": wanted})]


@dataclass
class ScriptedOrchestrator:
    """An `Orchestrator`; `closed` counts iterators that were closed before they ended, `live` those that run."""

    script: Script = lambda incoming: says(f"You said: {incoming.message}")
    asked: list[tuple[Scope, IncomingMessage]] = field(default_factory=list)
    resumed: list[tuple[Scope, str]] = field(default_factory=list)
    cancelled: list[tuple[Scope, str]] = field(default_factory=list)
    closed: int = 0
    live: int = 0
    most_live: int = 0

    async def process(self, scope: Scope, incoming: IncomingMessage) -> AsyncIterator[Event]:
        self.asked.append((scope, incoming))
        async for event in self._told(incoming, str(uuid4())):
            yield event

    async def resume(self, scope: Scope, run: RunId) -> AsyncIterator[Event]:
        self.resumed.append((scope, run))
        async for event in self._told(IncomingMessage("", "resumed"), run):
            yield event

    async def cancel(self, scope: Scope, run: RunId) -> None:
        self.cancelled.append((scope, run))

    async def _told(self, incoming: IncomingMessage, run: str) -> AsyncIterator[Event]:
        acts = self.script(incoming)
        if acts and isinstance(acts[0], AosError):
            raise acts[0]
        ids = {"run_id": run, "session_id": incoming.session or str(uuid4()), "agent_id": incoming.agent}
        seq, shown, ended = 1, 0, False
        self.live += 1
        self.most_live = max(self.most_live, self.live)
        try:
            yield Event(1, EventKind.STATUS, {"state": "accepted", **ids})
            for act in acts:
                if isinstance(act, float):
                    await asyncio.sleep(act)
                elif isinstance(act, str):
                    yield Event(seq + 1, EventKind.TEXT, {"text": act}, shown, piece=True)
                    shown += len(act)
                elif isinstance(act, Exception):
                    raise act
                else:
                    seq += 1
                    yield Event(seq, act[0], act[1], shown if act[0] is EventKind.TEXT else 0)
                    shown = 0 if act[0] is EventKind.TEXT else shown
            ended = True
        except Exception:
            ended = True
            raise
        finally:
            self.live -= 1
            self.closed += not ended


class Toolbox:
    """One tool, with a schema."""

    def specs(self) -> Sequence[ToolSpec]:
        schema = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
        return (ToolSpec("http_post", "Sends.", schema),)


@dataclass
class ScriptedReplays:
    """Tells that everything was the same, or where it was not."""

    diverged: Mapping[str, Any] | None = None
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    answer: str | None = None

    async def unmasked_answer(self, scope: Scope, run: str) -> str | None:
        return self.answer

    async def replay(
        self, scope: Scope, run: str, *, model: str | None = None, prompt: str | None = None
    ) -> Mapping[str, Any]:
        self.asked.append((run, model, prompt))
        return {"run_id": run, "same": self.diverged is None, "diverged": self.diverged}
