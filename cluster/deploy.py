"""Roll configs/serve.yaml out through Ray's HTTP API and wait until every application is healthy."""

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from cluster import connect
from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.dashboard import RayDashboard
from cluster.models.embedding.provider_chain import choose_runtime
from cluster.models.reranking.configured_model import model_of
from configs import sections
from configs import settings as layers
from configs.section import Section

APPLICATIONS = "/api/serve/applications/"  # of Ray's dashboard
SERVE_YAML = Path(layers.__file__).parent / "serve.yaml"
PROXY_DIED = re.compile(r"HAProxy crashed during startup|class_name: HAProxyManager")  # by itself, or not up in time
PROXY_PAUSES = (3.0, 10.0)
HEALTHY_SECONDS = 420  # models are loaded on two busy cores
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
VLLM_INGRESS_CPUS = 0.5
_LEAST_READERS = 2  # that there must be room for, where the cluster decides
MODEL_APPLICATIONS = {"embedding": "embedding", "reranker": "rerank"}  # with the section of settings of each
NOBODY: Mapping[str, int] = MappingProxyType({})
RESTING = frozenset({"embedding", "reranker", "console"})  # nobody needs them to be there before they are asked
REST_SECONDS = 600  # of an embedder that may end, where the profile says nothing else
READING = "worker"  # small inputs are read in its replica, large ones by actors: EasyOCR runs in both


@dataclass(frozen=True, slots=True)
class ServeApplication:
    """One Serve application as Ray reports it: `status` is RUNNING when every deployment is healthy."""

    name: str
    status: str
    message: str
    replicas: dict[str, str]  # deployment -> "running/wanted"


def deployment_plan(
    settings: sections.Settings, marks: Mapping[str, int] = NOBODY, base: sections.Settings | None = None
) -> dict[str, Any]:
    """serve.yaml with this configuration filled in; nothing is sent.

    `marks` are numbers of applications: with another one Serve replaces its replicas, one after the other. `base` are
    the settings without their rows, which nodes of a joined cluster read themselves; else `settings`.

    Raises InvalidSettings where what runs at least does not leave the readers the CPUs they need, a model insists on a
    GPU where none is declared, or vLLM wants more GPUs than there are, or would answer the network without a key.
    """
    wanted: dict[str, Any] = yaml.safe_load(SERVE_YAML.read_text(encoding="utf-8"))
    wanted["http_options"] |= {"host": settings.http.host, "port": settings.http.port}
    wanted["logging_config"] = {"log_level": settings.log_level}  # Serve's own; ours: cluster/logs.py
    wanted["applications"] = _needed_applications(wanted["applications"], settings)
    shares = _gpu_shares(wanted["applications"], settings)
    for app in wanted["applications"]:
        for deployment in app["deployments"]:
            if app["name"] in shares:
                deployment["ray_actor_options"]["num_gpus"] = shares[app["name"]]
        variables = {} if settings.ray.address is None else layers_above_profile(base or settings)
        if mark := _restart_mark(app["name"], marks, settings):
            variables["AOS_RESTART"] = str(mark)
        if variables:
            app["runtime_env"] = {"env_vars": variables}
    _check_cpus(wanted, settings)
    return wanted


def _restart_mark(application: str, marks: Mapping[str, int], settings: sections.Settings) -> int:
    """Another number restarts it; whose work is done in the gateway's process is restarted with that."""
    inside = READING if application == "gateway" and settings.worker.placement == "inproc" else ""
    return marks.get(application, 0) + marks.get(inside, 0)


def reader_gpus(settings: sections.Settings) -> float:
    """The GPU share of each reading actor, for EasyOCR; 0 where none is left or `ocr.gpu` is false.

    Raises InvalidSettings as `deployment_plan`.
    """
    served = yaml.safe_load(SERVE_YAML.read_text(encoding="utf-8"))["applications"]
    return _gpu_shares(_needed_applications(served, settings), settings).get(READING, 0.0)


