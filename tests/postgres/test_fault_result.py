"""What the proof of `aos chaos` rests on: a hash that is equal for equal readings alone, and cuts that really cut."""

from pathlib import Path

import psycopg
import pytest

from cluster.faults.harm import cut_postgres
from cluster.faults.workspace_result import WorkspaceResult, read_result
from configs.settings import load_settings
from tests.fakes.ledger import Bench, new_workspace

CHANGES = {
    "a letter of a page": "update pages set text = text || 'x' where workspace_id = %s and number = 2",
    "a page": "delete from pages where workspace_id = %s and number = 2",
    "a chunk": "delete from document_chunks where workspace_id = %s and chunk_index = 0",
    "a letter of a chunk": "update document_chunks set text = text || 'x' where workspace_id = %s",
    "a state": "update documents set status = 'partial' where workspace_id = %s",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "letters"
    made.mkdir()
    for number in range(3):
        (made / f"{number}.txt").write_text(f"Letter {number}\fHarbour {number}\fBridge {number}")
    return made


async def two_readings(ledger: Bench, admin_dsn: str, folder: Path) -> tuple[str, str]:
    first, second = await new_workspace(admin_dsn), await new_workspace(admin_dsn)
    for scope in (first, second):
        await ledger.scan(scope, folder)
    return str(first.workspace), str(second.workspace)


@pytest.mark.parametrize("change", CHANGES)
async def test_the_same_folder_has_one_hash_in_every_workspace_until_something_differs(
    change: str, ledger: Bench, admin_dsn: str, folder: Path
) -> None:
    first, second = await two_readings(ledger, admin_dsn, folder)
    calm = read_result(admin_dsn, first)
    assert calm == read_result(admin_dsn, second)
    assert (calm.documents, calm.pages, calm.pages_twice, calm.chunks_twice) == (3, 9, 0, 0)
    assert calm.chunks == calm.vectors > 0 and len(calm.hash) == 64
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(CHANGES[change], [second])  # type: ignore[arg-type]
    changed = read_result(admin_dsn, second)
    assert changed.hash != calm.hash and read_result(admin_dsn, first) == calm


async def test_a_workspace_that_holds_nothing_has_a_hash_of_nothing(admin_dsn: str) -> None:
    empty = read_result(admin_dsn, str((await new_workspace(admin_dsn)).workspace))
    assert empty == WorkspaceResult(0, 0, 0, 0, 0, 0, empty.hash) and len(empty.hash) == 64


def test_a_cut_ends_every_other_connection_in_the_middle_of_what_it_does(app_dsn: str, admin_dsn: str) -> None:
    settings = load_settings({"DATABASE_URL": app_dsn, "DATABASE_ADMIN_URL": admin_dsn})
    with psycopg.connect(app_dsn) as held:
        held.execute("select 1")
        assert cut_postgres(settings) >= 1
        with pytest.raises(psycopg.OperationalError):
            held.execute("select 1")
