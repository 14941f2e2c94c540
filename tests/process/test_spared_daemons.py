"""Ray's daemons that nobody here uses: ended, or others in their place, and no stranger's touched."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from cluster.ray_daemons.spared_daemons import SITE, WITH_SITE, begin_serve_api, end_client_server, serve_api_processes
from cluster.state.db.daemon import is_running

RAY = "/l/site-packages/ray"
PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port")
# A raylet begins its agent by Ray's own path, and waits for the files in which it tells its ports.
RAYLET = """
import subprocess, sys
subprocess.Popen([sys.executable, "-u", *sys.argv[1:]])
sys.stdin.read()
"""


def spared_command(*words: str) -> list[str]:
    found = importlib.util.spec_from_file_location("site_of_ours", SITE / "sitecustomize.py")
    assert found is not None and found.loader is not None
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)  # which exchanges nothing here, as pytest is none of Ray's programs
    return list(module.spared_command(words))


def until(holds: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_dashboard_without_pages_and_the_agent_become_ours() -> None:
    dashboard = f"{RAY}/dashboard/dashboard.py"
    mute = spared_command(dashboard, "--host=127.0.0.1", "--modules-to-load=UsageStatsHead", "--disable-frontend")
    assert mute[:3] == ["-m", "cluster.ray_daemons.serve_api", "--host=127.0.0.1"]
    agent = spared_command(f"{RAY}/dashboard/agent.py", "--node-id=1")
    assert agent == ["-I", "-S", str(SITE / "agent_stand_in.py"), "--node-id=1"]


def test_ray_clients_server_ends_before_it_has_loaded_anything(tmp_path: Path) -> None:
    program = tmp_path / "setup_worker.py"
    program.write_text("raise SystemExit('it is Ray's own')")
    words = [sys.executable, str(program), "-m", "ray.util.client.server", "--port=41"]
    assert subprocess.run(words, env={"PYTHONPATH": str(SITE)}, check=True, capture_output=True).stderr == b""


@pytest.mark.parametrize(
    "words",
    [
        [f"{RAY}/dashboard/dashboard.py", "--host=127.0.0.1"],  # one with its pages is asked for
        [f"{RAY}/_private/runtime_env/agent/main.py", "--node-id=1"],
        [f"{RAY}/_private/workers/default_worker.py"],
        ["/home/somebody/dashboard.py", "--disable-frontend"],
        ["-c"],
        [],
    ],
)
def test_every_other_program_is_let_be(words: list[str]) -> None:
    assert spared_command(*words) == []


def test_our_folder_comes_before_what_is_there() -> None:
    def paths(environment: dict[str, str]) -> str:
        done = subprocess.run(
            [*WITH_SITE, "printenv", "PYTHONPATH"], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert paths({"PATH": os.defpath}) == str(SITE)
    assert paths({"PATH": os.defpath, "PYTHONPATH": "/before"}) == f"{SITE}:/before"


def test_who_stands_in_for_the_agent_says_that_nobody_answers_and_ends_with_the_raylet(tmp_path: Path) -> None:
    program = tmp_path / "ray/dashboard/agent.py"
    program.parent.mkdir(parents=True)
    program.write_text("raise SystemExit('it is Ray's own')")
    words = [sys.executable, "-c", RAYLET, str(program), "--node-id=n1", f"--session-dir={tmp_path}", "--head"]
    raylet = subprocess.Popen(words, env={"PYTHONPATH": str(SITE)}, stdin=subprocess.PIPE)
    try:
        files = [tmp_path / f"{name}_n1" for name in PORTS]
        until(lambda: all(file.exists() for file in files))
        assert {file.read_text() for file in files} == {"-1"}
        assert not list(tmp_path.glob("*.new")), "nobody reads half a file"
        (agent,) = psutil.Process(raylet.pid).children()
        until(lambda: f"--session-dir={tmp_path}" in agent.cmdline() and "-S" in agent.cmdline())
        assert agent.memory_full_info().uss < 8 * 2**20, "80 MB less is what it is for"
        before = agent.num_ctx_switches().voluntary
        time.sleep(1)
        assert agent.num_ctx_switches().voluntary - before < 3, "it does nothing at all"
    finally:
        raylet.kill()
        raylet.wait()
    until(lambda: not is_running(agent))


def test_who_answers_for_the_dashboard_is_begun_anew_with_what_its_raylet_knows(tmp_path: Path) -> None:
    told = [
        "--gcs-address=127.0.0.1:9",
        "--cluster-id=" + "ab" * 28,
        f"--temp_dir={tmp_path}",
        f"--session_dir={tmp_path}/session_1",
        f"--log_dir={tmp_path}/logs",
        "--python_worker_command=python --temp_dir=/elsewhere --gcs-address=x",
    ]
    code = "import time; time.sleep(60)"
    raylet = subprocess.Popen([sys.executable, "-c", code, *told], env={**os.environ, "MARK": "kept"})
    try:
        assert serve_api_processes(tmp_path) == []
        begin_serve_api(psutil.Process(raylet.pid), "127.0.0.1", 41)
        until(lambda: serve_api_processes(tmp_path))
        (begun,) = serve_api_processes(tmp_path)
        assert serve_api_processes(tmp_path / "of-another") == []
        assert {"--port=41", "--gcs-address=127.0.0.1:9", f"--session-dir={tmp_path}/session_1"} <= set(begun.cmdline())
        assert begun.environ()["MARK"] == "kept"
        begun.send_signal(signal.SIGKILL)
        until(lambda: not serve_api_processes(tmp_path))
    finally:
        raylet.kill()
        raylet.wait()


def test_the_client_server_of_this_port_alone_is_ended() -> None:
    line = [sys.executable, "-c", "import time; time.sleep(60)", "-m", "ray.util.client.server"]
    mine, other = (subprocess.Popen([*line, f"--port={port}"]) for port in (41, 42))
    try:
        time.sleep(0.2)
        end_client_server(41)
        assert mine.wait(20) == -9 and other.poll() is None
    finally:
        for one in (mine, other):
            one.kill()
            one.wait()