def _needed_applications(served: list[dict[str, Any]], settings: sections.Settings) -> list[dict[str, Any]]:
    judged = model_of(settings.rerank, alone=settings.ray.address is None) is not None
    without = set() if judged else {"reranker"}
    without |= {"llm"} if settings.vllm.model is None else set()
    without |= set() if settings.console.enabled else {"console"}
    without |= {"orchestrator", "executor"} if settings.agents.placement == "inproc" else set()
    without |= {READING} if settings.worker.placement == "inproc" else set()
    wanted = [app for app in served if app["name"] not in without]
    for app in wanted:
        for deployment in app["deployments"]:
            if app["name"] == READING:
                deployment["num_replicas"] = settings.worker.replicas
            if app["name"] == "embedding":
                own = settings.embedding
                deployment["autoscaling_config"] |= {"min_replicas": own.min_replicas, "max_replicas": own.max_replicas}
                if choose_runtime(settings) != "torch":
                    # Numpy's products are small: two threads wait for each other longer than they compute.
                    deployment["ray_actor_options"]["runtime_env"]["env_vars"]["OMP_NUM_THREADS"] = "1"
            if app["name"] == "gateway" and settings.worker.placement == "inproc":
                deployment["autoscaling_config"]["max_replicas"] = 1  # another one would work on jobs, too
            if seconds := _rest_seconds(app["name"], settings):
                _let_rest(deployment, seconds)
    return wanted


def _rest_seconds(application: str, settings: sections.Settings) -> int:
    """After how long unused it ends; 0: it stays."""
    own = settings.console.rest_seconds if application == "console" else 0
    own = own or (settings.light.rest_seconds if application in RESTING else 0)
    return own or (REST_SECONDS if application == "embedding" and not settings.embedding.min_replicas else 0)


def _let_rest(deployment: dict[str, Any], seconds: int) -> None:
    """Serve ends the last replica that nobody has used for so long, and begins one with whoever asks next."""
    most = deployment.pop("num_replicas", 1)
    scaling = deployment.setdefault("autoscaling_config", {"max_replicas": most, "target_ongoing_requests": 48})
    scaling |= {"min_replicas": 0, "downscale_to_zero_delay_s": seconds}


def layers_above_profile(settings: sections.Settings) -> dict[str, str]:
    """Settings that differ from the profile's files, as environment names: for the nodes of a joined cluster.

    Secrets are left out, as Ray shows a runtime environment to whoever sees its dashboard: nodes have their own.
    """
    plain = layers.load_settings({"AOS_PROFILE": settings.profile})
    found = {"AOS_PROFILE": settings.profile, "AOS_STATE_DIR": str(settings.state_dir)}
    if settings.log_level != plain.log_level:
        found["LOG_LEVEL"] = settings.log_level
    for section in type(settings).model_fields:
        ours, theirs = getattr(settings, section), getattr(plain, section)
        if not isinstance(ours, Section):
            continue
        for key in type(ours).model_fields:
            value = getattr(ours, key)
            if value is not None and value != getattr(theirs, key) and not ours.is_secret(key):
                text = ",".join(value) if isinstance(value, tuple) else str(value)
                found[f"AOS_{section.upper()}_{key.upper()}"] = text
    return found


def deploy_applications(
    settings: sections.Settings,
    report: Callable[[str], None],
    marks: Mapping[str, int] = NOBODY,
    base: sections.Settings | None = None,
) -> None:
    """Roll the plan out, see `deployment_plan` and `roll_out`."""
    roll_out(settings, deployment_plan(settings, marks, base), report)


