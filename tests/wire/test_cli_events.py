"""`aos events` over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer, serve_api

PATH = "/api/events/document-uploaded"
LETTER = {
    "id": "1767225600000-0",
    "state": "dead",
    "since": "2026-01-01T00:00:00Z",
    "why": "not_found: there is no such file",
    "said": {"job_id": "j7", "document_key": "incoming/a.txt"},
}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    with serve_api({f"GET {PATH}": {"items": [LETTER], "waiting": 0, "dead": 1}}) as server:
        monkeypatch.setenv("AOS_URL", server.url)
        monkeypatch.setenv("AOS_TOKEN", server.token)
        monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
        yield server


def test_events_that_were_not_taken_are_shown_with_the_reason_and_tried_again(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["events", "list", "--dead"]) == 0
    shown = capsys.readouterr().out
    assert "j7" in shown and "no such file" in shown
    assert run_command(["events", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == [LETTER]
    api.answers[f"POST {PATH}/retry"] = {"retried": 3}
    assert run_command(["events", "retry"]) == 0 and "3 events" in capsys.readouterr().out
    assert run_command(["events", "retry", LETTER["id"], "--json"]) == 0
    assert [call.body for call in api.of(f"POST {PATH}/retry")] == [{}, {"id": LETTER["id"]}]
