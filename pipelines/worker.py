"""The worker deployment: claims jobs in every lane and runs them here or as Ray Data."""

import asyncio
import functools
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ray import serve
from ray.serve import Application

from cluster import connect, handles, logs
from cluster.basics.crowd import CrowdWatch
from cluster.basics.disk import DiskRoom
from cluster.basics.errors import AosError, Transient
from cluster.basics.priority import ProcessPriority
from cluster.basics.scope import Scope
from cluster.deploy import reader_gpus
from cluster.models.embedding.migration import forget_facts
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.state.db.embedded import resolve_endpoints, timeline_fence
from cluster.state.db.postgres import Database
from cluster.state.settings.restart_requests import RestartRequests
from cluster.state.settings.settings_rows import SettingsRows, load_settings_and_rows
from cluster.state.settings.snapshots import SettingsSnapshots, SettingsWatcher
from cluster.state.system import SystemQueries
from cluster.state.vault import vault_of
from cluster.state.work.jobs import ClaimedJob, JobLane, JobLedger
from cluster.state.work.lane_shares import LaneShares
from cluster.state.work.work_bell import WorkBell
from cluster.watch.answering import answer_from_here
from cluster.watch.memory import use_now
from configs.keys import Part
from configs.sections import ReadSettings, Settings
from pipelines.documents.chunk import split
from pipelines.documents.cpu_pulses import PacedSlot, SharedPace
from pipelines.documents.document import VersionId
from pipelines.documents.extract.reader import DocumentReader, extraction_fingerprint
from pipelines.documents.graph.graph_wiring import graph_stage
from pipelines.documents.index.chunk_and_embed import VersionIndexer, chunk_token_ends
from pipelines.documents.index.gate import IndexGate
from pipelines.documents.index.generations import IndexedVersion, IndexGenerations, IndexRecipe
from pipelines.documents.index.maintenance import IndexMaintenance
from pipelines.documents.index.rebuild import IndexRebuild
from pipelines.documents.index.switch import IndexSwitchover
from pipelines.documents.ingest.backpressure import memory_wait, share_of_a_core, small_job_count, strain_of
from pipelines.documents.ingest.ingestion import IngestionRunner
from pipelines.documents.ingest.job_cost import JobCosts
from pipelines.documents.ingest.job_loop import JobLoop
from pipelines.documents.ingest.job_plan import INDEX
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import FileTask, HereStages, SurveyResult, in_thread
from pipelines.documents.ingest.vision_step import VisionStep
from pipelines.documents.ingest.vision_wiring import vision_step
from pipelines.documents.privacy.log_lines import mask_log_lines
from pipelines.documents.privacy.policy_rules import read_governance
from pipelines.documents.privacy.policy_store import PolicyStore
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.choose_store import open_blobs
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.documents.sync.sync_wiring import source_sync

if TYPE_CHECKING:
    from pipelines.index import IndexBeside

LISTED_AT_ONCE = 4  # sources: one that lists slowly keeps no other from it
UNUSED_SECONDS = 30.0  # between two looks at readers that nobody uses
QUEUE_SECONDS = 0.5  # between two looks at who waits
SPARE_THREADS = 8
ROOM_SETTING = "disk.jobs_free_bytes (AOS_DISK_JOBS_FREE_BYTES)"
STOP_SECONDS = 15.0  # Serve kills a replica 20 s after it was told to go


