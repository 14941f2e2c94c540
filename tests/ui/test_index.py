"""The page Index: generations, the gate's report, a switch, the cache's figures; hostile names stay text."""

from typing import Any

from serve_apps.ui.index.index_generations import (
    IndexState,
    index_view,
    switch_view,
    switchable_generations,
    switched_view,
)
from serve_apps.ui.index.memory import cache_view, language_view
from serve_apps.ui.index.report import report_view
from serve_apps.ui.kit.api import SignInClient, open_client
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.sessions import SessionStore

EVIL = "<img src=x onerror=alert(1)>\"'${1+1}{{value}}`"
DESK = ConsoleContext(SessionStore(60, lambda: 0.0), SignInClient(open_client("http://127.0.0.1:1")), [])


def _recall(**more: Any) -> dict[str, Any]:
    return {
        "name": "contracts",
        "asked": 10,
        "recall": 0.7,
        "mrr": 0.5,
        "before": 0.9,
        "baseline": None,
        "least": None,
        "skipped": 0,
        "digest": "",
        "fell": [],
    } | more


def _report(verdict: str = "refused", **more: Any) -> dict[str, Any]:
    return {
        "generation": 2,
        "live": 1,
        "expected": 12,
        "held": 11,
        "at": 5,
        "items": None,
        "golden": [_recall(**more)],
        "reasons": ["contracts: 0.700 of 10 questions found, before 0.900"],
        "verdict": verdict,
        "ms": 900,
    }


def _generation(id_: int, role: str, **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "role": role,
        "embedder": "small",
        "dimension": 384,
        "chunker": "ab",
        "documents": 12,
        "chunks": 60,
        "embedded": 12,
        "graph": False,
        "made_at": "2026-01-01T00:00:00Z",
        "checked_at": None,
        "switched_at": None,
        "forced_by": None,
        "job_id": None,
        "report": None,
    } | more


def _body(*items: dict[str, Any], embedder: str = "small") -> dict[str, Any]:
    made_now: dict[str, Any] = {
        "embedder": embedder,
        "dimension": 384,
        "chunker": "ab",
        "chunk_size": 1500,
        "chunk_overlap": 300,
        "live": embedder == "small",
    }
    return {"live": 1, "previous": None, "configured": made_now, "items": list(items)}


STATS: dict[str, Any] = {
    "documents": 12,
    "by_status": {"completed": 11, "failed": 1},
    "without_vectors": 1,
    "pages": 17,
    "chunks": 68,
    "embeddings": 68,
    "generation": {"dimension": 384, "vector_index": "exact", "keyword_engine": "bm25"},
}


def test_the_report_names_the_questions_that_fell() -> None:
    drawn = report_view(_report(fell=["k1", "k2"]), {("contracts", "k1"): "Who signed?"})
    assert "2 questions fell" in drawn and "Who signed?" in drawn and "question k2" in drawn
    assert "70% among the first 10" in drawn and "before 90%" in drawn and 'class="fill low"' in drawn
    assert "fell" not in report_view(_report("passed", recall=0.95), {}).replace("index-fell", "")


def test_known_items_are_measured_at_their_own_depth() -> None:
    report = _report() | {"items": _recall(name="known items", recall=1.0, before=1.0), "golden": []}
    drawn = report_view(report, {})
    assert "100% among the first 5" in drawn and "10 of its own passages" in drawn and "fill low" not in drawn
    assert "nothing was measured" in report_view(report | {"items": None}, {})


def test_every_generation_says_what_it_is() -> None:
    items = (_generation(2, "refused", report=_report()), _generation(1, "live", graph=True))
    drawn = index_view(DESK, IndexState(_body(*items), STATS, {}))
    assert "refused by the gate" in drawn and "live: readers use it" in drawn and "HNSW" in drawn
    assert "1 failed" in drawn and "settings changed" not in drawn
    doubtful = STATS | {"by_status": {"completed": 9, "partial": 2, "degraded": 1}}
    drawn = index_view(DESK, IndexState(_body(*items), doubtful, {}))
    assert "2 partial, 1 degraded" in drawn and "all read" not in drawn, "what was not read is not hidden"
    assert "settings changed" in index_view(DESK, IndexState(_body(*items, embedder="large"), STATS, {}))
    away = _body(*items) | {"configured": None}
    assert "embedder away" in index_view(DESK, IndexState(away, STATS, {}))
    assert "There is no index yet." in index_view(DESK, IndexState(_body(), STATS, {}))


def test_a_switch_says_beforehand_what_changes() -> None:
    body = _body(
        _generation(3, "building"), _generation(2, "refused", dimension=768, report=_report()), _generation(1, "live")
    )
    assert [id_ for _, id_ in switchable_generations(body)] == ["2"]
    drawn = switch_view(body, "2")
    assert drawn.count('class="differs"') == 2, "the number and the dimension"
    assert "768" in drawn and "0.700 of 10 questions found" in drawn
    assert "No other generation can be used." in switch_view(body, None)
    made = {"generation": 2, "previous": 1, "carried": 3, "job_id": "7", "note": None}
    assert "generation 2 now" in switched_view(made, DESK) and "3 documents" in switched_view(made, DESK)


def test_the_cache_says_why_near_questions_were_refused() -> None:
    stats = {
        "entries": 3,
        "places": 1,
        "hits": 6,
        "misses": 4,
        "bypasses": 1,
        "refused": 3,
        "shared": 0,
        "stored": 4,
        "garbage": 2,
        "hit_rate": 0.6,
        "risk": 0.001,
        "similarity_threshold": 0.95,
        "ttl_seconds": 86400,
        "refusals": {"another number": 1, "another name": 2},
    }
    drawn = cache_view(stats)
    assert "60%" in drawn and "6 of 10 questions" in drawn and "2 entries could not be read" in drawn
    assert drawn.index("another name") < drawn.index("another number"), "the commonest first"
    plain = cache_view(stats | {"refusals": {}, "hits": 0, "misses": 0, "hit_rate": None})
    assert "Nothing was asked yet." in plain and "another" not in plain.replace("another question", "")


def test_the_language_says_what_a_change_did() -> None:
    assert "60 passages" in language_view({"language": "german", "known": [], "chunks": 60})
    assert "passages" not in language_view({"language": "simple", "known": [], "chunks": None})


def test_hostile_names_are_text_everywhere() -> None:
    evil = _generation(
        1, "live", embedder=EVIL, chunker=EVIL, report=_report(name=EVIL, fell=[EVIL]) | {"reasons": [EVIL]}
    )
    body = _body(evil, _generation(2, "refused", embedder=EVIL, report=_report() | {"reasons": [EVIL]}), embedder=EVIL)
    stats = {
        "entries": 3,
        "places": 1,
        "hits": 6,
        "misses": 4,
        "bypasses": 1,
        "refused": 3,
        "shared": 0,
        "garbage": 0,
        "hit_rate": 0.6,
        "risk": 0.001,
        "similarity_threshold": 0.95,
        "ttl_seconds": 60,
        "refusals": {EVIL: 2},
    }
    made = {"generation": 2, "carried": 3, "job_id": None, "note": EVIL}
    drawn = [index_view(DESK, IndexState(body, STATS, {(EVIL, EVIL): EVIL})), switch_view(body, "2"), cache_view(stats)]
    for one in [*drawn, switched_view(made, DESK), language_view({"language": EVIL, "chunks": 1})]:
        assert "<img" not in one and not set("${}`") & set(one)
