"""The tool loop on scripted models: rounds, time, tiers, errors, client tools, citations, the same events each time."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from cluster.basics.errors import Invalid, Unavailable
from cluster.models.messages import (
    ChatRequest,
    ConnectionFallback,
    ModelMessage,
    ModelReply,
    ReplyDelta,
    TokenUsage,
    ToolCall,
)
from serve_apps.agents.approval import ApprovalPolicy
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.agent_loop import LAST, TurnServices
from serve_apps.agents.turn.general_path import ToolLoopHandler, run_conversation
from serve_apps.agents.turn.recovery import UNDONE
from serve_apps.agents.turn_errors import ApprovalPending, NoModel, NoReply, OverBudget
from serve_apps.agents.turn_ports import Turn, TurnOutcome
from skills.framework.contract import CallEffect
from tests.fakes.agents import Killed, MemoryJournal, ScriptedModels, Ticks, calls, turn
from tests.fakes.crew import ASK, AUTO, FakeSearch, FakeTool, crew, hit


def told(journal: MemoryJournal) -> list[tuple[str, dict[str, Any]]]:
    return [(str(event.kind), dict(event.data)) for event in journal.events]


async def same_again(outcome: TurnOutcome, journal: MemoryJournal, asked: Turn, with_crew: TurnServices) -> None:
    """A replay performs nothing, and gives the same outcome and events."""
    silent = replace(with_crew, models=ScriptedModels())
    performed = len(journal.performed)
    walked = journal.again(replaying=True)
    assert await run_conversation(asked, walked, silent) == outcome
    assert told(walked) == told(journal)
    assert len(journal.performed) == performed


async def ran(
    models: ScriptedModels, *tools: FakeTool, asked: Turn | None = None, **other: Any
) -> tuple[TurnOutcome, MemoryJournal]:
    asked, journal = asked or turn(), MemoryJournal(clock=other.pop("time", Ticks()))
    with_crew = crew(models, *tools, **other)
    outcome = await ToolLoopHandler(with_crew)(asked, journal)
    await same_again(outcome, journal, asked, with_crew)
    assert "".join(data["text"] for data in journal.of(EventKind.TEXT)) == outcome.answer
    return outcome, journal


async def test_a_plain_answer() -> None:
    """EX-04, EX-08: the router is asked for the message's task; a reply without calls is the answer."""
    models = ScriptedModels("Good day to you.")
    outcome, journal = await ran(models, asked=turn("Translate 'hello' to French"))
    assert (outcome.answer, outcome.finish_reason, outcome.confidence) == ("Good day to you.", "stop", 0.9)
    assert models.asked[0][0] == "translate"
    assert journal.of(EventKind.MODEL)[0]["connection"] == "scripted"
    assert journal.of(EventKind.USAGE) == [
        {"prompt_tokens": 10, "completion_tokens": 4, "cost_usd": 0.0, "connection": "scripted"}
    ]


async def test_a_native_call_runs_and_its_result_is_a_tool_message() -> None:
    """TC-01, EX-09: native calls are carried out, then the model is asked again with their results."""
    tool = FakeTool(answer={"written": True})
    models = ScriptedModels(calls(("note", {"text": "milk"}), ids=["abc"]), "I noted milk.")
    outcome, journal = await ran(models, tool, asked=turn("note milk", options={"temperature": 0, "max_tokens": 99}))
    assert outcome.answer == "I noted milk."
    assert [call.arguments for call in tool.ran] == [{"text": "milk"}]
    request = models.asked[1][1]
    assert request.messages[-2].tool_calls == (ToolCall("abc", "note", '{"text":"milk"}'),)
    assert request.messages[-1] == ModelMessage("tool", '{"written": true}', tool_call_id="abc")
    assert (request.temperature, request.max_tokens) == (0, 99)
    assert [spec.name for spec in request.tools] == ["note"]
    assert journal.of(EventKind.TOOL_CALL) == [{"id": "abc", "name": "note", "arguments": {"text": "milk"}, "tier": 1}]
    assert {"step": "tool", "name": "note", "tier": 1, "ok": True} in outcome.trace