class DatasetStages:
    """Bulk: every stage is a Dataset over micro-batches."""

    def __init__(self, settings: ReadSettings, gpus: float = 0, rows: Mapping[str, Any] | None = None) -> None:
        """`rows` are the settings' as this worker has them: actors that begin later have the same, whatever changed."""
        self._settings, self._gpus, self._rows = settings, gpus, rows
        self._workers = 1

    def survey(self, files: Sequence[FileTask]) -> AsyncIterator[list[SurveyResult]]:
        """As in Stages."""
        from pipelines import read  # with Ray Data, which takes 80 MB: for who has bulk work

        return in_thread(read.survey_files(files, self._settings, self._rows))

    def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        """As in Stages."""
        from pipelines import read

        return in_thread(read.read_slices(slices, self._settings, self._gpus, self._rows, workers=self._workers))

    def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        """As in Stages."""
        from pipelines import index

        return in_thread(index.index_versions(scope, versions, self._settings, self._rows))

    def count_readers(self, workers: int) -> int:
        """Readers of the batch that begins now, where so many workers share the cluster; `read` has as many."""
        from pipelines import read

        self._workers = workers
        return read.count_readers(self._settings, self._gpus, workers)


class BesideStages:
    """As index.IndexBeside, which is made at the first call."""

    def __init__(self, settings: ReadSettings, rows: Mapping[str, Any] | None) -> None:
        self._given = settings, rows
        self._made: IndexBeside | None = None

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        """As in IndexBeside."""
        if self._made is None:
            from pipelines.index import IndexBeside

            self._made = IndexBeside(*self._given)
        async for found in self._made.index(scope, versions):
            yield found

    async def close(self) -> None:
        """As in IndexBeside."""
        if self._made is not None:
            await self._made.close()


