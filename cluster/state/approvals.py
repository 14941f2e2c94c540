"""Approval requests: an action bound by its hash, decided once, in time, executed once or shown as uncertain."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, Invalid, Unavailable
from cluster.basics.ids import as_uuid, uuid_of
from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.canonical_json import action_digest, normalize_json
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction, field_values
from cluster.state.work.placeholders import placeholders_in
from cluster.state.work.run_record import RunState
from cluster.state.work.run_seals import RunSeals

_ENDED = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)


class ApprovalCategory(StrEnum):
    """The question that a request asks: may the action happen, or has it happened."""

    APPROVAL = "approval"
    RECONCILE = "reconcile"
    INPUT = "input"


class ReviewVerdict(StrEnum):
    """A reviewer's decision on an action; there is no third answer, and no text is read as one."""

    APPROVED = "approved"
    REJECTED = "rejected"


class ReconcileVerdict(StrEnum):
    """A reviewer's answer on an action that was begun and whose end nobody recorded."""

    HAPPENED = "happened"  # with this result
    RUN = "run"  # it did not happen: run it
    GIVE_UP = "give_up"  # whatever it was, go on without


class ForeignPlaceholder(Invalid):
    """Edited arguments have a placeholder that the action did not have."""

    code = "foreign_placeholder"
    fix = "Use the placeholders of the arguments that were asked for, or write out what you mean."


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """An action that somebody has to decide.

    Attributes:
        id: a UUID derived from run and step.
        step: of the run's journal.
        expires_at: None where it waits until it is decided.
    """

    id: str
    run: str
    step: int
    tool: str
    arguments: Mapping[str, Any]
    reason: str
    expires_at: datetime | None
    category: ApprovalCategory = ApprovalCategory.APPROVAL


