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
    "has_rights": True,
    "stale_after_hours": 72,
    "settings": {"path": "papers"},
}
RIGHTS = {
    "has_rights": True,
    "items": 10,
    "unsaid": 1,
    "nobody": 3,
    "readers": [{"name": "group:legal", "items": 7}],
    "readers_total": 1,
    "unknown_users": [{"name": "ghost@far.example", "items": 3}],
    "unknown_users_total": 40,
    "unknown_groups": [],
    "unknown_groups_total": 0,
}
PREVIEW = {
    "ok": True,
    "items": 12,
    "more": True,
    "bytes": 2048,
    "endings": {".pdf": 12},
    "paths": ["a.pdf"],
    "faults": [],
    "rights": RIGHTS,
}
ITEM = {"path": "a.txt", "state": "here", "readers": [], "nobody": True, "unknown": ["user:ghost@far.example"]}
KIND = {"name": "folder", "title": "Folder", "settings": {"path": "Where.", "glob": "Which."}, "required": ["path"]}
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
        "POST /api/sources/dry-run": PREVIEW,
        "PATCH /api/sources/s1": SOURCE,
        "POST /api/sources/s1/pause": SOURCE | {"enabled": False},
        "POST /api/sources/s1/resume": SOURCE | {"every_minutes": None},
        "POST /api/sources/s1/decline": SOURCE,
        "GET /api/sources/s1/rights": RIGHTS,
        "GET /api/sources/s1/jobs": {"items": [{"id": "j9", "kind": "sync", "state": "partial"}], "total": 1},
        "GET /api/sources/s1/items": {"items": [ITEM], "total": 1},
        "GET /api/sources/kinds": {"items": [KIND | {"has_rights": False, "takes_credential": True}]},
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
        "stale_after_hours": 72,
        "enabled": True,
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


def test_a_dry_run_of_a_source_that_is_not_there_stores_nothing(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["sources", "add", "papers", "folder", "--set", "path=a", "--group", "Recht=legal", "--dry-run"]
    assert run_command(asked) == 0
    told = capsys.readouterr().out
    assert "at least 12 items, 2048 bytes" in told and "12 .pdf" in told and "  ghost@far.example: 3" in told
    assert "Unknown people (40)" in told and known.of("POST /api/sources") == []
    (sent,) = known.of("POST /api/sources/dry-run")
    assert sent.body["group_names"] == {"Recht": "legal"} and "name" not in sent.body
    assert run_command([*asked, "--json"]) == 0 and json.loads(capsys.readouterr().out) == PREVIEW
    known.answers["POST /api/sources/dry-run"] = PREVIEW | {"ok": False, "faults": ["x: broken"]}
    assert run_command(asked) == 3 and "! x: broken" in capsys.readouterr().out


def test_kinds_rights_items_and_syncs_are_told(known: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sources", "kinds"]) == 0
    told = capsys.readouterr().out
    assert "path (required): Where." in told and "takes a credential" in told and "glob: Which." in told
    assert run_command(["sources", "rights", "papers"]) == 0
    assert "10 items, 3 for nobody" in capsys.readouterr().out
    assert run_command(["sources", "jobs", "papers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"][0]["id"] == "j9"
    assert run_command(["sources", "show", "papers", "--find", "a.t"]) == 0
    assert "nobody" in capsys.readouterr().out
    assert "q=a.t" in known.of("GET /api/sources/s1/items")[0].path


def test_a_source_is_changed_by_what_is_named_and_nothing_else(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def changed(*words: str) -> object:
        assert run_command(["sources", "change", "papers", *words]) == 0
        return known.of("PATCH /api/sources/s1")[-1].body

    assert changed("--every", "30", "--reader", "group:a", "--reader", "group:b") == {
        "readers": ["group:a", "group:b"],
        "every_minutes": 30,
    }
    assert changed("--when-asked", "--everybody", "--keep-left") == {
        "readers": [],
        "every_minutes": None,
        "erase_after_days": None,
    }
    assert changed("--set", "glob=*.pdf", "--rename", "deeds", "--max-removed", "0") == {
        "name": "deeds",
        "max_removed_percent": 0,
        "settings": {"path": "papers", "glob": "*.pdf"},
    }
    count = len(known.of("PATCH /api/sources/s1"))
    for words in ([], ["--every", "5", "--when-asked"], ["--reader", "x", "--everybody"]):
        assert run_command(["sources", "change", "papers", *words]) != 0
    assert len(known.of("PATCH /api/sources/s1")) == count and "exclude each other" in capsys.readouterr().err


def test_a_source_is_paused_resumed_and_its_removals_declined(
    known: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["sources", "pause", "papers"]) == 0
    assert "is paused. Its documents are hidden 72 hours" in " ".join(capsys.readouterr().out.split())
    assert run_command(["sources", "resume", "papers"]) == 0 and "It has no period" in capsys.readouterr().out
    assert run_command(["sources", "decline", "papers", "4"]) == 0
    assert known.of("POST /api/sources/s1/decline")[0].body == {"removals": 4}
    assert run_command(["sources", "show", "papers"]) == 0
    assert "aos sources decline papers 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    "word",
    [
        *("list", "kinds", "add", "test", "sync", "approve", "decline", "show", "change", "pause", "resume"),
        *("rights", "jobs", "remove"),
    ],
)
def test_every_command_has_an_example_and_json(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sources", word, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"Example: aos sources {word}" in told and "--json" in told


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
