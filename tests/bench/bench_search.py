"""Hybrid search at 100,000 chunks under row-level security, against its bare leg queries without any."""

import asyncio
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from cluster.basics.scope import Scope
from cluster.state import embedded
from cluster.state.migrate import migrate
from cluster.state.postgres import Database
from configs.sections import RerankSettings, SearchSettings
from configs.settings import load
from serve_apps.retrieval.legs import as_literal
from serve_apps.retrieval.query import Query
from serve_apps.retrieval.search import Search
from tests.evals import irdata
from tests.evals.report import Report
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage
from tests.fakes.models import FakeEmbedder

DIMENSION = 384
ASPECTS = 24  # random vectors have no neighbours; these lie near a subspace, as embeddings do
GOAL = (
    "hybrid search p50/p95 at 100k chunks, query vector given, as the application role with RLS on, "
    "against the slower of its two bare leg queries as superuser (aim ≤ 1.5×)"
)
LIMIT = 1.5

KEYWORD = """select id from document_chunks
order by search_text <@> to_bm25query(%(text)s, 'document_chunks_bm25') limit %(depth)s"""
VECTOR = f"""select chunk_id from embeddings where generation_id = %(generation)s
order by embedding::halfvec({DIMENSION}) <=> %(vector)s::halfvec({DIMENSION}) limit %(depth)s"""


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


def fill(admin: str, maker: Maker, chunks: int) -> tuple[Scope, Scope, int]:
    """A workspace with 99.9 % of the chunks and one of another tenant with the rest."""
    with psycopg.connect(admin, autocommit=True) as connection:
        big, small = corpus.open_home(connection, "big"), corpus.open_home(connection, "small")
        generation = corpus.open_generation(connection, big, small, dimension=DIMENSION)
        share = max(chunks // 1000, 10)
        corpus.load(connection, small, generation, maker.books(share))
        for _ in range(10):
            corpus.load(connection, big, generation, _renamed(maker.books((chunks - share) // 10)))
        connection.execute("select index_generation(%s, 1)", (generation,))
        connection.execute("vacuum analyze")
    return big, small, generation


def _renamed(books: Sequence[Book]) -> list[Book]:
    stamp = time.monotonic_ns()
    return [Book(f"{stamp}-{book.filename}", book.passages) for book in books]


async def compare(
    report: Report, admin: str, database: Database, homes: tuple[Scope, Scope, int], asked: Sequence[tuple[str, Any]]
) -> None:
    """Each question in turn to the bare legs and to search, so that all meet the same load of the machine."""
    big, small, generation = homes
    settings = SearchSettings()
    search = Search(database, FakeEmbedder(), None, settings, RerankSettings())
    times: dict[str, list[float]] = {"keyword": [], "unprepared": [], "vector": [], "hybrid": [], "small": []}
    stages: dict[str, list[float]] = {}
    fewest = settings.fetch
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as bare:
        await bare.execute("select set_config('hnsw.ef_search', %s, false)", (str(settings.ef_search),))
        for warm, (text, vector) in [(True, one) for one in asked] + [(False, one) for one in asked]:
            given = {
                "text": text,
                "vector": as_literal(vector),
                "generation": generation,
                "depth": settings.fetch,
            }
            taken = {}
            # As the driver does it by itself: prepared from the fifth time on. pg_textsearch 1.0 scores each row twice
            # in a prepared statement, so its query is also asked without.
            for name, query, prepare in (
                ("keyword", KEYWORD, None),
                ("unprepared", KEYWORD, False),
                ("vector", VECTOR, None),
            ):
                start = time.perf_counter()
                await (await bare.execute(query, given, prepare=prepare)).fetchall()
                taken[name] = time.perf_counter() - start
            for name, scope in (("hybrid", big), ("small", small)):
                start = time.perf_counter()
                results = await search.run(scope, Query(text), vector)
                taken[name] = time.perf_counter() - start
                if name == "small":
                    fewest = min(fewest, len(results.hits))
                elif not warm:
                    for stage, value in results.timings_ms.items():
                        stages.setdefault(stage, []).append(value)
            if not warm:
                for name, value in taken.items():
                    times[name].append(value * 1000)
    _tell(report, times, stages, fewest)


def _tell(report: Report, times: dict[str, list[float]], stages: dict[str, list[float]], fewest: int) -> None:
    for share in (50, 95):
        at = {name: float(np.percentile(values, share)) for name, values in times.items()}
        slower = max(at["keyword"], at["vector"])
        ratio = at["hybrid"] / slower
        report.figure(f"hybrid / slower bare leg, p{share}", ratio, unit="×", goal=GOAL, holds=ratio <= LIMIT)
        strict = at["hybrid"] / max(at["unprepared"], at["vector"])
        report.figure(f"hybrid / slower bare leg, BM25 never prepared, p{share}", strict, unit="×")
        for name, label in (
            ("hybrid", "hybrid search under RLS"),
            ("keyword", "bare BM25 leg as superuser"),
            ("unprepared", "bare BM25 leg as superuser, never prepared"),
            ("vector", "bare HNSW leg as superuser"),
            ("small", "hybrid search of a tenant with 0.1 % of the rows"),
        ):
            report.figure(f"{label}, p{share}", at[name], unit="ms")
    for stage, values in stages.items():
        report.figure(f"stage {stage}, p50", float(np.percentile(values, 50)), unit="ms")
    report.figure(
        "fewest hits of a tenant with 0.1 % of the rows", fewest, goal="k results (10), not fewer", holds=fewest == 10
    )


async def run(state: Path, sets: Sequence[irdata.Set], chunks: int, questions: int, report: Report) -> None:
    """Fill, then compare."""
    found = embedded.start(load({"AOS_STATE_DIR": str(state)}))
    await migrate(found.postgres_admin or "")
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
        await compare(report, found.postgres_admin or "", database, homes, asked)
    finally:
        await database.close()


def measure(report: Report, evals: Path, chunks: int = 100_000, questions: int = 100) -> None:
    """Fill a server of its own, compare, and leave nothing."""
    sets = [irdata.load(path) for path in sorted((evals / "ir").iterdir()) if path.is_dir()]
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        asyncio.run(run(state, sets, chunks, questions, report))
    finally:
        embedded.stop(state)
        shutil.rmtree(state, ignore_errors=True)
