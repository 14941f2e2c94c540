"""Backup and restore of a real embedded server: to a time, with bytes and erasures; half ones and garbage are named."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from cluster.basics.disk import DiskRoom, DiskUsage
from cluster.basics.errors import Conflict, DiskFull
from cluster.cli import run_command
from cluster.state.backup.backup_run import plan_backup, run_backup, run_tool
from cluster.state.backup.backup_state import backup_complaint, read_backup_state
from cluster.state.backup.blob_catalogue import blob_object, read_catalogue
from cluster.state.backup.catalog import list_backups
from cluster.state.backup.destination import BackupFailed, DamagedBackup, Destination
from cluster.state.backup.instance_claim import ForeignDestination, claim_destination
from cluster.state.backup.keeper import RUN, BackupKeeper
from cluster.state.backup.log_segments import logged, segment_number
from cluster.state.backup.log_shipping import SHIPPED, LogShipping
from cluster.state.backup.pruning import prune_backups
from cluster.state.backup.restoring import require_finished
from cluster.state.backup.verification import verify_destination
from cluster.state.db import embedded
from cluster.state.objects.migration import FolderSide
from cluster.supervisor import prepare_state
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.keeper_steps import step_until
from tests.fakes.s3 import run_s3

AT = "2026-01-01T00:00:00+00:00"


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
    (folder / "pass").chmod(0o600)
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
    require_finished(folder / "b")
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
    with read_catalogue(place) as catalogue:
        (folder / "to" / blob_object(next(catalogue.records()).digest)).unlink()
    segment = sorted((folder / "to" / "wal").glob("0*.gz"))[0]
    segment.write_bytes(segment.read_bytes()[:-100])
    faults = "\n".join(verify_destination(place))
    assert "blob t/w/one" in faults and segment.name in faults
    assert run_command(["backup", "verify", "--from", str(folder / "to"), "--json"]) == 3


def test_dp_07_a_missing_destination_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(BackupFailed, match="there is no folder"):
        Destination.of(str(folder / "nowhere"), load_settings({}).blobs)


def restore(folder: Path, *more: str) -> int:
    return run_command(["restore", "--from", str(folder / "to"), "--state-dir", str(folder / "b"), "--json", *more])


def test_dp_07_a_damaged_file_is_left_out_and_told_and_the_others_are_there(
    settings: Settings, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    put_blob(settings, "bent")
    put_blob(settings, "good")
    change(settings, "insert into things values (1, 'there')")
    assert back_up(settings, "full") == "full"
    with read_catalogue(place) as catalogue:
        bent = next(one for one in catalogue.records() if one.key.endswith("bent"))
    (folder / "to" / blob_object(bent.digest)).write_text("bytes of bend")
    capsys.readouterr()
    assert restore(folder) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["damaged"] == ["t/w/bent"]
    assert set(told["seconds"]) == {"copy", "combine", "replay", "blobs", "erasures"}
    assert {path.name for path in (folder / "b" / "blobs").rglob("*") if path.is_file()} == {"good"}


def test_dp_07_a_base_that_was_changed_is_refused(
    settings: Settings, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert back_up(settings, "full") == "full"
    (packed,) = (folder / "to").rglob("base.tar.gz")
    packed.write_bytes(packed.read_bytes() + b"more")
    assert restore(folder) == 1
    assert "is not what was written" in capsys.readouterr().err
    with pytest.raises(Conflict, match="did not end well"):  # nobody opens what is half there
        prepare_state(settings.model_copy(update={"state_dir": folder / "b"}), print)


def test_dp_07_a_database_that_the_settings_name_is_never_touched_by_a_restore(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change(settings, "insert into things values (1, 'there')")
    assert back_up(settings, "full") == "full"
    monkeypatch.setenv("DATABASE_URL", embedded.postgres_endpoints(settings)[1] or "")
    assert restore(folder) == 1
    assert "the database is external" in capsys.readouterr().err and not (folder / "b").exists()


def test_dp_07_of_an_external_database_bytes_and_keys_are_put_back(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = embedded.postgres_endpoints(settings)[1] or ""
    put_blob(settings, "one")
    monkeypatch.setenv("DATABASE_URL", owner)
    external = load_settings({**settings_names(settings), "DATABASE_URL": owner})
    assert back_up(external, "") == "files"
    assert restore(folder) == 0
    assert (folder / "b" / "blobs" / "t" / "w" / "one").read_text() == "bytes of one"
    assert (folder / "b" / "vault-key").read_text() == "the key" and not (folder / "b" / "postgres").exists()


def test_dp_07_beside_an_external_database_a_time_chooses_keys_and_no_bytes(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database's own state says which bytes are documents: none of them may be missing."""
    owner = embedded.postgres_endpoints(settings)[1] or ""
    monkeypatch.setenv("DATABASE_URL", owner)
    external = load_settings({**settings_names(settings), "DATABASE_URL": owner})
    gone = put_blob(settings, "gone")
    back_up(external, "")
    moment = read_backup_state(folder / "a").ended
    gone.unlink()
    put_blob(settings, "later")
    (folder / "a" / "vault-key").write_text("another key")
    time.sleep(1.0)  # names of backups are in order by seconds
    back_up(external, "")
    assert restore(folder, "--to-time", "2026-01-01T00:00:00+00:00") == 1, "no backup is so old"
    assert restore(folder, "--to-time", moment) == 0
    assert {one.name for one in (folder / "b" / "blobs" / "t" / "w").iterdir()} == {"gone", "later"}
    assert (folder / "b" / "vault-key").read_text() == "the key"


