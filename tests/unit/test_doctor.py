"""The doctor and the supervisor where nothing runs: red with a fix, no crash, no stranger's process touched."""

import io
import os
import socket
from pathlib import Path

import pytest
from rich.console import Console

from cluster import doctor, supervisor
from cluster.basics.errors import Conflict, InvalidSettings, Unavailable
from configs.settings import load


def test_every_part_that_is_down_is_red_with_what_to_do(tmp_path: Path) -> None:
    """X-36: a missing model is a warning, not a failure."""
    settings = load({"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_DASHBOARD_PORT": "9", "API_PORT": "9"})
    findings = {finding.part: finding for finding in doctor.examine(settings)}
    for part in ("supervisor", "postgres", "redis", "ray", "serve", "gateway"):
        assert findings[part].colour is doctor.Colour.RED
        assert "aos up" in findings[part].fix
    assert findings["llm"].colour is doctor.Colour.YELLOW, "without a model agents cannot act"
    assert doctor.is_red(list(findings.values()))
    body = doctor.as_json(list(findings.values()))
    assert body["healthy"] is False and len(body["findings"]) == len(findings)
    shown = io.StringIO()
    Console(file=shown, width=150).print(doctor.table(list(findings.values())))
    assert "postgres" in shown.getvalue() and "fix:" in shown.getvalue()


@pytest.mark.parametrize(("version", "colour"), [("0.8.1", "yellow"), ("0.8.4", "green"), ("0.10.0", "green")])
def test_old_pgvector_is_pointed_out(version: str, colour: str) -> None:
    found = {finding.part: finding for finding in doctor._extensions({"vector": version})}
    assert found["pgvector"].colour == colour
    assert found["keyword search"].colour == "yellow", "no BM25 extension: results say which ranking was used"
    assert doctor.is_red(list(doctor._extensions({})))


def test_no_status_and_a_strangers_pid_mean_it_does_not_run(tmp_path: Path) -> None:
    assert supervisor.read_status(tmp_path) is None
    (tmp_path / "supervisor.pid").write_text(f"{os.getpid()}\n")
    assert supervisor.find(tmp_path) is None
    assert supervisor.stop(tmp_path) is False


def test_a_second_supervisor_is_refused(tmp_path: Path) -> None:
    import fcntl

    with (tmp_path / "supervisor.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Conflict, match="already runs"):
            supervisor.supervise(load({"AOS_STATE_DIR": str(tmp_path)}), lambda line: None)


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
            supervisor.spawn(load(), lambda line: None)
    assert supervisor.find(tmp_path) is None
    assert supervisor.read_status(tmp_path) is not None


def test_an_external_postgres_needs_to_know_who_migrates(tmp_path: Path) -> None:
    environment = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": "postgresql://a@db/x", "REDIS_URL": "redis://c"}
    with pytest.raises(InvalidSettings) as refused:
        supervisor.prepare(load(environment), lambda line: None)
    assert "DATABASE_ADMIN_URL" in refused.value.hint
