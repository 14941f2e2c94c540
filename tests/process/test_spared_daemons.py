"""Ray's daemons that nobody here uses: the dashboard begun anew with what is asked of it, and no stranger's touched."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cluster.basics.errors import Unavailable
from cluster.spared_daemons import SITE, USED, end_client_server, restart_dashboard
from cluster.state.db.daemon import is_running

PROGRAM = """
import json, os, sys, time
place = next(word for word in sys.argv if word.startswith("--temp-dir=")).partition("=")[2]
told = {"words": sys.argv[1:], "paths": os.environ.get("PYTHONPATH", ""), "mark": os.environ.get("MARK")}
told["pid"] = os.getpid()
with open(os.path.join(place, f"{os.getpid()}.json"), "w") as file:
    json.dump(told, file)
time.sleep(60)
"""


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = tmp_path / "dashboard" / "dashboard.py"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    words = [
        sys.executable,
        str(program),
        "--host=127.0.0.1",
        f"--temp-dir={tmp_path}",
        "--modules-to-load=UsageStatsHead",
        "--disable-frontend",
    ]
    started = subprocess.Popen(words, env={"PYTHONPATH": "/before", "MARK": "kept"})
    try:
        told(tmp_path, 1)
        yield started
    finally:
        started.kill()
        started.wait()
        for one in tmp_path.glob("*.json"):
            if psutil.pid_exists(pid := int(one.stem)):
                psutil.Process(pid).kill()


def told(place: Path, count: int) -> list[dict[str, Any]]:
    for _ in range(400):
        found = [one.read_text() for one in place.glob("*.json")]
        if len(found) == count and all(found):
            return [json.loads(one) for one in found]
        time.sleep(0.05)
    raise TimeoutError


def test_it_has_the_modules_that_are_asked_and_all_else_as_before(
    tmp_path: Path, dashboard: subprocess.Popen[bytes]
) -> None:
    restart_dashboard(tmp_path)
    dashboard.wait(20)
    (fresh,) = [one for one in told(tmp_path, 2) if one["pid"] != dashboard.pid]
    assert fresh["words"] == ["--host=127.0.0.1", f"--temp-dir={tmp_path}", f"--modules-to-load={','.join(USED)}"]
    assert fresh["paths"].split(":") == [str(SITE), "/before"] and fresh["mark"] == "kept"


def test_that_of_another_cluster_is_left_alone_and_a_missing_one_told(
    tmp_path: Path, dashboard: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(Unavailable, match="has begun no dashboard"):
        restart_dashboard(tmp_path / "other")
    assert is_running(psutil.Process(dashboard.pid))


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
