"""The keeper of backups looks through their destination by itself, and doctor tells what that found; real folders."""

import errno
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from cluster.cli import run_command
from cluster.doctor_backup import probe_backup
from cluster.state.backup.backup_run import plan_backup, run_backup
from cluster.state.backup.backup_state import note_backup_state, read_backup_state
from cluster.state.backup.blob_catalogue import blob_object, read_catalogue
from cluster.state.backup.destination import Destination
from cluster.state.backup.keeper import RUN, VERIFY, BackupKeeper
from cluster.state.backup.verification import verify_destination
from cluster.state.objects.migration import FolderSide
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.keeper_steps import step_until

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
# Its backups hold files alone, so nothing of this needs a server.
ELSEWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "to").mkdir()
    blob = tmp_path / "a" / "blobs" / "t" / "w" / "one"
    blob.parent.mkdir(parents=True)
    blob.write_text("bytes of one")
    given = {"AOS_STATE_DIR": str(tmp_path / "a"), "AOS_BACKUP_URL": str(tmp_path / "to"), "DATABASE_URL": ELSEWHERE}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return load_settings(given)


@pytest.fixture
def clock() -> list[timedelta]:
    return [timedelta()]


@pytest.fixture
def begin(settings: Settings, clock: list[timedelta]) -> Iterator[Callable[..., BackupKeeper]]:
    begun = list[BackupKeeper]()

    def made(command: tuple[str, ...] = SLEEP, verify: tuple[str, ...] = VERIFY) -> BackupKeeper:
        begun.append(BackupKeeper(settings, print, command, lambda: datetime.now(UTC) + clock[0], verify))
        return begun[-1]

    yield made
    for one in begun:
        one.close()


def back_up(settings: Settings) -> Destination:
    place = Destination.of(settings.backup.url or "", settings.blobs)
    run_backup(settings, place, plan_backup(settings, place, None), print)
    note_backup_state(settings.state_dir, {"shipped": datetime.now(UTC).isoformat()})
    return place


def damage(place: Destination) -> str:
    with read_catalogue(place) as catalogue:
        (one,) = catalogue.records()
    place.put(blob_object(one.digest), b"others")
    return one.key


def test_dp_07_damage_in_the_destination_is_found_without_anybody_asking(
    settings: Settings, clock: list[timedelta], begin: Callable[..., BackupKeeper]
) -> None:
    state, keeper = settings.state_dir, begin()
    assert not keeper.is_verification_due(), "there is nothing yet"
    place = back_up(settings)
    assert keeper.is_verification_due()
    step_until(keeper, lambda: bool(read_backup_state(state).verified))
    first = read_backup_state(state)
    assert first.faults == 0 and not keeper.is_verification_due()
    (found,) = probe_backup(settings)
    assert found.colour == "green" and f"verified {first.verified[:19]}" in found.detail
    key = damage(place)
    clock[0] = timedelta(days=7, seconds=1)
    note_backup_state(state, {"ended": (datetime.now(UTC) + clock[0]).isoformat()})  # no backup is due beside it
    assert keeper.is_verification_due()
    step_until(keeper, lambda: read_backup_state(state).verified > first.verified)
    clock[0] = timedelta(hours=23)
    assert read_backup_state(state).faults == 1 and not keeper.is_verification_due()
    clock[0] = timedelta(hours=25)
    assert keeper.is_verification_due(), "somebody may have seen to it"
    note_backup_state(state, {"ended": datetime.now(UTC).isoformat()})
    (found,) = probe_backup(settings)
    assert found.colour == "yellow" and f"blob {key}" in found.detail
    assert "aos backup verify" in found.fix and "--full" in found.fix


def test_dp_07_what_somebody_verifies_by_hand_is_known_as_well(settings: Settings, tmp_path: Path) -> None:
    place = back_up(settings)
    damage(place)
    assert run_command(["backup", "verify"]) == 3
    assert read_backup_state(settings.state_dir).faults == 1
    back_up(settings)  # brings the bytes anew
    assert run_command(["backup", "verify", "--hashes"]) == 0
    assert read_backup_state(settings.state_dir).faults == 0
    (tmp_path / "other").mkdir()
    assert run_command(["backup", "verify", "--from", str(tmp_path / "other")]) == 3
    assert read_backup_state(settings.state_dir).faults == 0, "that is another place"


def test_dp_07_never_is_a_period(settings: Settings) -> None:
    never = settings.model_copy(update={"backup": settings.backup.model_copy(update={"verify_days": 0})})
    back_up(settings)
    assert not BackupKeeper(never, print).is_verification_due()


def test_dp_07_a_verification_holds_up_no_backup_and_loses_nothing_under_its_hands(
    settings: Settings, tmp_path: Path, clock: list[timedelta], begin: Callable[..., BackupKeeper]
) -> None:
    words, state = tmp_path / "words", settings.state_dir
    program = f"import sys; open({str(words)!r}, 'a').write(repr(sys.argv[1:]) + chr(10))"
    keeper = begin((sys.executable, "-c", program, *RUN[-2:]), SLEEP)
    back_up(settings)
    keeper.step()
    (verifying,) = [one for one in psutil.Process().children() if one.cmdline() == list(SLEEP)]
    clock[0] = timedelta(hours=25)
    step_until(keeper, words.exists)
    step_until(keeper, lambda: bool(words.read_text()))
    assert words.read_text().splitlines()[0] == "['--json']", "it removes nothing"
    note_backup_state(state, {"ended": (datetime.now(UTC) + clock[0]).isoformat()})
    assert verifying.is_running()
    keeper.close()
    assert not verifying.is_running() and read_backup_state(state).verified == ""


def test_dp_07_a_verification_that_cannot_be_ended_is_told_and_tried_again(
    settings: Settings, tmp_path: Path, clock: list[timedelta], begin: Callable[..., BackupKeeper]
) -> None:
    tries, state = tmp_path / "tries", settings.state_dir
    program = f"import sys; open({str(tries)!r}, 'a').write('x'); sys.exit('the bucket does not answer')"
    keeper = begin(verify=(sys.executable, "-c", program))
    back_up(settings)
    step_until(keeper, lambda: read_backup_state(state).unverified != "")
    (found,) = probe_backup(settings)
    assert found.colour == "yellow" and "the bucket does not answer" in found.detail
    for _ in range(3):
        keeper.step()
    assert tries.read_text() == "x", "not again at once"
    clock[0] = timedelta(minutes=61)
    step_until(keeper, lambda: tries.read_text() == "xx")


class SickDisk(FolderSide):
    """Of one file it gives nothing but an error."""

    sick = ""

    def blocks(self, key: str) -> Iterator[bytes]:
        if key == self.sick:
            raise OSError(errno.EIO, "Input/output error")
        return super().blocks(key)


def test_dp_07_a_verification_names_what_cannot_be_read_and_goes_on(settings: Settings) -> None:
    place = back_up(settings)
    other = damage(place)
    disk = SickDisk(Path(place.name))
    disk.sick = next(key for key in place.keys("backups") if key.endswith("settings.json"))
    faults = verify_destination(Destination(disk, place.name), unpack=False)
    assert [fault for fault in faults if f"{disk.sick} cannot be read: Input/output error" in fault]
    assert [fault for fault in faults if other in fault], "the other one is named, too"
