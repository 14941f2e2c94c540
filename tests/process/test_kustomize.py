"""`kubectl kustomize` renders the manifests; no cluster is asked."""

import shutil
import subprocess
from typing import Any

import pytest
import yaml

from tests.fakes.manifests import FOLDER, base_manifests, manifest


def rendered(folder: str) -> tuple[str, list[dict[str, Any]]]:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl here")
    done = subprocess.run(
        ["kubectl", "kustomize", FOLDER / folder], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, list(yaml.safe_load_all(done.stdout))


def test_the_base_is_rendered_as_it_lies_there() -> None:
    _, found = rendered("base")
    kinds = sorted((one["kind"], one["metadata"]["name"]) for one in found)
    assert kinds == sorted((one["kind"], one["metadata"]["name"]) for one in base_manifests())
    assert {one["metadata"].get("namespace", "aos") for one in found} == {"aos"}
    assert manifest("RayCluster", "aos", found)["spec"] == manifest("RayCluster", "aos")["spec"]


def test_a_site_replaces_every_address_that_belongs_to_nobody() -> None:
    text, found = rendered("site")
    assert "example.internal" not in text and "192.0.2." not in text
    spec = manifest("RayCluster", "aos", found)["spec"]
    assert [group["groupName"] for group in spec["workerGroupSpecs"]] == ["general", "gpu"]
    settings = manifest("ConfigMap", "aos-settings", found)["data"]
    assert settings["AOS_RAY_NUM_GPUS"] == "1" and settings["LLM_BASE_URL"]
    servers = manifest("NetworkPolicy", "aos-servers", found)["spec"]["egress"]
    assert len(servers) == 4, "the model server, too"
