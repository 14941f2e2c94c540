"""`aos schedules` over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer, serve_api

JOB = {
    "id": "j1",
    "name": "morning",
    "agent": "clerk",
    "action": "message",
    "cron": "0 6 * * *",
    "timezone": "UTC",
    "enabled": True,
    "next_at": "2026-11-23T06:00:00Z",
    "last_at": None,
    "last_status": None,
    "owner": "a@example.org",
}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    with serve_api({"GET /api/scheduler/jobs": {"items": [JOB], "total": 1}}) as server:
        monkeypatch.setenv("AOS_URL", server.url)
        monkeypatch.setenv("AOS_TOKEN", server.token)
        monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
        yield server


def test_sh_01_jobs_are_listed_added_run_and_removed(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """SH-01: by name or by id."""
    api.answers |= {
        "POST /api/scheduler/jobs": JOB,
        "POST /api/scheduler/jobs/j1/run": {"schedule_id": "j1", "due_at": "now"},
        "DELETE /api/scheduler/jobs/j1": {},
    }
    assert run_command(["schedules", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == [JOB]
    assert run_command(["schedules", "add", "morning", "clerk", "0 6 * * *", "--message", "hi"]) == 0
    assert (
        run_command(["schedules", "add", "nightly", "clerk", "0 2 * * *", "--academy", "--timezone", "Asia/Tokyo"]) == 0
    )
    sent = [call.body for call in api.of("POST /api/scheduler/jobs")]
    assert (sent[0]["action"], sent[0]["payload"]) == ("message", {"message": "hi"})
    assert (sent[1]["action"], sent[1]["payload"], sent[1]["timezone"]) == ("academy", {}, "Asia/Tokyo")
    assert run_command(["schedules", "run", "morning"]) == 0 and run_command(["schedules", "remove", "j1"]) == 0
    assert len(api.of("POST /api/scheduler/jobs/j1/run")) == len(api.of("DELETE /api/scheduler/jobs/j1")) == 1


def test_what_is_to_be_done_is_said_once(api: ApiServer) -> None:
    assert run_command(["schedules", "add", "morning", "clerk", "0 6 * * *"]) == 1
    assert run_command(["schedules", "add", "morning", "clerk", "0 6 * * *", "--academy", "--message", "hi"]) == 1
    assert run_command(["schedules", "run", "evening"]) == 1
    assert api.of("POST /api/scheduler/jobs") == []
