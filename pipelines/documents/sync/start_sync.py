"""Starts syncs: one at a time of a source, and a rights pass beside one that reads; each a job of the ledger."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, Transaction
from cluster.state.work.jobs import EnqueuedJob, JobId, JobLane, JobLedger
from pipelines.documents.sync.source_store import SYNC, SourceStore

RIGHTS_ONLY: Final = "rights_only"
"""In the payload of a rights pass."""
NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
DRY_RUN: Final = {"dry_run": True}


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
        """The job that synchronises it, or only says what that would do; the one under way where that lists, too.

        That may have passed what has changed since: where a person asks, another one follows it. While a sync reads
        what it has listed, which may take days, it is a pass for rights and removals alone; a whole sync follows. A dry
        run keeps no sync waiting. Raises NotFound.
        """
        row = await self.store.lock(tx, scope, source)
        if dry_run:
            busy = row["busy"]
            return await (self._wake(tx, scope, row["job_id"]) if busy else self._enqueue(tx, scope, row, DRY_RUN))
        if row["passes"]:
            await self.jobs.wake(tx, scope, JobId(row["job_id"]))
            return await self._ask(tx, scope, row["id"], row["rights_job_id"])
        if row["syncs"] and row["reads"]:
            await self.jobs.wake(tx, scope, JobId(row["job_id"]))
            job = await self.jobs.enqueue(tx, scope, SYNC, JobLane.SYNC, {"source": row["id"], RIGHTS_ONLY: True})
            await self.store.set_pass(tx, scope, row["id"], job.job)
            return job
        if row["syncs"] and not row["tries"]:
            return await self._ask(tx, scope, row["id"], row["job_id"])
        return await self._enqueue(tx, scope, row, {})

    async def follow(self, tx: Transaction, scope: Scope, source: str) -> None:
        """Start a sync where passes have listed and nobody reads what they saw, or somebody asked while one listed.

        The clock does so, too, later.
        """
        if await self.store.take_due(tx, scope, source, NEVER):
            await self.sync(tx, scope, source)

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

    async def keep(self, tx: Transaction, scope: Scope, source: str) -> EnqueuedJob | None:
        """Forget a source, and let its documents stay with the readers that they have. Raises SourceBusy, NotFound.

        What had left it is hidden from everybody, and would be for ever: a job deletes that, where there is any. Not
        where the source says who may see its documents (Conflict): nobody would, from then on.
        """
        row = await self._idle(tx, scope, source)
        if row["has_rights"]:
            raise Conflict("documents of this source have its rights, and nobody would confirm them any more")
        if await self.store.count_gone(tx, scope, row["id"]):
            await self.store.disable(tx, scope, row["id"])
            return await self._enqueue(tx, scope, row, {"remove": True, "keep": True})
        await self.store.remove(tx, scope, row["id"])
        return None

    async def _idle(self, tx: Transaction, scope: Scope, source: str) -> Row:
        row = await self.store.lock(tx, scope, source)
        if row["busy"]:
            raise SourceBusy(f"job {row['job_id']}")
        return row

    async def _enqueue(self, tx: Transaction, scope: Scope, row: Row, more: dict[str, Any]) -> EnqueuedJob:
        # `refresh`: the documents of its files are announced when they are fetched; one that is gone then stays gone.
        payload = {"source": row["id"], "refresh": True, **more}
        job = await self.jobs.enqueue(tx, scope, SYNC, JobLane.SYNC, payload)
        await self.store.set_job(tx, scope, row["id"], job.job, whole="dry_run" not in more)
        return job

    async def _ask(self, tx: Transaction, scope: Scope, source: str, job: str) -> EnqueuedJob:
        """Clocks and watches ask again by themselves."""
        if scope.user is not None:
            await self.store.ask(tx, scope, source, job)
        return await self._wake(tx, scope, job)

    async def _wake(self, tx: Transaction, scope: Scope, job: str) -> EnqueuedJob:
        """One that is under way; where it rests because its source was away, it looks again."""
        await self.jobs.wake(tx, scope, JobId(job))
        return EnqueuedJob(JobId(job), fresh=False)
