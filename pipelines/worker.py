"""The worker deployment: claims jobs in both lanes and runs them here or as Ray Data."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

from ray import serve
from ray.serve import Application

from cluster import handles, logs
from cluster.basics.scope import Scope
from cluster.deploy import reader_gpus
from cluster.models.ports import Embedder
from cluster.models.ports import Lane as ModelLane
from cluster.state.embedded import resolve
from cluster.state.jobs import Jobs, Lane
from cluster.state.postgres import Database
from configs.sections import ReadSettings, Settings
from configs.settings import load
from pipelines import index, read
from pipelines.documents.blobs import FolderBlobs
from pipelines.documents.chunk import split
from pipelines.documents.document import VersionId
from pipelines.documents.index.generations import Generations, Indexed, Recipe
from pipelines.documents.index.make import Indexer
from pipelines.documents.reader import Reader, fingerprint
from pipelines.documents.run import Runner
from pipelines.documents.shift import Shift
from pipelines.documents.slices import ReadPage, Slice
from pipelines.documents.stages import FileTask, HereStages, Surveyed, in_thread
from pipelines.documents.store import Store

STOP_SECONDS = 15.0  # Serve kills a replica 20 s after it was told to go


class DatasetStages:
    """Bulk: every stage is a Dataset over micro-batches."""

    def __init__(self, settings: ReadSettings, gpus: float = 0) -> None:
        """`settings` says how many actors there may be and how large each is, `gpus` what a reader takes of them."""
        self._settings, self._gpus = settings, gpus

    def survey(self, files: Sequence[FileTask]) -> AsyncIterator[list[Surveyed]]:
        """As in Stages."""
        return in_thread(read.survey(files, self._settings))

    def read(self, slices: Sequence[Slice]) -> AsyncIterator[list[ReadPage]]:
        """As in Stages."""
        return in_thread(read.read(slices, self._settings, self._gpus))

    def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[Indexed]]:
        """As in Stages."""
        return in_thread(index.index(scope, versions, self._settings))


@serve.deployment
class Worker:
    """One shift a lane. If a shift dies of something without a name, the replica is replaced."""

    def __init__(self) -> None:
        """Connections are opened by the shifts themselves, on the replica's event loop."""
        self._settings = load()
        logs.set_up(self._settings)
        self._readers: list[Reader] = []
        self._shifts: list[Shift] = []
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        settings = self._settings
        database = Database(resolve(settings).postgres, size=4, timeout=settings.postgres.pool_timeout)
        await database.open()
        embedder = handles.embedder(settings)
        async with asyncio.TaskGroup() as shifts:
            for lane in Lane:
                shift = self._shift(database, embedder, lane)
                self._shifts.append(shift)
                shifts.create_task(shift.work(lane))

    def _shift(self, database: Database, embedder: Embedder, lane: Lane) -> Shift:
        settings, store, jobs = self._settings, Store(database), Jobs(database)
        reader = Reader(settings.read, settings.ocr)
        self._readers.append(reader)
        model_lane = ModelLane.QUESTION if lane is Lane.SMALL else ModelLane.BULK
        here = HereStages(reader, Indexer(store, embedder, settings.chunk, model_lane))
        runner = Runner(
            jobs, store, Generations(database), FolderBlobs(settings.state_dir / "blobs"),
            here=here, bulk=DatasetStages(settings.read, reader_gpus(settings)), read=settings.read,
            read_fingerprint=fingerprint(settings.read, settings.ocr), exact_scope=settings.search.exact_scope,
        )  # fmt: skip
        owner = f"{socket.gethostname()}:{os.getpid()}:{lane}"
        return Shift(jobs, runner, lambda: recipe(embedder, settings), settings.worker, owner)

    async def check_health(self) -> None:
        """Fails when a shift has ended, whatever it died of; never asks Postgres."""
        if self._task.done():
            self._task.result()
            raise RuntimeError("the shifts have ended")

    async def __del__(self) -> None:
        """Serve awaits this before a replica goes: end after what is being written, so that an update loses no work."""
        for shift in self._shifts:
            shift.stop()
        await asyncio.wait([self._task], timeout=STOP_SECONDS)
        for reader in self._readers:
            await asyncio.to_thread(reader.close)


async def recipe(embedder: Embedder, settings: Settings) -> Recipe:
    """What an index made now would be made with."""
    return Recipe(await embedder.facts(), split.fingerprint(settings.chunk))


def build(args: dict[str, Any]) -> Application:
    """The application; `args` are options of the deployment, replicas and resources come from serve.yaml."""
    return Worker.options(**args).bind()  # type: ignore[attr-defined]
