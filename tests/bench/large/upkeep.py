"""Maintenance of a large index: a twentieth of the documents goes, and tables are vacuumed."""

import time
from collections.abc import Iterator

import psycopg

from cluster.state.db.postgres import Database
from pipelines.documents.index import maintenance
from tests.bench.large import synthetic
from tests.bench.large.store import CorpusStore, Places

TOGETHER = 500  # documents deleted in one transaction
TABLES = ("documents", "document_versions", "document_chunks")


def delete_some(store: CorpusStore, chunks: int) -> int:
    """Delete the documents that `is_deleted` names, with all that hangs on them; tells how many those are."""
    names = list(_names(chunks))
    with psycopg.connect(store.admin, autocommit=True) as connection:
        rows = connection.execute("select id from documents where filename = any(%s)", (names,)).fetchall()
        ids = [row[0] for row in rows]
        for start in range(0, len(ids), TOGETHER):
            connection.execute("delete from documents where id = any(%s)", (ids[start : start + TOGETHER],))
        connection.execute("update workspaces set corpus_version = corpus_version + 1")
    return len(names)


def _names(chunks: int) -> Iterator[str]:
    for number in synthetic.blocks_of(chunks):
        numbers = synthetic.block_numbers(number)
        yield from (f"{one}.txt" for one in numbers[synthetic.is_deleted(numbers)].tolist())


def vacuum(store: CorpusStore, places: Places) -> float:
    """Vacuum what was deleted from, graph included; seconds."""
    begun = time.monotonic()
    with psycopg.connect(store.admin, autocommit=True) as connection:
        connection.execute("set maintenance_work_mem = '1GB'")
        for table in (f"embeddings_{places.generation}", *TABLES):
            connection.execute(f"vacuum (analyze) {table}")
    return time.monotonic() - begun


async def probe_graph(database: Database, places: Places) -> float:
    """The share of its own vectors that the graph finds, as the product's own probe asks."""
    async with database.transaction() as tx:
        row = await tx.only(maintenance.SQL["vectors_met"], generation=places.generation)
    return float(row["answer"] or 0.0)
