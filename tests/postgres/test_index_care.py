"""Indexes that lost what they had: after a restart of Postgres, by a vacuum, by damaged pages."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from cluster import doctor
from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state import embedded
from cluster.state.migrate import migrate
from cluster.state.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.settings import load
from pipelines.documents.index.care import Care
from serve_apps.retrieval.legs import BM25, Legs
from serve_apps.retrieval.query import Query, Results, Strategy
from serve_apps.retrieval.search import WORN, Search
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import FakeEmbedder
from tests.fakes.power import cut

TRUSTED = "delete from keyword_index_made; insert into keyword_index_made values (pg_postmaster_start_time())"
FORCED = SearchSettings(exact_scope=0, fetch=10)  # a scope of more chunks is not small: its index is asked


async def opened(state: Path) -> tuple[str, Database]:
    """A server of its own, as it comes up: the owner's way in, and the application's pool."""
    found = embedded.start(load({"AOS_STATE_DIR": str(state)}))
    await migrate(found.postgres_admin or "")
    database = Database(found.postgres)
    await database.open()
    return found.postgres_admin or "", database


def passage(text: str) -> Passage:
    return Passage(text, vector=hash_vector(text))


def fill(admin: str, *names: str, home: tuple[Scope, int] | None = None) -> tuple[Scope, int]:
    """Documents that have a word of their own and one in common, each written by itself as an upload is."""
    with psycopg.connect(admin, autocommit=True) as connection:
        scope = home[0] if home else corpus.open_home(connection)
        generation = home[1] if home else corpus.open_generation(connection, scope)
        if not home:
            rest = [passage(f"something else, {n}") for n in range(FORCED.fetch)]
            corpus.load(connection, scope, generation, [Book("rest.txt", rest)])
        for name in names:
            corpus.load(connection, scope, generation, [Book(f"{name}.txt", [passage(f"the {name} pump")])])
    return scope, generation


def revision(admin: str, scope: Scope) -> int:
    """What is remembered of a workspace's searches holds as long as this stays the same."""
    with psycopg.connect(admin) as connection:
        (row,) = connection.execute("select revision from workspaces where id = %s", (scope.workspace,)).fetchall()
    return int(row[0])


async def asked(database: Database, scope: Scope, strategy: Strategy = "keyword") -> tuple[set[str], Results]:
    """The files that are found for the word they share."""
    search = Search(database, FakeEmbedder(), None, FORCED, RerankSettings())
    results = await search.run(scope, Query("pump", strategy=strategy))
    return {hit.filename for hit in results.hits}, results


@pytest.mark.parametrize("ended", ["stopped", "killed"])
async def test_words_are_found_after_a_restart(state: Path, ended: str) -> None:
    """In pg_textsearch 1.0 the index finds nothing then, and tells nobody."""
    admin, database = await opened(state)
    home = fill(admin, "red", "green", "blue")
    everything = {"red.txt", "green.txt", "blue.txt"}
    before, results = await asked(database, home[0])
    assert before == everything and results.keyword_engine == "bm25" and not await Care(database, admin).renew_words()
    await database.close()
    embedded.stop(state) if ended == "stopped" else cut(state, "postgres")

    admin, database = await opened(state)
    meanwhile, results = await asked(database, home[0])
    assert meanwhile == everything and results.keyword_engine == "full_text" and results.fallback == WORN
    care = Care(database, admin)
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
    care = Care(database, admin)
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
    """Found by a probe after a vacuum, not before: until then there is no reason to look."""
    admin, database = await opened(state)
    scope, generation = fill(admin, "red")
    name, now = f"embeddings_{generation}_hnsw", 0.0
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("select index_generation(%s, 1)", (generation,))
        care = Care(database, admin, clock=lambda: now)
        await care.probe()
        ready = "update pg_index set indisready = %s where indexrelid = %s::regclass"
        connection.execute(ready, (False, name))
        unlike = [passage(f"unlike {n}") for n in range(40)]
        corpus.load(connection, scope, generation, [Book("lost.txt", unlike)])
        connection.execute(ready, (True, name))

        def faults() -> list[str]:
            found = connection.execute("select what from index_faults where name = %s and renewed is null", (name,))
            return [row[0] for row in found]

        await care.probe()
        assert faults() == []
        connection.execute(f"vacuum embeddings_{generation}")
        await care.probe()
        assert faults() == [], "it was looked at a moment ago"
        remembered = revision(admin, scope)
        now = 1_000.0
        await care.probe()
        assert len(faults()) == 1 and "of what it holds" in faults()[0]
        assert revision(admin, scope) > remembered, "what was found through it is not given any more"

        question = Query("unlike 7", limit=1)
        legs = Legs(database, FORCED)
        index = await legs.resolve(scope, question)
        assert index and not index.graph
        assert await Care(database, None).renew_graphs() == [], "only the owner can"
        assert await care.renew_graphs() == [name] and faults() == []
        index = await legs.resolve(scope, question)
        assert index and index.graph
        (first, *_) = await legs.vector(scope, question, index, hash_vector("unlike 7"))
        assert first.score == pytest.approx(1, abs=0.001)
        now = 2_000.0
        await care.probe()
        assert faults() == []
        # Whatever a probe says of it, it is not made again the same day, nor is anything forgotten.
        again, remembered = "select distrust_index(%s, 'it finds too few')", revision(admin, scope)
        connection.execute(again, (name,))
        assert faults() == [] and revision(admin, scope) == remembered
        connection.execute("update index_faults set made = now() - interval '25 hours'")
        connection.execute(again, (name,))
        assert faults() == ["it finds too few"]
    await database.close()


