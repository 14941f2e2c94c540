"""`aos limits`: what it sends, and what it says; other commands wait where a limit says so."""

import json
from pathlib import Path

import pytest

from cluster.cli import run_command
from cluster.console.api import ApiClient, ApiRefusal
from cluster.console.login_tokens import CredentialsFile
from tests.fakes.api_server import ApiServer

RULE = {
    "subject_kind": "group",
    "subject": "g1",
    "name": "finance",
    "resource": "tokens",
    "amount": 2000.0,
    "window": "month",
    "used": 1200.0,
    "reset_seconds": 60.0,
}
ANN = {"id": "u1", "email": "ann@acme.example"}
MINE = {"tenant_id": "t1", "workspace_id": "w1", "user_id": "u1", "items": [RULE]}


@pytest.fixture
def known(api: ApiServer) -> ApiServer:
    api.answers |= {
        "GET /api/limits": {"items": [RULE], "defaults": {"chat": 30}},
        "GET /api/limits/mine": MINE,
        "GET /api/groups": {"items": [{"id": "g1", "name": "finance"}], "total": 1},
        "GET /api/users": {"items": [ANN | {"id": "u0", "email": "joann@acme.example"}, ANN], "total": 2},
        "GET /api/api-keys": {"items": [{"id": "k1", "name": "robot"}]},
        "PUT /api/limits/group/g1/tokens": (204, None),
        "PUT /api/limits/user/u1/chat": (204, None),
        "PUT /api/limits/tenant/t1/jobs": (204, None),
        "DELETE /api/limits/key/k1/requests": (204, None),
    }
    return api


def test_limits_are_listed_set_and_removed_by_the_names_that_people_know(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["limits", "list"]) == 0
    assert "finance" in (shown := capsys.readouterr().out) and "chat 30" in shown and "1200" in shown
    assert run_command(["limits", "mine", "--json"]) == 0 and json.loads(capsys.readouterr().out) == MINE
    assert run_command(["limits", "set", "group", "Finance", "tokens", "2000", "--per", "month"]) == 0
    assert known.of("PUT /api/limits/group/g1/tokens")[0].body == {"amount": "2000", "window": "month"}
    assert run_command(["limits", "set", "user", "Ann@acme.example", "chat", "10"]) == 0
    assert known.of("PUT /api/limits/user/u1/chat")[0].body == {"amount": "10", "window": "minute"}
    assert run_command(["limits", "set", "tenant", "-", "jobs", "5", "--per", "at_once"]) == 0
    assert run_command(["limits", "remove", "key", "robot", "requests"]) == 0
    assert len(known.of("DELETE /api/limits/key/k1/requests")) == 1


def test_a_subject_that_is_not_there_is_said_so(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["limits", "set", "user", "nobody@acme.example", "chat", "10"]) != 0
    assert "no user of your tenant is called nobody@acme.example" in capsys.readouterr().err
    assert run_command(["limits", "set", "planet", "mars", "chat", "10"]) != 0
    assert "limits are for no planet" in capsys.readouterr().err


def test_a_command_beyond_the_limit_waits_and_goes_on_and_a_long_wait_is_told(api: ApiServer, tmp_path: Path) -> None:
    waits: list[float] = []
    client = ApiClient(api.url, api.token, CredentialsFile.of(tmp_path), waits.append)
    limited = {"code": "rate_limited", "detail": "too many", "fix": "Wait.", "title": "A limit is used up."}
    api.headers["POST /api/x"] = api.headers["POST /api/y"] = {"Retry-After": "40"}
    api.answers["POST /api/x"] = [(429, limited), (429, limited), {"done": True}]
    assert client.request("POST", "/api/x", json={}) == {"done": True}
    assert waits == [40, 40] and len(api.of("POST /api/x")) == 3
    api.answers["POST /api/y"] = (429, limited)
    with pytest.raises(ApiRefusal, match="too many"):
        client.request("POST", "/api/y", json={})
    assert waits == [40] * 5
