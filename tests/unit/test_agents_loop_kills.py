"""The loop on the journal that runs have: killed at any write, approved, edited, replayed."""

from typing import Any

import pytest

from cluster.models.messages import ChatRequest
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import Turn, TurnOutcome
from skills.framework.contract import CallEffect
from tests.fakes.agents import MemoryJournal, ScriptedModels, calls, turn
from tests.fakes.crew import ASK, FakeAgents, FakeTool, crew, hit
from tests.fakes.record import Killed, MemoryRecord, journal_on
from tests.unit.test_agents_delegate import LAWYER

ASKED = turn("Note the end of the lease")


def say(asked: Turn, task: str, request: ChatRequest) -> Any:
    """A function of what it is shown: two notes by a lawyer, one of its own, an answer with a quote."""
    acted = sum(message.role == "tool" for message in request.messages)
    if request.messages[0].content.startswith("You know"):
        return "Noted by the lawyer." if acted else calls(("note", {"text": "law"}))
    if acted == 0:
        return calls(("delegate", {"agent": "lawyer", "task": "note it"}))
    if acted == 1:
        return calls(("note", {"text": "mine"}))
    return 'It ends in May [1: "The lease ends in May"]. All is noted.'


def world(effect: CallEffect) -> tuple[TurnServices, FakeTool]:
    tool = FakeTool(effect=effect)
    hits = [hit("The lease ends in May.")]
    return crew(ScriptedModels(otherwise=say), tool, hits=hits, agents=FakeAgents(LAWYER), policy=ASK), tool


async def walk(record: MemoryRecord, with_crew: TurnServices) -> TurnOutcome | None:
    """One owner takes the run up; None where it died or a person has to decide."""
    try:
        return await run_conversation(ASKED, journal_on(record), with_crew)
    except (Killed, ApprovalPending):
        return None


async def to_the_end(record: MemoryRecord, with_crew: TurnServices) -> TurnOutcome:
    for _ in range(30):
        outcome = await walk(record, with_crew)
        if outcome is not None:
            return outcome
        pending = [one for one in record.asked.values() if one.state == "pending"]
        if pending and pending[0].wanted.category == "reconcile":
            record.decide("approved", {"found": "run"})
        elif pending:
            record.decide("approved")
    raise AssertionError("it never ends")


def told(events: list[Event]) -> list[tuple[str, Any]]:
    return [(str(event.kind), event.data) for event in events]


async def test_the_same_turn_on_both_journals() -> None:
    """EX-09: the journal of the fakes and the one that runs have tell the same."""
    shown: list[Event] = []
    live, memory = journal_on(MemoryRecord(), shown=shown), MemoryJournal()
    with_crew = crew(
        ScriptedModels(*['It ends [1: "The lease ends in May"].'] * 2), hits=[hit("The lease ends in May.")]
    )
    assert await run_conversation(ASKED, live, with_crew) == await run_conversation(ASKED, memory, with_crew)
    assert told([event for event in shown if not event.piece]) == told(memory.events)


@pytest.mark.parametrize("effect", [CallEffect.READ, CallEffect.KEYED, CallEffect.WRITE])
@pytest.mark.parametrize("after", [True, False])
async def test_killed_at_any_write(effect: CallEffect, after: bool) -> None:
    """HI-04: approved once is carried out once, whatever dies; the events are those of a run nobody killed."""
    calm = MemoryRecord()
    with_crew, tool = world(effect)
    outcome = await to_the_end(calm, with_crew)
    assert outcome.answer == "It ends in May [1]. All is noted." and len(tool.ran) == 2
    for write in range(1, calm.writes + 1):
        record = MemoryRecord(**{"kill_after" if after else "kill_before": write})
        with_crew, tool = world(effect)
        assert await to_the_end(record, with_crew) == outcome
        assert [call.arguments["text"] for call in tool.ran].count("mine") >= 1
        assert len({call.key for call in tool.ran}) == 2
        reconciled = any(one.wanted.category == "reconcile" for one in record.asked.values())
        if not reconciled:
            assert effect is CallEffect.KEYED or len(tool.ran) == 2, "one yes allows one call"
            assert told(record.events) == told(calm.events)[: len(record.events)]


async def test_a_rejection_in_the_run_of_another_agent() -> None:
    """HI-03: the agent that is told no goes on, and so does the one above."""
    with_crew, tool = world(CallEffect.WRITE)
    record = MemoryRecord()
    for decision in ("approved", "rejected", "rejected"):  # the delegation, the lawyer's note, our own
        assert await walk(record, with_crew) is None
        record.decide(decision)
    outcome = await walk(record, with_crew)
    assert outcome is not None and outcome.answer.startswith("It ends in May") and tool.ran == []
    results = [event.data for event in record.events if event.kind is EventKind.TOOL_RESULT]
    assert [one.get("error") for one in results] == ["Action rejected: REJECTED", None, "Action rejected: REJECTED"][
        : len(results)
    ]
