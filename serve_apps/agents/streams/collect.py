"""A run's events folded into one reply, for clients that do not read streams."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.encode import CANCELLED

Json = dict[str, Any]


@dataclass(slots=True)
class ReplyCollector:
    """Accumulated reply of a run so far; `add` takes its events in order."""

    run: str = ""
    session: str = ""
    agent: str = ""
    answer: str = ""  # of DONE, before it the texts so far
    finish_reason: str = ""
    confidence: float | None = None
    model: str = ""
    reasoning: str = ""
    path: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    citations: list[Json] = field(default_factory=list)
    tool_calls: list[Json] = field(default_factory=list)  # that were made here: id, name, arguments, tier
    tool_results: list[Json] = field(default_factory=list)
    client_calls: list[Json] = field(default_factory=list)  # for the client to make: id, name, arguments
    # what was done, in order: {step, name, ...} without arguments and results
    steps: list[Json] = field(default_factory=list)
    trace: list[Json] = field(default_factory=list)  # a line for each thing done (`agent_trace`)
    approval: Json | None = None  # what a person has to decide before it goes on
    input: Json | None = None  # what the person who reads along is asked; their next message goes on with it
    error: Json | None = None  # code, title, detail, fix
    personal_data: Json = field(default_factory=dict)  # finds in the answer by kind, under `masked` and `marked`
    classification: str | None = None  # the highest class of the documents that it cites

    @property
    def tools_used(self) -> list[str]:
        """Names, each once, in the order of their first call."""
        return list(dict.fromkeys(str(call.get("name", "")) for call in self.tool_calls))

    def add(self, event: Event) -> None:
        """Take one event; pieces of texts are left to the whole ones."""
        data = event.data
        match event.kind:
            case EventKind.STATUS:
                self.run = str(data.get("run_id") or self.run)
                self.session = str(data.get("session_id") or self.session)
                self.agent = str(data.get("agent_id") or self.agent)
                self.finish_reason = CANCELLED if data.get("state") == CANCELLED else self.finish_reason
            case EventKind.ROUTE:
                self.path = str(data.get("path", ""))
                self.steps.append({"step": "route", "name": self.path})
            case EventKind.MODEL:
                self.model = str(data.get("model", ""))
                self.steps.append({"step": "model", "name": self.model})
            case EventKind.RETRIEVED:
                self.steps.append({"step": "retrieval", "name": f"{len(data.get('sources', ()))} passages"})
            case EventKind.THINKING:
                self.reasoning += str(data.get("text", ""))
            case EventKind.TEXT if not event.piece:
                self.answer += str(data["text"])
            case EventKind.CITATION:
                self.citations.append(dict(data))
            case EventKind.APPROVAL_REQUIRED:
                self.approval = dict(data.get("approval", data))
            case EventKind.INPUT_REQUIRED:
                self.input = dict(data.get("input", data))
            case EventKind.ERROR:
                self.error = dict(data)
            case EventKind.DONE:
                self._take_outcome(data)
            case _:
                self._add_activity(event.kind, data)

    def _add_activity(self, kind: EventKind, data: Mapping[str, Any]) -> None:
        if kind is EventKind.TOOL_CALL:
            self.tool_calls.append(dict(data))
        elif kind is EventKind.TOOL_RESULT:
            self.tool_results.append(dict(data))
            self.steps.append({"step": "tool", "name": data.get("name", ""), "ms": data.get("ms", 0)})
        elif kind is EventKind.APPROVAL_DECIDED:
            self.approval = None
        elif kind is EventKind.INPUT_GIVEN:
            self.input = None
        elif kind is EventKind.STEP_END:
            self.steps.append({"step": "plan", "name": data.get("id", ""), "outcome": data.get("outcome", "")})
        elif kind is EventKind.USAGE:
            self.prompt_tokens += int(data.get("prompt_tokens", 0))
            self.completion_tokens += int(data.get("completion_tokens", 0))
            self.cost_usd += float(data.get("cost_usd", 0))

    def _take_outcome(self, data: Mapping[str, Any]) -> None:
        self.answer = str(data.get("answer", self.answer))
        self.finish_reason = str(data.get("finish_reason", "stop"))
        self.confidence = data.get("confidence")
        self.citations = [dict(one) for one in data.get("citations", self.citations)]
        self.client_calls = [dict(one) for one in data.get("tool_calls", ())]
        self.trace = [dict(one) for one in data.get("agent_trace", ())]
        self.personal_data = dict(data.get("personal_data") or {})
        self.classification = data.get("classification")
        usage = data.get("usage") or {}
        self.prompt_tokens = int(usage.get("prompt_tokens", self.prompt_tokens))
        self.completion_tokens = int(usage.get("completion_tokens", self.completion_tokens))
        self.cost_usd = float(usage.get("cost_usd", self.cost_usd))
