"""The BM25 index under rows that fill gaps: pg_textsearch 1.0 loses words of what it writes from memory out of order."""

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest

from cluster.state.db.postgres import Database
from configs.sections_retrieval import SearchSettings
from pipelines.documents.document import document_id
from pipelines.documents.index import keyword_refresh
from pipelines.documents.index.keyword_refresh import KeywordRefresh
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage
from tests.fakes.zipf import Language

Connection = psycopg.Connection[Any]
INDEXED = SearchSettings(exact_scope=0)
STATE = "select waiting, written from keyword_index_state()"


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[Connection]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def pool(app_dsn: str) -> Any:
    opened = Database(app_dsn, size=2)
    await opened.open()
    yield opened
    await opened.close()


class Corpus:
    """Documents of a chunk each, of a language of their own."""

    def __init__(self, admin: Connection) -> None:
        self.language, self.scope = Language(), corpus.open_home(admin)
        self.generation = corpus.open_generation(admin, self.scope)
        self.texts: list[str] = []

    def load(self, connection: Connection, documents: int) -> None:
        first = len(self.texts)
        self.texts += [self.language.document() for _ in range(documents)]
        books = [Book(f"{n}", [Passage(text)]) for n, text in enumerate(self.texts[first:], first)]
        corpus.load(connection, self.scope, self.generation, books)

    def questions(self, many: int) -> list[str]:
        return [self.language.question(self.language.chance.choice(self.texts), (3, 60)) for _ in range(many)]


async def missed(admin: Connection, pool: Database, home: Corpus, questions: Sequence[str]) -> int:
    """How many of the best ten chunks of each question the index does not find among 40, by its own scores."""
    legs, lost = ChunkRetriever(pool, INDEXED), 0
    for words in questions:
        query = SearchQuery(words, limit=40, spread=False)
        index = await legs.resolve(home.scope, query)
        assert index is not None and index.keyword_index is not None and not index.small
        found = {one.chunk_id for one in await legs.keyword(home.scope, query, index)}
        every = admin.execute(
            "select id from (select id, terms <@> to_bm25query(asked_terms('english', %s), %s) as score"
            " from document_chunks offset 0) scored order by score, id limit 10",
            (words, index.keyword_index),
            prepare=False,
        )
        lost += len({row[0] for row in every} - found)
    return lost


async def asked(pool: Database, home: Corpus, document: int) -> tuple[str | None, bool]:
    """The index that is asked, and whether it finds a document first by its own words."""
    legs, query = ChunkRetriever(pool, INDEXED), SearchQuery(home.texts[document])
    index = await legs.resolve(home.scope, query)
    assert index is not None
    found = await legs.keyword(home.scope, query, index)
    return index.keyword_index, found[0].document_id == document_id(home.scope.workspace, f"upload:{document}")


