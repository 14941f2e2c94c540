"""Ray's head with all that runs on it is killed and begun anew, while another node works: with and without Redis."""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cluster import connect
from cluster.basics.errors import Unavailable
from cluster.console.findings import GREEN, YELLOW, HealthFinding, StatusColour
from cluster.doctor import run_probe
from cluster.free_ports import free_port
from cluster.ray_daemons.spared_daemons import end_client_server
from cluster.state.db.daemon import close_to_others, log_tail, make_private
from cluster.state.secret_file import kept_secret
from cluster.watch import haproxy
from configs.sections import Settings
from configs.settings import load_settings
from tests.evals.report import ROOT, Report
from tests.fakes.valkey import valkey
from tests.instance import instance
from tests.kill.approvals import configured
from tests.kill.ha_work import SETTINGS, Fault, Outage, scripted, work_on
from tests.kill.main import until

FAULT_TOLERANCE = "GCS fault tolerance with Redis documented and tested."
HOST = "127.0.0.1"
AWAY_SECONDS = 3.0  # until whoever keeps the head begins it anew
START_SECONDS = 120
PATIENCE = {"RAY_gcs_rpc_server_reconnect_timeout_s": "600"}
RAY = str(Path(sys.executable).with_name("ray"))


@dataclass(frozen=True, slots=True)
class TwoNodes:
    """A head without CPUs and a node with eight, both on loopback; `env` is what both are started with."""

    settings: Settings
    env: Mapping[str, str]

    def start_head(self, redis_port: int = 0) -> None:
        """With a port of Redis on loopback the cluster's state is kept there, and found there again."""
        ray = self.settings.ray
        store = {"RAY_REDIS_ADDRESS": f"{HOST}:{redis_port}"} if redis_port else {}
        place, client_port = connect.ray_folder(self.settings.state_dir), free_port()
        # With it `ray start` takes the other node's raylet, elsewhere on a machine of its own, for a head that runs.
        (place / "ray_current_cluster").unlink(missing_ok=True)
        options = {
            "--node-ip-address": HOST,
            "--port": (ray.address or "").rpartition(":")[2],
            "--num-cpus": 0,
            "--object-store-memory": 80 * 2**20,
            "--dashboard-host": HOST,
            "--dashboard-port": ray.dashboard_port,
            "--dashboard-agent-listen-port": free_port(),
            "--ray-client-server-port": client_port,
            "--min-worker-port": 0,
            "--max-worker-port": 0,
            "--include-log-monitor": "false",
            "--temp-dir": place,
        }
        self._start([RAY, "start", "--head", "--no-monitor", "--disable-usage-stats"], options, store)
        end_client_server(client_port)  # nothing in its arguments says whose it is: it would outlive its head

    def start_node(self) -> None:
        """The one that works; it waits for a head that went away as long as `cluster.yaml` says."""
        options = {"--cpus": 8, "--memory": 400 * 2**20, "--agent-port": free_port()}
        address = self.settings.ray.address or ""
        self._start([sys.executable, "-m", "tests.kill.further_node", address], options, PATIENCE)

    def kill_head(self) -> int:
        """`kill -9` of GCS, raylet, and whatever runs on the head; how many those were."""
        others = set(self.node_processes())
        victims = [one for one in connect.ray_processes(self.settings.state_dir) if one not in others]
        for one in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(victims, timeout=20)
        return len(victims)

    def node_raylet(self) -> psutil.Process | None:
        """Of the node that works."""
        found = connect.ray_processes(self.settings.state_dir)
        return next((one for one in found if _program(one) == "raylet" and "--head" not in _words(one)), None)

    def node_processes(self) -> list[psutil.Process]:
        """All that runs there."""
        raylet = self.node_raylet()
        return [] if raylet is None else [raylet, *raylet.children(recursive=True)]

    def replicas(self) -> set[int]:
        """Processes of Serve's replicas."""
        found = connect.ray_processes(self.settings.state_dir)
        return {one.pid for one in found if " ".join(_words(one)).startswith("ray::ServeReplica")}

    def kill_node(self) -> None:
        """What is left of the node whose head is gone."""
        for one in self.node_processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()

    def alive_nodes(self) -> int:
        """As Ray's dashboard says; 0 where it does not answer."""
        try:
            return connect.ray_dashboard(self.settings).get("/api/v0/nodes", _count_alive)
        except Unavailable:
            return 0

    def _start(self, words: list[str], options: Mapping[str, object], more: Mapping[str, str]) -> None:
        """Daemons stay, and what began them ends; what it said is told where it fails."""
        command = [*words, *(f"{name}={value}" for name, value in options.items())]
        log = self.settings.state_dir / "ray-start.log"
        with log.open("wb") as output:
            done = subprocess.run(
                command,
                env={**self.env, **more},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                timeout=START_SECONDS,
                check=False,
            )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} failed ({done.returncode}):\n{log_tail(log)}")


