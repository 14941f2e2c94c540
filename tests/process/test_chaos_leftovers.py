"""Harm that a killed `aos chaos` left is undone by the next one, or by the doctor: nothing stays stopped or full."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from cluster import doctor
from cluster.basics.errors import Conflict
from cluster.console.findings import StatusColour
from cluster.faults.harm_record import (
    HarmRecord,
    chaos_folder,
    identity,
    only_campaign,
    terminated_as_interrupted,
    undo_leftovers,
)
from configs.settings import load_settings

MIB = 2**20
DOER = """
import signal, sys, time
from pathlib import Path
import psutil
from cluster.faults.harm_record import only_campaign, terminated_as_interrupted

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started these tests may have told it to outlive a terminal
with only_campaign(Path(sys.argv[1])) as record, terminated_as_interrupted():
    record.fill(3 * 2**20, 2**20)
    record.stop([psutil.Process(int(sys.argv[2]))])
    print("done", flush=True)
    time.sleep(600)
"""


@contextmanager
def sleeper() -> Iterator[psutil.Process]:
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        yield psutil.Process(started.pid)
    finally:
        started.kill()
        started.wait()


def reaches(process: psutil.Process, *, stopped: bool) -> bool:
    deadline = time.monotonic() + 10
    while (process.status() == psutil.STATUS_STOPPED) is not stopped:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def harmed(state: Path, victim: psutil.Process) -> Iterator[subprocess.Popen[str]]:
    """A doer that has filled and stopped, and would go on for long."""
    words = [sys.executable, "-c", DOER, str(state), str(victim.pid)]
    doer = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert doer.stdout is not None and doer.stdout.readline() == "done\n"
        yield doer
    finally:
        doer.kill()
        doer.wait()


def test_the_doctor_undoes_what_a_killed_chaos_left(tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path)})
    with sleeper() as victim, harmed(tmp_path, victim) as doer:
        assert reaches(victim, stopped=True) and (chaos_folder(tmp_path) / "filler").stat().st_size == 2 * MIB
        (at_work,) = doctor.run_probe("chaos", settings)
        assert "just now" in at_work.detail and victim.status() == psutil.STATUS_STOPPED, "a live one is left alone"
        doer.kill()
        doer.wait()
        (found,) = doctor.run_probe("chaos", settings)
        assert found.colour is StatusColour.YELLOW and str(victim.pid) in found.detail and "2 MiB" in found.detail
        assert reaches(victim, stopped=False) and not (chaos_folder(tmp_path) / "filler").exists()
        assert doctor.run_probe("chaos", settings) == [], "nothing is left to say"


def test_the_next_chaos_undoes_it_before_it_begins_and_two_at_once_are_refused(tmp_path: Path) -> None:
    with sleeper() as victim, harmed(tmp_path, victim) as doer:
        with pytest.raises(Conflict), only_campaign(tmp_path):
            pass
        doer.kill()
        doer.wait()
        with only_campaign(tmp_path):
            assert reaches(victim, stopped=False) and not (chaos_folder(tmp_path) / "filler").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_is_interrupted_or_terminated_undoes_it_before_the_end(how: signal.Signals, tmp_path: Path) -> None:
    with sleeper() as victim, harmed(tmp_path, victim) as doer:
        doer.send_signal(how)
        doer.wait(10)
        assert reaches(victim, stopped=False) and undo_leftovers(tmp_path) == []
        assert not (chaos_folder(tmp_path) / "filler").exists()


def test_a_number_that_belongs_to_another_process_now_is_left_alone(tmp_path: Path) -> None:
    with sleeper() as other:
        other.send_signal(signal.SIGSTOP)
        assert reaches(other, stopped=True)
        chaos_folder(tmp_path).mkdir()
        (chaos_folder(tmp_path) / "stopped.json").write_text(f"[[{other.pid}, {identity(other.pid)[1] - 60}]]")
        assert HarmRecord(tmp_path).wake() == [] and other.status() == psutil.STATUS_STOPPED


def test_a_beginning_is_told_in_seconds_of_the_machine_so_that_a_clock_may_be_set_meanwhile(tmp_path: Path) -> None:
    with sleeper() as victim, only_campaign(tmp_path) as record:
        uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
        record.stop([victim])
        ((pid, began),) = json.loads((chaos_folder(tmp_path) / "stopped.json").read_text())
        assert pid == victim.pid and uptime - 60 < began <= uptime + 2
        assert reaches(victim, stopped=True)
        assert len(record.wake()) == 1 and reaches(victim, stopped=False)


def test_what_was_begun_to_outlive_its_terminal_still_does() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminated_as_interrupted():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)


def test_where_there_was_never_one_nothing_is_made_and_nothing_said(tmp_path: Path) -> None:
    assert undo_leftovers(tmp_path) == [] and list(tmp_path.iterdir()) == []