class JobWorker:
    """Job loops of every lane, on the event loop of whoever makes it."""

    def __init__(self) -> None:
        """Connections are opened by the loops themselves, on the replica's event loop."""
        self._settings, self._rows = load_settings_and_rows()
        mask_log_lines()
        self._snapshots = logs.follow_log_level(SettingsSnapshots(self._settings))
        answer_from_here(connect.liveness_folder(self._settings.state_dir), "worker")
        self._readers: list[DocumentReader] = []
        worker, cores = self._settings.worker, os.cpu_count() or 1
        self._small_jobs = small_job_count(worker, cores, use_now())
        self._pace = SharedPace(self._small_jobs, cores, worker.hurried_seconds)
        self._loops: list[JobLoop] = []
        self._bell: WorkBell | None = None
        self._shares: LaneShares | None = None
        self._vision: VisionStep | None = None
        self._vault = vault_of(self._settings.models.vault_key, self._settings.state_dir)
        self._first: asyncio.Task[bool] | None = None
        self._task = asyncio.get_running_loop().create_task(self._run_loops())

    async def _run_loops(self) -> None:
        settings = self._settings
        found = resolve_endpoints(settings)
        room = 5 + LISTED_AT_ONCE + self._small_jobs  # the bulk lane reads and indexes at once
        database = Database(
            found.postgres, size=room, timeout=settings.postgres.pool_timeout, fence=timeline_fence(settings)
        )
        await database.open()
        vault = self._vault
        watch = SettingsWatcher(self._snapshots, SettingsRows(database, vault))
        bell = self._bell = WorkBell(database, found.postgres)
        shares = self._shares = LaneShares(database, JobLane.SMALL, bell)
        embedder, care = handles.build_embedder(settings), IndexMaintenance(database, found.postgres_admin)
        await watch.open()  # for the log level alone: what decides how pages are read stays until the next start
        try:
            # Serve's own has a handful: a thread for each lane's reader, and some for chunks, graphs and names.
            threads = ThreadPoolExecutor(self._small_jobs + SPARE_THREADS, thread_name_prefix="aos-worker")
            asyncio.get_running_loop().set_default_executor(threads)
            small = (JobLane.SMALL,) * self._small_jobs
            lanes = (*small, JobLane.SLOW, JobLane.BULK, *(JobLane.SYNC,) * LISTED_AT_ONCE)
            drawer = DocumentReader(settings.read, settings.ocr)
            self._vision = vision_step(settings, database, drawer)
            blobs = open_blobs(settings, _room_of_jobs(settings))
            with suppress(OSError):  # what could not be removed goes with the next file that is read
                await asyncio.to_thread(blobs.tidy)  # of copies that a worker before this one has left
            self._loops.extend(self._build_loop(database, embedder, blobs, lane, at) for at, lane in enumerate(lanes))
            self._readers.append(drawer)  # after those of the loops, which are found by their place
            async with asyncio.TaskGroup() as tasks:
                # Before anything is written to an index that has lost what it had; a worker that is to go is not kept.
                self._first = tasks.create_task(care.look(care.renew_words))
                await asyncio.wait([self._first])
                told = tasks.create_task(bell.listen())
                works = [tasks.create_task(self._work_lane(at, lane)) for at, lane in enumerate(lanes)]
                beside = [tasks.create_task(care.keep()), tasks.create_task(self._watch_queue(SystemQueries(database)))]
                beside += [tasks.create_task(self._end_unused_readers()), tasks.create_task(shares.watch())]
                await asyncio.wait(works)
                for task in (told, *beside):
                    task.cancel()
        finally:
            await watch.close()

    async def _watch_queue(self, queries: SystemQueries) -> None:
        """Tell the readers of the small lane whether somebody waits for one of them, where all are at work."""
        while True:
            waiting = False
            if self._pace.is_full:
                with suppress(Transient):  # then nobody is hurried
                    waiting = any(load.name == JobLane.SMALL and load.waiting for load in await queries.lanes())
            self._pace.others_wait = waiting
            await asyncio.sleep(QUEUE_SECONDS)

    async def _end_unused_readers(self) -> None:
        """What a reader has loaded for a document is given back once nothing is read; the next begins with little."""
        while True:
            await asyncio.sleep(UNUSED_SECONDS)
            for at, reader in enumerate(self._readers):
                ended = await asyncio.to_thread(reader.end_unused, self._settings.read.rest_seconds)
                if ended and at == 0:
                    await self._warm_first_reader()

    async def _warm_first_reader(self) -> None:
        """Somebody waits for what is in the small lane; on a laptop for its reader, too."""
        if self._settings.worker.warm_reader:
            await asyncio.to_thread(self._readers[0].warm_up)

    async def _work_lane(self, at: int, lane: JobLane) -> None:
        if at == 0:
            await self._warm_first_reader()
        await self._loops[at].work(lane)

    def _document_store(self, database: Database) -> DocumentStore:
        return DocumentStore(database, PolicyStore(database, read_governance()).of_documents)

    def _build_loop(self, database: Database, embedder: Embedder, blobs: BlobStore, lane: JobLane, at: int) -> JobLoop:
        settings, store, jobs = self._settings, self._document_store(database), JobLedger(database)
        slot = self._pace.slot()
        reader = reader_of(lane, settings, slot)
        self._readers.append(reader)
        tokens = chunk_token_ends(settings.chunk, settings.embedding)
        model_lane = EmbeddingLane.QUESTION if lane is JobLane.SMALL else EmbeddingLane.BULK
        place = self._shares.place() if self._shares is not None and lane is JobLane.SMALL else None
        pause = None if place is None else place.pause
        indexer = VersionIndexer(store, embedder, settings.chunk, model_lane, tokens=tokens, pause=pause)
        here = HereStages(reader, indexer, blobs)
        held, crowd = None, None
        if lane is JobLane.BULK and settings.read.idle and settings.read.floor > 0:
            share = share_of_a_core(settings.read, os.cpu_count() or 1)
            pulses = DocumentReader(settings.read, settings.ocr, share=share)
            self._readers.append(pulses)
            held = HereStages(pulses, indexer, blobs)
            crowd = CrowdWatch(settings.read.floor) if settings.ray.address is None else None  # else it reads elsewhere
        bulk = DatasetStages(settings.read, reader_gpus(settings), self._rows)
        generations, gate = IndexGenerations(database), IndexGate(database, embedder, settings.gate)
        runner = IngestionRunner(
            jobs,
            store,
            generations,
            blobs,
            IndexRebuild(jobs, generations, IndexSwitchover(database), gate, INDEX, settings.search.exact_scope),
            here=here,
            bulk=bulk,
            read=settings.read,
            chunk=settings.chunk,
            read_fingerprint=extraction_fingerprint(settings.read, settings.ocr),
            exact_scope=settings.search.exact_scope,
            graph=graph_stage(settings, database, jobs),
            vision=self._vision,
            sync=source_sync(settings, database, self._vault, blobs),
            held=held,
            crowd=crowd,
            costs=JobCosts(database, settings.worker.bulk_seconds),
            readers=bulk.count_readers,
            beside=BesideStages(settings.read, self._rows) if lane is JobLane.BULK else None,
        )
        owner, restarts = f"{socket.gethostname()}:{os.getpid()}:{lane}:{at}", RestartRequests(database)
        return JobLoop(
            jobs,
            runner,
            lambda anew: current_recipe(embedder, settings, anew),
            settings.worker,
            owner,
            lambda: restarts.under_way((Part.EMBEDDING, Part.WORKER)),
            room=_room_of_jobs(settings),
            strain=functools.partial(strain_of, lane, settings, crowd),
            kept=functools.partial(_kept_by_memory, settings) if lane is JobLane.SMALL and at else lambda: None,
            bell=self._bell,
            place=place,
            began=functools.partial(_work_for, slot),
        )

    async def check_health(self) -> None:
        """Fails when a job loop has ended, whatever it died of; never asks Postgres."""
        if self._task.done():
            self._task.result()
            raise RuntimeError("the job loops have ended")

    async def close(self) -> None:
        """End after what is being written, so that an update loses no work."""
        for loop in self._loops:
            loop.stop()
        if self._first is not None:
            self._first.cancel()
        await asyncio.wait([self._task], timeout=STOP_SECONDS)
        if not self._task.done():
            with suppress(AosError):  # Postgres may be away: then the lease runs out
                await asyncio.gather(*(loop.give_back() for loop in self._loops))
        for reader in self._readers:
            await asyncio.to_thread(reader.close)


