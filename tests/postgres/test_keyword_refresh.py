"""The BM25 index under rows that fill gaps: pg_textsearch 1.0 loses words of what it writes out of order."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.state.db.postgres import Database
from configs.sections_retrieval import SearchSettings
from pipelines.documents.document import document_id
from pipelines.documents.index.keyword_refresh import KeywordRefresh, RefreshLimits
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage
from tests.fakes.zipf import Language

Connection = psycopg.Connection[Any]
INDEXED = SearchSettings(exact_scope=0)
STATE = "select waiting, written from keyword_index_state()"
RESTED = "update keyword_index_made set rests_until = null"
RESTING = "update keyword_index_made set rests_until = now() + interval '1 hour' where rests_until is not null"


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


def spent(connection: Connection) -> None:
    """What this session has deleted is counted by now."""
    connection.execute("select pg_stat_force_next_flush()")


async def test_nothing_is_missed_of_rows_that_filled_gaps(admin: Connection, pool: Database) -> None:
    """RE-02: rows go, their places are given back, two writers fill them in turn; all is found as by every score."""
    home, care = Corpus(admin), KeywordRefresh(pool, RefreshLimits(least_gone=100))
    home.load(admin, 2_000)
    admin.execute(
        "delete from document_chunks c using documents d where d.id = c.document_id and d.filename ~ '[147]$'"
    )
    spent(admin)
    admin.execute("vacuum document_chunks")  # as Postgres does it by itself: it leaves the index alone
    assert admin.execute(STATE).fetchone() == (2_000, False)
    assert await care.refresh(), "a vacuum that gives places back would write what is in memory"
    with psycopg.connect(admin.info.dsn, autocommit=True) as other:
        for _ in range(30):
            home.load(admin, 20)
            home.load(other, 20)
    disorder = admin.execute(
        "select count(*) from (select c.ctid < lag(c.ctid) over (order by d.filename::int) as back"
        " from document_chunks c join documents d on d.id = c.document_id where d.filename::int >= 2000) x where back"
    ).fetchone()
    assert disorder is not None and disorder[0] >= 20, "the rows must lie in another order than they came"
    assert admin.execute(STATE).fetchone() == (1_200, False)
    assert await missed(admin, pool, home, home.questions(40)) == 0
    admin.execute("select bm25_spill_index(keyword_index())")  # it is not asked now: a question might never end
    assert admin.execute(STATE).fetchone() == (0, True)
    admin.execute(RESTING)
    assert not await care.refresh(), "it rests four times as long as it took"
    admin.execute(RESTED)
    assert await care.refresh() and admin.execute(STATE).fetchone() == (0, False)
    assert await missed(admin, pool, home, home.questions(40)) == 0


async def test_the_index_is_made_anew_beside_the_one_that_is_asked(admin: Connection, pool: Database) -> None:
    """Once enough is in memory, by one worker; who set out to ask the old one asks the new one."""
    home = Corpus(admin)
    care, second = (KeywordRefresh(pool, RefreshLimits(least_waiting=100)) for _ in range(2))
    home.load(admin, 100)
    question, legs = SearchQuery(home.texts[7], limit=1), ChunkRetriever(pool, INDEXED)
    assert not await care.refresh(), "as much as may wait"
    for name in ("document_chunks_bm25_a", "document_chunks_bm25_b", "document_chunks_bm25_a"):
        before = await legs.resolve(home.scope, question)
        assert before is not None
        best, *_ = await legs.keyword(home.scope, question, before)
        home.load(admin, 101)
        admin.execute(RESTED)
        assert sorted(await asyncio.gather(care.refresh(), second.refresh())) == [False, True]
        after, found = await legs.set_out(home.scope, question, before)
        assert after is not None and after.keyword_index == name and found is None, "to be asked again"
        for index in (before, after):  # a question's variations set out with what was live before it
            again, *_ = await legs.keyword(home.scope, question, index)
            assert again.chunk_id == best.chunk_id and again.score > 1
        made = admin.execute("select relname from pg_class where relname like 'document_chunks_bm25%%'", ()).fetchall()
        assert made == [(name,)]


async def test_who_reads_for_long_keeps_the_index_that_is_asked(admin: Connection, pool: Database) -> None:
    """A dump holds the table for as long as it takes: what was made is taken later, and not made again."""
    home, pauses = Corpus(admin), list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    care = KeywordRefresh(pool, RefreshLimits(least_waiting=10), sleep=sleep)
    home.load(admin, 11)
    made = "select oid from pg_class where relname = 'document_chunks_bm25_a'"
    with psycopg.connect(admin.info.dsn) as reader:
        reader.execute("select count(*) from document_chunks")
        with pytest.raises(Unavailable, match="is not asked yet"):
            await care.refresh()
        assert len(pauses) == 3
        (oid,) = admin.execute(made).fetchone() or (None,)
        assert oid is not None and await asked(pool, home, 3) == ("document_chunks_bm25", True)
        home.load(admin, 5)
        assert (await asked(pool, home, 13))[1], "what comes meanwhile is found by either"
    admin.execute(RESTED)
    assert await care.refresh() and admin.execute(made).fetchone() == (oid,)
    assert await asked(pool, home, 13) == ("document_chunks_bm25_a", True)


async def test_places_of_rows_that_went_are_given_back_by_who_looks_after_the_index(
    admin: Connection, pool: Database
) -> None:
    """Once, and not while something is in memory that would be written then."""
    home, care = Corpus(admin), KeywordRefresh(pool, RefreshLimits(least_gone=100, few_waiting=10))
    home.load(admin, 400)
    remove = "delete from document_chunks c using documents d where d.id = c.document_id and d.filename::int < %s"
    admin.execute(remove, (150,))
    spent(admin)
    gone = "select cluttering from keyword_index_state()"
    assert await care.refresh() and admin.execute(gone).fetchone() == (0,)
    held = "select pg_relation_size('document_chunks')"
    size = admin.execute(held).fetchone()
    home.load(admin, 130)
    assert admin.execute(held).fetchone() == size, "they lie where the others lay"
    admin.execute(remove, (400,))
    spent(admin)
    admin.execute(RESTING)
    assert not await care.refresh() and admin.execute(gone).fetchone() == (250,), "130 are in memory, and it rests"
    admin.execute(RESTED)
    assert await care.refresh() and admin.execute(gone).fetchone() == (0,)
    home.load(admin, 5)
    admin.execute(remove, (510,))
    spent(admin)
    assert await care.refresh(), "five were written by the vacuum: another is asked at once"
    assert admin.execute(STATE).fetchone() == (0, False) and (await asked(pool, home, 520))[1]


async def test_an_index_of_which_nobody_knows_what_it_has_written_is_made_anew(
    admin: Connection, pool: Database
) -> None:
    """As an older version has left it."""
    home = Corpus(admin)
    home.load(admin, 50)
    admin.execute("select bm25_spill_index('document_chunks_bm25')")
    admin.execute("update keyword_index_made set parts = null")
    assert not await KeywordRefresh(pool).refresh(), "one that cannot be told is not made again and again"
    admin.execute("update keyword_index_made set parts = ''")  # by the migration
    assert await KeywordRefresh(pool).refresh() and await asked(pool, home, 7) == ("document_chunks_bm25_a", True)


async def test_an_owner_who_is_no_superuser_has_an_index_that_is_not_looked_after(
    admin: Connection, pool: Database
) -> None:
    """What an index holds is told to superusers alone; its table is vacuumed as any other then."""
    role = f"plain_{uuid4().hex[:8]}"
    definers = "create_keyword_index make_keyword_index drop_worn_keyword_index index_renewed settle_vacuum_of_chunks"
    cleanup = "select reloptions from pg_class where oid = 'document_chunks'::regclass"
    assert admin.execute(cleanup).fetchone() == (["vacuum_index_cleanup=off"],)
    admin.execute(f"create role {role}".encode())
    try:
        admin.execute(
            f"grant create on schema public to {role}; grant all on all tables in schema public to {role}".encode()
        )
        for function in definers.split():
            admin.execute(f"alter function {function} owner to {role}".encode())
        admin.execute(f"alter table document_chunks owner to {role}".encode())
        admin.execute("truncate keyword_index_made")
        async with pool.transaction() as tx:
            assert (await tx.only("select drop_worn_keyword_index() as answer"))["answer"]
            assert (await tx.only("select make_keyword_index() as answer"))["answer"]
        home = Corpus(admin)
        home.load(admin, 30)
        assert not await KeywordRefresh(pool, RefreshLimits(least_waiting=10)).refresh()
        assert admin.execute(cleanup).fetchone() == (None,) and (await asked(pool, home, 7))[1]
    finally:
        admin.execute(f"reassign owned by {role} to {admin.info.user}; drop owned by {role}; drop role {role}".encode())
