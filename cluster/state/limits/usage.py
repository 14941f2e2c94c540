"""The table `resource_usage`: tokens, money, pages and bytes by period, which a restart of Redis must not forget."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, SqlStore, Transaction
from cluster.state.limits.rules import LimitedCaller, LimitedResource, LimitRule, period_start


class UsageLedger(SqlStore, queries="usage.sql"):
    """What callers have used."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        """`clock` says now, with a time zone."""
        super().__init__(database)
        self._clock = clock

    async def add(
        self, tx: Transaction, caller: LimitedCaller, resource: LimitedResource, amount: Decimal | int
    ) -> None:
        """Count in the transaction of what used it, which is of the caller's tenant."""
        await tx.run(
            self._sql["add"],
            workspace=caller.workspace,
            resource=resource,
            user=caller.user,
            key=caller.key,
            amount=amount,
            now=self._clock(),
        )

    async def used(self, scope: Scope, rule: LimitRule, tx: Transaction | None = None) -> Decimal:
        """How much of a metered rule is used up in the period that it is now; `tx` sees what it has added itself."""
        values: dict[str, Any] = {
            "resource": rule.resource,
            "period": rule.window,
            "start": period_start(rule.window, self._clock()),
        }
        values |= {"tenant": scope.tenant, "kind": rule.subject_kind, "subject": rule.subject}
        if tx is not None:
            return Decimal((await tx.only(self._sql["used"], **values))["amount"])
        (row,) = await self._db.read(scope, self._sql["used"], **values)
        return Decimal(row["amount"])

    async def open_jobs(self, scope: Scope, rule: LimitRule) -> int:
        """How many jobs of the rule's subject wait or run."""
        (row,) = await self._db.read(scope, self._sql["jobs"], kind=rule.subject_kind, subject=rule.subject)
        return int(row["amount"])

    async def hold_jobs(self, tx: Transaction, rule: LimitRule) -> int:
        """As `open_jobs`; until the transaction ends nobody else is told a number for this subject."""
        await tx.one(self._sql["hold"], subject=rule.subject)
        row = await tx.only(self._sql["jobs"], kind=rule.subject_kind, subject=rule.subject)
        return int(row["amount"])
