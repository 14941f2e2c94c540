"""Documents and people are erased with a signed receipt, and nothing of them is found afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from redis.asyncio import Redis

from cluster.basics.errors import LegalHold, NotFound
from cluster.basics.redis_link import RedisAway
from cluster.basics.scope import Role, Scope, UserId
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.signed_receipts import ForgedReceipt, ReceiptSigner, verify_receipt
from pipelines.documents.store.blobs import FolderBlobs
from serve_apps.governance.document_eraser import DOCUMENTS_AT_ONCE
from serve_apps.governance.erasure_case import SubjectKind
from serve_apps.governance.erasures import DataErasure, ErasureRequest
from serve_apps.governance.stock import STOCK, Holding
from tests.fakes.filled import FilledWorkspace, admin_of, fill, remember, table_hashes, words_of
from tests.fakes.http import Office, open_office
from tests.fakes.valkey import Valkey, client, valkey

Record = Callable[[str, object], None]


@pytest.fixture
def server(state: Path) -> Iterator[Valkey]:
    with valkey(state) as made:
        yield made


@pytest.fixture
async def redis(server: Valkey) -> AsyncIterator[Redis]:
    made = client(server.url)
    yield made
    await made.aclose()


@pytest.fixture
async def erasure(app_dsn: str, tmp_path: Path, redis: Redis) -> AsyncIterator[DataErasure]:
    database = Database(app_dsn, size=4, timeout=10)
    await database.open()
    blobs = FolderBlobs(tmp_path / "blobs")
    yield DataErasure(database, blobs, redis, ReceiptSigner.kept_in(tmp_path), lambda: datetime.now(UTC))
    await database.close()


def asker(admin_dsn: str, office: Office) -> Scope:
    return replace(office.scope, user=UserId(admin_of(admin_dsn, office)), role=Role.ADMIN)


def of_documents(*ids: str) -> ErasureRequest:
    return ErasureRequest(SubjectKind.DOCUMENT, ids, "asked for by its owner")


def of_people(*ids: str) -> ErasureRequest:
    return ErasureRequest(SubjectKind.PERSON, ids, "left, and asked for it")


def rows_with(admin_dsn: str, *needles: str) -> dict[str, int]:
    """Every row of the whole database whose text has one of these, by table, whoever's it is."""
    with psycopg.connect(admin_dsn) as connection:
        names = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
        found = {}
        for (table,) in names:
            query = f"select count(*) from {table} x where x::text like any(%s)"
            row = connection.execute(query.encode(), ([f"%{one}%" for one in needles],)).fetchone()
            if row and row[0]:
                found[table] = int(row[0])
    return found


async def test_fifty_documents_and_five_people_leave_nothing_but_a_receipt(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path, redis: Redis, record_property: Record
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 50, 5)
    kept = fill(admin_dsn, office, tmp_path, 3, 2, first=500)
    other = open_office(admin_dsn)
    theirs = fill(admin_dsn, other, tmp_path, 2, 1, first=900)
    for one, text in ((filled, words_of(1)), (theirs, words_of(900))):
        await remember(redis, one, text)
    before = table_hashes(admin_dsn, other.scope.tenant)
    scope = asker(admin_dsn, office)

    planned = await erasure.plan(scope, of_documents(*filled.documents))
    assert (planned.counts["documents"], planned.counts["embeddings"], planned.counts["answer_citations"]) == (
        50,
        100,
        5,
    )
    documents = await erasure.run(scope, of_documents(*filled.documents))
    assert documents.receipt is not None
    assert documents.receipt["probe"]["places"] == {}, "nothing is found of the documents"
    people = await erasure.run(scope, of_people(*filled.people))
    assert people.receipt is not None and people.receipt["probe"]["places"] == {}

    needles = [f"juniper{number} " for number in range(50)] + [f"person{number}@" for number in range(5)]
    assert rows_with(admin_dsn, *needles) == {}
    ids = rows_with(admin_dsn, *filled.documents, *filled.people)
    assert ids.keys() == {"erasures", "audit"}, "on record are ids alone"
    uploads = list((tmp_path / "blobs" / office.scope.tenant / office.scope.workspace).rglob("*"))
    assert len([one for one in uploads if one.is_file()]) == 6, "those of the documents that stay, and their copies"
    assert table_hashes(admin_dsn, other.scope.tenant) == before, "another tenant keeps every byte"
    remembered = [key.decode() async for key in redis.scan_iter(match="*")]
    assert not [key for key in remembered if office.scope.workspace in key]
    assert [key for key in remembered if other.scope.workspace in key]
    for number in (500, 501, 502):
        found = rows_with(admin_dsn, f"juniper{number} ")
        assert found["pages"] == 1 and found["document_chunks"] == 2
    assert rows_with(admin_dsn, "person500@", "person501@")["users"] == 2
    assert len(kept.documents) == 3
    record_property("erased documents and people", "50 and 5")
    record_property("erasure probe finds", str(documents.receipt["probe"]["finds"] + people.receipt["probe"]["finds"]))


