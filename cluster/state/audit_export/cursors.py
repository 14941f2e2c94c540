"""Cursors of collectors: how far each has each tenant's trail, moved under lease by what it has confirmed."""

from collections.abc import Mapping, Sequence
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.audit_export.chain import ChainedEntry, parse_json
from cluster.state.db.postgres import Row
from cluster.state.work.lease import Lease, LeaseLedger

LAST = 2**63 - 1


class CursorLease(Lease):
    """The right to send one tenant's entries to one collector."""

    __slots__ = ()
    noun = "audit export"

    @property
    def sink(self) -> str:
        """The collector's name."""
        return self.id


class AuditCursors(LeaseLedger[CursorLease], queries="cursors.sql"):
    """Every statement of those who send the trail to collectors, and of those who read it whole."""

    _lease_type = CursorLease

    async def claim(self, sink: str, tenants: Sequence[str] | None, owner: str, seconds: float) -> list[CursorLease]:
        """A tenant that the collector lacks entries of, if there is one; `tenants`: of these alone."""
        asked = None if tenants is None else list(tenants)
        return await self._claim_leases(sink=sink, tenants=asked, owner=owner, lease=seconds)

    async def waiting(self, lease: CursorLease, limit: int) -> list[ChainedEntry]:
        """The entries that come next, at most so many. Raises LeaseLost where somebody else sends them."""
        async with self._db.transaction(lease.scope) as tx:
            cursor = await self.hold(tx, lease)
        return await self.entries(lease.scope, after=cursor["seq"], limit=limit)

    async def confirm(self, lease: CursorLease, seq: int) -> None:
        """Move the cursor: the collector has everything up to this entry. Raises LeaseLost: nothing was written."""
        async with self.writing(lease) as tx:
            await tx.run(self._sql["confirm"], **lease.values, seq=seq)

    async def fail(self, lease: CursorLease, error: str, most: float) -> None:
        """Record why nothing was confirmed; the next attempt waits twice as long each time, at most `most` seconds."""
        async with self.writing(lease) as tx:
            await tx.run(self._sql["fail"], **lease.values, error=error[:500], most=most)

    async def entries(self, scope: Scope, *, after: int, last: int = LAST, limit: int) -> list[ChainedEntry]:
        """Entries with a greater number than `after`, up to `last`, oldest first."""
        values = {"tenant": scope.tenant, "after": after, "last": last, "limit": limit}
        rows = await self._db.read(scope, self._sql["entries"], **values)
        return [_entry(scope.tenant, row) for row in rows]

    async def status(self, scope: Scope) -> list[Row]:
        """How far each collector has the tenant's trail, how many entries and seconds it lacks, and its last error."""
        return await self._db.read(scope, self._sql["status"], tenant=scope.tenant)

    async def lag(self) -> list[Row]:
        """How many entries and seconds each collector lacks, over all tenants, and of how many tenants it failed."""
        async with self._db.transaction() as tx:
            return await tx.all(self._sql["lag"])


def _entry(tenant: str, row: Mapping[str, Any]) -> ChainedEntry:
    detail = None if row["detail"] is None else parse_json(row["detail"])
    return ChainedEntry(tenant=tenant, **{**row, "detail": detail})
