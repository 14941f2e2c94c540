"""The doctor and the supervisor where nothing runs and programs are asked: red with a fix, nothing left behind."""

import io
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from cluster import connect, doctor, supervisor
from cluster.basics.errors import Unavailable
from cluster.console.findings import StatusColour, as_json, findings_table, is_red
from cluster.state import supervised
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.api_server import serve_api
from tests.fakes.daemon import supervising


def test_every_part_that_is_down_is_red_with_what_to_do(tmp_path: Path) -> None:
    """X-36: a missing model is a warning, not a failure."""
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_DASHBOARD_PORT": "9", "API_PORT": "9"})
    findings = {finding.part: finding for finding in doctor.run_probes(settings)}
    for part in ("supervisor", "postgres", "redis", "ray", "serve", "gateway"):
        assert findings[part].colour is StatusColour.RED
        assert "aos up" in findings[part].fix
    assert findings["llm"].colour is StatusColour.YELLOW, "without a model agents cannot act"
    assert is_red(list(findings.values()))
    body = as_json(list(findings.values()))
    assert body["healthy"] is False and len(body["findings"]) == len(findings)
    shown = io.StringIO()
    Console(file=shown, width=150).print(findings_table(list(findings.values())))
    assert "postgres" in shown.getvalue() and "fix:" in shown.getvalue()


def test_servers_that_are_not_ours_and_do_not_answer_are_a_warning_of_the_supervisor(tmp_path: Path) -> None:
    told = "the external redis does not answer: refused"
    with supervising(tmp_path, f'[[60, "ready", "{told}"]]'):
        (found,) = doctor.run_probe("supervisor", load_settings({"AOS_STATE_DIR": str(tmp_path)}))
    assert found.colour is StatusColour.YELLOW and told in found.detail and found.fix


def test_a_supervisor_on_another_machine_is_known_by_its_signs(tmp_path: Path) -> None:
    """In a pod of its own it has no process that a gateway could find."""
    joined = load_settings({"AOS_STATE_DIR": str(tmp_path), "RAY_ADDRESS": "10.0.0.7:6379"})
    alone = load_settings({"AOS_STATE_DIR": str(tmp_path)})

    def colour(settings: Settings) -> str:
        (found,) = doctor.run_probe("supervisor", settings)
        return found.colour

    assert colour(joined) == StatusColour.RED, "it never said anything"
    supervised.write_status(tmp_path, "ready")
    assert (colour(joined), colour(alone)) == (StatusColour.GREEN, StatusColour.RED)
    supervised.write_status(tmp_path, "ready", "the external redis does not answer: refused")
    assert colour(joined) == StatusColour.YELLOW
    old = time.time() - 2 * supervised.READY_SECONDS
    os.utime(supervised.status_path(tmp_path), (old, old))
    assert colour(joined) == StatusColour.RED, "its last word was that it is ready, and nothing came after it"
    supervised.give_sign(tmp_path)
    assert colour(joined) == StatusColour.YELLOW
    supervised.write_status(tmp_path, "repairing", "lost Serve")
    os.utime(supervised.status_path(tmp_path), (old, old))
    assert colour(joined) == StatusColour.YELLOW, "a roll-out takes its time"
    supervised.write_status(tmp_path, "stopped")
    assert colour(joined) == StatusColour.RED


def test_every_port_that_can_be_set_is_named_with_its_setting_and_value(tmp_path: Path) -> None:
    settings = load_settings(
        {"AOS_STATE_DIR": str(tmp_path), "API_PORT": "8123", "POSTGRES_HOST": "db", "POSTGRES_PORT": "5433"}
    )
    (found,) = doctor.run_probe("ports", settings)
    told = (
        "API_PORT 8123",
        "AOS_RAY_GCS_PORT 6399",
        "AOS_RAY_DASHBOARD_PORT 8265",
        "POSTGRES_PORT 5433",
        "REDIS_PORT 6379",
    )
    assert all(one in found.detail for one in told), found.detail
    assert found.detail.count("not used") == 1, "of the two servers only Redis is embedded"


def test_a_start_that_fails_says_why_and_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("AOS_RAY_GCS_PORT", port)
        monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
        with pytest.raises(Unavailable, match=f"port {port} is taken"):
            supervisor.spawn_supervisor(load_settings(), lambda line: None)
    assert supervised.find_supervisor(tmp_path) is None
    assert supervised.read_status(tmp_path) is not None


def test_a_wall_that_is_missing_around_scripts_is_pointed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path)})
    (whole,) = doctor._probe_sandbox(settings)
    if shutil.which("bwrap"):
        assert (whole.colour, whole.fix) == (StatusColour.GREEN, "")
    monkeypatch.setenv("AOS_SANDBOX_MEMORY_MB", "no number")
    (broken,) = doctor._probe_sandbox(settings)
    assert broken.colour is StatusColour.RED and "memory_mb" in broken.detail


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import time; time.sleep(60)", "did not tell its layers in 0.5 s"),
        ("print('Killed')", "Killed"),
        ("print('{}')", "{}"),
        ("print('[]')", "[]"),
    ],
)
def test_a_sandbox_that_hangs_or_babbles_is_red(tmp_path: Path, program: str, said: str) -> None:
    settings, seconds = load_settings({"AOS_STATE_DIR": str(tmp_path)}), 0.5 if "sleep" in program else 60
    (found,) = doctor._probe_sandbox(settings, (sys.executable, "-c", program), seconds)
    assert found.colour is StatusColour.RED and said in found.detail and found.fix


class _OpenDashboard(BaseHTTPRequestHandler):
    """As a light one that takes no token: it has a part for applications, and none for jobs."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/api/serve/applications/" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_a_light_dashboard_that_answers_whoever_asks_is_red(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), _OpenDashboard) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        port = str(server.server_port)
        named = {"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_DASHBOARD_PORT": port, "AOS_PROFILE": "light"}
        connect.token_path(tmp_path).write_text("access-1")
        findings = {finding.part: finding for finding in doctor.run_probe("ray", load_settings(named))}
        server.shutdown()
    assert findings["ray token"].colour is StatusColour.RED


@pytest.mark.parametrize(
    "answer", [(500, {"error": "the head is sick"}), b"<html>", {}, [[]], {"applications": {"a": {}}}]
)
def test_a_sick_dashboard_is_red_and_the_other_parts_are_still_examined(tmp_path: Path, answer: object) -> None:
    with serve_api({"GET /api/v0/nodes": answer, "GET /api/serve/applications/": answer}) as fake:
        port = fake.url.rpartition(":")[2]
        settings = load_settings(
            {"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_DASHBOARD_PORT": port, "LLM_BASE_URL": "http://[x"}
        )
        connect.token_path(tmp_path).write_text("access-1")
        findings = {finding.part: finding for finding in doctor.run_probes(settings)}
    for part in ("ray", "llm"):
        assert findings[part].colour is StatusColour.RED, findings[part]
    served = [finding for part, finding in findings.items() if part.startswith("serve")]
    assert served and all(finding.colour is StatusColour.RED for finding in served)
    assert "memory" in findings


def test_the_supervisor_watches_on_where_its_log_has_no_room() -> None:
    """A full disk takes a line of the log, and not whoever would repair what the full disk ended."""
    code = "from cluster import supervisor as s; import sys; s._print_line('lost ray'); sys.stderr.write('goes on')"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.stderr.startswith(b"goes on")
