"""The chart: Helm takes it, Kubernetes and KubeRay know what it renders, a value that does not fit is refused."""

import json
import re
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tests.fakes.manifests import CHART, FOLDER, ROOT, SITE, VARIANTS, Manifest, manifest, rendered, run_helm
from tests.fakes.ray_cluster import RAY_CLUSTER, kubernetes_parts

KUBERNETES = ("1.28", "1.37")  # the oldest that Chart.yaml lets in, and the newest whose schemas are at hand


def check(one: Manifest, version: str) -> None:
    """Raises jsonschema.ValidationError where Kubernetes or KubeRay would not know it."""
    if one["kind"] != "RayCluster":
        kubernetes_validate.validate(one, version, strict=True)
        return
    jsonschema.validate(one, RAY_CLUSTER)
    for part in kubernetes_parts(one):
        kubernetes_validate.validate(part, version, strict=True)


def refusal(values: dict[str, Any]) -> str:
    done = run_helm("template", "aos", CHART, "--namespace", "aos", values=values)
    assert done.returncode != 0, "it was taken"
    return done.stderr


def leaves(values: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, value in values.items():
        found += leaves(value, (*path, key)) if isinstance(value, dict) and value else [(*path, key)]
    return found


@pytest.mark.parametrize("values", [None, *VARIANTS.values()], ids=["no values", *VARIANTS])
def test_helm_finds_nothing_to_complain_of(values: dict[str, Any] | None) -> None:
    done = run_helm("lint", "--strict", CHART, values=values)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 chart(s) failed" in done.stdout and "WARNING" not in done.stdout


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_kubernetes_and_kuberay_know_every_field(variant: str, version: str) -> None:
    assert {one["kind"] for one in rendered(variant)} >= {"RayCluster", "Deployment", "ConfigMap", "Service", "Pod"}
    for one in rendered(variant):
        check(one, version)
    oldest = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["kubeVersion"]
    assert oldest == f">={KUBERNETES[0]}.0-0"


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("RayCluster", "aos", ("spec", "upgradeStrategie"), {}),
        ("RayCluster", "aos", ("spec", "headGroupSpec", "template", "spec", "enableServiceLink"), False),
        ("RayCluster", "aos", ("spec", "autoscalerOptions", "securityContext", "runAsUsr"), 1),
        ("RayCluster", "aos", ("spec", "gcsFaultToleranceOptions", "redisPassword", "valueFrom", "secret"), "x"),
        ("Deployment", "aos-supervisor", ("spec", "replicas"), "one"),
        ("NetworkPolicy", "aos-servers", ("spec", "egres"), []),
    ],
)
def test_what_checks_the_manifests_sees_a_misspelt_field(
    kind: str, name: str, path: tuple[str, ...], value: object
) -> None:
    broken = deepcopy(manifest(kind, name))
    place = broken
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    for version in KUBERNETES:
        with pytest.raises(jsonschema.ValidationError):
            check(broken, version)


