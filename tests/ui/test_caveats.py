"""The console says what was not read or may be wrong, wherever the text of a page is shown or counted."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.documents.document import CaveatKind
from serve_apps.ui.documents.document_list import STATUSES, document_table
from serve_apps.ui.documents.facts import document_heading, encoding_card
from serve_apps.ui.documents.passage import LinkedPassage
from serve_apps.ui.documents.viewer import page_viewer
from serve_apps.ui.ingest.job import job_view
from serve_apps.ui.ingest.job_history import job_list_view as jobs_listed
from serve_apps.ui.ingest.send import send_files
from serve_apps.ui.kit.blocks import STATES
from serve_apps.ui.kit.caveats import TITLES, caveat_badges, caveat_list, caveat_pages, in_short
from serve_apps.ui.kit.citations import citation_chips
from serve_apps.ui.sessions import Role
from tests.ui.test_documents import DESK, page
from tests.ui.test_ingest import JOB, NONE, Scripted, job, progress

EVIL = '"><script>alert(1)</script>${x}'
PICTURES = {"kind": "pictures_unread", "weight": "unread", "detail": EVIL, "count": 3, "pages": [2, 4], "page_count": 9}
NOTE = {"kind": "hidden_content", "weight": "note", "detail": "a sheet", "count": 1, "pages": [1], "page_count": 1}
OUTCOME = {"completed": 1, "degraded": 1, "partial": 1, "failed": 0, "unchanged": 0, "pending": 0}


def document(**more: Any) -> dict[str, Any]:
    plain = {
        "id": "d" * 32,
        "filename": "a.docx",
        "file_type": "docx",
        "status": "partial",
        "page_count": 3,
        "failure": None,
        "file_size": 10,
        "upload_date": "2026-11-22T10:00:00Z",
        "caveats": [PICTURES, NOTE],
        "pages": {"expected": 3, "stored": 3, "failed": 0},
        "chunk_count": 2,
        "fix": None,
    }
    return {**plain, **more}


@pytest.mark.parametrize("kind", CaveatKind)
def test_every_kind_has_words(kind: CaveatKind) -> None:
    assert TITLES[str(kind)]


def test_a_kind_that_is_not_known_yet_is_shown_as_it_is() -> None:
    assert in_short({"caveats": [{"kind": "ink_too_pale", "weight": "unsure", "detail": ""}]}) == "Ink too pale"


def test_degraded_is_a_state_like_the_others() -> None:
    assert "degraded" in STATUSES and STATES["degraded"] == "amber"


def test_the_list_and_the_document_say_what_is_missing() -> None:
    html = document_table(DESK, {"items": [document()], "total": 1, "skip": 0, "limit": 50}, {}, Role.ADMIN)
    assert "Pictures were not read" in html and "Hidden" not in html, "a note is not for the list"
    html = document_heading(document(), Role.ADMIN)
    assert "Pictures were not read" in html and "on pages 2, 4 and 7 more" in html and "Hidden parts" in html
    assert "<script" not in html and "${" not in html and "&lt;script&gt;" in html


def test_a_page_shows_its_own() -> None:
    html = page_viewer(page("text", [], caveats=[PICTURES]), "docx", LinkedPassage(), {"id": "d" * 32}, False)
    assert "On this page:" in html and "Pictures were not read" in html and "<script" not in html
    assert "On this page:" not in page_viewer(page("text", []), "docx", LinkedPassage(), {"id": "d" * 32}, False)


def test_sources_carry_a_mark() -> None:
    cited = {
        "n": 1,
        "document_id": "d" * 32,
        "filename": "a.docx",
        "page": 2,
        "quote": "q",
        "caveats": [PICTURES, NOTE],
    }
    html = citation_chips(DESK, [cited])
    assert html is not None and "Pictures were not read" in html and "Hidden" not in html and "<script" not in html
    assert (
        caveat_badges({"caveats": [NOTE]}) == []
        and caveat_list([]) is None
        and caveat_pages({"pages": [3], "page_count": 1}) == " on page 3"
    )


async def test_a_job_lists_what_it_read_with_doubts() -> None:
    doubtful = [
        {"document_id": "d" * 32, "filename": EVIL, "status": "degraded", "unchanged": True, "caveats": [PICTURES]}
    ]
    ended = job("partial", outcome={**OUTCOME, "pages_with_caveats": 4})
    script = Scripted(job=ended, progress=progress(failures=[]), failures={"items": [], "caveats": doubtful})
    html, live = await job_view(DESK, script.api, JOB, 0)
    assert not live and "<script" not in html and "What failed" not in html
    for told in (
        "Partial or doubtful",
        "with 4 such pages",
        "Read, but not wholly or not surely",
        "as before",
        "degraded",
    ):
        assert told in html, told
    html = jobs_listed({"items": [ended], "total": 1}, {JOB: None}, "", 0)
    assert '<b class="value amber">2</b>' in html
    whole = job("completed", outcome={**dict.fromkeys(OUTCOME, 0), "pages_with_caveats": 0}, pages=NONE)
    script = Scripted(job=whole, progress=progress(failures=[]), failures={"items": [], "caveats": []})
    assert "not wholly" not in (await job_view(DESK, script.api, JOB, 0))[0]


async def test_a_file_that_was_sent_says_what_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_text("x")
    doubtful = [
        {
            "document_id": "d" * 32,
            "filename": "a.docx",
            "status": "partial",
            "unchanged": False,
            "caveats": [NOTE, PICTURES],
        }
    ]
    script = Scripted(
        upload=(202, {"document_id": "d" * 32, "job_id": JOB, "status": "pending"}),
        jobs={"items": [job("partial")]},
        progress=progress(failures=[]),
        failures={"items": [], "caveats": doubtful},
    )
    shown = [html async for html in send_files(DESK, script.api, [str(tmp_path / "a.docx")])]
    assert "Pictures were not read on pages 2, 4 and 7 more." in shown[-1] and "<script" not in shown[-1]


def test_who_may_sets_the_encoding_of_a_text() -> None:
    text = document(file_type="text", metadata={"encoding": EVIL})
    html = encoding_card(text, Role.DEVELOPER)
    assert html is not None and 'data-act="decode"' in html and "<script" not in html
    seen = encoding_card(document(file_type="text", metadata={}), Role.VIEWER)
    assert seen is not None and "data-act" not in seen and "Its bytes decide." in seen
    assert encoding_card(document(metadata={}), Role.ADMIN) is None, "a DOCX says its own"
    doubt = {**PICTURES, "kind": "encoding_unsure"}
    assert encoding_card(document(metadata={}, caveats=[doubt]), Role.ADMIN) is not None
