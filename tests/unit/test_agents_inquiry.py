"""HI-06: what a person's words decide, and a turn that ends with a question and goes on with the answer."""

import json
from typing import Any

import pytest

from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.inquiries.inquiry import AGAIN, NAME, NOBODY, inquiring
from serve_apps.agents.inquiries.reply_intent import Intent, chosen, intent_of
from serve_apps.agents.planning.planned_path import GeneralHandler
from serve_apps.agents.streams.collect import ReplyCollector
from serve_apps.agents.streams.completions import CompletionChunks, completion_body
from serve_apps.agents.streams.encode import is_last, s3, s4
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import AgentId, AgentSnapshot, Turn, TurnOutcome
from skills.framework.catalogue import ToolCatalog
from tests.fakes.agents import MemoryJournal, ScriptedModels, calls, turn
from tests.fakes.crew import FakeAgents, FakeTool, crew

PERSON = {"person": True}


@pytest.mark.parametrize(
    ("reply", "intent"),
    [
        ("Yes, please!", Intent.APPROVE),
        ("ok, go ahead", Intent.APPROVE),
        ("Mach das bitte.", Intent.APPROVE),
        ("don't do it", Intent.REJECT),
        ("Don’t do it!", Intent.REJECT),
        ("no, don't do it", Intent.REJECT),
        ("mach das nicht", Intent.REJECT),
        ("Nein danke", Intent.REJECT),
        ("no, use Berlin instead", Intent.REQUEST_CHANGES),
        ("yes, but only the first one", Intent.REQUEST_CHANGES),
        ("Change the date to May", Intent.REQUEST_CHANGES),
        ("no problem, go ahead", Intent.UNCLEAR),
        ("don't stop", Intent.UNCLEAR),
        ("do not hesitate, approve", Intent.UNCLEAR),
        ("yes no", Intent.UNCLEAR),
        ("I am not sure", Intent.UNCLEAR),
        ("yes I guess, if you must", Intent.UNCLEAR),
        ("not yet", Intent.UNCLEAR),
        ("please", Intent.UNCLEAR),
        ("", Intent.UNCLEAR),
    ],
)
def test_b_12_words_decide_by_whole_phrases_and_a_no_comes_first(reply: str, intent: Intent) -> None:
    """B-12: "don't do it" is no approval, and what is no whole phrase decides nothing."""
    assert intent_of(reply) is intent


def test_an_option_is_chosen_by_its_text_or_its_number() -> None:
    """HI-06: anything else chooses none."""
    options = ["Berlin", "New York", "berlin west"]
    assert [chosen(said, options) for said in ("berlin", "2", "option 3", " New  York. ", "4", "York", "0")] == [
        "Berlin",
        "New York",
        "berlin west",
        "New York",
        None,
        None,
        None,
    ]


def asking(category: str = "clarification", question: str = "Which city?", **more: Any) -> Any:
    return calls((NAME, {"question": question, "category": category, **more}), ids=["q"])


async def carried(asked: Turn, journal: MemoryJournal, with_crew: TurnServices) -> TurnOutcome | None:
    """None where it waits."""
    try:
        return await run_conversation(asked, journal, with_crew)
    except ApprovalPending:
        return None


def given(journal: MemoryJournal) -> dict[str, Any]:
    (result,) = journal.of(EventKind.TOOL_RESULT)
    return dict(result)


async def test_hi_06_a_question_ends_the_turn_and_the_answer_goes_on_with_it() -> None:
    """HI-06: the generator ends; the walk after the answer asks no model anew, and the reply is the tool's result."""
    models = ScriptedModels(asking(options=["Berlin", "Rome"]), "Berlin it is.")
    asked, with_crew, journal = turn("Plan my trip", options=PERSON), crew(models, FakeTool()), MemoryJournal()
    assert await carried(asked, journal, with_crew) is None
    assert [one["input"]["question"] for one in journal.of(EventKind.INPUT_REQUIRED)] == ["Which city?"]
    assert journal.events[-1].kind is EventKind.INPUT_REQUIRED and len(models.asked) == 1
    journal.decide("approved", {"reply": "Berlin, in May"})
    again = journal.again()
    outcome = await carried(asked, again, with_crew)
    assert outcome is not None and outcome.answer == "Berlin it is."
    assert given(again)["result"] == {"reply": "Berlin, in May"} and len(models.asked) == 2
    assert json.loads(models.asked[1][1].messages[-1].content) == {"reply": "Berlin, in May"}


