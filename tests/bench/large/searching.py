"""Search of a large corpus filter by filter: recall, times and what each way through an index costs."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psycopg

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchFilters, SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from serve_apps.retrieval.search.statements import IndexGeneration, RetrieverQueries
from tests.bench.large.synthetic import CHUNKS, ScopeFilter, Vectors
from tests.bench.large.truth import Nearest, recall
from tests.fakes.models import FakeEmbedder

WARM = 5  # questions that are asked before time is taken
RESOLVED = 5  # times that a scope nobody has asked in is counted

Timed = tuple[list[float], list[Any]]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks in a filter, and with which questions; vectors of shape (questions, 384)."""

    one: ScopeFilter
    scope: Scope
    agent: str | None
    questions: Sequence[str]
    vectors: Vectors

    def query(self, text: str) -> SearchQuery:
        """A question of this one, for ten hits."""
        return SearchQuery(text, limit=10, agent_id=self.agent, filters=SearchFilters())


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """Figures of a filter at a size; times in ms as (p50, p95).

    Attributes:
        recall: of the vector retriever's first ten, against measuring every vector.
        fewest: hits of the whole search, of the question that has the fewest.
        resolve: counting what may be searched, once for each state of the corpus.
    """

    filter: str
    engine: str
    recall: float
    fewest: int
    vector: tuple[float, float]
    keyword: tuple[float, float]
    hybrid: tuple[float, float]
    resolve: tuple[float, float]


def percentiles(times: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return float(np.percentile(times, 50)), float(np.percentile(times, 95))


async def measure_filter(
    database: Database, admin: str, asker: Asker, truth: Nearest, settings: SearchSettings
) -> FilterFigures:
    """Ask every question by each retriever alone and by the whole search, as the application role."""
    legs = ChunkRetriever(database, settings)
    index, resolved = await _resolve(database, asker, settings)
    search = SearchPipeline(database, FakeEmbedder(), None, settings, RerankSettings())
    vector, near = await _time_all(asker, lambda text, v: legs.vector(asker.scope, asker.query(text), index, v))
    keyword, _ = await _time_all(asker, lambda text, _: legs.keyword(asker.scope, asker.query(text), index))
    hybrid, found = await _time_all(asker, lambda text, v: search.run(asker.scope, asker.query(text), v))
    numbers = chunk_numbers(admin, [[one.chunk_id for one in ranked[:10]] for ranked in near])
    hits = min(len(one.hits) for one in found)
    ways = (percentiles(vector), percentiles(keyword), percentiles(hybrid), percentiles(resolved))
    return FilterFigures(asker.one.name, index.vector_engine, recall(numbers, truth), hits, *ways)


async def measure_ways(
    database: Database, admin: str, asker: Asker, truth: Nearest, settings: SearchSettings
) -> Mapping[str, tuple[float, float, float]]:
    """Recall, p50 and p95 of the vectors by the graph alone (`graph`) and by measuring every one (`exact`).

    `words by index` and `words exactly` are the keyword retriever's two; of these the first figure is the least number
    of rows, of a hundred. By which of the two a filter is searched follows from the size of the corpus; what each
    costs, hardly: the graph's walk is as long as the filter is narrow, the exact way as long as the filter is large.
    """
    index, _ = await _resolve(database, asker, settings)
    walked = replace(index, **{name: False for name in ("small", "narrow") if hasattr(index, name)})
    legs, all_measured = ChunkRetriever(database, settings), replace(index, small=True)
    ways: Mapping[str, Callable[[str, Vectors], Awaitable[Any]]] = {
        "graph": _only_graph(database, settings, asker, walked),
        "exact": lambda text, vector: legs.vector(asker.scope, asker.query(text), all_measured, vector),
    }
    found = {}
    for name, ask in ways.items():
        times, near = await _time_all(asker, ask)
        numbers = chunk_numbers(admin, [[one.chunk_id for one in ranked[:10]] for ranked in near])
        found[name] = (recall(numbers, truth), *percentiles(times))
    for name, small in {"words by index": False, "words exactly": True}.items():
        way = replace(index, small=small)
        times, ranked = await _time_all(asker, _keyword(legs, asker, way))
        found[name] = (float(min(map(len, ranked))), *percentiles(times))
    return found


def _keyword(legs: ChunkRetriever, asker: Asker, index: IndexGeneration) -> Callable[[str, Vectors], Awaitable[Any]]:
    return lambda text, _: legs.keyword(asker.scope, asker.query(text), index)


def _only_graph(
    database: Database, settings: SearchSettings, asker: Asker, index: IndexGeneration
) -> Callable[[str, Vectors], Awaitable[Any]]:
    """As the retriever asks the graph, without the exact way after one that found too little."""
    reads = RetrieverQueries(settings)

    async def ask(text: str, vector: Vectors) -> Any:
        (rows,) = await database.read_all(asker.scope, reads.by_meaning(asker.scope, asker.query(text), index, vector))
        return sorted(rows, key=lambda one: -one.score)

    return ask


async def _resolve(database: Database, asker: Asker, settings: SearchSettings) -> tuple[IndexGeneration, list[float]]:
    times, index = [], None
    for _ in range(RESOLVED):
        begun = time.perf_counter()
        index = await ChunkRetriever(database, settings).resolve(asker.scope, asker.query("x"))
        times.append((time.perf_counter() - begun) * 1000)
    assert index is not None
    return index, times


async def _time_all(asker: Asker, ask: Callable[[str, Vectors], Awaitable[Any]]) -> Timed:
    """Milliseconds and answer of each question, after some that warm plans and caches."""
    pairs = list(zip(asker.questions, asker.vectors, strict=True))
    for text, vector in pairs[:WARM]:
        await ask(text, vector)
    times, answers = [], []
    for text, vector in pairs:
        begun = time.perf_counter()
        answers.append(await ask(text, vector))
        times.append((time.perf_counter() - begun) * 1000)
    return times, answers


def chunk_numbers(admin: str, found: Sequence[Sequence[str]]) -> list[list[int]]:
    """The numbers of chunks by their ids: their document's, which its file is named by, times ten and their place."""
    ids = sorted({one for ranked in found for one in ranked})
    query = (
        "select c.id, d.filename, c.chunk_index from document_chunks c join documents d on d.id = c.document_id"
        " where c.id = any(%s)"
    )
    with psycopg.connect(admin) as connection:
        rows = connection.execute(query, (ids,)).fetchall()
    numbers = {row[0]: int(row[1].removesuffix(".txt")) * CHUNKS + row[2] for row in rows}
    return [[numbers[one] for one in ranked] for ranked in found]