def test_what_has_to_be_filled_in_is_asked_for_by_name_and_all_at_once() -> None:
    done = run_helm("template", "aos", CHART)
    assert done.returncode != 0
    asked = re.findall(r"^- ([\w.]+)", done.stderr, re.MULTILINE)
    assert asked == [
        "image.repository",
        *(
            f"secrets.values.{name}"
            for name in ("DATABASE_URL", "DATABASE_ADMIN_URL", "REDIS_URL", "AUTH_SECRET_KEY", "AOS_MODELS_VAULT_KEY")
        ),
        "ray.token",
        "ray.faultTolerance.redisAddress",
        "ingress.host",
        "ingress.tls",
        "network.policies.egress",
        "network.policies.kubernetesApi",
    ]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"imge": {"tag": "1"}}, "Additional property imge is not allowed"),
        ({"ray": {"head": {"cpus": 2}}}, "ray.head: Additional property cpus is not allowed"),
        ({"workerGroups": {"spot": {"enabled": True}}}, "workerGroups.spot: memory is required"),
        ({"workerGroups": {"general": {"cpu": "4"}}}, "workerGroups.general.cpu: Invalid type. Expected: integer"),
        ({"workerGroups": {"general": {"minReplicas": 0}}}, "minReplicas: Must be greater than or equal to 1"),
        ({"workerGroups": {"general": {"minReplicas": 9}}}, "workerGroups.general: minReplicas is above maxReplicas"),
        ({"workerGroups": {"gpu": {"enabled": True, "maxReplicas": 2}}}, "minReplicas and maxReplicas must be equal"),
        ({"disruptionBudget": {"minAvailable": 2}}, "of 2 workers none could be taken"),
        ({"settings": {"LLM_DEFAULT_MODEL": 5}}, "settings.LLM_DEFAULT_MODEL: Invalid type. Expected: string"),
        ({"settings": {"AOS_RAY_NUM_GPUS": "3"}}, "settings.AOS_RAY_NUM_GPUS: the chart says it itself"),
        ({"settings": {"AOS_BLOBS_URL": "s3://x"}}, "settings.AOS_BLOBS_URL: the chart says it itself"),
        ({"settings": {"DATABASE_URL": "postgresql://x"}}, "settings.DATABASE_URL: a secret"),
        ({"secrets": {"values": {"DATABASE": "x"}}}, "secrets.values: Additional property DATABASE is not allowed"),
        ({"state": {"size": "50GB"}}, "state.size: Does not match pattern"),
        ({"blobs": {"url": "/srv/documents"}}, "blobs.url: Does not match pattern"),
        ({"ray": {"upgradeStrategy": "Rolling"}}, 'ray.upgradeStrategy must be one of the following: "Recreate"'),
        ({"ray": {"token": {"existingSecret": "", "value": "short"}}}, "ray.token.value: Does not match pattern"),
        ({"network": {"policies": {"egress": [{"cidr": "0.0.0.0/0", "ports": [5432]}]}}}, "cidr: Does not match"),
        ({"network": {"policies": {"egress": [{"cidr": "192.0.2.1/32"}]}}}, "ports is required"),
        ({"ingress": {"tls": {"existingSecret": ""}}}, "ingress.tls: existingSecret, or certificate and key"),
        ({"image": {"repository": "registry.corp.example/aos:1"}}, "image.repository: Does not match pattern"),
        ({"network": {"podCidr": "0.0.0.0/0"}}, "network.podCidr: Does not match pattern"),
        ({"network": {"policies": {"enabled": None}}}, "network.policies: enabled is required"),
        ({"ingress": {"tls": {"enabled": None}}}, "ingress.tls: enabled is required"),
        ({"ray": {"head": {"objectStoreMiB": None}}}, "ray.head: objectStoreMiB is required"),
        ({"extraVolumes": [{"name": "state", "emptyDir": {}}]}, "extraVolumes: a volume is called state already"),
    ],
    ids=lambda one: None if isinstance(one, dict) else one[:40],
)
def test_a_value_that_does_not_fit_is_refused_by_its_name(values: dict[str, Any], said: str) -> None:
    assert said in refusal(values)


def test_every_value_has_a_line_that_says_what_it_is_and_the_schema_knows_all() -> None:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    lines = text.splitlines()
    whole = ("requests", "limits")  # Kubernetes' own
    keys = [number for number, line in enumerate(lines) if re.match(r" *[A-Za-z]\w*:", line)]
    sections = [number for number in keys if lines[number].endswith(":") and number + 1 < len(lines)]
    silent = [
        lines[number]
        for number in keys
        if not lines[number - 1].lstrip().startswith("#")
        and number not in sections
        and lines[number].strip().partition(":")[0] not in whole
    ]
    assert silent == []
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    known = {tuple(path) for path in _schema_paths(schema, schema)}
    said = {
        tuple("*" if path[0] == "workerGroups" and at == 1 else key for at, key in enumerate(path))
        for path in leaves(yaml.safe_load(text))
    }
    said = {path for path in said if path[0] != "ingress" or path[1] != "annotations"}
    open_ended = {path for path in said if path[-2:-1] and path[-2] in whole}
    assert said - open_ended <= known
    assert {path for path in known if path[0] != "global"} <= {path[:at] for path in said for at in range(1, 9)} | {
        path for path in known if path[:2] == ("secrets", "values") or path[:2] == ("ingress", "annotations")
    }


def _schema_paths(schema: dict[str, Any], root: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if "$ref" in schema:
        schema = root["definitions"][schema["$ref"].rpartition("/")[2]]
    found = []
    more = schema.get("additionalProperties")
    inner = dict(schema.get("properties", {}))
    if isinstance(more, dict) and "$ref" in more and path == ("workerGroups",):
        inner["*"] = more
    for key, one in inner.items():
        found += [(*path, key), *_schema_paths(one, root, (*path, key))]
    return found


def test_a_group_may_be_added_by_a_name() -> None:
    spot = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))["workerGroups"]["general"]
    done = run_helm("template", "aos", CHART, values={"workerGroups": {"spot": spot | {"minReplicas": 1, "cpu": 16}}})
    (cluster,) = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "RayCluster"]
    assert [one["groupName"] for one in cluster["spec"]["workerGroupSpecs"]] == ["general", "spot"]
    check(cluster, KUBERNETES[1])


