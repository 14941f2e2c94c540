"""A product that somebody else starts or that repairs itself is waited for, and is not called ready before it is."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import doctor_deep, doctor_repair, supervisor
from cluster.basics.errors import Unavailable
from cluster.console import move_program
from cluster.console.commands.backup_commands import REPLAY
from cluster.state.backup import keeper
from cluster.state.supervised import MODULE, find_supervisor, note_profile, other_profile, pid_path, wait_until_ready
from cluster.supervisor import RESTARTING
from tests.fakes.daemon import supervising

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds


def test_a_stranger_whose_words_only_look_alike_is_not_taken_for_it(tmp_path: Path) -> None:
    """`aos down` would have ended whoever got its pid, if he worked in a folder named aos and had "up" in a word."""
    program = "import time; time.sleep(60)"
    stranger = subprocess.Popen([sys.executable, "-c", program, "/srv/aos/backup", f"{MODULE}.py"])
    try:
        pid_path(tmp_path).write_text(f"{stranger.pid}\n")
        assert find_supervisor(tmp_path) is None
    finally:
        stranger.kill()
        stranger.wait()


def test_it_waits_until_it_is_ready_and_tells_what_happens(tmp_path: Path) -> None:
    (tmp_path / "supervisor.json").write_text(
        json.dumps({"phase": "ready", "detail": "", "pid": 1, "restarts": 0})  # of one that was killed
    )
    said: list[str] = []
    turns = [[0.5, "starting", "ray"], [0.5, "starting", "applications"], [60, "ready", ""]]
    with supervising(tmp_path, json.dumps(turns)):
        wait_until_ready(tmp_path, said.append, PATIENCE)
    assert said == ["ray", "applications"]


def test_one_that_does_not_become_ready_is_named_with_what_it_said_last(tmp_path: Path) -> None:
    with (
        supervising(tmp_path, json.dumps([[60, "repairing", "lost ray"]])),
        pytest.raises(Unavailable, match="not ready after 1 s, repairing: lost ray"),
    ):
        wait_until_ready(tmp_path, lambda line: None, seconds=1)


def test_one_that_ends_says_why(tmp_path: Path) -> None:
    with (
        supervising(tmp_path, json.dumps([[0.5, "starting", "ray"], [0.1, "failed", "port 80 is taken"]])),
        pytest.raises(Unavailable, match="port 80 is taken") as refused,
    ):
        wait_until_ready(tmp_path, lambda line: None, PATIENCE)
    assert "supervisor.log" in refused.value.hint


def test_a_light_instance_is_of_one_machine(tmp_path: Path) -> None:
    """Before anything is started."""
    env = {"PATH": "/usr/bin:/bin", "AOS_PROFILE": "prod", "AOS_STATE_DIR": str(tmp_path / "s"), "AOS_ENV_FILE": ""}
    program = [sys.executable, "-c", "from cluster.cli import main; main()", "up", "--light", "--json"]
    done = subprocess.run(program, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "--light is of one machine" in done.stderr
    assert not (tmp_path / "s").exists()


def run_up(state: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "AOS_STATE_DIR": str(state), "AOS_ENV_FILE": ""}
    program = [sys.executable, "-c", "from cluster.cli import main; main()", "up", *options, "--json"]
    return subprocess.run(program, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_light_beside_an_instance_that_is_not_changes_nothing_and_says_so(tmp_path: Path) -> None:
    """It is not called ready: who asked for a light one has none."""
    note_profile(tmp_path, "dev")
    with supervising(tmp_path, json.dumps([[60, "ready", ""]])):
        done = run_up(tmp_path, "--light")
    error = json.loads(done.stderr)["error"]
    assert done.returncode == 1 and error["detail"] == "it runs already, with the profile dev, not light"
    assert error["fix"] == "`aos down`, then `aos up --light`."


def test_a_profile_is_another_only_while_an_instance_runs(tmp_path: Path) -> None:
    note_profile(tmp_path, "light")
    assert other_profile(tmp_path, "dev") is None
    with supervising(tmp_path, json.dumps([[60, "ready", ""]])):
        assert other_profile(tmp_path, "dev") == "it runs already, with the profile light"
        assert other_profile(tmp_path, "light") is None


def test_down_ends_what_would_begin_a_supervisor_anew_also_before_that_is_there(tmp_path: Path) -> None:
    """One that was killed is begun anew a moment later: `aos down` in that moment would have ended nothing for long."""
    begins = "import sys, time; print('ready', flush=True); time.sleep(60)"
    command = ["env", f"AOS_STATE_DIR={tmp_path}", sys.executable, "-c", begins, RESTARTING, MODULE]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as keeper:
        try:
            assert keeper.stdout is not None and keeper.stdout.readline()
            assert supervisor.stop_instance(tmp_path / "another") is False and keeper.poll() is None
            assert supervisor.stop_instance(tmp_path) is True
            assert keeper.wait(20) == -signal.SIGTERM
        finally:
            keeper.kill()


@pytest.mark.parametrize(
    "program", [keeper.RUN, keeper.VERIFY, doctor_deep.PROGRAM, doctor_repair.PROGRAM, move_program.PROGRAM, REPLAY]
)
def test_programs_of_its_own_are_found_from_a_folder_with_packages_of_the_same_names(
    tmp_path: Path, program: tuple[str, ...]
) -> None:
    for name in ("cluster", "configs", "pipelines", "serve_apps"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('of somebody else')\n")
    line = [*program[: program.index("-m")], "-c", f"import {program[program.index('-m') + 1]}"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
