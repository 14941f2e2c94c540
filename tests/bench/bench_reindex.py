"""Another embedder takes over under questions: none fails or mixes, bad vectors are stopped, one call goes back."""

import asyncio
import multiprocessing
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import psycopg
from numpy.typing import NDArray

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.embedding.migration import pair_embedders
from cluster.models.ports import EmbedderFacts, EmbeddingLane
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from cluster.state.work.job_queries import JobQueries
from cluster.state.work.jobs import JobId, JobLedger
from cluster.state.work.jobs import JobLane as JobLane
from configs.sections import ChunkSettings, ReadSettings
from configs.sections_retrieval import GateSettings, RerankSettings, SearchSettings
from configs.settings import load_settings
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.index.chunk_and_embed import VersionIndexer
from pipelines.documents.index.gate import IndexGate
from pipelines.documents.index.generations import IndexGenerations, IndexRecipe
from pipelines.documents.index.rebuild import IndexRebuild
from pipelines.documents.index.switch import IndexSwitchover
from pipelines.documents.ingest.ingestion import IngestionRunner
from pipelines.documents.ingest.job_plan import INDEX
from pipelines.documents.ingest.stages import HereStages
from pipelines.documents.store.blobs import FolderBlobs
from pipelines.documents.store.document_writes import DocumentStore
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.evals import irdata
from tests.evals.report import Report
from tests.fakes import bent, corpus
from tests.fakes.corpus import Book, Sheet
from tests.fakes.reading import FormFeedReader

GOAL = (
    "A re-index of 20,000 chunks under 5 queries/s: 0 failed queries, 0 mixed results; a deliberately bad embedder is "
    "stopped by the gate; rollback by one call"
)
DIMENSION = 384
FORMER, NEXT = "words", "other words"  # embedders: the index changes from one to the other
RATE = 5.0  # questions a second
PAGE = 11_000  # characters of a document: about ten chunks
WAY_BACK = 1.0  # seconds that a call may take

Vectors = NDArray[np.float32]


class Projection:
    """Bags of words, each word a random direction: as quick as a re-index needs, and near where words are shared."""

    def __init__(self, name: str, bend: Callable[[Sequence[str], Vectors], Vectors] | None = None) -> None:
        self.name, self.bend = name, bend
        self._rows: dict[str, Vectors] = {}

    async def facts(self) -> EmbedderFacts:
        """See `Embedder`."""
        return EmbedderFacts(self.name, DIMENSION, 1_000_000, self.name)

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> Vectors:
        """See `Embedder`."""
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        vectors = await asyncio.to_thread(lambda: np.stack([self._one(text) for text in texts]))
        return vectors if self.bend is None else self.bend(texts, vectors)

    def _one(self, text: str) -> Vectors:
        words = re.findall(r"\w{3,}", text.lower()) or ["none"]
        for word in words:
            if word not in self._rows:
                rng = np.random.default_rng(crc32(f"{self.name}:{word}".encode()))
                self._rows[word] = rng.standard_normal(DIMENSION).astype(np.float32)
        found = np.sum([self._rows[word] for word in words], axis=0)
        normed: Vectors = found / np.linalg.norm(found)
        return normed


@dataclass(frozen=True)
class Wanted:
    """What a child builds, and with what."""

    dsn: str
    tenant: str
    workspace: str
    size: int
    embedder: str
    bad: bool = False


def build(wanted: Wanted) -> None:
    """A re-index in a process of its own, as the worker would do it."""
    asyncio.run(_build(wanted))