def roll_out(settings: sections.Settings, wanted: dict[str, Any], report: Callable[[str], None]) -> None:
    """Send what is wanted and wait; `report` gets a line whenever an application's status changes.

    Raises Unavailable where an application fails to deploy or is not healthy in time, or Ray does not take the plan or
    does not answer; the detail says which and why.
    """
    ray = connect.ray_dashboard(settings)
    _put_with_retries(ray, wanted, report)
    names = {app["name"] for app in wanted["applications"]}
    seen: dict[str, str] = {}
    deadline = time.monotonic() + HEALTHY_SECONDS
    while True:
        found = {app.name: app for app in list_applications(ray) if app.name in names}
        for app in found.values():
            line = f"{app.name}: {app.status.lower()} {_replica_counts(app)}".rstrip()
            if seen.get(app.name) != line:
                seen[app.name] = line
                report(line)
            if app.status == "DEPLOY_FAILED":
                raise Unavailable(f"the application {app.name} does not deploy: {app.message}")
        if found.keys() == names and all(app.status == "RUNNING" for app in found.values()):
            return
        if time.monotonic() > deadline:
            late = [f"{app.name} {app.status}: {app.message}" for app in found.values() if app.status != "RUNNING"]
            late += [f"{name} is not there" for name in sorted(names - found.keys())]
            raise Unavailable(f"not healthy after {HEALTHY_SECONDS} s: {'; '.join(late)}")
        time.sleep(0.5)


def _put_with_retries(ray: RayDashboard, wanted: dict[str, Any], report: Callable[[str], None]) -> None:
    """Ray's proxy is reloaded for every route that comes up, and now and then finds its own port still taken.

    On a machine that is busy with something else its actor may be given up before it was up.
    """
    for pause in PROXY_PAUSES:
        try:
            return ray.put(APPLICATIONS, wanted)
        except Unavailable as error:
            if not PROXY_DIED.search(str(error)):
                raise
            report(f"Ray's proxy did not start; once more in {pause:g} s")
            time.sleep(pause)
    return ray.put(APPLICATIONS, wanted)


def list_applications(ray: RayDashboard) -> list[ServeApplication]:
    """Every Serve application with the replicas of its deployments; raises Unavailable as `RayDashboard.get`."""
    return ray.get(APPLICATIONS, _parse_applications)


def _parse_applications(body: dict[str, Any]) -> list[ServeApplication]:
    return [
        ServeApplication(
            name,
            app["status"],
            _failure_reason(app),
            {
                part: f"{sum(r['state'] == 'RUNNING' for r in d['replicas'])}/{d['target_num_replicas']}"
                for part, d in app["deployments"].items()
            },
        )
        for name, app in body["applications"].items()
    ]


def _failure_reason(app: dict[str, Any]) -> str:
    parts = [app["message"], *(d["message"] for d in app["deployments"].values() if d["status"] != "HEALTHY")]
    return " ".join(part.strip() for part in parts if part).strip()


def _replica_counts(app: ServeApplication) -> str:
    return " ".join(f"{part} {count}" for part, count in app.replicas.items())


def gpu_share(gpus: int, replicas: int) -> float:
    """The GPU share of a replica with which all of them fit at once: Ray takes whole GPUs or a fraction of one."""
    if gpus >= replicas:
        return gpus // replicas
    return math.floor(1000 / math.ceil(replicas / gpus)) / 1000


def _gpu_shares(apps: list[dict[str, Any]], settings: sections.Settings) -> dict[str, float]:
    """The GPU share of each replica, by application; the actors that read take as much as the worker."""
    uses = _gpu_uses(settings)
    users = [app for app in apps if uses.get(app["name"], False)]
    gpus = settings.ray.num_gpus - _vllm_gpus(settings)
    if not gpus or not users:
        return {}
    readers = 2 * gpus if settings.read.readers == "auto" else settings.read.readers
    actors = readers if uses[READING] else 0
    replicas = sum(_max_replicas(deployment) for app in users for deployment in app["deployments"])
    share = gpu_share(gpus, replicas + actors)
    return {app["name"]: share for app in users}