async def test_who_and_what_stays_keeps_every_byte(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    """A document and a person beside them, in the same workspace: their rows are the same before and after."""
    filled = fill(admin_dsn, office, tmp_path, 4, 2)
    kept = fill(admin_dsn, office, tmp_path, 2, 1, first=700)
    needles = ["juniper700 ", "juniper701 ", *kept.documents, *kept.people, *kept.runs, "person700@"]
    before = rows_of(admin_dsn, needles)
    await erasure.run(asker(admin_dsn, office), of_documents(*filled.documents))
    await erasure.run(asker(admin_dsn, office), of_people(*filled.people))
    assert rows_of(admin_dsn, needles) == before


def rows_of(admin_dsn: str, needles: list[str]) -> set[tuple[str, str]]:
    found = set()
    with psycopg.connect(admin_dsn) as connection:
        for (table,) in connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall():
            if table in ("erasures", "audit"):
                continue
            query = f"select x::text from {table} x where x::text like any(%s)"
            rows = connection.execute(query.encode(), ([f"%{one}%" for one in needles],)).fetchall()
            found |= {(table, row[0]) for row in rows}
    return found


async def test_a_receipt_is_checked_with_the_public_key_and_one_changed_byte_breaks_it(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path, record_property: Record
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 1, 1)
    done = await erasure.run(asker(admin_dsn, office), of_documents(*filled.documents))
    text = json.dumps(done.receipt)
    assert verify_receipt(json.loads(text), erasure.public_key) == json.loads(text)["key"]["id"]
    accepted = 0
    for at in range(len(text)):
        changed = text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]
        try:
            receipt = json.loads(changed)
        except ValueError:
            continue
        try:
            verify_receipt(receipt, erasure.public_key)
            accepted += 1
        except ForgedReceipt:
            pass
    assert accepted == 0
    stranger = ReceiptSigner.kept_in(tmp_path / "elsewhere")
    body = {name: value for name, value in json.loads(text).items() if name not in ("key", "signature")}
    with pytest.raises(ForgedReceipt):
        verify_receipt(stranger.sign(body), erasure.public_key)
    for garbage in ([], {}, {"key": 1, "signature": 2}, {"key": {"public": "x", "id": "y"}, "signature": "z"}, None):
        broken: Any = garbage
        with pytest.raises(ForgedReceipt):
            verify_receipt(broken)
    assert "juniper0" not in text and "paper-0" not in text, "no content, no names"
    record_property("changed receipts accepted", str(accepted))


async def test_one_that_is_cut_off_ends_complete_when_it_is_asked_for_again(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path, server: Valkey, record_property: Record
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 5, 2)
    scope = asker(admin_dsn, office)
    server.kill()
    for asked in (of_documents(*filled.documents), of_people(*filled.people)):
        with pytest.raises(RedisAway):
            await erasure.run(scope, asked)
    (row,) = psycopg.connect(admin_dsn).execute("select count(*) from erasures where state = 'begun'").fetchall()
    assert row[0] == 2
    server.start()
    for asked in (of_documents(*filled.documents), of_people(*filled.people)):
        done = await erasure.run(scope, asked)
        assert done.receipt is not None and done.receipt["probe"]["finds"] == 0
        noun = "documents" if asked.kind is SubjectKind.DOCUMENT else "users"
        assert done.receipt["erased"][noun] == len(asked.subjects), "counted once"
    record_property("erasures cut off and finished", "2")


