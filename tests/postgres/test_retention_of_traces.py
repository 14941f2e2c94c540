"""What a reading keeps beside the pages, memory, and what says how answers came about: each goes at its time."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.filled import FilledWorkspace, fill, table_hashes
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve
from tests.postgres.test_retention import counts, keep

NEW = ("pages", "memory", "traces")
OURS = {"audit", "retention_rules", "refresh_tokens", "users", "audit_cursors"}


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


def aged(admin_dsn: str, filled: FilledWorkspace, days: int) -> None:
    """What the first document's job and the first person left is so many days old; the rest is of now."""
    with psycopg.connect(admin_dsn) as connection:
        trace = '{"answer": "a", "trace": [{"step": "model"}]}'
        ids = {"w": filled.scope.workspace, "u": filled.people[0], "r": filled.runs[0], "d": filled.documents[0]}
        ids |= {"trace": trace, "days": days, "search": '{"hits": [], "stages": []}'}
        for statement in (
            "update jobs set finished_at = now() where workspace_id = %(w)s",
            "update runs set finished_at = now(), outcome = %(trace)s where workspace_id = %(w)s",
            "update answers set search = %(search)s, at = now() where workspace_id = %(w)s",
            "update jobs set finished_at = now() - make_interval(days => %(days)s) where id in (select job_id from"
            " units u join documents d on d.origin = u.key where d.id = %(d)s)",
            "update runs set finished_at = now() - make_interval(days => %(days)s) where id = %(r)s",
            "update answers set at = now() - make_interval(days => %(days)s) where user_id = %(u)s",
            "update facts set created_at = now() - make_interval(days => %(days)s) where user_id = %(u)s",
            "update episodes set updated_at = now() - make_interval(days => %(days)s) where session_id in"
            " (select id from sessions where user_id = %(u)s)",
            "update session_summaries set updated_at = now() - make_interval(days => %(days)s) where session_id in"
            " (select id from sessions where user_id = %(u)s)",
        ):
            connection.execute(statement, ids)