def _gpu_uses(settings: sections.Settings) -> dict[str, bool]:
    """The applications that take a part of the declared GPUs; Tesseract alone has no use for one."""
    wishes = {name: getattr(settings, section).gpu for name, section in MODEL_APPLICATIONS.items()}
    if choose_runtime(settings) != "torch" and wishes["embedding"] == "auto":
        wishes["embedding"] = False  # numpy computes on no GPU; who insists on one is told so by the embedder
    wishes[READING] = settings.ocr.gpu if settings.ocr.strategy != "tesseract" else False
    if settings.worker.placement == "inproc":
        wishes[READING] = False  # the gateway's process has no GPU
    insisting = sorted(name for name, gpu in wishes.items() if gpu is True)
    taken = _vllm_gpus(settings)
    if insisting and settings.ray.num_gpus <= taken:
        rest = f", and vLLM takes {taken}" if taken else ""
        raise InvalidSettings(
            f"{' and '.join(insisting)}: gpu is true, but ray.num_gpus is {settings.ray.num_gpus}{rest}",
            fix="Set AOS_RAY_NUM_GPUS to the number of GPUs, or gpu to auto.",
        )
    return {name: gpu is not False for name, gpu in wishes.items()}


def _vllm_gpus(settings: sections.Settings) -> int:
    """The whole GPUs that vLLM takes when all its replicas run; what else computes on GPUs shares the rest."""
    vllm, gpus = settings.vllm, settings.ray.num_gpus
    if vllm.model is None:
        return 0
    if settings.http.host not in LOOPBACK and vllm.api_key is None:
        raise InvalidSettings(
            f"http.host is {settings.http.host}: whoever reaches it could use the model at /llm/v1",
            fix="Set AOS_VLLM_API_KEY, and LLM_API_KEY to the same.",
        )
    if vllm.gpu is False or (vllm.gpu == "auto" and not gpus):
        return 0
    needed = vllm.max_replicas * vllm.tensor_parallel
    if needed > gpus:
        raise InvalidSettings(
            f"vllm may take {needed} GPUs (max_replicas x tensor_parallel), but ray.num_gpus is {gpus}",
            fix="Set AOS_RAY_NUM_GPUS to the number of GPUs, or AOS_VLLM_GPU to false.",
        )
    return needed


def _vllm_cpus(settings: sections.Settings) -> float:
    """Logical CPUs of vLLM and its ingress; without GPUs each rank takes one more."""
    vllm = settings.vllm
    if vllm.model is None:
        return 0
    ranks = 0 if _vllm_gpus(settings) else vllm.tensor_parallel
    return vllm.max_replicas * (vllm.num_cpus + ranks) + VLLM_INGRESS_CPUS


def _max_replicas(deployment: dict[str, Any]) -> int:
    scaling = deployment.get("autoscaling_config")
    return int(scaling["max_replicas"] if scaling else deployment.get("num_replicas", 1))


def _check_cpus(wanted: dict[str, Any], settings: sections.Settings) -> None:
    """Ray would wait without a word for CPUs that never come free; so say it before."""
    if settings.ray.address is not None:
        return  # the joined cluster may grow
    serve = sum(
        _max_replicas(deployment) * float(deployment["ray_actor_options"]["num_cpus"])
        for app in wanted["applications"]
        for deployment in app["deployments"]
    ) + _vllm_cpus(settings)
    readers = _LEAST_READERS if settings.read.readers == "auto" else settings.read.readers
    reading = readers * settings.read.reader_cpus + 1  # one more for the dataset's own tasks
    if serve + reading > settings.ray.num_cpus:
        raise InvalidSettings(
            f"ray.num_cpus = {settings.ray.num_cpus}, but Serve may take {serve:g} and reading needs {reading:g}",
            fix="Raise AOS_RAY_NUM_CPUS (logical CPUs: it may exceed the machine's), or lower AOS_READ_READERS.",
        )
