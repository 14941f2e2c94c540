"""`ray up cluster.yaml` gets past Ray's own look at the file, as it lies there and with its cloud variant."""

import os
import subprocess
import tarfile
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


def test_nodes_get_the_code_as_a_whole_and_what_the_product_needs_alone(tmp_path: Path) -> None:
    config = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    ((there, here),) = config["file_mounts"].items()
    assert f"git archive --format=tar.gz -o {here} HEAD" in FILE.read_text(encoding="utf-8")
    _, unpack, install = config["setup_commands"]
    assert install == "cd ~/aos && make install-runtime"

    def unpacked(*names: str) -> set[str]:
        packed = tmp_path / there.removeprefix("~/")
        with tarfile.open(packed, "w:gz") as archive:
            for name in names:
                archive.add(FILE, name)
        subprocess.run(["bash", "-c", unpack], env={**os.environ, "HOME": str(tmp_path)}, check=True)
        return {str(one.relative_to(tmp_path / "aos")) for one in (tmp_path / "aos").rglob("*") if one.is_file()}

    assert unpacked("Makefile", "cluster/before.py") == {"Makefile", "cluster/before.py"}
    (tmp_path / "aos" / ".env").touch()
    assert unpacked("Makefile", "cluster/now.py") == {"Makefile", "cluster/now.py", ".env"}
    (tmp_path / "aos" / ".git").touch()
    assert unpacked("cluster/later.py") == {"Makefile", "cluster/now.py", ".env", ".git"}, "a checkout is somebody's"