def rows(admin_dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(admin_dsn) as connection:
        return connection.execute(query.encode()).fetchall()


async def test_me_07_at_a_later_hour_pages_memory_and_traces_go_and_nothing_else(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path, clock: Clock
) -> None:
    """ME-07, GV-05: units and events of a job, facts, episode and summary of a person, the trace of a run."""
    filled = fill(admin_dsn, office, tmp_path, 2, 2)
    stranger = open_office(admin_dsn)
    fill(admin_dsn, stranger, tmp_path, 1, 1, first=900)
    aged(admin_dsn, filled, 5)
    theirs, before = table_hashes(admin_dsn, stranger.scope.tenant), table_hashes(admin_dsn, office.scope.tenant)
    for kind in NEW:
        await keep(admin, kind, 10)
    assert await counts(admin, dry_run=False) == dict.fromkeys(NEW, (0, 0, 0)), "not yet"
    clock.now += timedelta(days=6)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    due = await counts(admin, dry_run=True)
    assert due == {"pages": (1, 0, 0), "memory": (3, 0, 0), "traces": (1, 0, 0)}, due
    untouched = table_hashes(admin_dsn, office.scope.tenant)
    assert {table for table, digest in untouched.items() if digest != before[table]} <= OURS, (
        "a dry run deletes nothing"
    )
    done = await counts(admin, dry_run=False)
    assert done == {kind: (many, 0, many) for kind, (many, _, _) in due.items()}
    after = table_hashes(admin_dsn, office.scope.tenant)
    changed = {table for table, digest in after.items() if digest != before[table]} - OURS
    assert changed == {"units", "events", "facts", "episodes", "session_summaries", "runs", "answers"}, changed
    assert rows(admin_dsn, "select count(*) from jobs")[0][0] == 3, "jobs stay, with their counts"
    kept = dict(rows(admin_dsn, "select id::text, outcome::text from runs"))
    assert '"trace": []' in str(kept[filled.runs[0]]) and '"answer": "a"' in str(kept[filled.runs[0]])
    assert "model" in str(kept[filled.runs[1]])
    assert sorted(str(row[0]) for row in rows(admin_dsn, "select distinct user_id from facts")) != []
    assert table_hashes(admin_dsn, stranger.scope.tenant) == theirs, "another tenant's rules are its own"
    assert all(value == (0, 0, 0) for value in (await counts(admin, dry_run=False)).values())
    why = [row[0] for row in rows(admin_dsn, "select search::text from answers")]
    assert sorted(why) != [] and "{}" in why


async def test_what_is_held_keeps_its_pages_memory_and_traces(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 2)
    aged(admin_dsn, filled, 20)
    for kind, object_id in (("document", filled.documents[0]), ("person", filled.people[0])):
        body = {"kind": kind, "object_id": object_id, "name": "n", "reason": "r"}
        assert (await admin.post("/api/legal-holds", json=body)).status_code == 201
    for kind in NEW:
        await keep(admin, kind, 10)
    before = table_hashes(admin_dsn, office.scope.tenant)
    assert await counts(admin, dry_run=False) == {"pages": (0, 1, 0), "memory": (0, 3, 0), "traces": (0, 1, 0)}
    after = table_hashes(admin_dsn, office.scope.tenant)
    assert {table for table, digest in after.items() if digest != before[table]} <= OURS


async def test_memory_and_traces_go_under_the_hold_of_a_document_that_is_quoted(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 2)
    aged(admin_dsn, filled, 20)
    for kind in ("memory", "traces"):
        await keep(admin, kind, 10)
    body = {"kind": "document", "object_id": filled.documents[0], "name": "n", "reason": "r"}
    hold = (await admin.post("/api/legal-holds", json=body)).json()
    before = table_hashes(admin_dsn, office.scope.tenant)
    assert await counts(admin, dry_run=False) == {"memory": (0, 3, 0), "traces": (0, 1, 0)}
    after = table_hashes(admin_dsn, office.scope.tenant)
    assert {table for table, digest in after.items() if digest != before[table]} <= OURS
    await admin.post(f"/api/legal-holds/{hold['id']}/release", json={"reason": "over"})
    assert await counts(admin, dry_run=False) == {"memory": (3, 0, 3), "traces": (1, 0, 1)}


@pytest.mark.parametrize("kind", NEW)
async def test_a_hold_that_comes_while_a_batch_is_chosen_is_seen_by_it(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path, kind: str
) -> None:
    """The batch has been chosen and waits for whoever is putting a hold; then it looks again, and nothing goes."""
    filled = fill(admin_dsn, office, tmp_path, 2, 2)
    aged(admin_dsn, filled, 20)
    await keep(admin, kind, 10)
    before = table_hashes(admin_dsn, office.scope.tenant)
    with psycopg.connect(admin_dsn) as putting, psycopg.connect(admin_dsn, autocommit=True) as looking:
        lock = "select pg_advisory_xact_lock(hashtextextended('aos.holds.' || %s::text, 0))"
        putting.execute(lock, (office.scope.tenant,))
        batch = asyncio.create_task(api.parts.retention.run(office.scope))
        waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted"
        while not looking.execute(waiting).fetchall():
            assert not batch.done()
            await asyncio.sleep(0.01)
        putting.execute(
            "insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by)"
            " values (%s, 'document', %s, 'case 7', 'a lawsuit', gen_random_uuid())",
            (office.scope.tenant, filled.documents[0]),
        )
        putting.commit()
        assert [one.deleted for one in await batch] == [0]
    after = table_hashes(admin_dsn, office.scope.tenant)
    assert {table for table, digest in after.items() if digest != before[table]} <= OURS | {"legal_holds"}


@pytest.mark.parametrize("status", ["pending", "failed"])
async def test_a_job_that_can_be_resumed_or_retried_keeps_its_units(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path, status: str
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 1, 1)
    aged(admin_dsn, filled, 20)
    await keep(admin, "pages", 10)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update units set status = %s where stage = 'index'", (status,))
        connection.execute("update jobs set state = 'partial'")
    assert await counts(admin, dry_run=False) == {"pages": (0, 0, 0)}
    assert rows(admin_dsn, "select count(*) from units") == [(2,)]
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update units set status = 'done'")
    assert await counts(admin, dry_run=False) == {"pages": (1, 0, 1)}


async def test_staging_folders_of_killed_workers_go_unless_something_is_held(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path, clock: Clock
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 0)
    old, young = (
        tmp_path / "blobs" / office.scope.tenant / office.scope.workspace / "staging" / f"job{n}" for n in (0, 1)
    )
    now = clock.now.timestamp()
    os.utime(old, (now - 20 * 86_400, now - 20 * 86_400))
    os.utime(young, (now, now))
    await keep(admin, "pages", 10)
    body = {"kind": "document", "object_id": filled.documents[1], "name": "n", "reason": "r"}
    hold = (await admin.post("/api/legal-holds", json=body)).json()
    assert (await counts(admin, dry_run=False))["pages"] == (0, 1, 0) and old.exists()
    released = await admin.post(f"/api/legal-holds/{hold['id']}/release", json={"reason": "over"})
    assert released.status_code == 200, released.text
    assert (await counts(admin, dry_run=True))["pages"] == (1, 0, 0) and old.exists()
    assert (await counts(admin, dry_run=False))["pages"] == (1, 0, 1)
    assert not old.exists() and young.exists()


async def test_a_run_that_was_stopped_in_the_middle_goes_on(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    """A batch is one transaction: what a killed process did not delete is deleted by the next, and counted once."""
    filled = fill(admin_dsn, office, tmp_path, 1, 1)
    aged(admin_dsn, filled, 20)
    for kind in NEW:
        await keep(admin, kind, 10)
    with psycopg.connect(admin_dsn) as connection:  # the database refuses after the first class, as if it went away
        connection.execute("revoke update on session_summaries from aos_app")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await api.parts.retention.run(office.scope)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("grant update on session_summaries to aos_app")
    assert rows(admin_dsn, "select count(*) from facts") == [(1,)], "of the broken batch nothing went"
    assert await counts(admin, dry_run=False) == {"pages": (0, 0, 0), "memory": (3, 0, 3), "traces": (1, 0, 1)}
