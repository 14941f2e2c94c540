"""The page Review: the queue, a page with its lines, what buttons do, steps that follow a queue that shrinks."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from serve_apps.ui.kit.living import PageAction
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.review.page import act_on_page, review_body
from serve_apps.ui.review.page_view import review_page
from serve_apps.ui.review.queue_view import queue_table
from serve_apps.ui.sessions import Role

EVIL = "<img src=x onerror=alert(1)>\"'${1+1}{{value}}`"
IDS = [letter * 32 for letter in "abcd"]


def waiting(document: str, **more: Any) -> dict[str, Any]:
    plain = {
        "document_id": document,
        "filename": EVIL,
        "page": 2,
        "page_count": 9,
        "reasons": ["confidence", "correction"],
        "weak": [{"line": 0, "text": EVIL, "confidence": 0.3}],
        "weak_lines": 1,
        "weakest_line": 0.3,
        "caveats": [],
        "fields": [],
    }
    return plain | more


LINES: dict[str, Any] = {
    "document_id": IDS[1],
    "filename": EVIL,
    "page": 2,
    "page_count": 9,
    "page_version": "v" * 32 + ".3",
    "engine": "tesseract+human",
    "confidence": 0.7,
    "caveats": [],
    "threshold": 0.6,
    "lines": [
        {"line": 0, "text": EVIL, "confidence": 0.3, "weak": True, "words": [[0, "The", 0.3]]},
        {"line": 2, "text": "fine", "confidence": None, "weak": False, "words": []},
    ],
    "fields": [{"path": "/total", "value": EVIL, "state": "unsure", "reason": "low OCR confidence 0.30"}],
    "reviewed_at": None,
    "reviewed_by": None,
}
READ: dict[str, Any] = {"document_id": IDS[1], "number": 2, "words": [[0, "The", 0.1, 0.1, 0.2, 0.2, 0.3]]}
HISTORY = {
    "items": [
        {
            "at": "2026-01-02T03:04:05Z",
            "user_email": "ada@x.example",
            "line": 0,
            "text_before": EVIL,
            "text_after": "good",
            "unplaced": True,
        }
    ],
    "total": 1,
}


@dataclass
class ScriptedApi:
    """Answers as the API would, over a queue of pages."""

    queue: list[dict[str, Any]]
    role: Role = Role.DEVELOPER
    sent: list[tuple[str, Any]] = field(default_factory=list)
    refuse: bool = False

    @property
    def session(self) -> Any:
        return SimpleNamespace(role=self.role)

    async def get(self, path: str, **query: Any) -> Any:
        if path == "/api/review/pages":
            skip, limit = query["skip"], query["limit"]
            return {"items": self.queue[skip : skip + limit], "total": len(self.queue), "skip": skip, "limit": limit}
        if path.endswith("/lines"):
            return LINES | {"document_id": path.split("/")[3]}
        if path.endswith("/corrections"):
            return HISTORY
        return {"file_type": "pdf"} if path.count("/") == 3 else READ

    async def post(self, path: str, body: Any) -> Any:
        self.sent.append((path, body))
        if self.refuse:
            raise ApiProblem(ProblemReport("The page says something else.", "", "Look again.", 409, "page_changed"))
        return {"searchable": "vectors"}

    async def put(self, path: str, body: Any) -> Any:
        self.sent.append((path, body))
        self.queue = [one for one in self.queue if one["document_id"] not in path]
        return {}


def test_the_queue_is_a_table_whose_links_lead_to_pages_and_keep_the_filters() -> None:
    body = {"items": [waiting(IDS[0]), waiting(IDS[1], weakest_line=None, weak=[], weak_lines=0)], "total": 60}
    html = queue_table(body | {"skip": 25, "limit": 25}, {"search": "lease", "reason": "confidence"})
    assert f"search=lease&amp;reason=confidence&amp;document={IDS[0]}&amp;page=2&amp;at=25" in html
    assert "30%" in html and "OCR was not sure" in html and "A correction lost its line" in html
    assert "skip=50" in html and "<img" not in html and "${" not in html
    doubted = {"weak": [], "reasons": ["field"], "fields": LINES["fields"]}
    html = queue_table({"items": [waiting(IDS[0], **doubted)], "total": 1, "skip": 0, "limit": 25}, {})
    assert "An extracted value is in doubt" in html and "/total: " in html and "<img" not in html
    empty = {"items": [], "total": 0, "skip": 0, "limit": 25}
    assert "Nothing is to be done here." in queue_table(empty, {})
    assert "No page fits." in queue_table(empty, {"reviewed": "true"})


def test_a_page_shows_each_line_with_its_words_in_the_picture() -> None:
    html = review_page(READ, "pdf", LINES, HISTORY, ("/console/review?a=1", None, "/console/review"), True)
    assert html.count('data-w="0"') == 2, "the word in the picture, and its line"
    assert 'class="review-line weak"' in html and html.count('data-act="correct"') == 2
    assert 'data-key="p"' in html and 'data-key="n"' not in html and 'data-act="fine"' in html
    assert f'value="{LINES["page_version"]}"' in html and "ada@x.example" in html and "not found again" in html
    assert "<img src=x" not in html and "{{" not in html
    assert f'src="/console/picture/{IDS[1]}/2' in html


def test_a_viewer_is_offered_nothing_to_change_and_other_formats_have_no_picture() -> None:
    html = review_page(
        READ, "docx", LINES | {"reviewed_at": "2026-01-02T03:04:05Z"}, {"items": []}, (None, None, "/"), False
    )
    assert "data-act" not in html and "<input" not in html and "/picture/" not in html
    assert "fine, says somebody" in html


async def test_steps_follow_the_queue_also_when_the_page_has_left_it() -> None:
    api = ScriptedApi([waiting(one) for one in IDS[:3]])
    html = await review_body(api, {"document": IDS[1], "page": "2", "at": "1"})  # type: ignore[arg-type]
    assert f"document={IDS[0]}&amp;page=2&amp;at=0" in html and f"document={IDS[2]}&amp;page=2&amp;at=2" in html
    api.queue = [waiting(IDS[0]), waiting(IDS[2])]
    html = await review_body(api, {"document": IDS[1], "page": "2", "at": "1"})  # type: ignore[arg-type]
    assert f"document={IDS[0]}&amp;page=2&amp;at=0" in html and f"document={IDS[2]}&amp;page=2&amp;at=1" in html
    api.queue = []
    html = await review_body(api, {"document": IDS[1], "page": "2"})  # type: ignore[arg-type]
    assert "data-key" not in html


async def test_a_line_is_saved_against_the_page_as_it_was_shown() -> None:
    api = ScriptedApi([waiting(IDS[1])])
    fields = {"text": "The lease", "page_version": LINES["page_version"]}
    asked = PageAction({"document": IDS[1], "page": "2", "at": "0"}, "correct", "0", fields)
    html, address = await act_on_page(api, asked)  # type: ignore[arg-type]
    assert api.sent == [
        (
            f"/api/documents/{IDS[1]}/pages/2/corrections",
            {"page_version": LINES["page_version"], "line": 0, "text": "The lease"},
        )
    ]
    assert "Saved" in html and address is None
    api.refuse = True
    html, _ = await act_on_page(api, asked)  # type: ignore[arg-type]
    assert "The page says something else." in html and 'class="review-lines"' in html


@pytest.mark.parametrize(("left", "next_"), [(IDS[1:3], f"document={IDS[2]}"), (IDS[1:2], "/console/review")])
async def test_a_page_that_is_fine_makes_way_for_the_next(left: list[str], next_: str) -> None:
    api = ScriptedApi([waiting(one) for one in left])
    asked = PageAction({"document": IDS[1], "page": "2", "at": "0"}, "fine", "", {"page_version": "v.3"})
    html, address = await act_on_page(api, asked)  # type: ignore[arg-type]
    assert api.sent == [(f"/api/documents/{IDS[1]}/pages/2/review", {"page_version": "v.3", "fine": True})]
    assert address is not None and next_ in address and "Marked as fine." in html
