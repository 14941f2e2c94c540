"""`aos export --pdf | --markdown | --parquet`: files that are whole or not there, counts, exit codes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.cli import run_command
from tests.fakes.api_server import ApiServer, serve_api

ID = "a" * 32
EXPORT = f"GET /api/documents/{ID}/export"
LINE = {"id": ID, "filename": "minutes.pdf"}
COUNTS = {"pages": 3, "layered": 2, "native": 1, "empty": 0, "unread": 0, "doubled": 0, "unplaced": 0}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    answers: dict[str, Any] = {
        f"GET /api/documents/{ID}": LINE,
        "GET /api/documents/": {"items": [LINE, {"id": "b" * 32, "filename": "old minutes.pdf"}], "total": 2},
        EXPORT: b"%PDF-1.7",
        "GET /api/documents/export": b"PAR1",
    }
    with serve_api(answers) as fake:
        fake.headers[EXPORT] = {"X-Export-Pages": json.dumps(COUNTS)}
        monkeypatch.setenv("AOS_URL", fake.url)
        monkeypatch.setenv("AOS_TOKEN", "access-1")
        monkeypatch.chdir(tmp_path)
        yield fake


@pytest.mark.parametrize("wanted", [ID, "minutes.pdf"])
def test_a_scan_is_exported_by_id_or_name(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], wanted: str
) -> None:
    assert run_command(["export", "--pdf", wanted, "-o", "out.pdf"]) == 0
    assert (tmp_path / "out.pdf").read_bytes() == b"%PDF-1.7"
    assert "2 of 3 pages" in capsys.readouterr().out
    assert [call.path for call in api.of(EXPORT)] == [f"/api/documents/{ID}/export?format=pdf"]


def test_pages_that_were_not_read_end_in_exit_code_3_and_json_has_the_counts(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.headers[EXPORT] = {"X-Export-Pages": json.dumps(COUNTS | {"native": 0, "unread": 1})}
    assert run_command(["export", "--pdf", ID, "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["document_id"], told["file"], told["unread"]) == (ID, "minutes.searchable.pdf", 1)
    assert (tmp_path / "minutes.searchable.pdf").exists()


def test_markdown_goes_to_standard_output_or_into_a_file(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers[EXPORT] = "---\ndocument: ä\n---\n".encode()
    assert run_command(["export", "--markdown", ID]) == 0
    assert capsys.readouterr().out == "---\ndocument: ä\n---\n"
    assert run_command(["export", "--markdown", ID, "-o", "a.md"]) == 0
    assert (tmp_path / "a.md").read_text() == "---\ndocument: ä\n---\n"


def test_parquet_writes_a_file_a_table_of_the_workspace_or_of_one_document(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["export", "--parquet", "new/tables", "--vectors", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    tables = ("pages", "words", "blocks", "cells", "chunks")
    assert [Path(one["file"]).name for one in files] == [f"{table}.parquet" for table in tables]
    asked = [call.path for call in api.of("GET /api/documents/export")]
    assert [("vectors=true" in path, "table=chunks" in path) for path in asked] == [(False, False)] * 4 + [(True, True)]
    assert run_command(["export", "--parquet", "one", "--document", "minutes.pdf"]) == 0
    assert len(api.of(EXPORT)) == 5


def test_what_breaks_off_leaves_no_file_and_no_half_of_one(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.pdf").write_bytes(b"before")
    api.short = 4
    assert run_command(["export", "--pdf", ID, "-o", "out.pdf"]) == 1
    api.short = 0
    assert "broke off" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.glob("out*")} == {"out.pdf": b"before"}


def test_a_refusal_is_told_with_its_fix_and_writes_nothing(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers[EXPORT] = (422, {"detail": "a docx", "code": "no_pdf_export", "fix": "Export it as markdown."})
    assert run_command(["export", "--pdf", ID, "-o", "out.pdf"]) == 1
    told = capsys.readouterr().err
    assert "a docx" in told and "Export it as markdown." in told
    assert list(tmp_path.glob("out*")) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--pdf", ID, "--markdown", ID],
        ["--vectors"],
        ["--document", ID],
        ["--parquet", "f", "-o", "x"],
        ["--pdf", "nobody.pdf"],
    ],
)
def test_options_that_contradict_each_other_and_unknown_documents_are_refused(
    api: ApiServer, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert run_command(["export", *options]) == 1
    assert "fix: " in capsys.readouterr().err
    assert api.of(EXPORT) == []


def test_a_name_that_two_documents_have_asks_for_the_id(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["GET /api/documents/"] = {"items": [LINE, LINE | {"id": "c" * 32}], "total": 2}
    assert run_command(["export", "--pdf", "minutes.pdf"]) == 1
    assert "2 documents" in capsys.readouterr().err