class ApprovalStore(SqlStore, queries="approvals.sql"):
    """Every statement about approvals; each decision is audited in its own transaction."""

    def __init__(self, database: Database, audit: AuditLog, seals: RunSeals | None = None) -> None:
        """`audit` gets each decision. `seals`: of a masked run, rows hold and show placeholders, also in arguments that
        somebody edits; what is bound by a digest is what they stand for.
        """
        super().__init__(database)
        self._audit, self._seals = audit, seals

    async def plain(self, tx: Transaction, scope: Scope, run: str, arguments: Any) -> Any:
        """Arguments with what their placeholders stand for."""
        return arguments if self._seals is None else await self._seals.restore(tx, scope, run, arguments)

    async def plain_arguments(self, scope: Scope, row: Row, arguments: Any) -> Any:
        """Arguments that were edited or decided, as the tool gets them."""
        async with self._db.transaction(scope) as tx:
            return await self.plain(tx, scope, str(row["run_id"]), arguments)

    async def _check_placeholders(self, tx: Transaction, scope: Scope, row: Row, arguments: Mapping[str, Any]) -> None:
        """Whoever edits sends no value on that the action did not have: reading those needs a right of its own."""
        foreign = placeholders_in(arguments) - placeholders_in(row["arguments"])
        if foreign and self._seals is not None and await self._seals.is_masked(tx, scope, str(row["run_id"])):
            raise ForeignPlaceholder(", ".join(sorted(foreign)))

    async def _stored(self, tx: Transaction, scope: Scope, run: str, arguments: Any, said: str) -> tuple[Jsonb, str]:
        """Arguments and a text beside them, as their row has them."""
        told = [normalize_json(arguments), said]
        arguments, said = told if self._seals is None else await self._seals.hide(tx, scope, run, told)
        return Jsonb(arguments), said

    async def show(self, scope: Scope, approval: str) -> Row:
        """One approval request. Raises NotFound where there is none."""
        async with self._db.transaction(scope) as tx:
            return await self._require_approval(tx, scope, approval)

    async def page(
        self, scope: Scope, *, state: str | None = None, run: str | None = None, skip: int = 0, limit: int = 100
    ) -> tuple[list[Row], int]:
        """A page of the workspace's, oldest first, and how many there are."""
        values = {**scope.keys, "state": state, "run": None if run is None else uuid_of(run, "run")}
        async with self._db.transaction(scope) as tx:
            return await tx.page(self._sql["list"], self._sql["count"], **values, skip=skip, limit=limit)

    async def decide(
        self,
        scope: Scope,
        approval: str,
        verdict: ReviewVerdict,
        *,
        arguments: Mapping[str, Any] | None = None,
        notes: str = "",
    ) -> Row:
        """Approve or reject; the run goes on in the background from the end of this transaction on.

        `arguments` are edited ones, valid against the tool's schema; None approves those that were asked for.

        Raises:
            NotFound: no such approval in this scope.
            Conflict: it is decided or expired, its run does not wait, or it asks what has happened (`reconcile`).
            ForeignPlaceholder: edited arguments have a placeholder that the action did not have.
        """
        async with self._db.transaction(scope) as tx:
            row = await self._require_approval(tx, scope, approval)
            if arguments is not None:
                await self._check_placeholders(tx, scope, row, arguments)
            chosen = row["arguments"] if arguments is None else arguments
            chosen = normalize_json(await self.plain(tx, scope, str(row["run_id"]), chosen))
            digest = action_digest(row["tool"], chosen)
            await self._record_decision(tx, scope, row, ApprovalCategory.APPROVAL, verdict, (chosen, digest), notes)
            detail = {"tool": row["tool"], "digest": digest, "edited": digest != row["digest"]}
            await self._audit.record(tx, scope, f"approval.{verdict}", approval, detail=detail)
            return await self._require_approval(tx, scope, approval)

    async def reconcile(
        self, scope: Scope, approval: str, found: ReconcileVerdict, *, result: Any = None, notes: str = ""
    ) -> Row:
        """Say what became of an action that was begun and whose end nobody recorded.

        Its run goes on; of one that has ended, this is only put on record. `result` is what the tool gave, where it
        happened. Raises as `decide`.
        """
        verdict = ReviewVerdict.REJECTED if found is ReconcileVerdict.GIVE_UP else ReviewVerdict.APPROVED
        async with self._db.transaction(scope) as tx:
            row = await self._require_approval(tx, scope, approval)
            said = normalize_json({"found": str(found), "result": result})
            bound = (said, row["digest"])
            await self._record_decision(tx, scope, row, ApprovalCategory.RECONCILE, verdict, bound, notes)
            detail = {"tool": row["tool"], "digest": row["digest"]}
            await self._audit.record(tx, scope, f"reconcile.{found}", approval, detail=detail)
            return await self._require_approval(tx, scope, approval)

    async def question(self, scope: Scope, session: str, user: str) -> Row | None:
        """A conversation's latest question, with `run_state`; None where there is none, or it is not the user's.

        `session` is its UUID, or the user's own name for it.
        """
        values = {**scope.keys, "user": user, "session": as_uuid(session), "key": session}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["question"], **values)
            if row is not None:
                row["decided_arguments"] = await self.plain(tx, scope, str(row["run_id"]), row["decided_arguments"])
            return row

    async def reply(self, tx: Transaction, scope: Scope, approval: str, reply: str, lease_seconds: float) -> None:
        """Answer a question; whoever sends the answer reads along, so the run waits for them for as long as a lease.

        Raises:
            NotFound: no such question in this scope.
            Conflict: it was answered already, or too late.
        """
        row = await self._require_approval(tx, scope, approval)
        said = {"reply": reply}
        bound = (said, action_digest(row["tool"], said))
        await self._record_decision(
            tx, scope, row, ApprovalCategory.INPUT, ReviewVerdict.APPROVED, bound, "", lease_seconds
        )
        await self._audit.record(tx, scope, "input.reply", approval, detail={"run": str(row["run_id"])})

    async def request(self, tx: Transaction, scope: Scope, wanted: ApprovalRequest) -> bool:
        """Put something before a person, once for each step; whether it is new."""
        digest = action_digest(wanted.tool, wanted.arguments)
        arguments, reason = await self._stored(tx, scope, wanted.run, wanted.arguments, wanted.reason)
        values = field_values(wanted) | _approval_values(scope, wanted.id) | {"digest": digest, "arguments": arguments}
        values["reason"] = reason
        return bool(await tx.run(self._sql["request"], **values))

    async def doubt(self, tx: Transaction, scope: Scope, wanted: ApprovalRequest, approval: str | None) -> None:
        """Ask a person whether an action has happened; `approval` is the one that allowed it, if any did."""
        await self.request(tx, scope, wanted)
        await tx.run(self._sql["reopen"], **_approval_values(scope, wanted.id))
        if approval is not None:
            await tx.run(self._sql["doubt"], **_approval_values(scope, approval))

    async def begin(self, tx: Transaction, scope: Scope, approval: str, digest: str) -> None:
        """Begin what was approved, in the transaction that starts its step.

        Raises:
            Conflict: it is not approved, not this action, or was begun before.
            Unavailable: somebody wants the run to end; given back, it does.
        """
        if await tx.one(self._sql["unwanted"], **_approval_values(scope, approval)) is not None:
            raise Unavailable("the run is to be cancelled, so the action was not begun")
        if not await tx.run(self._sql["begin"], **_approval_values(scope, approval), digest=digest):
            raise Conflict(f"approval {approval} does not allow this action now")

    async def end(
        self, tx: Transaction, scope: Scope, run: str, step: int, approval: str | None, *, done: bool
    ) -> None:
        """Record what became of it, in the transaction that ends its step."""
        await tx.run(
            self._sql["end"], **scope.keys, run=run, step=step, id=approval, execution="done" if done else "failed"
        )

    async def _record_decision(
        self,
        tx: Transaction,
        scope: Scope,
        row: Row,
        category: ApprovalCategory,
        verdict: ReviewVerdict,
        bound: tuple[Mapping[str, Any], str],
        notes: str,
        lease_seconds: float = 0.0,
    ) -> None:
        run = {"run": row["run_id"], **scope.keys}
        held = await tx.one(self._sql["hold_run"], **run)
        values = _approval_values(scope, str(row["id"])) | {"category": category, "state": verdict, "digest": bound[1]}
        arguments, notes = await self._stored(tx, scope, str(row["run_id"]), bound[0], notes)
        values |= {"arguments": arguments, "reviewer": scope.user, "notes": notes}
        if await tx.one(self._sql["decide"], **values) is None:
            now = await self._require_approval(tx, scope, str(row["id"]))
            is_other = now["category"] != category
            raise Conflict(f"this is a {now['category']} request" if is_other else f"it is {now['state']} already")
        if category is ApprovalCategory.RECONCILE and held is not None and held["state"] in _ENDED:
            await tx.run(self._sql["settle"], **run)
        elif not await tx.run(self._sql["requeue"], **run, category=category, lease=lease_seconds):
            raise Conflict("its run does not wait any more")

    async def _require_approval(self, tx: Transaction, scope: Scope, approval: str) -> Row:
        return await tx.required(f"approval {approval}", self._sql["show"], **_approval_values(scope, approval))


def _approval_values(scope: Scope, approval: str) -> dict[str, Any]:
    return {"id": uuid_of(approval, "approval"), **scope.keys}