async def test_nothing_is_missed_of_rows_that_filled_gaps(
    admin: Connection, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RE-02: rows go, their places are given back, and two writers fill them in turn; all is found as by every score."""
    monkeypatch.setattr(keyword_refresh, "LEAST_GONE", 100)
    home, care = Corpus(admin), KeywordRefresh(pool)
    home.load(admin, 2_000)
    admin.execute(
        "delete from document_chunks c using documents d where d.id = c.document_id and d.filename ~ '[147]$'"
    )
    admin.execute("select pg_stat_force_next_flush()")
    admin.execute("vacuum document_chunks")  # as Postgres does it by itself: it leaves the index alone
    assert admin.execute(STATE).fetchone() == (2_000, False)
    assert await care.refresh(), "a vacuum that gives places back would write what is in memory"
    with psycopg.connect(admin.info.dsn, autocommit=True) as other:
        for _ in range(30):
            home.load(admin, 20)
            home.load(other, 20)
    disorder = admin.execute(
        "select count(*) from (select c.ctid < lag(c.ctid) over (order by d.filename::int) as back from document_chunks c"
        " join documents d on d.id = c.document_id where d.filename::int >= 2000) x where back"
    ).fetchone()
    assert disorder is not None and disorder[0] >= 20, "the rows must lie in another order than they came"
    assert admin.execute(STATE).fetchone() == (1_200, False)
    assert await missed(admin, pool, home, home.questions(40)) == 0
    admin.execute("select bm25_spill_index(keyword_index())")
    assert admin.execute(STATE).fetchone() == (0, True) and await missed(admin, pool, home, home.questions(40)) > 0
    assert await KeywordRefresh(pool).refresh() and admin.execute(STATE).fetchone() == (0, False)
    assert await missed(admin, pool, home, home.questions(40)) == 0


async def test_the_index_is_made_anew_beside_the_one_that_is_asked(
    admin: Connection, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once enough is in memory; who set out to ask the old one asks the new one, and each is told from the other."""
    monkeypatch.setattr(keyword_refresh, "LEAST_WAITING", 100)
    home, now = Corpus(admin), 0.0
    care = KeywordRefresh(pool, clock=lambda: now)
    home.load(admin, 100)
    question, legs = SearchQuery(home.texts[7], limit=1), ChunkRetriever(pool, INDEXED)
    assert not await care.refresh(), "as much as may wait"
    for name in ("document_chunks_bm25_a", "document_chunks_bm25_b", "document_chunks_bm25_a"):
        before = await legs.resolve(home.scope, question)
        assert before is not None
        best, *_ = await legs.keyword(home.scope, question, before)
        home.load(admin, 101)
        assert await care.refresh() and not await care.refresh()
        after, found = await legs.set_out(home.scope, question, before)
        assert after is not None and after.keyword_index == name and found is None, "to be asked again"
        again, *_ = await legs.keyword(home.scope, question, after)
        assert again.chunk_id == best.chunk_id and again.score > 1
        made = admin.execute("select relname from pg_class where relname like 'document_chunks_bm25%%'", ()).fetchall()
        assert made == [(name,)]


async def test_who_reads_for_long_keeps_the_index_that_is_asked(
    admin: Connection, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump holds the table for as long as it takes: what was made is taken later, and not made again."""
    monkeypatch.setattr(keyword_refresh, "LEAST_WAITING", 10)
    monkeypatch.setattr(keyword_refresh, "_TRIES", 2)
    home = Corpus(admin)
    home.load(admin, 11)
    made = "select oid from pg_class where relname = 'document_chunks_bm25_a'"
    with psycopg.connect(admin.info.dsn) as reader:
        reader.execute("select count(*) from document_chunks")
        assert not await KeywordRefresh(pool).refresh()
        (oid,) = admin.execute(made).fetchone() or (None,)
        assert oid is not None and (await asked(pool, home, 3))[0] == "document_chunks_bm25"
        home.load(admin, 5)
        assert (await asked(pool, home, 13))[1], "what comes meanwhile is found by either"
    assert await KeywordRefresh(pool).refresh() and admin.execute(made).fetchone() == (oid,)
    name, found = await asked(pool, home, 13)
    assert name == "document_chunks_bm25_a" and found


async def test_places_of_rows_that_went_are_given_back_by_who_looks_after_the_index(
    admin: Connection, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and not while something is in memory that would be written then."""
    monkeypatch.setattr(keyword_refresh, "LEAST_GONE", 100)
    monkeypatch.setattr(keyword_refresh, "FEW_WAITING", 10)
    home, now = Corpus(admin), 0.0
    home.load(admin, 400)
    remove = "delete from document_chunks c using documents d where d.id = c.document_id and d.filename::int between %s and %s"
    admin.execute(remove, (0, 149))
    admin.execute("select pg_stat_force_next_flush()")
    gone = "select gone from keyword_index_state()"
    care = KeywordRefresh(pool, clock=lambda: now)
    assert await care.refresh() and admin.execute(gone).fetchone() == (0,)
    held = "select pg_relation_size('document_chunks')"
    (size,) = admin.execute(held).fetchone() or (0,)
    home.load(admin, 130)
    assert admin.execute(held).fetchone() == (size,), "they lie where the others lay"
    admin.execute(remove, (150, 399))
    admin.execute("select pg_stat_force_next_flush()")
    monkeypatch.setattr(care, "_rested", 1.0)
    assert not await care.refresh() and admin.execute(gone).fetchone() == (250,), "130 are in memory, and it rests"
    now = 1.0
    assert await care.refresh() and admin.execute(gone).fetchone() == (0,)
    assert (await asked(pool, home, 405))[1]
