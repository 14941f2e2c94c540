"""The search lab's drawing: passages through the stages, the bump chart, answers, runs; hostile names stay text."""

from typing import Any

import pytest

from serve_apps.ui.kit.api import SignInClient, open_client
from serve_apps.ui.kit.page import ConsoleContext, ConsolePage
from serve_apps.ui.search.answer_view import answer_view
from serve_apps.ui.search.asked import LabQuery
from serve_apps.ui.search.bump import bump_chart
from serve_apps.ui.search.found import found_view
from serve_apps.ui.search.golden_sets import GoldenSelection
from serve_apps.ui.search.passage_view import box_query, explained_passages, notable_passages
from serve_apps.ui.search.stages import took_part
from serve_apps.ui.search.trend import comparison_view, dumbbell_chart, runs_table, trend_charts
from serve_apps.ui.sessions import Role, SessionStore

EVIL = "<img src=x onerror=alert(1)>\"'${1+1}{{value}}`.pdf"


def _pages(*paths: str) -> ConsoleContext:
    pages = [ConsolePage(path, path, Role.VIEWER, lambda desk, blocks: None, "") for path in paths]
    return ConsoleContext(SessionStore(60, lambda: 0.0), SignInClient(open_client("http://127.0.0.1:1")), pages)


def _hit(chunk: str, name: str = "a.pdf") -> dict[str, Any]:
    return {
        "chunk_id": chunk,
        "document_id": "d" * 32,
        "filename": name,
        "page": 2,
        "headings": [name],
        "text": name,
        "engine": "tesseract",
        "ocr_confidence": 0.8,
        "boxes": [[2, 0.1, 0.2, 0.3, 0.4], [3, 0, 0, 1, 1], [2, 0.5, 0.5, 0.6, 0.6]],
    }


def _found(name: str = "a.pdf", rerank: bool = False) -> dict[str, Any]:
    """Three candidates: the words' first is last in the end."""
    scores: list[dict[str, float]] = [
        {"vector_rank": 1, "vector_score": 0.9, "fused": 0.3},
        {"vector_rank": 2, "vector_score": 0.8, "keyword_rank": 2, "keyword_score": 4, "fused": 0.2},
        {"keyword_rank": 1, "keyword_score": 5, "fused": 0.1},
    ]
    if rerank:
        for n, one in enumerate(scores):
            one["rerank"] = 1 - n / 10
    candidates = [
        {"place": n, "chunk_id": f"c{n}", "document_id": "d" * 32, "scores": one} for n, one in enumerate(scores, 1)
    ]
    stages = [
        {"name": name_, "on": on, "detail": "bm25", "kept": 3}
        for name_, on in (("keyword", True), ("vector", True), ("fuse", True), ("rerank", rerank), ("pack", True))
    ]
    cache = {
        "outcome": "miss",
        "reason": f"near, but {name}",
        "similarity": 0.97,
        "age_seconds": None,
        "question": name,
        "shared": False,
    }
    return {
        "results": [_hit("c1", name), _hit("c2", name)],
        "packed": None,
        "generation": 1,
        "total_results": 3,
        "keyword_engine": "bm25",
        "vector": "exact",
        "fallback": name,
        "timings_ms": {"keyword": 2.0, "total": 5.0},
        "explain": {
            "candidates": candidates,
            "stages": stages,
            "cache": cache,
            "min_similarity": None,
            "variations": [name],
        },
    }


def test_a_passage_is_followed_from_stage_to_stage() -> None:
    one, two, three = explained_passages(_found() | {"packed": {"chunks": [_hit("c2")]}})
    assert (one.ranks, two.ranks, three.ranks) == (
        {"vector": 1, "fused": 1},
        {"keyword": 2, "vector": 2, "fused": 2, "pack": 1},
        {"keyword": 1, "fused": 3},
    )
    assert one.name == "a.pdf, p. 2" and three.hit is None and "dddddddd" in three.name


def test_what_fell_behind_after_a_stage_had_it_first_is_still_shown() -> None:
    assert [one.place for one in notable_passages(explained_passages(_found()), 1)] == [1, 2, 3]
    assert [one.place for one in notable_passages(explained_passages(_found()), 1, fallen=1)] == [1, 2]


def test_the_chart_shows_ranks_gaps_and_what_is_behind() -> None:
    found = _found()
    drawn = bump_chart(notable_passages(explained_passages(found), 2), 2, took_part(found))
    assert drawn.count("<circle") == 3 + 4 + 3, "a circle for each stage that saw a passage"
    assert 'class="behind"' in drawn and "Reranked" in drawn and ">off<" in drawn
    assert 'class="skips"' in drawn, "the first passage was not found by words"
    assert "off<" not in bump_chart(explained_passages(_found(rerank=True)), 3, took_part(_found(rerank=True)))
    assert "No passage" in bump_chart([], 10, set())


