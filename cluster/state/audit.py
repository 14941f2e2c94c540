"""The append-only, hash-chained trail that every mutating and every denied action is written to."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction


class Outcome(StrEnum):
    """The outcome of an action."""

    DONE = "done"
    DENIED = "denied"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter of audit entries; None for all.

    Attributes:
        actor: a user's id or e-mail address, or `worker`.
        action: exactly, or the noun before the point: `user` finds `user.add`.
        object, outcome: exactly.
        since, until: moments with a time zone, both included.
        before: only those with a smaller number.
    """

    actor: str | None = None
    action: str | None = None
    object: str | None = None
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class VerifiedSlice:
    """Entries that were checked together: how many, the number of the last, and of the first that does not hold."""

    checked: int
    reached: int
    first_broken: int | None


EVERY = AuditFilter()
SLICE = 20_000
MOST_SEQ = 2**63 - 1


class AuditLog(SqlStore, queries="audit.sql"):
    """One tenant's trail; the scope of the transaction says which."""

    async def record(
        self,
        tx: Transaction,
        scope: Scope,
        action: str,
        object_: str,
        outcome: Outcome = Outcome.DONE,
        detail: Mapping[str, Any] | None = None,
    ) -> int:
        """Append in the caller's transaction, so that the act and its record stand or fall together.

        `action` is `noun.verb`, such as `document.delete`, and `object_` the id that it was done to; `detail` has facts
        worth keeping, never a secret.
        """
        kind, _, key = (scope.credential or "").partition(":")
        if kind == "service":  # it says for whom it acts, and is answerable for that
            detail = {**(detail or {}), "service_key": key}
        acted = {"actor": scope.user or "worker", "action": action, "object": object_, "outcome": outcome}
        row = await tx.one(self._sql["record"], **acted, detail=Jsonb(detail or {}))
        return 0 if row is None else int(row["seq"])

    async def denied(self, scope: Scope, action: str, object_: str, detail: Mapping[str, Any] | None = None) -> None:
        """Record an act that was refused, in a transaction of its own."""
        async with self._db.transaction(scope) as tx:
            await self.record(tx, scope, action, object_, Outcome.DENIED, detail)

    async def page(self, scope: Scope, *, which: AuditFilter = EVERY, skip: int = 0, limit: int = 100) -> list[Row]:
        """The newest entries first, each with `intact`: whether it was not altered, and follows the one before it."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["page"], tenant=scope.tenant, skip=skip, limit=limit, **asdict(which))

    async def newest(self, scope: Scope) -> int:
        """The number of the newest entry, which is how many there are."""
        rows = await self._db.read(scope, self._sql["newest"], tenant=scope.tenant)
        return int(rows[0]["total"])

    async def verify(self, scope: Scope, *, after: int, last: int | None = None, limit: int = SLICE) -> VerifiedSlice:
        """Check entries with a greater number than `after`, up to `last`, at most so many of them."""
        values = {"tenant": scope.tenant, "after": after, "last": MOST_SEQ if last is None else last, "limit": limit}
        (row,) = await self._db.read(scope, self._sql["verify"], **values)
        return VerifiedSlice(row["checked"], row["reached"], row["broken"])

    async def first_broken(self, scope: Scope) -> int | None:
        """The number of the first entry that was altered or follows a missing one; None where the chain holds."""
        reached = 0
        while True:  # in slices: no statement runs for minutes, however long the trail is
            slice_ = await self.verify(scope, after=reached)
            if slice_.first_broken is not None or slice_.checked < SLICE:
                return slice_.first_broken
            reached = slice_.reached

    async def between(self, scope: Scope, since: datetime | None, until: datetime | None) -> tuple[int, int]:
        """The number before the first entry since a moment, and that of the last one until another."""
        values = {"tenant": scope.tenant, "since": since, "until": until}
        (row,) = await self._db.read(scope, self._sql["between"], **values)
        return row["after"], row["last"]
