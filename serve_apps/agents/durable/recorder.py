"""Storage of journals: each record is one transaction, fenced so that a stale owner is refused."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cluster.basics.errors import NotFound
from cluster.state.approvals import ApprovalCategory, ApprovalRequest, ApprovalStore
from cluster.state.db.postgres import Transaction
from cluster.state.work.run_record import RunEvent, RunLease, RunStep, StepState
from cluster.state.work.runs import RunLedger
from serve_apps.agents.events import Event
from serve_apps.agents.inquiries.inquiry import said_of

Say = Callable[[Transaction, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """State of an approval request and its decision."""

    state: str  # pending, approved, rejected or expired
    arguments: Mapping[str, Any] | None  # as they were decided; of a reconciliation `found` and `result`
    reviewer: str | None  # a user's id
    begun: bool  # the decision was acted on


@dataclass(frozen=True, slots=True)
class ApprovalGrant:
    """The right to carry one action out; `digest` is that of tool and arguments as they were approved."""

    approval: str
    tool: str
    digest: str


class RunRecorder(Protocol):
    """One run's record. Everything raises LeaseLost (another owner has it), Unavailable, Overloaded (the database)."""

    async def begin(self, step: RunStep, events: Sequence[Event], grant: str | None, digest: str) -> None:
        """A step whose effect must not happen twice is about to be performed; `grant` is the approval it uses up.

        Raises Conflict where the approval does not allow it, or no longer.
        """

    async def end(self, step: RunStep, events: Sequence[Event], grant: str | None) -> None:
        """A step was performed; `grant` as at its begin."""

    async def ask(self, step: RunStep, events: Sequence[Event], wanted: ApprovalRequest, grant: str | None) -> None:
        """Put an action before a person; the run waits from here on. `grant`: the approval that is in doubt."""

    async def decided(self, approval: str) -> ApprovalDecision | None:
        """The decision about an approval request; None where there is no such request."""


class LedgerRecorder:
    """The record in Postgres."""

    def __init__(self, runs: RunLedger, approvals: ApprovalStore, lease: RunLease, say: Say | None = None) -> None:
        """Writes as long as the lease holds; `say` keeps a question as a message of its conversation."""
        self._runs, self._approvals, self._lease, self._say = runs, approvals, lease, say

    async def begin(self, step: RunStep, events: Sequence[Event], grant: str | None, digest: str) -> None:
        """See `RunRecorder`."""
        async with self._runs.writing(self._lease) as tx:
            if grant is not None:
                await self._approvals.begin(tx, self._lease.scope, grant, digest)
            await self._runs.put_step(tx, self._lease, step)
            await self._runs.put_events(tx, self._lease, event_rows(events))

    async def end(self, step: RunStep, events: Sequence[Event], grant: str | None) -> None:
        """See `RunRecorder`."""
        async with self._runs.writing(self._lease) as tx:
            await self._runs.put_step(tx, self._lease, step)
            await self._runs.put_events(tx, self._lease, event_rows(events))
            if step.kind == "tool":
                done = step.state is StepState.DONE
                await self._approvals.end(tx, self._lease.scope, self._lease.run, step.seq, grant, done=done)

    async def ask(self, step: RunStep, events: Sequence[Event], wanted: ApprovalRequest, grant: str | None) -> None:
        """See `RunRecorder`."""
        async with self._runs.writing(self._lease) as tx:
            await self._runs.put_step(tx, self._lease, step)
            await self._runs.put_events(tx, self._lease, event_rows(events))
            if wanted.category is ApprovalCategory.RECONCILE:
                await self._approvals.doubt(tx, self._lease.scope, wanted, grant)
            else:
                new = await self._approvals.request(tx, self._lease.scope, wanted)
                if new and wanted.category is ApprovalCategory.INPUT and self._say is not None:
                    await self._say(tx, said_of(wanted.arguments))
            await self._runs.wait(tx, self._lease)

    async def decided(self, approval: str) -> ApprovalDecision | None:
        """See `RunRecorder`."""
        try:
            row = await self._approvals.show(self._lease.scope, approval)
        except NotFound:
            return None
        reviewer = None if row["reviewer"] is None else str(row["reviewer"])
        decided = await self._approvals.plain_arguments(self._lease.scope, row, row["decided_arguments"])
        return ApprovalDecision(row["state"], decided, reviewer, row["execution"] != "none")


def event_rows(events: Sequence[Event]) -> list[RunEvent]:
    """Events as rows."""
    return [RunEvent(event.seq, str(event.kind), event.data) for event in events]
