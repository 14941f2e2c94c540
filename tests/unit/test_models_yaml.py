"""configs/models.yaml as shipped, and the example that it documents."""

from pathlib import Path

import yaml

from cluster.models.connections.configured import load_connections
from cluster.models.routing.fallback_order import CallRequirements, plan_route, routing_of
from cluster.models.routing.tasks import Task
from configs import settings
from configs.sections import LlmSettings

SHIPPED = Path(settings.__file__).parent / "models.yaml"


def test_as_shipped_it_holds_nothing() -> None:
    assert load_connections(SHIPPED, LlmSettings()).connections == ()


def test_its_example_can_be_taken_over(tmp_path: Path) -> None:
    """MR-05: the documented routing, over the documented connections."""
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("# connections:"))
    example = "\n".join(line[2:] for line in lines[begin:] if line.startswith("# "))
    for name in ("openai", "anthropic", "vllm"):
        (tmp_path / name).write_text(f"key-of-{name}\n")
        example = example.replace(f"/run/secrets/{name}", str(tmp_path / name))
    (tmp_path / "models.yaml").write_text(example)
    found = load_connections(tmp_path / "models.yaml", LlmSettings())
    assert [c.name for c in found.connections] == ["fast", "careful", "here"]
    assert sorted(found.keys.values()) == ["key-of-anthropic", "key-of-openai", "key-of-vllm"]
    routing = yaml.safe_load(
        "\n".join(
            line[2:].strip().partition("   ")[0]
            for line in lines[:begin]
            if line.startswith("#   ") and ": " in line and not line.startswith("#     ")
        )
    )
    route = plan_route(
        routing_of({"llm_routing": routing}), CallRequirements(Task.CODE_GEN), found.connections, found.default
    )
    assert [stop.connection.name for stop in route.stops] == ["careful", "fast", "here"]
    cheap = plan_route(
        routing_of({"llm_routing": routing}), CallRequirements(Task.CLASSIFY), found.connections, found.default
    )
    assert cheap.stops[0].connection.name == "here", "no price counts as 0"
