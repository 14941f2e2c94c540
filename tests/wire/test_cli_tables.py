"""`aos tables` against a real HTTP server."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

TABLE: dict[str, Any] = {
    "name": "tolls_may_1a2b3c4d_p1",
    "document_id": "1a2b3c4d" * 4,
    "filename": "[bold]tolls-may.md",
    "page": 1,
    "kind": "grid",
    "title": "",
    "rows": 3,
    "totals": 1,
    "columns": [{"name": "Lorry", "type": "text", "unit": ""}, {"name": "Toll", "type": "number", "unit": "€"}],
    "sample": [["Lorry 12", "310"]],
    "is_sampled": False,
    "url": "/api/documents/x/pages/1",
}
CITED = [{"n": 1, "filename": "[bold]tolls-may.md", "page": 1}, {"n": 2, "filename": "tolls-june.md", "page": 4}]
RESULT: dict[str, Any] = {
    "sql": "select 1",
    "tables": ["t"],
    "columns": [{"name": "Toll", "type": "number", "unit": "€"}],
    "rows": [[400], [None]],
    "sources": [{"rows": 2, "citations": [1, 2]}, {"rows": 0, "citations": []}],
    "citations": CITED,
    "notes": ["1 row of t that sum others up left out."],
}


def test_tables_are_listed_with_the_names_that_queries_use(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["GET /api/tables"] = {"items": [TABLE], "documents": 1, "unseen": 2}
    assert run_command(["tables", "list", "toll", "--agent", "clerk", "--limit", "5"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "tolls_may_1a2b3c4d_p1" in shown and "[bold]tolls-may.md" in shown and "Toll (€)" in shown
    assert "1 documents have such tables. 2 were indexed before" in shown
    (call,) = api.of("GET /api/tables")
    assert "search=toll" in call.path and "agent_id=clerk" in call.path and "limit=5" in call.path
    assert run_command(["tables", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == [TABLE]


def test_a_query_shows_its_rows_with_their_pages_and_its_notes(
    api: ApiServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.answers["POST /api/tables/query"] = RESULT
    assert run_command(["tables", "query", "select 1", "--table", "t=tolls_may_1a2b3c4d_p1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "400" in shown and "tolls-may.md p. 1" in shown and "2 rows" in shown and "left out" in shown
    (call,) = api.of("POST /api/tables/query")
    assert call.body == {"sql": "select 1", "tables": {"t": "tolls_may_1a2b3c4d_p1"}, "limit": 200}
    monkeypatch.setattr("sys.stdin", io.StringIO("select 2"))
    assert run_command(["tables", "query", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == RESULT
    assert api.of("POST /api/tables/query")[1].body["sql"] == "select 2"


def test_a_result_without_places_and_an_alias_that_names_nothing(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["POST /api/tables/query"] = RESULT | {"sources": None, "citations": []}
    assert run_command(["tables", "query", "select 1"]) == 0
    assert "400" in capsys.readouterr().out
    assert run_command(["tables", "query", "select 1", "--table", "nothing"]) == 1
    assert "--table sales=NAME" in capsys.readouterr().err
    assert len(api.of("POST /api/tables/query")) == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("list", "query", "insights"):
        assert run_command(["tables", command, "--help"]) == 0
        assert f"aos tables {command}" in capsys.readouterr().out


def test_a_chart_is_written_as_a_picture_or_as_data(
    api: ApiServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = {"kind": "bar", "label": "Lorry", "measure": "Toll (€)", "points": [["Oak", 3.0], ["Elm", 4.0]]}
    api.answers["POST /api/tables/query"] = RESULT | {"chart": data | {"vega_lite": {"mark": "bar"}}}
    api.answers["POST /api/tables/picture"] = {"svg": "<svg>Oak</svg>"}
    svg, spec = tmp_path / "out.svg", tmp_path / "out.json"
    assert run_command(["tables", "query", "select 1", "--chart", str(svg)]) == 0
    assert svg.read_text() == "<svg>Oak</svg>"
    assert api.of("POST /api/tables/picture")[0].body == data
    assert api.of("POST /api/tables/query")[0].body["chart"] is True
    assert run_command(["tables", "query", "select 1", "--chart", str(spec)]) == 0
    assert json.loads(spec.read_text()) == {"mark": "bar"}
    assert run_command(["tables", "query", "select 1", "--chart", str(tmp_path / "out.gif")]) == 1
    api.answers["POST /api/tables/query"] = RESULT | {"chart": None}
    assert run_command(["tables", "query", "select 1", "--chart", str(svg)]) == 1
    assert "no chart" in capsys.readouterr().err


def test_insights_are_said_with_their_query_and_pages(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    one = {"kind": "largest", "measure": "Toll", "text": "The largest Toll is 310: [b]Oak.", "sql": "select row"}
    said = {"table": "t", "insights": [one | {"rows": 1, "citations": [1]}], "citations": CITED, "notes": ["So far."]}
    api.answers["POST /api/tables/insights"] = said
    assert run_command(["tables", "insights", "t", "--agent", "clerk"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "The largest Toll is 310: [b]Oak." in shown and "tolls-may.md p. 1" in shown and "select row" in shown
    assert api.of("POST /api/tables/insights")[0].body == {"table": "t", "agent_id": "clerk"}
    assert run_command(["tables", "insights", "t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == said
