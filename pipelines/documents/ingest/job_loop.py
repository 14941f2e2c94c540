"""A worker's shift in one lane: claim a job, keep its lease alive, do a turn, let the next tenant have its own."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial

from cluster.basics.disk import DiskRoom
from cluster.basics.errors import DiskFull, LeaseLost, Permanent, Transient, Unavailable
from cluster.models.model_errors import AWAY, Unusable
from cluster.state.work import wait_reasons
from cluster.state.work.jobs import ClaimedJob, JobLane, JobLease, JobLedger, JobState
from cluster.state.work.lane_shares import LanePlace
from cluster.state.work.lease import Heartbeat
from cluster.state.work.work_bell import WorkBell
from configs.sections import WorkerSettings
from pipelines.documents.index.generations import IndexRecipe
from pipelines.documents.ingest.ingestion import IngestionRunner
from pipelines.documents.sync.source_sync import SyncCutOff

log = logging.getLogger(__name__)

REBUILD = "reindex"  # has no end of its own while nothing of it can be done
WAIT_SECONDS = 1.0  # between two looks whether a restart is over
SEEN_SECONDS = 15.0  # a worker tells so often that it is there
FIRST_REST, LONGEST_REST = 5.0, 120.0  # seconds before a source that is away is asked again
MOST_DOUBLED = 10  # times: a pause is at its longest long before, and a float has an end
LONGEST_WAIT = 5.0  # seconds after a claim in vain: other jobs of the lane wait as long


class JobLoop:
    """Works until it is told to stop. Errors that have a name end a job or a turn; any other ends the worker."""

    def __init__(
        self,
        jobs: JobLedger,
        runner: IngestionRunner,
        recipe: Callable[[bool], Awaitable[IndexRecipe]],
        settings: WorkerSettings,
        owner: str,
        moving: Callable[[], Awaitable[bool]] | None = None,
        *,
        room: DiskRoom | None = None,
        strain: Callable[[], str | None] = lambda: None,
        kept: Callable[[], str | None] = lambda: None,
        bell: WorkBell | None = None,
        place: LanePlace | None = None,
        began: Callable[[ClaimedJob], None] = lambda _: None,
    ) -> None:
        """Nothing is claimed yet.

        Args:
            recipe: tells what the embedder is, asking it anew where that is wanted.
            owner: names this worker in the job's row.
            moving: whether the embedder or the workers are being replaced; a re-index begins after that.
            room: of the disk; without it nothing is begun.
            strain: what keeps this machine from getting on faster, as `waits` writes it.
            kept: what keeps this loop from beginning a job now, written alike.
            bell: rings where a job may wait; without it every `poll_seconds` are one look.
            place: in the lane; without it nothing is given back before the end of a slice.
            began: hears of each job that is claimed, before it is worked at.
        """
        self._jobs, self._runner, self._recipe = jobs, runner, recipe
        self._settings, self._owner, self._moving = settings, owner, moving
        self._room, self._strain, self._kept, self._bell = room, strain, kept, bell
        self._place, self._began = place, began
        self._stopping = self._others_wait = False
        self._seen: tuple[float, str | None] = (-math.inf, None)
        self._held: JobLease | None = None

    def stop(self) -> None:
        """End after what is being written now."""
        self._stopping = True
        if self._bell is not None:
            self._bell.ring()

    async def give_back(self) -> None:
        """Whoever cannot wait for its end takes the job from it now: nobody has to wait until the lease runs out."""
        if self._held is not None:
            await self._jobs.release(self._held, untouched=True)

    async def work(self, lane: JobLane) -> None:
        """Claim and run jobs of this lane, one at a time."""
        queue = f"job:{lane}"
        while not self._stopping:
            why, since = self._kept(), 0 if self._bell is None else self._bell.count(queue)
            try:
                busy = why is None and await self.once(lane)
            except AWAY as error:  # also an embedding server that takes the key no more
                log.warning("lane %s waits: %s", lane, error)
                busy, why = False, wait_reasons.format_error_reason(error)
            if not busy:
                await self._be_seen(lane, why)
                if self._bell is None or why is not None:  # nobody tells when what keeps it is over
                    await asyncio.sleep(self._settings.poll_seconds)
                else:
                    settings = self._settings
                    await self._bell.wait(queue, since, poll=settings.poll_seconds, sweep=settings.sweep_seconds)

    async def once(self, lane: JobLane) -> bool:
        """Run turns of the next job until it ends or another tenant waits; False where nothing waits."""
        if self._room is not None:
            self._room.require()
        if lane is not JobLane.SYNC:  # which embeds nothing
            await self._recipe(False)  # where the embedder is away, jobs wait without being claimed
        job = await self._jobs.claim(self._owner, lane, self._settings.lease_seconds)
        if job is None:
            return False
        self._held, self._others_wait = job.lease, job.lane is not JobLane.BULK
        self._began(job)
        send, settings = partial(self._send_heartbeat, job), self._settings
        heartbeat = Heartbeat(send, job.lease, settings.lease_seconds, settings.heartbeat_seconds)
        try:
            async with heartbeat:
                await heartbeat.beat()  # whoever had the job before may have died before it could cancel it
                await self._await_restart(job, heartbeat)
                recipe = None if job.lane is JobLane.SYNC else await self._recipe_of_now()
                with nullcontext() if self._place is None else self._place.working(job.lease.job):
                    await self._run_batches(job, recipe, heartbeat)
        except LeaseLost as error:
            await self._note_refusal(job.lease, error)
        except Transient as error:
            if heartbeat.cancelled:  # who asked for that does not wait until what is away is back
                await self._end_job(job, JobState.CANCELLED, None)
            else:
                await self._back_to_the_queue(job, error)
        except Permanent as error:
            await self._end_job(job, JobState.FAILED, f"{error} {error.hint}".strip())
        finally:
            self._held = None
        return True

    async def _run_batches(self, job: ClaimedJob, recipe: IndexRecipe | None, heartbeat: Heartbeat[JobLease]) -> None:
        """`recipe`: None in the lane of syncs alone."""
        sliced = job.lane is not JobLane.BULK
        while True:
            began = time.monotonic()
            over = began + (self._settings.slice_seconds if sliced else self._settings.bulk_slice_seconds)
            # A slice that is over gives up no page that a model looks at: the next would send it again, and the next.
            stopped, ended = partial(self._is_to_yield, heartbeat, over), partial(self._is_to_stop, heartbeat)
            if recipe is None:
                turn = await self._runner.list_source(job, stopped, ended)
            else:
                turn = await self._runner.turn(job, recipe, stopped, ended)
            # Then it has not had all of its slice, and stands where it stood; in another lane it has to queue.
            beyond = self._is_beyond() and not turn.moved
            others_wait = await self._jobs.end_turn(job, max(turn.units, round(time.monotonic() - began)))
            if turn.ended:
                if job.lease.partition is not None:  # the job's end is for whoever claims it after the last of them
                    await self._jobs.release(job.lease, kept=True)
                return
            if heartbeat.cancelled:
                return await self._end_job(job, JobState.CANCELLED, None)
            # Whoever waits is served before this job's next slice, be it of another tenant or of the same.
            if sliced or others_wait or turn.moved or self._is_to_stop(heartbeat):
                return await self._jobs.release(job.lease, behind=sliced and not beyond, kept=beyond)
            if self._room is not None:
                self._room.require()
            job = await self._jobs.reload(job)

    def _is_to_stop(self, heartbeat: Heartbeat[JobLease], over: float = math.inf) -> bool:
        """Also once the moment `over` of `time.monotonic` has passed; in bulk only where somebody else waits."""
        return heartbeat.over or self._stopping or (self._others_wait and time.monotonic() > over)

    def _is_to_yield(self, heartbeat: Heartbeat[JobLease], over: float) -> bool:
        """Also where its tenant has more places than its share: another one has work, which waits for no slice."""
        return self._is_beyond() or self._is_to_stop(heartbeat, over)

    def _is_beyond(self) -> bool:
        return self._place is not None and self._place.is_beyond

    async def _be_seen(self, lane: JobLane, why: str | None) -> None:
        """Whoever asks what a job waits for hears who takes some, and what keeps them from it."""
        at, before = self._seen
        if why == before and time.monotonic() - at < SEEN_SECONDS:
            return
        self._seen = (time.monotonic(), why)
        try:
            await self._jobs.seen(self._owner, lane, why)
        except Transient as error:
            log.warning("lane %s cannot say so: %s", lane, error)

    async def _await_restart(self, job: ClaimedJob, heartbeat: Heartbeat[JobLease]) -> None:
        """Whatever a re-index did while its embedder is replaced would be done again, and slow the replacement down."""
        if job.kind != REBUILD or self._moving is None:
            return
        told = False
        while not self._is_to_stop(heartbeat) and await self._moving():
            if not told:
                await self._jobs.note(job.lease, "waiting", {"for": "a restart that is under way"})
                told = True
            await asyncio.sleep(WAIT_SECONDS)

    async def _recipe_of_now(self) -> IndexRecipe:
        """Whatever it was at the last job: settings may have changed it, and its replicas were replaced beside us."""
        try:
            return await self._recipe(True)
        except Unusable as error:  # of the embedder, not of the job
            raise Unavailable(str(error), fix=error.hint) from error

    async def _back_to_the_queue(self, job: ClaimedJob, error: Transient) -> None:
        """Somebody tries it again, a little later each time; a re-index for which that is vain ends with the reason."""
        claims = await self._jobs.claimed_in_vain(job.lease)
        # There will be room again: what was asked for is not given up for that.
        vain = job.kind == REBUILD and claims >= self._settings.vain_claims
        if vain and not isinstance(error, DiskFull):
            await self._end_job(job, JobState.FAILED, f"no progress in {claims} claims, the last time because: {error}")
            return
        log.warning("job %s goes back to the queue: %s", job.lease.job, error)
        if isinstance(error, SyncCutOff):  # of this job alone: others of the lane go on meanwhile
            rest = min(LONGEST_REST, FIRST_REST * 2 ** min(claims, MOST_DOUBLED))
            await self._jobs.release(job.lease, waiting=wait_reasons.format_error_reason(error), rest=rest)
            return
        await self._jobs.release(job.lease, waiting=wait_reasons.format_error_reason(error))
        await asyncio.sleep(min(LONGEST_WAIT, self._settings.poll_seconds * 2 ** min(claims, MOST_DOUBLED)))

    async def _end_job(self, job: ClaimedJob, state: JobState, error: str | None) -> None:
        """Give a job its end. Of one with partitions that is for whoever claims it after the last who works at it."""
        try:
            if job.lease.partition is not None:
                if state is JobState.FAILED:
                    async with self._jobs.writing(job.lease) as tx:
                        await self._jobs.partitions.fail(tx, job.lease.values, error or "")
                await self._jobs.release(job.lease, kept=True)
                return
            if state is JobState.CANCELLED and job.failing:
                state, error = JobState.FAILED, job.failing
            await self._runner.abandon(job.lease, error or "the job was cancelled")
            await self._jobs.finish(job.lease, state, error)
        except LeaseLost as lost:
            await self._note_refusal(job.lease, lost)

    async def _note_refusal(self, lease: JobLease, error: LeaseLost) -> None:
        """Whoever follows the job sees that a worker came back too late and wrote nothing."""
        log.warning("a write was refused, another worker has taken over: %s", error)
        await self._jobs.note(lease, "write_refused", {"owner": self._owner, "token": lease.fence})

    async def _send_heartbeat(self, job: ClaimedJob, lease: JobLease, lease_seconds: float) -> bool:
        try:
            cancelled = await self._jobs.heartbeat(lease, lease_seconds)
        except LeaseLost as error:
            await self._note_refusal(lease, error)
            raise
        await self._be_seen(job.lane, self._strain())
        if job.lane is JobLane.BULK:
            self._others_wait = await self._jobs.others_wait(job)
        return cancelled
