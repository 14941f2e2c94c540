"""`aos sources`: what it sends, and what it says."""

import json

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

SOURCE = {
    "id": "s1",
    "name": "papers",
    "kind": "folder",
    "items": 10,
    "gone": 1,
    "failed": 0,
    "every_minutes": 60,
    "enabled": True,
    "job_state": "completed",
    "last_success_at": "2026-11-21T10:00:00Z",
    "last_plan": {
        "job": "j1",
        "dry_run": False,
        "at": "2026-11-21T10:00:00Z",
        "counts": {"listed": 5, "added": 1, "changed": 0, "waiting": 4},
        "reason": "many",
        "samples": {"added": ["new.txt"], "waiting": ["a.txt"]},
    },
    "waiting": {"reason": "many", "removals": 4, "paths": ["a.txt", "b.txt"], "job": "j1"},
    "last_error": {"code": "source_away", "detail": "nobody answers", "fix": "Wait.", "at": None},
    "hidden_at": None,
}
STARTED = {"job_id": "j2", "status": "queued", "fresh": True}


@pytest.fixture
def known(api: ApiServer) -> ApiServer:
    api.answers |= {
        "GET /api/sources": {"items": [SOURCE], "total": 1},
        "GET /api/sources/s1": SOURCE,
        "POST /api/sources": (201, SOURCE),
        "POST /api/sources/s1/sync": (202, STARTED),
        "POST /api/sources/s1/approve": (202, STARTED),
        "POST /api/sources/s1/test": {"ok": True, "paths": ["a.txt"], "more": True, "faults": []},
        "DELETE /api/sources/s1": {"status": "removed", "job_id": None},
    }
    return api


def test_a_source_is_added_with_settings_groups_and_readers(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["sources", "add", "papers", "folder", "--set", "path=a=b", "--reader", "group:legal", "--every", "60"]
    assert run_command([*asked, "--group", "Recht=legal", "--erase-after", "30"]) == 0
    assert "aos sources sync papers --dry-run" in capsys.readouterr().out
    (sent,) = known.of("POST /api/sources")
    assert sent.body == {
        "name": "papers",
        "kind": "folder",
        "settings": {"path": "a=b"},
        "credential": None,
        "readers": ["group:legal"],
        "group_names": {"Recht": "legal"},
        "every_minutes": 60,
        "max_removed_percent": 20,
        "erase_after_days": 30,
    }
    assert run_command(["sources", "add", "x", "folder", "--set", "path"]) != 0
    assert "NAME=VALUE" in capsys.readouterr().err


def test_a_sync_is_started_tried_and_approved_by_name(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sources", "sync", "papers", "--dry-run"]) == 0 and "j2" in capsys.readouterr().out
    assert run_command(["sources", "sync", "papers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == STARTED
    assert len(known.of("POST /api/sources/s1/sync")) == 2
    assert run_command(["sources", "approve", "papers", "4"]) == 0
    assert known.of("POST /api/sources/s1/approve")[0].body == {"removals": 4}
    assert run_command(["sources", "sync", "others"]) != 0 and "aos sources list" in capsys.readouterr().err


def test_what_waits_and_what_went_wrong_is_shown(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sources", "show", "papers"]) == 0
    told = capsys.readouterr().out
    assert "10 documents, 1 left" in told and "5 listed, 1 added, 4 waiting" in told
    assert "4 removals wait for you" in told and "aos sources approve papers 4" in told
    assert "Last error: nobody answers Wait." in told
    assert run_command(["sources", "list"]) == 0 and "papers" in capsys.readouterr().out


def test_a_source_that_cannot_be_listed_wholly_ends_with_3(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["sources", "test", "papers"]) == 0 and "a.txt" in capsys.readouterr().out
    known.answers["POST /api/sources/s1/test"] = {"ok": False, "paths": [], "more": False, "faults": ["x: broken"]}
    assert run_command(["sources", "test", "papers"]) == 3 and "! x: broken" in capsys.readouterr().out


def test_a_source_is_removed_and_says_what_becomes_of_its_documents(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["sources", "remove", "papers"]) == 0 and "papers is gone" in capsys.readouterr().out
    known.answers["DELETE /api/sources/s1"] = (202, {"status": "removing", "job_id": "j3"})
    assert run_command(["sources", "remove", "papers", "--delete-documents"]) == 0
    assert "j3" in capsys.readouterr().out


WATCHING = {"mode": "events", "why": None, "folders": 12, "since": "2026-11-21T10:00:00Z", "changed_at": None}
REGISTERED = {
    **{"id": "p1", "path": "contracts", "name": "all contracts", "items": 3, "failed": 0, "every_minutes": 15},
    **{"readers": [], "tags": ["contract"], "last_success_at": None, "watching": WATCHING},
}


def test_how_a_source_is_watched_is_shown(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    for mode, told in (
        ("events", "the kernel tells of changes in 12 folders"),
        ("polling", "looked at again and again. (nfs4 does not tell)"),
        ("sweeping", "listed now and then"),
        ("missing", "Nothing leaves because of that"),
        ("nobody", "no process does"),
    ):
        why = "nfs4 does not tell" if mode == "polling" else None
        known.answers["GET /api/sources/s1"] = SOURCE | {"watching": WATCHING | {"mode": mode, "why": why}}
        assert run_command(["sources", "show", "papers"]) == 0
        assert told in capsys.readouterr().out
    assert run_command(["sources", "add", "x", "folder", "--no-watch", "--tag", "t", "--agent", "keeper"]) == 0
    sent = known.of("POST /api/sources")[-1].body
    assert (sent["watch"], sent["tags"], sent["agent_id"]) == (False, ["t"], "keeper")


def test_a_path_is_registered_listed_and_removed(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers |= {
        "POST /api/documents/register-path": (201, REGISTERED),
        "GET /api/documents/registered-paths": {"items": [REGISTERED], "total": 1},
        "DELETE /api/documents/registered-paths/p1": {"status": "removed", "job_id": None},
    }
    asked = ["documents", "register-path", "contracts", "--reader", "group:legal", "--tag", "contract"]
    assert run_command([*asked, "--agent", "keeper"]) == 0 and "aos sources show p1" in capsys.readouterr().out
    assert api.of("POST /api/documents/register-path")[0].body == {
        **{"path": "contracts", "name": None, "every_minutes": 15, "readers": ["group:legal"]},
        **{"tags": ["contract"], "agent_id": "keeper"},
    }
    assert run_command(["documents", "registered-paths"]) == 0
    told = capsys.readouterr().out
    assert "contracts" in told and "events" in told
    assert run_command(["documents", "registered-paths", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == [REGISTERED]
    for name in ("contracts", "contracts/", "all contracts", "p1"):
        assert run_command(["documents", "unregister-path", name]) == 0
    assert "not followed any more" in capsys.readouterr().out
    assert run_command(["documents", "unregister-path", "others"]) != 0
    assert "registered-paths" in capsys.readouterr().err
    api.answers["DELETE /api/documents/registered-paths/p1"] = (202, {"status": "removing", "job_id": "j9"})
    assert run_command(["documents", "unregister-path", "p1", "--delete-documents"]) == 0
    assert "j9" in capsys.readouterr().out
