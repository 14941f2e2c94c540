"""The command line against a real HTTP server: what it sends, prints, exits with, and keeps."""

import io
import json
import re
import stat
from base64 import urlsafe_b64encode
from importlib.metadata import version
from pathlib import Path

import pytest
from rich.console import Console

from cluster.basics.errors import Unavailable
from cluster.cli import run_command
from cluster.console import job_progress
from cluster.console.api import ApiClient, ApiRefusal
from cluster.console.login_tokens import CredentialsFile
from cluster.state.db.migration_files import FOLDER
from tests.fakes.api_server import ApiServer

JOB = {
    "id": "j1",
    "kind": "ingest",
    "state": "running",
    "phase": "read",
    "pages": {"expected": 10, "done": 4, "failed": 0, "unchanged": 0},
    "documents": {"expected": 3, "done": 1, "failed": 0, "unchanged": 0},
    "failures": {},
    "created_at": "2026-11-21T10:00:00Z",
    "error": None,
}
CITED = {
    "n": 1,
    "document_id": "d1",
    "filename": "lease.pdf",
    "page": 3,
    "quote": "ends in May",
    "ocr_confidence": 0.91,
    "caveats": [{"kind": "ocr_layer_unsure", "detail": "its invisible text does not fit", "page": 3}],
}


def ended(state: str, **extra: object) -> dict[str, object]:
    return JOB | {"state": state} | extra


MIGRATIONS = [path.name for path in FOLDER.glob("0*.sql")]


def content(html: str, following: int | None) -> dict[str, object]:
    return {"pages": [{"number": 1, "html": html, "failure": None}], "next_page": following}


@pytest.mark.parametrize("words", [["--help"], ["jobs", "--help"], ["jobs", "list", "--help"], ["--version"]])
def test_help_and_version_are_answered_where_the_settings_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """As with the `.env` of another account: a folder in its place cannot be read by anybody."""
    monkeypatch.setenv("AOS_ENV_FILE", str(tmp_path))
    monkeypatch.delenv("AOS_URL", raising=False)
    assert run_command(words) == 0
    told = capsys.readouterr()
    shown = rf"aos {re.escape(version('aos'))}, migrations up to {re.escape(max(MIGRATIONS))}\n"
    assert not told.err and ("Usage" in told.out or re.fullmatch(shown, told.out))
    for others in (["jobs", "list"], ["search", "--", "--help"], ["jobs", "list", "--json"]):
        assert run_command(others) == 1
        told = capsys.readouterr()
        assert f"{tmp_path}: cannot be read" in told.err and "AOS_ENV_FILE= skips it" in told.err, others


