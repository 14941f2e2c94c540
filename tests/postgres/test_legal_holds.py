"""A legal hold keeps documents, people and workspaces from every way in which they could go, until it is released."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.errors import LegalHold
from cluster.basics.scope import Role, Scope
from pipelines.documents.store.members import MemberDocuments
from tests.fakes.filled import FilledWorkspace, admin_of, fill, table_hashes
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench


@pytest.fixture
async def admin(api: Api, office: Office) -> AsyncIterator[httpx.AsyncClient]:
    yield await api.sign_in(office.emails[Role.ADMIN])


@pytest.fixture
def filled(admin_dsn: str, office: Office, tmp_path: Path) -> FilledWorkspace:
    return fill(admin_dsn, office, tmp_path, 2, 2)


async def put(admin: httpx.AsyncClient, kind: str, object_id: str, name: str = "case 7") -> str:
    body = {"kind": kind, "object_id": object_id, "name": name, "reason": "a lawsuit"}
    made = await admin.post("/api/legal-holds", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def refused(answer: httpx.Response, office: Office) -> None:
    assert (answer.status_code, answer.json()["code"]) == (409, "legal_hold"), answer.text
    assert office.emails[Role.ADMIN] in answer.text, "whom to ask"


async def test_a_held_document_is_neither_deleted_nor_erased_nor_overwritten(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, filled: FilledWorkspace
) -> None:
    held, other = filled.documents
    first, second = await put(admin, "document", held), await put(admin, "document", held, "case 8")
    refused(await admin.delete(f"/api/documents/{held}"), office)
    body = {"kind": "document", "ids": [held, other], "reason": "r"}
    refused(await admin.post("/api/erasures", json=body), office)
    refused(await admin.post("/api/erasures", json=body, params={"dry_run": True}), office)
    worker = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    for statement in (
        "delete from document_versions where document_id = %(d)s",
        "delete from pages where document_id = %(d)s",
        "update pages set text = 'another' where document_id = %(d)s",
    ):
        with pytest.raises(LegalHold):
            async with api.parts.database.transaction(worker) as tx:
                await tx.run(statement, d=held)
    with pytest.raises(LegalHold):  # as a sweep of a folder does it
        async with api.parts.database.transaction(worker) as tx:
            await MemberDocuments().delete(tx, worker, [held])
    assert (await admin.delete(f"/api/documents/{other}")).status_code == 200, "the other one is free"

    released = await admin.post(f"/api/legal-holds/{first}/release", json={"reason": "settled"})
    assert released.status_code == 200
    refused(await admin.delete(f"/api/documents/{held}"), office)
    again = await admin.post(f"/api/legal-holds/{first}/release", json={"reason": "settled"})
    assert (again.status_code, again.json()["code"]) == (409, "hold_released")
    await admin.post(f"/api/legal-holds/{second}/release", json={"reason": "settled too"})
    assert (await admin.delete(f"/api/documents/{held}")).status_code == 200
    listed = (await admin.get("/api/legal-holds")).json()
    assert listed["total"] == 2 and all(one["released_at"] for one in listed["items"])
    assert (await admin.get("/api/legal-holds", params={"standing": True})).json()["total"] == 0
    trail = (await admin.get("/api/audit", params={"action": "legal_hold"})).json()["items"]
    assert [one["action"] for one in trail] == ["legal_hold.release"] * 2 + ["legal_hold.put"] * 2


async def test_a_held_archive_keeps_what_came_out_of_it_and_a_held_member_its_archive(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, filled: FilledWorkspace
) -> None:
    archive, member = filled.documents
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update documents set parent_id = %s where id = %s", (archive, member))
    hold = await put(admin, "document", archive)
    refused(await admin.delete(f"/api/documents/{member}"), office)
    await admin.post(f"/api/legal-holds/{hold}/release", json={"reason": "r"})
    await put(admin, "document", member)
    refused(await admin.delete(f"/api/documents/{archive}"), office)
    assert (await admin.get("/api/documents/")).json()["total"] == 2


async def test_a_held_person_keeps_their_account_and_conversations(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, filled: FilledWorkspace
) -> None:
    held, other = filled.people
    await put(admin, "person", held)
    refused(await admin.post("/api/erasures", json={"kind": "person", "ids": [held], "reason": "r"}), office)
    worker = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    for statement in (
        "delete from sessions where user_id = %(u)s",
        "delete from users where id = %(u)s",
        "delete from runs where user_id = %(u)s",
        "delete from answers where user_id = %(u)s",
        "delete from messages where session_id in (select id from sessions where user_id = %(u)s)",
        "update messages set content = '{}' where session_id in (select id from sessions where user_id = %(u)s)",
    ):
        with pytest.raises(LegalHold):
            async with api.parts.database.transaction(worker) as tx:
                await tx.run(statement, u=held)
    # What they were told of a document is kept, and with it the document's erasure waits.
    before = table_hashes(admin_dsn, office.scope.tenant)
    about = {"kind": "document", "ids": [filled.documents[0]], "reason": "r"}
    refused(await admin.post("/api/erasures", json=about), office)
    after = table_hashes(admin_dsn, office.scope.tenant)
    assert {table for table in before if before[table] != after[table]} <= {"audit", "erasures"}
    done = await admin.post("/api/erasures", json={"kind": "person", "ids": [other], "reason": "r"})
    assert done.status_code == 200 and done.json()["finds"] == 0, done.text


RECORDS = (
    "run_steps",
    "approvals",
    "run_feedback",
    "events",
    "event_streams",
    "session_summaries",
    "episodes",
    "facts",
)


@pytest.mark.parametrize("kind", ["person", "document", "workspace"])
async def test_what_runs_and_conversations_kept_is_held_with_whom_and_what_it_is_about(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, filled: FilledWorkspace, kind: str
) -> None:
    """Journals, events, messages and memory, by whatever statement; of a run that quotes a held document too."""
    quoting = (
        "select a.user_id::text, coalesce(a.run_id, a.id)::text, c.document_id from answers a"
        " join answer_citations c on c.answer_id = a.id where a.workspace_id = %s"
        " and a.run_id is not null and a.user_id is not null limit 1"
    )
    with psycopg.connect(admin_dsn) as connection:
        ((person, run, document),) = connection.execute(quoting, (office.scope.workspace,)).fetchall()
    await put(admin, kind, {"person": person, "document": document, "workspace": office.scope.workspace}[kind])
    worker = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    of_run, of_session = "run_id = %(r)s", "session_id = (select session_id from runs where id = %(r)s)"
    conditions = dict.fromkeys(RECORDS, of_run) | dict.fromkeys(("session_summaries", "episodes", "facts"), of_session)
    conditions |= dict.fromkeys(("events", "event_streams"), "stream = 'run:' || %(r)s")
    conditions |= {"runs": "id = %(r)s", "sessions": "id = (select session_id from runs where id = %(r)s)"}
    conditions |= {"messages": of_session, "answers": of_run}
    looked = 0
    for table, condition in conditions.items():
        with psycopg.connect(admin_dsn) as connection:
            counted = f"select count(*) from {table} where {condition}"
            ((there,),) = connection.execute(counted.encode(), {"r": run}).fetchall()
        if not there:
            continue
        looked += 1
        with pytest.raises(LegalHold):
            async with api.parts.database.transaction(worker) as tx:
                await tx.run(f"delete from {table} where {condition}", r=run)
    assert looked >= 8, "there is something to hold"
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update sessions set updated_at = now() - interval '9 days'")
        connection.execute("update messages set created_at = now() - interval '9 days'")
        connection.execute("update answers set at = now() - interval '9 days'")
        connection.execute("update runs set finished_at = now() - interval '9 days'")
    for class_ in ("answers", "conversations", "messages", "runs", "journals"):
        (await admin.put("/api/retention", json={"class": class_, "days": 1})).raise_for_status()
    report = (await admin.post("/api/retention/run", params={"dry_run": False})).raise_for_status().json()["items"]
    assert all(one["held"] for one in report), report
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("select count(*) from runs where id = %s", (run,)).fetchall() == [(1,)]
        assert connection.execute("select count(*) from run_steps where run_id = %s", (run,)).fetchone() != (0,)
    refused(await admin.post("/api/erasures", json={"kind": "person", "ids": [person], "reason": "r"}), office)


DELETIONS = {
    "events": ("delete from events where workspace_id = %(w)s", "person"),
    "run_steps": ("delete from run_steps where workspace_id = %(w)s", "person"),
    "facts": ("delete from facts where workspace_id = %(w)s", "person"),
    "pages": ("delete from pages where document_id = %(d)s", "document"),
    "documents": ("delete from documents where id = %(d)s", "document"),
    "users": ("delete from users where id = %(u)s", "person"),
}


@pytest.mark.parametrize("table", DELETIONS)
async def test_a_hold_waits_for_whoever_has_passed_the_walls_and_sees_what_is_left(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, filled: FilledWorkspace, table: str
) -> None:
    statement, kind = DELETIONS[table]
    named = {"w": office.scope.workspace, "d": filled.documents[0], "u": filled.people[0]}
    body = {"kind": kind, "object_id": named["d" if kind == "document" else "u"], "name": "n", "reason": "r"}
    worker = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    async with api.parts.database.transaction(worker) as tx:
        await tx.run(statement, **named)
        putting = asyncio.create_task(admin.post("/api/legal-holds", json=body))
        await asyncio.sleep(0.3)
        assert not putting.done(), "it is waited for"
    answer = await putting
    gone = table in ("documents", "users")
    assert answer.status_code == (404 if gone else 201), answer.text


async def test_who_deletes_a_row_while_a_hold_is_put_on_it_waits_and_is_refused(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, filled: FilledWorkspace
) -> None:
    """Whoever deletes has the row locked by then: the hold does not wait for it, so that neither waits for ever."""
    with psycopg.connect(admin_dsn) as putting, psycopg.connect(admin_dsn, autocommit=True) as looking:
        lock = "select pg_advisory_xact_lock(hashtextextended('aos.holds.' || %s::text, 0))"
        putting.execute(lock, (office.scope.tenant,))
        deleting = asyncio.create_task(admin.delete(f"/api/documents/{filled.documents[0]}"))
        waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted"
        while not looking.execute(waiting).fetchall():
            assert not deleting.done()
            await asyncio.sleep(0.01)
        putting.execute(
            "insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by)"
            " values (%s, 'document', %s, 'case 7', 'a lawsuit', %s)",
            (office.scope.tenant, filled.documents[0], admin_of(admin_dsn, office)),
        )
        putting.commit()
        refused(await deleting, office)


async def test_a_held_workspace_is_not_deleted_and_nothing_in_it_is(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, filled: FilledWorkspace
) -> None:
    hold = await put(admin, "workspace", office.scope.workspace)
    refused(await admin.delete(f"/api/documents/{filled.documents[0]}"), office)
    made = (await admin.post("/api/workspaces", json={"name": "claims"})).json()["id"]
    await put(admin, "workspace", made)
    refused(await admin.delete(f"/api/workspaces/{made}", params={"confirm": "claims"}), office)
    assert (await admin.get("/api/documents/")).json()["total"] == 2
    with psycopg.connect(admin_dsn) as connection:  # also for whoever owns the tables
        for statement in ("delete from legal_holds where id = %s", "update legal_holds set name = 'x' where id = %s"):
            with pytest.raises(psycopg.errors.RaiseException):
                connection.execute(statement.encode(), (hold,))
            connection.rollback()
        with pytest.raises(psycopg.DatabaseError) as wall:
            connection.execute("delete from workspaces where id = %s", (made,))
        assert wall.value.sqlstate == "AOH09"


async def test_holds_are_put_on_what_there_is_by_who_may(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    for kind, object_id in (("document", "d" * 32), ("person", "nobody"), ("workspace", admin_of(admin_dsn, office))):
        body = {"kind": kind, "object_id": object_id, "name": "n", "reason": "r"}
        assert (await admin.post("/api/legal-holds", json=body)).status_code == 404, kind
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await operator.get("/api/legal-holds")).status_code == 403
    body = {"kind": "workspace", "object_id": office.scope.workspace, "name": "", "reason": ""}
    assert (await admin.post("/api/legal-holds", json=body)).status_code == 422


async def test_a_scan_that_would_read_a_held_document_again_leaves_it_and_reads_the_rest(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    folder = tmp_path / "scanned"
    folder.mkdir()
    for name in ("held", "free"):
        (folder / f"{name}.txt").write_text(f"What {name} says is not for long.")
    await ledger.scan(scope, folder)
    (held,) = await ledger.rows(scope, "select id from documents where filename = 'held.txt'")
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update pages set fingerprint = 'as nobody reads now', text = 'read in another way'")
        connection.execute(
            "insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by)"
            " values (%s, 'document', %s, 'case 7', 'a lawsuit', gen_random_uuid())",
            (scope.tenant, held["id"]),
        )
    job = await ledger.scan(scope, folder)
    pages = await ledger.rows(scope, "select d.filename, p.text from pages p join documents d on d.id = p.document_id")
    said = {row["filename"]: row["text"] for row in pages}
    assert said["held.txt"] == "read in another way" and "free says" in said["free.txt"]
    (unit,) = await ledger.rows(
        scope, "select failure from units where job_id = %(job)s and status = 'failed'", job=job
    )
    assert unit["failure"]["reason"] == "held" and "case 7" in unit["failure"]["detail"]
    (shown,) = await ledger.rows(scope, "select status from documents where id = %(id)s", id=held["id"])
    assert shown["status"] == "completed", "it stays as it was"