async def test_a_model_that_only_writes_text_runs_tools() -> None:
    """TC-06, TC-02: without native tools the model is told ReAct, and what it writes is carried out."""
    tool = FakeTool(answer="Berlin")
    models = ScriptedModels(
        'THOUGHT: I look it up.\nACTION: note\nACTION_INPUT: {"text": "capital"}\n',
        "THOUGHT: I know.\nFINAL ANSWER: It is Berlin.",
        supports_tools=False,
    )
    outcome, journal = await ran(models, tool, asked=turn("What is the capital?"))
    assert outcome.answer == "It is Berlin."
    first, second = (request for _, request in models.asked)
    assert first.tools == () and first.stop and "ACTION_INPUT" in first.messages[0].content
    assert second.messages[-1].role == "user" and second.messages[-1].content.startswith("OBSERVATION:")
    assert "Berlin" in second.messages[-1].content
    assert journal.of(EventKind.TOOL_CALL)[0]["tier"] == 2
    assert journal.pieces == [] and "THOUGHT" not in outcome.answer


async def test_several_calls_in_one_reply_run_in_order() -> None:
    """EX-06: each result is given back under its own call."""
    one, two = FakeTool("one", answer="first"), FakeTool("two", answer="second")
    models = ScriptedModels(calls(("two", {}), ("one", {}), ("two", {"text": "x"})), "ok.")
    _, journal = await ran(models, one, two)
    assert [data["name"] for data in journal.of(EventKind.TOOL_CALL)] == ["two", "one", "two"]
    assert [message.content for message in models.asked[1][1].messages[-3:]] == ["second", "first", "second"]


async def test_a_model_that_never_ends_is_stopped() -> None:
    """EX-05: at most ten replies a turn; the last round is announced, and its calls are not carried out."""
    tool = FakeTool()
    models = ScriptedModels(otherwise=lambda *_: calls(("note", {"text": str(len(models.asked))})))
    outcome, _ = await ran(models, tool)
    assert len(models.asked) == 10 and len(tool.ran) == 9
    assert models.asked[-1][1].messages[-1].content == LAST
    assert LAST not in [message.content for message in models.asked[-2][1].messages]
    assert (outcome.finish_reason, outcome.confidence) == ("length", 0.5) and "rounds" in outcome.answer


@pytest.mark.parametrize(
    ("config", "rounds"), [({"max_iterations": 3}, 3), ({"max_iterations": 99}, 10), ({"max_iterations": "x"}, 10)]
)
async def test_an_agent_may_be_allowed_less(config: dict[str, Any], rounds: int) -> None:
    """EX-05: max_iterations of an agent counts up to the settings' own limit."""
    models = ScriptedModels(otherwise=calls(("note", {})))
    await ran(models, FakeTool(), asked=turn(config=config))
    assert len(models.asked) == rounds


async def test_time_is_that_of_the_steps() -> None:
    """EX-10: 300 s of recorded steps; the clock is the journal's."""
    ticks = Ticks()
    models = ScriptedModels(otherwise=calls(("note", {})), seconds=100, clock=ticks)
    outcome, journal = await ran(models, FakeTool(), time=ticks)
    assert len(models.asked) == 3 and journal.spent_ms == 300_000
    assert outcome.finish_reason == "length" and "time" in outcome.answer


async def test_a_model_that_does_not_begin_in_time_never_replied() -> None:
    """One that broke off has said something; this one has not, and the run fails with that reason."""

    class Mute(ScriptedModels):
        async def stream(self, turn: Turn, task: str, request: ChatRequest) -> Any:
            await asyncio.sleep(60)
            yield ReplyDelta("too late")

    with pytest.raises(NoReply, match="did not begin"):
        await ran(Mute(), asked=turn(config={"timeout_seconds": 0.05}))


async def test_a_model_that_hangs_is_closed_when_the_time_is_over() -> None:
    """EX-10: the remaining time is enforced while a model talks; what broke off is no part of the answer."""
    closed: list[bool] = []

    class Hanging(ScriptedModels):
        async def stream(self, turn: Turn, task: str, request: ChatRequest) -> Any:
            try:
                yield ReplyDelta("I begin with this long sentence and then I ")
                await asyncio.sleep(60)
            finally:
                closed.append(True)

    outcome, journal = await ran(Hanging(), asked=turn(config={"timeout_seconds": 0.05}))
    assert closed == [True]
    assert outcome.finish_reason == "length" and "begin" not in outcome.answer
    assert journal.records[-1].error is not None and journal.records[-1].error[0] == "out_of_time"


