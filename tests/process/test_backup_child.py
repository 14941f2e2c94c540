"""The supervisor's hold on the keeper of backups: begun where a place is set, anew where it died, ended with it."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from cluster.watch.backup_child import AGAIN_SECONDS, BackupChild
from configs.settings import load_settings

WAITS = "import os, pathlib, time; pathlib.Path(os.environ['AOS_STATE_DIR'], str(os.getpid())).touch(); time.sleep(60)"
STAYS = "import signal; signal.signal(signal.SIGTERM, lambda *a: print('not yet')); " + WAITS


class Hand:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def child_of(folder: Path, url: str | None, program: str, said: list[str], clock: Hand, end: float = 20) -> BackupChild:
    settings = load_settings({"AOS_STATE_DIR": str(folder)} | ({} if url is None else {"AOS_BACKUP_URL": url}))
    return BackupChild(settings, said.append, (sys.executable, "-c", program), clock, end)


def await_pids(folder: Path, count: int) -> list[int]:
    deadline = time.monotonic() + 20
    while len(found := [int(path.name) for path in folder.iterdir()]) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def test_dp_07_without_a_place_nothing_is_begun(tmp_path: Path) -> None:
    child = child_of(tmp_path, None, WAITS, [], Hand())
    child.look()
    child.close()
    assert list(tmp_path.iterdir()) == []


def test_dp_07_a_keeper_that_died_is_begun_anew_after_a_while_and_told_of(tmp_path: Path) -> None:
    said, clock = list[str](), Hand()
    child = child_of(tmp_path, "/mnt/backup", WAITS, said, clock)
    try:
        child.look()
        (first,) = await_pids(tmp_path, 1)
        clock.now += AGAIN_SECONDS
        child.look()  # it runs: nothing happens
        psutil.Process(first).kill()
        deadline = time.monotonic() + 20
        while not said:
            assert time.monotonic() < deadline
            clock.now += AGAIN_SECONDS
            child.look()
            time.sleep(0.02)
        again = await_pids(tmp_path, 2)
        assert len(again) == 2 and "begun anew" in said[0]
        child.look()
    finally:
        child.close()
    assert not any(psutil.pid_exists(pid) for pid in again)


@pytest.mark.parametrize("program", [WAITS, STAYS])
def test_dp_07_it_ends_with_the_supervisor_even_where_it_does_not_hear(tmp_path: Path, program: str) -> None:
    child = child_of(tmp_path, "/mnt/backup", program, [], Hand(), end=0.5)
    child.look()
    (pid,) = await_pids(tmp_path, 1)
    child.close()
    assert not psutil.pid_exists(pid)


def test_dp_07_a_keeper_that_cannot_be_begun_ends_nobody_else_and_is_tried_again(tmp_path: Path) -> None:
    said, clock = list[str](), Hand()
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_BACKUP_URL": "/mnt/backup"})
    child = BackupChild(settings, said.append, ["x" * 2**22], clock)  # longer than the system takes
    for _ in range(2):
        child.look()
        clock.now += AGAIN_SECONDS
    child.close()
    assert len(said) == 2 and "cannot be begun" in said[0]
