"""What the chart lays on Kubernetes agrees with itself, with the settings, and with what is deployed."""

import json
import re
import subprocess
import tomllib
from copy import deepcopy
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
    CHART,
    FOLDER,
    ROOT,
    SITE,
    Manifest,
    manifest,
    pod_templates,
    ray_groups,
    rendered,
    secret_names,
    settings_environment,
)

# Of all pods that there may be, with GPUs.
PODS = ["head", "general", "gpu", "supervisor", "upgrade-check", "doctor"]
RAY_PODS = PODS[:3]
RESTARTED = PODS[:4]
HELPERS = (CHART / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
PLACEHOLDERS = {
    "DATABASE_URL": "postgresql://app:s3cr3t-1@db/aos",
    "DATABASE_ADMIN_URL": "postgresql://owner:s3cr3t-2@db/aos",
    "REDIS_URL": "redis://:s3cr3t-3@cache",
}


def template(name: str) -> Manifest:
    return dict(pod_templates())[name]


def containers(pod: Manifest) -> list[Manifest]:
    spec = pod["spec"]
    return [*spec.get("initContainers", ()), *spec["containers"]]


def settings_of(extra: dict[str, str] | None = None, variant: str = "site") -> Settings:
    """As a pod reads them; raises where a name is unknown."""
    secrets = dict.fromkeys(secret_names(), "s3cr3t-of-more-than-thirty-two-characters") | PLACEHOLDERS
    return load_settings(settings_environment(variant) | secrets | (extra or {}))


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
        name: pod["metadata"]["labels"] | (added.get(name, worker) if name in RAY_PODS else {})
        for name, pod in pod_templates()
    }


def test_every_pod_is_looked_at() -> None:
    assert sorted(name for name, _ in pod_templates()) == sorted(PODS)


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
    secret = {
        name
        for name, key in dotted.items()
        if "." in key and section_types()[key.partition(".")[0]].is_secret(key.partition(".")[2])
    }
    assert secret == {*secret_names(), "RAY_AUTH_TOKEN"}, "Ray's token has a Secret of its own"
    named = re.search(r'define "aos.secretSettings" -}}\n\[(.*?)\]', HELPERS, re.DOTALL)
    assert named and set(re.split(r",\s+", named[1])) == secret, "none may stand in `settings`"
    assert not secret & settings_environment().keys()


@pytest.mark.parametrize("variant", ["gpu", "secrets made from values"])
def test_every_secret_that_is_named_is_made_by_the_commands_or_by_the_chart(variant: str) -> None:
    whole = yaml.safe_dump_all(rendered(variant))
    named = {(name, key) for key, name in re.findall(r"secretKeyRef:\n *key: (\S+)\n *name: (\S+)", whole)}
    assert {name for name, _ in named} == {"aos-ray-token", "aos-ray-redis"}
    everywhere = {name for name, _ in named} | {"aos-secrets", "aos-tls"}
    made = {one["metadata"]["name"]: one for one in rendered(variant) if one["kind"] == "Secret"}
    text = SITE.read_text(encoding="utf-8")
    assert set(re.findall(r"create secret (?:generic|tls) (\S+)", text)) == everywhere
    if variant == "gpu":
        assert made == {}
        assert all(re.search(rf"{name} --from-literal={key}=", text) for name, key in named)
        assert {name for name in secret_names() if name in text} >= {*PLACEHOLDERS, "AUTH_SECRET_KEY", "LLM_API_KEY"}
        return
    assert made.keys() == everywhere
    assert all(made[name]["stringData"].keys() == {key} for name, key in named)
    assert made["aos-secrets"]["stringData"].keys() >= {*PLACEHOLDERS, "AOS_MODELS_VAULT_KEY"}
    assert made["aos-tls"]["type"] == "kubernetes.io/tls"
    assert "s3cr3t" not in yaml.safe_dump_all(one for one in rendered(variant) if one["kind"] != "Secret")


