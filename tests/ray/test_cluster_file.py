"""`ray up cluster.yaml` gets past Ray's own look at the file, as it lies there and with its cloud variant."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "cluster.yaml"


def looked_at(config: dict[str, Any]) -> dict[str, Any]:
    """What Ray makes of it before it starts anything; it aborts or raises where it does not like it."""
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(config)
    validate_config(prepared)
    return prepared


def test_ray_takes_the_file_as_it_is() -> None:
    """Also what `ray up` does next, up to where it would call the machines."""
    from ray.autoscaler._private.commands import _bootstrap_config

    config = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    prepared = looked_at(config)
    (node,) = prepared["available_node_types"].values()
    assert (node["min_workers"], node["max_workers"]) == (1, 1), "a worker for each address"
    assert _bootstrap_config(config, no_config_cache=True)["head_node_type"] in prepared["available_node_types"]


def test_the_cloud_variant_is_taken_where_the_comment_signs_are_gone() -> None:
    text = FILE.read_text(encoding="utf-8")
    _, _, after = text.partition("#\n# max_workers:")
    block, _, _ = f"# max_workers:{after}".partition("\n\n")
    variant = yaml.safe_load("\n".join(line.removeprefix("# ") for line in block.splitlines()))
    provider = {"type": "aws", "region": "eu-central-1"}
    prepared = looked_at({**yaml.safe_load(text), "provider": provider, **variant})
    assert set(prepared["available_node_types"]) == {"head", "reader", "gpu"}
    assert prepared["max_workers"] == 8
