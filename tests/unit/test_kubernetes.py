"""The manifests for Kubernetes: they agree with each other, with the settings, and with what is deployed."""

import json
import re
import tomllib
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from cluster import deploy
from cluster.state import supervised
from configs.sections import PostgresSettings, RedisSettings, Settings
from configs.settings import environment_names, load_settings, section_types
from tests.fakes.manifests import (
    FOLDER,
    ROOT,
    Manifest,
    base_manifests,
    gpu_group,
    manifest,
    pod_templates,
    read_documents,
    secret_names,
    settings_environment,
)

TEMPLATES = list(pod_templates())
NAMES = [name for name, _ in TEMPLATES]
PLACEHOLDERS = {
    "DATABASE_URL": "postgresql://app:s3cr3t-1@db/aos",
    "DATABASE_ADMIN_URL": "postgresql://owner:s3cr3t-2@db/aos",
    "REDIS_URL": "redis://:s3cr3t-3@cache",
}
# KubeRay's own fields (ray-operator/apis/ray/v1/raycluster_types.go); a misspelt one would be dropped in silence.
KUBERAY_FIELDS = {
    "": {
        "rayVersion",
        "enableInTreeAutoscaling",
        "autoscalerOptions",
        "gcsFaultToleranceOptions",
        "headGroupSpec",
        "workerGroupSpecs",
    },
    "autoscalerOptions": {
        "idleTimeoutSeconds",
        "upscalingMode",
        "imagePullPolicy",
        "env",
        "securityContext",
        "volumeMounts",
        "resources",
    },
    "gcsFaultToleranceOptions": {"redisAddress", "redisPassword"},
    "headGroupSpec": {"rayStartParams", "template"},
}
GROUP_FIELDS = {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}


def containers(template: Manifest) -> list[Manifest]:
    spec = template["spec"]
    return [*spec.get("initContainers", ()), *spec["containers"]]


def settings_of(extra: dict[str, str] | None = None) -> Settings:
    """As a pod reads them; raises where a name is unknown."""
    secrets = dict.fromkeys(secret_names(), "s3cr3t-of-more-than-thirty-two-characters") | PLACEHOLDERS
    return load_settings(settings_environment() | secrets | (extra or {}))


def quantity(text: str) -> Fraction:
    """A quantity of Kubernetes; `m` are thousandths, Mi and Gi bytes."""
    number, unit = re.fullmatch(r"(\d+)(m|Mi|Gi)?", text).groups()  # type: ignore[union-attr]
    return int(number) * {None: Fraction(1), "m": Fraction(1, 1000), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}[unit]


