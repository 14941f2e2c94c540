"""How many pages a tenant may have: refused in the file's own transaction, said before where it can be known."""

import asyncio
from pathlib import Path

import psycopg

from cluster.basics.scope import Role, Scope
from cluster.state.db.migrate import FOLDER
from cluster.state.work.jobs import JobLane
from configs.sections import ReadSettings
from pipelines.documents.store.library import DocumentLibrary
from tests.fakes.http import Office, make_parts, serve
from tests.fakes.ledger import Bench, new_workspace


def write(folder: Path, name: str, pages: int) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\f".join(f"{name}, page {n}" for n in range(pages)))
    return folder


async def pages_of(ledger: Bench, scope: Scope) -> int:
    rows = await ledger.rows(scope, "select coalesce(sum(pages), 0) as pages from tenant_pages")
    return int(rows[0]["pages"])


async def statuses(ledger: Bench, scope: Scope) -> dict[str, tuple[str, str | None]]:
    rows = await ledger.rows(scope, "select filename, status, failure->>'reason' as reason from documents")
    return {row["filename"]: (row["status"], row["reason"]) for row in rows}


async def test_a_file_beyond_the_quota_is_a_document_with_a_reason_and_takes_no_page(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.read = ReadSettings(tenant_pages=10)
    write(tmp_path / "in", "a.txt", 6)
    write(tmp_path / "in", "b.txt", 6)
    write(tmp_path / "in", "c.txt", 4)
    job = await ledger.scan(scope, tmp_path / "in")
    assert await statuses(ledger, scope) == {
        "a.txt": ("completed", None),
        "b.txt": ("failed", "too_large"),
        "c.txt": ("completed", None),
    }
    assert await pages_of(ledger, scope) == 10
    (row,) = await ledger.rows(scope, "select failure->>'detail' as detail from documents where status = 'failed'")
    assert "6 pages; this tenant has 6 of the 10" in row["detail"] and "AOS_READ_TENANT_PAGES" in row["detail"]
    assert (await ledger.desk.show(scope, job))["state"] == "partial"


async def test_what_is_deleted_makes_room_and_what_is_there_is_no_new_page(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.read = ReadSettings(tenant_pages=8)
    folder = write(tmp_path / "in", "a.txt", 8)
    await ledger.scan(scope, folder)
    ledger.read = ReadSettings(tenant_pages=5)  # lowered below what is there
    ledger.read_fingerprint = "reader-2"
    await ledger.scan(scope, folder)
    assert await statuses(ledger, scope) == {"a.txt": ("completed", None)}, "it is read again, and has no more pages"
    (row,) = await ledger.rows(scope, "select id from documents")
    async with ledger.database.transaction(scope) as tx:
        await DocumentLibrary(ledger.database).delete(tx, scope, row["id"])
    assert await pages_of(ledger, scope) == 0
    await ledger.scan(scope, write(tmp_path / "other", "b.txt", 5))
    assert await pages_of(ledger, scope) == 5


async def test_a_page_count_that_is_corrected_moves_the_total(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", "a.txt", 4)
    await ledger.scan(scope, write(folder, "b.txt", 3))
    corrected = "update document_versions set page_count = page_count {} where page_count >= 4 returning id"
    await ledger.rows(scope, corrected.format("+ 5"))
    assert await pages_of(ledger, scope) == 12
    await ledger.rows(scope, corrected.format("- 8"))
    assert await pages_of(ledger, scope) == 4
    await ledger.rows(scope, "update document_versions set reads = reads + 1 returning id")
    assert await pages_of(ledger, scope) == 4


async def test_totals_that_were_wrong_before_the_migration_are_counted_again(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    await ledger.scan(scope, write(tmp_path / "in", "a.txt", 4))
    empty = await new_workspace(admin_dsn)
    async with await psycopg.AsyncConnection.connect(admin_dsn, autocommit=True) as connection:
        await connection.execute("drop function count_changed_pages cascade")
        await connection.execute("update document_versions set page_count = 9")
        await connection.execute("insert into tenant_pages values (%s, 7)", (empty.tenant,))
        assert (await pages_of(ledger, scope), await pages_of(ledger, empty)) == (4, 7)
        await connection.execute((FOLDER / "0036_page_recount.sql").read_bytes())
    assert (await pages_of(ledger, scope), await pages_of(ledger, empty)) == (9, 0)


async def test_the_quota_is_of_the_tenant_and_of_no_other(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    ledger.read = ReadSettings(tenant_pages=7)
    await ledger.scan(scope, write(tmp_path / "in", "a.txt", 5))
    stranger = await new_workspace(admin_dsn)
    await ledger.scan(stranger, write(tmp_path / "in", "a.txt", 5))
    assert (await statuses(ledger, stranger))["a.txt"] == ("completed", None)
    assert (await pages_of(ledger, scope), await pages_of(ledger, stranger)) == (5, 5)
    (name,) = await ledger.rows(scope, "select name from tenants where id = %(id)s", id=scope.tenant)
    sister = await new_workspace(admin_dsn, name["name"])
    await ledger.scan(sister, write(tmp_path / "in", "a.txt", 5))
    assert (await statuses(ledger, sister))["a.txt"] == ("failed", "too_large")


async def test_workers_that_race_for_the_last_pages_do_not_both_get_them(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    ledger.read = ReadSettings(tenant_pages=10)
    (name,) = await ledger.rows(scope, "select name from tenants where id = %(id)s", id=scope.tenant)
    scopes = [scope, *[await new_workspace(admin_dsn, name["name"]) for _ in range(3)]]
    folder = write(tmp_path / "in", "a.txt", 4)
    for one in scopes:
        await ledger.enqueue(one, "scan", {"root": str(folder), "agent_id": None})
    await asyncio.gather(*(ledger.run(owner=f"w{n}") for n in range(4)))
    found = [(await statuses(ledger, one))["a.txt"][0] for one in scopes]
    assert sorted(found) == ["completed", "completed", "failed", "failed"]
    assert await pages_of(ledger, scope) == 8


async def test_an_upload_is_refused_before_it_is_stored_and_a_dry_run_says_what_is_left(
    app_dsn: str, admin_dsn: str, office: Office, worker: Bench, tmp_path: Path
) -> None:
    (tmp_path / "scans").mkdir()
    write(tmp_path / "scans", "a.txt", 3)
    read = ReadSettings(tenant_pages=1, nfs_base_path=str(tmp_path / "scans"))
    worker.read = read
    async with serve(make_parts(app_dsn, tmp_path, read=read)) as api:
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        found = (await operator.post("/api/documents/batch-scan", json={"path": ".", "dry_run": True})).json()
        assert found["pages_left"] == 1
        first = await operator.post("/api/documents/upload", files={"file": ("b.txt", b"one page")})
        assert first.status_code == 202
        await worker.run(JobLane.SMALL)
        second = await operator.post("/api/documents/upload", files={"file": ("c.txt", b"another page")})
        problem = second.json()
        assert (second.status_code, problem["code"]) == (413, "too_large")
        assert "AOS_READ_TENANT_PAGES" in problem["fix"]
        names = [d["filename"] for d in (await operator.get("/api/documents/")).json()["items"]]
        assert names == ["b.txt"]