async def _build(wanted: Wanted) -> None:
    database = Database(wanted.dsn, size=3)
    await database.open()
    now = Projection(wanted.embedder, bent.mixed_up if wanted.bad else None)
    embedder = pair_embedders(now, Projection(FORMER))
    chunk, jobs = ChunkSettings(size=wanted.size, overlap=0), JobLedger(database)
    generations = IndexGenerations(database)
    here = HereStages(FormFeedReader(), VersionIndexer(DocumentStore(database), now, chunk, EmbeddingLane.BULK))
    gate = IndexGate(database, embedder, GateSettings())
    runner = IngestionRunner(
        jobs,
        DocumentStore(database),
        generations,
        FolderBlobs(Path(tempfile.gettempdir()), base=Path("/")),
        IndexRebuild(jobs, generations, IndexSwitchover(database), gate, INDEX, SearchSettings().exact_scope),
        here=here,
        bulk=here,
        read=ReadSettings(),
        chunk=chunk,
        read_fingerprint="bench",
        exact_scope=SearchSettings().exact_scope,
    )
    recipe = IndexRecipe(await embedder.facts(), chunker_fingerprint(chunk))
    job = await jobs.claim("bench", JobLane.BULK, 3600)
    assert job is not None
    while not (await runner.turn(job, recipe, lambda: False)).ended:
        job = await jobs.reload(job)
    await database.close()


@dataclass
class Asked:
    """Every question that was put while something ran."""

    failed: list[str] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)
    found: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


class Bench:
    """A workspace, its questions, and re-indexes in other processes."""

    def __init__(self, state: Path, report: Report, questions: Sequence[str]) -> None:
        self.endpoints, self.report, self.questions = (
            embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)})),
            report,
            questions,
        )
        self.database = Database(self.endpoints.postgres)
        embedder = pair_embedders(Projection(NEXT), Projection(FORMER))
        self.search = SearchPipeline(self.database, embedder, None, SearchSettings(), RerankSettings())
        self.switchover = IndexSwitchover(self.database)
        self.scope = Scope.of_worker(TenantId(""), WorkspaceId(""))

    def fill(self, texts: Sequence[str], chunks: int) -> None:
        """Documents that were read and are not indexed yet."""
        rng, size = random.Random(5), chunks // 10
        with psycopg.connect(self.endpoints.postgres_admin or "", autocommit=True) as connection:
            home = corpus.open_home(connection)
            self.scope = Scope.of_worker(home.tenant, home.workspace)
            books = []
            for number in range(size):
                text = ""
                while len(text) < PAGE:
                    text += rng.choice(texts)[:1_500] + "\n\n"
                books.append(Book(f"{number}.txt", (), [Sheet(text[:PAGE])]))
            generation = corpus.open_generation(connection)
            corpus.load(connection, home, generation, books)

    async def reindex(self, size: int, embedder: str, *, bad: bool = False) -> dict[str, Any]:
        """A re-index as it ended; questions go on meanwhile, if somebody asks them."""
        async with self.database.transaction(self.scope) as tx:
            job = (
                await JobLedger(self.database).enqueue(tx, self.scope, "reindex", JobLane.BULK, {"agent_id": None})
            ).job
        wanted = Wanted(self.endpoints.postgres, self.scope.tenant, self.scope.workspace, size, embedder, bad)
        child = multiprocessing.get_context("spawn").Process(target=build, args=(wanted,))
        child.start()
        await asyncio.to_thread(child.join)
        shown: dict[str, Any] = await JobQueries(self.database).show(self.scope, JobId(job))
        return shown

    async def ask(self, over: asyncio.Event) -> Asked:
        """Five questions a second until it is over, whether or not the ones before are answered."""
        asked, tasks, number = Asked(), [], 0
        begun = time.perf_counter()
        while not over.is_set():
            tasks.append(asyncio.create_task(self._one(asked, self.questions[number % len(self.questions)])))
            number += 1
            await asyncio.sleep(max(0.0, begun + number / RATE - time.perf_counter()))
        await asyncio.gather(*tasks)
        return asked

    async def _one(self, asked: Asked, question: str) -> None:
        begun = time.perf_counter()
        try:
            results = await self.search.run(self.scope, SearchQuery(question))
        except AosError as error:
            asked.failed.append(str(error))
            return
        asked.ms.append((time.perf_counter() - begun) * 1000)
        if results.fallback or not results.hits or results.generation is None:
            asked.failed.append(results.fallback or "nothing was found")
            return
        asked.found.append((results.generation, tuple(hit.chunk_id for hit in results.hits)))

    async def mixed(self, found: Sequence[tuple[int, tuple[str, ...]]]) -> int:
        """Answers with a passage that is not of the cut of the generation they name."""
        async with self.database.transaction(self.scope) as tx:
            chunks = await tx.all("select id, chunker from document_chunks")
            made = {row["id"]: row["chunker"] for row in await tx.all("select id, chunker from generations")}
        cut = {row["id"]: row["chunker"] for row in chunks}
        return sum({cut.get(chunk) for chunk in ids} != {made[generation]} for generation, ids in found)

    async def rollback(self) -> float:
        """Seconds of one call."""
        begun = time.perf_counter()
        async with self.database.transaction(self.scope) as tx:
            await self.switchover.back(tx, self.scope)
        return time.perf_counter() - begun