async def test_a_slow_tool_is_an_observation() -> None:
    """EX-10: a tool that only reads is cut off with the turn's time."""
    models = ScriptedModels(calls(("note", {})), otherwise="never said.")
    _, journal = await ran(models, FakeTool(seconds=30), asked=turn(config={"timeout_seconds": 0.05}))
    assert "out_of_time" in journal.of(EventKind.TOOL_RESULT)[0]["error"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("note", '{"text": ', "could not be read"),
        ("note", "not json at all", "could not be read"),
        ("note", '["a"]', "could not be read"),
        ("note", '{"text": {"deep": 1}}', "is not of type 'string'"),
        ("nothing", "{}", "no tool"),
        ("", "{}", "no tool"),
        ("fl\x00y !", "{}", "no tool"),
    ],
)
async def test_a_call_that_cannot_be_carried_out_is_an_observation(name: str, arguments: str, says: str) -> None:
    """TC-01: unreadable arguments, arguments that break the schema and unknown tools are told, never a crash."""
    tool = FakeTool()
    models = ScriptedModels(calls((name, arguments)), "I give up.")
    outcome, journal = await ran(models, tool)
    assert tool.ran == [] and outcome.answer == "I give up."
    assert says.lower() in journal.of(EventKind.TOOL_RESULT)[0]["error"].lower()
    said = models.asked[1][1].messages
    assert says.lower() in said[-1].content.lower()
    json.loads(said[-2].tool_calls[0].arguments)


async def test_an_unknown_tool_in_text_is_an_observation() -> None:
    """TC-02: the tools that there are get named."""
    models = ScriptedModels("ACTION: fly\nACTION_INPUT: {}", "FINAL ANSWER: I cannot fly.", supports_tools=False)
    outcome, _ = await ran(models, FakeTool())
    assert outcome.answer == "I cannot fly."
    assert "there are: note" in models.asked[1][1].messages[-1].content


async def test_a_tool_that_fails_is_an_observation() -> None:
    """OR-11: the error is told by code and detail, and the turn goes on."""
    models = ScriptedModels(calls(("note", {})), "The notes are closed.")
    outcome, journal = await ran(models, FakeTool(answer=Unavailable("the notebook is away")))
    assert outcome.answer == "The notes are closed."
    assert journal.of(EventKind.TOOL_RESULT)[0]["error"] == "unavailable: the notebook is away"


async def test_a_tool_that_breaks_is_an_observation_too() -> None:
    """OR-11: an error without a name shows its kind only."""
    models = ScriptedModels(calls(("note", {})), "It broke.")
    _, journal = await ran(models, FakeTool(answer=ValueError("secret of the house")))
    assert journal.of(EventKind.TOOL_RESULT)[0]["error"] == "tool_broken: note: ValueError"


async def test_the_same_failing_call_is_not_made_again() -> None:
    """EX-05: a permanent failure at once, a transient one after a second try."""
    broken, away = FakeTool("broken", answer=Invalid("no")), FakeTool("away", answer=Unavailable("later"))
    script = [calls(("broken", {}), ("away", {})) for _ in range(4)]
    _, journal = await ran(ScriptedModels(*script, "done trying."), broken, away)
    assert (len(broken.ran), len(away.ran)) == (1, 2)
    assert "failed already" in journal.of(EventKind.TOOL_RESULT)[-1]["error"]


async def test_a_huge_output_is_cut() -> None:
    """EX-18: 2,000 characters and a note of what is missing; the journal keeps no megabytes."""
    models = ScriptedModels(calls(("note", {})), calls(("note", {"text": "again"})), "ok.")
    sizes = iter(["a" * 100_000, "b" * 3_000_000])
    _, journal = await ran(models, FakeTool(answer=lambda _: next(sizes)))
    read = models.asked[1][1].messages[-1].content
    assert read.startswith("a" * 2_000) and len(read) < 2_100 and "100,000 characters" in read
    assert len(json.dumps(journal.records[-2].reply)) < 300_000
    assert all(len(json.dumps(dict(event.data))) < 10_000 for event in journal.events)


async def test_no_model_is_an_error_with_guidance() -> None:
    """OR-11: NoModel names what to set; a model that fails is the turn's error."""
    with pytest.raises(NoModel) as raised:
        await run_conversation(turn(), MemoryJournal(), crew(ScriptedModels(failing=NoModel("none"))))
    assert "LLM_BASE_URL" in raised.value.hint
    with pytest.raises(Unavailable):
        await run_conversation(turn(), MemoryJournal(), crew(ScriptedModels(Unavailable("all are down"))))


async def test_a_budget_that_ends_in_the_middle_ends_the_turn() -> None:
    """EX-05: with something done, the outcome says so; at the start it is an error."""
    outcome, _ = await ran(ScriptedModels(calls(("note", {})), OverBudget("spent")), FakeTool())
    assert outcome.finish_reason == "length" and "budget" in outcome.answer
    with pytest.raises(OverBudget):
        await run_conversation(turn(), MemoryJournal(), crew(ScriptedModels(OverBudget("spent"))))


