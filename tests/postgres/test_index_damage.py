"""Indexes with pages that make no sense: questions are answered, and no index is silent for long."""

from pathlib import Path

import psycopg
import pytest

from cluster import doctor
from configs.sections_retrieval import RerankSettings
from configs.settings import load_settings
from pipelines.documents.index.maintenance import IndexMaintenance
from serve_apps.retrieval.search.pipeline import WORN, SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import BM25, ChunkRetriever
from tests.fakes.models import FakeEmbedder
from tests.fakes.worn import FORCED, TRUSTED, asked, fill, garble, opened, revision


async def test_questions_are_answered_while_indexes_are_damaged_and_they_are_made_anew(state: Path) -> None:
    """Neither leg fails for a page that makes no sense, and the next question does not run into it."""
    admin, database = await opened(state)
    scope, generation = fill(admin, "red", "green")
    graph = f"embeddings_{generation}_hnsw"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("select index_generation(%s, 1)", (generation,))
    for strategy in ("keyword", "vector"):
        await asked(database, scope, strategy)
    await database.close()
    garble(admin, state, BM25, graph)
    admin, database = await opened(state)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(TRUSTED)
        legs, question = ChunkRetriever(database, FORCED), SearchQuery("pump")
        index = await legs.resolve(scope, question)
        assert index and index.bm25 and index.graph
        remembered = await revision(database, scope)

        found, results = await asked(database, scope)
        assert found == {"red.txt", "green.txt"} and results.keyword_engine == "full_text" and results.fallback == WORN
        found, _ = await asked(database, scope, "vector")
        assert {"red.txt", "green.txt"} <= found
        faults = connection.execute("select name from index_faults order by name").fetchall()
        assert faults == [(BM25,), (graph,)] and await revision(database, scope) > remembered
        told = {one.part: one for one in doctor.run_probe("postgres", load_settings({"AOS_STATE_DIR": str(state)}))}
        assert told["keyword search"].colour == told["vector search"].colour == "yellow"
        assert graph in told["vector search"].detail
        # Who set out before the index was gone, as a question's variations may have.
        connection.execute("select drop_worn_keyword_index()")
        assert len(await legs.keyword(scope, question, index)) == 2
        care = IndexMaintenance(database, admin)
        assert await care.look(care.renew_words, care.renew_graphs)
        assert connection.execute("select 1 from index_faults where renewed is null").fetchall() == []
    found, results = await asked(database, scope)
    assert found == {"red.txt", "green.txt"} and results.keyword_engine == "bm25" and results.fallback is None
    found, results = await asked(database, scope, "vector")
    assert {"red.txt", "green.txt"} <= found and results.vector == "hnsw"
    await database.close()


@pytest.mark.parametrize("noticed", ["by a question", "by a probe"])
async def test_an_index_that_was_silenced_by_somebody_else_is_noticed(state: Path, noticed: str) -> None:
    """A damaged page is told to who meets it first, here somebody who writes; from then on pg_textsearch is silent."""
    admin, database = await opened(state)
    home = fill(admin, "red", "green")
    scope, graph = home[0], f"embeddings_{home[1]}_hnsw"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("select index_generation(%s, 1)", (home[1],))
    await database.close()
    garble(admin, state, BM25, graph)
    admin, database = await opened(state)
    care = IndexMaintenance(database, admin)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(TRUSTED)
        with pytest.raises(psycopg.errors.DataCorrupted):
            fill(admin, "blue", home=home)
        remembered = await revision(database, scope)
        if noticed == "by a probe":
            await care.probe()
            faults: dict[str, str] = dict(connection.execute("select name, what from index_faults").fetchall())
            assert faults[BM25] == "it finds 0% of what it holds" and "invalid page" in faults[graph]
        for _ in range(2):
            found, results = await asked(database, scope)
            assert found == {"red.txt", "green.txt"}
            assert results.keyword_engine == "full_text" and results.fallback == WORN
        assert await revision(database, scope) > remembered
        await care.probe()
        assert await care.look(care.renew_words, care.renew_graphs)
        fill(admin, "white", home=home)
        await IndexMaintenance(database, admin).probe()
        assert connection.execute("select 1 from index_faults where renewed is null").fetchall() == []
    found, results = await asked(database, scope)
    assert found == {"red.txt", "green.txt", "white.txt"} and results.keyword_engine == "bm25"
    await database.close()


async def test_a_question_whose_words_stand_nowhere_finds_nothing_by_a_sound_index(state: Path) -> None:
    """It asks whether the index has lost its words, which it has not."""
    admin, database = await opened(state)
    scope, _ = fill(admin, "red")
    search = SearchPipeline(database, FakeEmbedder(), None, FORCED, RerankSettings())
    results = await search.run(scope, SearchQuery("xylophone", strategy="keyword"))
    assert not results.hits and results.keyword_engine == "bm25" and results.fallback is None
    await database.close()


async def test_words_that_fail_again_do_not_have_the_index_made_again_and_again(state: Path) -> None:
    """Once an hour at most, and it is not asked meanwhile; nor does anybody name an index that is none."""
    admin, database = await opened(state)
    scope, generation = fill(admin, "red")
    care = IndexMaintenance(database, admin)

    async def distrusted(name: str) -> bool:
        async with database.transaction() as tx:
            await tx.run("select distrust_index(%(name)s, 'asked for something odd')", name=name)
            return bool(await tx.all("select 1 from index_faults where renewed is null"))

    assert not await distrusted("users_pkey")
    assert await distrusted(BM25) and await care.renew_words()
    assert await distrusted(BM25) and not await care.renew_words()
    fill(admin, "green", home=(scope, generation))
    found, results = await asked(database, scope)
    assert found == {"red.txt", "green.txt"} and results.keyword_engine == "full_text" and results.fallback == WORN
    with psycopg.connect(admin) as connection:
        connection.execute("update index_faults set made = now() - interval '61 minutes'")
    assert await care.renew_words() and (await asked(database, scope))[1].keyword_engine == "bm25"
    await database.close()
