"""The BM25 index after a restart of Postgres: not believed until it is made anew, and whole from then on."""

import asyncio
import contextlib
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state import embedded
from cluster.state.migrate import migrate
from cluster.state.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.settings import load
from pipelines.documents.index.keyword import KeywordIndex
from serve_apps.retrieval.query import Query, Results
from serve_apps.retrieval.search import WORN, Search
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage
from tests.fakes.models import FakeEmbedder

FORCED = SearchSettings(exact_scope=0, fetch=10)  # a scope of more chunks is not small: its index is asked


@pytest.fixture
def state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    yield folder
    embedded.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


async def opened(state: Path) -> tuple[str, Database]:
    """A server of its own, as it comes up: the owner's way in, and the application's pool."""
    found = embedded.start(load({"AOS_STATE_DIR": str(state)}))
    await migrate(found.postgres_admin or "")
    database = Database(found.postgres)
    await database.open()
    return found.postgres_admin or "", database


def fill(admin: str, *names: str, home: tuple[Scope, int] | None = None) -> tuple[Scope, int]:
    """Documents that have a word of their own and one in common, each written by itself as an upload is."""
    with psycopg.connect(admin, autocommit=True) as connection:
        scope = home[0] if home else corpus.open_home(connection)
        generation = home[1] if home else corpus.open_generation(connection, scope)
        if not home:
            rest = [Passage(f"something else, {n}") for n in range(FORCED.fetch)]
            corpus.load(connection, scope, generation, [Book("rest.txt", rest)])
        for name in names:
            corpus.load(connection, scope, generation, [Book(f"{name}.txt", [Passage(f"the {name} pump")])])
    return scope, generation


async def asked(database: Database, scope: Scope) -> tuple[set[str], Results]:
    """The files that are found for the word they share, by words alone."""
    search = Search(database, FakeEmbedder(), None, FORCED, RerankSettings())
    results = await search.run(scope, Query("pump", strategy="keyword"))
    return {hit.filename for hit in results.hits}, results


def kill(state: Path) -> None:
    """The whole server at once, as a machine that loses power."""
    server = next(process for process in embedded.processes(state) if process.name() == "postgres")
    family = [server, *server.children(recursive=True)]
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(family, timeout=20)


@pytest.mark.parametrize("ended", ["stopped", "killed"])
async def test_words_are_found_after_a_restart(state: Path, ended: str) -> None:
    """In pg_textsearch 1.0 the index finds nothing then, and tells nobody."""
    admin, database = await opened(state)
    home = fill(admin, "red", "green", "blue")
    everything = {"red.txt", "green.txt", "blue.txt"}
    before, results = await asked(database, home[0])
    assert before == everything and results.keyword_engine == "bm25" and not await KeywordIndex(database).renew()
    await database.close()
    embedded.stop(state) if ended == "stopped" else kill(state)

    admin, database = await opened(state)
    meanwhile, results = await asked(database, home[0])
    assert meanwhile == everything and results.keyword_engine == "full_text" and results.fallback == WORN
    keyword = KeywordIndex(database)
    assert sorted(await asyncio.gather(keyword.renew(), keyword.renew())) == [False, True]
    fill(admin, "white", home=home)
    after, results = await asked(database, home[0])
    assert after == everything | {"white.txt"} and results.keyword_engine == "bm25" and results.fallback is None
    with psycopg.connect(admin) as connection:
        (summary,) = connection.execute("select bm25_summarize_index('document_chunks_bm25')").fetchone() or ("",)
    assert "total_docs: 14" in summary
    assert not await keyword.renew()
    await database.close()


async def test_an_index_is_renewed_when_writers_are_done_and_after_it_was_begun(
    state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A table that somebody holds is tried again later, and a renewal that was broken off goes on."""
    admin, database = await opened(state)
    scope, _ = fill(admin, "red")
    keyword = KeywordIndex(database)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("truncate keyword_index_made")  # as after a crash
        connection.execute("begin; lock table document_chunks in row exclusive mode")
        with pytest.raises(Unavailable, match="lock timeout"):
            await keyword.renew()
        await keyword.look()
        assert "not made anew yet" in caplog.text
        connection.execute("commit")
        connection.execute("select drop_worn_keyword_index()")
    found, results = await asked(database, scope)
    assert found == {"red.txt"} and results.keyword_engine == "full_text" and results.fallback == WORN
    assert await keyword.renew()
    found, results = await asked(database, scope)
    assert found == {"red.txt"} and results.keyword_engine == "bm25"
    await database.close()