def test_a_passage_opens_its_page_with_its_boxes() -> None:
    query = box_query(_hit("c1"))
    assert query == {"id": "d" * 32, "page": 2, "boxes": "0.1000,0.2000,0.3000,0.4000;0.5000,0.5000,0.6000,0.6000"}
    drawn = found_view(_pages("documents", "search"), LabQuery("x"), _found())
    assert f"/console/documents?id={'d' * 32}&amp;page=2&amp;boxes=0.1000%2C0.2000" in drawn


def test_passages_and_answers_say_what_is_doubtful_about_their_pages() -> None:
    doubt = {"kind": "table_unsure", "weight": "unsure", "detail": EVIL, "count": 1, "page": 2}
    found = _found() | {"results": [_hit("c1") | {"caveats": [doubt]}]}
    drawn = found_view(_pages("documents", "search"), LabQuery("x"), found)
    assert "A table is not sure" in drawn and "<img src=x" not in drawn
    answer = _answer("a.pdf")
    answer["citations"][0]["caveats"] = [doubt]
    drawn = answer_view(_pages("documents"), answer, _why("a.pdf"))
    assert "Of the pages that are cited:" in drawn and drawn.count("A table is not sure") == 1


def test_a_calculated_answer_shows_its_chart_as_an_image() -> None:
    """As an image its scripts do not run, and its words are said to who does not see it."""
    answer = _answer("a.pdf") | {"chart": {"label": EVIL, "measure": "Toll", "points": [[EVIL, 3.0], ["Elm", 4.0]]}}
    drawn = answer_view(_pages("documents"), answer, _why("a.pdf"), f"<svg onload='{EVIL}'/>")
    assert "data:image/svg+xml;base64," in drawn and "Elm: 4" in drawn
    assert "<svg onload" not in drawn and "<img src=x" not in drawn
    assert "data:image" not in answer_view(_pages("documents"), answer | {"chart": None}, _why("a.pdf"))


def test_hostile_names_are_text_everywhere() -> None:
    desk = _pages("documents", "search", "ingest")
    drawn = [found_view(desk, LabQuery(EVIL, file=EVIL), _found(EVIL)), answer_view(desk, _answer(EVIL), _why(EVIL))]
    drawn += [bump_chart(explained_passages(_found(EVIL)), 3, {"keyword"}), comparison_view(_compared(EVIL))]
    for one in drawn:
        assert "<img src=x" not in one and not set("${}`") & set(one)
    assert "Calculated from 2 rows of" in drawn[1] and "1 row that sum others up left out" in drawn[1]


def _answer(name: str) -> dict[str, Any]:
    cited = {"n": 1, "document_id": "d" * 32, "page": 2, "boxes": [[2, 0.1, 0.1, 0.2, 0.2]]}
    return {
        "mode": "generated",
        "model": name,
        "fallback": None,
        "abstained": None,
        "answer": name,
        "citations": [cited],
        "claims": [{"text": name, "citations": [1]}],
        "dropped": [{"text": name, "why": name}],
        "calculation": {
            "sql": name,
            "table": name,
            "columns": [name],
            "rows": 2,
            "totals_left_out": 1,
            "notes": [name],
            "documents": [name],
        },
        "conflicts": [[{"value": name, "n": 1}, {"value": "8", "n": 2}]],
    }


def _why(name: str, withheld: str | None = None) -> dict[str, Any]:
    cited = {
        "n": 1,
        "withheld": withheld,
        "document_id": "d" * 32,
        "filename": name,
        "page": 2,
        "is_current": False,
        "boxes": [[2, 0.1, 0.1, 0.2, 0.2]],
        "quote": name,
        "chunk": {"index": 4, "headings": [name]},
        "engine": name,
        "ocr_confidence": 0.96,
        "attempts": [{"engine": name, "kept": False}],
        "read_at": None,
        "file_hash": "ab" * 32,
        "job": {"id": "7", "kind": "scan", "state": "completed", "finished_at": None},
    }
    claims = [{"text": name, "citations": [1], "supported": True, "basis": "attributed"}]
    return {"claims": claims, "citations": [cited], "generation": 3, "corpus_version": 4, "corpus_now": 6}


