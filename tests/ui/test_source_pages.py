"""System → Sources: all is escaped, offers fit state and role, and forms send what the API takes."""

from typing import Any

import pytest

from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sources import source_form, source_items, source_view
from serve_apps.ui.sources.source_list import source_list

HOSTILE = '"><script>alert(1)</script>'
PLAN: dict[str, Any] = {
    "job": "j1",
    "dry_run": False,
    "at": "2026-11-21T10:00:00Z",
    "counts": {"listed": 9, "added": 2, "changed": 0, "removed": 1, "waiting": 4},
    "reason": "many",
    "samples": {"added": [HOSTILE], "waiting": ["a.txt"]},
}
SOURCE: dict[str, Any] = {
    "id": "s1",
    "name": HOSTILE,
    "kind": "folder",
    "settings": {"path": HOSTILE},
    "credential": None,
    "readers": ["group:legal"],
    "group_names": {},
    "has_rights": False,
    "every_minutes": 60,
    "max_removed_percent": 20,
    "erase_after_days": 30,
    "stale_after_hours": 72,
    "enabled": True,
    "job_id": "j1",
    "job_state": "completed",
    "waiting": None,
    "last_plan": PLAN,
    "last_error": None,
    "last_success_at": "2026-11-21T10:00:00Z",
    "next_at": "2026-11-21T11:00:00Z",
    "hidden_at": None,
    "items": 12,
    "gone": 1,
    "failed": 0,
}
WAITING = {"reason": "many", "removals": 4, "paths": ["a.txt", HOSTILE], "job": "j1"}
FOLDER: dict[str, Any] = {
    "name": "folder",
    "title": "Folder",
    "settings": {"path": HOSTILE, "glob": "Which files."},
    "required": ["path"],
    "has_rights": False,
    "rights_setting": None,
    "takes_credential": False,
}
SHARE = FOLDER | {"name": "share", "title": "Share", "has_rights": True, "takes_credential": True}


def test_sources_are_listed_with_what_came_of_them_and_what_waits() -> None:
    shown = source_list({"items": [SOURCE, SOURCE | {"waiting": WAITING, "failed": 3}], "total": 2}, 0, admin=True)
    assert "<script>" not in shown and "2 added, 1 removed" in shown and "in step" in shown
    assert "4 removals" in shown and "only=failed" in shown and "Add a source" in shown
    assert "Add a source" not in source_list({"items": [SOURCE], "total": 1}, 0, admin=False)
    assert "There is no source." in source_list({"items": [], "total": 0}, 0, admin=True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"job_state": "running", "last_error": {}}, "at work"),
        ({"hidden_at": "2026-11-21T10:00:00Z"}, "hidden"),
        ({"waiting": WAITING}, "waits for you"),
        ({"last_error": {"code": "source_away"}}, "failing"),
        ({"enabled": False}, "paused"),
        ({"last_success_at": None}, "not yet synchronised"),
    ],
)
def test_a_source_says_how_it_stands(more: dict[str, Any], said: str) -> None:
    assert said in source_list({"items": [SOURCE | more], "total": 1}, 0, admin=False)


def test_one_source_offers_what_the_role_and_its_state_allow() -> None:
    shown = source_view.source_head(SOURCE, FOLDER, admin=True)
    assert "<script>" not in shown and "deleted for good after 30 days" in shown and "every 1 h" in shown
    for act in ("sync", "dry", "test", "pause", "remove"):
        assert f'data-act="sources.{act}"' in shown
    assert "its 12 documents" in shown.replace("Its", "its") and "legal hold" in shown
    less = source_view.source_head(SOURCE | {"enabled": False}, FOLDER, admin=False)
    assert 'data-act="sources.resume"' in less and "sources.remove" not in less
    rights = source_view.source_head(SOURCE | {"has_rights": True, "enabled": False}, SHARE, admin=True)
    assert "keep documents" not in rights and "hidden 72 hours after" in rights
    error = {"code": "source_away", "detail": HOSTILE, "fix": "Wait.", "at": "2026-11-21T10:00:00Z"}
    bad = source_view.source_head(
        SOURCE | {"last_error": error, "hidden_at": "2026-11-21T10:00:00Z"}, FOLDER, admin=True
    )
    assert "<script>" not in bad and "What to try" in bad and "hidden: nobody has confirmed" in bad


def test_what_waits_says_why_and_what_a_yes_and_a_no_do() -> None:
    shown = source_view.waiting_card(SOURCE | {"waiting": WAITING})
    assert shown is not None and "<script>" not in shown and "4 documents would leave" in shown
    assert "More documents are gone at once" in shown and "and 2 more" in shown
    assert "deleted for good after 30 days" in shown and "asks again" in shown
    assert shown.count('value="4"') == 2, "both send how many were seen"
    assert source_view.waiting_card(SOURCE) is None