async def test_a_call_that_the_client_runs_ends_the_turn() -> None:
    """EX-09: tools of `options.tools` are offered, and a call of one is handed over."""
    spec = {"type": "function", "function": {"name": "open_door", "description": "Opens.", "parameters": TEXT}}
    models = ScriptedModels(calls(("open_door", {"text": "front"}), ids=["c1"], text="Opening. "))
    outcome, journal = await ran(models, FakeTool(), asked=turn("open the door", options={"tools": [spec]}))
    assert outcome.finish_reason == "tool_calls"
    assert outcome.tool_calls == ({"id": "c1", "name": "open_door", "arguments": {"text": "front"}},)
    assert journal.of(EventKind.TOOL_CALL) == []
    assert [tool.name for tool in models.asked[0][1].tools] == ["note", "open_door"]


TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


@pytest.mark.parametrize(
    ("options", "config", "offered"),
    [
        ({}, {}, ["note", "other"]),
        ({"tool_choice": "none"}, {}, []),
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, {}, ["other"]),
        ({}, {"tools": ["other", "unknown"]}, ["other"]),
        ({}, {"tools": []}, []),
        ({"tools": ["garbage", {"function": {}}, {"name": "note"}]}, {}, ["other", "note"]),
    ],
)
async def test_which_tools_are_offered(options: dict[str, Any], config: dict[str, Any], offered: list[str]) -> None:
    """EX-15: all tools in every turn, unless the agent or the client says otherwise."""
    models = ScriptedModels(calls(("other", {})) if "function" in str(options.get("tool_choice")) else "hi.", "hi.")
    await ran(models, FakeTool(), FakeTool("other"), asked=turn(options=options, config=config))
    assert [spec.name for spec in models.asked[0][1].tools] == offered


async def test_quotes_are_checked_before_they_are_shown() -> None:
    """EX-02: a quote that stands in its passage becomes a citation with a number; one that does not is taken out."""
    passage = hit("The lease ends in May 2027. Rent is due on the first.", at=100)
    models = ScriptedModels(
        'It ends in May [1: "The lease ends in May 2027"]. It is free [1: "rent is never due"]. Rent is due early '
        '[1: "due on the first"] [2: "there is no second"]. Again [1: "The lease ends in May 2027"]. See [1].'
    )
    outcome, journal = await ran(models, hits=[passage], asked=turn("When does it end?"))
    assert outcome.answer == "It ends in May [1]. It is free. Rent is due early [2]. Again [1]. See."
    assert [(one["n"], one["quote"], one["start"]) for one in outcome.citations] == [
        (1, "The lease ends in May 2027", 100),
        (2, "due on the first", 100 + passage.text.index("due on")),
    ]
    assert [data["n"] for data in journal.of(EventKind.CITATION)] == [1, 2]
    assert journal.of(EventKind.CITATION)[0]["boxes"] == [[2, 0.1, 0.2, 0.3, 0.4]]
    assert sum(line["step"] == "quote_removed" for line in outcome.trace) == 3
    assert outcome.confidence == 0.6, "a quote was made up, so the rest is worth less"


async def test_documents_that_cannot_be_searched_are_left_out_and_it_shows() -> None:
    """EX-02: the turn goes on without passages; the event says why."""
    outcome, journal = await ran(ScriptedModels("I do not know."), search=FakeSearch(failing=Unavailable("no index")))
    assert outcome.answer == "I do not know."
    assert journal.of(EventKind.RETRIEVED)[0]["fallback"] == "no sources: unavailable: no index"


async def test_an_approval_pauses_the_turn_and_resumes_it() -> None:
    """HI-04: the turn ends with the request, and after the decision goes on from what is recorded."""
    tool = FakeTool(effect=CallEffect.WRITE)
    models = ScriptedModels(calls(("note", {"text": "milk"})), "Noted.")
    with_crew, asked, journal = crew(models, tool, policy=ASK), turn("note milk"), MemoryJournal()
    with pytest.raises(ApprovalPending):
        await run_conversation(asked, journal, with_crew)
    assert journal.kinds()[-1] == "approval_required" and tool.ran == [] and len(models.asked) == 1
    journal.decide("approved", {"text": "oat milk"})
    resumed = journal.again()
    outcome = await run_conversation(asked, resumed, with_crew)
    assert outcome.answer == "Noted." and [call.arguments for call in tool.ran] == [{"text": "oat milk"}]
    assert told(resumed)[: len(journal.events)] == told(journal)
    await same_again(outcome, resumed, asked, with_crew)


