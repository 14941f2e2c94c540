"""A run's record in memory, with the rules of the one in Postgres; a process may be killed at any of its writes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cluster.basics.errors import Conflict
from cluster.basics.telemetry import Telemetry
from cluster.state.approvals import ApprovalCategory, ApprovalRequest
from cluster.state.canonical_json import action_digest, normalize_json
from cluster.state.work.run_record import RunStep, StepState
from serve_apps.agents.durable.journal import LiveJournal
from serve_apps.agents.durable.recorder import ApprovalDecision
from serve_apps.agents.durable.traced import TurnTracer
from serve_apps.agents.events import Event
from serve_apps.agents.turn_ports import RunId


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Asked:
    """A row of approvals."""

    wanted: ApprovalRequest
    state: str = "pending"
    arguments: Any = None
    execution: str = "none"


@dataclass
class MemoryRecord:
    """Steps, events and approvals of one run; `kill` is asked with the number of each write, before and after it."""

    steps: dict[int, RunStep] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    asked: dict[str, Asked] = field(default_factory=dict)
    writes: int = 0
    kill_before: int | None = None
    kill_after: int | None = None

    def decide(self, state: str, arguments: Any = None) -> str:
        """Decide what is pending and return its id."""
        (one,) = (a for a in self.asked.values() if a.state == "pending")
        one.state = state
        one.arguments = normalize_json(one.wanted.arguments if arguments is None else arguments)
        return one.wanted.id

    async def begin(self, step: RunStep, events: Sequence[Event], grant: str | None, digest: str) -> None:
        self._before()
        if grant is not None:
            one = self.asked[grant]
            bound = one.wanted.category is ApprovalCategory.RECONCILE or digest == action_digest(
                step.name, one.arguments
            )
            if one.state != "approved" or one.execution != "none" or not bound:
                raise Conflict(f"approval {grant} does not allow this action now")
            one.execution = "started"
        self._put(step, events)

    async def end(self, step: RunStep, events: Sequence[Event], grant: str | None) -> None:
        self._before()
        for one in self.asked.values():
            again = one.wanted.category is ApprovalCategory.RECONCILE and one.wanted.step == step.seq
            if one.state == "approved" and (one.wanted.id == grant or again):
                one.execution = "done" if step.state is StepState.DONE else "failed"
        self._put(step, events)

    async def ask(self, step: RunStep, events: Sequence[Event], wanted: ApprovalRequest, grant: str | None) -> None:
        self._before()
        one = self.asked.setdefault(wanted.id, Asked(wanted))
        if one.state == "approved" and one.execution == "started":
            one.state, one.execution = "pending", "none"
        if grant is not None:
            self.asked[grant].execution = "needs_reconcile"
        self._put(step, events)

    async def decided(self, approval: str) -> ApprovalDecision | None:
        one = self.asked.get(approval)
        return None if one is None else ApprovalDecision(one.state, one.arguments, "somebody", one.execution != "none")

    def _before(self) -> None:
        self.writes += 1
        if self.writes == self.kill_before:
            raise Killed

    def _put(self, step: RunStep, events: Sequence[Event]) -> None:
        known = self.steps.get(step.seq)
        assert known is None or (known.state is StepState.STARTED and known.request_hash == step.request_hash)
        assert step.seq == 1 or self.steps[step.seq - 1].state is not StepState.STARTED
        self.steps[step.seq] = replace(step, reply=normalize_json(step.reply))
        for event in events:
            assert event.seq == len(self.events) + 1, "events are stored without a gap"
            self.events.append(event)
        if self.writes == self.kill_after:
            raise Killed


@dataclass
class Ticks:
    """Seconds that a test moves."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def journal_on(
    record: MemoryRecord,
    run: str = "0b7f0d3e-5c1c-4c61-9f0b-3f5b8a1d2c4e",
    shown: list[Event] | None = None,
    clock: Ticks | None = None,
    tracer: TurnTracer | None = None,
) -> LiveJournal:
    """A journal as an owner takes it up."""
    sink = [] if shown is None else shown
    return LiveJournal(
        RunId(run),
        7,
        tuple(record.steps.values()),
        len(record.events),
        recorder=record,
        show=sink.append,
        clock=clock or Ticks(),
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        patience=timedelta(hours=24),
        tracer=tracer or TurnTracer(Telemetry.off()),
    )
