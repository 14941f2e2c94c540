"""The manifests of cluster/kubernetes, read as they lie there: no cluster, and no tool of one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "cluster" / "kubernetes"
Manifest = dict[str, Any]


def read_documents(path: Path) -> list[Any]:
    """Every document of a file."""
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def base_manifests() -> list[Manifest]:
    """What `base` lists, in its order."""
    listed = read_documents(FOLDER / "base" / "kustomization.yaml")[0]["resources"]
    return [one for name in listed for one in read_documents(FOLDER / "base" / name)]


def manifest(kind: str, name: str, among: list[Manifest] | None = None) -> Manifest:
    """The only one of that kind and name."""
    found = base_manifests() if among is None else among
    (one,) = [one for one in found if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return one


def gpu_group() -> Manifest:
    """The group of workers that the component `gpu` adds."""
    (patch,) = read_documents(FOLDER / "gpu" / "workers.yaml")[0]
    group: Manifest = patch["value"]
    return group


def pod_templates() -> Iterator[tuple[str, Manifest]]:
    """Every template of a pod, with a name for people."""
    spec = manifest("RayCluster", "aos")["spec"]
    yield "head", spec["headGroupSpec"]["template"]
    for group in (*spec["workerGroupSpecs"], gpu_group()):
        yield group["groupName"], group["template"]
    yield "supervisor", manifest("Deployment", "aos-supervisor")["spec"]["template"]


def settings_environment() -> dict[str, str]:
    """The environment that every pod gets, but for secrets."""
    data: dict[str, str] = manifest("ConfigMap", "aos-settings")["data"]
    return data


def secret_names() -> list[str]:
    """The keys of the secret `aos-secrets`, from the file that people copy."""
    lines = (FOLDER / "base" / "secrets.env.example").read_text(encoding="utf-8").splitlines()
    return [line.partition("=")[0] for line in lines if not line.startswith("#")]
