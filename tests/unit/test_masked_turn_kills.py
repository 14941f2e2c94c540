"""A turn whose answer is masked, killed at any write: what is shown is the same, and nothing of what is planted."""

from dataclasses import replace
from typing import Any

import pytest

from cluster.models.messages import ChatRequest
from pipelines.documents.privacy.answer_rules import AnswerRule, rules_to_json
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.encode import StreamCursor
from serve_apps.agents.streams.masked_answer import ANSWERS
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn_ports import Turn, TurnOutcome
from tests.fakes.agents import ScriptedModels, calls, turn
from tests.fakes.crew import FakeTool, crew, hit
from tests.fakes.record import Killed, MemoryRecord, journal_on

PLANTED = ("ann.planted@example.org", "4111 1111 1111 1111")
ANSWER = (
    f'The lease was signed by {PLANTED[0]} who paid with {PLANTED[1]}. It ends in May [1: "The lease ends in May"].'
)
RULES = rules_to_json([AnswerRule("mask")])
ASKED = replace(turn("Who signed?"), options={**turn("Who signed?").options, ANSWERS: RULES})


def say(asked: Turn, task: str, request: ChatRequest) -> Any:
    """A call whose argument holds a value, then the answer."""
    acted = any(message.role == "tool" for message in request.messages)
    return ANSWER if acted else calls(("note", {"text": PLANTED[0]}))


def world() -> tuple[TurnServices, FakeTool]:
    tool = FakeTool()
    return crew(ScriptedModels(otherwise=say), tool, hits=[hit("The lease ends in May.")]), tool


async def to_the_end(record: MemoryRecord, services: TurnServices, shown: list[Event]) -> TurnOutcome:
    for _ in range(30):
        del shown[:]
        journal = journal_on(record, shown=shown)
        journal.mask_answer(ASKED)
        try:
            return journal.shown_outcome(await run_conversation(ASKED, journal, services))
        except Killed:
            record.kill_before = record.kill_after = None
    raise AssertionError("it never ends")


def read(events: list[Event]) -> str:
    """The answer as a reader puts it together, piece by piece."""
    cursor = StreamCursor()
    return "".join(fresh for one in events if (fresh := cursor.take(one)) and one.kind is EventKind.TEXT)


async def test_gv_04_a_masked_turn_that_is_killed_goes_on_the_same() -> None:
    """GV-04: the tool gets the value, the reader a mask; a walk over the record shows what the first one showed."""
    services, tool = world()
    calm, shown = MemoryRecord(), list[Event]()
    first = await to_the_end(calm, services, shown)
    assert first.answer == read(shown) and "[email]" in first.answer and "[card]" in first.answer
    assert dict(first.personal_data) == {"masked": {"card": 1, "email": 1}}
    assert [value for value in PLANTED if any(value in str(one.data) for one in shown)] == []
    assert [call.arguments["text"] for call in tool.ran] == [PLANTED[0]], "the tool was given what it needs"
    for write in range(1, calm.writes + 1):
        for after in (True, False):
            record, again = MemoryRecord(), list[Event]()
            record.kill_after, record.kill_before = (write, None) if after else (None, write)
            outcome = await to_the_end(record, world()[0], again)
            assert (outcome.answer, outcome.personal_data) == (first.answer, first.personal_data)
            assert read(again) == first.answer and [value for value in PLANTED if value in str(again)] == []
            assert [one.data for one in record.events] == [one.data for one in calm.events][: len(record.events)]


@pytest.mark.parametrize("options", [{}, {ANSWERS: []}])
async def test_without_rules_nothing_is_masked(options: dict[str, Any]) -> None:
    services, _ = world()
    plain = replace(turn("Who signed?"), options={**turn("Who signed?").options, **options})
    journal = journal_on(MemoryRecord())
    journal.mask_answer(plain)
    outcome = journal.shown_outcome(await run_conversation(plain, journal, services))
    assert PLANTED[0] in outcome.answer and outcome.personal_data == {}
