"""What a client demands of a turn, on scripted models: a call, or an answer in a form; else an error, never a text."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from cluster.basics.errors import AosError, Invalid
from cluster.models.chat.response_format import ResponseForm
from cluster.models.messages import ModelMessage
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.response_demand import (
    ANSWER,
    NotCalled,
    NotInForm,
    answer_tool,
    form_of,
    read_demanded_answer,
)
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.turn.agent_loop import LAST, TurnServices
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn_ports import Turn, TurnOutcome
from tests.fakes.agents import MemoryJournal, ScriptedModels, calls, turn
from tests.fakes.crew import FakeTool, crew, hit

SEND = {"name": "send_mail", "description": "Sends.", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "ids": {"type": "array"}}, "required": ["n"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "count", "schema": SCHEMA, "strict": True}}
SENT = ({"id": "c1", "name": "send_mail", "arguments": {}},)
WRITTEN = "ACTION: send_mail\nACTION_INPUT: {}"


def demanding(choice: Any = None, response_format: Mapping[str, Any] | None = None, **other: Any) -> Turn:
    """A turn as the HTTP layer makes it of a request with these fields."""
    tools = [] if choice is None else [SEND]
    text = None if response_format is None else json.dumps(response_format)
    form = form_of(text)
    tools += [] if form is None else [answer_tool(form)]
    options = {"tools": tools, "tool_choice": choice, "response_format": text}
    return turn("Tell them", options={name: value for name, value in options.items() if value}, **other)


async def ran(models: ScriptedModels, asked: Turn, *tools: FakeTool, **other: Any) -> tuple[TurnOutcome, MemoryJournal]:
    """Carried out, and walked again from the record with the same end."""
    journal, with_crew = MemoryJournal(), crew(models, *tools, **other)
    outcome = await run_conversation(asked, journal, with_crew)
    assert await again(journal, asked, with_crew) == outcome
    return outcome, journal


async def again(journal: MemoryJournal, asked: Turn, with_crew: TurnServices) -> TurnOutcome:
    return await run_conversation(asked, journal.again(replaying=True), replace(with_crew, models=ScriptedModels()))


async def failed(models: ScriptedModels, asked: Turn, *tools: FakeTool) -> tuple[AosError, MemoryJournal]:
    journal, with_crew = MemoryJournal(), crew(models, *tools)
    with pytest.raises((NotCalled, NotInForm)) as error:
        await run_conversation(asked, journal, with_crew)
    with pytest.raises(type(error.value)):
        await again(journal, asked, with_crew)
    assert journal.of(EventKind.TEXT) == [] and journal.pieces == [], "a text that was not asked for is not shown"
    return error.value, journal


@pytest.mark.parametrize("choice", ["required", "send_mail"])
async def test_a_demanded_call_is_asked_for_natively(choice: str) -> None:
    """GW-04, TC-01: the provider is told; the call is handed over."""
    models = ScriptedModels(calls(("send_mail", {}), ids=["c1"]))
    outcome, _ = await ran(models, demanding(choice), FakeTool())
    assert (outcome.finish_reason, outcome.tool_calls) == ("tool_calls", SENT)
    assert [request.tool_choice for _, request in models.asked] == [choice]


@pytest.mark.parametrize("native", [True, False])
async def test_a_model_that_only_talks_is_told_once_more(native: bool) -> None:
    """GW-04, TC-02: one re-prompt; then the call, natively or in text."""
    call = calls(("send_mail", {}), ids=["c1"]) if native else WRITTEN
    models = ScriptedModels("I will send it at once.", call, supports_tools=native)
    outcome, journal = await ran(models, demanding("required"), FakeTool())
    assert outcome.finish_reason == "tool_calls" and outcome.answer == "" and journal.of(EventKind.TEXT) == []
    assert outcome.tool_calls[0]["name"] == "send_mail"
    first, second = (request for _, request in models.asked)
    assert second.messages[-2] == ModelMessage("assistant", "I will send it at once.")
    assert "did not call one of the tools send_mail" in second.messages[-1].content
    assert [request.tool_choice for request in (first, second)] == (["required"] * 2 if native else [None] * 2)
    assert ("you have to call" in first.messages[0].content) is not native, "what no field says, the prompt does"
    assert {"step": "demand", "code": "tool_not_called", "unmet": "it had to call one of the tools send_mail"} in (
        outcome.trace
    )
    assert len(journal.of(EventKind.USAGE)) == 2, "both replies are paid for"


@pytest.mark.parametrize(("choice", "what"), [("required", "one of the tools send_mail"), ("send_mail", "send_mail")])
async def test_a_model_that_never_calls_is_an_error(choice: str, what: str) -> None:
    error, journal = await failed(ScriptedModels("No.", "Still no."), demanding(choice), FakeTool())
    assert (error.code, error.status) == ("tool_not_called", 502) and what in error.detail
    assert len(journal.of(EventKind.USAGE)) == 2
    error, _ = await failed(ScriptedModels("No."), demanding(choice, config={"max_iterations": 1}), FakeTool())
    assert error.code == "tool_not_called", "without a round left nobody is asked again"


async def test_the_agents_own_tools_are_on_the_way_not_the_end() -> None:
    """EX-09: what the client cannot see does not settle what it demands; a turn without its tools is settled so."""
    tool = FakeTool()
    models = ScriptedModels(calls(("note", {})), "Noted.", calls(("send_mail", {}), ids=["c1"]))
    outcome, _ = await ran(models, demanding("required"), tool)
    assert outcome.tool_calls == SENT and len(tool.ran) == 1
    assert [request.tool_choice for _, request in models.asked] == ["required"] * 3
    own = turn("Note it", options={"tool_choice": "note"})
    models = ScriptedModels("Well.", calls(("note", {})), "It is noted.")
    outcome, _ = await ran(models, own, FakeTool())
    assert (outcome.answer, outcome.finish_reason) == ("It is noted.", "stop")
    assert [request.tool_choice for _, request in models.asked] == ["note", "note", None]


async def test_the_last_round_does_not_forbid_what_is_demanded() -> None:
    models = ScriptedModels("No.", calls(("send_mail", {}), ids=["c1"]))
    await ran(models, demanding("required", config={"max_iterations": 2}), FakeTool())
    assert all(message.content != LAST for message in models.asked[1][1].messages)


ONE = '{"n": 1, "ids": [1]}'


@pytest.mark.parametrize(
    "reply",
    [
        ONE,
        f"```json\n{ONE}\n```",
        f"Here it is:\n```\n{ONE}\n```\nAnything else?",
        f"<think>{{}}</think>\n{ONE}",
        calls((ANSWER, ONE), text="I answer."),
    ],
)
@pytest.mark.parametrize("response_format", [FORMAT, {"type": "json_object"}])
async def test_an_answer_in_its_form_is_the_text(reply: Any, response_format: Mapping[str, Any]) -> None:
    """GW-04, EX-08: bare, fenced, or as a call; passages are there, and what looks like a mark of one stays."""
    outcome, journal = await ran(ScriptedModels(reply), demanding(None, response_format), hits=[hit("A passage.")])
    assert (outcome.answer, outcome.finish_reason, outcome.tool_calls) == (ONE, "stop", ())
    assert [data["text"] for data in journal.of(EventKind.TEXT)] == [ONE] and outcome.citations == ()


async def test_a_form_is_promised_natively_and_said_in_words() -> None:
    models = ScriptedModels(ONE)
    await ran(models, demanding(None, FORMAT), FakeTool())
    request = models.asked[0][1]
    assert request.form == ResponseForm(SCHEMA, "count", True, ANSWER)
    assert [tool.name for tool in request.tools] == ["note", ANSWER] and request.tool_choice is None
    assert '"required": ["n"]' in request.messages[0].content and "citation" in request.messages[0].content


async def test_a_model_held_to_a_form_could_not_write_a_call() -> None:
    """TC-06: where calls are text, a provider is asked for the form only if there is nothing to call."""
    for tools, form in (((FakeTool(),), False), ((), True)):
        models = ScriptedModels(f"FINAL ANSWER: {ONE}", supports_tools=False)
        outcome, _ = await ran(models, demanding(None, FORMAT), *tools)
        assert outcome.answer == ONE and (models.asked[0][1].form is not None) is form


@pytest.mark.parametrize(
    "bad", ["It is one.", '{"n": "many"}', "[1]", '{"n": 1', '{"n": NaN}', '{"n": 1e999}', calls((ANSWER, {"n": "x"}))]
)
async def test_one_repair_and_then_an_error(bad: Any) -> None:
    """EX-08: the flaw is told; an answer that has it again is none."""
    models = ScriptedModels(bad, ONE)
    outcome, journal = await ran(models, demanding(None, FORMAT), FakeTool())
    assert outcome.answer == ONE and len(journal.of(EventKind.USAGE)) == 2
    assert "not the answer in the form" in models.asked[1][1].messages[-1].content
    error, journal = await failed(ScriptedModels(bad, bad), demanding(None, FORMAT), FakeTool())
    assert (error.code, error.status) == ("answer_not_in_form", 502) and error.detail
    assert journal.of(EventKind.CITATION) == []


async def test_a_flawed_call_is_answered_as_a_call() -> None:
    """Providers want a result for each call; the flaw is that result."""
    models = ScriptedModels(calls((ANSWER, {"n": "x"}), ids=["a1"]), calls((ANSWER, {"n": 2}), ids=["a1"]))
    outcome, _ = await ran(models, demanding(None, FORMAT))
    said, result = models.asked[1][1].messages[-2:]
    assert said.tool_calls[0].id == result.tool_call_id == "a1" and "n: 'x' is not of type 'integer'" in result.content
    assert outcome.answer == '{"n": 2}'


async def test_tools_run_before_the_answer_takes_its_form() -> None:
    tool = FakeTool(answer="seven")
    models = ScriptedModels(calls(("note", {"text": "?"}), (ANSWER, {"n": 0})), calls((ANSWER, {"n": 7})))
    outcome, _ = await ran(models, demanding(None, FORMAT), tool)
    assert outcome.answer == '{"n": 7}' and len(tool.ran) == 1, "an answer beside a call is no answer yet"
    assert models.asked[1][1].messages[-1].content == "seven"


async def test_the_last_round_is_for_the_answer() -> None:
    models = ScriptedModels(calls(("note", {})), calls((ANSWER, {"n": 7})))
    await ran(models, demanding(None, FORMAT, config={"max_iterations": 2}), FakeTool())
    assert [request.tool_choice for _, request in models.asked] == [None, ANSWER]


async def test_a_call_and_a_form_are_both_demanded() -> None:
    """The call comes first: an answer in its form is none before it."""
    models = ScriptedModels(calls((ANSWER, {"n": 1})), calls(("send_mail", {}), ids=["c1"]))
    outcome, _ = await ran(models, demanding("required", FORMAT))
    assert outcome.tool_calls == SENT


async def test_an_answer_that_looks_like_a_call_is_an_answer() -> None:
    named = '{"name": "Ada", "arguments": {"for": "poetry"}}'
    outcome, _ = await ran(ScriptedModels(named), demanding(None, {"type": "json_object"}), FakeTool())
    assert outcome.answer == named


async def test_a_schema_that_cannot_be_followed_ends_the_turn() -> None:
    lost = {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}
    asked = demanding(None, {"type": "json_schema", "json_schema": {"name": "x", "schema": lost}})
    with pytest.raises(Invalid, match="not in it"):
        await run_conversation(asked, MemoryJournal(), crew(ScriptedModels('{"a": 1}')))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@examples(st.dictionaries(st.text(), JSON, max_size=4))
def test_every_object_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    text, flaw = read_demanded_answer(ResponseForm(), json.dumps(value), ParsedReply())
    assert flaw is None and json.loads(text) == value


@settings(max_examples=60)
@examples(st.text(alphabet='{}[]",:n1`json \n', max_size=60))
def test_what_is_read_has_the_form_or_a_flaw(content: str) -> None:
    text, flaw = read_demanded_answer(ResponseForm(SCHEMA), content, ParsedReply(answer=content))
    assert (flaw is None) == (text != "")
    if flaw is None:
        assert isinstance(json.loads(text)["n"], int)