async def run(bench: Bench) -> None:
    """Index, re-index under questions, a bad one, and back."""
    await bench.database.open()
    report, switchover, scope = bench.report, bench.switchover, bench.scope
    first = await bench.reindex(1_300, FORMER)
    over = asyncio.Event()
    idle = asyncio.create_task(bench.ask(over))
    await asyncio.sleep(20)
    over.set()
    quiet, before = await idle, await switchover.live(scope)

    over = asyncio.Event()
    asking = asyncio.create_task(bench.ask(over))
    begun = time.perf_counter()
    good = await bench.reindex(1_100, NEXT)
    took, after = time.perf_counter() - begun, await switchover.live(scope)
    begun = time.perf_counter()
    bad = await bench.reindex(1_100, NEXT, bad=True)
    bad_took, still = time.perf_counter() - begun, await switchover.live(scope)
    back = await bench.rollback()
    returned = await switchover.live(scope)
    await asyncio.sleep(3)
    over.set()
    asked = await asking

    rows = {row["id"]: row for row in await switchover.overview(scope)}
    used = {generation for generation, _ in asked.found}
    report.figure(
        "chunks of the first and the next generation", rows[after]["chunks"], reference=rows[before]["chunks"]
    )
    report.figure(
        "re-index, gate and switch", took, unit="s", reference=f"gate {rows[after]['report']['ms'] / 1000:.1f} s"
    )
    report.figure("jobs", f"{first['state']}, {good['state']}, {bad['state']}")
    failed, mixed = len(asked.failed) + len(quiet.failed), await bench.mixed(asked.found)
    enough = rows[after]["chunks"] >= 20_000 and after != before
    report.figure("failed queries", failed, unit=f"of {len(asked.ms)}", goal=GOAL, holds=failed == 0 and enough)
    report.figure("mixed results", mixed, unit=f"of {len(asked.found)}", goal=GOAL, holds=mixed == 0 and len(used) == 2)
    stopped = bad["state"] == "failed" and still == after
    refused = next(row for row in rows.values() if row["state"] == "refused")
    recall = refused["report"]["items"]["recall"]
    report.figure("a bad embedder's known items found at the gate", recall, goal=GOAL, holds=stopped)
    report.figure("a good one's", rows[after]["report"]["items"]["recall"])
    report.figure("rollback, one call", back * 1000, unit="ms", goal=GOAL, holds=returned == before and back < WAY_BACK)
    report.figure("the bad re-index", bad_took, unit="s")
    for share in (50, 95):
        busy, rest = np.percentile(asked.ms, share), np.percentile(quiet.ms, share)
        report.figure(f"search p{share} meanwhile", float(busy), unit="ms", reference=f"idle {rest:.1f}")
    for why in sorted(set(asked.failed))[:5]:
        report.figure("failed because", why)
    await bench.database.close()


def measure(report: Report, evals: Path, chunks: int = 20_000) -> None:
    """On a server of its own, of which nothing stays."""
    sets = [irdata.load(path) for path in sorted((evals / "ir").iterdir()) if path.is_dir()]
    texts = [f"{text.title}\n{text.text}" for data in sets for text in data.documents]
    questions = [text for data in sets for text in data.questions.values()]
    random.Random(3).shuffle(questions)
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        bench = Bench(state, report, questions)
        asyncio.run(apply_migrations(bench.endpoints.postgres_admin or ""))
        bench.fill(texts, chunks)
        asyncio.run(run(bench))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
