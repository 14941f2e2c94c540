"""`aos ask` and `aos why` against a real HTTP server."""

import json
from typing import Any

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer

ID = "7d9f0c52-3c1e-4a4f-9a55-0d6f3a2b1c11"
ANSWER: dict[str, Any] = {
    "id": ID,
    "answer": "In May.",
    "mode": "extractive",
    "citations": [],
    "fallback": "words only: [red]no embedder",
}
CITED: dict[str, Any] = {
    "n": 1,
    "withheld": None,
    "filename": "[bold]lease.pdf",
    "is_current": False,
    "kind": "pdf",
    "page": 4,
    "start": 10,
    "end": 17,
    "boxes": [[4, 0.1, 0.2, 0.3, 0.45]],
    "ocr_confidence": 0.914,
    "engine": "tesseract+easyocr",
    "caveats": [{"kind": "table_unsure", "detail": "a [red]column is guessed", "page": 4}],
    "file_hash": "ab" * 32,
    "job": {"id": "j-1", "kind": "ingest", "state": "complete"},
}
WHY: dict[str, Any] = {
    "question": "When does it end?",
    "mode": "generated",
    "model": "m1",
    "generation": 3,
    "abstained": None,
    "fallback": None,
    "citations": [CITED],
    "dropped": [{"text": "It is blue.", "why": "unsupported"}],
    "calculation": {"sql": 'select sum("Rent")', "rows": 2, "documents": ["rents.csv"]},
    "claims": [
        {"text": "It ends in May.", "citations": [1], "supported": True, "basis": "attributed"},
        {"text": "It is red.", "citations": [], "supported": False, "basis": "quoted"},
    ],
    "conflicts": [[{"n": 1, "value": "May"}, {"n": 2, "value": None}]],
}


def test_an_answer_tells_its_fallback_and_how_to_ask_why(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["POST /api/ask"] = ANSWER
    assert run_command(["ask", "When?"]) == 0
    shown = capsys.readouterr().out
    assert "words only: [red]no embedder" in shown and f"aos why {ID}" in shown


def test_why_leads_from_each_claim_to_page_box_engine_file_and_job(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers[f"GET /api/answers/{ID}/why"] = WHY
    assert run_command(["why", ID]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "It ends in May. found by its words: the model quoted nothing for it [1]" in shown
    assert "[1] [bold]lease.pdf (an earlier version), page 4, characters 10–17" in shown
    assert "box 0.10,0.20–0.30,0.45 on page 4 read by tesseract+easyocr, confidence 0.91" in shown
    assert f"SHA-256 {'ab' * 6} job j-1 (ingest, complete)" in shown
    assert "! table unsure (page 4): a [red]column is guessed" in shown
    assert "It is red. nothing supports this" in shown
    assert "The sources contradict each other: [1] May; [2] not shown" in shown
    assert "Left out, unsupported: It is blue." in shown
    assert 'Calculated from 2 rows of rents.csv: select sum("Rent")' in shown


def test_a_passage_that_one_may_not_read_says_so_and_scripts_get_json(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = dict.fromkeys(CITED) | {"n": 1, "boxes": [], "withheld": "The document is gone."}
    claim = {"text": None, "citations": [1], "supported": True, "basis": "quoted"}
    body = WHY | {"citations": [hidden], "claims": [claim], "conflicts": [], "dropped": []}
    api.answers[f"GET /api/answers/{ID}/why"] = body
    assert run_command(["why", ID]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "(not shown: it can only be read with its passage) [1] The document is gone." in shown
    assert run_command(["why", ID, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == body
