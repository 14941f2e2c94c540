"""Leases of watches over sources: one process at a time, and the next takes over when a lease runs out."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.state.work.lease import Lease, LeaseLedger
from pipelines.documents.sources.folder_events import WatchState
from pipelines.documents.sync.start_sync import SyncStarter


class WatchLease(Lease):
    """The right to start syncs of a source because something changed in it."""

    __slots__ = ()
    noun = "source"


@dataclass(frozen=True, slots=True)
class WatchTerms:
    """`owner` is this process; a lease lasts for `seconds` after the last heartbeat; `kinds` can be watched."""

    owner: str
    seconds: float
    kinds: tuple[str, ...]


class WatchLeases(LeaseLedger[WatchLease], queries="watch_leases.sql"):
    """Watches across tenants by id; everything else in the source's own scope."""

    _lease_type = WatchLease

    async def claim(self, terms: WatchTerms, most: int) -> Sequence[WatchLease]:
        """Sources that nobody watches, at most so many."""
        wanted = {"owner": terms.owner, "lease": terms.seconds, "kinds": list(terms.kinds)}
        return await self._claim_leases(**wanted, most=most)

    async def report(self, lease: WatchLease, state: WatchState) -> None:
        """Say how it is watched from now on. Raises LeaseLost."""
        async with self.writing(lease) as tx:
            values = {"mode": state.mode, "why": state.why, "folders": state.folders}
            await tx.run(self._sql["report"], **lease.values, **values)

    async def start(self, lease: WatchLease, starter: SyncStarter) -> bool:
        """Start a sync of it; False while one is under way. Raises LeaseLost, NotFound."""
        async with self._db.transaction(lease.scope) as tx:
            job = await starter.sync(tx, lease.scope, lease.id)
            await self.hold(tx, lease)  # after the source's own row, as a claim locks them
            if job.fresh:
                await tx.run(self._sql["note_change"], **lease.values)
            return job.fresh