async def test_ended_at_any_moment_it_goes_on_there(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path, record_property: Record
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 6, 3)
    scope, cuts = asker(admin_dsn, office), 0
    for asked in (of_documents(*filled.documents), of_people(*filled.people)):
        done, seconds = None, 0.02
        while done is None:
            try:
                done = await asyncio.wait_for(erasure.run(scope, asked), seconds)
            except TimeoutError:
                cuts, seconds = cuts + 1, seconds + 0.02
        assert done.receipt is not None and done.receipt["probe"]["places"] == {}
        noun = "documents" if asked.kind is SubjectKind.DOCUMENT else "users"
        assert done.receipt["erased"][noun] == len(asked.subjects), "counted once"
    assert rows_with(admin_dsn, "juniper", "person0@", "person1@") == {}
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("select count(*) from erasures where state = 'begun'").fetchall() == [(0,)]
    assert cuts > 1
    record_property("erasures ended in the middle and gone on with", str(cuts))


async def test_one_that_has_ended_is_told_again_as_its_reply_may_have_been_lost(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 2)
    scope, one, two = asker(admin_dsn, office), *filled.documents
    for asked in (of_documents(one, two), of_people(*filled.people)):
        done = await erasure.run(scope, asked)
        before = table_hashes(admin_dsn, office.scope.tenant)
        assert await erasure.run(scope, asked) == done, "the same one, with its receipt"
        assert table_hashes(admin_dsn, office.scope.tenant) == before, "and nothing is written"
    for other in (of_documents(one), of_people(one, two), of_documents(one, "f" * 32)):
        with pytest.raises(NotFound):
            await erasure.run(scope, other)
    elsewhere = asker(admin_dsn, open_office(admin_dsn))
    with pytest.raises(NotFound):
        await erasure.run(elsewhere, of_documents(one, two))
    brought_back(admin_dsn, office, filled)
    with pytest.raises(NotFound):  # one of them is there: what is asked for is not what was done
        await erasure.run(scope, of_documents(one, two))
    first = await erasure.run(scope, of_documents(one))
    assert first.receipt is not None and first.receipt["erased"]["documents"] == 1
    brought_back(admin_dsn, office, filled)
    second = await erasure.run(scope, of_documents(one))
    assert second.id != first.id and second.receipt is not None and second.receipt["erased"]["documents"] == 1
    assert await erasure.run(scope, of_documents(one)) == second, "the newest"


