"""The whole product on this machine: up, well, closed to strangers, repaired after a kill, down, and its data kept."""

import contextlib
import json
import signal
import socket
import subprocess
import time
from typing import Any

import httpx
import psutil
import pytest

from cluster import connect, doctor
from cluster.basics.errors import Unavailable
from cluster.dashboard import RayDashboard
from cluster.ray_daemons.spared_daemons import serve_api_processes
from cluster.state.db import embedded
from tests.acceptance.conftest import Product

pytestmark = pytest.mark.acceptance
USED = {"/api/serve/applications/"}  # of Ray's dashboard; the others are there with AOS_RAY_DASHBOARD=full
# What Ray itself opens on every interface, whatever we ask for; README has the firewall line.
RAYS_OWN = {"haproxy": 2, "ray::ServeReplica": 8}


def findings(product: Product) -> dict[str, Any]:
    found = json.loads(product.aos("doctor", "--json").stdout)
    return {finding["part"]: finding for finding in found["findings"]}


def answers(product: Product) -> bool:
    """Whether it says of itself that it is well, over HTTP."""
    try:
        return httpx.get(f"http://127.0.0.1:{product.settings.http.port}/health").is_success
    except httpx.TransportError:
        return False


def test_doctor_is_green_and_memory_is_within_its_aim(product: Product) -> None:
    """DP-03: every part answers, and an idle product stays within 3 GiB."""
    done = product.aos("doctor", "--json")
    found = json.loads(done.stdout)
    red = [finding for finding in found["findings"] if finding["colour"] == "red"]
    assert (done.returncode, red, found["healthy"]) == (0, [], True)
    parts = {finding["part"] for finding in found["findings"]}
    assert {"postgres", "row-level security", "redis", "ray", "ray token", "serve gateway", "gateway"} <= parts
    assert product.idle_bytes <= 3 * 2**30


def test_nothing_of_ours_listens_off_loopback(product: Product) -> None:
    seen: dict[str, int] = {}
    for entry in doctor.exposed_sockets(product.settings):
        program = entry.rpartition(":")[0]
        name = next((own for own in RAYS_OWN if own.startswith(program) or program.startswith(own)), program)
        seen[name] = seen.get(name, 0) + 1
    assert set(seen) <= set(RAYS_OWN), f"unexpected listeners: {seen}"
    assert all(seen[name] <= RAYS_OWN[name] for name in seen), seen


def test_what_ray_opens_to_everybody_stands_where_nobody_gets(product: Product) -> None:
    """Other accounts of the machine found sessions, sockets and logs in a folder of mode 0777, by names they knew."""
    place = connect.ray_folder(product.settings.state_dir)
    assert place.parent.stat().st_mode & 0o777 == 0o700
    running = {process.pid for process in connect.ray_processes(product.settings.state_dir)}
    fixed = ("/tmp/ray", "/tmp/haproxy-serve", "/tmp/gradio")
    open_files = {
        file.path
        for pid in running
        if psutil.pid_exists(pid)
        for file in psutil.Process(pid).open_files()
        if file.path.startswith(fixed)
    }
    sockets = {entry.laddr for entry in psutil.net_connections("unix") if entry.pid in running}
    assert not open_files and not {one for one in sockets if str(one).startswith(fixed)}


def test_a_request_whose_head_never_ends_is_ended(product: Product) -> None:
    """Slowloris, at the port of the product itself."""
    http, began = product.settings.http, time.monotonic()
    with socket.create_connection((http.host, http.port), 5) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        slow.settimeout(http.head_seconds + 5)
        assert b" 408 " in slow.recv(4096)
    assert time.monotonic() - began < http.head_seconds + 5


@pytest.mark.parametrize("path", ["/api/jobs/", "/api/serve/applications/", "/api/v0/nodes", "/api/cluster_status"])
def test_rays_dashboard_and_jobs_api_refuse_a_call_without_the_token(product: Product, path: str) -> None:
    ray = connect.ray_dashboard(product.settings)
    assert httpx.get(ray.url + path).status_code == 401
    assert httpx.get(ray.url + path, headers={"Authorization": "Bearer wrong"}).status_code in {401, 403}
    answered = httpx.get(ray.url + path, headers=ray.headers).status_code
    assert answered == (200 if path in USED else 404), "with it those are answered that somebody uses"
    job = httpx.post(f"{ray.url}/api/jobs/", json={"entrypoint": "id"})
    assert job.status_code == 401, "anybody could run code"
    assert connect.token_path(product.settings.state_dir).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_who_answers_in_place_of_rays_dashboard_is_begun_anew_within_a_minute(
    product: Product, how: signal.Signals
) -> None:
    """Without it the supervisor could roll nothing out, and nobody of Ray's would begin it."""
    ray, place = connect.ray_dashboard(product.settings), connect.ray_folder(product.settings.state_dir)
    (before,) = serve_api_processes(place)
    before.send_signal(how)
    deadline = time.monotonic() + 60
    while before in serve_api_processes(place) or not _lists_applications(ray):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert len(serve_api_processes(place)) == 1


