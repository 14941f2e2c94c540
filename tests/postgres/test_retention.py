"""What is older than its class is kept for goes at its time, nothing else, and never what is held."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope
from pipelines.documents.store.blobs import FolderBlobs, Location
from pipelines.documents.store.members import MemberDocuments
from serve_apps.governance.retention import RetentionClass
from tests.fakes.filled import FilledWorkspace, fill, table_hashes
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve

Record = Callable[[str, object], None]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, clock: Clock) -> AsyncIterator[Api]:
    (tmp_path / "scans").mkdir()
    async with serve(make_parts(app_dsn, tmp_path, clock)) as made:
        yield made


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


def aged(admin_dsn: str, office: Office, filled: FilledWorkspace, days: int) -> None:
    """The first document, and all that the first person did, as it was so many days ago; the rest is of now."""
    with psycopg.connect(admin_dsn) as connection:
        ids = {"d": filled.documents[0], "u": filled.people[0], "r": filled.runs[0], "days": days}
        ids |= {"w": office.scope.workspace}
        for statement in (
            "update documents set upload_date = now() where workspace_id = %(w)s",
            "update runs set finished_at = now() where workspace_id = %(w)s",
            "update documents set upload_date = now() - make_interval(days => %(days)s) where id = %(d)s",
            "update document_versions set created_at = now() - make_interval(days => %(days)s)"
            " where document_id = %(d)s",
            "update answers set at = now() - make_interval(days => %(days)s) where user_id = %(u)s",
            "update sessions set updated_at = now() - make_interval(days => %(days)s) where user_id = %(u)s",
            "update messages set created_at = now() - make_interval(days => %(days)s) where session_id in"
            " (select id from sessions where user_id = %(u)s)",
            "update runs set finished_at = now() - make_interval(days => %(days)s) where id = %(r)s",
        ):
            connection.execute(statement, ids)


async def keep(admin: httpx.AsyncClient, kind: str, days: int | None, **more: object) -> None:
    answer = await admin.put("/api/retention", json={"class": kind, "days": days, **more})
    assert answer.status_code == 200, answer.text


async def counts(admin: httpx.AsyncClient, *, dry_run: bool) -> dict[str, tuple[int, int, int]]:
    report = await admin.post("/api/retention/run", params={"dry_run": dry_run})
    assert report.status_code == 200, report.text
    return {one["kind"]: (one["due"], one["held"], one["deleted"]) for one in report.json()["items"]}


async def test_at_a_later_hour_what_is_due_goes_and_nothing_else(
    api: Api,
    admin: httpx.AsyncClient,
    admin_dsn: str,
    office: Office,
    tmp_path: Path,
    clock: Clock,
    record_property: Record,
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 3, 2)
    aged(admin_dsn, office, filled, 5)
    stranger = open_office(admin_dsn)
    fill(admin_dsn, stranger, tmp_path, 1, 1, first=900)
    theirs, before = table_hashes(admin_dsn, stranger.scope.tenant), table_hashes(admin_dsn, office.scope.tenant)
    assert await api.parts.retention.run(office.scope) == [], "nothing has a period by itself"
    for kind in ("documents", "answers", "conversations", "messages", "runs", "journals"):
        await keep(admin, kind, 10)
    assert await counts(admin, dry_run=False) == dict.fromkeys(
        ("documents", "answers", "conversations", "messages", "runs", "journals"), (0, 0, 0)
    ), "not yet"
    clock.now += timedelta(days=6)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    due = {"documents": 1, "answers": 1, "conversations": 1, "messages": 1, "runs": 1, "journals": 1}
    assert await counts(admin, dry_run=True) == {kind: (many, 0, 0) for kind, many in due.items()}
    assert {
        table: digest
        for table, digest in table_hashes(admin_dsn, office.scope.tenant).items()
        if digest != before[table]
    }.keys() <= {"audit", "retention_rules", "refresh_tokens", "users"}, "a dry run deletes nothing"
    done = await counts(admin, dry_run=False)
    # Messages, runs and journals went with their conversation, which came first.
    assert done["documents"] == (1, 0, 1) and done["conversations"] == (1, 0, 1) and done["answers"] == (1, 0, 1)
    with psycopg.connect(admin_dsn) as connection:
        left = {
            table: connection.execute(
                f"select count(*) from {table} where workspace_id = %s".encode(), (office.scope.workspace,)
            ).fetchall()[0][0]
            for table in ("documents", "answers", "sessions", "messages", "runs", "run_steps")
        }
    assert left == {"documents": 2, "answers": 1, "sessions": 1, "messages": 2, "runs": 1, "run_steps": 1}
    assert table_hashes(admin_dsn, stranger.scope.tenant) == theirs, "another tenant's rules are its own"
    assert all(value == (0, 0, 0) for value in (await counts(admin, dry_run=False)).values())
    record_property("rows that retention deleted too early or too late", "0")


async def test_messages_runs_and_journals_have_periods_of_their_own(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 1, 2)
    aged(admin_dsn, office, filled, 20)
    for kind in ("messages", "journals"):
        await keep(admin, kind, 10)
    assert await counts(admin, dry_run=False) == {"messages": (1, 0, 1), "journals": (1, 0, 1)}
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute(
            "select session_id, seq from messages where workspace_id = %s", (office.scope.workspace,)
        )
        assert sorted(row[1] for row in rows.fetchall()) == [1, 2, 2], "the newest stays, the next is numbered after it"
        steps = connection.execute("select run_id::text from run_steps").fetchall()
        assert [row[0] for row in steps] == [filled.runs[1]]
    await keep(admin, "runs", 10)
    assert (await counts(admin, dry_run=False))["runs"] == (1, 0, 1)


async def test_replaced_versions_go_and_the_one_that_readers_see_stays(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 1, 0)
    blob = tmp_path / "blobs" / "old"
    blob.write_bytes(b"old")
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "insert into document_versions (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind,"
            " location,"
            " page_count, created_at) values ('old', %s, %s, %s, 'h', 3, 'text', 'blob:old', 1, now() - interval '9"
            " days')",
            (filled.documents[0], office.scope.tenant, office.scope.workspace),
        )
    await keep(admin, "versions", 5)
    assert await counts(admin, dry_run=False) == {"versions": (1, 0, 1)}
    assert not blob.exists()
    shown = await admin.get(f"/api/documents/{filled.documents[0]}")
    assert shown.status_code == 200 and shown.json()["page_count"] == 1


async def test_what_is_held_is_not_due(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 3, 2)
    aged(admin_dsn, office, filled, 20)
    with psycopg.connect(admin_dsn) as connection:  # an archive of which a member is held
        connection.execute("update documents set parent_id = %s where id = %s", filled.documents[:2])
        connection.execute("update documents set upload_date = now() - interval '20 days'")
        connection.execute("update document_versions set created_at = now() - interval '20 days'")
    for kind, object_id in (("document", filled.documents[1]), ("person", filled.people[0])):
        body = {"kind": kind, "object_id": object_id, "name": "n", "reason": "r"}
        assert (await admin.post("/api/legal-holds", json=body)).status_code == 201
    for kind in ("documents", "answers", "conversations", "messages", "runs", "journals"):
        await keep(admin, kind, 10)
    done = await counts(admin, dry_run=False)
    assert done.pop("documents") == (2, 0, 1), "the archive stays because of its member"
    assert done == dict.fromkeys(("answers", "conversations", "messages", "runs", "journals"), (0, 1, 0))
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("select count(*) from documents").fetchall()[0][0] == 2


async def test_the_oldest_of_the_trail_goes_and_its_chain_still_holds(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, clock: Clock
) -> None:
    for number in range(3):
        await admin.post("/api/groups", json={"name": f"g{number}"})
    await keep(admin, "audit", 30)
    assert await counts(admin, dry_run=False) == {"audit": (0, 0, 0)}
    clock.now += timedelta(days=31)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    due, held, _ = (await counts(admin, dry_run=True))["audit"]
    assert due > 4 and not held
    assert (await counts(admin, dry_run=False))["audit"] == (due, 0, due)
    log = api.parts.audit
    assert await log.first_broken(office.scope) is None
    (oldest,) = (await log.page(office.scope))[-1:]
    assert oldest["seq"] == due + 1 and oldest["intact"], "it rests on the anchor"
    pruned = (await admin.get("/api/audit", params={"action": "audit.prune"})).json()["items"]
    assert [one["detail"]["through"] for one in pruned] == [due]
    await admin.post("/api/groups", json={"name": "one more"})
    with psycopg.connect(admin_dsn) as connection:
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            connection.execute("delete from audit where seq = %s", (due + 1,))
        connection.rollback()
        connection.execute("alter table audit disable trigger all")
        connection.execute("delete from audit where seq = %s", (due + 1,))
    assert await log.first_broken(office.scope) == due + 2, "an entry that goes without an anchor is missed"


async def test_a_workspaces_rule_is_before_its_tenants_and_none_keeps(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    await keep(admin, "answers", 30)
    await keep(admin, "answers", None, level="workspace")
    shown = (await admin.get("/api/retention")).json()["periods"]
    assert shown["answers"] == {"days": None, "source": "workspace"}
    assert shown["documents"] == {"days": None, "source": "default"}
    await keep(admin, "answers", None, level="workspace", inherit=True)
    assert (await admin.get("/api/retention")).json()["periods"]["answers"] == {"days": 30, "source": "tenant"}
    assert (await admin.put("/api/retention", json={"class": "audit", "level": "workspace"})).status_code == 422
    assert (await admin.put("/api/retention", json={"class": "answers", "days": 0})).status_code == 422
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await operator.post("/api/retention/run")).status_code == 403


async def test_each_tenant_has_a_turn_and_only_one_process_takes_it(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str, clock: Clock
) -> None:
    process = api.parts.retention
    with psycopg.connect(admin_dsn) as connection:
        tenants = {str(row[0]) for row in connection.execute("select id from tenants").fetchall()}
    taken = []
    while (tenant := await process.turn()) is not None:
        taken.append(tenant)
    assert sorted(taken) == sorted(tenants) and office.scope.tenant in taken
    clock.now += timedelta(minutes=59)
    assert await process.turn() is None
    clock.now += timedelta(minutes=2)
    assert await process.turn() in tenants
    assert len(RetentionClass) == 11


async def test_a_document_that_is_sent_again_is_as_old_as_its_newest_version(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    """A price list that is sent every week was gone after a year, the newest version included."""
    filled = fill(admin_dsn, office, tmp_path, 2, 1)
    aged(admin_dsn, office, filled, 400)
    await keep(admin, RetentionClass.DOCUMENTS, 365)
    assert (await counts(admin, dry_run=True))["documents"][0] == 1
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "update document_versions set created_at = now() where document_id = %s", (filled.documents[0],)
        )
    assert (await counts(admin, dry_run=True))["documents"][0] == 0


async def test_what_a_rule_would_make_due_is_counted_before_it_is_set(
    admin: httpx.AsyncClient, api: Api, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    aged(admin_dsn, office, fill(admin_dsn, office, tmp_path, 3, 2), 5)
    before = table_hashes(admin_dsn, office.scope.tenant)

    async def due(kind: str, **more: object) -> list[int]:
        answer = await admin.post("/api/retention/preview", json={"class": kind, **more})
        assert answer.status_code == 200, answer.text
        assert answer.json()["dry_run"] and not any(one["deleted"] for one in answer.json()["items"])
        return [one["due"] for one in answer.json()["items"]]

    assert await due("documents", days=3) == [1] and await due("documents", days=9) == [0]
    assert await due("documents", days=None) == [], "what is kept for good is never due"
    assert await due("documents", days=3, level="workspace") == [1]
    assert len(await due("audit", days=1)) == 1
    assert table_hashes(admin_dsn, office.scope.tenant) == before, "nothing was changed"
    assert (await admin.get("/api/retention")).json()["periods"]["documents"]["days"] is None
    await keep(admin, "documents", 9, level="workspace")
    assert await due("documents", days=3) == [], "the workspace has a rule of its own"
    await keep(admin, "documents", 3)
    assert await due("documents", inherit=True, level="workspace") == [1], "the tenant's rule would count then"
    assert await due("documents", inherit=True) == []
    wrong = await admin.post("/api/retention/preview", json={"class": "audit", "level": "workspace", "days": 1})
    assert wrong.status_code == 422
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await operator.post("/api/retention/preview", json={"class": "audit"})).status_code == 403


async def test_bytes_whose_rows_went_without_them_are_found_by_the_next_turn(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path, clock: Clock
) -> None:
    """Cut off after the rows, after the files, and before the list: each time the next turn leaves nothing behind."""
    filled = fill(admin_dsn, office, tmp_path, 3, 1)
    worker = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    blobs = FolderBlobs(tmp_path / "blobs")

    async def cut_off(document: str) -> list[str]:  # the rows are gone for good, and whoever did it was killed
        async with api.parts.database.transaction(worker) as tx:
            gone = await MemberDocuments().delete(tx, worker, [document])
        return [one for one in gone if one.startswith("blob:")]

    def listed() -> set[str]:
        with psycopg.connect(admin_dsn) as connection:
            return {row[0] for row in connection.execute("select location from freed_blobs").fetchall()}

    first, second = await cut_off(filled.documents[0]), await cut_off(filled.documents[1])
    assert first and second and listed() == {*first, *second}
    for location in second:
        blobs.delete(Location(location))
    with psycopg.connect(admin_dsn) as connection:  # somebody has brought the same bytes of the first since
        connection.execute(
            "update document_versions set location = %s where document_id = %s", (first[0], filled.documents[2])
        )
    await counts(admin, dry_run=False)
    assert listed() == {*first, *second}, "what was freed just now may be on its way in again"
    clock.now += timedelta(hours=2)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    await counts(admin, dry_run=True)
    assert listed() == {*first, *second}
    await counts(admin, dry_run=False)
    assert listed() == set() and blobs.path(Location(first[0])).exists(), "it is somebody's"
    third = await cut_off(filled.documents[2])
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update freed_blobs set freed_at = now() - interval '1 day'")
    await counts(admin, dry_run=False)
    assert listed() == set() and not any(blobs.path(Location(one)).exists() for one in third)