@pytest.mark.parametrize(("said", "intent"), [("go ahead", "approve"), ("don't do it", "reject")])
async def test_a_yes_or_no_is_read_by_rule(said: str, intent: str) -> None:
    """HI-06, B-12: the model gets the intent; it allows no tool by itself."""
    models = ScriptedModels(asking("confirmation", "Shall I?"), "Understood.")
    asked, with_crew, journal = turn("Do", options=PERSON), crew(models, FakeTool()), MemoryJournal()
    await carried(asked, journal, with_crew)
    journal.decide("approved", {"reply": said})
    again = journal.again()
    assert await carried(asked, again, with_crew) is not None
    assert given(again)["result"] == {"reply": said, "intent": intent}


async def test_what_is_unclear_is_asked_once_more_and_then_told_as_unclear() -> None:
    """HI-06: two questions at the most."""
    models = ScriptedModels(asking("approval", "Shall I?"), "I leave it.")
    asked, with_crew, journal = turn("Do", options=PERSON), crew(models, FakeTool()), MemoryJournal()
    await carried(asked, journal, with_crew)
    journal.decide("approved", {"reply": "hm, well"})
    again = journal.again()
    assert await carried(asked, again, with_crew) is None
    assert again.of(EventKind.INPUT_REQUIRED)[-1]["input"]["question"] == f"{AGAIN} Shall I?"
    again.decide("approved", {"reply": "who knows"})
    last = again.again()
    assert await carried(asked, last, with_crew) is not None
    assert given(last)["result"] == {"reply": "who knows", "intent": "unclear"}


async def test_a_selection_has_options_and_names_the_chosen_one() -> None:
    """HI-06: without options it is a flaw, told to the model."""
    models = ScriptedModels(asking("selection"), asking("team_selection", options=["red", "blue"]), "Blue then.")
    asked, with_crew, journal = turn("Pick", options=PERSON), crew(models, FakeTool()), MemoryJournal()
    await carried(asked, journal, with_crew)
    assert "options" in given(journal)["error"]
    journal.decide("approved", {"reply": "2"})
    again = journal.again()
    assert await carried(asked, again, with_crew) is not None
    assert again.of(EventKind.TOOL_RESULT)[-1]["result"] == {"reply": "2", "selected": "blue"}


async def test_a_question_that_nobody_answered_is_told_to_the_model() -> None:
    """HI-06, X-37: the turn goes on without an answer."""
    models = ScriptedModels(asking(), "I assume Berlin.")
    asked, with_crew, journal = turn("Plan", options=PERSON), crew(models, FakeTool()), MemoryJournal()
    await carried(asked, journal, with_crew)
    journal.decide("expired")
    again = journal.again()
    assert await carried(asked, again, with_crew) is not None
    assert given(again)["error"].startswith("unanswered")


@pytest.mark.parametrize("options", [{}, {"person": False}])
async def test_without_a_person_it_is_not_offered_and_a_call_is_a_flaw(options: dict[str, Any]) -> None:
    """HI-06: schedules and MCP have nobody to ask; the model is told so and goes on."""
    models = ScriptedModels(asking(), "I assume Berlin.")
    journal, with_crew = MemoryJournal(), crew(models, FakeTool())
    outcome = await run_conversation(turn("Plan", options=options), journal, with_crew)
    assert NAME not in [spec.name for spec in models.asked[0][1].tools]
    assert given(journal)["error"] == NOBODY and outcome.answer == "I assume Berlin."


