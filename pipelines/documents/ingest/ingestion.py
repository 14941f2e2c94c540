"""One turn of a job: survey some files, read some pages, index what is complete; the ledger says what is left."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from cluster.basics.crowd import CrowdWatch
from cluster.basics.errors import DiskFull, Invalid, Stalled, Transient, Unavailable
from cluster.state.work.jobs import (
    ClaimedJob,
    JobLane,
    JobLease,
    JobLedger,
    JobState,
    UnitOutcome,
    UnitStatus,
    WorkUnit,
)
from configs.sections import ChunkSettings, ReadSettings
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.document import Failure, FailureReason, VersionId
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.index.generations import (
    BrokenVectors,
    IndexedVersion,
    IndexGenerations,
    IndexRecipe,
    WriteTarget,
)
from pipelines.documents.index.rebuild import IndexRebuild
from pipelines.documents.ingest.arrivals import ArrivalIntake, readings_by_base
from pipelines.documents.ingest.job_cost import JobCosts, TooSlow, refuse_slow
from pipelines.documents.ingest.job_plan import INDEX, READ, SURVEY, JobPlanner
from pipelines.documents.ingest.outcome import JobReporter, index_settled, outcome_of_page, with_file_caveats
from pipelines.documents.ingest.slices import ReadPage, cut_slices
from pipelines.documents.ingest.stages import BatchResult, JobStages
from pipelines.documents.ingest.suspects import given_up_page, most_deaths, suspects_apart
from pipelines.documents.ingest.sync_turn import SyncTurn
from pipelines.documents.ingest.vision_step import VisionStep
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.document_writes import DocumentStore, FileArrival, StoredPage
from pipelines.documents.store.page_codec import failure_to_json
from pipelines.documents.store.reading_options import ReadingOptions, ReextractionRequest
from pipelines.documents.sync.source_sync import SourceSync

FILES_A_TURN = 512
FILES_HERE = 256  # opening a file costs milliseconds, a Dataset's actors seconds
VERSIONS_A_TURN = 64
HELD_SECONDS = 1800.0  # after a stall; then the cluster is tried again
REFUND_SECONDS = 1.0  # between two looks whether Postgres can write again
SLICE_PAGES = 4  # read again after a kill: at most this many times the number of readers


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
        """
        self._here, self._bulk = here, bulk
        self._jobs, self._store, self._generations, self._blobs = jobs, store, generations, blobs
        self._read, self._chunk, self._exact_scope = read, chunk, exact_scope
        self._intake = ArrivalIntake(jobs, store, blobs, read, read_fingerprint)
        self._rebuild, self._planner, self._graph = rebuild, JobPlanner(jobs, generations, rebuild, graph), graph
        self._vision, self._sync = vision, sync
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
            units += await self._read_pages(job, stopped, ended)
        except Stalled:
            self._held_until = self._clock() + HELD_SECONDS
            raise
        except TooSlow as slow:
            return await self._move(job.lease, JobLane.SLOW, str(slow))
        units += await self._index_versions(job.lease, target, building, stopped)
        units += await self._graph.run(job, INDEX, stopped) if self._graph else 0
        await self._verdicts.tell(job.lease)
        if stopped() or await self._jobs.open_units(job.lease):
            return BatchResult(units, ended=False)
        if building:
            closed = await self._rebuild.close(job.lease, target, payload)
            if closed.outcome == "refused":
                await self._jobs.finish(job.lease, JobState.FAILED, closed.why)
                return BatchResult(units, ended=True)
            if closed.outcome == "open":
                return BatchResult(units, ended=False)
        else:
            if syncs:
                await syncs.close(job.lease, payload)
            await self._generations.grow(job.lease.scope, target.generation, self._exact_scope)
        await self._finish(job, syncs)
        return BatchResult(units, ended=True)

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

    async def _read_pages(self, job: ClaimedJob, stopped: Callable[[], bool], ended: Callable[[], bool]) -> int:
        lease = job.lease
        most = min(self._read.batch_pages, self._read.small_pages) if self._holds else self._read.batch_pages
        pending = await self._jobs.pending(lease, READ, most)
        worn_out = [u for u in pending if u.attempts >= most_deaths(self._read)]
        done = await self._write_pages(lease, [given_up_page(u) for u in worn_out], {u.key: u for u in worn_out})
        units = {u.key: u for u in suspects_apart(pending, self._read)}
        if not units or stopped():
            return done
        async with self._count_attempts(lease, READ, list(units.values())) as untouched:
            done += await self._read_units(job, units, untouched, stopped, ended)
        return done

    async def _read_units(
        self,
        job: ClaimedJob,
        units: Mapping[str, WorkUnit],
        untouched: set[str],
        stopped: Callable[[], bool],
        ended: Callable[[], bool],
    ) -> int:
        done, lease = 0, job.lease
        locations = {str(u.payload["location"]) for u in units.values()}
        paths = {location: self._blobs.reference(Location(location)) for location in locations}
        slices = cut_slices([(u.payload, int(u.payload["number"])) for u in units.values()], paths, SLICE_PAGES)
        async for pages in self._choose_stages(len(units)).read(slices):
            for page in pages:
                await self._look_at_failure(job, page.page.failure)
            seen = pages if self._vision is None else await self._vision.improve(lease, pages, units, paths, ended)
            done += await self._write_pages(lease, seen, units)
            untouched.difference_update(page.key for page in seen)
            if stopped():
                break
        return done

    @asynccontextmanager
    async def _count_attempts(self, lease: JobLease, stage: str, units: Sequence[WorkUnit]) -> AsyncIterator[set[str]]:
        """Count an attempt before the work; whoever stops in good order gives back what was not touched."""
        await self._jobs.begin(lease, stage, units)
        untouched = {unit.key for unit in units}
        try:
            yield untouched
        except (Transient, TooSlow):
            await self._refund(lease, stage, sorted(untouched))
            raise
        await self._jobs.refund(lease, stage, sorted(untouched))

    async def _refund(self, lease: JobLease, stage: str, keys: Sequence[str]) -> None:
        """Also once Postgres has room again: a disk that was full has cost no page an attempt."""
        while True:
            try:
                await self._jobs.refund(lease, stage, keys)
                return
            except DiskFull:
                await asyncio.sleep(REFUND_SECONDS)

    async def _write_pages(self, lease: JobLease, pages: Sequence[ReadPage], units: Mapping[str, WorkUnit]) -> int:
        """Pages and their units' ends in one transaction; a failure that may pass waits for its next attempt."""
        if not (final := [with_file_caveats(p, units[p.key]) for p in pages if not self._may_pass(p, units[p.key])]):
            return 0
        settled = [
            UnitOutcome(p.key, UnitStatus.FAILED, failure_to_json(p.page.failure))
            if p.page.failure is not None
            else UnitOutcome(p.key, UnitStatus.DONE, outcome=outcome_of_page(p.page.caveats))
            for p in final
        ]
        stored: dict[str, list[StoredPage]] = {}
        for page in final:
            unit = units[page.key]
            options = ReadingOptions.from_json(unit.payload.get("reading"))
            stored.setdefault(unit.fingerprint, []).append(StoredPage(page.version, page.page, options))
        async with self._jobs.writing(lease) as tx:
            for reading, some in stored.items():
                await self._store.put_pages(tx, lease.scope, some, reading)
            await self._jobs.settle(tx, lease, READ, settled)
        return len(final)

    def _may_pass(self, page: ReadPage, unit: WorkUnit) -> bool:
        failure = page.page.failure
        return bool(failure and failure.retryable and unit.attempts + 1 < self._read.max_attempts)

    async def _index_versions(
        self, lease: JobLease, target: WriteTarget, building: bool, stopped: Callable[[], bool]
    ) -> int:
        pending = await self._jobs.pending(lease, INDEX, VERSIONS_A_TURN, after=READ)
        done = await self._give_up_index(lease, [u for u in pending if u.attempts >= most_deaths(self._read)])
        left, held = await self._hold_back(lease, pending)
        done, units = done + held, suspects_apart(left, self._read)
        if not units or stopped():
            return done
        async with self._count_attempts(lease, INDEX, units) as untouched:
            begun = readings_by_base(units)
            same = await self._store.revisions.same(lease.scope, lease.job, begun)
            keys = {VersionId(same.get(unit.key, unit.key)): unit.key for unit in units}
            without = 0
            async for indexed in self._choose_stages(len(units)).index(lease.scope, list(keys)):
                for one in indexed:
                    done += await self._write_index(lease, one, target, building, keys[one.version], begun)
                    if one.vectors is None:
                        without += 1
                    else:
                        untouched.discard(keys[one.version])
                if stopped():
                    break
            if without:  # they are found by their words, and done again with vectors
                raise Unavailable(f"the embedder stays away; {without} documents of this batch wait for it")
        return done

    async def _hold_back(self, lease: JobLease, pending: Sequence[WorkUnit]) -> tuple[list[WorkUnit], int]:
        """End new readings that would take text from readers; what is left, and how many ended."""
        setbacks = await self._store.revisions.setbacks(lease.scope, lease.job, readings_by_base(pending))
        if setbacks:
            settled = [UnitOutcome(k, UnitStatus.FAILED, failure_to_json(why)) for k, why in setbacks.items()]
            async with self._jobs.writing(lease) as tx:
                await self._jobs.settle(tx, lease, INDEX, settled)
        return [unit for unit in pending if unit.key not in setbacks], len(setbacks)

    async def _write_index(
        self,
        lease: JobLease,
        indexed: IndexedVersion,
        target: WriteTarget,
        building: bool,
        key: str,
        begun: Mapping[str, str],
    ) -> int:
        """Write one version and settle its unit.

        Args:
            key: of the unit; another one is of a new reading that came to the same as the version.
            begun: the version that each new reading began from.
        """
        if indexed.broken:
            raise BrokenVectors(f"vectors of version {indexed.version}")
        is_away = indexed.vectors is None
        if is_away and (building or key in begun):
            raise Unavailable("the embedder stays away; readers keep the index they have")
        async with self._jobs.writing(lease) as tx:
            if not await self._generations.write(tx, lease.scope, indexed, target, building=building):
                return 0  # its text was read again meanwhile: the unit stays and is done again
            if is_away:
                return 0
            settled = UnitOutcome(key, UnitStatus.DONE)
            if not building:
                standing = await self._generations.standing(tx, lease.scope, indexed.version)
                settled = index_settled(key, standing, same=key != indexed.version)
                if standing is None and key in begun:
                    why = await self._store.revisions.drop_overtaken(tx, lease.scope, key, begun[key])
                    settled = settled if why is None else UnitOutcome(key, UnitStatus.FAILED, failure_to_json(why))
            if key != indexed.version:
                await self._store.revisions.drop(tx, lease.scope, key, indexed.version)
            await self._jobs.settle(tx, lease, INDEX, [settled])
            if self._graph:
                await self._graph.expect(tx, lease, indexed.version)
        return 1

    async def _give_up_index(self, lease: JobLease, units: Sequence[WorkUnit]) -> int:
        failure = Failure("index", FailureReason.CRASHED, "indexing this document ended its worker every time")
        if units:
            async with self._jobs.writing(lease) as tx:
                settled = [UnitOutcome(u.key, UnitStatus.FAILED, failure_to_json(failure)) for u in units]
                await self._jobs.settle(tx, lease, INDEX, settled)
                await self._store.abandon(tx, lease.scope, lease.job, failure, only=[u.key for u in units])
        return len(units)

    async def abandon(self, lease: JobLease, why: str) -> None:
        """Before a job ends early: its unfinished documents say that, instead of being processed for ever."""
        failure = Failure("job", FailureReason.ABANDONED, why, retryable=True)
        async with self._jobs.writing(lease) as tx:
            await self._store.abandon(tx, lease.scope, lease.job, failure)
