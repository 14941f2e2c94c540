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
from pathlib import Path

import psycopg
import pytest

from cluster.basics.scope import Role, UserId
from cluster.cli import run_command
from cluster.state.backup.backup_run import plan_backup, run_backup
from cluster.state.backup.catalog import list_backups
from cluster.state.backup.destination import Destination
from cluster.state.backup.keeper import RUN
from cluster.state.backup.log_shipping import LogShipping
from cluster.state.backup.verification import verify_destination
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from cluster.state.signed_receipts import ReceiptSigner
from configs.sections import Settings
from configs.settings import load_settings
from pipelines.documents.store.blobs import FolderBlobs
from serve_apps.governance.erasure_case import SubjectKind
from serve_apps.governance.erasures import DataErasure, ErasureRequest
from tests.fakes.filled import admin_of, fill, words_of
from tests.fakes.http import Office, open_office


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


async def erase(settings: Settings, office: Office, user: str, kind: SubjectKind, *ids: str) -> None:
    database = Database(embedded.postgres_endpoints(settings)[0], size=2, timeout=10)
    await database.open()
    try:
        signer = ReceiptSigner.kept_in(settings.state_dir)
        blobs = FolderBlobs(settings.state_dir / "blobs")
        erasure = DataErasure(database, blobs, None, signer, lambda: datetime.now(UTC))
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


def test_dp_07_what_newer_code_has_made_is_refused(
    settings: Settings, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    made = run_backup(settings, place, plan_backup(settings, place, "full"), print)
    key = f"backups/{made.id}/manifest.json"
    place.put(key, place.read(key).replace(made.migration.encode(), b"9999_of_tomorrow.sql"))
    assert run_command(["restore", "--state-dir", str(folder / "b")]) == 1
    assert "made by newer code" in capsys.readouterr().err and not (folder / "b").exists()