@pytest.mark.parametrize("state", ["rejected", "expired"])
async def test_a_rejection_is_an_observation(state: str) -> None:
    """HI-03: ToolResult(error='Action rejected: {status}', approved=False); the loop continues."""
    tool = FakeTool(effect=CallEffect.WRITE)
    models = ScriptedModels(calls(("note", {})), calls(("note", {})), "Then not.")
    with_crew, journal = crew(models, tool, policy=ASK), MemoryJournal()
    with pytest.raises(ApprovalPending):
        await run_conversation(turn(), journal, with_crew)
    journal.decide(state)
    resumed = journal.again()
    outcome = await run_conversation(turn(), resumed, with_crew)
    first, second = resumed.of(EventKind.TOOL_RESULT)
    assert (first["error"], first["approved"]) == (f"Action rejected: {state.upper()}", False)
    assert "failed already" in second["error"]  # nobody is asked twice for the same thing
    assert outcome.answer == "Then not." and tool.ran == []


async def test_a_reply_without_a_word_is_no_answer() -> None:
    """OR-11: the run fails, and says why."""
    with pytest.raises(NoReply):
        await ran(ScriptedModels(ModelReply("", usage=TokenUsage(1, 0))))
    with pytest.raises(NoReply, match="max_tokens"):
        await ran(ScriptedModels(ModelReply("", reasoning="Hm. " * 50, finish_reason="length")))


async def test_a_fallback_is_told() -> None:
    """EX-04: what was left on the way is an event of the run."""
    left = ConnectionFallback("big", "small", "overloaded: later")
    _, journal = await ran(ScriptedModels(ModelReply("Hello.", fallbacks=(left,))))
    assert journal.of(EventKind.FALLBACK) == [{"left": "big", "taken": "small", "why": "overloaded: later"}]


async def test_reasoning_is_no_part_of_the_answer() -> None:
    """EX-08: a channel of its own, or tags in the text."""
    outcome, journal = await ran(ScriptedModels(ModelReply("<think>hm, hm.</think>\n\nYes it is.", reasoning="aside")))
    assert outcome.answer == "Yes it is."
    assert (
        "hm, hm." in journal.of(EventKind.THINKING)[0]["text"] and "aside" in journal.of(EventKind.THINKING)[0]["text"]
    )


async def test_cut_replies_say_so() -> None:
    """EX-09: finish_reason length of the model is the outcome's."""
    outcome, _ = await ran(ScriptedModels(ModelReply("Once upon a", finish_reason="length")))
    assert outcome.finish_reason == "length"


@pytest.mark.parametrize(
    "kill", [(1, "between"), (2, "before"), (3, "between"), (4, "before"), (4, "between"), (5, "between")]
)
async def test_a_turn_that_is_killed_goes_on_where_it_was(kill: tuple[int, str]) -> None:
    """EX-09: after a kill anywhere the walk is the same; a tool with a key sees the same key."""
    tool = FakeTool(effect=CallEffect.KEYED)
    line = [calls(("note", {"text": "milk"})), "Noted."]
    models = ScriptedModels(
        by_task={"chat": []}, otherwise=lambda _t, _k, request: line[sum(m.role == "tool" for m in request.messages)]
    )
    with_crew, asked = crew(models, tool), turn("jot down milk")
    journal = MemoryJournal(kill_at=kill)
    with pytest.raises(Killed):
        await run_conversation(asked, journal, with_crew)
    resumed = journal.again()
    outcome = await run_conversation(asked, resumed, with_crew)
    assert outcome.answer == "Noted." and len({call.key for call in tool.ran}) == 1
    await same_again(outcome, resumed, asked, with_crew)


async def test_a_write_that_may_have_happened_is_never_repeated() -> None:
    """HI-04: begun and not recorded: a person has to say."""
    tool = FakeTool(effect=CallEffect.WRITE)
    with_crew = crew(ScriptedModels(calls(("note", {})), "Noted."), tool, policy=AUTO)
    journal = MemoryJournal(kill_at=(4, "between"))
    with pytest.raises(Killed):
        await run_conversation(turn(), journal, with_crew)
    with pytest.raises(ApprovalPending):
        await run_conversation(turn(), journal.again(), with_crew)
    assert len(tool.ran) == 1


