"""`aos workspaces` and `aos tenants`: what they send, and that nothing is deleted unasked."""

import json

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

HELD = {
    "id": "w1",
    "name": "claims",
    "deleted": False,
    "workspaces": [
        {
            "id": "w1",
            "name": "claims",
            "documents": 3,
            "pages": 9,
            "chunks": 12,
            "agents": 1,
            "conversations": 2,
            "open_jobs": 0,
            "open_runs": 0,
        }
    ],
}

WAYS = [("workspaces", "/api/workspaces/w1"), ("tenants", "/api/tenants/w1")]


@pytest.mark.parametrize(("what", "path"), WAYS)
def test_a_deletion_says_first_what_would_go_and_needs_the_name(
    api: ApiServer, capsys: pytest.CaptureFixture[str], what: str, path: str
) -> None:
    api.answers[f"DELETE {path}"] = HELD
    assert run_command([what, "delete", "w1", "--dry-run"]) == 0
    assert "claims" in capsys.readouterr().out
    assert run_command([what, "delete", "w1"]) == 1, "nobody is at the keyboard"
    assert "--confirm 'claims'" in capsys.readouterr().err
    assert [call.path for call in api.of(f"DELETE {path}")] == [path, path], "nothing was deleted"
    assert run_command([what, "delete", "w1", "--confirm", "claims", "--json"]) == 0
    assert api.of(f"DELETE {path}")[-1].path == f"{path}?confirm=claims"
    assert json.loads(capsys.readouterr().out)["name"] == "claims"


@pytest.mark.parametrize("what", ["workspaces", "tenants"])
def test_they_are_listed_and_made(api: ApiServer, capsys: pytest.CaptureFixture[str], what: str) -> None:
    one = {"id": "w1", "name": "claims", "role": "admin", "parent_id": None, "created_at": "2026-11-21T10:00:00Z"}
    api.answers |= {f"GET /api/{what}": {"items": [one]}, f"POST /api/{what}": (201, {**one, "password": "shown-once"})}
    assert run_command([what, "list"]) == 0 and "claims" in capsys.readouterr().out
    more = ["boss@acme.example"] if what == "tenants" else []
    assert run_command([what, "add", "claims", *more]) == 0
    body = {"name": "claims"} | ({"admin_email": more[0]} if more else {})
    assert api.of(f"POST /api/{what}")[0].body == body
    assert ("shown-once" in capsys.readouterr().out) == bool(more)
