"""Chats beside the faults: each is asked until it has an end, and what it waits for is decided once."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Protocol
from urllib.parse import quote

from cluster.basics.errors import AosError
from cluster.console.api import JSON

PAUSE_SECONDS = 1.0
PATIENCE_SECONDS = 420.0  # from a chat's beginning to its end, whatever is killed meanwhile
ENDS = frozenset({"completed", "failed", "cancelled"})
EXECUTED = "done"
NOTE = "decided by aos chaos"


class ApiCaller(Protocol):
    """The API as its client offers it: raises AosError by name."""

    def request(self, method: str, path: str, **options: Any) -> JSON:
        """One call."""
        ...


@dataclass(frozen=True, slots=True)
class ChatChoice:
    """The chats that are wanted: `{n}` of the message becomes the number of the chat.

    Attributes:
        approve: a pattern of tools whose calls are approved; whatever else a chat waits for is rejected.
        every: seconds between the end of one and the beginning of the next.
    """

    message: str
    agent: str = "assistant"
    approve: str | None = None
    every: float = 3.0


@dataclass(frozen=True, slots=True)
class ChatOutcome:
    """The end of a chat.

    Attributes:
        state: of its run; `open` where it had no end in time.
        runs: turns that the message became; more than one is the same message sent again because none was known.
        approved: approvals that this was given; `executions` of the approved tool stand in the run's journal, and
            `doubts` are calls of which nobody knows whether they happened (needs_reconcile).
    """

    number: int
    state: str = "open"
    runs: int = 0
    approved: int = 0
    rejected: int = 0
    executions: int = 0
    doubts: int = 0
    tries: int = 0
    seconds: float = 0.0


@dataclass
class ChatsBeside:
    """Somebody who chats, one chat after the other, until `over` is set; the last one is brought to its end."""

    api: ApiCaller
    choice: ChatChoice
    label: str
    outcomes: list[ChatOutcome] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def chat_on(self) -> None:
        """For a thread. A chat stands here as open from its beginning, whatever ends the thread."""
        number = 0
        while not self.over.is_set():
            number += 1
            self.outcomes.append(ChatOutcome(number))
            self.outcomes[-1] = self.chat_once(number)
            self.over.wait(self.choice.every)

    def chat_once(self, number: int) -> ChatOutcome:
        """One message to its end, by way of as many requests as it takes."""
        began, outcome, session = self.clock(), ChatOutcome(number), ""
        while self.clock() - began < PATIENCE_SECONDS:
            outcome = replace(outcome, tries=outcome.tries + 1)
            try:
                session = session or self._open_session(number)
                outcome = self._go_on(session, outcome)
            except AosError:  # away, or a token that could not be renewed meanwhile: look again
                self.sleep(PAUSE_SECONDS)
                continue
            if outcome.state != "open":
                break
            self.sleep(PAUSE_SECONDS)
        return replace(outcome, seconds=self.clock() - began)

    def _open_session(self, number: int) -> str:
        body = {"session_id": f"chaos-{self.label}-{number}", "agent_id": self.choice.agent}
        return str(self.api.request("POST", "/v1/agent/sessions", json=body)["session_id"])

    def _go_on(self, session: str, outcome: ChatOutcome) -> ChatOutcome:
        """One step nearer to the end of the newest run of this chat; without any it is sent."""
        found = self.api.request("GET", "/api/runs", params={"session_id": session, "mine": True})["items"]
        outcome = replace(outcome, runs=len(found))
        if not found:
            message = self.choice.message.replace("{n}", str(outcome.number))
            body = {"message": message, "session_id": session, "stream": False}
            self.api.request("POST", f"/api/chat/{quote(self.choice.agent, safe='')}", json=body)
            return outcome
        run = found[0]
        if run["state"] == "interrupted":
            self.api.request("POST", f"/api/runs/{run['id']}/resume", params={"stream": False})
        elif run["state"] == "waiting":
            return self._decide(str(run["id"]), outcome)
        elif run["state"] in ENDS:
            return replace(self._count_executions(run, outcome), state=str(run["state"]))
        return outcome

    def _decide(self, run: str, outcome: ChatOutcome) -> ChatOutcome:
        """Each approval once; what is in doubt is left for a person, and ends the chat."""
        listed = self.api.request("GET", "/api/approvals", params={"run_id": run, "state": "pending"})["items"]
        for one in listed:
            if one["category"] != "approval":
                return replace(outcome, state="in doubt", doubts=outcome.doubts + 1)
            wanted = self.choice.approve is not None and fnmatchcase(one["tool"], self.choice.approve)
            decision = "approve" if wanted else "reject"
            body = {"decision": decision, "notes": NOTE}
            self.api.request("POST", f"/api/approvals/{one['id']}", json=body)
        return outcome

    def _count_executions(self, run: JSON, outcome: ChatOutcome) -> ChatOutcome:
        """From the approvals of the run and from its journal: both are what the product knows of it."""
        decided = self.api.request("GET", "/api/approvals", params={"run_id": run["id"]})["items"]
        approved = [one for one in decided if one["category"] == "approval" and one["state"] == "approved"]
        steps = self.api.request("GET", f"/api/runs/{run['id']}")["steps"] if approved else []
        tools = {one["tool"] for one in approved}
        return replace(
            outcome,
            approved=len(approved),
            rejected=sum(one["state"] == "rejected" for one in decided),
            executions=sum(step["kind"] == "tool" and step["name"] in tools for step in steps),
            doubts=sum(one["execution"] not in (EXECUTED, "failed") for one in approved),
        )