@pytest.mark.parametrize("release", ["prod", "on", "aos-two", "of.fifty-three-characters-which-is-the-most-of-helm-a"])
def test_two_releases_in_a_namespace_share_nothing(release: str) -> None:
    done = run_helm("template", release, CHART, values={})
    assert done.returncode == 0, done.stderr
    found = [one for one in yaml.safe_load_all(done.stdout) if one]
    names = {one["metadata"]["name"] for one in found}
    assert not names & {one["metadata"]["name"] for one in rendered()}
    assert all(len(name) <= 63 for name in names)
    (cluster,) = [one for one in found if one["kind"] == "RayCluster"]
    head = f"{cluster['metadata']['name']}-head-svc"
    assert len(head) <= 50, "KubeRay cuts longer ones"
    (settings,) = [one["data"] for one in found if one["kind"] == "ConfigMap"]
    assert settings["AOS_RAY_ADDRESS"] == f"{head}:6379"
    policies = [one["spec"]["podSelector"]["matchLabels"] for one in found if one["kind"] == "NetworkPolicy"]
    assert policies and {one["app.kubernetes.io/instance"] for one in policies} == {release}


def test_a_release_whose_name_no_service_may_have_is_refused() -> None:
    done = run_helm("template", "1st", CHART, values={})
    assert done.returncode != 0 and "the release is called 1st" in done.stderr


def test_a_setting_that_is_emptied_on_purpose_is_empty_in_pods_and_in_the_check_before_an_upgrade() -> None:
    said = {"HF_HUB_OFFLINE": "", "LLM_DEFAULT_MODEL": "the-$(HOME)"}
    done = run_helm("template", "aos", CHART, values={"settings": said})
    found = [one for one in yaml.safe_load_all(done.stdout) if one]
    (settings,) = [one["data"] for one in found if one["kind"] == "ConfigMap"]
    assert said.items() <= settings.items()
    (job,) = [one for one in found if one["kind"] == "Job"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one.get("value") for one in container["env"]}
    assert environment["HF_HUB_OFFLINE"] == ""
    assert environment["LLM_DEFAULT_MODEL"] == "the-$$(HOME)", "Kubernetes would put its own in"


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_notes_say_what_to_do_next(variant: str, tmp_path: Path) -> None:
    """Helm shows them only after it has asked a cluster; here a manifest holds their text."""
    shutil.copytree(CHART, tmp_path / "chart")
    notes = tmp_path / "chart" / "templates" / "NOTES.txt"
    notes.rename(tmp_path / "chart" / "notes.txt")
    (notes.parent / "shown.yaml").write_text('kind: Notes\ntext: {{ tpl (.Files.Get "notes.txt") . | quote }}\n')
    done = run_helm("template", "aos", tmp_path / "chart", "-n", "aos", values=VARIANTS[variant])
    assert done.returncode == 0, done.stderr
    (text,) = [one["text"] for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "Notes"]
    if variant == "suspended":
        assert text.startswith("AOS is stopped")
        return
    for command in re.findall(r"(?:deploy|svc)/(\S+)", text):
        assert {one["kind"] for one in rendered(variant) if one["metadata"]["name"] == command}, command
    assert "helm test aos -n aos" in text and "pod-security.kubernetes.io/enforce=restricted" in text
    assert ("https://aos.corp.example/console" in text) is (variant not in ("nothing beside", "all that may be said"))
    assert ("Helm keeps in this namespace" in text) is (variant == "secrets made from values")
    assert ("only its token guards" in text) is (variant == "nothing beside")


def test_the_example_names_nothing_that_is_nobodys_and_the_manual_installs_it() -> None:
    text = SITE.read_text(encoding="utf-8")
    assert "example.internal" not in text and "192.0.2." not in text
    command = f"helm install aos {CHART.relative_to(ROOT)} -n aos -f my.yaml"
    manual = (ROOT / "cluster" / "README.md").read_text(encoding="utf-8")
    assert command in text and command in manual
    assert str(SITE.relative_to(ROOT)) in manual and str((FOLDER / "Containerfile").relative_to(ROOT)) in manual
