"""The API of chats, in memory: calls break as is wanted, and a message becomes a run that wants approval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.basics.errors import Conflict, NotFound
from cluster.console.api import ApiUnavailable


@dataclass
class ChatApi:
    """One conversation.

    Attributes:
        breaks: for each call in turn: nothing, `before` (it never arrived) or `after` (the answer was lost).
        states: of the run, one after the other, each time it is looked at; the last one stays.
        category: of what it waits for.
        executions: tool steps in the journal once it was approved.
    """

    breaks: Sequence[str] = ()
    states: Sequence[str] = ("waiting", "completed")
    category: str = "approval"
    executions: int = 1
    tool: str = "record_keyed"
    messages: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    resumed: int = 0
    calls: Iterator[str] = field(init=False)
    looks: int = 0

    def __post_init__(self) -> None:
        self.calls = iter(self.breaks)

    def request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        broken = next(self.calls, "")
        if broken == "before":
            raise ApiUnavailable("no replica")
        answer = self._answer(method, path, options)
        if broken == "after":
            raise ApiUnavailable("the connection broke")
        return answer

    def _answer(self, method: str, path: str, options: dict[str, Any]) -> dict[str, Any]:
        match method, path:
            case "POST", "/v1/agent/sessions":
                return {"session_id": "session"}
            case "POST", "/api/chat/assistant":
                self.messages.append(options["json"]["message"])
                return {}
            case "GET", "/api/runs":
                return {"items": [{"id": "run", "state": self._state()}] if self.messages else []}
            case "POST", "/api/runs/run/resume":
                self.resumed += 1
                return {}
            case "GET", "/api/runs/run":
                step = {"kind": "tool", "name": self.tool}
                return {"steps": [step] * self.executions + [{"kind": "model", "name": self.tool}]}
            case "GET", "/api/approvals":
                return {"items": self._approvals(options["params"].get("state"))}
            case "POST", "/api/approvals/approval":
                if self.decisions:
                    raise Conflict("it is decided")
                self.decisions.append(options["json"]["decision"])
                return {}
        raise NotFound(path)

    def _state(self) -> str:
        state = self.states[min(self.looks, len(self.states) - 1)]
        if state != "waiting" or self.decisions or self.category != "approval":
            self.looks += 1
        return state

    def _approvals(self, state: str | None) -> list[dict[str, Any]]:
        decided = {"approve": "approved", "reject": "rejected"}[self.decisions[0]] if self.decisions else "pending"
        execution = "done" if decided == "approved" else "none"
        one = {"id": "approval", "tool": self.tool, "category": self.category, "state": decided, "execution": execution}
        return [one] if state in (None, decided) else []
