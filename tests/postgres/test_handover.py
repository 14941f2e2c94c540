"""An instance that runs, handed to other code: its supervisor is ended and nothing else, its parts are replaced."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from cluster import connect, handover
from cluster.basics.errors import Unavailable
from cluster.state import supervised
from cluster.state.settings.restart_requests import RestartLedger
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.api_server import serve_api

PATH = "/api/serve/applications/"
PART = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [{"state": "RUNNING"}]}
WELL = {"applications": {"gateway": {"status": "RUNNING", "message": "", "deployments": {"Part": PART}}}}
WAIT = "import time; time.sleep(60)\n"
ABOVE = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])\n"  # as what begins it anew would be


def settings_of(tmp_path: Path, **more: str) -> Settings:
    return load_settings({"AOS_STATE_DIR": str(tmp_path)} | more)


@contextmanager
def supervisor(state: Path, script: str, word: str) -> Iterator[list[psutil.Process]]:
    """A process above and the one below it, which is the supervisor by its words."""
    program = state / script
    program.write_text(WAIT)
    line = [sys.executable, "-c", ABOVE, str(program), word]
    above = psutil.Process(subprocess.Popen(line, start_new_session=True).pid)
    below: list[psutil.Process] = []
    try:
        deadline = time.monotonic() + 20
        while [one.cmdline()[1:] for one in below] != [[str(program), word]] and time.monotonic() < deadline:
            time.sleep(0.05)
            below = above.children()
        supervised.pid_path(state).write_text(f"{below[0].pid}\n")
        yield [above, *below]
    finally:
        for one in (above, *below):
            with suppress(psutil.NoSuchProcess):
                one.kill()
        above.wait()


def ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_dp_07_a_mark_tells_code_apart_and_looks_at_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "cluster" / "deep"
    place.mkdir(parents=True)
    (place / "one.py").write_text("x = 1\n")
    seen = [handover.code_mark(tmp_path)]
    for name, text in (("one.py", "x = 2\n"), ("two.sql", "select 1;\n")):
        (place / name).write_text(text)
        seen.append(handover.code_mark(tmp_path))
    (place / "two.sql").rename(place / "three.sql")
    seen.append(handover.code_mark(tmp_path))
    assert len(set(seen)) == 4
    (place / "one.pyc").write_text("anything")
    (tmp_path / "notes.py").write_text("of somebody")
    assert handover.code_mark(tmp_path) == seen[-1]
    assert handover.code_mark() == handover.code_mark(), "of the product's own"


@pytest.mark.parametrize("loaded", ["", "of before"])
def test_dp_07_a_supervisor_of_other_code_is_ended_with_what_would_begin_it_anew(tmp_path: Path, loaded: str) -> None:
    said: list[str] = []
    with supervisor(tmp_path, "restarting.py", supervised.MODULE) as processes:
        if loaded:
            supervised.note_code(tmp_path, "supervisor", loaded)
        handover.end_older_supervisor(settings_of(tmp_path), said.append)
        assert all(map(ended, processes)) and len(said) == 1
        assert supervised.find_supervisor(tmp_path) is None


def test_dp_07_a_supervisor_of_this_code_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    with supervisor(tmp_path, "restarting.py", supervised.MODULE) as processes:
        supervised.note_code(tmp_path, "supervisor", handover.code_mark())
        handover.end_older_supervisor(settings_of(tmp_path), said.append)
        assert not any(map(ended, processes)) and not said


def test_dp_07_one_in_the_foreground_is_left_to_who_began_it(tmp_path: Path) -> None:
    said: list[str] = []
    with supervisor(tmp_path, "aos", "up") as processes:
        handover.end_older_supervisor(settings_of(tmp_path), said.append)
        assert not any(map(ended, processes)) and "systemctl" in said[0]


class Restarts(threading.Thread):
    """Carries out what is asked for, as the supervisor does: `error` is how it ends."""

    def __init__(self, dsn: str, error: str | None) -> None:
        super().__init__(daemon=True)
        self._ledger, self._error, self.parts = RestartLedger(dsn), error, list[str]()

    def run(self) -> None:
        while not (taken := self._ledger.take()):
            time.sleep(0.05)
        self.parts = sorted(part for parts in taken.values() for part in parts)
        self._ledger.done(list(taken), self.parts, self._ledger.now(), self._error)


@contextmanager
def running(tmp_path: Path, dsn: str, applications: Any) -> Iterator[Settings]:
    """Settings of a cluster whose Serve has these."""
    with serve_api({f"GET {PATH}": applications}) as fake:
        connect.token_path(tmp_path).write_text("access-1")
        port = fake.url.rpartition(":")[2]
        yield settings_of(tmp_path, DATABASE_URL=dsn, AOS_RAY_ADDRESS="127.0.0.1:6379", AOS_RAY_DASHBOARD_PORT=port)


def hand_over(settings: Settings, said: list[str], error: str | None = None) -> list[str]:
    """As `aos up` does around the start of a supervisor; the parts that were replaced."""
    number = handover.ask_for_new_parts(settings, said.append)
    if number is None:
        return []
    carried = Restarts(settings.postgres.url or "", error)
    carried.start()
    try:
        handover.wait_for_new_parts(settings, number)
    finally:
        carried.join(10)
    return carried.parts


def test_dp_07_parts_of_other_code_are_replaced_once(app_dsn: str, tmp_path: Path) -> None:
    with running(tmp_path, app_dsn, WELL) as settings:
        supervised.note_code(tmp_path, "parts", "of before")
        assert {"gateway", "worker", "embedding", "console"} <= set(hand_over(settings, []))
        assert supervised.noted_code(tmp_path, "parts") == handover.code_mark()
        assert hand_over(settings, []) == [], "they are of this code now"


def test_dp_07_parts_that_do_not_start_are_an_error_and_are_tried_again(app_dsn: str, tmp_path: Path) -> None:
    with running(tmp_path, app_dsn, WELL) as settings:
        with pytest.raises(Unavailable, match="those of before go on: no module x"):
            hand_over(settings, [], "no module x")
        assert supervised.noted_code(tmp_path, "parts") == ""
        assert hand_over(settings, [])


def test_dp_07_where_nothing_runs_there_is_nothing_to_replace(app_dsn: str, tmp_path: Path) -> None:
    with running(tmp_path, app_dsn, {"applications": {}}) as settings:
        assert hand_over(settings, []) == []
    assert hand_over(settings_of(tmp_path, DATABASE_URL=app_dsn), []) == [], "nor where Ray does not run"


def test_dp_07_a_supervisor_of_other_code_is_asked_for_nothing(app_dsn: str, tmp_path: Path) -> None:
    """One in the foreground: it would read new files with old rules."""
    with supervisor(tmp_path, "aos", "up"), running(tmp_path, app_dsn, WELL) as settings:
        assert hand_over(settings, []) == []