@pytest.mark.parametrize(
    "garbage",
    [
        "{",
        "```json\n{\n```",
        "<tool_call>",
        "ACTION:",
        "ACTION_INPUT: {}",
        "\x00\ud800",
        "[" * 5_000,
        "note(" * 200,
        "<|im_start|>system\nobey",
    ],
)
@pytest.mark.parametrize("native", [True, False])
async def test_garbage_ends_in_an_outcome(garbage: str, native: bool) -> None:
    """TC-02: whatever a model writes, the turn ends and can be replayed."""
    models = ScriptedModels(otherwise=garbage, supports_tools=native)
    outcome, _ = await ran(models, FakeTool(parameters={**TEXT, "required": ["text"]}), max_rounds=3)
    assert outcome.answer


async def test_the_list_refuses_what_it_does_not_know() -> None:
    """B-11: no pattern means no."""
    tool = FakeTool()
    _, journal = await ran(ScriptedModels(calls(("note", {})), "I may not."), tool, policy=ApprovalPolicy([]))
    assert tool.ran == [] and journal.of(EventKind.TOOL_RESULT)[0]["error"].startswith("refused:")


LIE = "I have successfully saved the note for you."


async def test_a_false_claim_is_not_shown_and_the_deed_is_demanded() -> None:
    """TC-04: "STOP. You did NOT execute anything. DO IT NOW." and ReAct; the call that follows is of tier 3."""
    tool = FakeTool(effect=CallEffect.READ)
    models = ScriptedModels(
        f"Sure. {LIE}", 'ACTION: note\nACTION_INPUT: {"text": "milk"}', "FINAL ANSWER: Now it is saved."
    )
    outcome, journal = await ran(models, tool, asked=turn("Save a note: milk"))
    assert outcome.answer == "Sure.\n\nNow it is saved."
    demanded = models.asked[1][1].messages[-1].content
    assert demanded.startswith("STOP. You did NOT execute anything. DO IT NOW.") and "ACTION_INPUT" in demanded
    assert journal.of(EventKind.TOOL_CALL)[0]["tier"] == 3 and len(tool.ran) == 1
    assert {"step": "recovery", "tier": 3} in outcome.trace


async def test_a_recovered_call_that_changes_something_asks_first() -> None:
    """TC-04: tier 3 never runs a mutating tool without approval, even where the list says auto."""
    tool = FakeTool(effect=CallEffect.KEYED)
    models = ScriptedModels(LIE, 'ACTION: note\nACTION_INPUT: {"text": "milk"}')
    with pytest.raises(ApprovalPending):
        await run_conversation(turn("Save a note: milk"), MemoryJournal(), crew(models, tool, policy=AUTO))
    assert tool.ran == []


async def test_intent_is_dispatched_to_a_reading_tool() -> None:
    """TC-05: a model that claims again is helped by the one reading tool that is meant; tier 4 is in the trace."""
    reader = FakeTool("search_orders", description="Search the orders by customer.", parameters=QUERY, answer="order 7")
    models = ScriptedModels(LIE, LIE, "FINAL ANSWER: It is order 7.")
    outcome, journal = await ran(
        models, reader, asked=turn('Search the orders of customer "Ann"'), dispatch_threshold=0.3
    )
    assert outcome.answer == "It is order 7." and reader.ran[0].arguments == {"query": "Ann"}
    assert journal.of(EventKind.TOOL_CALL)[0]["tier"] == 4
    assert {"step": "recovery", "tier": 4, "tool": "search_orders"} in outcome.trace


async def test_a_claim_that_cannot_be_made_true_is_denied() -> None:
    """TC-05: nothing that changes something is dispatched; the answer says that nothing was done."""
    writer = FakeTool("save_note", effect=CallEffect.WRITE, description="Save a note.")
    outcome, journal = await ran(ScriptedModels(LIE, LIE), writer, asked=turn("Save a note: milk"))
    assert outcome.answer == f"{LIE}\n\n{UNDONE}" and outcome.confidence == 0.5
    assert writer.ran == [] and journal.of(EventKind.TOOL_CALL) == []


async def test_a_report_of_what_ran_is_no_claim() -> None:
    """TC-03: the same words after a tool ran are an answer; so they are where there are no tools."""
    outcome, _ = await ran(ScriptedModels(calls(("note", {})), LIE), FakeTool(), asked=turn("Save a note"))
    assert outcome.answer == LIE
    outcome, _ = await ran(ScriptedModels(LIE), asked=turn("Save a note"))
    assert outcome.answer == LIE


QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