def selected(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def labels_by_pod() -> dict[str, dict[str, str]]:
    """Labels that pods will have: KubeRay adds its own."""
    added = {"head": {"ray.io/cluster": "aos", "ray.io/node-type": "head"}}
    worker = {"ray.io/cluster": "aos", "ray.io/node-type": "worker"}
    return {
        name: template["metadata"]["labels"] | ({} if name == "supervisor" else added.get(name, worker))
        for name, template in TEMPLATES
    }


def test_every_file_is_listed_and_says_what_it_is() -> None:
    for one in base_manifests():
        assert one.keys() >= {"apiVersion", "kind", "metadata"}
    for folder in ("base", "gpu", "site"):
        said = read_documents(FOLDER / folder / "kustomization.yaml")[0]
        listed = {*said.get("resources", ()), *(one["path"] for one in said.get("patches", ()) if "path" in one)}
        here = {path.name for path in (FOLDER / folder).glob("*.yaml")} - {"kustomization.yaml"}
        assert {name for name in listed if "/" not in name} == here
        assert all((FOLDER / folder / name).exists() for name in (*listed, *said.get("components", ())))


def test_pods_read_their_environment_as_settings() -> None:
    settings = settings_of()
    assert settings.profile == "prod"
    assert settings.ray.address == "aos-head-svc:6379"
    assert settings.postgres.url and settings.redis.url and settings.models.vault_key, "nothing is embedded in a pod"
    known = {
        *environment_names().values(),
        "GRADIO_TEMP_DIR",
        "FORWARDED_ALLOW_IPS",
    }  # of AOS_ none is unknown: it was read
    others = {name for name in settings_environment() if name not in known}
    assert all(name.startswith(("AOS_", "RAY_", "HF_", "OMP_")) for name in others), "an unknown AOS_ is refused"


def test_secrets_are_settings_that_are_secret_and_no_other_is_in_the_open() -> None:
    dotted = {name: key for key, name in environment_names().items()}
    for name in secret_names():
        section, _, key = dotted[name].partition(".")
        assert section_types()[section].is_secret(key), name
    for name in settings_environment():
        section, _, key = dotted.get(name, "").partition(".")
        assert not key or not section_types()[section].is_secret(key), name


def test_every_secret_that_is_named_is_made_by_the_commands() -> None:
    text = (FOLDER / "base" / "secrets.env.example").read_text(encoding="utf-8")
    made = set(re.findall(r"create secret (?:generic|tls) (\S+)", text))
    whole = yaml.safe_dump_all([*base_manifests(), gpu_group()])
    named = re.findall(r"secretKeyRef:\n *key: (\S+)\n *name: (\S+)", whole)
    assert {name for _, name in named} | {"aos-secrets", "aos-tls"} == made
    for key, name in named:
        assert re.search(rf"{name} --from-literal={key}=", text), f"{name} has the key {key}"


def test_versions_are_those_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    ray = re.search(r"^ray==(\S+)$", (ROOT / "configs" / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert ray and manifest("RayCluster", "aos")["spec"]["rayVersion"] == ray[1]
    images = {one["image"] for _, template in TEMPLATES for one in containers(template)}
    assert images == {f"registry.example.internal/aos:{version}"}
    (changed,) = read_documents(FOLDER / "site" / "kustomization.yaml")[0]["images"]
    assert changed["name"] == "registry.example.internal/aos" and changed["newTag"] == version
    assert f"aos:{version} -" in (FOLDER / "Containerfile").read_text(encoding="utf-8")


def test_kuberay_knows_the_fields() -> None:
    spec = manifest("RayCluster", "aos")["spec"]
    for place, known in KUBERAY_FIELDS.items():
        assert (spec[place] if place else spec).keys() <= known
    for group in (*spec["workerGroupSpecs"], gpu_group()):
        assert group.keys() == GROUP_FIELDS
        assert 0 < group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    heads = [spec["headGroupSpec"], *spec["workerGroupSpecs"], gpu_group()]
    assert all(isinstance(value, str) for group in heads for value in group["rayStartParams"].values())


@pytest.mark.parametrize("template", [one for _, one in TEMPLATES], ids=NAMES)
def test_kubernetes_adds_no_names_that_settings_refuse(template: Manifest) -> None:
    """A Service named aos would give every pod AOS_SERVICE_HOST."""
    with pytest.raises(Exception, match="AOS_SERVICE_HOST: unknown"):
        settings_of({"AOS_SERVICE_HOST": "10.96.0.7"})
    assert template["spec"]["enableServiceLinks"] is False


@pytest.mark.parametrize("template", [one for _, one in TEMPLATES], ids=NAMES)
def test_pods_fit_the_restricted_profile(template: Manifest) -> None:
    account = template["spec"]["securityContext"]
    assert account["runAsNonRoot"] is True and account["seccompProfile"] == {"type": "RuntimeDefault"}
    mine = re.search(r"^USER (\d+):(\d+)$", (FOLDER / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert mine and (account["runAsUser"], account["fsGroup"]) == (int(mine[1]), int(mine[2]))
    options = manifest("RayCluster", "aos")["spec"]["autoscalerOptions"]
    for one in (*containers(template), options):
        locked = one["securityContext"]
        assert locked["allowPrivilegeEscalation"] is False and locked["capabilities"] == {"drop": ["ALL"]}
        assert locked["readOnlyRootFilesystem"] is True
        assert quantity(one["resources"]["requests"]["memory"]) <= quantity(one["resources"]["limits"]["memory"])
    (namespace,) = [one for one in base_manifests() if one["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("template", [one for _, one in TEMPLATES], ids=NAMES)
def test_every_mount_has_its_volume_and_all_see_the_same_state(template: Manifest) -> None:
    volumes = {one["name"]: one for one in template["spec"]["volumes"]}
    for one in containers(template):
        mounts = {mount["name"]: PurePosixPath(mount["mountPath"]) for mount in one["volumeMounts"]}
        assert mounts.keys() <= volumes.keys()
        state = PurePosixPath(settings_environment()["AOS_STATE_DIR"])
        assert mounts["state"] in state.parents, "the mount itself belongs to root: AOS refuses it"
        assert {"/tmp", "/home/aos"} <= {str(path) for path in mounts.values()}, "else nothing can be written"
    claim = manifest("PersistentVolumeClaim", volumes["state"]["persistentVolumeClaim"]["claimName"])
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]


@pytest.mark.parametrize("template", [one for name, one in TEMPLATES if name != "supervisor"], ids=NAMES[:-1])
def test_rays_objects_fit_their_memory(template: Manifest) -> None:
    spec = manifest("RayCluster", "aos")["spec"]
    (group,) = [
        one
        for one in (spec["headGroupSpec"], *spec["workerGroupSpecs"], gpu_group())
        if one["template"]["spec"] == template["spec"]
    ]
    (ray,) = template["spec"]["containers"]
    (shared,) = [one["emptyDir"] for one in template["spec"]["volumes"] if one["name"] == "shared-mem"]
    objects = int(group["rayStartParams"]["object-store-memory"])
    assert objects <= quantity(shared["sizeLimit"]) < quantity(ray["resources"]["limits"]["memory"])


def test_the_way_in_leads_to_the_gateways_port() -> None:
    settings = settings_of()
    service, ingress = manifest("Service", "aos"), manifest("Ingress", "aos")
    (port,) = service["spec"]["ports"]
    ports = {one["name"]: one["containerPort"] for one in containers(dict(TEMPLATES)["head"])[0]["ports"]}
    assert ports[port["targetPort"]] == settings.http.port and settings.http.host == "0.0.0.0"
    assert ports["dashboard"] == settings.ray.dashboard_port
    assert settings.ray.address == f"aos-head-svc:{ports['gcs']}"
    assert settings.console.api_url == f"http://aos-head-svc:{settings.http.port}"
    assert [name for name, labels in labels_by_pod().items() if selected(service["spec"]["selector"], labels)] == [
        "head"
    ]
    (rule,) = ingress["spec"]["rules"]
    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "aos", "port": {"name": port["name"]}}
    assert ingress["spec"]["tls"] == [{"hosts": [rule["host"]], "secretName": "aos-tls"}]
    body = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"]
    assert int(body.removesuffix("m")) * 2**20 > settings.http.max_upload_bytes


def test_selectors_find_their_pods() -> None:
    labels = labels_by_pod()
    workers = manifest("PodDisruptionBudget", "aos-workers")["spec"]
    covered = {name for name, have in labels.items() if selected(workers["selector"]["matchLabels"], have)}
    assert covered == {"general", "gpu"}
    (general,) = manifest("RayCluster", "aos")["spec"]["workerGroupSpecs"]
    assert workers["minAvailable"] < general["minReplicas"], "a drain can go on"
    deployment = manifest("Deployment", "aos-supervisor")["spec"]
    assert selected(deployment["selector"]["matchLabels"], labels["supervisor"])
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"}), "one at a time"
    among = manifest("NetworkPolicy", "aos-among-pods")["spec"]["podSelector"]["matchLabels"]
    assert all(selected(among, have) for have in labels.values())


def test_nothing_leaves_but_to_the_servers() -> None:
    settings = settings_of()
    closed = manifest("NetworkPolicy", "aos-closed")["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    entrance = manifest("NetworkPolicy", "aos-entrance")["spec"]
    assert [port["port"] for port in entrance["ingress"][0]["ports"]] == [settings.http.port]
    servers = manifest("NetworkPolicy", "aos-servers")["spec"]["egress"]
    ports = [port["port"] for rule in servers for port in rule["ports"]]
    assert ports == [PostgresSettings().port, RedisSettings().port, 443]
    for policy in (one for one in base_manifests() if one["kind"] == "NetworkPolicy"):
        for rule in policy["spec"].get("egress", ()):
            assert rule.get("to"), "a rule without a destination is open to the world"
            for to in rule["to"]:
                assert "ipBlock" not in to or to["ipBlock"]["cidr"].endswith("/32")


def cpus(group: Manifest, count: str) -> Fraction:
    return group[count] * quantity(group["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"])


def serve_cpus(plan: dict[str, Any], *, most: bool) -> float:
    total = 0.0
    for app in plan["applications"]:
        for one in app["deployments"]:
            scaling = one.get("autoscaling_config")
            wanted = scaling["max_replicas" if most else "min_replicas"] if scaling else one.get("num_replicas", 1)
            total += wanted * one["ray_actor_options"]["num_cpus"]
    return total


def test_workers_hold_what_is_deployed_and_two_readers() -> None:
    settings = settings_of()
    plan = deploy.deployment_plan(settings)
    (group,) = manifest("RayCluster", "aos")["spec"]["workerGroupSpecs"]
    reading = 2 * settings.read.reader_cpus + 1
    assert serve_cpus(plan, most=False) + reading <= cpus(group, "minReplicas")
    assert serve_cpus(plan, most=True) + reading <= cpus(group, "maxReplicas")
    assert {app["name"] for app in plan["applications"]} >= {"gateway", "executor", "orchestrator", "worker", "console"}


def test_gpu_workers_hold_what_computes_on_gpus() -> None:
    (patch,) = [
        yaml.safe_load(one["patch"])
        for one in read_documents(FOLDER / "gpu" / "kustomization.yaml")[0]["patches"]
        if "patch" in one
    ]
    declared = {one["path"].rpartition("/")[2]: one["value"] for one in patch}
    settings, group = settings_of(declared), gpu_group()
    limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
    gpus = int(limits["nvidia.com/gpu"])
    assert settings.ray.num_gpus == group["minReplicas"] * gpus == group["maxReplicas"] * gpus
    plan = deploy.deployment_plan(settings)
    used = [one for app in plan["applications"] for one in app["deployments"] if "num_gpus" in one["ray_actor_options"]]
    assert {one["name"] for one in used} >= {"Embedder", "Worker"}
    on_gpus = {"applications": [{"deployments": used}]}
    readers = 2 * settings.ray.num_gpus * settings.read.reader_cpus
    assert serve_cpus(on_gpus, most=True) + readers <= cpus(group, "maxReplicas")


def test_the_supervisor_is_ready_when_it_says_so(tmp_path: Path) -> None:
    (container,) = dict(TEMPLATES)["supervisor"]["spec"]["containers"]
    probe = container["readinessProbe"]["exec"]["command"][2]
    pattern = re.search(r'grep -q "(.*)" "\$AOS_STATE_DIR/supervisor.json"', probe)
    assert pattern
    wanted = pattern[1].replace('\\"', '"')
    for phase, ready in (("starting", False), ("repairing", False), ("ready", True), ("failed", False)):
        supervised.write_status(tmp_path, phase, 'of "phase": another')
        assert (wanted in supervised.status_path(tmp_path).read_text()) is ready
    assert supervised.status_path(tmp_path).name in container["command"][2], "an old word is removed first"
    (limit,) = re.findall(r"-lt (\d+)$", container["livenessProbe"]["exec"]["command"][2])
    assert int(limit) > supervised.BUSY_SECONDS > deploy.HEALTHY_SECONDS > supervised.SIGN_SECONDS
    assert json.loads(supervised.status_path(tmp_path).read_text())["phase"] == "failed"


def test_ray_is_started_as_by_ray_up() -> None:
    """cluster.yaml and the manifests begin Ray with the same variables, but for where its token and Python are."""
    head = yaml.safe_load((ROOT / "cluster.yaml").read_text(encoding="utf-8"))["head_start_ray_commands"][1]
    said = dict(re.findall(r"\b((?:RAY|OMP|HF)_\w+)=(\S+)", head))
    del said["RAY_AUTH_TOKEN_PATH"]
    given = settings_environment()
    assert {name: given.get(name) for name in said} == said


def test_the_image_is_made_of_what_is_here() -> None:
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for name in line.split()]
    assert all((ROOT / name).exists() for name in copied)
    assert {"configs", "cluster", "pipelines", "skills", "serve_apps", "Makefile", "pyproject.toml"} <= set(copied)
    home = re.search(r"^WORKDIR (/opt/\S+)$", text, re.MULTILINE)
    assert home and f"AOS_PYTHON={home[1]}/.venv/bin/python" in text
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "make install-runtime" in text and "\ninstall-runtime:" in makefile
    for program in ("tesseract-ocr", "bubblewrap"):
        assert program in text and program in makefile
