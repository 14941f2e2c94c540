"""`aos governance`: what it sends, and what it says."""

from pathlib import Path

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

POLICY = {"id": "p1", "reach": "workspace", "version": 1, "name": "ours", "references": ["gdpr"], "pii": {}}
EFFECT = {
    **{"documents": 9, "documents_looked_at": 9, "pages_looked_at": 40, "complete": True, "pages_with_finds": 3},
    **{"page_finds": {"iban": 4}, "classes": {"money": 2}, "messages": 5, "runs": 2, "message_finds": {"email": 5}},
    "samples": [],
}
PATH = "/api/data-governance/policies"


def test_policies_are_made_changed_and_retired(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GV-01: from a file in YAML, and first of all without holding."""
    file = tmp_path / "p.yaml"
    file.write_text("references: [gdpr]\npii: {journals: mask}\n")
    body = {"references": ["gdpr"], "pii": {"journals": "mask"}}
    reference = {"id": "gdpr", "standard": "GDPR", "title": "Regulation (EU) 2016/679"}
    api.answers |= {
        f"GET {PATH}": {"items": [POLICY], "total": 1},
        "GET /api/data-governance/references": {"items": [reference], "total": 1},
        f"POST {PATH}": {"policy": None, "effect": EFFECT},
        f"PUT {PATH}/p1": {"policy": POLICY | {"version": 2}, "effect": None},
        f"DELETE {PATH}/p1": (204, None),
    }
    assert run_command(["governance", "policies"]) == 0 and "ours" in capsys.readouterr().out
    assert run_command(["governance", "references"]) == 0 and "2016/679" in capsys.readouterr().out
    assert run_command(["governance", "add", "ours", str(file), "--tenant", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "3 of 40 with personal data {'iban': 4}" in said and "Nothing was changed." in said
    assert api.of(f"POST {PATH}")[0].body == {"name": "ours", "body": body, "tenant_wide": True, "dry_run": True}
    assert run_command(["governance", "change", "p1", "1", "ours", str(file)]) == 0
    assert "version 2" in capsys.readouterr().out
    assert run_command(["governance", "retire", "p1"]) == 0 and len(api.of(f"DELETE {PATH}/p1")) == 1
    assert run_command(["governance", "add", "ours", str(tmp_path / "none.yaml")]) != 0


def test_a_document_is_classified_by_hand_or_by_the_rules(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    shown = {"document_id": "d1", "classification": "confidential", "classified_by": "hand"}
    path = "/api/documents/d1"
    api.answers |= {f"GET {path}": shown, f"PUT {path}/classification": shown}
    for arguments in (["d1"], ["d1", "confidential"], ["d1", "--by-rules"]):
        assert run_command(["governance", "classify", *arguments]) == 0
        assert "confidential (by hand)" in capsys.readouterr().out
    asked = [one.body for one in api.of(f"PUT {path}/classification")]
    assert asked == [{"classification": "confidential"}, {"classification": None}]
    assert run_command(["governance", "classify", "d1", "public", "--by-rules"]) != 0


def test_unmasking_says_why(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """GV-04: without a reason nothing is asked."""
    values = [{"placeholder": "[EMAIL 1]", "value": "ann@example.org"}]
    api.answers |= {"POST /api/runs/r1/unmask": {"items": values}}
    assert run_command(["governance", "unmask", "r1"]) != 0 and api.of("POST /api/runs/r1/unmask") == []
    capsys.readouterr()
    assert run_command(["governance", "unmask", "r1", "--reason", "ticket 4711"]) == 0
    assert "[EMAIL 1]  ann@example.org" in capsys.readouterr().out
    assert api.of("POST /api/runs/r1/unmask")[0].body == {"reason": "ticket 4711"}
