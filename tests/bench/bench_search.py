"""Hybrid search at 100,000 chunks under row-level security, against its leg queries, as bound and without any."""

import asyncio
import random
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import uvloop
from pgvector import Vector

from cluster.basics.scope import Scope
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database, ReadQuery, configure_connection, of_scope
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.settings import load_settings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from serve_apps.retrieval.search.statements import RetrieverQueries
from serve_apps.retrieval.text import literals
from tests.evals import irdata
from tests.evals.report import Report
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage
from tests.fakes.models import FakeEmbedder

DIMENSION = 384
ASPECTS = 24  # random vectors have no neighbours; these lie near a subspace, as embeddings do
GOAL = (
    "Hybrid search inside the process at 10k (printed), 100k and 1M chunks, query vector given, as the application "
    "role: ≤ 1.3× the slower of its two bare leg queries in the same run"
)
LIMIT = 1.3
AIM = (
    "hybrid search p50/p95 at 100k chunks, query vector given, as the application role with RLS on, against the slower "
    "of its two bare leg queries as superuser (aim ≤ 1.5×)"
)
AIMED = 1.5
RECALLED = 50  # questions
ROUNDS = 5  # once through the questions takes seconds, in which a neighbour of the machine can be busy
RECALL_GOAL = "recall@10 against exact ≥ 0.98 at 100k chunks, also for a tenant that owns 0.1 % of them"
RECALL = 0.98
EFFORTS = (20, 40, 100, 200)  # hnsw.ef_search

# The legs' own queries as the application role, bound by scope and row-level security as in search, and nothing around.
BOUND = ("bound keyword", "bound vector")

# What a leg has to return (chunk, document, score), without the scope's conditions and its policies.
KEYWORD = """select id, document_id, -bm25_get_current_score() as score from document_chunks
order by terms <@> to_bm25query(terms_of('english', %(text)s), 'document_chunks_bm25') limit %(depth)s"""
VECTOR = f"""select chunk_id, document_id, 1 - (embedding <=> %(vector)s::vector) as score
from embeddings where generation_id = %(generation)s
order by embedding::halfvec({DIMENSION}) <=> %(vector)s::halfvec({DIMENSION}) limit %(depth)s"""


Homes = tuple[Scope, Scope, int]  # of the big tenant, of the small one; the generation of both
Asked = Sequence[tuple[str, corpus.Vectors]]


