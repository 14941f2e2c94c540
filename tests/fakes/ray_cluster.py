"""What KubeRay 1.6 takes as a RayCluster, after its types and its custom resource definition."""

from typing import Any

Schema = dict[str, Any]


def _object(required: list[str], **properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


BOOLEAN: Schema = {"type": "boolean"}
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}
LIST: Schema = {"type": "array"}
ANY: Schema = {"type": "object"}  # of Kubernetes' own kinds: `kubernetes_parts` has them
CREDENTIAL = _object([], value=TEXT, valueFrom=ANY)
HEAD = _object(
    ["rayStartParams", "template"],
    enableIngress=BOOLEAN,
    headService=ANY,
    labels=TEXTS,
    rayStartParams=TEXTS,
    resources=TEXTS,
    serviceType=TEXT,
    template=ANY,
)
WORKERS = _object(
    ["groupName", "maxReplicas", "minReplicas", "rayStartParams", "template"],
    groupName=TEXT,
    idleTimeoutSeconds=COUNT,
    labels=TEXTS,
    maxReplicas=COUNT,
    minReplicas=COUNT,
    numOfHosts=COUNT,
    rayStartParams=TEXTS,
    replicas=COUNT,
    resources=TEXTS,
    scaleStrategy=_object([], workersToDelete=LIST),
    suspend=BOOLEAN,
    template=ANY,
)
SPEC = _object(
    ["headGroupSpec"],
    authOptions=_object([], mode={"enum": ["disabled", "token"]}, enableK8sTokenAuth=BOOLEAN, secretName=TEXT),
    autoscalerOptions=_object(
        [],
        env=LIST,
        envFrom=LIST,
        idleTimeoutSeconds=COUNT,
        image=TEXT,
        imagePullPolicy=TEXT,
        resources=ANY,
        securityContext=ANY,
        upscalingMode={"enum": ["Default", "Aggressive", "Conservative"]},
        version={"enum": ["v1", "v2"]},
        volumeMounts=LIST,
    ),
    enableInTreeAutoscaling=BOOLEAN,
    gcsFaultToleranceOptions=_object(
        ["redisAddress"],
        externalStorageNamespace=TEXT,
        redisAddress=TEXT,
        redisPassword=CREDENTIAL,
        redisUsername=CREDENTIAL,
    ),
    headGroupSpec=HEAD,
    headServiceAnnotations=TEXTS,
    managedBy={"enum": ["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"]},
    rayVersion=TEXT,
    suspend=BOOLEAN,
    upgradeStrategy=_object([], type={"enum": ["Recreate", "None"]}),
    workerGroupSpecs={"type": "array", "items": WORKERS},
)
RAY_CLUSTER = _object(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayCluster"},
    metadata=ANY,
    spec=SPEC,
)


def kubernetes_parts(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """What of a RayCluster is Kubernetes' own, as objects that its schemas know: the templates of pods, and what the
    autoscaler's container is given."""
    spec = cluster["spec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    head = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": cluster["metadata"]}
    parts = [head | {"template": group["template"]} for group in groups]
    options = spec.get("autoscalerOptions", {})
    password = spec.get("gcsFaultToleranceOptions", {}).get("redisPassword", {})
    container = {"name": "autoscaler", "image": "ray"} | {
        key: options[key]
        for key in ("env", "envFrom", "imagePullPolicy", "resources", "securityContext", "volumeMounts")
        if key in options
    }
    container["env"] = [*container.get("env", []), {"name": "REDIS_PASSWORD"} | password]
    return [*parts, head | {"template": {"spec": {"containers": [container]}}}]
