"""Drawing documents: passages of an address, words in picture and text, hostile names, days in the reader's zone."""

import re
from typing import Any

import gradio as gr
import pytest

from serve_apps.ui.documents.arrivals import arrivals, awaits_pages, no_page_notice
from serve_apps.ui.documents.document_list import day_start, document_table
from serve_apps.ui.documents.facts import class_card, impact_card, origin_card, readers_card
from serve_apps.ui.documents.passage import LinkedPassage, PageWord, complete_passage, parse_passage, words_of
from serve_apps.ui.documents.usage_views import figures_view, usage_card
from serve_apps.ui.documents.viewer import confidence_class, page_viewer
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role

HOSTILE = '"><script>alert(1)</script>${x}{{y}}`'
DESK: ConsoleContext = ConsoleContext(None, None, ())  # type: ignore[arg-type]  # only links are asked of it


def page(text: str, words: list[list[float | str]], **more: Any) -> dict[str, Any]:
    plain = {
        "document_id": "d" * 32,
        "version_id": "e" * 32,
        "number": 2,
        "page_count": 3,
        "text": text,
        "words": words,
        "confidence": 0.9,
        "engine": "tesseract",
        "ms": 1200,
        "failure": None,
    }
    return {**plain, **more}


WORDS: list[list[float | str]] = [
    [0, "The", 0.1, 0.1, 0.15, 0.12, 0.99],
    [4, "crane", 0.16, 0.1, 0.25, 0.12, 0.7],
    [10, "stops", 0.1, 0.2, 0.2, 0.22, 0.3],
]