@serve.deployment
class Worker(JobWorker):
    """A worker in a replica of its own. If a loop dies of something without a name, the replica is replaced."""

    async def __del__(self) -> None:
        """Serve awaits this before a replica goes."""
        await self.close()


def _work_for(slot: PacedSlot, job: ClaimedJob) -> None:
    slot.tenant = job.lease.scope.tenant


def _kept_by_memory(settings: Settings) -> str | None:
    """Of all loops of the small lane but the first, so that one upload always gets on."""
    return memory_wait(settings.ray.memory_high, use_now())


def _room_of_jobs(settings: Settings) -> DiskRoom:
    return DiskRoom(settings.state_dir, settings.disk.jobs_free_bytes, settings=ROOM_SETTING)


def reader_of(lane: JobLane, settings: Settings, slot: PacedSlot) -> DocumentReader:
    """The reader of one job loop; that of the slow lane is as patient as `read` says, and stands behind the others."""
    if lane is not JobLane.SMALL:
        priority = ProcessPriority.LOW if lane is JobLane.SLOW else ProcessPriority.NORMAL
        return DocumentReader(settings.read, settings.ocr, priority=priority)
    quick, read = settings.worker.quick_seconds, settings.read
    limits = {"cpu_seconds": min(read.cpu_seconds, quick), "open_seconds": min(read.open_seconds, 2 * quick)}
    return DocumentReader(settings.read.model_copy(update=limits), settings.ocr, helpers=True, pace=slot)


async def current_recipe(embedder: Embedder, settings: Settings, anew: bool) -> IndexRecipe:
    """The recipe of an index made now; `anew` asks the embedder again, instead of trusting its cached facts."""
    if anew:
        forget_facts(embedder)
    facts = await embedder.facts()
    return IndexRecipe(facts, split.chunker_fingerprint(settings.chunk, facts.fingerprint))


def build(args: dict[str, Any]) -> Application:
    """The application; `args` are options of the deployment, replicas and resources come from serve.yaml."""
    return Worker.options(**args).bind()  # type: ignore[attr-defined]
