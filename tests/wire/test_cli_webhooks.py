"""`aos webhooks` over HTTP."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.basics.errors import Invalid
from cluster.cli import run_command
from cluster.console.commands.webhook_commands import moment_of
from tests.fakes.api_server import ApiServer, serve_api

HOOK = {
    "id": "w1",
    "name": "crm",
    "url": "https://hooks.example.com/aos",
    "topics": ["job.*"],
    "owner": "a@example.org",
    "role": None,
    "enabled": True,
    "pending": 3,
    "dead": 1,
    "failures": 0,
    "succeeded_at": None,
    "error": None,
    "secrets": 2,
}
SECRET = "whsec_c2VjcmV0"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    with serve_api({"GET /api/webhooks": {"items": [HOOK], "total": 1}}) as server:
        monkeypatch.setenv("AOS_URL", server.url)
        monkeypatch.setenv("AOS_TOKEN", server.token)
        monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
        yield server


def test_webhooks_are_listed_added_changed_and_removed(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers |= {
        "POST /api/webhooks": {**HOOK, "secret": SECRET},
        "PATCH /api/webhooks/w1": {**HOOK, "enabled": False},
        "POST /api/webhooks/w1/secret": {"webhook_id": "w1", "secret": SECRET, "secrets": 2},
        "DELETE /api/webhooks/w1": {},
    }
    assert run_command(["webhooks", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == [HOOK]
    assert run_command(["webhooks", "add", "crm", HOOK["url"], "--topic", "job.*", "--role", "viewer"]) == 0
    assert SECRET in capsys.readouterr().out
    assert run_command(["webhooks", "add", "all", HOOK["url"]]) == 0
    sent = [call.body for call in api.of("POST /api/webhooks")]
    assert [(one["topics"], one["role"]) for one in sent] == [(["job.*"], "viewer"), (["*"], None)]
    assert run_command(["webhooks", "change", "crm", "--off"]) == 0
    assert api.of("PATCH /api/webhooks/w1")[0].body == {"enabled": False}
    assert run_command(["webhooks", "change", "crm"]) == 1
    assert run_command(["webhooks", "secret", "crm", "--overlap", "48"]) == 0
    assert api.of("POST /api/webhooks/w1/secret")[0].body == {"overlap_hours": 48}
    assert run_command(["webhooks", "remove", "w1"]) == 0 and run_command(["webhooks", "remove", "other"]) == 1


def test_deliveries_are_shown_replayed_and_tested(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers |= {
        "GET /api/webhooks/w1/deliveries": {"items": [], "total": 0},
        "POST /api/webhooks/w1/replay": {"webhook_id": "w1", "replayed": 4},
        "POST /api/webhooks/w1/ping": {"webhook_id": "w1", "accepted": False, "status": None, "error": "away"},
    }
    assert run_command(["webhooks", "deliveries", "crm", "--state", "dead", "--json"]) == 0
    assert run_command(["webhooks", "replay", "crm", "--since", "3d", "--failed"]) == 0
    assert run_command(["webhooks", "replay", "crm", "--event", "evt_1", "--json"]) == 0
    first, second = (call.body for call in api.of("POST /api/webhooks/w1/replay"))
    assert first["failed_only"] and "event_id" not in first and second["event_id"] == "evt_1"
    assert run_command(["webhooks", "replay", "crm"]) == 1
    assert run_command(["webhooks", "resend", "crm"]) == 0
    assert run_command(["webhooks", "resend", "crm", "--event", "evt_1", "--json"]) == 0
    *_, every, one = (call.body for call in api.of("POST /api/webhooks/w1/replay"))
    assert every == {"failed_only": True} and one == {"failed_only": True, "event_id": "evt_1"}
    assert run_command(["webhooks", "ping", "crm"]) == 1 and "away" in capsys.readouterr().out


def test_a_moment_is_a_span_or_a_time() -> None:
    now = datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert moment_of("3d", now) == "2030-01-28T12:00:00+00:00" and moment_of("90m", now) == "2030-01-31T10:30:00+00:00"
    assert moment_of("2030-01-01", now) == "2030-01-01T00:00:00+00:00"
    for wrong in ("yesterday", "d", "-3d", ""):
        with pytest.raises(Invalid):
            moment_of(wrong, now)
