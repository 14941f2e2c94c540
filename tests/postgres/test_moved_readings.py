"""What was read in one workspace counts as read in another, and what is cut otherwise there is embedded anew."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Scope
from pipelines.documents.ingest.job_plan import READ
from pipelines.documents.portable.workspace_import import ImportResult, KeptReaders
from tests.fakes.ledger import Bench, new_workspace
from tests.fakes.portable import Yard


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "scans"
    made.mkdir()
    for name in "abc":
        text = "\f".join(f"Document {name}, page {n}. It tells of the {name * 5} matter." for n in range(1, 5))
        (made / f"{name}.txt").write_text(text)
    return made


@pytest.fixture
def yard(ledger: Bench, admin_dsn: str, app_dsn: str, tmp_path: Path) -> Iterator[Yard]:
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        yield Yard(admin, app_dsn, ledger.database, tmp_path)


async def bring(yard: Yard, ledger: Bench, scope: Scope, target: Scope, **changes: Any) -> ImportResult:
    await yard.send(scope, "moved")
    receiver = replace(yard.receiver(target), facts=ledger.embedder.facts, chunk=ledger.chunk, **changes)
    return await receiver.run(yard.checked("moved"), merge=False, readers=KeptReaders.TARGET)


async def test_the_same_files_scanned_where_they_were_brought_are_not_read_again(
    yard: Yard, ledger: Bench, scope: Scope, admin_dsn: str, folder: Path
) -> None:
    await ledger.scan(scope, folder)
    target = await new_workspace(admin_dsn)
    made = await bring(yard, ledger, scope, target)
    assert made.vectors == "kept" and made.written == 3 and yard.contents(target) == yard.contents(scope)
    read = sum(ledger.reader.readings.values())
    job = await ledger.scan(target, folder)
    shown = await ledger.desk.show(target, job)
    assert sum(ledger.reader.readings.values()) == read == 12
    assert shown["progress"]["survey"]["unchanged"] == 3 and not shown["progress"].get(READ, {}).get("done")
    (row,) = await ledger.rows(target, "select count(*) as n from documents")
    assert row["n"] == 3


async def test_what_is_cut_otherwise_is_found_by_words_and_then_embedded_from_the_stored_pages(
    yard: Yard, ledger: Bench, scope: Scope, admin_dsn: str, folder: Path
) -> None:
    await ledger.scan(scope, folder)
    read = sum(ledger.reader.readings.values())
    target = await new_workspace(admin_dsn)
    ledger.chunk = ledger.chunk.model_copy(update={"size": ledger.chunk.size // 2})
    made = await bring(yard, ledger, scope, target)
    assert made.vectors == "anew" and made.embed_job is not None
    rows = await ledger.rows(target, "select status, chunk_count from documents")
    assert {row["status"] for row in rows} == {"embedding_pending"} and all(row["chunk_count"] for row in rows)
    assert str(await ledger.run()) == made.embed_job
    rows = await ledger.rows(target, "select status, has_embeddings from documents")
    assert {(row["status"], row["has_embeddings"]) for row in rows} == {("completed", True)}
    (lacking,) = await ledger.rows(
        target,
        "select count(*) as n from document_chunks c join workspaces w on w.id = c.workspace_id"
        " left join embeddings e on e.chunk_id = c.id and e.generation_id = w.generation_id where e.chunk_id is null",
    )
    assert lacking["n"] == 0 and sum(ledger.reader.readings.values()) == read
