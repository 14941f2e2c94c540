"""`aos export WORKSPACE`, `aos import`, `aos merge`: what is asked of the program, what is shown, exit codes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cluster.cli import run_command
from cluster.console import move_program
from cluster.console.move_program import MoveFailed, run_program

EXPORTED: dict[str, Any] = {
    "folder": "/x",
    "key": "4Zk",
    "counts": {"documents": 2, "pages": 3, "chunks": 4, "vectors": 4},
    "left_out": {"unread": 0, "unread_names": [], "without_bytes": 0, "without_bytes_names": []},
}
IMPORTED: dict[str, Any] = {
    "documents": {"new": 2, "done": 0, "same": 1, "within": 0, "erased": 0, "conflicts": 0},
    "pages": 3,
    "vectors": "kept",
    "embed_job": None,
    "conflicts": [],
    "unknown_readers": [],
    "skills_to_attach": [],
    "dry_run": False,
}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Sets what the program prints; the words it was asked with are in `asked`."""
    asked = tmp_path / "asked"
    monkeypatch.setenv("AOS_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AOS_TOKEN", "t")

    def answer(told: object) -> Path:
        text = f"import sys; open({str(asked)!r}, 'w').write(repr(sys.argv[1:])); print({json.dumps(told)!r})"
        monkeypatch.setattr(run_program, "__defaults__", ((sys.executable, "-c", text),))
        return asked

    return answer


def test_a_workspace_is_exported_by_name(program: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = program(EXPORTED)
    assert run_command(["export", "claims", "--to", str(tmp_path / "out"), "--tenant", "acme"]) == 0
    words = ["export", str(tmp_path / "out"), "--workspace", "claims", "--tenant", "acme"]
    assert asked.read_text() == repr(words)
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 documents, 3 pages, 4 chunks, 4 vectors" in shown and "key 4Zk" in shown


def test_what_stays_out_ends_in_exit_code_3(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    left = {"unread": 1, "unread_names": ["a"], "without_bytes": 1, "without_bytes_names": ["scan.pdf"]}
    program(EXPORTED | {"left_out": left})
    assert run_command(["export", "claims", "--to", "out"]) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "nobody has read yet" in shown and "scan.pdf" in shown


@pytest.mark.parametrize(
    "words",
    [
        ["export", "claims"],
        ["export", "--to", "out"],
        ["export", "claims", "--to", "out", "--pdf", "x"],
        ["export", "claims", "--to", "out", "--vectors"],
        ["export", "--dry-run"],
        ["export", "--tenant", "acme"],
    ],
)
def test_options_that_contradict_each_other_are_refused(
    program: Any, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = program(EXPORTED)
    assert run_command(words) == 1 and not asked.exists()
    assert "error:" in capsys.readouterr().err


def test_an_import_says_what_became_of_it(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked = program(IMPORTED)
    assert run_command(["import", "/mnt/claims", "--workspace", "w", "--trust-key", "K", "--dry-run"]) == 0
    assert asked.read_text() == repr(["import", "/mnt/claims", "--workspace", "w", "--trust-key", "K", "--dry-run"])
    assert "none read again" in capsys.readouterr().out


def test_what_somebody_has_to_look_at_ends_in_exit_code_3(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    told = IMPORTED | {
        "conflicts": [{"kind": "document", "name": "a.pdf", "done": "both are"}],
        "unknown_readers": ["user:ann"],
        "skills_to_attach": [{"agent": "clerk", "skill": "http"}],
        "vectors": "anew",
        "embed_job": "j1",
    }
    asked = program(told)
    assert run_command(["merge", "/m", "--workspace", "w", "--readers", "keep"]) == 3
    assert asked.read_text() == repr(["merge", "/m", "--workspace", "w", "--readers", "keep"])
    shown = " ".join(capsys.readouterr().out.split())
    for word in ("document a.pdf: both are", "user:ann", "clerk: http", "job j1"):
        assert word in shown
    assert run_command(["merge", "/m", "--workspace", "w", "--json"]) == 3
    assert json.loads(capsys.readouterr().out) == told


def test_the_programs_errors_keep_their_names(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program({"error": {"code": "broken_export", "detail": "pages/000001.parquet was changed", "fix": "again"}})
    assert run_command(["import", "/m", "--workspace", "w", "--json"]) == 1
    told = json.loads(capsys.readouterr().err)
    assert told["error"] == {"code": "broken_export", "detail": "pages/000001.parquet was changed", "fix": "again"}


def test_a_program_that_ends_without_a_word_is_told() -> None:
    broken = (sys.executable, "-c", "raise SystemExit('out of memory')")
    with pytest.raises(MoveFailed, match="out of memory"):
        run_program("import", Path("x"), "w", None, [], False, False, broken)


def test_the_program_is_there() -> None:
    assert move_program.PROGRAM[1:] == ("-P", "-m", "pipelines.documents.portable.move_program")
