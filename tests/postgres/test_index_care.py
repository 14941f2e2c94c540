"""Indexes that lost what they had: at a restart of Postgres, or by a vacuum under writes."""

import asyncio
from pathlib import Path

import psycopg
import pytest
from psycopg.errors import InvalidParameterValue

from cluster.basics.errors import Unavailable
from cluster.state.db import embedded
from pipelines.documents.index.maintenance import IndexMaintenance
from serve_apps.retrieval.search.pipeline import WORN
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from tests.fakes import corpus
from tests.fakes.corpus import Book, hash_vector
from tests.fakes.kills import kill_servers
from tests.fakes.worn import FORCED, asked, fill, opened, passage, revision


@pytest.mark.parametrize("ended", ["stopped", "killed"])
async def test_words_are_found_after_a_restart(state: Path, ended: str) -> None:
    """In pg_textsearch 1.0 the index finds nothing then, and tells nobody."""
    admin, database = await opened(state)
    home = fill(admin, "red", "green", "blue")
    everything = {"red.txt", "green.txt", "blue.txt"}
    before, results = await asked(database, home[0])
    assert (
        before == everything
        and results.keyword_engine == "bm25"
        and not await IndexMaintenance(database, admin).renew_words()
    )
    await database.close()
    embedded.stop_servers(state) if ended == "stopped" else kill_servers(state, "postgres")

    admin, database = await opened(state)
    meanwhile, results = await asked(database, home[0])
    assert meanwhile == everything and results.keyword_engine == "full_text" and results.fallback == WORN
    care = IndexMaintenance(database, admin)
    assert sorted(await asyncio.gather(care.renew_words(), care.renew_words())) == [False, True]
    fill(admin, "white", home=home)
    after, results = await asked(database, home[0])
    assert after == everything | {"white.txt"} and results.keyword_engine == "bm25" and results.fallback is None
    with psycopg.connect(admin) as connection:
        (summary,) = connection.execute("select bm25_summarize_index('document_chunks_bm25')").fetchone() or ("",)
    assert "total_docs: 14" in summary
    assert not await care.renew_words()
    await database.close()


async def test_an_index_is_renewed_when_writers_are_done_and_after_it_was_begun(
    state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A table that somebody holds is tried again later, and a renewal that was broken off goes on."""
    admin, database = await opened(state)
    scope, _ = fill(admin, "red")
    care = IndexMaintenance(database, admin)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("truncate keyword_index_made")  # as after a crash
        connection.execute("begin; lock table document_chunks in row exclusive mode")
        with pytest.raises(Unavailable, match="lock timeout"):
            await care.renew_words()
        assert not await care.look(care.renew_words)
        assert "not made anew yet" in caplog.text
        connection.execute("commit")
        connection.execute("select drop_worn_keyword_index()")
    found, results = await asked(database, scope)
    assert found == {"red.txt"} and results.keyword_engine == "full_text" and results.fallback == WORN
    assert await care.look(care.renew_words)
    found, results = await asked(database, scope)
    assert found == {"red.txt"} and results.keyword_engine == "bm25"
    await database.close()


async def test_a_graph_that_misses_its_own_vectors_is_made_anew(state: Path) -> None:
    """Found by a probe soon after a vacuum, and at some time without one."""
    admin, database = await opened(state)
    scope, generation = fill(admin, "red")
    name, now = f"embeddings_{generation}_hnsw", 0.0
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("select index_generation(%s, 1)", (generation,))
        care = IndexMaintenance(database, admin, clock=lambda: now)

        def lose(some: str, vectors: int) -> None:
            ready = "update pg_index set indisready = %s where indexrelid = %s::regclass"
            connection.execute(ready, (False, name))
            unlike = [passage(f"{some} {n}") for n in range(vectors)]
            corpus.load(connection, scope, generation, [Book(f"{some}.txt", unlike)])
            connection.execute(ready, (True, name))

        async def faults(at: float) -> list[str]:
            nonlocal now
            now = at
            await care.probe()
            found = connection.execute("select what from index_faults where name = %s and renewed is null", (name,))
            return [row[0] for row in found]

        assert await faults(0) == []
        lose("unlike", 40)
        assert await faults(400) == [], "nothing was vacuumed"
        connection.execute(f"vacuum embeddings_{generation}")
        remembered = await revision(database, scope)
        assert await faults(290) == [], "it was looked at a moment ago"
        assert await faults(301) == ["it finds 22% of what it holds"]
        assert await revision(database, scope) > remembered, "what was found through it is not given any more"

        question = SearchQuery("unlike 7", limit=1)
        legs = ChunkRetriever(database, FORCED)
        index = await legs.resolve(scope, question)
        assert index and not index.graph
        assert await IndexMaintenance(database, None).renew_graphs() == [], "only the owner can"
        assert await care.renew_graphs() == [name] and await faults(700) == []
        index = await legs.resolve(scope, question)
        assert index and index.graph
        (first, *_) = await legs.vector(scope, question, index, hash_vector("unlike 7"))
        assert first.score == pytest.approx(1, abs=0.001)

        # A probe that finds fault with it again the same day may do so for ever; a search that fails is another thing.
        lose("more", 200)
        remembered = await revision(database, scope)
        assert await faults(1_601) == [] and await revision(database, scope) == remembered
        earlier = "update index_faults set made = now() - interval '25 hours'"
        connection.execute(earlier)
        assert await faults(2_500) == [] and len(await faults(2_502)) == 1
        connection.execute("update index_faults set made = now()")
        assert await care.renew_graphs() == [], "once a day"
        connection.execute(earlier)
        assert await care.renew_graphs() == [name] and await faults(2_502) == []
    await database.close()


async def test_an_index_that_cannot_be_made_ends_nothing_else(state: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A worker's shifts run beside it: what Postgres says is logged, and it is tried again later and later."""
    admin, database = await opened(state)
    scope, _ = fill(admin, "red")
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            raise asyncio.CancelledError

    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("truncate keyword_index_made")
        connection.execute("alter table document_chunks rename column terms to words")
        connection.execute("alter table document_chunks add column terms bytea")  # no type that BM25 knows
    with pytest.raises(asyncio.CancelledError):
        await IndexMaintenance(database, admin, sleep=sleep).keep()
    assert pauses == [5, 10, 20, 40] and "not made anew yet" in caplog.text
    found, results = await asked(database, scope)
    assert found == {"red.txt"} and results.keyword_engine == "full_text"
    await database.close()


def test_a_graph_gets_the_memory_of_its_vectors_up_to_what_the_server_says(admin_dsn: str) -> None:
    """What outgrows it is continued on disk, a hundred times slower."""
    with psycopg.connect(admin_dsn, autocommit=True) as connection:

        def megabytes(vectors: int) -> int:
            row = connection.execute("select graph_megabytes(%s, 384)", (vectors,)).fetchone()
            assert row is not None
            return int(row[0])

        connection.execute("set aos.graph_memory_mb = ''")
        assert (megabytes(1_000), megabytes(1_000_000), megabytes(10_000_000)) == (512, 1_451, 4_096)
        for said in ("65536", " 65536 "):
            connection.execute("select set_config('aos.graph_memory_mb', %s, false)", (said,))
            assert megabytes(10_000_000) == 14_519
        for said in ("8GB", "8192 MB", "8e3", "-1", "much", "9" * 10):
            connection.execute("select set_config('aos.graph_memory_mb', %s, false)", (said,))
            with pytest.raises(InvalidParameterValue, match=f"a number of megabytes, such as 8192, and not '{said}'"):
                megabytes(1_000)
