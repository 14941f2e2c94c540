"""Delegation: another agent's turn in the same journal; three deep, no cycles, nothing more than is left."""

from dataclasses import replace
from typing import Any

import pytest

from cluster.models.messages import ChatRequest
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import AgentId, AgentSnapshot, Turn, TurnOutcome
from skills.framework.contract import CallEffect
from tests.fakes.agents import AGENT, Killed, MemoryJournal, ScriptedModels, calls, turn
from tests.fakes.crew import ASK, AUTO, FakeAgents, FakeTool, crew, hit

LAWYER = AgentSnapshot(AgentId("66666666-6666-4666-8666-666666666666"), "lawyer", "You know the law.")
CLERK = AgentSnapshot(AgentId("77777777-7777-4777-8777-777777777777"), "clerk", "You file.")
TO_LAWYER = calls(("delegate", {"agent": "lawyer", "task": "When does it end?"}))


class Named(ScriptedModels):
    """Lines by the system prompt that asks, as who pays is not who speaks."""

    def __init__(self, **lines: list[Any]) -> None:
        def say(asked: Turn, task: str, request: ChatRequest) -> Any:
            self.payers.append((asked.agent.id, asked.agent.config.get("budget_usd")))
            prompts = {"You are": "assistant", "You know": "lawyer", "You file": "clerk"}
            return lines[
                next(name for start, name in prompts.items() if request.messages[0].content.startswith(start))
            ].pop(0)

        super().__init__(otherwise=say)
        self.payers: list[tuple[str, Any]] = []


async def carried(with_crew: TurnServices, asked: Turn | None = None) -> tuple[TurnOutcome, MemoryJournal]:
    journal, asked = MemoryJournal(), asked or turn("Ask the lawyer")
    outcome = await run_conversation(asked, journal, with_crew)
    replayed = journal.again(replaying=True)
    assert await run_conversation(asked, replayed, replace(with_crew, models=ScriptedModels())) == outcome
    assert [(e.kind, e.data) for e in replayed.events] == [(e.kind, e.data) for e in journal.events]
    return outcome, journal


async def test_another_agent_answers() -> None:
    """EX-07: it sees only the task; its answer is a result; its events carry its name; the first agent pays."""
    models = Named(
        assistant=[TO_LAWYER, "The lawyer says May."], lawyer=['It ends in May [1: "The lease ends in May"].']
    )
    paying = turn("Ask the lawyer", config={"budget_usd": 5})
    with_crew = crew(models, hits=[hit("The lease ends in May.")], agents=FakeAgents(LAWYER))
    outcome, journal = await carried(with_crew, paying)
    assert outcome.answer == "The lawyer says May." and outcome.citations == ()
    result = journal.of(EventKind.TOOL_RESULT)[0]["result"]
    assert (result["agent"], result["answer"]) == ("lawyer", "It ends in May [1].")
    assert result["citations"] == [{"n": 1, "filename": "lease.pdf", "page": 2, "quote": "The lease ends in May"}]
    inner = models.asked[1][1].messages
    assert inner[0].content.startswith("You know the law.") and inner[-1].content == "When does it end?"
    assert {event.data.get("agent") for event in journal.events if event.kind is EventKind.MODEL} == {None, "lawyer"}
    assert journal.of(EventKind.CITATION) == [] and len(journal.of(EventKind.TEXT)) == 1
    assert models.payers == [(AGENT.id, 5)] * 3


async def test_an_agent_that_waits_makes_the_turn_wait() -> None:
    """EX-07: a call of the other agent is approved by a person; one journal resumes both turns."""
    tool = FakeTool(effect=CallEffect.WRITE)
    models = Named(assistant=[TO_LAWYER, "Filed."], lawyer=[calls(("note", {"text": "brief"})), "I filed the brief."])
    policy = ASK
    with_crew, asked, journal = (
        crew(models, tool, agents=FakeAgents(LAWYER), policy=policy),
        turn("go"),
        MemoryJournal(),
    )
    for _ in range(2):  # the delegation itself, then the note
        with pytest.raises(ApprovalPending):
            await run_conversation(asked, journal, with_crew)
        assert tool.ran == []
        journal.decide("approved")
        journal = journal.again()
    outcome = await run_conversation(asked, journal, with_crew)
    assert outcome.answer == "Filed." and len(tool.ran) == 1
    assert tool.ran[0].agent == LAWYER.id
    reasons = [data["approval"]["reason"] for data in journal.of(EventKind.APPROVAL_REQUIRED)]
    assert reasons[1].startswith("Delegated to lawyer.")


