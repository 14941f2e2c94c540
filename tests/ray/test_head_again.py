"""A Ray head is killed and begun anew beside another node: with a Redis it knows that node, and the doctor says so."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from cluster import connect, doctor
from cluster.console.findings import GREEN, HealthFinding
from cluster.free_ports import free_ports
from cluster.state.db.daemon import is_running
from tests.fakes.valkey import Valkey, valkey
from tests.kill.head_restart import TwoNodes, two_nodes
from tests.kill.main import until

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "only-rays"


@pytest.fixture
def store() -> Iterator[Valkey]:
    with TemporaryDirectory() as place, valkey(Path(place), free_ports(1)[0]) as made:
        yield made


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    gcs, dashboard, api = map(str, free_ports(3))
    with TemporaryDirectory(prefix="aos-") as place:
        yield {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": place,
            "LANG": "C.UTF-8",
            "AOS_STATE_DIR": f"{place}/s",
            "AOS_RAY_GCS_PORT": gcs,
            "AOS_RAY_DASHBOARD_PORT": dashboard,
            "API_PORT": api,
        }


@pytest.fixture
def nodes(store: Valkey, environment: dict[str, str]) -> Iterator[TwoNodes]:
    with two_nodes(environment | {"AOS_RAY_ADDRESS": f"127.0.0.1:{environment['AOS_RAY_GCS_PORT']}"}) as made:
        yield made


def head_finding(nodes: TwoNodes) -> HealthFinding:
    """As soon as the head's agent has told of it."""
    deadline = time.monotonic() + 60
    while True:
        found = doctor.run_probe("ray head", nodes.settings)
        if len(found) == 1 and "tells nothing" not in found[0].detail:
            return found[0]
        assert time.monotonic() < deadline, found
        time.sleep(1)


def gcs(state_dir: Path) -> psutil.Process:
    (found,) = [p for p in connect.ray_processes(state_dir) if p.name().startswith("gcs_server")]
    return found


def test_a_head_with_a_redis_knows_its_node_and_ends_without_it(nodes: TwoNodes, store: Valkey) -> None:
    nodes.start_head(store.port)
    nodes.start_node()
    assert until(lambda: nodes.alive_nodes() == 2, 60)
    told = head_finding(nodes)
    assert told.colour == GREEN and "knows its 2 nodes" in told.detail
    raylet = nodes.node_raylet()

    assert nodes.kill_head() > 5
    nodes.start_head(store.port)
    assert until(lambda: nodes.alive_nodes() == 2, 60)
    assert raylet is not None and is_running(raylet) and nodes.node_raylet() == raylet

    before = gcs(nodes.settings.state_dir)
    store.kill()
    assert until(lambda: not is_running(before), 60), "GCS goes on without its Redis"


def test_a_head_whose_redis_refuses_it_says_why_to_the_doctor(nodes: TwoNodes, store: Valkey) -> None:
    store.kill()
    store.password = PASSWORD
    store.start()
    with pytest.raises(RuntimeError, match="ray start --head"):
        nodes.start_head(store.port)
    url = f"redis://127.0.0.1:{store.port}"
    settings = nodes.settings.model_copy(update={"ray": nodes.settings.ray.model_copy(update={"store_url": url})})
    (found,) = doctor.run_probe("ray store", settings)
    assert "refuses the password" in found.detail and "AOS_RAY_STORE_URL" in found.fix


def test_the_head_that_is_started_here_leaves_a_redis_aside(environment: dict[str, str]) -> None:
    """Nobody answers there: Ray would wait for a minute and end with a backtrace."""
    start = "from cluster import connect; from configs.settings import load_settings;"
    start += "connect.ensure_cluster(load_settings())"
    state = Path(environment["AOS_STATE_DIR"])
    try:
        command = [sys.executable, "-c", start]
        subprocess.run(command, env=environment | {"RAY_REDIS_ADDRESS": "127.0.0.1:1"}, timeout=200, check=True)
        assert not [word for word in gcs(state).cmdline() if word.startswith("--redis_address")]
    finally:
        connect.stop_ray(state)
        shutil.rmtree(connect.ray_folder(state).parent, ignore_errors=True)
