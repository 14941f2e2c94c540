"""Carries runs out: claims, heartbeats, shows events, and gives each run an end that is on record."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from cluster.basics.errors import AosError, LeaseLost, Permanent, Transient
from cluster.basics.scope import Scope
from cluster.basics.telemetry import Telemetry
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.audit import Outcome as Done
from cluster.state.db.postgres import Transaction
from cluster.state.work.lease import Heartbeat, LeaseSweep
from cluster.state.work.run_record import RunLease, RunState
from cluster.state.work.runs import RunLedger
from cluster.state.work.work_bell import RUNS, WorkBell
from configs.sections import AgentSettings
from serve_apps.agents.durable.document_use import CountUse
from serve_apps.agents.durable.journal import LiveJournal
from serve_apps.agents.durable.recorder import LedgerRecorder, event_rows
from serve_apps.agents.durable.replay_cursor import ReplayCursor
from serve_apps.agents.durable.traced import TurnTracer
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.intake.turn import dump_turn, load_turn
from serve_apps.agents.streams.subscriber import EventQueue
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import Journal, Turn, TurnHandler, TurnOutcome, TurnPath

GRACE_SECONDS = 4.0  # for a handler that is to stop; a reader who leaves stops the model within five
RECALLED = "recalled"  # of a turn's options: the trace's line on its memory
BACKGROUND = 8  # runs without a reader at a time

# What is to be done once the answer is committed, if anything.
Kept = Callable[[], Awaitable[None]]
Remember = Callable[[Transaction, Turn, TurnOutcome], Awaitable[Kept | None]]
Say = Callable[[Turn, Transaction, str], Awaitable[None]]
Classify = Callable[[Transaction, Scope, Sequence[str]], Awaitable[str | None]]
Admit = Callable[[Turn, Callable[[Turn], Awaitable[TurnOutcome]]], Awaitable[TurnOutcome]]
_log = logging.getLogger("aos.agents")


@dataclass(frozen=True, slots=True)
class RunTiming:
    """Clocks, so that tests can move them: seconds that grow, and the moment."""

    clock: Callable[[], float]
    now: Callable[[], datetime]


class TurnRunner:
    """Runs turns under their leases. A run whose owner dies is taken up where its journal ends."""

    def __init__(
        self,
        runs: RunLedger,
        approvals: ApprovalStore,
        handlers: Mapping[TurnPath, TurnHandler],
        settings: AgentSettings,
        *,
        owner: str,
        timing: RunTiming,
        remember: Remember,
        audit: AuditLog,
        telemetry: Telemetry,
        admit: Admit | None = None,
        say: Say | None = None,
        classify: Classify | None = None,
        count_use: CountUse | None = None,
        bell: WorkBell | None = None,
    ) -> None:
        """`owner`: who claims, for people. `remember`: stores the answer in its conversation, in the transaction that
        completes the run. `audit`: each execution of an agent is a line of the trail, written with the run's end.
        `say`: stores a question in its conversation, in the transaction in which the run begins to wait. `admit`:
        hands the turn over with the rights that its user still has, whenever it is begun or resumed, and ends it when
        they lose some. `classify`: the highest class of the documents that an answer cites. `count_use`: takes what an
        answer used of them, once it is committed. `bell`: rings where a run waits that nobody reads.
        """
        self._runs, self._approvals, self._handlers = runs, approvals, handlers
        self._settings, self._owner, self._timing, self._remember = settings, owner, timing, remember
        self._audit, self._say, self._telemetry, self._admit = audit, say, telemetry, admit
        self._classify, self._count_use, self._bell = classify, count_use, bell

    async def run(self, turn: Turn, lease: RunLease) -> AsyncIterator[Event]:
        """Carry a claimed run out and tell its events from the first; closing the iterator stops it.

        The last event is DONE, ERROR, APPROVAL_REQUIRED, INPUT_REQUIRED, or STATUS `cancelled`. Raises LeaseLost where
        another owner has the run (nothing more was written), Unavailable or Overloaded where the record cannot be
        written (the run can be resumed).
        """
        outlet, stop = EventQueue(), asyncio.Event()
        carried = asyncio.create_task(self._execute_run(turn, lease, outlet, stop))
        carried.add_done_callback(lambda _: outlet.close())
        try:
            async for event in outlet:
                yield event
            await carried
        finally:
            stop.set()
            await asyncio.wait({carried})
            if carried.done() and not carried.cancelled():
                carried.exception()  # a reader who left is not told

    async def claim(self, turn: Turn) -> RunLease:
        """The lease of a turn's run, for somebody who reads along; raises NotFound, Conflict as `RunLedger.claim`."""
        return await self._runs.claim(turn.scope, turn.run, self._owner, self._settings.lease_seconds)

    async def sweep(self, stop: asyncio.Event) -> None:
        """Carry out what nobody reads, such as runs that a decision resumed; ends when told to stop and they have.

        Runs that somebody reads are their readers' to end: they are not waited for.
        """
        settings = self._settings
        told = None if self._bell is None else (self._bell, RUNS, settings.sweep_seconds)
        claim, carry = self._claim_next, self._execute_unread
        await LeaseSweep(claim, carry, BACKGROUND, lambda: settings.poll_seconds, told).run(stop)

    async def _claim_next(self, room: int) -> list[RunLease]:
        lease = await self._runs.claim_next(self._owner, self._settings.lease_seconds)
        return [] if lease is None else [lease]

    async def _execute_unread(self, lease: RunLease, stop: asyncio.Event) -> None:
        unread = EventQueue(0)
        unread.close()
        await self._execute_run(None, lease, unread, stop)

    async def _execute_run(self, turn: Turn | None, lease: RunLease, outlet: EventQueue, stop: asyncio.Event) -> None:
        """One run from its first event to where it ends or waits; without a turn, the frozen one."""
        loaded = await self._runs.load(lease.scope, lease.run)
        turn = load_turn(loaded.input if turn is None else dump_turn(turn))
        lease = replace(lease, scope=turn.scope)
        say = None if self._say is None else partial(self._say, turn)
        tracer = TurnTracer(self._telemetry)
        recorder = LedgerRecorder(self._runs, self._approvals, lease, say)
        journal = LiveJournal(
            turn.run,
            loaded.seed,
            loaded.steps,
            loaded.last_event,
            recorder=recorder,
            show=outlet.put,
            clock=self._timing.clock,
            now=self._timing.now,
            patience=timedelta(hours=self._settings.approval_hours),
            tracer=tracer,
        )
        journal.mask_answer(turn)
        seconds, beat = self._settings.lease_seconds, self._settings.heartbeat_seconds
        heartbeat = Heartbeat(self._runs.heartbeat, lease, seconds, beat, self._timing.clock)
        carried = carried_out(self._handlers[turn.path], turn, journal, tracer, self._admit)
        handler = await heartbeat.run(carried, stop, GRACE_SECONDS)
        last = await self._finish_run(turn, lease, journal, handler, heartbeat)
        if last is not None:
            outlet.put(last)

    async def _finish_run(
        self,
        turn: Turn,
        lease: RunLease,
        journal: LiveJournal,
        handler: asyncio.Task[TurnOutcome],
        heartbeat: Heartbeat[RunLease],
    ) -> Event | None:
        """Write how the run ended and return its last event; None where it waits or was given back."""
        ended = handler.done() and not handler.cancelled()
        raised = handler.exception() if ended else None
        error = journal.halted or raised
        if isinstance(error, ApprovalPending):
            return None
        if heartbeat.lost or isinstance(error, LeaseLost):
            raise LeaseLost(str(lease))
        if journal.halted is not None and isinstance(error, Transient):
            await self._runs.interrupt(lease)
            raise error
        if error is not None:
            return await self._fail_run(turn, lease, journal, error)
        if ended:
            try:
                return await self._complete_run(turn, lease, journal, handler.result())
            except LeaseLost:
                raise
            except Permanent as refused:  # the answer cannot be kept, such as in a closed conversation
                return await self._fail_run(turn, lease, journal, refused)
        if heartbeat.cancelled:
            event = journal.last(EventKind.STATUS, state="cancelled")
            async with self._runs.writing(lease) as tx:
                await self._runs.put_events(tx, lease, event_rows(journal.pending))
                await self._runs.finish(tx, lease, RunState.CANCELLED)
                await self._audit_run(tx, turn, journal, RunState.CANCELLED)
            return event
        await self._runs.interrupt(lease)
        return None

    async def _complete_run(self, turn: Turn, lease: RunLease, journal: LiveJournal, outcome: TurnOutcome) -> Event:
        async with self._runs.writing(lease) as tx:
            if self._classify is not None and outcome.citations:
                documents = [str(one["document_id"]) for one in outcome.citations]
                outcome = replace(outcome, classification=await self._classify(tx, turn.scope, documents))
            kept = await self._remember(tx, turn, outcome)
            shown = journal.shown_outcome(outcome)
            event = journal.last(EventKind.DONE, **done_data(shown, journal))
            await self._runs.put_events(tx, lease, event_rows(journal.pending))
            await self._runs.finish(tx, lease, RunState.COMPLETED, outcome=outcome_data(shown))
            await self._audit_run(tx, turn, journal, RunState.COMPLETED)
        if self._count_use is not None:
            self._count_use(turn, outcome, journal.found)
        if kept is not None:
            await kept()
        return event

    async def _fail_run(self, turn: Turn, lease: RunLease, journal: LiveJournal, error: BaseException) -> Event:
        """A named error is told as it is; any other is a bug, told by a number that the log explains."""
        data = error_data(error, f"{lease.run}.{lease.fence}")
        if not isinstance(error, AosError):
            _log.error("run %s failed: %s", lease.run, data["detail"], exc_info=error)
        event = journal.last(EventKind.ERROR, **data)
        async with self._runs.writing(lease) as tx:
            await self._runs.put_events(tx, lease, event_rows(journal.pending))
            await self._runs.finish(tx, lease, RunState.FAILED, error=dict(event.data))
            await self._audit_run(tx, turn, journal, RunState.FAILED, code=data["code"])
        return event

    async def _audit_run(
        self, tx: Transaction, turn: Turn, journal: ReplayCursor, state: RunState, **more: str
    ) -> None:
        """Audits an agent's execution: caller, agent, final state and cost; its content stays in the run.

        Before it, a line for each call that the list of approvals refused.
        """
        for tool, why in journal.refused:
            told = {"run": turn.run, "agent": turn.agent.id, "why": why[:300]}
            await self._audit.record(tx, turn.scope, "tool.refuse", tool, Done.DENIED, told)
        outcome = Done.FAILED if state is RunState.FAILED else Done.DONE
        detail: dict[str, Any] = {"run": turn.run, "session": turn.session, "path": turn.path, "state": state, **more}
        detail |= {"ms": journal.spent_ms, **journal.usage}
        if journal.delegates:
            detail["delegates"] = list(journal.delegates)
        await self._audit.record(tx, turn.scope, "agent.execute", turn.agent.id, outcome, detail)


