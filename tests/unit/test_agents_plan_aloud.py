"""A planned answer is shown while it is written: read out of JSON, its quotes checked, and never taken back."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.basics.errors import Unavailable
from cluster.models.messages import ModelReply
from serve_apps.agents.events import EventKind
from serve_apps.agents.planning.aloud import AnswerReader
from serve_apps.agents.planning.planned_path import GeneralHandler
from serve_apps.agents.planning.synthesis import NO_INFORMATION
from tests.fakes.agents import MemoryJournal, ScriptedModels, turn
from tests.fakes.crew import FakeTool, crew
from tests.unit.test_agents_general import LEASE, QUOTED, Sleeps, act, carry, do, plan, reasoned, ruled, scripted


def first(answer: str, adequacy: str = "sufficient", confidence: float = 0.8) -> str:
    """A reply in the order that is asked for."""
    found = {"context_adequacy": adequacy, "confidence": confidence, "answer": answer, "steps": []}
    return json.dumps(found, ensure_ascii=True)


def pieces_of(journal: MemoryJournal) -> list[tuple[str, int]]:
    """Each TEXT with how much of it was shown before it."""
    return [(str(one.data["text"]), one.sent) for one in journal.events if one.kind is EventKind.TEXT]


@given(
    st.text(max_size=40), st.lists(st.integers(0, 400), max_size=6), st.booleans(), st.sampled_from(["", "```json\n"])
)
def test_an_answer_is_read_out_of_json_however_it_is_cut(text: str, cuts: list[int], escaped: bool, lead: str) -> None:
    """ST-02: escapes and pairs of them may be torn anywhere."""
    said = json.dumps(text, ensure_ascii=escaped)
    raw = f'{lead}{{ "context_adequacy": "sufficient", "answer" : {said}, "steps": ["x"]}}'
    places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    reader = AnswerReader(lambda adequacy: adequacy == "sufficient")
    shown = "".join(reader.feed(raw[start:end]) for start, end in pairwise(places))
    assert shown == reader.text == text.replace("\0", "\ufffd") and reader.opened


@pytest.mark.parametrize(
    "raw",
    [
        '{"answer": "early", "context_adequacy": "insufficient"}',
        '{"context_adequacy": "insufficient", "answer": "no"}',
        '{"steps": ["a"], "answer": "after what is not known"}',
        'Just prose with "answer": "x"',
        '["answer"]',
        '{"nested": {"answer": "x"}}',
        "x" * 3_000 + '{"context_adequacy": "sufficient", "answer": "late"}',
    ],
)
def test_nothing_is_shown_before_it_is_known_that_it_counts(raw: str) -> None:
    """EX-13: what is insufficient, or may turn out to be, waits until all is read."""
    reader = AnswerReader(lambda adequacy: adequacy == "sufficient")
    assert "".join(reader.feed(one) for one in raw) == "" and not reader.opened


async def test_pl_01_the_last_step_s_answer_is_streamed_with_its_quotes_checked() -> None:
    """PL-01, ST-02: pieces as they come, marks numbered, a false quote taken out; a replay tells the same."""
    answer = f'{QUOTED} The rent is 1 euro [1: "The rent is 1 euro"]. That is all.'
    models = scripted(plan(do("r", "retrieval"), do("a")), reasoning=[first(answer)])
    asked = turn("Plan it: when does it end, and what is the rent?")
    outcome, journal = await carry(models, asked, FakeTool(), hits=[LEASE])
    expected = "It ends in May [1]. The rent is 1 euro. That is all."
    assert outcome.answer == expected and pieces_of(journal) == [(expected, len(expected))]
    assert [one["n"] for one in journal.of(EventKind.CITATION)] == [1]
    (removed,) = [one for one in outcome.trace if one["step"] == "quote_removed"]
    assert removed["quote"] == "The rent is 1 euro" and outcome.confidence <= 0.6
    again = journal.again(replaying=True)
    silent = GeneralHandler(crew(ScriptedModels(), FakeTool(), hits=[LEASE]), Sleeps())
    assert await silent(asked, again) == outcome
    assert [(one.kind, one.data) for one in again.events] == [(one.kind, one.data) for one in journal.events]


async def test_what_is_insufficient_is_not_shown() -> None:
    """EX-13: with passages, an answer that they do not suffice for is none."""
    models = scripted(plan(do("a")), reasoning=[first("I guess it ends in June.", "insufficient")])
    outcome, journal = await carry(models, turn("When?"), FakeTool(), hits=[LEASE])
    assert outcome.answer == NO_INFORMATION and pieces_of(journal) == [(NO_INFORMATION, 0)]


async def test_an_answer_in_another_order_comes_whole() -> None:
    """As before: the keys stand in the model's hand."""
    models = scripted(plan(do("a")), reasoning=[reasoned(QUOTED)])
    outcome, journal = await carry(models, turn("When?"), FakeTool(), hits=[LEASE])
    assert outcome.answer == "It ends in May [1]." and pieces_of(journal) == [(outcome.answer, 0)]
    assert len([task for task, _ in models.asked if task == "reasoning"]) == 1


