"""One turn of a job: survey some files, read some pages, index what is complete; the ledger says what is left."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cluster.basics.crowd import CrowdWatch
from cluster.basics.errors import Invalid, Stalled, Transient
from cluster.state.work.job_partitions import PARTITIONS
from cluster.state.work.jobs import ClaimedJob, JobLane, JobLease, JobLedger, JobState
from configs.sections import ChunkSettings, ReadSettings
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.document import Failure, FailureReason
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.index.generations import IndexGenerations, IndexRecipe, WriteTarget
from pipelines.documents.index.rebuild import IndexRebuild
from pipelines.documents.ingest.arrivals import ArrivalIntake
from pipelines.documents.ingest.job_cost import JobCosts, TooSlow, refuse_slow
from pipelines.documents.ingest.job_plan import INDEX, SURVEY, JobPlanner
from pipelines.documents.ingest.outcome import JobReporter
from pipelines.documents.ingest.page_batches import BATCH_SECONDS, BATCH_SECONDS_HERE, PageBatches
from pipelines.documents.ingest.stages import BatchResult, IndexStage, JobStages, VersionIndexing, unless_over
from pipelines.documents.ingest.sync_turn import SyncTurn
from pipelines.documents.ingest.version_batches import VERSIONS_A_TURN, VersionBatches
from pipelines.documents.ingest.vision_step import VisionStep
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.document_writes import DocumentStore, FileArrival
from pipelines.documents.store.reading_options import ReextractionRequest
from pipelines.documents.sync.source_sync import SourceSync

log = logging.getLogger(__name__)

FILES_A_TURN = 512
FILES_HERE = 256  # opening a file costs milliseconds, a Dataset's actors seconds
VERSIONS_HERE = 8  # beside readers: who stops does not wait for more of them
HELD_SECONDS = 1800.0  # after a stall; then the cluster is tried again
READERS_INDEXED_HERE = 8  # more bring pages so quickly that cutting them would hold up what writes them
TELL_SECONDS = 5.0  # between two events of progress
INDEX_SECONDS, INDEX_PAUSE = 1.0, 10.0  # between two looks for documents that are read; times what a look costs


IndexBatch = Callable[[Callable[[int], VersionIndexing], int], Coroutine[Any, Any, int]]


class IngestionRunner:
    """Runs turns. Everything it writes goes through the lease, so a stale worker writes nothing."""

    def __init__(
        self,
        jobs: JobLedger,
        store: DocumentStore,
        generations: IndexGenerations,
        blobs: BlobStore,
        rebuild: IndexRebuild,
        *,
        here: JobStages,
        bulk: JobStages,
        read: ReadSettings,
        chunk: ChunkSettings,
        read_fingerprint: str,
        exact_scope: int,
        graph: GraphStage | None = None,
        vision: VisionStep | None = None,
        sync: SourceSync | None = None,
        held: JobStages | None = None,
        crowd: CrowdWatch | None = None,
        costs: JobCosts | None = None,
        readers: Callable[[int], int] | None = None,
        beside: IndexStage | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Collaborators are injected.

        Args:
            here: does small batches, and uploads whatever their size, in this process.
            bulk: does large ones on the cluster; the output is the same.
            chunk: what text is cut with, unless a workspace or a document has a strategy of its own.
            read_fingerprint: what pages are read with now; pages read with anything else are read again.
            exact_scope: rows from which a vector graph pays.
            vision: shows pages that OCR read badly to a model.
            sync: lists and fetches what sources hold.
            held: does bulk work in this process, held to a share of a core, where the cluster would get nothing done.
            crowd: whether this machine leaves bulk work too little; without it only a stall shows that.
            costs: what is left of a job; without it none moves to the bulk lane.
            readers: how many processes read a bulk job's pages now, where so many workers are at work; without it
                batches are small, each page written as it comes. May block.
            beside: indexes while more of them read than this process can index the pages of; without it that is here.
        """
        self._here, self._bulk = here, bulk
        self._jobs, self._store, self._generations, self._blobs = jobs, store, generations, blobs
        self._read, self._chunk, self._exact_scope = read, chunk, exact_scope
        self._pages, self._readers = PageBatches(jobs, store, blobs, read, vision, clock), readers
        self._versions, self._beside = VersionBatches(jobs, store, generations, read, graph), beside
        self._intake = ArrivalIntake(jobs, store, blobs, read, read_fingerprint)
        self._rebuild, self._graph = rebuild, graph
        self._planner = JobPlanner(jobs, generations, rebuild, graph, partition_files=read.partition_files)
        self._sync = sync
        self._verdicts = JobReporter(jobs, store)
        self._held, self._crowd, self._costs, self._clock = held, crowd, costs, clock
        self._held_until, self._holds, self._stays = -math.inf, False, False

    async def turn(
        self, job: ClaimedJob, recipe: IndexRecipe, stopped: Callable[[], bool], ended: Callable[[], bool] = bool
    ) -> BatchResult:
        """Do a bounded piece of the job, whose lease the caller keeps alive.

        Args:
            stopped: asked between writes; True ends the turn early.
            ended: whether this worker is to leave the job; then no model is waited for. By default (`bool()`) never.

        Raises:
            LeaseLost: another worker has the job; nothing more was written.
            Permanent: the job cannot be done as asked; the caller ends it with this reason.
        """
        if job.lane is JobLane.SYNC:
            return await self.list_source(job, stopped, ended)
        payload = dict(job.payload)
        await self._look(job)
        chunking = await self._store.workspace_chunking(job.lease.scope, self._chunk)
        recipe = replace(recipe, chunker=chunker_fingerprint(chunking, recipe.embedder.fingerprint))
        if not job.planned:
            payload |= await self._planner.plan(job, recipe)
            if PARTITIONS in payload:  # from now on those are claimed
                return BatchResult(0, ended=False, moved=True)
        building = "generation" in payload
        target = (
            await self._rebuild.target(job.lease, int(payload["generation"]), recipe)
            if building
            else await self._generations.target(job.lease.scope, recipe)
        )
        syncs = self._sync if "source" in payload else None
        try:
            units = await syncs.run(job, stopped) if syncs else 0
            units += await self._survey_files(job, payload, stopped)
            if self._costs and (why := await self._costs.why_bulk(job)):
                return await self._move(job.lease, JobLane.BULK, why, units)
            index = partial(self._versions.run, job.lease, target, building, stopped)
            units += await self._read_and_index(job, index, stopped, ended)
        except Stalled:
            self._held_until = self._clock() + HELD_SECONDS
            raise
        except TooSlow as slow:
            return await self._move(job.lease, JobLane.SLOW, str(slow))
        units += await index(lambda many: self._choose_stages(many).index)
        units += await self._graph.run(job, INDEX, stopped) if self._graph else 0
        await self._verdicts.tell(job.lease)
        if job.lease.partition is not None:
            is_open = await self._jobs.partitions.is_open(job.lease.scope, job.lease.values)
            return BatchResult(units, ended=not is_open)
        # Who has nothing left does not queue again to be ended; to close a generation takes longer than a slice's rest.
        if (stopped if building else ended)() or await self._jobs.open_units(job.lease):
            return BatchResult(units, ended=False)
        if building and (result := await self._close_rebuild(job, target, payload, units)) is not None:
            return result
        if not building:
            if syncs:
                await syncs.close(job.lease, payload)
            await self._generations.grow(job.lease.scope, target.generation, self._exact_scope)
        await self._finish(job, syncs)
        return BatchResult(units, ended=True)

    async def _close_rebuild(
        self, job: ClaimedJob, target: WriteTarget, payload: Mapping[str, Any], units: int
    ) -> BatchResult | None:
        """Switch readers to the generation that was built; a result where that is refused, or not possible yet."""
        closed = await self._rebuild.close(job.lease, target, payload)
        if closed.outcome == "refused":
            await self._jobs.finish(job.lease, JobState.FAILED, closed.why)
            return BatchResult(units, ended=True)
        return BatchResult(units, ended=False) if closed.outcome == "open" else None

    async def _move(self, lease: JobLease, lane: JobLane, why: str, units: int = 0) -> BatchResult:
        await self._jobs.move(lease, lane)
        await self._jobs.note(lease, "moved", {"lane": lane, "why": why})
        return BatchResult(units, ended=False, moved=True)

    async def _finish(self, job: ClaimedJob, syncs: SourceSync | None) -> None:
        await self._verdicts.finish(job.lease)
        if syncs:
            await syncs.follow(job)

    async def list_source(
        self, job: ClaimedJob, stopped: Callable[[], bool], ended: Callable[[], bool] = bool
    ) -> BatchResult:
        """A turn in the lane of syncs; see `SyncTurn`. Raises Invalid: this worker synchronises nothing."""
        if self._sync is None:
            raise Invalid("no worker here synchronises sources")
        turn = SyncTurn(self._jobs, self._sync, self._verdicts, self._read.small_pages)
        return await turn.run(job, stopped, ended)

    async def _look(self, job: ClaimedJob) -> None:
        """Decide for a turn whether bulk work is held: done here in pulses, a few pages at a time.

        Other work stays here, where it begins at once and ends within its slice.
        """
        crowded, self._stays = False, job.lane is not JobLane.BULK
        if self._crowd is not None and job.lane is JobLane.BULK:
            crowded = await asyncio.to_thread(self._crowd.look)
        self._holds = self._held is not None and (crowded or self._clock() < self._held_until)

    def _choose_stages(self, items: int, few: int | None = None) -> JobStages:
        if self._holds and self._held is not None:
            return self._held
        return self._here if self._stays or items <= (few or self._read.small_pages) else self._bulk

    async def _survey_files(self, job: ClaimedJob, payload: Mapping[str, object], stopped: Callable[[], bool]) -> int:
        units = {u.key: u for u in await self._jobs.pending(job.lease, SURVEY, FILES_A_TURN)}
        if not units:
            return 0
        arrivals = {
            key: FileArrival.from_payload(unit.payload, **payload, created_by=job.created_by)
            for key, unit in units.items()
        }
        arrivals = await self._store.told(job.lease.scope, arrivals)
        tasks = [self._intake.members.file_task(job.lease, key, one) for key, one in arrivals.items()]
        done, ocr = 0, await self._store.ocr_languages(job.lease.scope)
        told = tuple(job.payload.get("ocr") or ())  # languages that whoever scans or uploads has named
        asked = ReextractionRequest.from_payload(payload)
        async for surveyed in self._choose_stages(len(tasks), FILES_HERE).survey(tasks):
            for result in surveyed:
                await self._look_at_failure(job, result.failure)
                try:
                    await self._intake.accept(job.lease, arrivals[result.key], result, ocr, asked, told)
                finally:
                    await self._intake.members.discard_staging(job.lease, result)
                done += 1
            if stopped():
                break
        return done

    async def _look_at_failure(self, job: ClaimedJob, failure: Failure | None) -> None:
        """Before it is a file's own: raises TooSlow, or SyncCutOff where the source of the file is away."""
        refuse_slow(job, failure)
        if failure is not None and failure.reason is FailureReason.CHANGED and "source" in job.payload and self._sync:
            await self._sync.require_source(job)

    async def _read_and_index(
        self, job: ClaimedJob, index: IndexBatch, stopped: Callable[[], bool], ended: Callable[[], bool]
    ) -> int:
        """Read a batch; in bulk, documents that are complete are indexed meanwhile."""
        most, readers = self._read.batch_pages, None
        if self._readers is not None and not (self._stays or self._holds):
            workers = await self._jobs.partitions.count_at_work(job.lane)
            readers = await asyncio.to_thread(self._readers, max(1, workers))
            seconds = BATCH_SECONDS if self._crowd is None else BATCH_SECONDS_HERE
            most = self._pages.size(job.lease.job, readers, seconds)
        elif self._holds:
            most = min(most, self._read.small_pages)
        look = partial(self._look_at_failure, job)
        reading = self._pages.run(job, most, self._choose_stages, look, stopped, ended, readers)
        alone = self._stays or self._holds
        return await (reading if alone else self._index_beside(job, readers, reading, index, ended))

    async def _index_beside(
        self,
        job: ClaimedJob,
        readers: int | None,
        reading: Coroutine[Any, Any, int],
        index: IndexBatch,
        ended: Callable[[], bool],
    ) -> int:
        """Index documents as their last page is written, while others are read; what this returns is of both.

        Where the embedder is away, or readers use another generation by now, the pages are read all the same: what is
        indexed after them finds out.
        """
        beside = self._beside if readers is not None and readers > READERS_INDEXED_HERE else None
        stage, most = (self._here.index, VERSIONS_HERE) if beside is None else (beside.index, VERSIONS_A_TURN)
        task, done, pause, told = asyncio.create_task(reading), 0, INDEX_SECONDS, self._clock()
        try:
            while not (await asyncio.wait({task}, timeout=pause))[0]:
                began = self._clock()
                try:
                    found = await unless_over(index(lambda _: stage, most), task, ended)
                except Transient as error:
                    log.warning("job %s reads on: %s", job.lease.job, error)
                    break
                done += found
                pause = 0 if found else max(INDEX_SECONDS, INDEX_PAUSE * (self._clock() - began))
                if self._clock() - told > TELL_SECONDS:
                    await self._verdicts.tell(job.lease)
                    told = self._clock()
            return done + await task
        finally:
            task.cancel()
            await asyncio.wait({task})
            if beside is not None:
                await beside.close()

    async def abandon(self, lease: JobLease, why: str) -> None:
        """Before a job ends early: its unfinished documents say that, instead of being processed for ever."""
        failure = Failure("job", FailureReason.ABANDONED, why, retryable=True)
        async with self._jobs.writing(lease) as tx:
            await self._store.abandon(tx, lease.scope, lease.job, failure)