class Maker:
    """Texts put together from real ones, and vectors with neighbours; the same for the same seed."""

    def __init__(self, texts: Sequence[str]) -> None:
        """`texts` are cut and mixed."""
        self._texts, self._random, self._rng = texts, random.Random(7), np.random.default_rng(7)
        self._space = self._rng.standard_normal((ASPECTS, DIMENSION)).astype(np.float32)

    def vector(self) -> corpus.Vectors:
        """Of length 1, shape (384,)."""
        noise = 0.2 * self._rng.standard_normal(DIMENSION).astype(np.float32)
        found = self._rng.standard_normal(ASPECTS).astype(np.float32) @ self._space / np.sqrt(ASPECTS) + noise
        return found / np.linalg.norm(found)

    def books(self, chunks: int) -> list[Book]:
        """Documents of ten chunks of about 120 words."""
        return [Book(f"{number}.txt", [self._passage() for _ in range(10)]) for number in range(chunks // 10)]

    def _passage(self) -> Passage:
        first, second = self._random.choice(self._texts), self._random.choice(self._texts)
        cut = self._random.randint(200, 500)
        return Passage(f"{first[:cut]} {second[cut : cut + 400]}", vector=self.vector())


def fill(admin: str, maker: Maker, chunks: int) -> Homes:
    """A workspace with 99.9 % of the chunks and one of another tenant with the rest."""
    with psycopg.connect(admin, autocommit=True) as connection:
        big, small = corpus.open_home(connection, "big"), corpus.open_home(connection, "small")
        generation = corpus.open_generation(connection, big, small, dimension=DIMENSION)
        share = max(chunks // 1000, 10)
        corpus.load(connection, small, generation, maker.books(share))
        for _ in range(10):
            corpus.load(connection, big, generation, renamed(maker.books((chunks - share) // 10)))
        connection.execute("select index_generation(%s, 1)", (generation,))
        connection.execute("vacuum analyze")
    return big, small, generation


def renamed(books: Sequence[Book]) -> list[Book]:
    stamp = time.monotonic_ns()
    return [Book(f"{stamp}-{book.filename}", book.passages) for book in books]


@dataclass(slots=True)
class Times:
    """What each way took, in ms, question by question; `fewest` is the least number of hits of the small tenant."""

    ways: dict[str, list[float]] = field(default_factory=dict)
    stages: dict[str, list[float]] = field(default_factory=dict)
    fewest: int = 10

    def at(self, way: str, share: float) -> float:
        """A percentile."""
        return float(np.percentile(self.ways[way], share))


Way = Callable[[str, corpus.Vectors], Awaitable[Any]]


async def compare(admin: str, app: str, database: Database, homes: Homes, asked: Asked) -> Times:
    """Each question in turn to every way, so that all meet the same load of the machine, in another order each time.

    Who walks the graph first for a question finds its pages cold, and the others find them warm: at a million chunks
    that is twice the time, so each way has to be the first as often as any other.
    """
    times, orders = Times(), random.Random(5)
    async with AsyncExitStack() as stack:
        ways = {
            **await _superuser(stack, admin, homes[2]),
            **await _application(stack, app, database, homes[0]),
            **_hybrid(database, homes),
        }
        turns = [(True, one) for one in asked] + [(False, one) for one in asked] * ROUNDS
        for warm, (text, vector) in turns:
            for name in orders.sample(list(ways), len(ways)):
                start = time.perf_counter()
                found = await ways[name](text, vector)
                if not warm:
                    times.ways.setdefault(name, []).append((time.perf_counter() - start) * 1000)
                if name == "hybrid" and not warm:
                    for stage, value in found.timings_ms.items():
                        times.stages.setdefault(stage, []).append(value)
                # Of a quoted phrase that is found only what holds it is shown.
                if name == "small" and not literals.find_literals(text).phrases:
                    times.fewest = min(times.fewest, len(found.hits))
    return times


async def _superuser(stack: AsyncExitStack, admin: str, generation: int) -> dict[str, Way]:
    """The legs without scope and policies."""
    settings = SearchSettings()
    bare = await stack.enter_async_context(await psycopg.AsyncConnection.connect(admin, autocommit=True))
    await bare.execute("select set_config('hnsw.ef_search', %s, false)", (str(settings.ef_search),))

    def way(query: str, prepare: bool | None) -> Way:
        async def ask(text: str, vector: corpus.Vectors) -> None:
            given = {"text": text, "vector": Vector(vector).to_text()} | named
            await (await bare.execute(query, given, prepare=prepare)).fetchall()

        return ask

    named = {"generation": generation, "depth": settings.fetch}
    # As the driver does it by itself: prepared from the fifth time on. pg_textsearch 1.0 scores each row twice in a
    # prepared statement, so its query is also asked without.
    return {"keyword": way(KEYWORD, None), "unprepared": way(KEYWORD, False), "vector": way(VECTOR, None)}


async def _application(stack: AsyncExitStack, app: str, database: Database, scope: Scope) -> dict[str, Way]:
    """The queries that search sends, each alone on a connection that has been told its scope and plans once."""
    reads = RetrieverQueries(SearchSettings())
    index = await ChunkRetriever(database, reads.settings).resolve(scope, SearchQuery(""))
    assert index is not None

    async def way(make: Callable[[str, corpus.Vectors], ReadQuery]) -> Way:
        bare = await stack.enter_async_context(await psycopg.AsyncConnection.connect(app, autocommit=True))
        await configure_connection(bare)
        told = of_scope(scope) | make("", np.zeros(DIMENSION, np.float32)).settings
        for pair in told.items():
            await bare.execute("select set_config(%s, %s, false)", pair)

        async def ask(text: str, vector: corpus.Vectors) -> None:
            read = make(text, vector)
            await (await bare.execute(read.query, read.values, prepare=read.prepare)).fetchall()

        return ask

    return {
        BOUND[0]: await way(lambda text, _: reads.by_words(scope, SearchQuery(text), index)),
        BOUND[1]: await way(lambda text, vector: reads.by_meaning(scope, SearchQuery(text), index, vector)),
    }


def _hybrid(database: Database, homes: Homes) -> dict[str, Way]:
    search = SearchPipeline(database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
    return {
        "hybrid": lambda text, vector: search.run(homes[0], SearchQuery(text), vector),
        "small": lambda text, vector: search.run(homes[1], SearchQuery(text), vector),
    }


def tell(report: Report, times: Times, size: str = "100k") -> None:
    """The figures of one size; those of 10k have no goal."""
    for share in (50, 95):
        at = {name: times.at(name, share) for name in times.ways}
        ratio = at["hybrid"] / max(at[name] for name in BOUND)
        goal, holds = ("", None) if size == "10k" else (GOAL, ratio <= LIMIT)
        report.figure(f"{size}: hybrid / slower bare leg under RLS, p{share}", ratio, unit="×", goal=goal, holds=holds)
        ratio = at["hybrid"] / max(at["keyword"], at["vector"])
        goal, holds = (AIM, ratio <= AIMED) if size == "100k" else ("", None)
        report.figure(
            f"{size}: hybrid / slower bare leg as superuser, p{share}", ratio, unit="×", goal=goal, holds=holds
        )
        strict = at["hybrid"] / max(at["unprepared"], at["vector"])
        report.figure(f"{size}: hybrid / slower bare leg, BM25 never prepared, p{share}", strict, unit="×")
        for name, label in (
            ("hybrid", "hybrid search under RLS"),
            (BOUND[0], "bare BM25 leg under RLS"),
            (BOUND[1], "bare HNSW leg under RLS"),
            ("keyword", "bare BM25 leg as superuser"),
            ("unprepared", "bare BM25 leg as superuser, never prepared"),
            ("vector", "bare HNSW leg as superuser"),
            ("small", "hybrid search of a tenant with 0.1 % of the rows"),
        ):
            report.figure(f"{size}: {label}, p{share}", at[name], unit="ms")
    # A plan that a connection keeps and that fits few questions shows in no percentile of all.
    for name in ("hybrid", "small"):
        report.figure(f"{size}: {name}, slowest of {len(times.ways[name])}", max(times.ways[name]), unit="ms")
    for stage, values in times.stages.items():
        report.figure(f"{size}: stage {stage}, p50", float(np.percentile(values, 50)), unit="ms")
    name, goal = "fewest hits of a tenant with 0.1 % of the rows", "k results (10), not fewer"
    report.figure(f"{size}: {name}", times.fewest, goal=goal, holds=times.fewest == 10)


async def recall(report: Report, database: Database, homes: Homes, asked: Asked, size: str = "100k") -> None:
    """How many of the ten truly nearest the vector leg finds, tenant by tenant, and what more effort would find."""
    big, small, _ = homes
    sample = asked[:RECALLED]
    truth = {scope: await _truth(database, scope, sample) for scope in (big, small)}
    for label, scope in (("99.9 %", big), ("0.1 %", small)):
        value, _ = await _recall(database, SearchSettings(), scope, sample, truth[scope])
        goal, holds = (RECALL_GOAL, value >= RECALL) if size == "100k" else ("", None)
        name = f"{size}: recall@10 against exact, tenant with {label} of the rows"
        report.figure(name, value, goal=goal, holds=holds)
    for effort in EFFORTS:
        settings = SearchSettings(ef_search=effort, fetch=10, exact_scope=0)
        value, taken = await _recall(database, settings, big, sample, truth[big])
        report.figure(f"{size}: recall@10 with ef_search {effort}", value)
        report.figure(f"{size}: vector leg with ef_search {effort}, p50", taken, unit="ms")


async def _truth(database: Database, scope: Scope, asked: Asked) -> list[frozenset[str]]:
    """The ten nearest of each question by measuring every vector, which takes a second at 100,000."""
    legs, found = ChunkRetriever(database, SearchSettings()), []
    for text, vector in asked:
        query = SearchQuery(text, limit=10)
        index = await legs.resolve(scope, query)
        assert index is not None
        near = await legs.vector(scope, query, replace(index, graph=False), vector)
        found.append(frozenset(one.chunk_id for one in near[:10]))
    return found


async def _recall(
    database: Database, settings: SearchSettings, scope: Scope, asked: Asked, truth: Sequence[frozenset[str]]
) -> tuple[float, float]:
    """Mean recall@10 of the leg as it is run, and its median time in ms."""
    legs, found, taken = ChunkRetriever(database, settings), [], []
    for (text, vector), nearest in zip(asked, truth, strict=True):
        query = SearchQuery(text, limit=10)
        index = await legs.resolve(scope, query)
        assert index is not None
        start = time.perf_counter()
        near = await legs.vector(scope, query, index, vector)
        taken.append((time.perf_counter() - start) * 1000)
        found.append(len({one.chunk_id for one in near[:10]} & nearest) / 10)
    return float(np.mean(found)), float(np.median(taken))


async def run(state: Path, sets: Sequence[irdata.Set], chunks: int, questions: int, report: Report) -> None:
    """Fill, then compare."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    await apply_migrations(found.postgres_admin or "")
    texts = [f"{text.title}\n{text.text}" for data in sets for text in data.documents]
    maker = Maker(texts)
    start = time.perf_counter()
    homes = await asyncio.to_thread(fill, found.postgres_admin or "", maker, chunks)
    report.figure("chunks loaded and indexed", chunks, unit=f"in {time.perf_counter() - start:.0f} s")
    pool = [text for data in sets for text in data.questions.values()]
    asked = [(text, maker.vector()) for text in random.Random(11).sample(pool, questions)]
    database = Database(found.postgres)
    await database.open()
    try:
        tell(report, await compare(found.postgres_admin or "", found.postgres, database, homes, asked))
        await recall(report, database, homes, asked)
    finally:
        await database.close()


def measure(report: Report, evals: Path, chunks: int = 100_000, questions: int = 300) -> None:
    """Fill a server of its own, compare, and leave nothing."""
    sets = [irdata.load(path) for path in sorted((evals / "ir").iterdir()) if path.is_dir()]
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        uvloop.run(run(state, sets, chunks, questions, report))  # the loop of Ray's actors, for both sides
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
