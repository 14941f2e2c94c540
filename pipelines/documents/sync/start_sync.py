"""Starts syncs: one at a time of a source, each a job of the ledger, by a person or by the clock."""

from dataclasses import dataclass
from typing import Any

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, Transaction
from cluster.state.work.jobs import EnqueuedJob, JobId, JobLane, JobLedger
from pipelines.documents.sync.source_store import SYNC, SourceStore


class NothingWaits(Conflict):
    """Nothing of this source waits for you, or something else does by now."""

    code = "nothing_waits"
    fix = "Look at what waits: aos sources show NAME."


class SourceBusy(Conflict):
    """A sync of this source is under way."""

    code = "source_busy"
    fix = "Wait for it, or cancel its job: aos jobs cancel ID."


@dataclass(frozen=True, slots=True)
class SyncStarter:
    """Adds the jobs of syncs in the caller's transaction."""

    jobs: JobLedger
    store: SourceStore

    async def sync(self, tx: Transaction, scope: Scope, source: str, *, dry_run: bool = False) -> EnqueuedJob:
        """The job that synchronises it, or only says what that would do; the one under way where there is one.

        Raises NotFound.
        """
        row = await self.store.lock(tx, scope, source)
        if row["busy"]:
            await self.jobs.wake(tx, scope, JobId(row["job_id"]))
            return EnqueuedJob(JobId(row["job_id"]), fresh=False)
        return await self._enqueue(tx, scope, row, {"dry_run": True} if dry_run else {})

    async def approve(self, tx: Transaction, scope: Scope, source: str, removals: int) -> EnqueuedJob:
        """Let the removals go that wait, as many as somebody has seen. Raises NothingWaits, SourceBusy, NotFound."""
        row = await self._idle(tx, scope, source)
        if row["waiting"] is None or row["waiting"]["removals"] != removals:
            raise NothingWaits(f"{(row['waiting'] or {}).get('removals', 0)} removals wait, not {removals}")
        return await self._enqueue(tx, scope, row, {"approved_at": row["now"].isoformat()})

    async def remove(self, tx: Transaction, scope: Scope, source: str) -> EnqueuedJob:
        """Delete a source with all documents that came from it. Raises SourceBusy, NotFound."""
        row = await self._idle(tx, scope, source)
        await self.store.disable(tx, scope, row["id"])
        return await self._enqueue(tx, scope, row, {"remove": True})

    async def keep(self, tx: Transaction, scope: Scope, source: str) -> None:
        """Forget a source, and let its documents stay with the readers that they have. Raises SourceBusy, NotFound.

        Not where it says who may see them (Conflict): nobody would, from then on.
        """
        row = await self._idle(tx, scope, source)
        if row["has_rights"]:
            raise Conflict("documents of this source have its rights, and nobody would confirm them any more")
        await self.store.remove(tx, scope, row["id"])

    async def _idle(self, tx: Transaction, scope: Scope, source: str) -> Row:
        row = await self.store.lock(tx, scope, source)
        if row["busy"]:
            raise SourceBusy(f"job {row['job_id']}")
        return row

    async def _enqueue(self, tx: Transaction, scope: Scope, row: Row, more: dict[str, Any]) -> EnqueuedJob:
        # `refresh`: the documents of its files are announced when they are fetched; one that is gone then stays gone.
        payload = {"source": row["id"], "refresh": True, **more}
        job = await self.jobs.enqueue(tx, scope, SYNC, JobLane.SYNC, payload)
        await self.store.set_job(tx, scope, row["id"], job.job)
        return job