async def test_many_documents_go_in_batches_and_a_hold_in_the_middle_stops_it_with_what_went_said(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    count = 2 * DOCUMENTS_AT_ONCE + 10
    filled = fill(admin_dsn, office, tmp_path, count, 1)
    scope, asked = asker(admin_dsn, office), of_documents(*filled.documents)
    last = sorted(filled.documents)[-1]
    with psycopg.connect(admin_dsn, autocommit=True) as watcher:
        # Somebody puts a hold on the last one at the moment in which the first batch goes.
        watcher.execute(
            "create function hold_in_the_middle() returns trigger language plpgsql security definer as $$ begin"
            f" if (select count(*) from documents) < {count} and not exists (select from legal_holds) then"
            " insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by)"
            f" values ('{office.scope.tenant}', 'document', '{last}', 'case 7', 'a lawsuit', '{scope.user}');"
            " end if; return null; end $$"
        )
        watcher.execute(
            "create trigger middle after update of counts on erasures for each row"
            " execute function hold_in_the_middle()"
        )
        with pytest.raises(LegalHold) as stopped:
            await erasure.run(scope, asked)
        watcher.execute("drop trigger middle on erasures; drop function hold_in_the_middle()")
        assert f"{2 * DOCUMENTS_AT_ONCE} documents went before" in stopped.value.detail
        assert office.emails[Role.ADMIN] in stopped.value.hint
        (row,) = watcher.execute("select state, counts->'documents' from erasures").fetchall()
        assert row == ("begun", 2 * DOCUMENTS_AT_ONCE)
        assert watcher.execute("select count(*) from documents").fetchall() == [(10,)], "a batch goes whole or not"
        watcher.execute("update legal_holds set released_at = now(), released_by = held_by, release_reason = 'r'")
    done = await erasure.run(scope, asked)
    assert done.receipt is not None and done.receipt["probe"]["places"] == {}
    assert done.receipt["erased"]["documents"] == count, "counted once"


async def test_the_trail_still_verifies_after_a_name_went_out_of_it_and_tells_what_was_changed_by_hand(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path, app_dsn: str
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 1, 2)
    await erasure.run(asker(admin_dsn, office), of_people(filled.people[0]))
    database = Database(app_dsn)
    await database.open()
    log = AuditLog(database)
    assert await log.first_broken(office.scope) is None
    entries = await log.page(office.scope, limit=200)
    assert all(entry["intact"] for entry in entries)
    redacted = [entry for entry in entries if entry["detail"].get("email") == "[erased]"]
    assert [entry["object"] for entry in redacted] == [filled.people[0]], "the id stays, the name does not"
    with psycopg.connect(admin_dsn) as connection:
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            connection.execute("update audit set detail = '{}' where seq = 1")
        connection.rollback()
        connection.execute("alter table audit disable trigger all")
        connection.execute("update audit set detail = '{\"a\": 1}' where seq = %s", (redacted[0]["seq"],))
    assert await log.first_broken(office.scope) == redacted[0]["seq"]
    await database.close()


async def test_what_an_older_backup_brings_back_is_erased_again(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 1)
    scope = asker(admin_dsn, office)
    done = await erasure.run(scope, of_documents(*filled.documents))
    assert done.receipt is not None
    assert [one.again for one in await erasure.replay(scope, [])] == [None], "nothing came back"
    with psycopg.connect(admin_dsn) as connection:  # a backup from before the erasure: it knows nothing of it
        connection.execute("alter table erasures disable trigger all")
        connection.execute("delete from erasures")
    brought_back(admin_dsn, office, filled)
    with psycopg.connect(admin_dsn) as connection:  # another file came under the name of the second one since
        connection.execute(
            "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type)"
            " values (%s, %s, %s, 'upload:paper-1.txt', 'paper-1.txt', 'txt', 'upload')",
            (filled.documents[1], office.scope.tenant, office.scope.workspace),
        )
    (again,) = await erasure.replay(scope, [done.receipt])
    assert again.again is not None and again.subjects == 1
    assert rows_with(admin_dsn, "juniper0 ") == {}
    assert "documents" in rows_with(admin_dsn, filled.documents[1]), "what is new is not what came back"
    with pytest.raises(ForgedReceipt):
        await erasure.replay(scope, [{**done.receipt, "reason": "another"}])


def brought_back(admin_dsn: str, office: Office, filled: FilledWorkspace) -> None:
    with psycopg.connect(admin_dsn) as connection:
        ids = {"t": office.scope.tenant, "w": office.scope.workspace, "d": filled.documents[0], "text": words_of(0)}
        for statement in (
            "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type,"
            " upload_date)"
            " values (%(d)s, %(t)s, %(w)s, 'upload:paper-0.txt', 'paper-0.txt', 'txt', 'upload', '2026-01-01')",
            "insert into document_versions (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind,"
            " location,"
            " page_count) values ('v', %(d)s, %(t)s, %(w)s, 'h', 1, 'text', 'blob:none', 1)",
            "insert into pages (version_id, number, id, document_id, tenant_id, workspace_id, text, engine, ms,"
            " fingerprint)"
            " values ('v', 1, 'p', %(d)s, %(t)s, %(w)s, %(text)s, 'native', 1, 'f')",
        ):
            connection.execute(statement, ids)


def test_every_table_that_can_hold_content_is_on_the_stock_list(admin_dsn: str) -> None:
    """A new table with a column of text, JSON or bytes has to be given a place, or an erasure would pass it by."""
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute(
            "select distinct c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on"
            " t.oid = a.atttypid where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')"
            " and not c.relispartition and a.attnum > 0 and not a.attisdropped"
            " and t.typname in ('text', 'jsonb', 'json', 'bytea', '_text', 'varchar', 'vector', 'tsvector', 'uuid',"
            " '_uuid')"
        ).fetchall()
        columns = connection.execute(
            "select table_name, column_name from information_schema.columns where table_schema = 'public' and"
            " udt_name ="
            " 'uuid' and is_nullable = 'YES' and (column_name like '%\\_by' or column_name in ('user_id', 'reviewer'))"
            " and table_name in (select tablename from pg_tables where schemaname = 'public')"
        ).fetchall()
    tables = {row[0] for row in rows}
    assert tables - STOCK.keys() == set(), "not on the stock list (serve_apps/governance/stock.py)"
    assert STOCK.keys() - tables - {"keyword_index_made", "lane_workers", "settings_version"} == set(), "no such table"
    unnamed = {
        (table, column)
        for table, column in columns
        if column not in STOCK[table].people and STOCK[table].holding is not Holding.LEDGER and table != "answers"
    }
    assert unnamed == set(), "columns that name an account, which nobody would empty"


async def test_what_is_held_is_not_erased(erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 1)
    scope = asker(admin_dsn, office)
    with psycopg.connect(admin_dsn) as connection:
        for kind, id_ in (("document", filled.documents[1]), ("person", filled.people[0])):
            connection.execute(
                "insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by)"
                " values (%s, %s, %s, 'case 7', 'a lawsuit', %s)",
                (office.scope.tenant, kind, id_, scope.user),
            )
    before = table_hashes(admin_dsn, office.scope.tenant)
    for asked in (of_documents(*filled.documents), of_people(*filled.people)):
        with pytest.raises(LegalHold) as refused:
            await erasure.run(scope, asked)
        assert office.emails[Role.ADMIN] in refused.value.hint and "case 7" in refused.value.detail
    assert table_hashes(admin_dsn, office.scope.tenant) == before


def owner_does(admin_dsn: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(admin_dsn) as connection:
        found = connection.execute(statement.encode(), values)
        return list(found.fetchall()) if found.description else []


@pytest.mark.parametrize("name", ["text", "content", "role", "message"])
async def test_a_file_that_is_called_as_a_field_takes_nothing_else_along(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path, name: str
) -> None:
    """Whoever uploads chooses the name: every run and every message of the workspace had such a key."""
    filled = fill(admin_dsn, office, tmp_path, 2, 2)
    first, second = filled.documents
    owner_does(admin_dsn, "update documents set filename = %s where id = %s", name, first)
    before = owner_does(admin_dsn, "select input, outcome from runs where input::text like %s", "%juniper1 %")
    messages = owner_does(admin_dsn, "select count(*) from messages where content::text like %s", "%[[]erased%")
    await erasure.run(asker(admin_dsn, office), of_documents(first))
    assert owner_does(admin_dsn, "select input, outcome from runs where input::text like %s", "%juniper1 %") == before
    found = owner_does(admin_dsn, "select count(*) from messages where content::text like %s", "%[[]erased%")
    assert found == messages and owner_does(admin_dsn, "select id from documents where id = %s", second)


async def test_a_prompt_that_quotes_a_document_does_not_take_everybodys_runs_along(
    erasure: DataErasure, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 2)
    quoted = words_of(0)
    owner_does(
        admin_dsn,
        "update agents set system_prompt = %s where workspace_id = %s",
        f"Answer politely. {quoted}",
        office.scope.workspace,
    )
    steps = "update run_steps set request = jsonb_build_object('system', %s::text) where run_id = %s"
    for run in filled.runs:
        owner_does(admin_dsn, steps, f"Answer politely. {quoted}", run)
    mine = filled.runs[1]
    assert owner_does(admin_dsn, "select id from runs where id = %s", mine)
    await erasure.run(asker(admin_dsn, office), of_documents(filled.documents[0]))
    assert owner_does(admin_dsn, "select id from runs where id = %s", mine), "it is about another document"