def settings_names(settings: Settings) -> dict[str, str]:
    backup = settings.backup
    names = {"AOS_STATE_DIR": settings.state_dir, "AOS_BACKUP_URL": backup.url}
    return {name: str(value) for name, value in {**names, "AOS_BACKUP_PASSPHRASE_FILE": backup.passphrase_file}.items()}


def test_dp_07_a_moment_later_than_the_last_commit_is_reached_after_a_long_log(
    settings: Settings, folder: Path
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    shipping = LogShipping(settings, place)
    try:
        shipping.round()
        assert back_up(settings, "full") == "full"
        rows = "insert into things select n, repeat('x', 900) from generate_series(%s, %s) n"
        for number in range(8):  # so that the server answers long before it has seen that the log ends
            change(settings, rows.replace("%s", "{}").format(number * 20000 + 1, number * 20000 + 20000))
        then, moment = row_hash(settings)
        newest = shipping.round()
    finally:
        shipping.close()
    assert datetime.fromisoformat(newest) > moment
    assert restore(folder, "--to-time", newest) == 0
    again = settings.model_copy(update={"state_dir": folder / "b"})
    embedded.start_servers(again)
    assert row_hash(again)[0] == then


def test_dp_07_what_was_restored_backs_up_to_its_own_place_and_is_restored_again(
    settings: Settings, folder: Path
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    shipping = LogShipping(settings, place)
    try:
        shipping.round()
        assert back_up(settings, "full") == "full"
        change(settings, "insert into things values (1, 'first life')")
        shipping.round()
    finally:
        shipping.close()
    assert restore(folder) == 0
    embedded.stop_servers(folder / "a")
    (folder / "second").mkdir()
    names = settings_names(settings) | {"AOS_STATE_DIR": str(folder / "b"), "AOS_BACKUP_URL": str(folder / "second")}
    again = load_settings(names)
    embedded.start_servers(again)
    second = Destination.of(str(folder / "second"), again.blobs)
    shipping = LogShipping(again, second)
    try:
        shipping.round()
        assert back_up(again, "full") == "full"
        change(again, "insert into things values (2, 'second life')")
        assert back_up(again, "incremental") == "incremental"
        change(again, "insert into things values (3, 'after it')")
        then = row_hash(again)[0]
        shipping.round()
    finally:
        shipping.close()
    assert verify_destination(second) == []
    shutil.rmtree(folder / "a")
    words = ["restore", "--from", str(folder / "second"), "--state-dir", str(folder / "a"), "--json"]
    assert run_command(words) == 0
    third = settings.model_copy(update={"state_dir": folder / "a"})
    embedded.start_servers(third)
    assert row_hash(third)[0] == then


def test_dp_07_a_receiver_of_somebody_else_vouches_for_nothing(settings: Settings, folder: Path) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    shipping = LogShipping(settings, place, patience=12)
    (folder / "other").mkdir()
    owner = embedded.postgres_endpoints(settings)[1] or ""
    command = [
        f"{embedded.postgres_programs()}/pg_receivewal",
        "-d",
        owner,
        "-D",
        str(folder / "other"),
        "--synchronous",
    ]
    other = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        shipping.round()
        ours = psutil.Process(int((folder / "a" / "wal-spool.pid").read_text()))
        ours.suspend()
        change(settings, "insert into things values (1, 'not received')")
        with pytest.raises(BackupFailed, match="is behind"):
            shipping.ship_log()
        ours.resume()
        shipping.ship_log()
    finally:
        other.kill()
        other.wait()
        shipping.close()


def test_dp_07_bytes_stay_as_long_as_a_moment_that_can_be_restored_has_them(settings: Settings, folder: Path) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    assert back_up(settings, "full") == "full"
    between = put_blob(settings, "between")  # it comes and goes between two backups
    LogShipping(settings, place).ship_bytes()
    between.unlink()
    assert back_up(settings, "full") == "full"
    assert prune_backups(settings, place, 2, None, datetime.now(UTC)) == []
    assert len(place.keys("blobs")) == 1
    assert back_up(settings, "full") == "full"
    assert len(prune_backups(settings, place, 1, None, datetime.now(UTC))) == 2
    assert place.keys("blobs") == [] and verify_destination(place) == []


def test_dp_07_nothing_is_removed_where_the_newest_backup_is_damaged(settings: Settings, folder: Path) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    assert back_up(settings, "full") == "full"
    assert back_up(settings, "full") == "full"
    newest = list_backups(place)[-1].id
    packed = folder / "to" / "backups" / newest / "base.tar.gz"
    packed.write_bytes(packed.read_bytes()[:-1])
    with pytest.raises(DamagedBackup, match="nothing was removed"):
        prune_backups(settings, place, 1, None, datetime.now(UTC))
    assert len(list_backups(place)) == 2


def test_dp_07_nothing_builds_on_a_backup_that_the_destination_has_lost(settings: Settings, folder: Path) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    assert back_up(settings, "full") == "full"
    first = list_backups(place)[0].id
    (folder / "to" / "backups" / first / "base.tar.gz").unlink()
    plan = plan_backup(settings, place, "incremental")
    assert plan.kind == "full" and first in plan.why


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
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...] = RUN,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> BackupKeeper:
    for name, value in (("AOS_STATE_DIR", settings.state_dir), ("AOS_BACKUP_URL", settings.backup.url or "")):
        monkeypatch.setenv(name, str(value))
    return BackupKeeper(settings, print, command, clock)


def test_dp_07_the_keeper_makes_the_first_backup_and_ships_a_quiet_instance(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = datetime.now(UTC)  # its rounds come ten times as often
    keeper = keeper_of(settings, monkeypatch, clock=lambda: began + 10 * (datetime.now(UTC) - began))
    try:
        step_until(keeper, lambda: bool(read_backup_state(folder / "a").ended))
        known = read_backup_state(folder / "a")
        assert (known.kind, known.failed) == ("full", "") and not keeper.is_due()
        change(settings, "insert into things values (1, 'quiet')")
        moment = row_hash(settings)[1]
        step_until(keeper, lambda: datetime.fromisoformat(read_backup_state(folder / "a").shipped) > moment)
        assert backup_complaint(read_backup_state(folder / "a"), 24, datetime.now(UTC)) == ""
        late = datetime.now(UTC) + timedelta(hours=49)
        assert "49.0 h old" in backup_complaint(read_backup_state(folder / "a"), 24, late)
        (folder / "to").rename(folder / "away")
        known = read_backup_state(folder / "a")
        step_until(keeper, lambda: "is its disk mounted" in read_backup_state(folder / "a").late)
        assert not (folder / "to").exists(), "nothing is written beside the disk"
        (folder / "away").rename(folder / "to")
        step_until(keeper, lambda: read_backup_state(folder / "a").shipped > known.shipped)
        assert read_backup_state(folder / "a").late == ""
    finally:
        keeper.close()


def test_dp_07_the_schedule_removes_what_the_settings_do_not_keep(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    for _ in range(2):
        assert back_up(settings, "full") == "full"
    older = [one.id for one in list_backups(place)]
    for name, value in (("KEEP_FULL", "1"), ("KEEP_DAYS", "0")):
        monkeypatch.setenv(f"AOS_BACKUP_{name}", value)
    (folder / "a" / "backup-state.json").unlink()
    keeper = keeper_of(settings, monkeypatch, (*RUN, "--full"))
    try:
        step_until(keeper, lambda: bool(list_backups(place)) and list_backups(place)[0].id not in older)
        step_until(keeper, lambda: not keeper.is_due())
        assert len(list_backups(place)) == 1 and verify_destination(place) == []
    finally:
        keeper.close()


def test_dp_07_after_a_backup_that_failed_a_full_one_is_tried(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, clock = folder / "words", [datetime.now(UTC)]
    program = f"import sys; open({str(words)!r}, 'a').write(repr(sys.argv[1:]) + chr(10)); sys.exit('no room')"
    keeper = keeper_of(settings, monkeypatch, (sys.executable, "-c", program, "run"), lambda: clock[0])
    try:
        step_until(keeper, lambda: "no room" in read_backup_state(folder / "a").failed)
        assert words.read_text().splitlines() == ["['run']"], "not again at once"
        clock[0] += timedelta(minutes=11)
        step_until(keeper, lambda: len(words.read_text().splitlines()) == 2)
        assert words.read_text().splitlines()[1] == "['run', '--full']"
    finally:
        keeper.close()


def test_dp_07_a_file_that_takes_long_holds_up_no_log(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Destination.of(str(folder / "to"), settings.blobs)
    slow = put_blob(settings, "slow")
    slow.unlink()
    os.mkfifo(slow)  # whoever reads it waits
    began, sleeps = datetime.now(UTC), (sys.executable, "-c", "import time; time.sleep(600)")
    keeper = keeper_of(settings, monkeypatch, sleeps, lambda: began + 10 * (datetime.now(UTC) - began))
    try:
        keeper.step()
        change(settings, "insert into things values (1, 'meanwhile')")
        moment = row_hash(settings)[1]
        step_until(keeper, lambda: datetime.fromisoformat((place.read_json(SHIPPED) or {"at": AT})["at"]) > moment)
        assert read_backup_state(folder / "a").shipped == "", "not everything is there"
        slow.rename(slow.with_name("staging"))
        with (slow.with_name("staging")).open("wb") as file:
            file.write(b"x")
        step_until(keeper, lambda: read_backup_state(folder / "a").shipped > moment.isoformat())
    finally:
        keeper.close()


def test_dp_07_a_program_ends_before_the_disk_of_the_database_is_full(tmp_path: Path) -> None:
    free = [100]

    def usage(path: Path) -> DiskUsage:
        free[0] -= 30
        return DiskUsage(free[0], 1000)

    with pytest.raises(DiskFull):
        run_tool([sys.executable, "-c", "import time; time.sleep(60)"], DiskRoom(tmp_path, 50, usage=usage))


def await_lost_slot(settings: Settings) -> None:
    for _ in range(50):
        change(settings, "select pg_switch_wal()")
        change(settings, "checkpoint")
        with psycopg.connect(embedded.postgres_endpoints(settings)[1] or "", autocommit=True) as db:
            if db.execute("select wal_status from pg_replication_slots").fetchone() == ("lost",):
                return
    raise AssertionError("the slot keeps all of the log")


class FullSide(FolderSide):
    """A disk that is full: what is there can be read."""

    full = False

    def put(self, key: str, blocks: Iterator[bytes]) -> None:
        """While it is full, nothing more."""
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().put(key, blocks)


def test_dp_07_a_destination_that_is_full_fills_no_disk_of_the_database(settings: Settings, folder: Path) -> None:
    side = FullSide(folder / "to")
    shipping = LogShipping(settings, Destination(side, str(folder / "to")), most=24 << 20)
    sizes = list[int]()
    try:
        shipping.round()
        side.full = True
        for number in range(5):
            change(settings, f"insert into things values ({number}, 'waits')")
            change(settings, "select pg_switch_wal()")
            with pytest.raises(BackupFailed, match="No space"):
                shipping.ship_log()
            shipping.bound_spool()
            sizes.append(sum(path.stat().st_size for path in (folder / "a" / "wal-spool").iterdir()))
        assert sizes[-1] == sizes[-2] == sizes[-3], sizes
        side.full = False
        shipping.round()
        assert sum(path.stat().st_size for path in (folder / "a" / "wal-spool").iterdir()) < 24 << 20
        numbers = [segment_number(name) for name in logged(Destination(side, ""))]
        assert len(numbers) > 5 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    finally:
        shipping.close()


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
        change(settings, "alter system set timezone = 'Pacific/Kiritimati'")  # half a day ahead
        change(settings, "select pg_reload_conf()")
        shipping.round()
        known = read_backup_state(folder / "a")
        assert known.gap > known.ended and known.gap < datetime.now(UTC).isoformat()
        assert "gap" in backup_complaint(known, 24, datetime.now(UTC))
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
    assert "gap" not in backup_complaint(known, 24, datetime.now(UTC))
    embedded.stop_servers(folder / "b")
    shutil.rmtree(folder / "b")
    assert run_command(["restore", "--from", str(folder / "to"), "--state-dir", str(folder / "b")]) == 0
    again = settings.model_copy(update={"state_dir": folder / "b"})
    embedded.start_servers(again)
    assert row_hash(again)[0] == then


def test_dp_07_a_server_that_earlier_code_has_started_gets_no_slot_that_fills_its_disk(
    settings: Settings, folder: Path
) -> None:
    shipping = LogShipping(settings, Destination.of(str(folder / "to"), settings.blobs))
    conf = folder / "a" / "postgres" / "aos.conf"
    conf.write_text(conf.read_text().replace("max_slot_wal_keep_size", "#"))
    change(settings, "select pg_reload_conf()")
    query = "select source from pg_settings where name = 'max_slot_wal_keep_size'"
    with psycopg.connect(embedded.postgres_endpoints(settings)[1] or "", autocommit=True) as db:
        deadline = time.monotonic() + 60
        while db.execute(query.encode()).fetchone() != ("default",):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(BackupFailed, match="without bound"):
            shipping.round()
        assert db.execute("select count(*) from pg_replication_slots").fetchone() == (0,)


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