def test_versions_are_those_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    ray = re.search(r"^ray==(\S+)$", (ROOT / "configs" / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert ray and manifest("RayCluster", "aos")["spec"]["rayVersion"] == ray[1]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (version, version)
    images = {one["image"] for _, pod in pod_templates() for one in containers(pod)}
    assert images == {f"registry.corp.example/aos:{version}"}
    assert f"aos:{version} -" in (FOLDER / "Containerfile").read_text(encoding="utf-8")


def test_another_image_begins_a_ray_cluster_of_its_own() -> None:
    """What an older Ray wrote into its Redis is not for a newer one to read."""
    spaces = {
        variant: manifest("RayCluster", "aos", variant)["spec"]["gcsFaultToleranceOptions"]["externalStorageNamespace"]
        for variant in ("site", "gpu", "all that may be said")
    }
    assert spaces["site"] == spaces["gpu"] != spaces["all that may be said"]


def test_what_pods_read_at_their_start_restarts_them_where_it_changes() -> None:
    marks = {
        variant: [pod["metadata"]["annotations"] for name, pod in pod_templates(variant) if name in RESTARTED]
        for variant in ("site", "gpu", "secrets made from values")
    }
    assert all(one == found[0] for found in marks.values() for one in found), "all pods of one Ray are of one kind"
    site, gpu, made = (found[0] for found in marks.values())
    assert site["checksum/settings"] != gpu["checksum/settings"] and site["checksum/secrets"] == gpu["checksum/secrets"]
    assert site["checksum/secrets"] != made["checksum/secrets"]
    assert manifest("RayCluster", "aos")["spec"]["upgradeStrategy"] == {"type": "Recreate"}


def test_suspended_is_everything_away_and_the_state_there() -> None:
    assert manifest("RayCluster", "aos", "suspended")["spec"]["suspend"] is True
    assert manifest("Deployment", "aos-supervisor", "suspended")["spec"]["replicas"] == 0
    assert "suspend" not in manifest("RayCluster", "aos")["spec"]
    kept = manifest("PersistentVolumeClaim", "aos-state", "suspended")["metadata"]["annotations"]
    assert kept == {"helm.sh/resource-policy": "keep"}


@pytest.mark.parametrize("name", PODS)
def test_kubernetes_adds_no_names_that_settings_refuse(name: str) -> None:
    """A Service named aos would give every pod AOS_SERVICE_HOST."""
    with pytest.raises(Exception, match="AOS_SERVICE_HOST: unknown"):
        settings_of({"AOS_SERVICE_HOST": "10.96.0.7"})
    assert template(name)["spec"]["enableServiceLinks"] is False


@pytest.mark.parametrize("name", PODS)
def test_pods_fit_the_restricted_profile(name: str) -> None:
    pod = template(name)
    account = pod["spec"]["securityContext"]
    assert account["runAsNonRoot"] is True and account["seccompProfile"] == {"type": "RuntimeDefault"}
    mine = re.search(r"^USER (\d+):(\d+)$", (FOLDER / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert mine and (account["runAsUser"], account["fsGroup"]) == (int(mine[1]), int(mine[2]))
    options = manifest("RayCluster", "aos")["spec"]["autoscalerOptions"]
    for one in (*containers(pod), options):
        locked = one["securityContext"]
        assert locked["allowPrivilegeEscalation"] is False and locked["capabilities"] == {"drop": ["ALL"]}
        assert locked["readOnlyRootFilesystem"] is True
        assert quantity(one["resources"]["requests"]["memory"]) <= quantity(one["resources"]["limits"]["memory"])


@pytest.mark.parametrize("name", PODS)
@pytest.mark.parametrize("variant", ["gpu", "all that may be said"])
def test_every_mount_has_its_volume_and_all_see_the_same_state(variant: str, name: str) -> None:
    pod = dict(pod_templates(variant))[name]
    volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
    assert len(volumes) == len(pod["spec"]["volumes"])
    for one in containers(pod):
        mounts = {mount["name"]: PurePosixPath(mount["mountPath"]) for mount in one["volumeMounts"]}
        assert mounts.keys() == volumes.keys()
        state = PurePosixPath(settings_environment()["AOS_STATE_DIR"])
        assert mounts["state"] in state.parents, "the mount itself belongs to root: AOS refuses it"
        assert {"/tmp", "/home/aos"} <= {str(path) for path in mounts.values()}, "else nothing can be written"
    claimed = volumes["state"]["persistentVolumeClaim"]["claimName"]
    if variant == "gpu":
        claim = manifest("PersistentVolumeClaim", claimed)
        assert claim["spec"]["accessModes"] == ["ReadWriteMany"] and claim["spec"]["storageClassName"] == "nfs"
    else:
        assert claimed == "documents" and "PersistentVolumeClaim" not in {one["kind"] for one in rendered(variant)}
        assert "authorities" in volumes


@pytest.mark.parametrize("group", range(len(RAY_PODS)), ids=RAY_PODS)
def test_rays_objects_fit_their_memory(group: int) -> None:
    found = ray_groups("gpu")[group]
    (ray,) = found["template"]["spec"]["containers"]
    (shared,) = [one["emptyDir"] for one in found["template"]["spec"]["volumes"] if one["name"] == "shared-mem"]
    objects = int(found["rayStartParams"]["object-store-memory"])
    assert objects <= quantity(shared["sizeLimit"]) < quantity(ray["resources"]["limits"]["memory"])


def test_the_way_in_leads_to_the_gateways_port() -> None:
    settings = settings_of()
    service, ingress = manifest("Service", "aos"), manifest("Ingress", "aos")
    (port,) = service["spec"]["ports"]
    ports = {one["name"]: one["containerPort"] for one in containers(template("head"))[0]["ports"]}
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
    for variant in ("gpu", "site"):
        spread = [one["template"]["spec"]["topologySpreadConstraints"] for one in ray_groups(variant)[1:]]
        names = [one["labelSelector"]["matchLabels"].pop("ray.io/group") for (one,) in deepcopy(spread)]
        assert names == [one["groupName"] for one in ray_groups(variant)[1:]]
    deployment = manifest("Deployment", "aos-supervisor")["spec"]
    assert selected(deployment["selector"]["matchLabels"], labels["supervisor"])
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"}), "one at a time"
    among = manifest("NetworkPolicy", "aos-among-pods")["spec"]["podSelector"]["matchLabels"]
    assert all(selected(among, have) for have in labels.values())


def test_nothing_leaves_but_to_the_servers() -> None:
    settings = settings_of()
    closed = manifest("NetworkPolicy", "aos-closed")["spec"]
    assert closed["policyTypes"] == ["Ingress", "Egress"] and closed.keys() == {"podSelector", "policyTypes"}
    assert all(selected(closed["podSelector"]["matchLabels"], have) for have in labels_by_pod().values())
    entrance = manifest("NetworkPolicy", "aos-entrance")["spec"]
    assert [port["port"] for port in entrance["ingress"][0]["ports"]] == [settings.http.port]
    for name in ("aos-entrance", "aos-autoscaler"):
        chosen = manifest("NetworkPolicy", name)["spec"]["podSelector"]["matchLabels"]
        assert [pod for pod, have in labels_by_pod().items() if selected(chosen, have)] == ["head"]
    servers = manifest("NetworkPolicy", "aos-servers")["spec"]["egress"]
    ports = [port["port"] for rule in servers for port in rule["ports"]]
    assert ports == [PostgresSettings().port, RedisSettings().port, 443, 443]
    for policy in (one for one in rendered() if one["kind"] == "NetworkPolicy"):
        for rule in policy["spec"].get("egress", ()):
            assert rule.get("to"), "a rule without a destination is open to the world"
            for to in rule["to"]:
                assert "ipBlock" not in to or to["ipBlock"]["cidr"].endswith("/32")


def test_what_is_turned_off_is_not_there() -> None:
    bare = rendered("nothing beside")
    assert sorted(one["kind"] for one in bare) == [
        "ConfigMap",
        "Deployment",
        "PersistentVolumeClaim",
        "Pod",
        "PodDisruptionBudget",
        "RayCluster",
        "Service",
    ]
    spec = manifest("RayCluster", "aos", "nothing beside")["spec"]
    assert spec["enableInTreeAutoscaling"] is False
    assert not {"autoscalerOptions", "gcsFaultToleranceOptions"} & spec.keys()
    assert spec["headGroupSpec"]["template"]["spec"]["automountServiceAccountToken"] is False
    assert "AOS_BLOBS_URL" not in settings_environment("nothing beside"), "documents lie on the volume"
    assert settings_of(variant="nothing beside").blobs.url is None
    plain = manifest("Ingress", "aos", "all that may be said")
    assert "tls" not in plain["spec"]


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
    _, group = ray_groups()
    reading = 2 * settings.read.reader_cpus + 1
    assert serve_cpus(plan, most=False) + reading <= cpus(group, "minReplicas")
    assert serve_cpus(plan, most=True) + reading <= cpus(group, "maxReplicas")
    assert {app["name"] for app in plan["applications"]} >= {"gateway", "executor", "orchestrator", "worker", "console"}


def test_gpu_workers_hold_what_computes_on_gpus() -> None:
    settings, group = settings_of(variant="gpu"), ray_groups("gpu")[2]
    limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
    gpus = int(limits["nvidia.com/gpu"])
    assert settings.ray.num_gpus == group["minReplicas"] * gpus == group["maxReplicas"] * gpus
    assert settings_of().ray.num_gpus == 0
    plan = deploy.deployment_plan(settings)
    used = [one for app in plan["applications"] for one in app["deployments"] if "num_gpus" in one["ray_actor_options"]]
    assert {one["name"] for one in used} >= {"Embedder", "Worker"}
    on_gpus = {"applications": [{"deployments": used}]}
    readers = 2 * settings.ray.num_gpus * settings.read.reader_cpus
    assert serve_cpus(on_gpus, most=True) + readers <= cpus(group, "maxReplicas")
    two = ray_groups("all that may be said")[2]["template"]["spec"]
    assert settings_environment("all that may be said")["AOS_RAY_NUM_GPUS"] == "2"
    assert two["runtimeClassName"] == "nvidia" and len(two["tolerations"]) == 2
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in two["tolerations"]


def test_an_upgrade_is_looked_at_by_the_new_image_with_the_new_settings_first() -> None:
    job = manifest("Job", "aos-upgrade-check")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-upgrade" and job["spec"]["backoffLimit"] == 0
    (check,) = job["spec"]["template"]["spec"]["containers"]
    given = {one["name"]: one["value"] for one in check["env"] if "value" in one}
    assert given.items() >= settings_environment().items()
    assert check["envFrom"] == [{"secretRef": {"name": "aos-secrets"}}], "the ConfigMap is still the old one's"


@pytest.mark.parametrize(
    ("said", "stopped", "code"),
    [(0, False, 0), (3, False, 0), (4, False, 4), (4, True, 0), (1, False, 1), (1, True, 1)],
)
def test_an_upgrade_goes_on_only_where_the_check_lets_it(said: int, stopped: bool, code: int, tmp_path: Path) -> None:
    job = manifest("Job", "aos-upgrade-check", "all that may be said" if stopped else "site")
    (check,) = job["spec"]["template"]["spec"]["containers"]
    aos = tmp_path / "aos"
    aos.write_text(f'#!/bin/sh\n[ "$*" = "upgrade --check" ] && exit {said}\nexit 99\n')
    aos.chmod(0o755)
    done = subprocess.run(
        check["command"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert ("suspended=true" in done.stdout) is (code == 4)


def test_the_supervisor_is_ready_when_it_says_so(tmp_path: Path) -> None:
    (container,) = template("supervisor")["spec"]["containers"]
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