@pytest.mark.parametrize(("state", "code"), [("completed", 0), ("partial", 3), ("failed", 1), ("cancelled", 1)])
def test_ingest_waits_and_exits_with_the_jobs_outcome(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    """GW-14: a folder becomes one job; its end is the exit code, its failures are named."""
    waiting = [JOB | {"state": "queued", "pages": {}}] if code == 3 else []
    api.answers |= {
        "POST /api/documents/batch-scan": (202, {"job_id": "j1", "status": "queued"}),
        "GET /api/jobs/j1": [*waiting, ended(state, failures={"encrypted": 2})],
    }
    assert run_command(["ingest", str(tmp_path), "--agent", "lawyer", "--wait"]) == code
    (call,) = api.of("POST /api/documents/batch-scan")
    assert call.body == {"path": str(tmp_path), "agent_id": "lawyer"}
    assert len(call.headers["Idempotency-Key"]) >= 16
    shown = capsys.readouterr().out
    assert state in shown and "encrypted" in shown


DOUBTFUL = {
    "items": [
        {"filename": "c.pdf", "page": 4, "stage": "read", "document_id": "d3", "attempts": 3,
         "failure": {"reason": "timeout", "detail": "took 60 s"}},
    ],
    "caveats": [
        {"document_id": "d1", "filename": "[a].txt", "status": "degraded", "unchanged": False, "caveats": [
            {"kind": "encoding_unsure", "weight": "unsure", "detail": "read as cp1250", "count": 1, "pages": [1],
             "page_count": 1}]},
        {"document_id": "d2", "filename": "b.docx", "status": "partial", "unchanged": True, "caveats": [
            {"kind": "pictures_unread", "weight": "unread", "detail": "a picture", "count": 30, "pages": [1, 2],
             "page_count": 25}]},
    ],
}  # fmt: skip


def test_a_job_says_what_is_missing_or_doubtful_and_why(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3 alone would leave a person to look for the page."""
    counts = {"completed": 5, "degraded": 1, "partial": 1, "failed": 0, "unchanged": 2, "pending": 0}
    job = ended("partial", outcome={**counts, "pages_with_caveats": 26}, caveats={"pictures_unread": 1})
    api.answers |= {
        "POST /api/documents/batch-scan": (202, {"job_id": "j1", "status": "queued"}),
        "GET /api/jobs/j1": job,
        "GET /api/jobs": {"items": [job], "total": 1},
        "GET /api/jobs/j1/failures": DOUBTFUL,
    }
    for words, code in ((["ingest", str(tmp_path), "--wait"], 3), (["jobs", "show", "j1"], 0)):
        assert run_command(words) == code
        shown = capsys.readouterr().out
        for line in (
            "documents: 5 completed, 1 degraded, 1 partial, 2 unchanged",
            "pages with caveats: 26",
            "[a].txt: degraded",
            "encoding unsure (page 1): read as cp1250",
            "b.docx: partial, as before",
            "pictures unread (pages 1, 2 and 23 more): a picture",
            "c.pdf, page 4: timeout: took 60 s",
        ):
            assert line in shown
    assert run_command(["jobs", "list"]) == 0
    assert "1 degraded, 1 partial" in " ".join(capsys.readouterr().out.split())


def test_reasons_that_cannot_be_asked_for_do_not_change_how_the_job_ended(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers |= {"GET /api/jobs/j1": ended("partial"), "GET /api/jobs/j1/failures": (500, {"detail": "no disk"})}
    assert run_command(["jobs", "watch", "j1"]) == 3
    assert "no disk" in capsys.readouterr().out


AWAY = [(502, {}), (503, {"detail": "Postgres does not answer"}), (500, "Internal Server Error"), (404, "no route")]


@pytest.mark.parametrize("words", [["ingest", "/srv/scans", "--wait"], ["jobs", "watch", "j1"]])
def test_a_job_is_followed_while_the_api_is_repaired(api: ApiServer, words: list[str]) -> None:
    """Ray was killed and came back, the job went on, and whoever watched was told that it had failed.

    502 to 504 are the API's; in plain text its proxy says that it has nobody to ask.
    """
    api.answers |= {
        "POST /api/documents/batch-scan": (202, {"job_id": "j1", "status": "queued"}),
        "GET /api/jobs/j1": [JOB, *AWAY, ended("partial")],
    }
    assert run_command(words) == 3


def test_a_server_that_is_away_from_the_first_is_told_at_once(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /api/jobs/j1"] = (503, {"detail": "Postgres does not answer", "fix": "aos doctor"})
    assert run_command(["jobs", "watch", "j1"]) == 1
    assert len(api.calls) == 1 and "Postgres does not answer (503)" in capsys.readouterr().err


def test_a_watcher_gives_up_with_the_reason_after_some_time(api: ApiServer, tmp_path: Path) -> None:
    server, shown = ApiClient(api.url, "access-1", CredentialsFile(tmp_path)), io.StringIO()
    api.answers["GET /api/jobs/j1"] = [JOB, (503, {"detail": "[Errno 111] Postgres is away"})]
    console = Console(file=shown, force_terminal=True, width=200)
    with pytest.raises(Unavailable, match=r"away for 1 s.*Postgres is away") as given_up:
        job_progress.poll_job(lambda: server.request("GET", "/api/jobs/j1"), console, patience=1)
    assert "aos jobs watch" in given_up.value.hint
    assert "the API is away, asking again: [Errno 111]" in shown.getvalue()


def test_an_error_of_the_api_itself_is_not_waited_out(api: ApiServer, tmp_path: Path) -> None:
    server = ApiClient(api.url, "access-1", CredentialsFile(tmp_path))
    with pytest.raises(ApiRefusal, match="nothing here"):
        job_progress.poll_job(lambda: server.request("GET", "/api/jobs/j1"), Console(quiet=True))


def test_a_broken_connection_is_tried_again_with_the_same_key(api: ApiServer, tmp_path: Path) -> None:
    api.answers["POST /api/documents/batch-scan"] = (202, {"job_id": "j1", "status": "queued"})
    api.breaks = 2
    assert run_command(["ingest", str(tmp_path)]) == 0
    keys = {call.headers["Idempotency-Key"] for call in api.of("POST /api/documents/batch-scan")}
    assert len(api.calls) == 3 and len(keys) == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["jobs", "retry", "j1"], "POST /api/jobs/j1/retry"),
        (["ask", "what?"], "POST /api/ask"),
        (["documents", "delete", "d1"], "DELETE /api/documents/d1"),
    ],
)
def test_what_the_server_would_do_twice_is_sent_once(
    api: ApiServer, capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    """A connection that breaks after the request was sent may have carried it: only a reader may ask again."""
    api.answers[line] = {}
    api.breaks = 1
    assert run_command(words) == 1
    assert len(api.of(line)) == 1 and "Idempotency-Key" not in api.of(line)[0].headers
    assert "was done" in capsys.readouterr().err


def test_a_reading_request_is_repeated(api: ApiServer) -> None:
    api.answers["GET /api/jobs/j1"] = JOB
    api.breaks = 2
    assert run_command(["jobs", "show", "j1"]) == 0
    assert len(api.calls) == 3


def test_content_is_whole_over_several_answers(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["GET /api/documents/d1/content"] = [content("one", 101), content("two", 201), content("three", None)]
    assert run_command(["documents", "content", "d1"]) == 0
    assert capsys.readouterr().out == "one\f\ntwo\f\nthree\n"
    assert [call.path.partition("first_page=")[2].partition("&")[0] for call in api.calls] == ["1", "101", "201"]


def test_a_dry_run_of_a_folder_is_the_servers_count(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted here, hidden files were among them, and a folder that only the server has did not exist."""
    estimated = {
        "status": "dry_run",
        "base": "/srv",
        "root": "/srv/scans",
        "files": 40,
        "complete": False,
        "looked_at": 10,
        "exact": False,
        "unchanged": 8,
        "pages": 90,
        "kinds": {"pdf": 9},
        "reasons": {"encrypted": 1},
        "pages_per_second": 1.5,
        "seconds": 60.0,
        "jobs": 2,
    }
    api.answers["POST /api/documents/batch-scan"] = estimated
    assert run_command(["ingest", "/srv/scans", "--dry-run", "--agent", "lawyer", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == estimated
    assert api.calls[0].body == {"path": "/srv/scans", "dry_run": True, "agent_id": "lawyer"}
    assert run_command(["ingest", "/srv/scans", "--dry-run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for part in ("at least 40 files", "about 90 pages", "the 10 files", "pdf 9", "encrypted 1", "about 60 s"):
        assert part in shown


def test_a_dry_run_of_a_file_sends_nothing(api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.PDF").write_bytes(b"12345")
    assert run_command(["ingest", str(tmp_path / "a.PDF"), "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["bytes"], found["types"]) == (1, 5, {".pdf": 1})
    assert api.calls == []


def test_ask_prints_every_citation(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers["POST /api/ask"] = {"answer": "In May [1].", "mode": "extractive", "citations": [CITED]}
    assert run_command(["ask", "When does it end?", "--agent", "a1"]) == 0
    shown = capsys.readouterr().out
    doubt = "! ocr layer unsure (page 3): its invisible text does not fit"
    for part in ("[extractive]", "lease.pdf, page 3", "OCR confidence 0.91", "ends in May", doubt):
        assert part in shown
    assert api.calls[0].body == {"question": "When does it end?", "agent_id": "a1"}


def test_search_prints_hits_as_they_are_even_with_markup_in_them(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    hit = {"score": 0.5, "filename": "[red]x[/red].pdf", "page": 2, "text": "[bold]tower [/x]"}
    hit["caveats"] = [{"kind": "cut_short", "detail": "[red]only 10 MB were read", "page": None}]
    answer = {"total_results": 1, "execution_time_ms": 3.2, "keyword_engine": "bm25", "results": [hit]}
    api.answers["POST /api/documents/search"] = answer
    assert run_command(["search", "tower", "--doc-type", "pdf"]) == 0
    shown = capsys.readouterr().out
    assert "[red]x[/red].pdf" in shown and "bm25" in shown and "[/x]" in shown
    assert "! cut short: [red]only 10 MB" in " ".join(shown.split())
    assert api.calls[0].body == {"query": "tower", "limit": 10, "filters": {"doc_type": "pdf"}}
    assert run_command(["search", '"tower"', "--quote", "must"]) == 0
    assert api.calls[1].body == {"query": '"tower"', "limit": 10, "filters": {}, "quote": "must"}
    capsys.readouterr()
    assert run_command(["search", "tower", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == answer


def test_an_explained_search_shows_its_stages(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """RE-01: what each stage did, or why it did not, as it is."""
    stages = [
        {"name": "vector", "on": True, "detail": "hnsw", "kept": 7},
        {"name": "rerank", "on": False, "detail": "off: [no] weights", "kept": None},
    ]
    told = {
        "strategy": "hybrid",
        "generation": 3,
        "stages": stages,
        "timings_ms": {"vector": 1.25},
        "cache": {"outcome": "miss", "reason": "nothing like it"},
    }
    api.answers["POST /api/documents/search"] = {"results": [], "explain": told}
    assert run_command(["search", "tower", "--explain"]) == 0
    shown = capsys.readouterr().out
    for part in ("hybrid", "hnsw", "1.2", "off: [no] weights", "nothing like it"):
        assert part in shown
    assert api.calls[0].body["explain"] is True


def test_export_writes_every_document_over_several_pages(api: ApiServer, tmp_path: Path) -> None:
    """GW-10: the text and metadata of every document can leave the system."""
    api.answers["GET /api/documents/"] = [
        {"items": [{"id": "d1", "filename": "a"}], "total": 2},
        {"items": [{"id": "d2", "filename": "b"}], "total": 2},
    ]
    api.answers["GET /api/documents/d1/content"] = [content("ä &lt;b&gt;", 2), content("b", None)]
    api.answers["GET /api/documents/d2/content"] = content("c", None)
    target = tmp_path / "all.jsonl"
    assert run_command(["export", "-o", str(target)]) == 0
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [line["filename"] for line in lines] == ["a", "b"]
    assert [[page["text"] for page in line["pages"]] for line in lines] == [["ä <b>", "b"], ["c"]]
    assert "first_page=2" in api.of("GET /api/documents/d1/content")[1].path
    assert "skip=1" in api.of("GET /api/documents/")[1].path


def test_a_document_is_read_again_in_an_encoding_that_somebody_knows(
    api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers |= {
        "POST /api/documents/d1/process": (202, {"job_id": "j1", "status": "queued", "document_id": "d1"}),
        "GET /api/jobs/j1": ended("partial"),
        "GET /api/jobs/j1/failures": {"items": [], "caveats": []},
    }
    assert run_command(["documents", "process", "d1", "--encoding", "cp1250"]) == 0
    assert "aos jobs watch j1" in capsys.readouterr().out
    assert run_command(["documents", "process", "d1", "--wait"]) == 3
    assert [call.body for call in api.of("POST /api/documents/d1/process")] == [{"encoding": "cp1250"}, {}]


@pytest.mark.parametrize(("state", "code"), [("completed", 0), ("partial", 3), ("failed", 1)])
def test_some_pages_are_read_again_in_another_way_and_the_exit_code_says_how_it_ended(
    api: ApiServer, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    api.answers |= {
        "POST /api/documents/d1/process": (202, {"job_id": "j1", "status": "queued", "document_id": "d1"}),
        "GET /api/jobs/j1": ended(state),
        "GET /api/jobs/j1/failures": {"items": [], "caveats": []},
    }
    asked = ["--pages", "3,7-9", "--strategy", "tesseract", "--languages", "deu,eng", "--idempotency-key", "k1"]
    assert run_command(["documents", "reprocess", "d1", *asked, "--wait", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["state"] == state
    (call,) = api.of("POST /api/documents/d1/process")
    assert call.body == {"pages": "3,7-9", "strategy": "tesseract", "languages": "deu,eng"}
    assert call.headers["Idempotency-Key"] == "k1"


def test_the_help_of_reprocess_shows_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["documents", "reprocess", "--help"]) == 0
    assert "aos documents reprocess ID --pages 3,7-9" in " ".join(capsys.readouterr().out.split())


def test_a_refusal_to_read_again_is_printed_with_its_fix(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    refusal = {
        "code": "language_not_installed",
        "detail": "no data for deu",
        "fix": "apt-get install tesseract-ocr-deu",
    }
    api.answers["POST /api/documents/d1/process"] = (422, refusal)
    assert run_command(["documents", "reprocess", "d1", "--languages", "deu"]) == 1
    told = capsys.readouterr()
    assert "tesseract-ocr-deu" in told.err + told.out


@pytest.mark.parametrize("verb", ["cancel", "resume", "retry"])
def test_jobs_change_by_verb(api: ApiServer, verb: str) -> None:
    api.answers[f"POST /api/jobs/j1/{verb}"] = ended("queued")
    assert run_command(["jobs", verb, "j1"]) == 0
    assert len(api.calls) == 1


def test_lists_and_details_are_tables_or_json(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers |= {
        "GET /api/jobs": {"items": [ended("completed")], "total": 1},
        "GET /api/jobs/j1": ended("partial", error="two files were encrypted"),
        "GET /api/documents/": {"items": [{"id": "d1", "filename": "a.pdf", "status": "completed"}], "total": 1},
        "GET /api/documents/d1": {"id": "d1", "filename": "a.pdf"},
        "GET /api/documents/d1/content": content("the text", None),
        "DELETE /api/documents/d1": {"id": "d1", "status": "deleted"},
    }
    for words, expected in {
        ("jobs", "list"): "4/10",
        ("jobs", "show", "j1"): "two files were encrypted",
        ("documents", "list"): "a.pdf",
        ("documents", "show", "d1"): "filename",
        ("documents", "content", "d1"): "the text",
        ("documents", "delete", "d1"): "Deleted d1",
    }.items():
        assert run_command(list(words)) == 0
        assert expected in capsys.readouterr().out
    assert run_command(["jobs", "watch", "j1", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["state"] == "partial"
    assert run_command(["documents", "list", "--parent", "d9"]) == 0
    assert "parent=d9" in api.of("GET /api/documents/")[-1].path
    assert run_command(["documents", "list", "--sort", "never_used"]) == 0
    assert "sort=never_used" in api.of("GET /api/documents/")[-1].path


def test_figures_of_documents_are_lines_and_tables_or_json(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    used = {"id": "d1", "filename": "[a].pdf", "rag_query_count": 7, "cited_count": 3}
    place = {"name": "vault", "documents": 2, "completed": 1, "failed": 1, "chunks": 4, "storage_bytes": 9}
    figures = {
        **{"documents": 1200, "pages": 9, "chunks": 12, "storage_bytes": 2048, "uploads_24h": 1, "success_rate": 0.5},
        **{"by_status": {"completed": 1, "failed": 1}, "by_type": {"pdf": 2}, "by_origin": {}},
        "usage": {"used_documents": 1, "never_used": 2, "most_used": [used]},
        **{"sources": [{**place, "uploads_24h": 0}], "workspaces": None},
    }
    api.answers["GET /api/documents/analytics"] = figures
    assert run_command(["documents", "analytics"]) == 0
    told = capsys.readouterr().out
    assert "1,200 documents" in told and "50.0%" in told and "[a].pdf: before 7 answers" in told and "vault" in told
    assert run_command(["documents", "analytics", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == figures


def test_the_doctor_removes_only_with_a_repair(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["doctor", "--apply"]) == 1
    assert "--apply goes with --repair" in capsys.readouterr().err


def test_an_error_is_one_line_with_its_fix(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["documents", "show", "nope"]) == 1
    assert capsys.readouterr().err == "error: nothing here (404)\n  fix: Check the id.\n"
    assert run_command(["documents", "show", "nope", "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["fix"] == "Check the id."


def test_without_a_server_the_fix_is_to_start_it(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AOS_URL", "http://127.0.0.1:9")
    assert run_command(["jobs", "list"]) == 1
    assert "aos up" in capsys.readouterr().err


def test_login_keeps_tokens_privately_and_refreshes_an_expired_one(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """AU-02: the refresh token renews the session without asking again; nobody else may read it."""
    monkeypatch.delenv("AOS_TOKEN")
    assert run_command(["jobs", "list"]) == 1
    assert "aos login" in capsys.readouterr().err

    first = {"access_token": "access-1", "refresh_token": "refresh-1", "must_change_password": True}
    changed = {"access_token": "access-1", "refresh_token": "refresh-2", "must_change_password": False}
    api.answers |= {
        "POST /api/auth/login": first,
        "POST /api/auth/password": changed,
        "POST /api/auth/refresh": {"access_token": "access-2", "refresh_token": "refresh-3"},
        "GET /api/jobs": {"items": [], "total": 0},
    }
    assert run_command(["login", "--email", "a@b.c", "--password", "old"]) == 1, "it must be changed first"
    assert run_command(["login", "--email", "a@b.c", "--password", "old", "--new-password", "new"]) == 0
    assert api.of("POST /api/auth/password")[-1].body == {"current_password": "old", "new_password": "new"}
    kept = tmp_path / "credentials.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    api.token = "access-2"  # the first has expired
    assert run_command(["jobs", "list"]) == 0
    assert api.of("POST /api/auth/refresh")[0].body == {"refresh_token": "refresh-2"}
    assert json.loads(kept.read_text())[api.url] == {"access": "access-2", "refresh": "refresh-3"}


def test_a_login_whose_workspace_is_gone_goes_on_in_another_and_writes_nothing_there_unasked(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AOS_TOKEN")

    def token(workspace: str) -> str:
        return f"e30.{urlsafe_b64encode(json.dumps({'wid': workspace}).encode()).decode().rstrip('=')}.x"

    kept = tmp_path / "credentials.json"
    api.answers |= {
        "POST /api/auth/refresh": {"access_token": token("other"), "refresh_token": "refresh-2"},
        "GET /api/jobs": {"items": [], "total": 0},
        "POST /api/documents/batch-scan": {"job_id": "j1", "status": "queued", "fresh": True},
    }
    kept.write_text(json.dumps({api.url: {"access": token("gone"), "refresh": "refresh-1"}}))
    kept.chmod(0o600)
    api.token = token("other")  # the other one has ended
    assert run_command(["ingest", "/srv/scans"]) == 1
    assert "is gone, and nothing was done" in capsys.readouterr().err
    assert len(api.of("POST /api/documents/batch-scan")) == 1, "it is not sent a second time"
    assert run_command(["ingest", "/srv/scans"]) == 0
    kept.write_text(json.dumps({api.url: {"access": token("gone"), "refresh": "refresh-1"}}))
    assert run_command(["jobs", "list"]) == 0


def test_a_wrong_setting_is_explained(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AOS_URL")
    monkeypatch.setenv("AOS_CHUNK_SISE", "3")
    assert run_command(["jobs", "list"]) == 1
    assert "AOS_CHUNK_SISE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [[c] for c in ("up", "down", "doctor", "login", "ingest", "search", "ask", "export")]
    + [["jobs", c] for c in ("list", "show", "watch", "cancel", "resume", "retry")]
    + [["documents", c] for c in ("list", "show", "content", "delete", "analytics")],
)
def test_every_command_has_help_with_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*words, "--help"]) == 0
    assert f"Example: aos {' '.join(words)}" in " ".join(capsys.readouterr().out.split())
