"""The cluster as the gateway's operators see it: probes of the parts, what Serve runs, whether a plan holds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from cluster import connect, deploy, doctor
from cluster.basics.bounded_answers import fetch_bounded
from cluster.basics.errors import Unavailable
from cluster.state.settings.snapshots import SettingsSnapshots
from configs.sections import Settings
from serve_apps.http.operator_deps import Probe, ServeDeployment

PARTS = ("postgres", "redis", "ray", "supervisor", "disk", "backup")  # of the doctor's; the rest is about one machine
SCRAPE_SECONDS = 2.0
MOST_NODES = 200
QUEUED = "ray_serve_deployment_queued_queries"
ONGOING = "ray_serve_replica_processing_queries"


class OurCluster:
    """A `Cluster`, asked through Ray's own HTTP API."""

    def __init__(self, snapshots: SettingsSnapshots, agents: Callable[[], Sequence[str]] | None = None) -> None:
        """`agents`: addresses at which Ray's agents tell figures; those of the cluster that this process is in."""
        self._snapshots, self._agents = snapshots, agents or ray_agents

    def check(self, settings: Settings) -> None:
        """See `Cluster`."""
        deploy.deployment_plan(settings)

    def probes(self) -> Mapping[str, Probe]:
        """See `Cluster`."""
        settings = self._snapshots.began
        return {part: partial(doctor.run_probe, part, settings) for part in PARTS}

    def deployments(self) -> Sequence[ServeDeployment]:
        """See `Cluster`."""
        ray = connect.ray_dashboard(self._snapshots.began)
        return _with_load(ray.get(deploy.APPLICATIONS, _parse_deployments), _scrape_loads(self._agents()))


def ray_agents() -> list[str]:
    """Addresses of the agents on the nodes that are there, by Ray itself: its dashboard may have no such part."""
    import ray

    if not ray.is_initialized():
        return []
    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    return [f"{one['NodeManagerAddress']}:{one['MetricsExportPort']}" for one in nodes if one["Alive"]]


def _parse_deployments(body: Mapping[str, Any]) -> list[ServeDeployment]:
    return [
        ServeDeployment(
            name,
            part,
            app["status"],
            " ".join(text.strip() for text in (app["message"], detail["message"]) if text).strip(),
            sum(replica["state"] == "RUNNING" for replica in detail["replicas"]),
            detail["target_num_replicas"],
        )
        for name, app in sorted(body["applications"].items())
        for part, detail in sorted(app["deployments"].items())
    ]


def _scrape_loads(addresses: Sequence[str]) -> Mapping[tuple[str, str], dict[str, float]]:
    """Queued and ongoing requests by application and deployment, summed over the nodes; empty without Ray's metrics.

    Ray's agents tell each node's figures some seconds late; a node that does not answer is left out.
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    for address in addresses[:MOST_NODES]:
        try:
            url = f"http://{address}/metrics"
            text = fetch_bounded("GET", url, f"Ray's agent at {address}", seconds=SCRAPE_SECONDS).text
            for metric, labels, value in _parse_samples(text):
                load = found.setdefault((labels.get("application", ""), labels.get("deployment", "")), {})
                load[metric] = load.get(metric, 0.0) + value
        except (Unavailable, httpx.HTTPError, httpx.InvalidURL, ValueError):
            continue
    return found


def _parse_samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    lines = (line for line in text.splitlines() if line.startswith((QUEUED, ONGOING)))
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


def _with_load(
    found: Sequence[ServeDeployment], loads: Mapping[tuple[str, str], Mapping[str, float]]
) -> Sequence[ServeDeployment]:
    def one(deployment: ServeDeployment) -> ServeDeployment:
        load = loads.get((deployment.application, deployment.name), {})
        queued, ongoing = (None if name not in load else round(load[name]) for name in (QUEUED, ONGOING))
        return replace(deployment, queued=queued, ongoing=ongoing)

    return [one(deployment) for deployment in found]