def _count_alive(body: dict[str, dict[str, dict[str, list[dict[str, str]]]]]) -> int:
    return sum(node["state"] == "ALIVE" for node in body["data"]["result"]["result"])


def _words(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


def _program(process: psutil.Process) -> str:
    return Path((_words(process) or [""])[0]).name


@contextmanager
def two_nodes(environment: Mapping[str, str]) -> Iterator[TwoNodes]:
    """A cluster as somebody else runs it, with the product's settings; its head is not begun yet."""
    settings = load_settings(environment)
    state, place = settings.state_dir, connect.ray_folder(settings.state_dir)
    make_private(state)
    close_to_others(place.parent)
    make_private(place)
    kept_secret(connect.token_path(state), lambda: secrets.token_hex(32))
    haproxy.install_script(place, connect.front_door(settings.http, place))
    try:
        yield TwoNodes(settings, {**environment, **connect.ray_environment(settings)})
    finally:
        connect.stop_ray(state)
        shutil.rmtree(place.parent, ignore_errors=True)


def restart_head(nodes: TwoNodes, redis_port: int) -> Fault:
    """Kill the head, and begin it anew; where no Redis keeps the cluster's state, the other node, too."""

    def fault(outage: Outage, meanwhile: Callable[[], None]) -> None:
        outage.began = time.monotonic()
        killed = nodes.kill_head()
        assert killed > 5, killed
        meanwhile()
        time.sleep(AWAY_SECONDS)
        if not redis_port:
            nodes.kill_node()  # nobody knows it any more: it would end by itself a minute later
        nodes.start_head(redis_port)
        if not redis_port:
            nodes.start_node()
        outage.over = time.monotonic()

    return fault


def measure(place: Path, report: Report) -> None:
    """First a head whose Redis remembers; the one that takes its place at last has none."""
    redis_port = free_port()
    (place / "redis").mkdir()
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    with valkey(place / "redis", redis_port), configured(place) as path, scripted(place) as (marks, url):
        environment = SETTINGS | {
            "PYTHONPATH": os.pathsep.join((path, str(ROOT))),
            "PATH": os.environ["PATH"],
            "HOME": str(state),
            "LANG": "C.UTF-8",
            "LLM_BASE_URL": url,
            "AOS_STATE_DIR": str(state / "s"),
            "AOS_RAY_ADDRESS": f"{HOST}:{free_port()}",
            "AOS_RAY_DASHBOARD_PORT": str(free_port()),
            "API_PORT": str(free_port()),
            "NFS_BASE_PATH": "/",
            "AOS_AUTH_ACCESS_MINUTES": "600",
            "AOS_LIMITS_ENABLED": "false",
            "AOS_EMBEDDING_DETECT": "false",
        }
        with two_nodes(environment) as nodes:
            nodes.start_head(redis_port)
            nodes.start_node()
            with instance(**environment) as started:
                work = work_on(started, marks, place, report)
                name = "head begun anew, with Redis"
                disturb = restart_head(nodes, redis_port)
                doctors_word(nodes, report, GREEN)
                _judge_kept(name, nodes, report, lambda: work.during(name, disturb))
                # All of the cluster begins anew, and the applications with it: how long that takes is shown.
                work.during("head begun anew, without Redis", restart_head(nodes, 0), soon=None)
                doctors_word(nodes, report, YELLOW)
    shutil.rmtree(state, ignore_errors=True)


def doctors_word(nodes: TwoNodes, report: Report, wanted: StatusColour) -> None:
    """What it says of the head, as soon as the head's agent has told of its GCS."""
    found: list[HealthFinding] = []

    def told() -> bool:
        found[:] = run_probe("ray head", nodes.settings)
        return [one.colour for one in found] == [wanted]

    holds, said = until(told, 60), "; ".join(one.detail for one in found)
    report.figure(f"aos doctor, of a head that should be {wanted}", said, goal=FAULT_TOLERANCE, holds=holds)


def _judge_kept(name: str, nodes: TwoNodes, report: Report, disturb: Callable[[], None]) -> None:
    """The other node and its replicas stay, and the new head knows them."""
    raylet, replicas = nodes.node_raylet(), nodes.replicas()
    disturb()
    stayed = raylet is not None and raylet.is_running() and nodes.node_raylet() == raylet
    alive, kept = nodes.alive_nodes(), replicas & nodes.replicas()
    report.figure(f"{name}: the other node stayed", str(stayed), goal=FAULT_TOLERANCE, holds=stayed)
    report.figure(f"{name}: nodes alive", alive, reference=2, goal=FAULT_TOLERANCE, holds=alive == 2)
    whole = bool(replicas) and kept == replicas
    report.figure(
        f"{name}: replicas that went on", len(kept), reference=len(replicas), goal=FAULT_TOLERANCE, holds=whole
    )
