"""Drawing jobs, uploads and dry runs: what is told, what is offered to whom, and hostile names."""

from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest

from serve_apps.ui.ingest.job import job_view
from serve_apps.ui.ingest.job_history import job_list_view
from serve_apps.ui.ingest.page import PAGE
from serve_apps.ui.ingest.scan import estimate_view, scan_form
from serve_apps.ui.ingest.send import send_files
from serve_apps.ui.kit.api import SessionApi, SignInClient
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.sessions import ConsoleSession, Role, TokenGrant

HOSTILE = '"><script>alert(1)</script>${x}'
JOB = "11111111-1111-1111-1111-111111111111"
NONE = {"expected": 0, "done": 0, "failed": 0, "unchanged": 0}
DESK: ConsoleContext = ConsoleContext(None, None, ())  # type: ignore[arg-type]  # only links are asked of it


def job(state: str, **more: Any) -> dict[str, Any]:
    plain = {
        "id": JOB,
        "kind": "scan",
        "state": state,
        "phase": "run",
        "pages": {**NONE, "expected": 10, "done": 4},
        "documents": {**NONE, "expected": 3, "done": 1, "unchanged": 1},
        "failures": {},
        "cancel_requested": False,
        "created_at": "2026-11-22T10:00:00Z",
        "started_at": None,
        "finished_at": None,
        "error": None,
    }
    return {**plain, **more}


def progress(**more: Any) -> dict[str, Any]:
    plain = {
        "job_id": JOB,
        "about": HOSTILE,
        "elapsed_seconds": 10.0,
        "pages_per_second": 0.4,
        "seconds_left": 15.0,
        "stages": [{"stage": "read", **NONE, "expected": 10, "done": 4, "failed": 1}],
        "engines": [{"engine": "tesseract", "pages": 4, "confidence": 0.93, "ms": 800.0}],
        "failures": [
            {
                "stage": "read",
                "reason": "timeout",
                "count": 1,
                "retryable": True,
                "title": "Took too long",
                "fix": "Retry.",
            }
        ],
    }
    return {**plain, **more}


class Scripted:
    """An API that answers by path, and remembers what was asked."""

    def __init__(self, role: Role = Role.ADMIN, **answers: Any) -> None:
        self.answers, self.asked = answers, list[httpx.Request]()
        grant = TokenGrant("a", "r", "u", "t", "w", role, False)
        client = httpx.AsyncClient(base_url="http://api", transport=httpx.MockTransport(self._answer))
        self.api: SessionApi = SignInClient(client).api(ConsoleSession("a@b.c", grant, 1e9))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        name = request.url.path.rstrip("/").rpartition("/")[2]
        answer = self.answers["job" if name == JOB else name]
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return httpx.Response(status, json=body)


async def test_a_running_job_shows_stages_engines_and_what_is_left() -> None:
    script = Scripted(job=job("running"), progress=progress(), failures={"items": []})
    html, live = await job_view(DESK, script.api, JOB, 0)
    assert live and "<script" not in html and "${" not in html
    for told in ("15.0 s", "0.40", "tesseract", "93%", "5 of 10", "1 failed", 'data-act="cancel"'):
        assert told in html, told
    assert 'data-act="retry"' not in html


async def test_a_job_that_waits_says_why_and_what_to_do() -> None:
    waits = [{"reason": "no_worker", "detail": HOSTILE, "fix": "Start it."}]
    queued = job("queued", waits=waits)
    script = Scripted(job=queued, progress=progress(stages=[], engines=[]), failures={"items": []})
    html, _ = await job_view(DESK, script.api, JOB, 0)
    shown = str(job_list_view({"items": [queued], "total": 1}, {}, "", 0))
    assert "What it waits for" in html and "Start it." in html and "no worker" in html and "no worker" in shown
    assert "<script" not in html and "<script" not in shown


async def test_failures_are_grouped_with_the_fix_and_can_be_retried_once_it_ended() -> None:
    unit = {
        "stage": "read",
        "document_id": "d" * 32,
        "filename": HOSTILE,
        "page": 3,
        "attempts": 3,
        "failure": {"reason": "timeout", "detail": HOSTILE},
    }
    ended = job("partial", pages={**NONE, "expected": 10, "done": 9, "failed": 1})
    script = Scripted(job=ended, progress=progress(seconds_left=None), failures={"items": [unit] * 25})
    html, live = await job_view(DESK, script.api, JOB, 25)
    assert not live and "<script" not in html
    for told in ("Took too long", "Retry.", "may pass", 'data-act="retry"', 'data-act="resume"', "skip=50", "skip=0"):
        assert told in html, told
    assert [request.url.params.get("skip") for request in script.asked if "failures" in request.url.path] == ["25"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER])
