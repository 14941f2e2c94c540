"""A workspace that grows past the size up to which it is ranked exactly: the same questions find the same passages."""

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import psycopg
import pytest

from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage
from tests.fakes.models import FakeEmbedder
from tests.fakes.zipf import Language

BEFORE = SearchSettings().exact_scope - 1
SHORT, LONG = (3, 8), (60, 120)  # words of a question: asked in a search box, written in a letter


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        yield connection


async def test_the_same_questions_rank_alike_on_both_sides_of_the_threshold(
    admin: psycopg.Connection[Any], app_dsn: str
) -> None:
    """RE-02: at 4,999 chunks exactly and at 5,001 by the index; words that are said twice count twice in both."""
    language, scope = Language(), corpus.open_home(admin)
    generation = corpus.open_generation(admin, scope)
    texts = [language.document() for _ in range(BEFORE + 2)]
    corpus.load(admin, scope, generation, [Book(f"{n}", [Passage(text)]) for n, text in enumerate(texts[:BEFORE])])
    sizes = [SHORT] * 30 + [LONG] * 15
    questions = [language.question(language.chance.choice(texts[:BEFORE]), size) for size in sizes]
    database = Database(app_dsn, size=2)
    await database.open()

    async def top_tens(small: bool) -> list[list[str]]:
        search = SearchPipeline(database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
        index = await ChunkRetriever(database, SearchSettings()).resolve(scope, SearchQuery("x"))
        assert index is not None and index.bm25 and index.small is small
        rankings = [await search.rank(scope, SearchQuery(one, spread=False)) for one in questions]
        return [[one.chunk_id for one in ranking.candidates[:10]] for ranking in rankings]

    try:
        exact = await top_tens(True)
        corpus.load(admin, scope, generation, [Book(f"{n}", [Passage(texts[n])]) for n in (BEFORE, BEFORE + 1)])
        indexed = await top_tens(False)
    finally:
        await database.close()
    assert all(len(one) == 10 for one in exact)
    shared = [len(set(one) & set(other)) / 10 for one, other in zip(exact, indexed, strict=True)]
    first = [one[0] == other[0] for one, other in zip(exact, indexed, strict=True)]
    assert fmean(shared) >= 0.95 and fmean(first) >= 0.95
    assert fmean(shared[30:]) >= 0.95, "long questions, too"
