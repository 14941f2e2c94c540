"""Chat Studio's pure parts: what is heard, how answers and values are drawn, what a decision sends."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from serve_apps.ui.chat.chat_events import TurnProgress, fold_event, fold_stream
from serve_apps.ui.chat.conversations import group_by_run, in_full
from serve_apps.ui.chat.page import PAGE
from serve_apps.ui.chat.turn_view import answer_section, question_section
from serve_apps.ui.kit.api import StreamEvent
from serve_apps.ui.kit.citations import citation_address, citation_chips
from serve_apps.ui.kit.decision_form import decision_card, edited_arguments
from serve_apps.ui.kit.markdown import render_markdown
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.kit.value_tables import value_view
from serve_apps.ui.runs.page import PAGE as RUNS
from serve_apps.ui.sessions import Role, SessionStore
from tests.ui.test_html import EVIL

CITED: Mapping[str, Any] = {
    "n": 1,
    "document_id": "d" * 32,
    "filename": EVIL,
    "page": 2,
    "quote": EVIL,
    "start": 3,
    "end": 9,
    "ocr_confidence": 0.5,
    "boxes": [[2, 0.1, 0.2, 0.3, 0.4], [3, 0, 0, 1, 1], [2, 0.5, 0.5, 0.75, 0.6]],
}


class Nobody:
    """A door that nobody goes through."""


@pytest.fixture
def desk() -> ConsoleContext:
    documents = type(PAGE)("documents", "Documents", Role.VIEWER, PAGE.draw, "")
    return ConsoleContext(SessionStore(60, lambda: 0.0), Nobody(), (PAGE, RUNS, documents))  # type: ignore[arg-type]


def told(kind: str, id_: str | None = "1", content: str = "", **data: Any) -> StreamEvent:
    return StreamEvent(id_, "x", {"type": "x", "content": content, "data": {"kind": kind, **data}})


def heard(*events: StreamEvent) -> TurnProgress:
    turn = TurnProgress()
    for event in events:
        fold_event(turn, event)
    return turn


def test_pieces_become_one_text_and_what_stood_beside_a_call_becomes_a_thought() -> None:
    turn = heard(
        told("text", "3.4", "I re"),
        told("text", "3.6", "ad"),
        told("thinking", "4", "I read the gauge."),
        told("tool_call", "5", id="c", name="http_get", arguments={"url": "u"}, tier=1),
        told("tool_result", "6", id="c", name="http_get", result="49.42", approved=True, ms=12),
        told("text", "6.3", "It "),
        told("text", "7", "is 49.42."),
    )
    assert (turn.text, turn.piece, turn.thoughts, turn.last) == ("It is 49.42.", "", ["I read the gauge."], "7")
    (call,) = turn.calls
    assert (call.over, call.result, call.ms, call.tier) == (True, "49.42", 12, 1)


def test_an_answer_says_what_of_personal_data_it_does_not_show(desk: ConsoleContext) -> None:
    counts = {"masked": {"email": 2, "national_id": 1}}
    turn = heard(told("done", "3", answer="It is [email].", personal_data=counts, classification=f"restricted{EVIL}"))
    made = str(answer_section(desk, turn, "assistant"))
    assert "Personal data is masked in this answer: 2 email, 1 national id." in made
    assert "restricted" in made and EVIL not in made
    assert "Personal data" not in str(answer_section(desk, heard(told("done", "3", answer="x")), "assistant"))


def test_a_draft_is_shown_as_plain_text_until_the_checked_answer_comes(desk: ConsoleContext) -> None:
    """Nothing that nobody has checked is drawn, however it is written; afterwards nothing is left of it."""
    turn = heard(told("draft", "2", f"It ends **now** {EVIL} "), told("draft", "2", "![x](http://evil)"))
    made = str(answer_section(desk, turn, "assistant", live=True))
    assert "It ends **now**" in made and "not checked yet" in made and "<img" not in made and "<strong" not in made
    fold_event(turn, told("text", "3", "It ends in May."))
    assert (turn.draft, turn.text) == ("", "It ends in May.")
    assert "aos-draft" not in str(answer_section(desk, turn, "assistant", live=True))
    left = heard(told("draft", "2", "It ends"), told("fallback", "3", left="documents", taken="general", why="x"))
    assert left.draft == "", "what was refused does not stand there while another path goes on"


def test_what_is_asked_waits_until_it_is_decided_and_an_end_is_an_end() -> None:
    asked = told("approval_required", approval={"id": "a", "tool": "http_get", "arguments": {}})
    assert heard(asked).approval is not None and not heard(asked).over
    after = heard(asked, told("approval_decided", id="a", state="approved"))
    assert after.approval is None and [one["state"] for one in after.decisions] == ["approved"]
    assert heard(told("done", answer="All.", citations=[], agent_trace=[])).state == "completed"
    failed = heard(told("error", code="no_model", title="No language model.", fix="Add one."))
    assert failed.over and failed.error is not None and failed.error.fix == "Add one."
    assert heard(told("status", state="cancelled")).over


async def test_listening_ends_where_a_person_is_asked_and_nobody_has_decided() -> None:
    closed: list[str] = []

    async def stream(after: Sequence[StreamEvent]) -> AsyncIterator[StreamEvent]:
        try:
            yield told("approval_required", approval={"id": "a", "tool": "t", "arguments": {}})
            for event in after:
                yield event
            await asyncio.Event().wait()
        finally:
            closed.append("closed")

    waiting = TurnProgress()
    assert len([one async for one in fold_stream(stream([]), waiting, 0.01)]) == 1 and waiting.approval is not None
    decided, again = told("approval_decided", id="a", state="approved"), told("approval_required", approval={"id": "b"})
    second = TurnProgress()
    assert len([one async for one in fold_stream(stream([decided, again]), second, 0.01)]) == 3
    assert second.approval == {"id": "b"} and closed == ["closed", "closed"]


def test_a_citation_leads_to_its_boxes_on_its_page(desk: ConsoleContext) -> None:
    address = citation_address(desk, CITED)
    assert address == (
        f"/console/documents?id={'d' * 32}&page=2&boxes=0.1%2C0.2%2C0.3%2C0.4%3B0.5%2C0.5%2C0.75%2C0.6&start=3&end=9"
    )
    assert "OCR 50%" in str(citation_chips(desk, [CITED]))


def test_hostile_text_stays_text_everywhere(desk: ConsoleContext) -> None:
    call = told("tool_call", id="c", name=EVIL, arguments={EVIL: [{EVIL: EVIL}, {EVIL: 1}]})
    turn = heard(
        told("route", path=EVIL),
        told("model", model=EVIL),
        told("fallback", left=EVIL, taken=EVIL, why=EVIL),
        call,
        told("tool_result", id="c", name=EVIL, error=EVIL),
        told("thinking", content=EVIL),
        told("citation", **CITED),
        told("plan", steps=[{"id": 1, "label": EVIL}]),
        told("text", content=f"{EVIL}\n- {EVIL} [1]\n```\n{EVIL}\n```"),
        told("error", code=EVIL, title=EVIL, detail=EVIL),
    )
    asked = {"tool": EVIL, "arguments": {EVIL: EVIL}, "reason": EVIL, "expires_at": EVIL}
    for made in (
        answer_section(desk, turn, EVIL),
        question_section(EVIL),
        decision_card(asked, True),
        decision_card(asked, False),
        value_view([EVIL]),
    ):
        assert "<img" not in made and not set("{}$`") & set(made)


def test_answers_are_set_as_their_writer_meant_them() -> None:
    made = render_markdown(
        "Two **things** [1]:\n- `one`\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend [7]", {1: "/console/x"}
    )
    assert "<b>things</b>" in made and made.count("<li>") == 2 and "<code>one</code>" in made
    assert made.count("<td>") == 2 and made.count("<th>") == 2
    assert 'href="/console/x"' in made and "end [7]" in made, "a mark without a citation is text"


def test_a_table_loses_no_cell_whatever_its_ruler_counts_and_ends_where_its_lines_end() -> None:
    """Models miscount columns: CommonMark readers drop a cell too many, and take the sentence below for a row."""
    made = render_markdown("| a | b |\n|---|---|\n| 1 | 2 | 3 |\nSo it is 3.")
    assert "<td>3</td></tr>" in made and "<p>So it is 3.</p>" in made
    assert render_markdown("| a | b | c |\n|---|---|\n| 1 | 2 | 3 |").count("<th>") == 3


def test_bold_words_and_names_with_underscores_are_read_in_every_script() -> None:
    made = render_markdown("**重要：**请看 `x`, __init__ and C:\\_x")
    assert "<b>重要：</b>" in made and "__init__" in made and "C:\\_x" in made


def test_values_are_tables_and_json_in_a_text_is_read() -> None:
    assert "<th" in value_view('{"ok": true, "rows": [{"a": 1}, {"a": 2}]}') and "{" not in value_view('{"ok": true}')
    assert "12,345" in value_view({"n": 12345}) and "more characters" in value_view("x" * 9000)
    assert "and 10 more" in value_view(list(range(60)))


def test_a_decision_sends_only_what_was_edited() -> None:
    asked = {"arguments": {"url": "http://a", "times": 3, "deep": {"x": 1}}}
    assert edited_arguments(asked, ["http://a", "3", '{"x": 1}']) is None
    assert edited_arguments(asked, ["http://b", "4", '{"x": 1}']) == {"url": "http://b", "times": 4, "deep": {"x": 1}}
    with pytest.raises(ApiProblem) as wrong:
        edited_arguments(asked, ["http://a", "many", '{"x": 1}'])
    assert "times" in wrong.value.told.title


ASKED = told(
    "input_required",
    input={
        "id": "i",
        "question": f"Which? {EVIL}",
        "options": [EVIL, "b"],
        "category": "selection",
        "expires_at": None,
    },
)


async def test_hi_06_a_question_is_shown_until_the_next_message_answers_it(desk: ConsoleContext) -> None:
    """HI-06: listening ends with it; what it says stays text; the answer takes it away."""

    async def stream() -> AsyncIterator[StreamEvent]:
        yield ASKED
        await asyncio.Event().wait()

    waiting = TurnProgress()
    assert len([one async for one in fold_stream(stream(), waiting, 0.01)]) == 1 and not waiting.over
    drawn = str(answer_section(desk, waiting, "Clerk"))
    assert "Your next message answers this" in drawn and EVIL not in drawn and drawn.count("<li>") == 2
    assert heard(ASKED, told("input_given", id="i", state="answered", reply="b")).asked is None


def test_hi_06_an_answer_to_a_question_is_an_exchange_of_its_own() -> None:
    """HI-06: the same run twice; its events are told with the last."""
    rows = [("user", "plan", "r1"), ("assistant", "Which?", "r1"), ("user", "b", "r1"), ("assistant", "b it is", "r1")]
    found = group_by_run([{"role": role, "text": text, "run_id": run} for role, text, run in rows], "keeper")
    assert [(one.question, one.turn.text) for one in found] == [("plan", "Which?"), ("b", "b it is")]
    assert [one.question for one in in_full(found)] == ["b"]


def test_messages_are_grouped_by_their_run() -> None:
    rows = [("user", "q1", "r1"), ("assistant", "a1", "r1"), ("user", "q2", "r2"), ("user", "q3", "r3")]
    found = group_by_run([{"role": role, "text": text, "run_id": run} for role, text, run in rows], "keeper")
    assert [(one.question, one.turn.run, one.turn.text) for one in found] == [
        ("q1", "r1", "a1"),
        ("q2", "r2", ""),
        ("q3", "r3", ""),
    ]


def test_an_answer_whose_page_was_corrected_since_says_so() -> None:
    asked = {"role": "user", "text": "When?", "run_id": "a", "corrected_at": None}
    said = {"role": "assistant", "text": "In May.", "run_id": "a", "corrected_at": "2026-01-02T03:04:05Z"}
    found = group_by_run([asked, said, asked | {"run_id": "b"}], "keeper")
    assert ["corrected since" in one.notice for one in found] == [True, False]
