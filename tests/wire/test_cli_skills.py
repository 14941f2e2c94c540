"""`aos skills` over HTTP: the true count, one skill in full, and who has what."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer, serve_api

SKILL = {
    "name": "double",
    "description": "Doubles [a] number. " + "x" * 80,
    "type": "python",
    "category": "Office/Arithmetic",
    "risk": "read",
    "permissions": ["admin"],
    "timeout": 5,
    "credential": None,
    "version": 2,
    "origin": "registered",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer", "description": "Which."}}},
}
COUNTS = {"shipped": 6, "stored": 1, "by_type": {"python": 3}, "by_category": {"Office/Arithmetic": 2}}
AGENTS = {"items": [{"id": "a1", "name": "clerk"}], "total": 1}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    with serve_api({"GET /api/agents": AGENTS}) as server:
        monkeypatch.setenv("AOS_URL", server.url)
        monkeypatch.setenv("AOS_TOKEN", server.token)
        monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
        yield server


def test_sk_05_the_list_prints_the_true_count(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """SK-05, X-33: by category and by type, as the server counts."""
    api.answers["GET /api/skills"] = {"items": [SKILL], "total": 7, "counts": COUNTS}
    assert run_command(["skills", "list"]) == 0
    shown = capsys.readouterr().out
    assert "7 skills: 6 shipped, 1 registered here" in shown
    assert "by category: Office/Arithmetic 2" in shown and "by type: python 3" in shown and "x" * 61 not in shown
    assert run_command(["skills", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == COUNTS


def test_a_skill_is_shown_with_its_code_and_versions(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    versions: list[dict[str, Any]] = [
        {"version": n, "created_at": f"2026-11-0{n}", "text": "", "code": f"return {n}"} for n in (2, 1)
    ]
    api.answers["GET /api/skills/double"] = {**SKILL, "versions": versions}
    assert run_command(["skills", "show", "double"]) == 0
    shown = capsys.readouterr().out
    assert "Doubles [a] number." in shown and "argument n: integer Which." in shown and "return 2" in shown
    assert "version 1, 2026-11-01" in shown and "return 1" not in shown
    assert run_command(["skills", "show", "nothing"]) == 1


def test_skills_are_given_to_an_agent_by_its_name(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["POST /api/agents/a1/skills"] = {"items": [{"name": "double", "version": 2}], "total": 1}
    api.answers["DELETE /api/agents/a1/skills/double"] = {}
    assert (
        run_command(["skills", "attach", "clerk", "double"])
        == run_command(["skills", "attach", "a1", "double", "--version", "2"])
        == 0
    )
    assert "clerk has double, version 2." in capsys.readouterr().out
    assert [call.body for call in api.of("POST /api/agents/a1/skills")] == [
        {"name": "double"},
        {"name": "double", "version": 2},
    ]
    assert run_command(["skills", "detach", "clerk", "double"]) == 0
    assert run_command(["skills", "attach", "nobody", "double"]) == 1
    assert "no agent is called nobody" in capsys.readouterr().err
