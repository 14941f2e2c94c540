"""A tenant with a workspace, and a worker whose every collaborator is real but the reader and the embedder."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
from numpy.typing import NDArray

from cluster.basics.crowd import CrowdWatch
from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.embedding.migration import forget_facts
from cluster.models.ports import EmbedderFacts
from cluster.models.ports import EmbeddingLane as ModelLane
from cluster.state.db.postgres import Database
from cluster.state.work.job_queries import JobQueries
from cluster.state.work.jobs import ClaimedJob, JobId, JobLane, JobLedger
from configs.sections import ChunkSettings, ReadSettings
from configs.sections_retrieval import GateSettings
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.document import document_id
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.index.chunk_and_embed import VersionIndexer
from pipelines.documents.index.gate import IndexGate
from pipelines.documents.index.generations import IndexGenerations, IndexRecipe
from pipelines.documents.index.rebuild import IndexRebuild
from pipelines.documents.index.switch import IndexSwitchover
from pipelines.documents.ingest.ingestion import IngestionRunner
from pipelines.documents.ingest.job_cost import JobCosts
from pipelines.documents.ingest.job_plan import INDEX
from pipelines.documents.ingest.stages import HereStages, IndexStage, JobStages
from pipelines.documents.ingest.vision_step import VisionStep
from pipelines.documents.store.blobs import FolderBlobs
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.documents.sync.source_sync import SourceSync
from tests.fakes.chunking import letter_vectors
from tests.fakes.reading import FormFeedReader


class LetterEmbedder:
    """Counts letters: near texts have near vectors, and a test can reckon them."""

    name = "letters"

    async def facts(self) -> EmbedderFacts:
        return EmbedderFacts(self.name, 26, 256, self.name)

    async def embed(self, texts: Sequence[str], lane: ModelLane = ModelLane.QUESTION) -> NDArray[np.float32]:
        return letter_vectors(texts)


class AwayEmbedder(LetterEmbedder):
    """Tells what it is and then does not answer."""

    async def embed(self, texts: Sequence[str], lane: ModelLane = ModelLane.QUESTION) -> NDArray[np.float32]:
        raise Unavailable("away")


async def new_workspace(admin_dsn: str, tenant: str = "") -> Scope:
    """A workspace of a new tenant, or another one of a tenant that is there."""
    name = tenant or f"tenant-{uuid4().hex[:8]}"
    async with await psycopg.AsyncConnection.connect(admin_dsn) as connection:
        cursor = await connection.execute(
            "with t as (insert into tenants (name) values (%(name)s) on conflict (name) do update set name = %(name)s"
            " returning id) insert into workspaces (tenant_id, name) select id, %(workspace)s from t"
            " returning tenant_id, id",
            {"name": name, "workspace": uuid4().hex},
        )
        row = await cursor.fetchone()
    assert row is not None
    return worker_scope(str(row[0]), str(row[1]))


def worker_scope(tenant: str, workspace: str) -> Scope:
    """The scope a job of this workspace works in."""
    return Scope.of_worker(TenantId(tenant), WorkspaceId(workspace))


@dataclass
class Bench:
    """Everything a ledger test touches."""

    database: Database
    jobs: JobLedger
    desk: JobQueries
    store: DocumentStore
    generations: IndexGenerations
    blobs: FolderBlobs
    reader: FormFeedReader
    embedder: LetterEmbedder
    chunk: ChunkSettings
    read: ReadSettings
    read_fingerprint: str = "reader-1"
    stages: JobStages | None = None
    gate: GateSettings = field(default_factory=GateSettings)
    exact_scope: int = 10_000
    graph: GraphStage | None = None
    held: JobStages | None = None
    crowd: CrowdWatch | None = None
    vision: VisionStep | None = None
    sync: SourceSync | None = None
    bulk_seconds: float = 30
    readers: Callable[[int], int] | None = None
    beside: IndexStage | None = None

    @property
    def switchover(self) -> IndexSwitchover:
        return IndexSwitchover(self.database)

    def here(self) -> HereStages:
        return HereStages(self.reader, self.indexer(), self.blobs)

    def indexer(self) -> VersionIndexer:
        return VersionIndexer(self.store, self.embedder, self.chunk, ModelLane.BULK, sleep=self.sleep)

    def rebuild(self) -> IndexRebuild:
        gate = IndexGate(self.database, self.embedder, self.gate, sleep=self.sleep)
        return IndexRebuild(self.jobs, self.generations, self.switchover, gate, INDEX, self.exact_scope)

    async def sleep(self, seconds: float) -> None:
        """Nobody waits for a model in a test."""

    def runner(self) -> IngestionRunner:
        stages = self.stages or self.here()
        return IngestionRunner(
            self.jobs,
            self.store,
            self.generations,
            self.blobs,
            self.rebuild(),
            here=stages,
            bulk=stages,
            read=self.read,
            chunk=self.chunk,
            read_fingerprint=self.read_fingerprint,
            exact_scope=self.exact_scope,
            graph=self.graph,
            held=self.held,
            crowd=self.crowd,
            vision=self.vision,
            sync=self.sync,
            costs=JobCosts(self.database, self.bulk_seconds),
            readers=self.readers,
            beside=self.beside,
        )

    async def recipe(self, anew: bool = False) -> IndexRecipe:
        if anew:
            forget_facts(self.embedder)
        facts = await self.embedder.facts()
        return IndexRecipe(facts, chunker_fingerprint(self.chunk, facts.fingerprint))

    async def enqueue(self, scope: Scope, kind: str, payload: dict[str, Any], lane: JobLane = JobLane.BULK) -> JobId:
        async with self.database.transaction(scope) as tx:
            for file in payload.get("files", ()):  # an upload is announced before its job
                await tx.run(
                    "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type)"
                    " values (%(id)s, %(tenant)s, %(workspace)s, %(origin)s, %(filename)s, '', 'upload')"
                    " on conflict do nothing",
                    id=document_id(scope.workspace, file["origin"]),
                    tenant=scope.tenant,
                    workspace=scope.workspace,
                    origin=file["origin"],
                    filename=file["filename"],
                )
            return (await self.jobs.enqueue(tx, scope, kind, lane, payload)).job

    async def claim(self, owner: str = "worker-1", lane: JobLane = JobLane.BULK, lease: float = 60) -> ClaimedJob:
        job = await self.next_job(owner, lane, lease)
        assert job is not None
        return job

    async def next_job(self, owner: str, lane: JobLane = JobLane.BULK, lease: float = 60) -> ClaimedJob | None:
        """The next of a lane; where that is bulk also of those that a sync begins in, and a small one goes on in."""
        others = (JobLane.SYNC, JobLane.SMALL) if lane is JobLane.BULK else ()
        for one in (lane, *others):
            if (job := await self.jobs.claim(owner, one, lease)) is not None:
                return job
        return None

    async def run(
        self, lane: JobLane = JobLane.BULK, stopped: Callable[[], bool] = lambda: False, owner: str = "worker-1"
    ) -> JobId:
        """Claim the next job and work until it ends."""
        job = await self.claim(owner, lane)
        await self.finish(job, self.runner(), stopped)
        return job.lease.job

    async def finish(
        self, job: ClaimedJob, runner: IngestionRunner, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Work at a claimed job until it ends."""
        while not (await runner.turn(job, await self.recipe(), stopped)).ended:
            job = await self.jobs.reload(job)

    async def scan(self, scope: Scope, folder: Path) -> JobId:
        await self.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
        return await self.run()

    async def rows(self, scope: Scope, query: str, **values: Any) -> list[dict[str, Any]]:
        async with self.database.transaction(scope) as tx:
            return await tx.all(query, **values)


@asynccontextmanager
async def bench(app_dsn: str, folder: Path) -> AsyncIterator[Bench]:
    """A database as the application role sees it, and collaborators around it."""
    database = Database(app_dsn, size=4, timeout=10)
    await database.open()
    try:
        yield Bench(
            database,
            JobLedger(database),
            JobQueries(database),
            DocumentStore(database),
            IndexGenerations(database),
            FolderBlobs(folder / "blobs", base=Path("/")),
            FormFeedReader(),
            LetterEmbedder(),
            ChunkSettings(),
            ReadSettings(),
        )
    finally:
        await database.close()
