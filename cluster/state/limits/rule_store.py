"""The table `rate_limits`, and the rules of tenants as this process knows them, some seconds old."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from cluster.basics.errors import Transient
from cluster.basics.scope import Scope, TenantId
from cluster.basics.single_flight import SingleFlight
from cluster.state.db.postgres import Row, SqlStore, Transaction
from cluster.state.identity.identity import NO_WORKSPACE
from cluster.state.limits.rules import LimitedResource, LimitRule, LimitWindow, SubjectKind

log = logging.getLogger("aos.limits")

KNOWN_TENANTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule as administrators see it; `name` is the subject's: an e-mail address, or what it is called."""

    rule: LimitRule
    name: str


class RateLimitStore(SqlStore, queries="rule_store.sql"):
    """Changes happen in the caller's transaction, beside their record in the audit trail."""

    async def rules(self, scope: Scope, tx: Transaction | None = None) -> list[StoredRule]:
        """The tenant's rules; those of who or what is gone are left out."""
        if tx is not None:
            rows = await tx.all(self._sql["rules"], tenant=scope.tenant)
        else:
            rows = await self._db.read(scope, self._sql["rules"], tenant=scope.tenant)
        return [_stored_rule(row) for row in rows if row["name"] is not None]

    async def put(self, tx: Transaction, scope: Scope, rule: LimitRule) -> None:
        """Write a rule of the tenant. Raises NotFound: its subject is not there, or another tenant's."""
        whose = {"tenant": scope.tenant, "kind": rule.kind, "subject": rule.subject}
        await tx.required(f"{rule.kind} {rule.subject}", self._sql["subject"], **whose)
        values = {"resource": rule.resource, "amount": rule.amount, "window": rule.window}
        await tx.run(self._sql["put"], **whose, **values)

    async def remove(
        self, tx: Transaction, scope: Scope, kind: SubjectKind, subject: str, resource: LimitedResource
    ) -> None:
        """Take a rule away; what is less specific holds then. Raises NotFound: there is none."""
        whose = {"tenant": scope.tenant, "kind": kind, "subject": subject, "resource": resource}
        await tx.required(f"a limit of {resource} for the {kind} {subject}", self._sql["remove"], **whose)


class RuleBook:
    """Rules by tenant, read again after some seconds: for so long a replica may not know of a change."""

    def __init__(self, store: RateLimitStore, seconds: float, clock: Callable[[], float]) -> None:
        """`clock` gives seconds that only grow."""
        self._store, self._seconds, self._clock = store, seconds, clock
        self._known: OrderedDict[TenantId, tuple[float, tuple[LimitRule, ...]]] = OrderedDict()
        self._reading: SingleFlight[TenantId, tuple[LimitRule, ...]] = SingleFlight()

    async def rules(self, tenant: TenantId, tx: Transaction | None = None) -> tuple[LimitRule, ...]:
        """Where Postgres does not answer, those that were known last hold on.

        `tx`: a transaction that asks, of the same tenant. Were another connection waited for while it holds one, all
        could be lent to such as wait. Raises Unavailable, Overloaded: none were known.
        """
        known = self._known.get(tenant)
        if known is not None and self._clock() < known[0]:
            return known[1]
        if tx is not None:
            return await self._read(tenant, tx)
        try:
            found, _ = await self._reading.join(tenant, lambda: self._read(tenant))
            return found
        except Transient as error:
            if known is None:
                raise
            log.warning("limits: rules could not be read again, and those known before hold on: %s", error)
            return known[1]

    def forget(self, tenant: TenantId) -> None:
        """Read them again: one was changed here."""
        self._known.pop(tenant, None)

    async def _read(self, tenant: TenantId, tx: Transaction | None = None) -> tuple[LimitRule, ...]:
        found = tuple(stored.rule for stored in await self._store.rules(Scope(tenant, NO_WORKSPACE), tx))
        self._known.pop(tenant, None)
        self._known[tenant] = (self._clock() + self._seconds, found)
        while len(self._known) > KNOWN_TENANTS:
            self._known.popitem(last=False)
        return found


def _stored_rule(row: Row) -> StoredRule:
    kind = SubjectKind(row["subject_kind"])
    rule = LimitRule(
        LimitedResource(row["resource"]),
        kind,
        str(row["subject_id"]),
        Decimal(row["amount"]),
        LimitWindow(row["period"]),
        row["name"] if kind is SubjectKind.GROUP and row["name"] else "",
    )
    return StoredRule(rule, row["name"])
