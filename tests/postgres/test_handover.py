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
from cluster.basics.errors import Conflict, Unavailable
from cluster.state import supervised
from cluster.state.settings.restart_requests import RestartLedger
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.api_server import serve_api
from tests.fakes.daemon import supervising

PATH = "/api/serve/applications/"
PART = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [{"state": "RUNNING"}]}
WELL = {"applications": {"gateway": {"status": "RUNNING", "message": "", "deployments": {"Part": PART}}}}
READY = '[[60, "ready", ""]]'
SLEEP = "import time; time.sleep(60)"
# What begins a supervisor anew where that was killed, and one in the foreground, by their words.
ABOVE = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEP!r}, *sys.argv[1:]])"


def settings_of(tmp_path: Path, **more: str) -> Settings:
    return load_settings({"AOS_STATE_DIR": str(tmp_path)} | more)


@contextmanager
def program(*words: str) -> Iterator[psutil.Process]:
    made = subprocess.Popen([sys.executable, *words], start_new_session=True)
    try:
        yield psutil.Process(made.pid)
    finally:
        for one in (*psutil.Process(made.pid).children(), made):
            with suppress(psutil.NoSuchProcess):
                one.kill()
        made.wait()


def ended(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() == psutil.STATUS_ZOMBIE
    return True


def below(above: psutil.Process) -> psutil.Process:
    """Its child, as soon as that is the program that it was begun for."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for child in above.children():
            if SLEEP in child.cmdline():
                return child
        time.sleep(0.05)
    raise TimeoutError("no child was begun")


def test_dp_07_a_digest_tells_code_apart_and_looks_at_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "cluster" / "deep"
    place.mkdir(parents=True)
    (place / "one.py").write_text("x = 1\n")
    seen = [handover.code_digest(tmp_path)]
    for name, text in (("one.py", "x = 2\n"), ("two.yaml", "x: 1\n")):
        (place / name).write_text(text)
        seen.append(handover.code_digest(tmp_path))
    (place / "two.yaml").rename(place / "three.yaml")
    seen.append(handover.code_digest(tmp_path))
    assert len(set(seen)) == 4
    (place / "one.pyc").write_text("anything")
    (tmp_path / "notes.py").write_text("of somebody")
    assert handover.code_digest(tmp_path) == seen[-1]
    assert handover.code_digest() == handover.code_digest(), "of the product's own"


@pytest.mark.parametrize("loaded", ["", "of before"])
def test_dp_07_a_supervisor_of_another_version_is_ended(app_dsn: str, tmp_path: Path, loaded: str) -> None:
    with supervising(tmp_path, READY, loaded) as running:
        settings, said = settings_of(tmp_path, DATABASE_URL=app_dsn), list[str]()
        supervised.note_code(tmp_path, "parts", "of before")
        seen: list[bool] = []
        handover.check_hand_over(settings, "new")
        handover.hand_over(settings, "new", lambda: seen.append(running.poll() is not None), said.append)
        assert seen == [True] and len(said) == 1, "and another one begun, once"
        assert supervised.noted_code(tmp_path, "parts") == "", "whoever was killed now would go on"


def test_dp_07_what_would_begin_it_anew_is_ended_first(app_dsn: str, tmp_path: Path) -> None:
    with program("-c", ABOVE, supervised.MODULE) as above:
        child = below(above)
        supervised.pid_path(tmp_path).write_text(f"{child.pid}\n")
        settings = settings_of(tmp_path, DATABASE_URL=app_dsn)
        handover.hand_over(settings, "new", lambda: None, print)
        assert ended(above) and ended(child)


def test_dp_07_a_supervisor_of_this_code_goes_on_and_its_parts_too(app_dsn: str, tmp_path: Path) -> None:
    with supervising(tmp_path, READY, "new") as running, running_parts(tmp_path, app_dsn, WELL) as settings:
        supervised.note_code(tmp_path, "parts", "new")
        said, begun = list[str](), list[int]()
        handover.check_hand_over(settings, "new")
        handover.hand_over(settings, "new", lambda: begun.append(1), said.append)
        assert running.poll() is None and not said and begun == [1]


def test_dp_07_while_postgres_is_away_the_supervisor_stays(tmp_path: Path) -> None:
    away = "postgresql://a@127.0.0.1:9/x?connect_timeout=2"
    with supervising(tmp_path, READY, "of before") as running:
        with pytest.raises(Unavailable):
            handover.hand_over(settings_of(tmp_path, DATABASE_URL=away), "new", lambda: None, print)
        assert running.poll() is None


def test_dp_07_one_in_the_foreground_is_left_to_who_began_it(tmp_path: Path) -> None:
    script = tmp_path / "aos"
    script.write_text(SLEEP)
    with program(str(script), "up") as process:
        supervised.pid_path(tmp_path).write_text(f"{process.pid}\n")
        with pytest.raises(Conflict, match="foreground") as refused:
            handover.check_hand_over(settings_of(tmp_path), "new")
        assert "systemctl restart" in refused.value.hint and not ended(process)


def test_dp_07_a_light_instance_is_handed_over_as_one(tmp_path: Path) -> None:
    """It would go on as another profile's, with what its gateway does started a second time."""
    with supervising(tmp_path, READY, "of before"):
        supervised.note_profile(tmp_path, "light")
        with pytest.raises(Conflict, match="light") as refused:
            handover.check_hand_over(settings_of(tmp_path), "new")
        assert "AOS_PROFILE=light" in refused.value.hint
        handover.check_hand_over(settings_of(tmp_path, AOS_PROFILE="light"), "new")


class Restarts(threading.Thread):
    """Carries out what is asked for, as the supervisor does: `error` is how it ends."""

    def __init__(self, dsn: str, error: str | None) -> None:
        super().__init__(daemon=True)
        self._ledger, self._error, self.parts = RestartLedger(dsn), error, list[str]()
        self.over = threading.Event()

    def run(self) -> None:
        while not (taken := self._ledger.take()):
            if self.over.wait(0.05):
                return
        self.parts = sorted(part for parts in taken.values() for part in parts)
        self._ledger.done(list(taken), self.parts, self._ledger.now(), self._error)


@contextmanager
def running_parts(tmp_path: Path, dsn: str, applications: Any) -> Iterator[Settings]:
    """Settings of a cluster whose Serve has these."""
    with serve_api({f"GET {PATH}": applications}) as fake:
        connect.token_path(tmp_path).write_text("access-1")
        port = fake.url.rpartition(":")[2]
        yield settings_of(tmp_path, DATABASE_URL=dsn, AOS_RAY_ADDRESS="127.0.0.1:6379", AOS_RAY_DASHBOARD_PORT=port)


def replaced(settings: Settings, error: str | None = None) -> list[str]:
    """The parts that a hand-over to the code `new` replaces."""
    carried = Restarts(settings.postgres.url or "", error)
    try:
        handover.hand_over(settings, "new", carried.start, print)
    finally:
        carried.over.set()
        if carried.ident is not None:
            carried.join()
    return carried.parts


def test_dp_07_parts_of_another_version_are_replaced_once(app_dsn: str, tmp_path: Path) -> None:
    with running_parts(tmp_path, app_dsn, WELL) as settings:
        supervised.note_code(tmp_path, "parts", "of before")
        assert {"gateway", "worker", "embedding", "console"} <= set(replaced(settings))
        assert supervised.noted_code(tmp_path, "parts") == "new"
        assert replaced(settings) == [], "they are of this code now"


def test_dp_07_parts_that_do_not_start_are_an_error_and_nobody_knows_any_more_of_which_version_they_are(
    app_dsn: str, tmp_path: Path
) -> None:
    with running_parts(tmp_path, app_dsn, WELL) as settings:
        supervised.note_code(tmp_path, "parts", "of before")
        with pytest.raises(Unavailable, match="those of before go on: no module x"):
            replaced(settings, "no module x")
        assert supervised.noted_code(tmp_path, "parts") == "", "some may have been replaced"
        assert replaced(settings)


def test_dp_07_where_nothing_runs_there_is_nothing_to_replace(app_dsn: str, tmp_path: Path) -> None:
    with running_parts(tmp_path, app_dsn, {"applications": {}}) as settings:
        assert replaced(settings) == []
    assert replaced(settings_of(tmp_path, DATABASE_URL=app_dsn)) == [], "nor where Ray does not run"


def test_dp_07_a_cluster_that_does_not_answer_is_no_instance_that_runs(app_dsn: str, tmp_path: Path) -> None:
    with running_parts(tmp_path, app_dsn, (500, {})) as settings, pytest.raises(Unavailable):
        handover.runs_already(settings)
