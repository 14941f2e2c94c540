"""Runs and their journals: claimed by lease, written under a fencing token, ended once."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.ids import scoped_id
from cluster.basics.scope import Scope
from cluster.state.canonical_json import action_digest, normalize_json
from cluster.state.db.postgres import Database, Row, Transaction, field_values
from cluster.state.work.lease import LeaseLedger, worker_scope
from cluster.state.work.run_record import (
    NewRun,
    RunEvent,
    RunJournal,
    RunLease,
    RunState,
    RunStep,
    StepState,
    read_step,
)
from cluster.state.work.run_seals import RunSeals

_DOUBTS = 20  # runs at a time of which somebody is asked what became of what they had begun


class RunLedger(LeaseLedger[RunLease], queries="runs.sql"):
    """Every write to runs, steps and their events."""

    _lease_type = RunLease

    def __init__(self, database: Database, seals: RunSeals | None = None) -> None:
        """`seals`: keep personal data out of the rows; without them rows hold what was said."""
        super().__init__(database)
        self._seals = seals

    async def create(self, tx: Transaction, scope: Scope, run: NewRun, lease_seconds: float) -> None:
        """Add a run in the caller's transaction, beside the message that it answers.

        One that is attended and that nobody claims within the lease is interrupted.
        """
        stored, made = (run.input, None) if self._seals is None else await self._seals.begin(tx, scope, run.input)
        values = field_values(run) | scoped_id(scope, "run", run.id) | {"input": Jsonb(normalize_json(stored))}
        masked = made is not None
        await tx.run(self._sql["create"], **values, user=scope.user, lease=lease_seconds, masked=masked)
        if self._seals is not None and made is not None:
            await self._seals.keep(tx, scope, run.id, made)

    async def claim(
        self, scope: Scope, run: str, owner: str, lease_seconds: float, *, attended: bool = True
    ) -> RunLease:
        """Take a run that is queued, interrupted, or whose owner is gone.

        Raises:
            NotFound: no such run in this scope.
            Conflict: it is carried out elsewhere, waits for a decision, or has ended, as one does now that is to be
                cancelled.
        """
        named = scoped_id(scope, "run", run)
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["claim"], **named, owner=owner, lease=lease_seconds, attended=attended)
            if row is None:
                if await tx.one(self._sql["unwanted"], **named) is not None:
                    await self._cancel(tx, scope, run)
                refusal = await self._refusal_error(tx, scope, run)
        if row is None:  # raised here, so that a cancel is committed
            raise refusal
        return RunLease(run, scope, row["fence"])

    async def claim_next(self, owner: str, lease_seconds: float) -> RunLease | None:
        """Take the unattended run that waits longest; None where none does.

        What runs had begun whose owner died is put before a person on the way.
        """
        await self._ask_of_the_dead()
        return next(iter(await self._claim_leases(owner=owner, lease=lease_seconds)), None)

    async def last_of_session(self, scope: Scope, session: str) -> Row | None:
        """The `path` of a conversation's last completed run, and `traced`, its trace's line on documents; or None."""
        async with self._db.transaction(scope) as tx:
            return await tx.one(self._sql["last_of_session"], **scope.keys, session=session)

    async def load(self, scope: Scope, run: str) -> RunJournal:
        """The run with its journal. Raises NotFound where there is none."""
        async with self._db.transaction(scope) as tx:
            row = await tx.required(f"run {run}", self._sql["load"], **(named := scoped_id(scope, "run", run)))
            steps = await tx.all(self._sql["steps"], **named)
            told = [[step["request"], step["reply"]] for step in steps]
            begun, outcome, told = await self.restore(tx, scope, run, [row["input"], row["outcome"], told])
        same = {"seed": row["seed"], "last_event": row["last_event"], "state": RunState(row["state"])}
        plain = tuple(read_step(step | {"request": t[0], "reply": t[1]}) for step, t in zip(steps, told, strict=True))
        return RunJournal(input=normalize_json(begun), outcome=outcome, steps=plain, **same)

    async def restore(self, tx: Transaction, scope: Scope, run: str, value: Any) -> Any:
        """A JSON value of a run's rows as it was said."""
        return value if self._seals is None else await self._seals.restore(tx, scope, run, value)

    async def _hide(self, tx: Transaction, scope: Scope, run: str, value: Any) -> Any:
        return value if self._seals is None else await self._seals.hide(tx, scope, run, value)

    async def put_step(self, tx: Transaction, lease: RunLease, step: RunStep) -> None:
        """Write a step or the end of a started one, and what it cost."""
        values = field_values(step) | lease.values
        request, reply = await self._hide(tx, lease.scope, lease.run, [step.request, step.reply])
        values |= {"cost_usd": Decimal(str(step.cost_usd)), "request": Jsonb(request)}
        values["reply"] = None if reply is None else Jsonb(reply)
        if await tx.run(self._sql["put_step"], **values) and step.state is not StepState.STARTED:
            await tx.run(self._sql["spent"], **values)

    async def put_events(self, tx: Transaction, lease: RunLease, events: Sequence[RunEvent]) -> None:
        """Store numbered events; what is stored already stays as it is.

        Raises ValueError where a number is missing, in between or after what is stored.
        """
        if not events:
            return
        seqs = [event.seq for event in events]
        if seqs != list(range(seqs[0], seqs[0] + len(seqs))):
            raise ValueError(f"events {seqs} of run {lease.run} have a gap")
        stream = {"stream": f"run:{lease.run}"} | lease.values
        if await tx.one(self._sql["open_stream"], **stream, first=seqs[0], last=seqs[-1]) is None:
            raise ValueError(f"run {lease.run} has no event before number {seqs[0]}")
        told = await self._hide(tx, lease.scope, lease.run, [event.payload for event in events])
        types, payloads = [e.type for e in events], [Jsonb(payload) for payload in told]
        await tx.run(self._sql["put_events"], **stream, seqs=seqs, types=types, payloads=payloads)

    async def wait(self, tx: Transaction, lease: RunLease) -> None:
        """The run waits for a person from the end of this transaction on, and the lease ends with it.

        One that is to be cancelled ends instead.
        """
        row = await tx.one(self._sql["wait"], **lease.values)
        if row is not None and row["cancel_requested"]:
            await self._cancel(tx, lease.scope, lease.run)

    async def finish(
        self, tx: Transaction, lease: RunLease, state: RunState, *, outcome: Any = None, error: Any = None
    ) -> None:
        """Give the run its end in a transaction that holds the lease; nothing of it waits for a person any more."""
        outcome, error = await self._hide(tx, lease.scope, lease.run, [normalize_json(outcome), normalize_json(error)])
        await tx.run(
            self._sql["finish"],
            **lease.values,
            state=state,
            outcome=None if outcome is None else Jsonb(outcome),
            error=None if error is None else Jsonb(error),
        )
        await tx.run(self._sql["end_approvals"], **lease.values)
        if state is not RunState.COMPLETED:
            await self._ask_what_became(tx, lease.scope, lease.run)

    async def release(self, lease: RunLease) -> None:
        """As `interrupt`."""
        await self.interrupt(lease)

    async def interrupt(self, lease: RunLease) -> RunState | None:
        """Give the run back; an unattended one is queued again, one that is to be cancelled ends.

        None where the lease was lost already.
        """
        async with self._db.transaction(lease.scope) as tx:
            row = await tx.one(self._sql["release"], **lease.values)
            if row is None:
                return None
            if row["cancel_requested"]:
                return await self._cancel(tx, lease.scope, lease.run)
            state = RunState(row["state"])
            if state is RunState.INTERRUPTED:
                await self._ask_what_became(tx, lease.scope, lease.run)
        return state

    async def cancel(self, tx: Transaction, scope: Scope, run: str) -> RunState:
        """End a run that nobody carries; the owner of a running one notices with its next heartbeat.

        Raises NotFound or Conflict: no such run, or it has ended.
        """
        row = await tx.one(self._sql["ask_cancel"], **scoped_id(scope, "run", run))
        if row is None:
            raise await self._refusal_error(tx, scope, run)
        return RunState.RUNNING if row["carried"] else await self._cancel(tx, scope, run)

    async def _cancel(self, tx: Transaction, scope: Scope, run: str) -> RunState:
        """End a run that is locked, with its last event."""
        await tx.run(self._sql["cancel"], **scoped_id(scope, "run", run))
        await self._ask_what_became(tx, scope, run)
        return RunState.CANCELLED

    async def _ask_of_the_dead(self) -> None:
        """Put before a person what runs had begun that ended without their owner."""
        async with self._db.transaction() as tx:
            rows = await tx.all(self._sql["doubtful"], most=_DOUBTS)
        for row in rows:
            scope = worker_scope(row)
            async with self._db.transaction(scope) as tx:
                if await tx.one(self._sql["hold_idle"], **scoped_id(scope, "run", str(row["id"]))) is not None:
                    await self._ask_what_became(tx, scope, str(row["id"]))

    async def _ask_what_became(self, tx: Transaction, scope: Scope, run: str) -> None:
        """Put before a person what a locked run had begun and must not repeat; its journal asks by the same id."""
        named = scoped_id(scope, "run", run)
        for step in await tx.all(self._sql["begun"], **named):
            asked = {"id": str(uuid5(UUID(run), f"{step['seq']} reconcile")), "step": step["seq"], "tool": step["name"]}
            digest = action_digest(step["name"], await self.restore(tx, scope, run, step["request"]))
            arguments = Jsonb(normalize_json(step["request"]))
            await tx.run(self._sql["doubt"], **named, **asked, arguments=arguments, digest=digest)

    async def _refusal_error(self, tx: Transaction, scope: Scope, run: str) -> NotFound | Conflict:
        row = await tx.one(self._sql["load"], **scoped_id(scope, "run", run))
        return NotFound(f"run {run}") if row is None else Conflict(f"run {run} is {row['state']}")
