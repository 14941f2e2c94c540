"""A turn of a sync before bytes are fetched: the source is listed, and rights, names and removals are written."""

from collections.abc import Callable

from cluster.state.work.jobs import ClaimedJob, JobLane, JobLedger
from pipelines.documents.ingest.outcome import JobReporter
from pipelines.documents.ingest.stages import BatchResult
from pipelines.documents.sync.source_sync import SourceSync


class SyncTurn:
    """Needs no reader and no embedder: who may see something no more does not see it, whatever else is away or busy."""

    def __init__(self, jobs: JobLedger, sync: SourceSync, verdicts: JobReporter, small_units: int) -> None:
        """`small_units`: with more to fetch a sync goes on among bulk work, else among uploads."""
        self._jobs, self._sync, self._verdicts, self._small_units = jobs, sync, verdicts, small_units

    async def run(self, job: ClaimedJob, stopped: Callable[[], bool], ended: Callable[[], bool]) -> BatchResult:
        """A piece of the job, bounded by `stopped` but for the listing, which goes on until its worker has `ended`: it
        would begin anew each time. Raises LeaseLost, SyncCutOff, SourceRefused, SourceInvalid."""
        payload = dict(job.payload)
        if not job.planned:
            if (found := await self._sync.plan(job, ended)) is None:
                return BatchResult(0, ended=False)
            async with self._jobs.writing(job.lease) as tx:
                await self._jobs.planned(tx, job.lease, found)
            payload |= found
        units = await self._sync.apply(job, stopped)
        if stopped():
            return BatchResult(units, ended=False)
        if left := await self._jobs.open_units(job.lease):
            await self._jobs.move(job.lease, JobLane.SMALL if left <= self._small_units else JobLane.BULK)
            return BatchResult(units, ended=False, moved=True)
        await self._sync.close(job.lease, payload)
        await self._verdicts.finish(job.lease)
        await self._sync.follow(job)
        return BatchResult(units, ended=True)
