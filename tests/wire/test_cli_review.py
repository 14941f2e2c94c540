"""`aos review` against a real HTTP server."""

import json
from typing import Any

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

DOCUMENT = "1a2b3c4d" * 4
PLACE = f"/api/documents/{DOCUMENT}/pages/3"
WAITING: dict[str, Any] = {
    "document_id": DOCUMENT,
    "filename": "[bold]lease.pdf",
    "page": 3,
    "weakest_line": 0.41,
    "reasons": ["confidence"],
    "caveats": [],
    "weak": [{"line": 2, "text": "Rcnt: 1l00 \x1b[31mEUR", "confidence": 0.41}],
    "weak_lines": 1,
    "fields": [],
}
LINES: dict[str, Any] = {
    "filename": "[bold]lease.pdf",
    "page": 3,
    "page_count": 9,
    "engine": "tesseract",
    "page_version": "v" * 32 + ".0",
    "lines": [
        {"line": 0, "text": "[b]Lease", "confidence": 0.97, "weak": False},
        {"line": 2, "text": "Rcnt", "confidence": 0.41, "weak": True},
    ],
    "reviewed_at": None,
    "reviewed_by": None,
}
MADE = {"id": "x", "page_version": "v.1", "text": "Rent", "reembedded": 1, "searchable": "vectors", "fresh": True}


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_the_queue_is_listed_with_its_filters(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["GET /api/review/pages"] = {"items": [WAITING], "total": 7, "threshold": 0.6}
    assert run_command(["review", "list", "--below", "0.5", "--search", "lease", "--reason", "confidence"]) == 0
    shown = said(capsys)
    assert "[bold]lease.pdf" in shown and "41%" in shown and "7 pages wait" in shown and "\x1b[31m" not in shown
    (call,) = api.of("GET /api/review/pages")
    assert all(part in call.path for part in ("below=0.5", "search=lease", "reason=confidence", "limit=20"))
    field = {"path": "/total", "value": 3, "state": "unsure", "reason": "low OCR confidence 0.30"}
    doubted = WAITING | {"weak": [], "reasons": ["field"], "fields": [field]}
    api.answers["GET /api/review/pages"] = {"items": [doubted], "total": 1, "threshold": 0.6}
    assert run_command(["review", "list", "--reason", "field"]) == 0
    assert "/total: low" in said(capsys)
    api.answers["GET /api/review/pages"] = {"items": [WAITING], "total": 7, "threshold": 0.6}
    assert run_command(["review", "list", "--reviewed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == [WAITING]
    assert "reviewed=" in api.of("GET /api/review/pages")[2].path


def test_a_page_is_shown_by_line_and_with_its_history(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers[f"GET {PLACE}/lines"] = LINES
    assert run_command(["review", "show", DOCUMENT, "3"]) == 0
    shown = said(capsys)
    assert "weak" in shown and "[b]Lease" in shown and LINES["page_version"] in shown
    entry = {"at": "2026-01-02T03:04:05Z", "user_email": "ada@x.example", "user_id": None, "line": 2}
    entry |= {"text_before": "Rcnt", "text_after": "Rent", "unplaced": True}
    api.answers[f"GET {PLACE}/corrections"] = {"items": [entry], "total": 1}
    assert run_command(["review", "show", DOCUMENT, "3", "--history"]) == 0
    shown = said(capsys)
    assert "ada@x.example" in shown and "- Rcnt + Rent" in shown and "not found again" in shown


def test_a_line_is_corrected_against_the_page_as_it_was_seen(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers[f"GET {PLACE}/lines"] = LINES
    api.answers[f"POST {PLACE}/corrections"] = MADE
    assert run_command(["review", "correct", DOCUMENT, "3", "2", "Rent"]) == 0
    assert "It is found now; 1 chunks were embedded again." in said(capsys)
    (call,) = api.of(f"POST {PLACE}/corrections")
    assert call.body == {"page_version": LINES["page_version"], "line": 2, "text": "Rent"}
    assert run_command(["review", "correct", DOCUMENT, "3", "2", "Rent", "--page-version", "w.4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == MADE
    assert api.of(f"POST {PLACE}/corrections")[1].body["page_version"] == "w.4"
    api.answers[f"PUT {PLACE}/review"] = {"document_id": DOCUMENT, "page": 3, "reviewed_at": "now"}
    assert run_command(["review", "correct", DOCUMENT, "3", "--fine"]) == 0
    assert api.of(f"PUT {PLACE}/review")[0].body == {"page_version": LINES["page_version"]}


@pytest.mark.parametrize("arguments", [[], ["2"], ["2", "Rent", "--fine"]])
def test_a_correction_is_of_a_line_or_of_the_page(
    api: ApiServer, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run_command(["review", "correct", DOCUMENT, "3", *arguments]) == 1
    assert "--fine" in capsys.readouterr().err and api.of(f"POST {PLACE}/corrections") == []


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("list", "show", "correct"):
        assert run_command(["review", command, "--help"]) == 0
        assert f"aos review {command}" in capsys.readouterr().out