class ScriptedDocument:
    """The session's API, asked for one document again and again."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    async def get(self, path: str) -> Any:
        assert path == "/api/documents/d1"
        if isinstance(answer := self._answers.pop(0), ApiProblem):
            raise answer
        return answer


def surveyed(status: str, stored: int = 0) -> dict[str, Any]:
    return {"filename": HOSTILE, "status": status, "version_id": "v1", "pages": {"stored": stored, "expected": 6}}


async def test_a_document_without_a_page_is_asked_for_again_until_there_is_word_of_it() -> None:
    """A surveyed file has a version and no page; an API that is away for a moment is asked again."""
    away, gone = (ApiProblem(ProblemReport("", "", "", status, "")) for status in (503, 404))
    api: Any = ScriptedDocument(surveyed("processing"), away, surveyed("processing", 1), surveyed("failed"), gone)
    said, clock = await arrivals(api, "d1")
    assert said == clock == gr.skip(), "nothing changes: it waits still"
    said, clock = await arrivals(api, "d1")
    assert said == gr.skip() and clock.active
    said, clock = await arrivals(api, "d1")
    assert "has pages now" in said and "documents?id=d1" in said and "<script>" not in said and not clock.active
    said, clock = await arrivals(api, "d1")
    assert "could not be read" in said and not clock.active
    said, clock = await arrivals(api, "d1")
    assert said == gr.skip() and not clock.active
    assert [awaits_pages(surveyed(one)) for one in ("pending", "processing", "completed", "failed")] == [
        *(True, True, False, False)
    ]
    assert "could be read" in no_page_notice(surveyed("failed"))


def test_boxes_of_an_address_are_fractions_and_what_is_wrong_is_left_out() -> None:
    asked = parse_passage(
        {"boxes": "0.1,0.2,0.3,0.4;0.5,0.5,0.5,0.9;nan,0,1,1;1,2;-1,0,2,0.5;x", "start": "3", "end": "9"}
    )
    assert asked == LinkedPassage(((0.1, 0.2, 0.3, 0.4), (0.0, 0.0, 1.0, 0.5)), ((3, 9),))
    for start, end in (("9", "3"), ("3", ""), ("-1", "4"), ("²", "4")):
        assert parse_passage({"start": start, "end": end}) == LinkedPassage()
    assert len(parse_passage({"boxes": ";".join(["0,0,1,1"] * 1000)}).boxes) == 200


def test_a_passage_by_boxes_is_found_in_the_text_and_the_other_way_round() -> None:
    words = words_of(WORDS)
    assert complete_passage(parse_passage({"boxes": "0.15,0.09,0.3,0.13"}), words) == LinkedPassage(
        ((0.15, 0.09, 0.3, 0.13),), ((4, 9),)
    )
    by_text = complete_passage(LinkedPassage((), ((0, 12),)), words)
    assert by_text.boxes == ((0.1, 0.1, 0.25, 0.12), (0.1, 0.2, 0.2, 0.22)), "one box a line"
    apart = complete_passage(parse_passage({"boxes": "0.09,0.09,0.16,0.13;0.09,0.19,0.3,0.23"}), words)
    assert apart.spans == ((0, 3), (10, 15)), "what lies between two boxes is not the passage"
    nowhere = parse_passage({"boxes": "0.8,0.8,0.9,0.9"})
    assert complete_passage(nowhere, words) == nowhere


def test_words_stand_in_picture_and_text_under_the_same_number() -> None:
    html = page_viewer(
        page("The crane stops.", WORDS), "pdf", parse_passage({"start": "4", "end": "9"}), {"id": "d" * 32}, True
    )
    for n in range(3):
        assert len(re.findall(rf'data-w="{n}"', html)) == 2
    assert '<span class="w c1 doc-passage" data-w="1" tabindex="-1">crane</span>' in html
    assert 'style="left:16.00%;top:10.00%;width:9.00%;height:2.00%"' in html
    assert f'src="/console/picture/{"d" * 32}/2?dpi=130"' in html
    assert "page=1" in html and "page=3" in html
    assert re.sub(r"<[^>]*>", "", html[html.index('class="doc-text') :]).endswith("The crane stops.")


def test_levels_follow_the_confidence() -> None:
    assert [confidence_class(one) for one in (1.0, 0.95, 0.9, 0.7, 0.59, 0.0)] == ["c3", "c3", "c2", "c1", "c0", "c0"]


def test_words_that_do_not_fit_the_text_change_nothing_in_it() -> None:
    odd: list[list[float | str]] = [[0, "aa", 0, 0, 1, 1, 1], [1, "bb", 0, 0, 1, 1, 1], [99, "far", 0, 0, 1, 1, 1]]
    html = page_viewer(page("aabb", odd), "pdf", LinkedPassage(), {"id": "d" * 32}, True)
    assert re.sub(r"<[^>]*>", "", html[html.index('class="doc-text') :]).partition(">")[2] == "aabb"


@pytest.mark.parametrize("kind", ["docx", "text"])
def test_a_format_without_pictures_asks_for_none(kind: str) -> None:
    html = page_viewer(page(HOSTILE, [], confidence=None), kind, LinkedPassage(), {"id": "d" * 32}, True)
    assert "<img" not in html and "<script" not in html and "${" not in html and "&lt;script&gt;" in html


def test_a_page_that_failed_says_why() -> None:
    failed = page("", [], failure={"reason": "timeout", "detail": HOSTILE}, confidence=None)
    html = page_viewer(failed, "text", LinkedPassage(), {"id": "d" * 32}, True)
    assert "could not be read: timeout" in html and "<script" not in html


def test_hostile_names_stay_text_in_the_list_and_filters() -> None:
    one = {
        "id": "d" * 32,
        "filename": HOSTILE,
        "file_type": HOSTILE,
        "status": "failed",
        "page_count": None,
        "failure": {"reason": HOSTILE},
        "file_size": None,
        "upload_date": "2026-11-22T10:00:00Z",
    }
    wanted = {"search": HOSTILE, "type": HOSTILE}
    html = document_table(DESK, {"items": [one], "total": 51, "skip": 0, "limit": 50}, wanted, Role.ADMIN)
    assert "<script" not in html and "${" not in html and "{{" not in html and "&lt;script&gt;" in html
    assert "search=%22%3E%3Cscript" in html, "paging keeps the filters"


def test_an_empty_list_says_what_to_do_for_who_may() -> None:
    nothing = {"items": [], "total": 0, "skip": 0, "limit": 50}
    assert "No document fits." in document_table(DESK, nothing, {"search": "x"}, Role.VIEWER)
    assert "No documents yet." in document_table(DESK, nothing, {}, Role.VIEWER)


def test_days_begin_in_the_readers_zone() -> None:
    assert day_start({"from": "2026-11-22", "zone": "60"}, "from", 0) == "2026-11-22T00:00:00+01:00"
    assert day_start({"to": "2026-12-31", "zone": "-300"}, "to", 1) == "2027-01-01T00:00:00-05:00"
    for wrong in ({}, {"to": "x"}, {"to": "2026-01-01", "zone": "99999"}, {"to": "9999-12-31"}):
        assert day_start(wrong, "to", 1) is None


def test_a_word_is_read_from_the_apis_row() -> None:
    assert words_of(WORDS)[1] == PageWord(4, "crane", (0.16, 0.1, 0.25, 0.12), 0.7)


def test_the_class_is_changed_by_operators_and_says_who_decided() -> None:
    one = {"classification": HOSTILE, "classified_by": "hand"}
    html = class_card(one, Role.OPERATOR)
    assert 'id="classification"' in html and "by hand" in html and "<script" not in html
    assert 'id="classification"' not in class_card(one, Role.DEVELOPER)
    assert "None, not yet looked at" in class_card({}, Role.VIEWER)


def test_readers_are_changed_by_who_may_and_of_what_has_its_own() -> None:
    one = {"readers": ["group:legal", HOSTILE], "parent_id": None}
    html = readers_card(one, Role.OPERATOR)
    assert 'id="readers"' in html and "group:legal" in html and "<script" not in html
    assert 'id="readers"' not in readers_card(one, Role.DEVELOPER)
    assert 'id="readers"' not in readers_card({**one, "parent_id": "a" * 32}, Role.ADMIN)
    assert "Everybody in the workspace" in readers_card({**one, "readers": []}, Role.VIEWER)


def test_a_document_leads_to_what_it_came_out_of_and_to_what_came_out_of_it() -> None:
    one = dict.fromkeys(("origin", "processed_date", "description", "parent_id", "parent_filename"))
    one |= {"id": "d" * 32, "source_type": "upload", "readers": [], "tags": [], "members": 0}
    assert "Part of" not in origin_card(one) and "Holds" not in origin_card(one)
    html = origin_card({**one, "parent_id": "a" * 32, "parent_filename": HOSTILE, "members": 2})
    assert f"id={'a' * 32}" in html and f"?parent={'d' * 32}" in html and "2 documents" in html
    assert "<script" not in html
    counts = dict.fromkeys(("versions", "pages", "chunks", "embeddings"), 1) | {"agents": [], "members": 2}
    assert "2 documents that came out of it" in impact_card({**one, "filename": "a.zip"}, counts)


FIGURES: dict[str, Any] = {
    **{"documents": 3, "pages": 9, "chunks": 12, "storage_bytes": 2048, "uploads_24h": 1, "success_rate": 0.5},
    "by_status": {"completed": 1, "failed": 1, HOSTILE: 1},
    "by_type": {"pdf": 2, HOSTILE: 1},
    "by_origin": {"upload": 2, "source": 1},
    "usage": {
        **{"used_documents": 1, "never_used": 2, "rag_query_count": 7, "cited_count": 3},
        "last_accessed": "2026-11-22T10:00:00Z",
        "most_used": [
            {
                **{"id": "d" * 32, "filename": HOSTILE, "rag_query_count": 7, "cited_count": 3},
                "last_accessed": "2026-11-22T10:00:00Z",
            }
        ],
    },
    "sources": None,
    "workspaces": None,
    "at": "2026-11-22T10:00:00Z",
}
PLACE = {
    "name": HOSTILE,
    "documents": 3,
    "completed": 1,
    "failed": 1,
    "chunks": 12,
    "storage_bytes": 1,
    "uploads_24h": 0,
}


def test_figures_show_what_there_is_and_say_whose_documents_count() -> None:
    html = figures_view(FIGURES, None)
    assert "50%" in html and "2.0 KiB" in html and "sort=never_used" in html and f"id={'d' * 32}" in html
    assert "Sources" not in html and "Workspaces" not in html and "<script" not in html and "${" not in html
    more = figures_view({**FIGURES, "sources": [], "workspaces": [PLACE]}, None)
    assert "Workspaces" in more and "whoever reads them" in more and "Sources" not in more and "<script" not in more


def test_figures_of_nothing_say_what_to_do() -> None:
    use = {**FIGURES["usage"], "used_documents": 0, "never_used": 0, "most_used": [], "last_accessed": None}
    nothing = {**FIGURES, "documents": 0, "success_rate": None, "by_status": {}, "by_type": {}, "usage": use}
    assert "No documents yet." in figures_view(nothing, "/console/ingest")
    assert "/console/ingest" in figures_view(nothing, "/console/ingest")
    assert "/console/ingest" not in figures_view(nothing, None)
    beside = figures_view({**nothing, "workspaces": [PLACE]}, None)
    assert "Workspaces" in beside and "No answer has used a document yet." in beside and "–" in beside


def test_the_use_of_a_document_names_passages_and_nobody() -> None:
    use = {"chunk_id": "c", "page": 2, "relevance_score": 0.5, "used_in_response": True, "used_at": FIGURES["at"]}
    gone, table = {**use, "page": None, "used_in_response": False}, {**use, "chunk_id": "", "relevance_score": None}
    document = {"id": "d" * 32, "rag_query_count": 2, "cited_count": 1, "last_accessed": FIGURES["at"]}
    html = usage_card({**document, "context_usage": [use, gone, {**table, "page": None}]})
    assert "page=2" in html and "cited" in html and "only before it" in html and "a table" in html
    assert "2 answers had it before them, 1 cite it" in re.sub(r"<[^>]*>", "", html)
    assert "No answer has used it yet." in usage_card({**document, "rag_query_count": 0, "context_usage": []})


def test_the_list_is_put_in_order_and_that_is_no_filter() -> None:
    nothing = {"items": [], "total": 0, "skip": 0, "limit": 50}
    html = document_table(DESK, nothing, {"sort": "never_used"}, Role.VIEWER)
    assert "No documents yet." in html and '<option value="never_used" selected>' in html and "view=figures" in html
