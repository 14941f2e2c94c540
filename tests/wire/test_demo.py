"""What `make demo` does beside a product that runs already, and when it says that its promise holds."""

import io
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from cluster.basics.errors import Unauthenticated
from cluster.console.api import ApiClient
from cluster.console.login_tokens import CredentialsFile
from configs.settings import load_settings
from tests.acceptance import demo
from tests.evals.report import Report
from tests.fakes.api_server import ApiServer

QUESTION = {"question": "How high?", "file": "a.pdf", "page": 2, "must_contain": "48,600"}
NO_BASE = (422, {"detail": "folders cannot be scanned here", "fix": "Set NFS_BASE_PATH."})
RIGHT = demo.Judged(True, 2, 2)


@pytest.fixture
def asked(api: ApiServer, tmp_path: Path) -> ApiClient:
    """The API as the demonstration asks it."""
    return ApiClient(api.url, "access-1", CredentialsFile(tmp_path / "none.json"))


def quiet() -> Console:
    return Console(file=io.StringIO(), width=200)


def job(state: str) -> dict[str, object]:
    return {"id": "j1", "state": state, "pages": {}, "documents": {}}


def cited(n: int, page: int, quote: str) -> dict[str, object]:
    return {"n": n, "document_id": "d1", "filename": "a.pdf", "page": page, "quote": quote, "ocr_confidence": None}


def test_what_may_be_scanned_is_scanned(api: ApiServer, asked: ApiClient, tmp_path: Path) -> None:
    api.answers |= {
        "GET /api/documents/folders": {"base": str(tmp_path), "path": "", "folders": [], "files": 0, "more": False},
        "POST /api/documents/batch-scan": (202, {"job_id": "j1"}),
        "GET /api/jobs/j1": [job("running"), job("completed")],
    }
    assert demo.ingest(asked, tmp_path / "samples", quiet())
    (scan,) = api.of("POST /api/documents/batch-scan")
    assert scan.body == {"path": str(tmp_path / "samples")}
    assert {path.name for path in (tmp_path / "samples").iterdir()} == {path.name for path in demo.samples()}


@pytest.mark.parametrize("base", [NO_BASE, {"base": "/somewhere/else"}])
@pytest.mark.parametrize(("state", "read"), [("completed", True), ("failed", False)])
def test_samples_are_uploaded_where_they_may_not_be_scanned(
    api: ApiServer, asked: ApiClient, tmp_path: Path, base: object, state: str, read: bool
) -> None:
    """`make up`, then `make demo`: what runs knows nothing of the folder that would be scanned."""
    known = (200, {"document_id": "d1", "job_id": None, "status": "duplicate"})
    failed = {"stage": "survey", "reason": "crashed", "detail": "it [fell] over"}
    api.answers |= {
        "GET /api/documents/folders": base,
        "POST /api/documents/upload": [known, (202, {"document_id": "d2", "job_id": "j1", "status": "pending"})],
        "GET /api/jobs/j1": job(state),
        "GET /api/documents/d1": {"status": "completed"},
        "GET /api/documents/d2": {"status": state, "failure": None if read else failed},
    }
    shown = io.StringIO()
    assert demo.ingest(asked, tmp_path / "samples", Console(file=shown, width=200)) is read
    assert ("failed crashed it [fell] over" in shown.getvalue()) is not read
    sent = api.of("POST /api/documents/upload")
    assert len(sent) == len(demo.samples()) > 1 and not api.of("POST /api/documents/batch-scan")
    assert b"annual-report-2025.pdf" in sent[0].body and b"%PDF" in sent[0].body
    assert len(api.of("GET /api/jobs/j1")) == len(sent) - 1


def test_who_is_not_signed_in_is_told_what_to_do(api: ApiServer, asked: ApiClient) -> None:
    api.token = "another"
    with pytest.raises(Unauthenticated, match="nobody is signed in here") as refused:
        demo.sign_in(asked, load_settings({}), None)
    assert "aos login" in refused.value.hint and "make demo again" in refused.value.hint


@pytest.mark.parametrize(
    ("answer", "citations", "judged"),
    [
        ("48,600 euros [1].", [cited(1, 2, "48,600")], demo.Judged(True, 1, 1)),
        ("Much [1].", [cited(1, 2, "approved")], demo.Judged(False, 1, 1)),
        ("48,600 [1].", [cited(1, 2, "48,600"), cited(2, 2, "not there")], demo.Judged(True, 2, 1)),
        ("48,600 [1].", [cited(1, 3, "x")], demo.Judged(True, 2, 0)),  # no such page, and the right one is missing
    ],
)
def test_an_answer_is_judged_by_its_words_and_by_where_its_citations_open(
    api: ApiServer, asked: ApiClient, answer: str, citations: list[dict[str, object]], judged: demo.Judged
) -> None:
    api.answers |= {
        "POST /api/ask": {"answer": answer, "mode": "extractive", "citations": citations},
        "GET /api/documents/d1/pages/2": {"text": "The board\n approved 48,600 euros."},
    }
    assert demo.ask(asked, QUESTION, quiet()) == judged


@pytest.mark.parametrize(
    ("made", "installed", "seconds", "answers", "misses"),
    [
        (True, True, 700, [RIGHT] * 3, []),
        (False, True, 700, [RIGHT] * 3, []),
        (True, False, 721, [RIGHT] * 3, ["everything"]),
        (False, False, 170, [RIGHT] * 3, []),
        (False, False, 181, [RIGHT] * 3, ["everything"]),
        (False, False, 20, [RIGHT, RIGHT, demo.Judged(False, 2, 1)], ["answers", "citations"]),
        (False, False, 20, [demo.Judged(True, 0, 0)] * 3, ["citations"]),
    ],
)
def test_the_report_holds_the_promise_of_the_demonstration(
    tmp_path: Path, made: bool, installed: bool, seconds: float, answers: Sequence[demo.Judged], misses: list[str]
) -> None:
    report = Report("demo", folder=tmp_path / ".reports")
    demo.figures(report, demo.Shown(made, True, answers), seconds, installed=installed)
    assert report.finish() == (1 if misses else 0)
    written = json.loads((tmp_path / ".reports" / "demo.json").read_text(encoding="utf-8"))["figures"]
    assert [figure["name"].split()[0].strip(",") for figure in written if not figure["holds"]] == misses
    assert [figure["goal"] for figure in written] == [demo.GOAL, "", demo.GOAL, demo.GOAL]


def test_a_demonstration_that_broke_off_leaves_a_report_that_says_so(tmp_path: Path) -> None:
    report = Report("demo", folder=tmp_path)
    demo.figures(report, None, 5, installed=False)
    assert report.finish() == 1
    assert [(figure.value, figure.holds) for figure in report.figures] == [(None, False)] * 3


def test_the_installation_counts_where_this_run_made_it() -> None:
    assert not demo._installed_since(time.time() + 60)