async def test_who_may_not_steer_jobs_is_offered_nothing(role: Role) -> None:
    script = Scripted(role, job=job("running"), progress=progress(), failures={"items": []})
    assert "data-act" not in (await job_view(DESK, script.api, JOB, 0))[0]


async def test_engines_of_a_large_job_are_not_counted_while_it_runs() -> None:
    large = job("running", pages={**NONE, "expected": 50_000})
    script = Scripted(job=large, progress=progress(engines=None), failures={"items": []})
    html, _ = await job_view(DESK, script.api, JOB, 0)
    assert "Counted at the end." in html
    (asked,) = [request for request in script.asked if request.url.path.endswith("progress")]
    assert asked.url.params["engines"] == "false"


def test_history_names_jobs_and_keeps_the_state_when_it_turns() -> None:
    html = job_list_view({"items": [job("failed")], "total": 50}, {JOB: HOSTILE}, "failed", 20)
    assert "<script" not in html and "state=failed&amp;skip=40" in html and "50 in all" in html
    assert "No job is queued." in job_list_view({"items": [], "total": 0}, {}, "queued", 0)
    assert "No job yet." in job_list_view({"items": [], "total": 0}, {}, "", 0)


def test_a_dry_run_tells_files_pages_time_and_reasons() -> None:
    found = {
        "root": HOSTILE,
        "files": 1200,
        "complete": True,
        "looked_at": 300,
        "exact": False,
        "unchanged": 40,
        "pages": 9000,
        "kinds": {"pdf": 290},
        "reasons": {"encrypted": 10},
        "pages_per_second": 2.5,
        "seconds": 3600.0,
        "jobs": 7,
        "passed_over": {"lock_files": 3},
    }
    html = estimate_view(found)
    assert "<script" not in html
    for told in (
        "1,200",
        "about 9,000",
        "about 1 h",
        "2.50 pages a second",
        "10 encrypted",
        "300 of the files",
        "3 lock files",
    ):
        assert told in html, told
    unknown = estimate_view({**found, "seconds": None, "pages_per_second": None})
    assert "not known" in unknown and "no job has read pages here yet" in unknown
    assert "no files" in estimate_view({**found, "files": 0})
    assert "at least" not in html and "at least 1,200 files" in estimate_view({**found, "complete": False})


def test_the_form_says_what_scans_are_confined_to() -> None:
    place = {"base": "/srv/<b>", "path": "in", "folders": [HOSTILE], "files": 3, "more": False}
    html = scan_form(place, [{"name": HOSTILE, "whole_workspace": False}], None, "")
    assert "/srv/&lt;b&gt;" in html and "<script" not in html and 'value="in"' in html


async def test_files_are_sent_followed_and_refused_ones_say_why(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(name)
    refusal = {
        "title": "This file cannot be read.",
        "detail": HOSTILE,
        "fix": "Save it again.",
        "code": "unreadable_file",
    }
    accepted = {"document_id": "d" * 32, "job_id": JOB, "status": "pending"}
    known = {"document_id": "e" * 32, "job_id": None, "status": "duplicate"}
    by_name = {"a.txt": (202, accepted), "b.txt": (422, refusal), "c.txt": (200, known)}

    class Api(Scripted):
        def _answer(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/api/documents/upload":
                (name,) = [one for one in by_name if f'filename="{one}"'.encode() in request.read()]
                status, body = by_name[name]
                return httpx.Response(status, json=body)
            return super()._answer(request)

    done = job("completed", pages={**NONE, "expected": 2, "done": 2})
    script = Api(jobs=[{"items": [job("running")]}, {"items": [done]}])
    shown = [html async for html in send_files(DESK, script.api, [str(tmp_path / name) for name in by_name])]
    last = shown[-1]
    assert "0 of 3" in shown[0] and "All 3 files are done" in last and "<script" not in last
    for told in ("completed", "known already", "Save it again.", "2 of 2"):
        assert told in last, told


def test_what_was_said_of_an_act_is_not_drawn_over_by_the_next_refresh() -> None:
    """A refused Cancel or Retry was to be read for three seconds."""
    desk = ConsoleContext(None, None, (PAGE,))  # type: ignore[arg-type]
    with gr.Blocks() as blocks:
        PAGE.draw(desk, blocks)
    by_name = {one.name: {component._id for component in one.outputs} for one in blocks.fns.values()}
    said = by_name["do"] - by_name["again"]
    assert len(said) == 1 and by_name["again"] < by_name["do"]
    assert said <= by_name["show"], "the next thing that is asked for takes it away"