async def carried_out(
    handler: TurnHandler, turn: Turn, journal: Journal, tracer: TurnTracer, admit: Admit | None = None
) -> TurnOutcome:
    """The turn from its first event to its outcome, whose trace begins with what was remembered for it."""
    emit_opening(turn, journal)
    with tracer.trace_turn(turn) as ended:
        carry = partial(handler, journal=journal)
        outcome = await (carry(turn) if admit is None else admit(turn, carry))
        ended(outcome)
    line = turn.options.get(RECALLED)
    return outcome if line is None else replace(outcome, trace=(line, *outcome.trace))


def emit_opening(turn: Turn, journal: Journal) -> None:
    """Emits the first events of a run: its acceptance and its route."""
    journal.emit(EventKind.STATUS, state="accepted", run_id=turn.run, session_id=turn.session, agent_id=turn.agent.id)
    if "route" in turn.options:
        journal.emit(EventKind.ROUTE, **turn.options["route"])


def outcome_data(outcome: TurnOutcome) -> dict[str, Any]:
    """The outcome as JSON, without what there was nothing to say of."""
    told = asdict(outcome)
    return {name: value for name, value in told.items() if value or name not in ("personal_data", "classification")}


def done_data(outcome: TurnOutcome, journal: ReplayCursor) -> dict[str, Any]:
    """The data of DONE."""
    told = outcome_data(outcome)
    return {"agent_trace": told.pop("trace"), "usage": journal.usage, **told}


def error_data(error: BaseException, reference: str) -> dict[str, Any]:
    """The data of ERROR: nothing of the inside of what nobody expected."""
    if isinstance(error, AosError):
        return {"code": error.code, "title": error.title, "detail": error.detail, "fix": error.hint}
    title = "Something went wrong inside of AOS."
    return {"code": "internal", "title": title, "detail": f"reference {reference}", "fix": "Look it up in the log."}
