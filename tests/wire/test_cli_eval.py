"""`aos eval` and `aos generations` over HTTP: what is sent, shown, and exited with."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer, serve_api

SETS = "/api/golden-sets"
SET = {
    "id": "s1",
    "name": "contracts",
    "description": "",
    "gate": False,
    "least_recall": None,
    "questions": 2,
    "last_run": None,
}
FIRST, SECOND = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def a_run(state: str = "completed", recall: float = 0.9, **more: Any) -> dict[str, Any]:
    figures = {"recall@10": {"mean": recall, "n": 2}, "search_ms": {"p50": 3, "p95": 9, "n": 2}}
    return {
        "id": SECOND,
        "set_id": "s1",
        "set_name": "contracts [x]",
        "state": state,
        "done": 2,
        "total": 2,
        "figures": figures,
        "failures": [],
        "generation_id": 4,
        "fingerprint": "f",
        "created_at": "now",
        **more,
    }


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    with serve_api({f"GET {SETS}": {"items": [SET], "total": 1}}) as server:
        monkeypatch.setenv("AOS_URL", server.url)
        monkeypatch.setenv("AOS_TOKEN", server.token)
        monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
        yield server


def test_a_file_fills_a_set_that_is_made_where_it_is_missing(api: ApiServer, tmp_path: Path) -> None:
    file = tmp_path / "leases.yaml"
    file.write_text("- {question: When?, answer: in May}")
    filled = {"set_id": "s2", "questions": 1, "written": 1, "removed": 0, "keys": ["k"]}
    api.answers |= {
        f"POST {SETS}": (201, SET | {"id": "s2"}),
        f"POST {SETS}/s2/import": (201, filled),
        f"POST {SETS}/s1/import": (201, filled),
        f"PATCH {SETS}/s1": SET,
    }
    assert run_command(["eval", "import", str(file), "--gate"]) == 0
    assert api.of(f"POST {SETS}")[0].body == {"name": "leases", "gate": True}
    assert api.of(f"POST {SETS}/s2/import")[0].body == {"text": file.read_text(), "format": "yaml", "replace": False}
    assert run_command(["eval", "import", str(file), "--set", "contracts", "--least-recall", "0.8", "--replace"]) == 0
    assert api.of(f"PATCH {SETS}/s1")[0].body == {"least_recall": 0.8}
    assert api.of(f"POST {SETS}/s1/import")[0].body["replace"] is True
    (tmp_path / "leases.txt").write_text("x")
    assert run_command(["eval", "import", str(tmp_path / "leases.txt")]) == 1


def test_a_query_is_saved_as_golden(api: ApiServer, tmp_path: Path) -> None:
    api.answers[f"POST {SETS}/s1/questions"] = (201, {"questions": 3, "keys": ["k"]})
    assert (
        run_command(
            ["eval", "add", "contracts", "When?", "--document", "a.pdf", "--document", "b.pdf", "--answer", "May"]
        )
        == 0
    )
    assert api.of(f"POST {SETS}/s1/questions")[0].body == {
        "question": "When?",
        "documents": ["a.pdf", "b.pdf"],
        "passages": [],
        "answers": ["May"],
        "answerable": True,
    }
    api.answers[f"GET {SETS}/s1/export"] = b"- question: When?\n"
    assert run_command(["eval", "export", "contracts", "-o", str(tmp_path / "out.yaml")]) == 0
    assert (tmp_path / "out.yaml").read_text() == "- question: When?\n"
    api.answers[f"DELETE {SETS}/s1"] = {}
    assert run_command(["eval", "remove", "contracts"]) == 0 and run_command(["eval", "remove", "nothing"]) == 1


@pytest.mark.parametrize(("state", "code"), [("completed", 0), ("failed", 1)])
def test_a_run_is_followed_resumed_where_it_was_interrupted_and_fails_where_a_part_did_not_run(
    api: ApiServer, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    failures = [{"what": "search: words only [1]", "questions": 2}] if code else []
    api.answers |= {
        f"POST {SETS}/s1/runs": (202, a_run("running")),
        f"POST /api/golden-runs/{SECOND}/resume": (202, a_run("running")),
        f"GET /api/golden-runs/{SECOND}": [a_run("running"), a_run("interrupted"), a_run(state, failures=failures)],
    }
    assert run_command(["eval", "run", "contracts", "--no-answers"]) == code
    shown = capsys.readouterr().out
    assert "contracts [x]" in shown and "0.9000" in shown and ("words only [1]" in shown) == bool(code)
    assert api.of(f"POST {SETS}/s1/runs")[0].body == {"concurrency": 1, "answers": False}
    assert len(api.of(f"POST /api/golden-runs/{SECOND}/resume")) == 1
    assert run_command(["eval", "run", "contracts", "--generation", "7", "--no-wait", "--json"]) == 0
    assert api.of(f"POST {SETS}/s1/runs")[1].body == {"concurrency": 1, "generation": 7}
    assert json.loads(capsys.readouterr().out)["state"] == "running"


def test_a_run_that_cannot_be_resumed_ends_the_wait(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    problem = {"title": "No.", "detail": "the settings are others than when it began", "code": "conflict"}
    api.answers |= {
        f"POST {SETS}/s1/runs": (202, a_run("running")),
        f"POST /api/golden-runs/{SECOND}/resume": (409, problem),
        f"GET /api/golden-runs/{SECOND}": a_run("interrupted"),
    }
    assert run_command(["eval", "run", "contracts"]) == 1
    assert "the settings are others" in capsys.readouterr().err


def test_the_gate_exits_with_one_where_a_run_is_worse_than_another_or_than_a_file(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps(a_run(recall=0.9)))
    api.answers |= {f"GET /api/golden-runs/{SECOND}": a_run(recall=0.88), f"GET /api/golden-runs/{FIRST}": a_run()}
    assert run_command(["eval", "gate", SECOND, "--baseline", str(file)]) == 0
    assert run_command(["eval", "gate", SECOND, "--baseline", FIRST, "--tolerance", "0.01", "--json"]) == 1
    shown = capsys.readouterr().out
    assert "recall@10: 0.8800, the baseline 0.9000" in shown and '"passed": false' in shown
    assert run_command(["eval", "gate", SECOND, "--baseline", "nowhere.json"]) == 1
    file.write_text("[]")
    assert run_command(["eval", "gate", SECOND, "--baseline", str(file)]) == 1


def test_the_gate_holds_a_run_to_what_is_demanded_without_a_baseline(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers[f"GET /api/golden-runs/{SECOND}"] = a_run(recall=0.88)
    assert run_command(["eval", "gate", SECOND, "--least", "recall@10=0.85"]) == 0
    assert run_command(["eval", "gate", SECOND, "--least", "recall@10=0.9"]) == 1
    assert "recall@10: 0.8800, demanded 0.9000" in capsys.readouterr().out
    twice = ["--least", "recall@10=0.9", "--least", "recall@10=0.1"]
    unknown = ["--least", "recall@10=0.1", "--measure", "mrr"]
    odd = [["--least", one] for one in ("recall@10", "recall@10=much", "recall@10=nan", "=1")]
    for wrong in (*odd, twice, unknown):
        assert run_command(["eval", "gate", SECOND, *wrong]) == 1
        assert "MEASURE=VALUE" in (said := capsys.readouterr().err) or "--baseline" in said
    assert run_command(["eval", "gate", SECOND]) == 1


def test_two_runs_are_compared(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"measure": "mrr", "n": 2, "baseline": 0.5, "candidate": 0.75, "delta": 0.25, "low": 0, "high": 0.5, "p": 0.5}
    changed = {"key": "k", "question": "When?", "baseline": 0.0, "candidate": 1.0}
    api.answers[f"GET /api/golden-runs/{SECOND}/compare/{FIRST}"] = {
        "differences": [row | {"better": 1, "worse": 0}],
        "changed": [changed],
    }
    assert run_command(["eval", "compare", FIRST, SECOND, "--measure", "mrr"]) == 0
    shown = capsys.readouterr().out
    assert "0.75" in shown and "When?" in shown
    assert "measure=mrr" in api.calls[-1].path


def test_generations_are_listed_built_switched_and_rolled_back(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": 4, "role": "live", "embedder": "m", "report": {"verdict": "passed"}, "documents": 3}
    told = {"generation": 3, "previous": 4, "carried": 2, "job_id": None, "note": "set EMBEDDING_MODEL back"}
    api.answers |= {
        "GET /api/generations": {"live": 4, "previous": 3, "items": [row, row | {"id": 3, "report": None}]},
        "POST /api/generations/rollback": told,
        "POST /api/generations/4/switch": told | {"job_id": "j2", "note": None},
        "POST /api/documents/reindex-all": (202, {"job_id": "j1"}),
    }
    assert run_command(["generations", "list"]) == 0 and "passed" in capsys.readouterr().out
    assert run_command(["generations", "rollback"]) == 0
    shown = capsys.readouterr().out
    assert "generation 3" in shown and "2 documents" in shown and "EMBEDDING_MODEL" in shown
    assert run_command(["generations", "switch", "4", "--force"]) == 0 and "j2" in capsys.readouterr().out
    assert api.calls[-1].path.endswith("?force=true")
    assert run_command(["generations", "build", "--hold"]) == 0
    assert api.calls[-1].path.endswith("reindex-all?hold=true") and "Idempotency-Key" in api.calls[-1].headers