@pytest.mark.parametrize("number", range(1, 11))
@pytest.mark.parametrize("when", ["before", "between"])
async def test_a_kill_anywhere_changes_nothing(number: int, when: str) -> None:
    """EX-07: both turns go on where they were; a call has the same key at its repetition."""
    tool = FakeTool(effect=CallEffect.KEYED)

    def say(asked: Turn, task: str, request: ChatRequest) -> Any:
        inner = request.messages[0].content.startswith("You know")
        acted = any(message.role == "tool" for message in request.messages)
        if inner:
            return "I noted it." if acted else calls(("note", {"text": "brief"}))
        return "Done, says the lawyer." if acted else TO_LAWYER

    with_crew, asked = crew(ScriptedModels(otherwise=say), tool, agents=FakeAgents(LAWYER)), turn("go")
    journal = MemoryJournal(kill_at=(number, when))
    try:
        await run_conversation(asked, journal, with_crew)
    except Killed:
        journal = journal.again()
        await run_conversation(asked, journal, with_crew)
    assert journal.of(EventKind.TEXT)[-1]["text"] == "Done, says the lawyer."
    assert len({call.key for call in tool.ran}) == 1


async def test_nobody_delegates_back() -> None:
    """EX-07: cycles are refused, also through others; the refusal is an observation."""
    back = calls(
        ("delegate", {"agent": "assistant", "task": "you do it"}), ("delegate", {"agent": "lawyer", "task": "x"})
    )
    models = Named(
        assistant=[TO_LAWYER, "So."],
        lawyer=[calls(("delegate", {"agent": "clerk", "task": "file"})), "ok."],
        clerk=[back, "I cannot."],
    )
    _, journal = await carried(crew(models, agents=FakeAgents(AGENT, LAWYER, CLERK)))
    errors = [data["error"] for data in journal.of(EventKind.TOOL_RESULT) if data.get("error")]
    assert [error.split(":")[0] for error in errors] == ["cycle", "cycle"]


@pytest.mark.parametrize(("depth", "allowed"), [(0, True), (2, True), (3, False)])
async def test_three_deep_and_no_deeper(depth: int, allowed: bool) -> None:
    """EX-07: recursion max 3 levels."""
    models = Named(assistant=[TO_LAWYER, "So."], lawyer=["May."])
    _, journal = await carried(crew(models, agents=FakeAgents(LAWYER)), turn("go", depth=depth))
    assert (journal.of(EventKind.TOOL_RESULT)[0].get("result") is not None) is allowed
    if not allowed:
        assert journal.of(EventKind.TOOL_RESULT)[0]["error"].startswith("too_deep")


async def test_rounds_are_those_that_are_left() -> None:
    """EX-07: the other agent uses up the rounds of the one that delegates."""
    script = [calls(("note", {"text": str(at)})) for at in range(20)]
    models = Named(assistant=[TO_LAWYER, *script], lawyer=[*script])
    outcome, _ = await carried(crew(models, FakeTool(), agents=FakeAgents(LAWYER), max_rounds=6))
    assert outcome.finish_reason == "length"
    assert len(models.asked) == 6


async def test_who_is_not_there_is_an_observation() -> None:
    """EX-07: unknown agents, and bad arguments."""
    models = Named(
        assistant=[calls(("delegate", {"agent": "nobody", "task": "x"}), ("delegate", {"agent": "lawyer"})), "So."]
    )
    _, journal = await carried(crew(models, agents=FakeAgents(LAWYER), policy=AUTO))
    first, second = journal.of(EventKind.TOOL_RESULT)
    assert first["error"].startswith("not_found") and second["error"].startswith("bad_arguments")