def test_syncs_show_failures_by_reason_and_link_to_their_job() -> None:
    job = {"id": "j1", "state": "partial", "created_at": "2026-11-21T10:00:00Z", "error": None}
    pace = {"elapsed_seconds": 4, "failures": [{"title": HOSTILE, "fix": "Split it.", "count": 3}]}
    shown = source_view.sync_table(SOURCE, [job, job | {"error": "nobody answers"}], [pace, pace])
    assert "<script>" not in shown and "3 × " in shown and "Split it." in shown and "nobody answers" in shown
    assert "/console/ingest?job=j1" in shown
    assert "There was none." in source_view.sync_table(SOURCE, [], [])
    plan = source_view.plan_card(SOURCE)
    assert "<script>" not in plan and "9 items listed, 2 added, 1 removed, 4 waiting" in plan
    assert "never synchronised" in source_view.plan_card(SOURCE | {"last_plan": None})


def test_rights_are_shown_as_understood() -> None:
    rights = {
        "has_rights": True,
        "items": 10,
        "nobody": 3,
        "unsaid": 1,
        "readers": [{"name": "group:legal", "items": 7}],
        "readers_total": 1,
        "unknown_users": [{"name": HOSTILE, "items": 2}],
        "unknown_users_total": 40,
        "unknown_groups": [],
        "unknown_groups_total": 0,
    }
    shown = source_items.rights_card(rights)
    assert "<script>" not in shown and "Of 10 items, 3 are seen by nobody" in shown and "and 39 more" in shown
    chosen = source_items.rights_view(rights | {"has_rights": False, "readers": []})
    assert "everybody of the workspace" in chosen
    item = {"path": HOSTILE, "document_id": "d1", "status": "completed", "state": "failed", "error": HOSTILE}
    more = {"readers": [], "nobody": True, "unknown": ["user:ghost@far.example"]}
    table = source_items.item_table(SOURCE, {"items": [item | more], "total": 30}, {"id": "s1", "only": "failed"})
    assert "<script>" not in table and "nobody" in table and "ghost@far.example" in table and "skip=25" in table
    empty = source_items.item_table(SOURCE, {"items": [], "total": 0}, {"id": "s1", "q": "x"})
    assert "There are none." in empty and "Take the filter away." in empty


def test_a_form_follows_the_settings_of_its_kind() -> None:
    shown = source_form.new_source_form(FOLDER, ["archive"])
    assert "<script>" not in shown and 'name="setting:path"' in shown and "Who may see it" in shown
    assert 'data-act="sources.try"' in shown and 'data-act="sources.preview"' in shown
    assert "Credential" not in shown and "Names of groups" not in shown
    share = source_form.new_source_form(SHARE, ["archive"])
    assert 'value="archive"' in share and "Names of groups" in share and "Hidden when unconfirmed" in share
    change = source_form.change_form(SOURCE | {"credential": "old"}, SHARE, ["archive"])
    assert 'value="old" selected' in change and 'name="id"' in change
    tiles = source_form.kind_choice([FOLDER, SHARE])
    assert "new=share" in tiles and "Rights follow the source." in tiles


def test_fields_become_what_the_api_takes() -> None:
    values = {
        "name": " papers ",
        "setting:path": " contracts ",
        "setting:glob": "",
        "readers": "user:a@x.example, ,group:legal",
        "every_minutes": "",
        "max_removed_percent": "20",
        "erase_after_days": "7",
        "group_names": "Recht = legal\n\n a=b ",
        "credential": "",
    }
    body = source_form.definition_of(values)
    assert body == {
        "name": "papers",
        "settings": {"path": "contracts"},
        "credential": None,
        "readers": ["user:a@x.example", "group:legal"],
        "group_names": {"Recht": "legal", "a": "b"},
        "every_minutes": None,
        "max_removed_percent": 20,
        "erase_after_days": 7,
    }
    before = {**body, "every_minutes": 60}
    assert source_form.changes_between(before, body) == {"every_minutes": None}
    for wrong in ({"max_removed_percent": ""}, {"erase_after_days": "-1"}, {"group_names": "Recht"}):
        with pytest.raises(ApiProblem):
            source_form.definition_of(values | wrong)


def test_a_trial_tells_what_it_found_and_what_it_could_not_list() -> None:
    found = {"ok": False, "paths": [HOSTILE], "more": True, "faults": [HOSTILE]}
    shown = source_view.trial_view(found)
    assert "<script>" not in shown and "Not all of it" in shown and "…" in shown
    assert "holds nothing" in source_view.trial_view({"ok": True, "paths": [], "more": False, "faults": []})
    seen = {
        "ok": True,
        "items": 20_000,
        "more": True,
        "bytes": 2048,
        "unsized": 3,
        "endings": {".pdf": 12},
        "paths": [HOSTILE],
        "faults": [],
    }
    preview = source_view.preview_view(seen, source_items.rights_view({"has_rights": False, "readers": []}))
    assert "<script>" not in preview and "At least 20,000 items, 2.0 KiB (3 tell no size)" in preview
    assert "Nothing was stored" in preview
