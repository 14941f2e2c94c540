"""Backup and restore of a real embedded server: to a time, with bytes and erasures; half ones and garbage are named."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.cli import run_command
from cluster.state.backup.backup_run import plan_backup, run_backup
from cluster.state.backup.backup_state import backup_complaint, read_backup_state
from cluster.state.backup.blob_copies import blob_object, read_index
from cluster.state.backup.catalog import list_backups
from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.backup.instance_claim import ForeignDestination, claim_destination
from cluster.state.backup.keeper import BackupKeeper
from cluster.state.backup.log_shipping import LogShipping
from cluster.state.backup.verification import verify_destination
from cluster.state.db import embedded
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.s3 import run_s3


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="aosb-"))
    yield made
    for state in ("a", "b"):
        embedded.stop_servers(made / state)
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("AOS_BACKUP_PASSPHRASE_FILE", str(folder / "pass"))
    (folder / "to").mkdir()
    (folder / "pass").write_text("a long passphrase")
    given = {"AOS_STATE_DIR": str(folder / "a"), "AOS_BACKUP_URL": str(folder / "to")}
    made = load_settings({**given, "AOS_BACKUP_PASSPHRASE_FILE": str(folder / "pass")})
    embedded.start_servers(made)
    (folder / "a" / "vault-key").write_text("the key")
    change(made, "create table things (id int primary key, what text)")
    return made


def change(settings: Settings, statement: str) -> None:
    with psycopg.connect(embedded.postgres_endpoints(settings)[1] or "", autocommit=True) as db:
        db.execute(statement.encode())


def row_hash(settings: Settings) -> Any:
    with psycopg.connect(embedded.postgres_endpoints(settings)[1] or "", autocommit=True) as db:
        found = db.execute("select md5(string_agg(t::text, chr(10) order by id)), now() from things t").fetchone()
    assert found is not None
    return found


def put_blob(settings: Settings, name: str) -> Path:
    path = settings.state_dir / "blobs" / "t" / "w" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"bytes of {name}")
    return path


def back_up(settings: Settings, kind: str) -> str:
    place = Destination.of(settings.backup.url or "", settings.blobs)
    return run_backup(settings, place, plan_backup(settings, place, kind), print).kind


def test_dp_07_full_two_increments_and_log_restore_to_a_time_between_two_changes(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    shipping = LogShipping(settings, place)
    try:
        shipping.round()
        change(settings, "insert into things select n, 'first' from generate_series(1, 1000) n")
        gone = put_blob(settings, "gone")
        assert back_up(settings, "full") == "full"
        change(settings, "update things set what = 'second' where id < 100")
        assert back_up(settings, "incremental") == "incremental"
        put_blob(settings, "kept")
        change(settings, "update things set what = 'third' where id < 50")
        assert back_up(settings, "incremental") == "incremental"
        change(settings, "insert into things values (2000, 'after the last backup')")
        time.sleep(0.05)
        then, moment = row_hash(settings)
        time.sleep(0.05)
        gone.unlink()
        change(settings, "delete from things where id > 500")
        began = time.monotonic()
        assert datetime.fromisoformat(shipping.round()) > moment and time.monotonic() - began < 60
    finally:
        shipping.close()
    assert verify_destination(place) == []
    target = str(folder / "b")
    words = ["restore", "--from", str(folder / "to"), "--to-time", moment.isoformat(), "--state-dir", target, "--json"]
    assert run_command(words) == 0, capsys.readouterr()
    assert len(list_backups(place)) == 3
    again = settings.model_copy(update={"state_dir": folder / "b"})
    embedded.start_servers(again)
    assert row_hash(again)[0] == then
    assert (folder / "b" / "blobs" / "t" / "w" / "gone").read_text() == "bytes of gone"
    assert (folder / "b" / "vault-key").read_text() == "the key"
    assert run_command(words) == 1  # not empty any more
    assert "is not empty" in capsys.readouterr().err


def test_dp_07_a_half_backup_counts_for_nothing_and_garbage_is_named(settings: Settings, folder: Path) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    put_blob(settings, "one")
    shipping = LogShipping(settings, place)
    try:
        shipping.round()
        assert back_up(settings, "full") == "full"
        change(settings, "insert into things values (1, 'x')")
        change(settings, "select pg_switch_wal()")
        shipping.round()
    finally:
        shipping.close()
    half = folder / "to" / "backups" / "20990101T000000Z-ffffff"
    half.mkdir()
    (half / "base.tar.gz").write_bytes(b"cut off")
    assert len(list_backups(place)) == 1 and verify_destination(place) == []
    assert back_up(settings, "incremental") == "incremental"
    (digest, _) = next(iter(read_index(place).values()))
    (folder / "to" / blob_object(digest)).unlink()
    segment = sorted((folder / "to" / "wal").glob("0*.gz"))[0]
    segment.write_bytes(segment.read_bytes()[:-100])
    faults = "\n".join(verify_destination(place))
    assert "blob t/w/one" in faults and segment.name in faults
    assert run_command(["backup", "verify", "--from", str(folder / "to"), "--json"]) == 3


def test_dp_07_a_missing_destination_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(BackupFailed, match="there is no folder"):
        Destination.of(str(folder / "nowhere"), load_settings({}).blobs)


def test_dp_07_prune_never_breaks_a_chain(tmp_path: Path) -> None:
    place = Destination.of(str(tmp_path), load_settings({}).blobs)
    for id_, parent in (("1", None), ("2", "1"), ("3", None), ("4", "3"), ("5", "9")):
        at = datetime(2026, 1, int(id_), tzinfo=UTC).isoformat()
        body = {
            "id": id_,
            "parent": parent,
            "began": at,
            "ended": at,
            "wal": "0" * 24,
            "digests": {},
            "size": 1,
            "blobs": 0,
        }
        place.put(f"backups/{id_}/manifest.json", json.dumps(body).encode())
    from cluster.state.backup.catalog import removable

    found, now = list_backups(place), datetime(2026, 1, 5, tzinfo=UTC)
    assert [one.id for one in found] == ["1", "2", "3", "4"]  # what 5 builds on is gone
    assert [one.id for one in removable(found, 1, None, now)] == ["1", "2"]
    assert removable(found, 1, 3.5, now) == []


def keeper_of(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...] | None = None
) -> BackupKeeper:
    for name, value in (("AOS_STATE_DIR", settings.state_dir), ("AOS_BACKUP_URL", settings.backup.url or "")):
        monkeypatch.setenv(name, str(value))
    return BackupKeeper(settings, print) if command is None else BackupKeeper(settings, print, command)


def step_until(keeper: BackupKeeper, what: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        keeper.step()
        time.sleep(0.1)


def test_dp_07_the_keeper_makes_the_first_backup_and_ships_a_quiet_instance(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = keeper_of(settings, monkeypatch)
    try:
        step_until(keeper, lambda: bool(read_backup_state(folder / "a").ended))
        known = read_backup_state(folder / "a")
        assert (known.kind, known.failed) == ("full", "") and not keeper.is_due()
        change(settings, "insert into things values (1, 'quiet')")
        moment = row_hash(settings)[1]
        step_until(keeper, lambda: datetime.fromisoformat(read_backup_state(folder / "a").shipped) > moment)
        assert backup_complaint(read_backup_state(folder / "a"), 24, datetime.now(UTC), ships=True) == ""
        late = datetime.now(UTC) + timedelta(hours=49)
        assert "49.0 h old" in backup_complaint(read_backup_state(folder / "a"), 24, late, ships=True)
        (folder / "to").rename(folder / "away")
        known = read_backup_state(folder / "a")
        step_until(keeper, lambda: "is its disk mounted" in read_backup_state(folder / "a").failed)
        assert not (folder / "to").exists(), "nothing is written beside the disk"
        (folder / "away").rename(folder / "to")
        step_until(keeper, lambda: read_backup_state(folder / "a").shipped > known.shipped)
        assert read_backup_state(folder / "a").failed == ""
    finally:
        keeper.close()


def await_lost_slot(settings: Settings) -> None:
    for _ in range(50):
        change(settings, "select pg_switch_wal()")
        change(settings, "checkpoint")
        with psycopg.connect(embedded.postgres_endpoints(settings)[1] or "", autocommit=True) as db:
            if db.execute("select wal_status from pg_replication_slots").fetchone() == ("lost",):
                return
    raise AssertionError("the slot keeps all of the log")


def test_dp_07_a_slot_that_was_lost_is_begun_anew_and_told(settings: Settings, folder: Path) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    shipping = LogShipping(settings, place)
    try:
        shipping.round()
        assert back_up(settings, "full") == "full"
        shipping.close()
        change(settings, "alter system set max_slot_wal_keep_size = '1MB'")
        change(settings, "select pg_reload_conf()")
        for _ in range(3):
            change(
                settings,
                "insert into things select n, repeat('x', 500) from generate_series(1, 9000) n "
                "on conflict (id) do update set what = excluded.what || 'y'",
            )
            change(settings, "select pg_switch_wal()")
        await_lost_slot(settings)
        middle = row_hash(settings)[1]
        shipping.round()
        known = read_backup_state(folder / "a")
        assert known.gap > known.ended
        assert "gap" in backup_complaint(known, 24, datetime.now(UTC), ships=True)
        change(settings, "insert into things values (100000, 'after the gap')")
        change(settings, "select pg_switch_wal()")
        shipping.round()
        words = ["restore", "--from", str(folder / "to"), "--to-time", middle.isoformat(), "--state-dir"]
        assert run_command([*words, str(folder / "b")]) == 1
        assert back_up(settings, "incremental") == "incremental"
        then = row_hash(settings)[0]
        shipping.round()
    finally:
        shipping.close()
    known = read_backup_state(folder / "a")
    assert backup_complaint(known, 24, datetime.now(UTC), ships=False) == ""
    embedded.stop_servers(folder / "b")
    shutil.rmtree(folder / "b")
    assert run_command(["restore", "--from", str(folder / "to"), "--state-dir", str(folder / "b")]) == 0
    again = settings.model_copy(update={"state_dir": folder / "b"})
    embedded.start_servers(again)
    assert row_hash(again)[0] == then


def test_dp_07_a_destination_belongs_to_one_instance(settings: Settings, folder: Path) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    claim_destination(settings, place)
    claim_destination(settings, place)
    other = settings.model_copy(update={"state_dir": folder / "other"})
    with pytest.raises(ForeignDestination, match="belongs to an instance of"):
        claim_destination(other, place)


def test_dp_07_a_bucket_takes_backups_and_log_and_gives_them_back(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_s3() as server:
        bucket = server.settings("backups")
        given = {"AOS_BACKUP_URL": bucket.url, "AOS_BLOBS_ENDPOINT": bucket.endpoint}
        given |= {"AOS_BLOBS_ACCESS_KEY": bucket.access_key, "AOS_BLOBS_SECRET_KEY": bucket.secret_key}
        given |= {"AOS_STATE_DIR": str(folder / "a"), "AOS_BACKUP_PASSPHRASE_FILE": str(folder / "pass")}
        for name, value in given.items():
            monkeypatch.setenv(name, str(value))
        there = load_settings({name: str(value) for name, value in given.items()})
        place = Destination.of(there.backup.url or "", there.blobs)
        put_blob(there, "one")
        shipping = LogShipping(there, place)
        try:
            shipping.round()
            assert back_up(there, "full") == "full"
            change(there, "insert into things values (1, 'one')")
            assert back_up(there, "incremental") == "incremental"
            change(there, "insert into things values (2, 'two')")
            then, moment = row_hash(there)
            time.sleep(0.05)
            change(there, "delete from things")
            shipping.round()
        finally:
            shipping.close()
        assert verify_destination(place) == []
        words = ["restore", "--to-time", moment.isoformat(), "--state-dir", str(folder / "b"), "--json"]
        assert run_command(words) == 0, capsys.readouterr()
        again = there.model_copy(update={"state_dir": folder / "b"})
        embedded.start_servers(again)
        assert row_hash(again)[0] == then
        assert (folder / "b" / "blobs" / "t" / "w" / "one").read_text() == "bytes of one"
        assert run_command(["backup", "prune", "--keep-full", "1", "--json"]) == 0
        assert len(list_backups(place)) == 2
        with pytest.raises(ForeignDestination):
            claim_destination(again, place)
