"""Ray's own look at the RayCluster: its autoscaler takes it, and what the probes ask is answered without a token."""

from copy import deepcopy
from typing import Any

import pytest

from tests.fakes.manifests import manifest, pod_templates, ray_groups


def as_kubernetes_has_it(*, gpu: bool) -> dict[str, Any]:
    found = deepcopy(manifest("RayCluster", "aos", "gpu" if gpu else "site"))
    found["metadata"]["namespace"] = "aos"
    return found


@pytest.mark.parametrize("gpu", [False, True])
def test_the_autoscaler_takes_the_cluster(gpu: bool) -> None:
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr

    config = _derive_autoscaling_config_from_ray_cr(as_kubernetes_has_it(gpu=gpu))
    assert config["idle_timeout_minutes"] == 5
    nodes = {name: (one["min_workers"], one["max_workers"]) for name, one in config["available_node_types"].items()}
    assert nodes == {"headgroup": (0, 0), "general": (2, 8)} | ({"gpu": (1, 1)} if gpu else {})
    resources = {name: one["resources"] for name, one in config["available_node_types"].items()}
    assert resources["headgroup"]["CPU"] == 0, "nothing is placed on the head"
    assert resources["general"]["CPU"] == 4 and "GPU" not in resources["general"]
    if gpu:
        assert (resources["gpu"]["CPU"], resources["gpu"]["GPU"]) == (8, 1)


def test_probes_ask_routes_that_need_no_token() -> None:
    from inspect import getsource

    from ray.dashboard import http_server_agent, http_server_head
    from ray.dashboard.modules.reporter import healthz_agent, reporter_head

    asked = {
        (name, kind, str(container[kind]["httpGet"]["port"]), container[kind]["httpGet"]["path"])
        for name, template in pod_templates()
        for container in template["spec"]["containers"]
        for kind in ("readinessProbe", "livenessProbe")
        if "httpGet" in container.get(kind, {})
    }
    assert {one["rayStartParams"]["dashboard-agent-listen-port"] for one in ray_groups("gpu")} == {"52365"}
    agents = {path for _, _, port, path in asked if port == "52365"}
    assert agents <= set(http_server_agent.PUBLIC_EXACT_PATHS)
    assert all(f'"{path}"' in getsource(healthz_agent) for path in agents)
    heads = {path for _, _, port, path in asked if port == "dashboard"}
    assert heads == {"/api/gcs_healthz"}
    assert '"/api/gcs_healthz"' in getsource(reporter_head) and '"/api/gcs_healthz"' in getsource(http_server_head)
