"""A whole migrated instance restored: every table's rows, erasures since, a backup that was killed."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest

from cluster.basics.scope import Role, UserId
from cluster.cli import run_command
from cluster.state.backup.backup_run import plan_backup, run_backup
from cluster.state.backup.blob_catalogue import read_catalogue
from cluster.state.backup.catalog import list_backups
from cluster.state.backup.destination import Destination
from cluster.state.backup.keeper import RUN
from cluster.state.backup.log_shipping import LogShipping
from cluster.state.backup.verification import verify_destination
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from cluster.state.objects.bucket import Bucket
from cluster.state.objects.migration import FolderSide
from cluster.state.signed_receipts import ReceiptSigner
from configs.sections import Settings
from configs.settings import load_settings
from pipelines.documents.store.blobs import BlobStore, FolderBlobs
from serve_apps.governance.erasure_case import SubjectKind
from serve_apps.governance.erasures import DataErasure, ErasureRequest
from tests.fakes.filled import admin_of, fill, words_of
from tests.fakes.http import Office, open_office
from tests.fakes.s3 import bucket_blobs, run_s3


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="aosd-"))
    yield made
    for state in ("a", "b"):
        embedded.stop_servers(made / state)
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (folder / "to").mkdir()
    (folder / "pass").write_text("a long passphrase")
    (folder / "pass").chmod(0o600)
    given = {"AOS_STATE_DIR": str(folder / "a"), "AOS_BACKUP_URL": str(folder / "to")}
    given |= {"AOS_BACKUP_PASSPHRASE_FILE": str(folder / "pass")}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    made = load_settings(given)
    embedded.start_servers(made)
    asyncio.run(apply_migrations(owner_of_schema(made)))
    ReceiptSigner.kept_in(folder / "a")
    return made


def owner_of_schema(settings: Settings) -> str:
    return embedded.postgres_endpoints(settings)[1] or ""


def all_rows(settings: Settings) -> dict[str, str]:
    """A digest of every row of every table; an unlogged one is empty after any crash, and so after a restore."""
    with psycopg.connect(owner_of_schema(settings)) as connection:
        names = connection.execute(
            "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = 'public' and c.relkind in ('r', 'p') and c.relpersistence = 'p'"
        ).fetchall()
        assert len(names) > 50
        found = {}
        for (table,) in sorted(names):
            digest = f"select md5(coalesce(string_agg(x::text, '|' order by x::text), '')) from {table} x"
            row = connection.execute(digest.encode()).fetchone()
            found[table] = str(row[0]) if row else ""
    return found


def moment(settings: Settings) -> datetime:
    time.sleep(0.05)
    with psycopg.connect(owner_of_schema(settings)) as connection:
        row = connection.execute("select now()").fetchone()
    assert row is not None
    time.sleep(0.05)
    found = row[0]
    assert isinstance(found, datetime)
    return found


async def erase(
    settings: Settings, office: Office, user: str, kind: SubjectKind, *ids: str, blobs: BlobStore | None = None
) -> None:
    database = Database(embedded.postgres_endpoints(settings)[0], size=2, timeout=10)
    await database.open()
    try:
        signer = ReceiptSigner.kept_in(settings.state_dir)
        kept = blobs or FolderBlobs(settings.state_dir / "blobs")
        erasure = DataErasure(database, kept, None, signer, lambda: datetime.now(UTC))
        scope = replace(office.scope, user=UserId(user), role=Role.ADMIN)
        await erasure.run(scope, ErasureRequest(kind, ids, "asked for by its owner"))
    finally:
        await database.close()


def test_dp_07_every_row_comes_back_and_what_was_erased_since_does_not(settings: Settings, folder: Path) -> None:
    owner, place = owner_of_schema(settings), Destination.of(str(folder / "to"), settings.blobs)
    office = open_office(owner)
    filled = fill(owner, office, folder / "a", 6, 3)
    shipping = LogShipping(settings, place)
    try:
        shipping.round()
        made = run_backup(settings, place, plan_backup(settings, place, "full"), print)
        assert made.migration
        fill(owner, office, folder / "a", 2, 1, first=50)
        then, at = all_rows(settings), moment(settings)
        open_office(owner)  # after that time
        shipping.round()
        assert run_command(["restore", "--to-time", at.isoformat(), "--state-dir", str(folder / "b"), "--json"]) == 0
        again = settings.model_copy(update={"state_dir": folder / "b"})
        embedded.start_servers(again)
        back = all_rows(again)
        assert {name for name in then if back[name] != then[name]} == set()
        embedded.stop_servers(folder / "b")
        shutil.rmtree(folder / "b")

        newcomer = str(time.time_ns() % 10**12).rjust(12, "0")
        user = f"00000000-0000-4000-8000-{newcomer}"  # who asked is unknown in what is restored
        with psycopg.connect(owner) as connection:
            connection.execute(
                "insert into users (id, tenant_id, email, password_hash, role)"
                " values (%s, %s, 'new@x.example', 'x', 'admin')",
                (user, office.scope.tenant),
            )
        asyncio.run(erase(settings, office, user, SubjectKind.DOCUMENT, *filled.documents[:2]))
        asyncio.run(erase(settings, office, admin_of(owner, office), SubjectKind.PERSON, filled.people[2]))
        late = open_office(owner, "late")  # a tenant that is unknown there, too
        theirs = fill(owner, late, folder / "a", 1, 1, first=90)
        asyncio.run(erase(settings, late, admin_of(owner, late), SubjectKind.DOCUMENT, *theirs.documents))
        shipping.round()
        assert len(list((folder / "to" / "erasures").iterdir())) == 3
        newest = datetime.fromisoformat(shipping.round())
    finally:
        shipping.close()
    assert verify_destination(place) == []
    assert run_command(["restore", "--to-time", at.isoformat(), "--state-dir", str(folder / "b"), "--json"]) == 0
    embedded.start_servers(again)
    text = "\n".join(read_rows(again))
    for number in (0, 1):
        assert f"juniper{number} " not in text and words_of(number) not in text
    assert "juniper2 " in text and "person2@" not in text and "person1@" in text
    kept = b"\n".join(path.read_bytes() for path in (folder / "b" / "blobs").rglob("*") if path.is_file())
    assert b"juniper0 " not in kept and b"juniper2 " in kept
    embedded.stop_servers(folder / "b")
    shutil.rmtree(folder / "b")

    then = all_rows(settings)
    words = ["restore", "--to-time", newest.isoformat(), "--state-dir", str(folder / "b")]
    assert run_command(words) == 0, "later than the last commit"
    embedded.start_servers(again)
    back = all_rows(again)
    assert {name for name in then if back[name] != then[name]} == set()


def test_dp_07_what_was_erased_since_does_not_come_back_into_a_bucket(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_s3() as server:
        first, second = server.settings("first"), server.settings("second")
        for name in ("endpoint", "access_key", "secret_key"):
            monkeypatch.setenv(f"AOS_BLOBS_{name.upper()}", str(getattr(first, name)))
        there = settings.model_copy(update={"blobs": first})
        owner, place = owner_of_schema(settings), Destination.of(str(folder / "to"), settings.blobs)
        office = open_office(owner)
        filled = fill(owner, office, folder / "a", 3, 1)
        bucket, kept = Bucket.of(first), FolderSide(folder / "a" / "blobs")
        keys = [key for key, _ in kept.objects() if "staging" not in key]
        for key in keys:
            bucket.put_blocks(key, kept.blocks(key))
        shipping = LogShipping(there, place)
        try:
            shipping.round()
            run_backup(there, place, plan_backup(there, place, "full"), print)
            blobs = bucket_blobs(first, folder / "a")
            asked = settings, office, admin_of(owner, office), SubjectKind.DOCUMENT
            asyncio.run(erase(*asked, filled.documents[0], blobs=blobs))
            left = {one.key for one in bucket.below()}
            assert len(left) < len(keys)
            shipping.round()
        finally:
            shipping.close()
        monkeypatch.setenv("AOS_BLOBS_URL", str(second.url))
        started = list_backups(place)[0].ended
        assert run_command(["restore", "--to-time", started, "--state-dir", str(folder / "b"), "--json"]) == 0
        assert {one.key for one in Bucket.of(second).below()} == left


def read_rows(settings: Settings) -> list[str]:
    found = []
    with psycopg.connect(owner_of_schema(settings)) as connection:
        for (table,) in connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall():
            found += [str(row[0]) for row in connection.execute(f"select x::text from {table} x".encode()).fetchall()]
    return found


def test_dp_07_a_backup_that_is_killed_counts_for_nothing_and_the_next_one_clears_up(
    settings: Settings, folder: Path
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    running = subprocess.Popen(RUN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
    deadline = time.monotonic() + 60
    while not list((folder / "a").glob("backup-*/data/PG_VERSION")):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert list_backups(place) == [] and list((folder / "a").glob("backup-*/"))
    made = run_backup(settings, place, plan_backup(settings, place, None), print)
    assert [one.id for one in list_backups(place)] == [made.id]
    assert not list((folder / "a").glob("backup-*/"))


def put_blob(settings: Settings, office: Office, name: str) -> str:
    key = f"{office.scope.tenant}/{office.scope.workspace}/{name}"
    path = settings.state_dir / "blobs" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"bytes of {name}")
    return key


def test_dp_07_a_round_looks_at_what_came_and_not_at_everything(settings: Settings, folder: Path) -> None:
    owner, place = owner_of_schema(settings), Destination.of(str(folder / "to"), settings.blobs)
    office = open_office(owner)
    fill(owner, office, folder / "a", 3, 1)
    shipping = LogShipping(settings, place)

    def stored() -> set[str]:
        with read_catalogue(place) as catalogue:
            return {one.key for one in catalogue.records()}

    try:
        shipping.round()  # the first looks at everything
        known = stored()
        keys = {name: put_blob(settings, office, name) for name in ("upload", "member", "version", "early", "nobody")}
        keys["members"] = put_blob(settings, office, "members/one")
        with psycopg.connect(owner) as connection:
            document = fill(owner, office, folder / "a", 1, 1, first=50).documents[0]
            inside = {"t": office.scope.tenant, "w": office.scope.workspace, "d": document}
            inside |= {name: f"blob:{key}" for name, key in keys.items()}
            files = "jsonb_build_array(jsonb_build_object('location', %(upload)s::text))"
            connection.execute(
                "with j as (insert into jobs (tenant_id, workspace_id, kind, lane, payload)"
                f" values (%(t)s, %(w)s, 'ingest', 'small', jsonb_build_object('files', {files})) returning id)"
                " insert into units (job_id, stage, key, subject, tenant_id, workspace_id, payload)"
                " select id, 'read', 'a', 'a', %(t)s, %(w)s, jsonb_build_object('location', %(member)s::text) from j",
                inside,
            )
            connection.execute("update document_versions set location = %(version)s where document_id = %(d)s", inside)
            uploads = "jsonb_build_object('uploads', jsonb_build_array(%(members)s::text))"
            connection.execute(
                f"update documents set upload_date = now(), metadata = metadata || {uploads} where id = %(d)s", inside
            )
        shipping.round()
        came = stored() - known
        assert came >= {keys[name] for name in ("upload", "member", "version", "members")}
        assert not came & {keys["early"], keys["nobody"]}, "no row names them: only a listing finds them"
        pieces = len(place.keys("blob-index"))
        shipping.round()
        assert len(place.keys("blob-index")) == pieces, "nothing is new"
    finally:
        shipping.close()
    run_backup(settings, place, plan_backup(settings, place, "full"), print)
    assert stored() >= set(keys.values()), "a backup looks at everything"
    assert place.keys("blob-index") == [], "the full one has the whole list"


def test_dp_07_what_newer_code_has_made_is_refused(
    settings: Settings, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    made = run_backup(settings, place, plan_backup(settings, place, "full"), print)
    key = f"backups/{made.id}/manifest.json"
    place.put(key, place.read(key).replace(made.migration.encode(), b"9999_of_tomorrow.sql"))
    assert run_command(["restore", "--state-dir", str(folder / "b")]) == 1
    told = capsys.readouterr().err
    assert f"newer code: {version('aos')} 9999_of_tomorrow" in told and "`aos --version` names" in told
    assert not (folder / "b").exists()
