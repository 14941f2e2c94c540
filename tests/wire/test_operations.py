"""The cluster as the gateway asks Ray's own API for it: deployments, their load, parts that are away or babble."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from cluster import connect
from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.console.findings import StatusColour
from cluster.state.settings.snapshots import SettingsSnapshots
from configs.settings import load_settings
from pipelines.read import most_resources
from serve_apps.http.operator_deps import ServeDeployment
from serve_apps.operations import PARTS, OurCluster
from tests.fakes.api_server import ApiServer, serve_api

APPS = "GET /api/serve/applications/"
RUNNING = {"state": "RUNNING"}


def application(status: str, name: str, running: int, wanted: int, message: str = "") -> dict[str, Any]:
    replicas = [RUNNING] * running + [{"state": "STARTING"}]
    part = {"status": "HEALTHY", "message": message, "target_num_replicas": wanted, "replicas": replicas}
    return {"status": status, "message": "", "deployments": {name: part}}


FOUND = {
    "applications": {
        "gateway": application("RUNNING", "Gateway", 2, 2),
        "embedding": application("DEPLOYING", "Embedder", 0, 1, "no CPUs"),
    }
}
FIGURES = b"""# HELP ray_serve_deployment_queued_queries waits
# TYPE ray_serve_deployment_queued_queries gauge
ray_serve_deployment_queued_queries{application="gateway",deployment="Gateway",handle="a"} 3.0
ray_serve_deployment_queued_queries{application="gateway",deployment="Gateway",handle="b"} 1.0
ray_serve_replica_processing_queries{application="gateway",deployment="Gateway",replica="x"} 5.0
ray_other_figure{application="gateway"} not a number
"""


@contextmanager
def node(text: bytes) -> Iterator[str]:
    """What Ray's agent on a node tells."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def cluster(folder: Path, fake: ApiServer, *agents: str) -> OurCluster:
    connect.token_path(folder).write_text("access-1")
    named = {"AOS_STATE_DIR": str(folder), "AOS_RAY_DASHBOARD_PORT": fake.url.rpartition(":")[2]}
    return OurCluster(SettingsSnapshots(load_settings(named)), lambda: agents)


def test_ad_05_deployments_with_replicas_and_what_waits_for_them(tmp_path: Path) -> None:
    """AD-05, OB-05: summed over handles and nodes; a node that does not answer or babbles is left out."""
    with node(FIGURES) as first, node(FIGURES) as second, node(b"{") as babbles, serve_api({APPS: FOUND}) as fake:
        found = cluster(tmp_path, fake, first, second, babbles, "127.0.0.1:9").deployments()
    assert list(found) == [
        ServeDeployment("embedding", "Embedder", "DEPLOYING", "no CPUs", 0, 1),
        ServeDeployment("gateway", "Gateway", "RUNNING", "", 2, 2, queued=8, ongoing=10),
    ]


def test_without_figures_the_load_is_unknown_and_without_ray_it_is_unavailable(tmp_path: Path) -> None:
    with serve_api({APPS: FOUND}) as fake:
        asked = cluster(tmp_path, fake)
        assert [one.queued for one in asked.deployments()] == [None, None]
        fake.answers[APPS] = (500, {})
        with pytest.raises(Unavailable):
            asked.deployments()


def test_a_plan_that_does_not_hold_is_refused_and_parts_that_are_away_are_red(tmp_path: Path) -> None:
    with serve_api({}) as fake:
        asked = cluster(tmp_path, fake)
        with pytest.raises(InvalidSettings, match=r"ray\.num_cpus"):
            asked.check(load_settings({"AOS_READ_READERS": "9"}))
        probes = asked.probes()
        assert tuple(probes) == PARTS
        ray, (redis,) = probes["ray"]()[0], probes["redis"]()
        assert (ray.colour, redis.colour) == (StatusColour.RED, StatusColour.RED) and redis.fix
        assert probes["disk"]()[0].part == "disk"
        (backup,) = probes["backup"]()
        assert (backup.part, backup.colour) == ("backup", StatusColour.YELLOW) and "AOS_BACKUP_URL" in backup.fix


class _RayState:
    """Ray's own record of the cluster, that tells what its autoscaler may add."""

    def get_max_resources_from_cluster_config(self) -> dict[str, float]:
        return {"CPU": 64.0}


@pytest.mark.parametrize(("state", "most"), [(_RayState(), {"CPU": 64.0}), (object(), {})])
def test_a_ray_that_does_not_tell_what_a_cluster_may_grow_to_has_no_more_than_it_has(
    state: object, most: dict[str, float]
) -> None:
    assert most_resources(state) == most