async def test_an_answer_that_has_a_form_is_not_broken_by_a_question() -> None:
    """HI-06: whoever wants JSON cannot show a question."""
    asked = turn("Plan", options={**PERSON, "response_format": "{}"})
    assert NAME not in inquiring(ToolCatalog([FakeTool()]), asked, MemoryJournal())
    assert NAME in inquiring(ToolCatalog([FakeTool()]), turn("Plan", options=PERSON), MemoryJournal())


async def test_whom_a_task_is_delegated_to_cannot_ask() -> None:
    """HI-06: also where the delegating turn could."""
    models = ScriptedModels(
        calls(("delegate", {"agent": "scout", "task": "find out"}), ids=["d"]), asking(), "I know nothing.", "Well."
    )
    scout = AgentSnapshot(AgentId("77777777-7777-4777-8777-777777777777"), "scout", "You look things up.")
    with_crew = crew(models, FakeTool(), agents=FakeAgents(scout))
    asked, journal = turn("Ask the scout", options=PERSON), MemoryJournal()
    outcome = await run_conversation(asked, journal, with_crew)
    assert outcome.answer == "Well." and journal.of(EventKind.INPUT_REQUIRED) == []
    offered = [[spec.name for spec in request.tools] for _, request in models.asked]
    assert NAME in offered[0] and NAME not in offered[1] and NAME in offered[3]
    assert any(one.get("error") == NOBODY for one in journal.of(EventKind.TOOL_RESULT))


async def test_the_shipped_list_lets_it_ask() -> None:
    """HI-06: configs/approvals.yaml has it; a question needs no approval of its own."""
    models = ScriptedModels(asking(), "Fine.")
    asked, journal = turn("Plan", options=PERSON), MemoryJournal()
    assert await carried(asked, journal, crew(models, FakeTool(), policy=None)) is None
    assert journal.of(EventKind.INPUT_REQUIRED)


async def test_a_planned_turn_may_ask_too() -> None:
    """HI-06, PL-01: the tool is one of those that a plan has."""
    offered: list[str] = []

    def look(_: Turn, task: str, request: Any) -> str:
        offered.append(request.messages[0].content + request.messages[-1].content)
        return "A direct answer."

    models = ScriptedModels(otherwise=look)
    asked = turn("Compare the three offers and then write a summary of each, step by step", options=PERSON)
    await GeneralHandler(crew(models, FakeTool(), planning_enabled=True))(asked, MemoryJournal())
    assert any(NAME in one for one in offered)


ASKED = Event(
    4,
    EventKind.INPUT_REQUIRED,
    {"input": {"id": "i1", "question": "Which?", "category": "selection", "options": ["a", "b"], "expires_at": None}},
)


def test_every_stream_shows_the_question_and_ends_with_it() -> None:
    """HI-06: S3 by its own name, S4 with `requires_input`, OpenAI's as the text of a completion that stopped."""
    assert is_last(ASKED)
    first, second = s3(ASKED, ""), s4(ASKED, "")
    assert first is not None and second is not None
    assert (first.type, first.content) == ("awaiting_input", "Which?\n1. a\n2. b")
    assert second.data == {"requires_input": True, "input_request": ASKED.data["input"]} and second.is_final
    chunks = list(CompletionChunks("c", "m", 1).add(ASKED, ""))
    assert chunks[0]["choices"][0]["delta"]["content"] == "Which?\n1. a\n2. b"
    assert chunks[0]["aos"]["input"]["id"] == "i1" and chunks[-1]["choices"][0]["finish_reason"] == "stop"
    found = ReplyCollector()
    found.add(ASKED)
    body = completion_body(found, "c", "m", 1)
    assert body["choices"][0]["message"]["content"] == "Which?\n1. a\n2. b" and body["aos"]["input"]["id"] == "i1"
    found.add(Event(5, EventKind.INPUT_GIVEN, {"id": "i1", "state": "answered", "reply": "a"}))
    assert found.input is None