async def test_a_draft_that_is_reviewed_is_not_shown_and_its_revision_is() -> None:
    """PL-07: only the last word is streamed."""
    review = {"verdict": "needs_revision", "confidence": 0.9, "revision_instructions": "shorter"}
    models = scripted(
        plan(do("a"), do("c", "critique")),
        reasoning=[first("A long draft of it."), json.dumps(review), first("Short and good.")],
    )
    outcome, journal = await carry(models, turn("Write it"), FakeTool())
    assert outcome.answer == "Short and good." and pieces_of(journal) == [("Short and good.", 15)]


async def test_a_reply_that_breaks_off_behind_what_was_shown_stays_the_answer() -> None:
    """RE-01: it is not asked for again, and nobody vouches for it."""
    cut = ModelReply(first("It ends in May. It surely does. And th")[:-16], finish_reason="length")
    models = scripted(plan(do("a")), reasoning=[cut])
    outcome, journal = await carry(models, turn("When?"), FakeTool())
    assert outcome.answer.startswith("It ends in May. It surely does.") and len(pieces_of(journal)) == 1
    assert len([task for task, _ in models.asked if task == "reasoning"]) == 1 and outcome.confidence <= 0.6


async def test_a_model_that_fails_in_the_last_step_takes_back_what_it_said() -> None:
    """ST-03: the reader is told that the text broke off; the step is tried again."""

    class Failing(ScriptedModels):
        async def stream(self, turn_: Any, task: str, request: Any) -> Any:
            at = 0
            async for said in super().stream(turn_, task, request):
                at += 1
                if task == "reasoning" and len([one for one, _ in self.asked if one == task]) == 1 and at > 12:
                    raise Unavailable("it broke")
                yield said

    models = Failing(by_task={"planning": [plan(do("a"))], "reasoning": [first("First try. " * 9), first("Second.")]})
    journal = MemoryJournal()
    outcome = await GeneralHandler(crew(models, FakeTool()), Sleeps())(turn("Write"), journal)
    assert outcome.answer == "Second." and pieces_of(journal) == [("Second.", 7)]
    assert {"text": "The reply broke off: unavailable."} in journal.of(EventKind.THINKING)


async def test_notices_follow_a_streamed_answer() -> None:
    """EX-13: as a text of their own, so that the answer is the beginning of all that was told."""
    models = scripted(
        plan(act("n"), do("a")), plan(), review=[ruled("REPLAN")], reasoning=[first("Done as far as it went.")]
    )
    outcome, journal = await carry(models, turn("Do it"), FakeTool(), max_replans=0)
    texts = pieces_of(journal)
    assert texts[0] == ("Done as far as it went.", 23) and texts[1][0].startswith("\n\nNote: ")
    assert outcome.answer == "".join(text for text, _ in texts)