def test_a_claim_hangs_on_a_chain_down_to_the_job() -> None:
    desk = _pages("documents", "ingest")
    drawn = answer_view(desk, _answer("a.pdf"), _why("a.pdf"))
    chain = drawn[drawn.index("Why it says that") :]
    stations = ("model quoted nothing", "chunk 5", "a.pdf, p. 2", "96% sure", "abababababab", "/console/ingest?job=7")
    order = [chain.index(text) for text in stations]
    assert order == sorted(order)
    assert "contradict" in drawn and "an older version" in drawn and "changed 2 times" in drawn
    assert f"/console/picture/{'d' * 32}/2" in drawn
    kept = answer_view(desk, _answer("a.pdf"), _why("a.pdf", "you may not read it any more"))
    assert "withheld" in kept and "abababababab" not in kept


def test_who_finds_nothing_says_so() -> None:
    nothing = _answer("x") | {
        "abstained": "no passage supports an answer",
        "claims": [],
        "conflicts": [],
        "dropped": [],
        "calculation": None,
    }
    drawn = answer_view(_pages(), nothing, _why("x") | {"claims": []})
    assert "The documents do not say it." in drawn and "no passage supports an answer" in drawn


def _run(id_: str, ndcg: float) -> dict[str, Any]:
    figures = {
        "ndcg@10": {"mean": ndcg, "n": 3},
        "recall@10": {"mean": 1.0, "n": 3},
        "search_ms": {"p50": 20, "p95": 30},
    }
    return {
        "id": id_,
        "state": "completed",
        "figures": figures,
        "created_at": "2026-01-01T00:00:00Z",
        "done": 3,
        "total": 3,
        "finished_at": "2026-01-01T00:00:09Z",
        "generation_id": 1,
    }


def _compared(name: str) -> dict[str, Any]:
    one = {
        "measure": "ndcg@10",
        "n": 3,
        "baseline": 0.9,
        "candidate": 0.5,
        "delta": -0.4,
        "low": -0.6,
        "high": -0.2,
        "p": 0.1,
        "better": 0,
        "worse": 2,
        "equal": 1,
    }
    changed = [{"question": name, "baseline": 0.9, "candidate": 0.5}]
    return {
        "candidate": _run("b", 0.5),
        "baseline": _run("a", 0.9),
        "settings_changed": [name],
        "differences": [one],
        "measure": "ndcg@10",
        "changed": changed,
    }


def test_runs_are_a_trend_and_each_can_be_compared_with_the_one_before() -> None:
    def address(run: str, baseline: str | None) -> str:
        return f"/console/search?run={run}" + (f"&baseline={baseline}" if baseline else "")

    runs = [_run("new", 0.5), _run("old", 0.9)]
    drawn = trend_charts(runs, address)
    assert drawn.count("<circle") == 6 and "0.500 (−0.400)" in drawn, (
        "three measures of two runs; the answers' has none"
    )
    assert drawn.index("run=old") < drawn.index("run=new"), "the oldest stands on the left"
    table = runs_table(runs, 2, address)
    assert "run=new&amp;baseline=old" in table and "baseline=new" not in table
    assert "Run the evaluation" in runs_table([], 0, address)


def test_a_comparison_says_what_got_worse() -> None:
    drawn = comparison_view(_compared("Who?"))
    assert "worse" in drawn and "Who?" in drawn and "-0.400" in drawn
    assert 'class="lab-dumbbell better"' in dumbbell_chart(0.1, 0.9) and "left:10.0%;width:80.0%" in dumbbell_chart(
        0.9, 0.1
    )


def test_a_question_travels_as_form_link_and_request() -> None:
    asked = LabQuery.given(
        "Why?", "vector", "general", "off", "auto", "chat", "off", 20, "pdf", "annual", "2026-01-01", "", None
    )
    assert LabQuery.of({name: str(value) for name, value in asked.query().items()}) == asked
    assert asked.body() == {
        "query": "Why?",
        "limit": 60,
        "strategy": "vector",
        "explain": True,
        "pack": "chat",
        "rerank": False,
        "preset": "general",
        "cache": False,
        "filters": {"doc_type": "pdf", "source_file": "annual", "upload_date_from": "2026-01-01"},
    }
    assert "cache" not in LabQuery("Why?").body() and LabQuery("Why?").query() == {"question": "Why?"}


@pytest.mark.parametrize("query", [{"strategy": "drop table"}, {"shown": "9999"}, {"pack": EVIL}, {}])
def test_what_a_link_says_wrongly_is_as_if_it_were_not_said(query: dict[str, str]) -> None:
    assert LabQuery.of(query) == LabQuery()


def test_only_ids_go_into_paths() -> None:
    good = "68662702-84b0-4610-81a7-719526735d86"
    assert GoldenSelection.of({"set": good, "run": "../../admin", "baseline": ""}) == GoldenSelection(good)