def _lists_applications(ray: RayDashboard) -> bool:
    with contextlib.suppress(Unavailable):
        return ray.get("/api/serve/applications/", lambda body: "gateway" in body["applications"], 3)
    return False


def test_the_api_document_and_health_answer_and_the_rest_asks_for_a_token(product: Product) -> None:
    """GW-23: /docs is there."""
    server = f"http://127.0.0.1:{product.settings.http.port}"
    assert httpx.get(f"{server}/docs").status_code == 200
    assert httpx.get(f"{server}/health").status_code == 200
    assert httpx.get(f"{server}/api/jobs").status_code == 401


def test_the_first_administrator_can_sign_in_and_a_second_up_changes_nothing(
    product: Product, signed_in: subprocess.CompletedProcess[str]
) -> None:
    """AU-04: the first password is made here, shown once, and must be changed."""
    assert signed_in.returncode == 0, signed_in.stderr
    again = product.aos("up", "--json")
    assert again.returncode == 0 and json.loads(again.stdout)["admin_password"] is None
    assert product.aos("jobs", "list").returncode == 0


def test_a_folder_becomes_searchable_and_export_gives_it_back(product: Product) -> None:
    folder = product.settings.state_dir / "in"
    folder.mkdir(exist_ok=True)
    (folder / "note.md").write_text("# Pump\n\nThe blue pump is serviced every nineteen weeks.\n", encoding="utf-8")
    done = product.aos("ingest", str(folder), "--wait", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    hits = json.loads(product.aos("search", "blue pump service interval", "--json").stdout)["results"]
    assert hits[0]["filename"] == "note.md"
    lines = [json.loads(line) for line in product.aos("export").stdout.splitlines()]
    (note,) = [line for line in lines if line["filename"] == "note.md"]
    assert "nineteen weeks" in note["pages"][0]["text"]


def test_no_process_of_ours_talks_to_another_machine(product: Product) -> None:
    """DP-06: no cloud: after a folder was read, indexed and searched, every connection ends on this machine."""
    state = product.settings.state_dir
    here = {address.address for addresses in psutil.net_if_addrs().values() for address in addresses} | {"::1"}
    processes = [*connect.ray_processes(state), *embedded.server_processes(state)]
    assert processes
    strangers = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for socket in process.net_connections("inet"):
                if socket.raddr and socket.raddr.ip.removeprefix("::ffff:") not in here:
                    strangers.add((process.name(), socket.raddr))
    assert strangers == set()


@pytest.mark.ends
def test_everything_of_ray_is_killed_and_comes_back(product: Product) -> None:
    for process in connect.ray_processes(product.settings.state_dir):
        with contextlib.suppress(psutil.NoSuchProcess):  # some end with the one before
            process.kill()
    deadline, found = time.monotonic() + 300, dict[str, Any]()
    while time.monotonic() < deadline:
        time.sleep(2)
        if not answers(product):  # to look at every part takes seconds of a core, which the repair needs
            continue
        found = findings(product)
        # While it repairs the supervisor is yellow, and everything else may be well a moment before it says so.
        if found["supervisor"]["colour"] == "green" and all(f["colour"] != "red" for f in found.values()):
            break
    assert found, "its API never answered again"
    assert "repairs" in found["supervisor"]["detail"]
    assert not found["supervisor"]["detail"].endswith(" 0 repairs")
    hits = json.loads(product.aos("search", "blue pump", "--json").stdout)["results"]
    assert hits, "what was indexed before the kill is still found"


@pytest.mark.ends
def test_down_leaves_no_process_and_the_data(product: Product) -> None:
    state = product.settings.state_dir
    before = {p.pid for p in [*connect.ray_processes(state), *embedded.server_processes(state)]}
    assert product.aos("down").returncode == 0
    left = [pid for pid in before if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
    assert left == []
    assert (state / "postgres" / "PG_VERSION").exists()
    assert product.aos("down", "--json").stdout.strip().endswith("}")
    assert product.aos("doctor").returncode == 1
