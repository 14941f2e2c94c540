"""`aos groups`, `aos documents readers` and `aos documents access`: what they send, and what they say."""

import json

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

GROUP = {"id": "g1", "name": "finance", "members": 2, "created_at": "2026-11-21T10:00:00Z"}
ANN = {"id": "u1", "email": "ann@acme.example", "disabled": False, "added_at": "2026-11-21T10:00:00Z"}


@pytest.fixture
def known(api: ApiServer) -> ApiServer:
    api.answers |= {
        "GET /api/groups": {"items": [GROUP], "total": 1},
        "GET /api/users": {"items": [ANN | {"id": "u0", "email": "joann@acme.example"}, ANN], "total": 2},
        "GET /api/groups/g1/members": {"items": [ANN], "total": 1},
        "POST /api/groups": (201, GROUP),
        "PUT /api/groups/g1/members/u1": (204, None),
        "DELETE /api/groups/g1/members/u1": (204, None),
        "DELETE /api/groups/g1": (204, None),
    }
    return api


def test_groups_are_found_by_name_and_people_by_their_whole_address(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["groups", "list"]) == 0 and "finance" in capsys.readouterr().out
    assert run_command(["groups", "members", "Finance"]) == 0 and "ann@acme" in capsys.readouterr().out
    assert run_command(["groups", "add", "finance", "--restore"]) == 0
    assert known.of("POST /api/groups")[0].body == {"name": "finance", "restore": True}
    for command, sent in (("join", "PUT"), ("leave", "DELETE")):
        assert run_command(["groups", command, "finance", "Ann@acme.example"]) == 0
        assert len(known.of(f"{sent} /api/groups/g1/members/u1")) == 1
    assert run_command(["groups", "delete", "g1"]) == 0 and len(known.of("DELETE /api/groups/g1")) == 1
    assert run_command(["groups", "join", "finance", "ann"]) != 0
    assert "nobody of your tenant is ann" in capsys.readouterr().err
    assert run_command(["groups", "members", "sales"]) != 0
    assert "aos groups list" in capsys.readouterr().err


def test_readers_are_shown_and_changed(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    known.answers |= {
        "GET /api/documents/d1": {"id": "d1", "readers": []},
        "PUT /api/documents/d1/readers": {"document_id": "d1", "readers": ["group:finance"], "members_changed": 0},
    }
    assert run_command(["documents", "readers", "d1"]) == 0
    assert capsys.readouterr().out.strip() == "everybody of the workspace"
    assert run_command(["documents", "readers", "d1", "--reader", "group:finance", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"readers": ["group:finance"]}
    assert run_command(["documents", "readers", "d1", "--everybody"]) == 0
    sent = [call.body for call in known.of("PUT /api/documents/d1/readers")]
    assert sent == [{"readers": ["group:finance"]}, {"readers": []}]


def test_readers_of_folders_are_listed_tried_changed_and_removed(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "/api/documents/folder-readers"
    done = {"folder": "/srv/legal", "readers": ["group:legal"], "documents_changed": 3, "dry_run": True}
    known.answers |= {
        f"GET {path}": {"items": [{"folder": "/srv/legal", "readers": ["group:legal"], "documents": 3}]},
        f"PUT {path}": [done, done | {"dry_run": False}, done | {"readers": []}],
    }
    assert run_command(["documents", "folder-readers"]) == 0 and "group:legal" in capsys.readouterr().out
    told = ["documents", "folder-readers", "legal", "--reader", "group:legal"]
    assert run_command([*told, "--dry-run"]) == 0 and "3 documents would be changed" in capsys.readouterr().out
    assert run_command(told) == 0 and "3 documents are changed" in capsys.readouterr().out
    assert run_command(["documents", "folder-readers", "legal", "--remove", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["readers"] == []
    sent = [(call.body["readers"], call.body["dry_run"]) for call in known.of(f"PUT {path}")]
    assert sent == [(["group:legal"], True), (["group:legal"], False), ([], False)]
    for wrong in (told[:3], [*told, "--remove"]):
        assert run_command(wrong) != 0 and "--remove" in capsys.readouterr().err


def test_it_is_said_why_somebody_does_not_see_a_document(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"may_see": False, "why": "its readers are group:audit, and they are none of these", "fix": "Add them."}
    path = "/api/documents/d1/access"
    known.answers[f"GET {path}"] = told
    assert run_command(["documents", "access", "d1", "ann@acme.example"]) == 0
    assert "does not see it: its readers are group:audit" in capsys.readouterr().out.replace("\n", " ")
    assert known.of(f"GET {path}")[0].path == f"{path}?email=ann%40acme.example"
