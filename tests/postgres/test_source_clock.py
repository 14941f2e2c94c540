"""The clock of sources at size: what it does grows with what there is to do, and no faster."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction
from pipelines.documents.sync.source_clock import SourceClock
from pipelines.documents.sync.synced_documents import SyncedDocuments
from tests.fakes.ledger import Bench
from tests.fakes.shelves import Shelf, SyncBench, shelf_kind, sync_bench

ITEMS = 5_000
READER = "user:x@x"


@pytest.fixture
def guarded(ledger: Bench, scope: Scope) -> SyncBench:
    """The shelf says who may see what."""
    return sync_bench(ledger, scope, None, shelf_kind(Shelf(), has_rights=True))


@asynccontextmanager
async def rows_read(tx: Transaction) -> AsyncIterator[Counter[str]]:
    """How many rows of each table the transaction reads meanwhile; the view counts those of some before it, too."""
    read = Counter[str]()
    before = await _rows_so_far(tx)
    yield read
    read.update(await _rows_so_far(tx) - before)


async def _rows_so_far(tx: Transaction) -> Counter[str]:
    query = "select relname as table, seq_tup_read + coalesce(idx_tup_fetch, 0) as rows from pg_stat_xact_user_tables"
    return Counter({str(row["table"]): int(row["rows"]) for row in await tx.all(query)})


class CountingDocuments(SyncedDocuments):
    """Counts the rows that hiding reads."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.read = Counter[str]()

    async def hide_stale(self, tx: Transaction, *batch: object) -> str | None:  # type: ignore[override]
        async with rows_read(tx) as read:
            found = await super().hide_stale(tx, *batch)  # type: ignore[arg-type]
        self.read += read
        return found

    async def hide_visible(self, tx: Transaction, *batch: object) -> int:  # type: ignore[override]
        async with rows_read(tx) as read:
            found = await super().hide_visible(tx, *batch)  # type: ignore[arg-type]
        self.read += read
        return found


async def stale_source(sources: SyncBench, admin_dsn: str, items: int) -> str:
    """With documents that somebody may see, and rights that nobody has confirmed for days."""
    source, scope = await sources.add(stale_after_hours=1), sources.scope
    fill = (
        "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, readers)"
        " select d.id, %(tenant)s, %(workspace)s, %(prefix)s || d.id, d.id || '.txt', 'txt', 'source', %(readers)s"
        " from (select left(%(source)s, 8) || '-' || n as id from generate_series(1, %(items)s) n) d"
    )
    remember = (
        "insert into source_items (source_id, tenant_id, workspace_id, item_id, path, document_id)"
        " select %(source)s, %(tenant)s, %(workspace)s, md5(d.id), d.filename, d.id from documents d"
        " where d.workspace_id = %(workspace)s and starts_with(d.origin, %(prefix)s)"
    )
    named = {**scope.keys, "source": source, "prefix": f"source:{source}/", "items": items, "readers": [READER]}
    async with sources.ledger.database.transaction(scope) as tx:
        await tx.run(fill, **named)
        await tx.run(remember, **named)
        await tx.run("update sources set created_at = now() - interval '9 days' where id = %(source)s", source=source)
    with psycopg.connect(admin_dsn, autocommit=True) as owner:
        owner.execute("analyze documents, source_items, sources")
    return source


def clock_over(sources: SyncBench, documents: SyncedDocuments) -> SourceClock:
    return SourceClock(sources.ledger.database, sources.parts.store, documents, sources.parts.starter, sources.time)


async def visible(ledger: Bench, scope: Scope) -> int:
    (seen,) = await ledger.rows(scope, "select count(*) as n from documents where readers = %(r)s", r=[READER])
    return int(seen["n"])


async def test_hiding_a_large_stale_source_reads_its_items_twice_and_no_more(
    guarded: SyncBench, ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    source = await stale_source(guarded, admin_dsn, ITEMS)
    documents = CountingDocuments(ledger.database)
    assert await clock_over(guarded, documents).tick() == 1
    assert (await guarded.show(source))["hidden_at"] is not None and await visible(ledger, scope) == 0
    assert documents.read["source_items"] <= 2 * ITEMS and documents.read["documents"] <= 3 * ITEMS


class ShowingDocuments(SyncedDocuments):
    """A sync that listed long ago shows the first document while the next are hidden."""

    shown = 0

    async def hide_stale(self, tx: Transaction, scope: Scope, source: str, after: str, most: int) -> str | None:
        if after and not self.shown:
            show = "update documents set readers = %(readers)s where id = (select min(id) from documents)"
            self.shown = await tx.run(show, readers=[READER])
        return await super().hide_stale(tx, scope, source, after, most)


async def test_what_is_shown_behind_the_batches_is_hidden_before_its_source_counts_as_hidden(
    guarded: SyncBench, ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    source = await stale_source(guarded, admin_dsn, 600)
    documents = ShowingDocuments(ledger.database)
    await clock_over(guarded, documents).tick()
    assert documents.shown == 1 and await visible(ledger, scope) == 0
    assert (await guarded.show(source))["hidden_at"] is not None


class StallingDocuments(SyncedDocuments):
    """Hides nothing until it may."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.begun, self.may = asyncio.Event(), asyncio.Event()

    async def hide_stale(self, tx: Transaction, *batch: object) -> str | None:  # type: ignore[override]
        self.begun.set()
        await self.may.wait()
        return await super().hide_stale(tx, *batch)  # type: ignore[arg-type]


async def until_set(sources: SyncBench, source: str, column: str) -> None:
    while (await sources.show(source))[column] is None:  # noqa: ASYNC110 - of a row there is no event
        await asyncio.sleep(0.02)


async def test_no_start_waits_while_a_large_source_is_hidden(
    guarded: SyncBench, ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    stale = await stale_source(guarded, admin_dsn, 3)
    due = await guarded.add(name="due", every_minutes=60)
    documents = StallingDocuments(ledger.database)
    guarded.time.now = datetime.now(UTC) + timedelta(seconds=5)
    clock = clock_over(guarded, documents)
    await clock.open()
    try:
        async with asyncio.timeout(20):
            await documents.begun.wait()
            await until_set(guarded, due, "job_id")
            assert (await guarded.show(stale))["hidden_at"] is None
            documents.may.set()
            await until_set(guarded, stale, "hidden_at")
    finally:
        await clock.close()


async def test_what_is_due_is_found_without_reading_what_is_not(
    guarded: SyncBench, ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    many = (
        "insert into sources (tenant_id, workspace_id, name, kind, every_minutes, next_at)"
        " select %(tenant)s, %(workspace)s, 'source ' || n, 'shelf', 60, now() + interval '1 hour'"
        " from generate_series(1, %(sources)s) n"
    )
    async with ledger.database.transaction(scope) as tx:
        await tx.run(many, **scope.keys, sources=3 * ITEMS)
    due = {await guarded.add(name=f"due {n}", every_minutes=60) for n in range(3)}
    with psycopg.connect(admin_dsn, autocommit=True) as owner:
        owner.execute("analyze sources")
    now = datetime.now(UTC) + timedelta(seconds=5)
    async with ledger.database.transaction() as tx, rows_read(tx) as read:
        found = await tx.all("select id::text from due_sources(%(now)s, 20)", now=now)
    assert {row["id"] for row in found} == due
    assert read["sources"] <= 2 * len(due), "of some thousands"
