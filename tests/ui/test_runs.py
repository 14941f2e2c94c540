"""Runs' pure parts: the waterfall, the list, a replay's outcome, and that nothing in them is markup."""

from typing import Any

import pytest

from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.runs.listed import filter_form, run_list_view, run_seconds, waiting_view
from serve_apps.ui.runs.one import RunView, replay_report_card, run_body, run_head
from serve_apps.ui.runs.waterfall import place_bars, waterfall_chart
from tests.ui.test_chat import desk, heard, told
from tests.ui.test_html import EVIL

__all__ = ["desk"]

BEGAN = "2026-03-01T12:00:00+00:00"


def step(seq: int, kind: str, ends: str, ms: int, **more: Any) -> dict[str, Any]:
    return {
        "seq": seq,
        "kind": kind,
        "name": EVIL,
        "state": "done",
        "ms": ms,
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "cost_usd": 0.25,
        "at": f"2026-03-01T12:00:{ends}+00:00",
        "request": {EVIL: EVIL},
        "reply": EVIL,
        **more,
    }


def run(**more: Any) -> dict[str, Any]:
    return {
        "id": "7" * 32,
        "session_id": "8" * 32,
        "agent_id": "9" * 32,
        "path": EVIL,
        "state": "failed",
        "ms": 10,
        "outcome": {"answer": EVIL},
        "error": {"code": EVIL, "title": EVIL, "detail": EVIL},
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "cost_usd": 0.25,
        "thumbs_up": 1,
        "thumbs_down": 2,
        "created_at": BEGAN,
        "started_at": BEGAN,
        "finished_at": "2026-03-01T12:00:04+00:00",
        "steps": [step(1, "model", "01.500", 1500)],
        **more,
    }


def test_a_step_is_drawn_from_its_begin_to_its_end() -> None:
    steps = [step(1, "model", "01.500", 1500), step(2, "tool", "04.000", 500), step(3, "else", "04.000", 0)]
    bars, total = place_bars(steps, BEGAN)
    assert [(bar.start, bar.seconds, bar.kind) for bar in bars] == [
        (0.0, 1.5, "model"),
        (3.5, 0.5, "tool"),
        (4.0, 0.0, "other"),
    ]
    assert total == 4.0
    made = waterfall_chart(steps, BEGAN)
    assert 'x="875.0"' in made and "10 + 2 tokens, 0.2500 USD" in made
    assert 'x="994.0"' in made, "the last one stays inside of the picture"


def test_the_time_that_a_person_took_is_drawn_as_theirs() -> None:
    bars, total = place_bars([step(1, "model", "01.000", 1000), step(2, "approval", "31.000", 0)], BEGAN)
    assert (bars[1].start, bars[1].seconds, bars[1].kind, total) == (1.0, 30.0, "person", 31.0)


def test_a_run_without_steps_says_so_and_lasts_from_start_to_end() -> None:
    assert "Nothing was asked" in waterfall_chart([], None)
    assert run_seconds(run()) == 4.0 and run_seconds(run(finished_at=None)) is None


@pytest.mark.parametrize(("same", "word"), [(True, "byte for byte"), (False, "differs")])
def test_a_replay_tells_whether_it_came_out_the_same(same: bool, word: str) -> None:
    other = None if same else {"step": 3, "event": None, "name": EVIL, "recorded": {EVIL: 1}, "now": [EVIL]}
    made = replay_report_card({"same": same, "events": 7, "steps": 3, "diverged": other}, changed=False)
    assert word in made and "7 events and 3 steps" in made and "<img" not in made
    assert same or "step 3" in made


def test_hostile_text_stays_text_everywhere(desk: ConsoleContext) -> None:
    asked = {
        "id": "a",
        "run_id": "r",
        "tool": EVIL,
        "arguments": {EVIL: EVIL},
        "decided_arguments": None,
        "reason": EVIL,
        "created_at": BEGAN,
        "expires_at": BEGAN,
        "decided_at": None,
        "state": EVIL,
        "execution": EVIL,
        "notes": EVIL,
    }
    events = [told("text", "1", EVIL), told("tool_result", "2", id=EVIL, result={EVIL: EVIL})]
    opinion = {"thumb": "down", "word": EVIL, "at": BEGAN}
    seen = RunView(run(), EVIL, EVIL, heard(*events), events, [asked], [opinion])
    names = {"9" * 32: EVIL}
    for made in (
        run_head(desk, seen),
        run_body(desk, seen),
        waiting_view(desk, [asked], 1, "", 0),
        run_list_view(desk, {"items": [run()], "total": 1}, names, "/console/runs", 0, filtered=False),
        filter_form({"state": EVIL}, [{"id": EVIL, "name": EVIL}], True),
    ):
        assert "<img" not in made and not set("{}$`") & set(made)


def test_who_may_only_watch_is_told_so_and_sees_no_word(desk: ConsoleContext) -> None:
    secret = run(steps=[step(1, "model", "01.500", 1500, request=None, reply=None)], outcome=None, error=None)
    made = run_body(desk, RunView(secret, "keeper", "", None, [], [], []))
    assert "administrators" in made and "Events" not in made
