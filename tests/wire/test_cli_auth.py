"""`aos auth`: what it sends, what it says, and how it ends."""

import json

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

WELL = {"name": "discovery", "ok": True, "detail": "https://corp.example", "fix": "", "required": True}
WRONG = {"name": "keys", "ok": False, "detail": "0 of 2 can be used", "fix": "Add its own.", "required": True}
ADVICE = {"name": "pkce", "ok": False, "detail": "it does not say", "fix": "Ask.", "required": False}
ANN = {"subject": "s1", "email": "ann@corp.example", "account": "new", "workspaces": {"w": "viewer"}, "enters": True}
ANN |= {"tenant_role": "viewer", "groups": ["finance-west"]}


def found(*checks: object, ok: bool, person: object = None) -> dict[str, object]:
    return {"name": "corp", "kind": "oidc", "ok": ok, "checks": checks, "person": person}


def test_a_provider_is_tested_and_the_exit_code_says_how_it_went(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    route = "POST /api/auth/providers/corp/test"
    api.answers |= {route: found(WELL, ADVICE, ok=True)}
    assert run_command(["auth", "test", "corp"]) == 0
    told = capsys.readouterr().out
    assert "discovery" in told and "advice" in told and "WRONG" not in told
    api.answers |= {route: found(WELL, WRONG, ok=False)}
    assert run_command(["auth", "test", "corp", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["checks"][1]["fix"] == "Add its own."
    api.answers |= {route: found(WELL, ok=True, person=ANN)}
    assert run_command(["auth", "test", "corp", "--login", "ann"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "ann@corp.example: account new; w (viewer); viewer in the tenant; groups: finance-west." in told
    assert [call.body for call in api.of(route)] == [{}, {}, {"login": "ann"}]


def test_an_account_is_unlinked_by_its_address(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    link = {"provider": "corp", "subject": "ann-1", "linked_at": None, "signed_in_at": None, "rights_end_at": None}
    link |= {"workspaces": ["w"], "groups": ["finance-west"], "tenant_role": None}
    done = {
        "provider": "corp",
        "workspaces": ["w"],
        "groups": ["finance-west"],
        "ended_sessions": 2,
        "revoked_keys": [],
    }
    api.answers |= {
        "GET /api/users": {"items": [{"id": "u1", "email": "ann@acme.example"}], "total": 1},
        "GET /api/users/u1/links": {"items": [link]},
        "DELETE /api/users/u1/links/corp": done,
    }
    assert run_command(["auth", "links", "Ann@acme.example"]) == 0 and "ann-1" in capsys.readouterr().out
    assert run_command(["auth", "unlink", "ann@acme.example", "corp"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Lapsed: w, group finance-west; 2 logins ended, 0 API keys revoked." in told
    assert run_command(["auth", "unlink", "ann@acme.example", "corp", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == done
    assert run_command(["auth", "unlink", "ben@acme.example", "corp"]) != 0
    assert "nobody of your tenant is ben" in capsys.readouterr().err


def test_declared_providers_are_listed(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    one = {"name": "corp", "kind": "oidc", "title": "Corp", "addresses": ["https://corp.example"], "account": "aos"}
    api.answers |= {"GET /api/auth/providers/declared": {"items": [one | {"rules": [{}, {}]}]}}
    assert run_command(["auth", "providers"]) == 0 and "https://corp.example" in capsys.readouterr().out
    for words in (["auth", "providers"], ["auth", "test"], ["auth", "links"], ["auth", "unlink"]):
        assert run_command([*words, "--help"]) == 0
        assert f"Example: aos {' '.join(words)}" in " ".join(capsys.readouterr().out.split())