def garble(admin: str, state: Path, *indexes: str) -> None:
    """Write nonsense over all pages of indexes but the first, while the server is down."""
    with psycopg.connect(admin) as connection:
        paths = [connection.execute("select pg_relation_filepath(%s)", (name,)).fetchone() for name in indexes]
    embedded.stop(state)
    for path in paths:
        assert path is not None
        with (state / "postgres" / path[0]).open("r+b") as file:
            size = file.seek(0, 2)
            file.seek(8192)
            file.write(bytes([85]) * (size - 8192))


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
        legs, question = Legs(database, FORCED), Query("pump")
        index = await legs.resolve(scope, question)
        assert index and index.bm25 and index.graph
        remembered = revision(admin, scope)

        found, results = await asked(database, scope)
        assert found == {"red.txt", "green.txt"} and results.keyword_engine == "full_text" and results.fallback == WORN
        found, _ = await asked(database, scope, "vector")
        assert {"red.txt", "green.txt"} <= found
        faults = connection.execute("select name from index_faults order by name").fetchall()
        assert faults == [(BM25,), (graph,)] and revision(admin, scope) > remembered
        told = {one.part: one for one in doctor.look("postgres", load({"AOS_STATE_DIR": str(state)}))}
        assert told["keyword search"].colour == told["vector search"].colour == "yellow"
        assert graph in told["vector search"].detail
        # Who set out before the index was gone, as a question's variations may have.
        connection.execute("select drop_worn_keyword_index()")
        assert len(await legs.keyword(scope, question, index)) == 2
        care = Care(database, admin)
        assert await care.look(care.renew_words, care.renew_graphs)
        assert connection.execute("select 1 from index_faults where renewed is null").fetchall() == []
    found, results = await asked(database, scope)
    assert found == {"red.txt", "green.txt"} and results.keyword_engine == "bm25" and results.fallback is None
    found, results = await asked(database, scope, "vector")
    assert {"red.txt", "green.txt"} <= found and results.vector == "hnsw"
    await database.close()


async def test_words_that_somebody_else_lost_are_missed_by_a_probe(state: Path) -> None:
    """A damaged page is told to who meets it first, here somebody who writes; from then on the index is silent."""
    admin, database = await opened(state)
    home = fill(admin, "red", "green")
    await database.close()
    garble(admin, state, BM25)
    admin, database = await opened(state)
    now = 0.0
    care = Care(database, admin, clock=lambda: now)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(TRUSTED)
        with pytest.raises(psycopg.errors.DataCorrupted):
            fill(admin, "blue", home=home)
        found, results = await asked(database, home[0])
        assert found == set() and results.fallback is None, "pg_textsearch tells now: is the probe still needed?"
        remembered = revision(admin, home[0])
        await care.probe()
        found, results = await asked(database, home[0])
        assert found == {"red.txt", "green.txt"} and results.keyword_engine == "full_text" and results.fallback == WORN
        assert revision(admin, home[0]) > remembered and await care.renew_words()
        fill(admin, "white", home=home)
        now = 1_000.0
        await care.probe()
        assert connection.execute("select 1 from index_faults where renewed is null").fetchall() == []
    found, results = await asked(database, home[0])
    assert found == {"red.txt", "green.txt", "white.txt"} and results.keyword_engine == "bm25"
    await database.close()


async def test_words_that_fail_again_do_not_have_the_index_made_again_and_again(state: Path) -> None:
    """Once an hour at most, and it is not asked meanwhile; nor does anybody name an index that is none."""
    admin, database = await opened(state)
    scope, _ = fill(admin, "red")
    care = Care(database, admin)

    async def distrusted(name: str) -> bool:
        async with database.transaction() as tx:
            await tx.run("select distrust_index(%(name)s, 'asked for something odd')", name=name)
            return bool(await tx.all("select 1 from index_faults where renewed is null"))

    assert not await distrusted("users_pkey")
    assert await distrusted(BM25) and await care.renew_words()
    assert await distrusted(BM25) and not await care.renew_words()
    found, results = await asked(database, scope)
    assert found == {"red.txt"} and results.keyword_engine == "full_text" and results.fallback == WORN
    with psycopg.connect(admin) as connection:
        connection.execute("update index_faults set made = now() - interval '61 minutes'")
    assert await care.renew_words() and (await asked(database, scope))[1].keyword_engine == "bm25"
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
        await Care(database, admin, sleep=sleep).keep()
    assert pauses == [5, 10, 20, 40] and "not made anew yet" in caplog.text
    found, results = await asked(database, scope)
    assert found == {"red.txt"} and results.keyword_engine == "full_text"
    await database.close()
