"""Replays, frozen turns, and the outlet to a reader."""

import asyncio
import gc
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from cluster.models.messages import (
    ChatRequest,
    ConnectionFallback,
    ModelMessage,
    ModelReply,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from cluster.state.canonical_json import dump_canonical
from cluster.state.work.run_queries import RunRecording
from cluster.state.work.run_record import RunEvent, RunState
from pipelines.documents.privacy.answer_rules import AnswerRule, rules_to_json
from serve_apps.agents.durable.message_codec import reply_from_json, reply_to_json, request_to_json
from serve_apps.agents.durable.replay import Replayer, replay_recording
from serve_apps.agents.durable.run_loop import done_data, emit_opening
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.intake.turn import dump_turn, load_turn
from serve_apps.agents.streams.masked_answer import ANSWERS
from serve_apps.agents.streams.subscriber import EventQueue
from serve_apps.agents.turn.general_path import ToolLoopHandler
from serve_apps.agents.turn_errors import ApprovalPending
from serve_apps.agents.turn_ports import AgentId, Journal, Said, Turn, TurnOutcome, TurnPath
from skills.framework.builtin import BASE
from tests.fakes.agents import SCOPE, MemoryJournal, ScriptedModels, turn
from tests.fakes.crew import FakeTool, crew
from tests.fakes.model_requests import request_from_json
from tests.fakes.record import MemoryRecord, journal_on

ACT = ToolSpec("act", "Acts.", {"type": "object", "properties": {"to": {"type": "string"}}})
CALLS = ModelReply("", (ToolCall("c1", "act", '{"to": "b"}'),), "tool_calls")


class Models:
    """Says its lines; a replay that asks it is no replay."""

    def __init__(self, *lines: ModelReply) -> None:
        self.lines = list(lines)
        self.asked: list[tuple[Turn, ChatRequest]] = []

    async def say(self, turn: Turn, request: ChatRequest) -> AsyncIterator[Said]:
        self.asked.append((turn, request))
        if not self.lines:
            raise Unavailable("no network here")
        yield self.lines.pop(0)


def agent(models: Models) -> Any:
    """A model, an approved tool, a model."""

    async def handle(turn: Turn, journal: Journal) -> TurnOutcome:
        system = ModelMessage("system", turn.agent.system_prompt)
        request = ChatRequest((system, ModelMessage("user", turn.message)), (ACT,))
        journal.emit(EventKind.STATUS, state="thinking")
        (*_, said) = [item async for item in journal.stream("chat", request, lambda: models.say(turn, request))]
        assert isinstance(said, ModelReply)
        arguments = await journal.ask("act", {"to": "b"}, "it acts")

        async def perform(key: str) -> Any:
            assert models.lines, "a replay performs nothing"
            return {"key": key}

        result = await journal.step("tool", "act", arguments, perform)
        journal.emit(EventKind.TOOL_RESULT, id="c1", result=result)
        (*_, said) = [item async for item in journal.stream("chat", request, lambda: models.say(turn, request))]
        assert isinstance(said, ModelReply)
        journal.emit(EventKind.TEXT, text=said.content)
        return TurnOutcome(said.content)

    return handle


async def recorded(state: RunState = RunState.COMPLETED) -> RunRecording:
    """An undisturbed run as the runner would have left it."""
    record, subject = MemoryRecord(), turn("go")
    handler = agent(Models(CALLS, ModelReply("All done.", usage=TokenUsage(5, 2), cost_usd=0.1)))
    for _ in range(2):
        events: list[Event] = []
        journal = journal_on(record, subject.run, events)
        emit_opening(subject, journal)
        try:
            outcome = await handler(subject, journal)
        except ApprovalPending:
            if state is RunState.WAITING:
                break
            record.decide("approved")
        else:
            journal.emit(EventKind.DONE, **done_data(outcome, journal))
    told = tuple(RunEvent(event.seq, event.kind, event.data) for event in events)
    return RunRecording(subject.run, state, "general", 7, 1, dump_turn(subject), tuple(record.steps.values()), told)


class Shelf:
    def __init__(self, recording: RunRecording) -> None:
        self.recording_ = recording

    async def recording(self, scope: Any, run: str) -> RunRecording:
        return self.recording_


async def test_a_replay_tells_the_same_events_and_performs_nothing() -> None:
    recording = await recorded()
    models = Models()
    report = await replay_recording(recording, agent(models))
    assert (report.same, report.events, report.steps, models.asked) == (True, len(recording.events), 4, [])


async def test_a_replay_of_a_run_that_waits_ends_where_it_waits() -> None:
    recording = await recorded(RunState.WAITING)
    report = await replay_recording(recording, agent(Models()))
    assert (report.same, report.events) == (True, len(recording.events))


async def test_a_walk_that_ends_early_leaves_nothing_for_asyncio_to_complain_of() -> None:
    """Regression: each replay of a run that waits, or with another model, logged a task with its exception."""
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    recording = await recorded(RunState.WAITING)
    assert (await replay_recording(recording, agent(Models()))).same
    gc.collect()
    assert complaints == []


async def test_a_run_that_broke_off_stored_a_beginning_of_what_is_told_again() -> None:
    recording = await recorded()
    broken = replace(recording, state=RunState.INTERRUPTED, steps=recording.steps[:3], events=recording.events[:4])
    assert (await replay_recording(broken, agent(Models()))).same


async def test_a_replay_names_the_first_step_or_event_that_differs() -> None:
    recording = await recorded()
    other = replace(recording, input={**recording.input, "message": "something else"})
    diverged = (await replay_recording(other, agent(Models()))).diverged
    assert diverged is not None
    assert (diverged.step, diverged.name) == (1, "chat")
    forged = list(recording.events)
    forged[5] = replace(forged[5], payload={**forged[5].payload, "more": 1})
    diverged = (await replay_recording(replace(recording, events=tuple(forged)), agent(Models()))).diverged
    assert diverged is not None
    assert (diverged.step, diverged.event) == (None, 6)
    for events in (recording.events[:-1], (*recording.events, RunEvent(99, "status", {}))):
        assert not (await replay_recording(replace(recording, events=events), agent(Models()))).same


@pytest.mark.parametrize(
    ("lines", "step"),
    [
        ([CALLS, ModelReply("In other words: done.")], None),
        ([ModelReply('```json\n{"name": "act", "arguments": {"to": "b"}}\n```'), ModelReply("Done.")], None),
        ([ModelReply("", (ToolCall("x", "act", '{"to":"c"}'),)), ModelReply("Done.")], 1),
        ([ModelReply("I would rather not.")], 1),
        ([CALLS, CALLS], 4),
    ],
)
async def test_another_model_is_asked_and_its_first_other_decision_is_told(
    lines: list[ModelReply], step: int | None
) -> None:
    models = Models(*lines, ModelReply("never said"))
    replayer = Replayer(Shelf(await recorded()), {TurnPath.GENERAL: agent(models)}, [ACT])
    report = await replayer.replay(SCOPE, "run", model="other", prompt="Be brief.")
    assert (report["same"], (report["diverged"] or {}).get("step")) == (step is None, step)
    asked, request = models.asked[0]
    assert asked.agent.config["llm_routing"] == {"primary_connection_id": "other"}
    assert request.messages[0].content == "Be brief."


async def test_a_model_that_cannot_be_asked_is_an_error_and_no_divergence() -> None:
    replayer = Replayer(Shelf(await recorded()), {TurnPath.GENERAL: agent(Models())}, [ACT])
    with pytest.raises(Unavailable):
        await replayer.replay(SCOPE, "run", model="other")


async def test_a_run_from_before_a_base_tool_came_replays_without_it() -> None:
    """Its models were never offered the tool; with it each of its requests would differ."""
    new = turn("Translate 'hello' to French")
    old = replace(new, base_tools=tuple(name for name in BASE if name != "query_tables"))
    journal, tools = MemoryJournal(), [FakeTool(name="query_tables"), FakeTool(name="calculator")]
    models = ScriptedModels("Good day to you.")
    await ToolLoopHandler(crew(models, *tools))(old, journal)
    assert [spec.name for spec in models.asked[0][1].tools] == ["calculator"]
    frozen = dump_turn(old)
    del frozen["base_tools"]  # as it was recorded before turns kept them
    walked = journal.again(replaying=True)
    await ToolLoopHandler(crew(ScriptedModels(), *tools))(load_turn(frozen), walked)
    assert [(one.kind, one.data) for one in walked.events] == [(one.kind, one.data) for one in journal.events]
    newer = ScriptedModels("Good day to you.")
    await ToolLoopHandler(crew(newer, *tools))(load_turn(dump_turn(new)), MemoryJournal())
    assert {spec.name for spec in newer.asked[0][1].tools} == {"query_tables", "calculator"}


def test_a_turn_is_frozen_and_thawed_whole() -> None:
    calls = (ToolCall("c", "act", '{"a":1}'),)
    made = turn(
        "Grüße \N{ROCKET}",
        config={"b": 1, "a": {"z": [1, 2.5], "y": None}},
        history=(
            ModelMessage("user", "x"),
            ModelMessage("assistant", "", calls),
            ModelMessage("tool", "y", tool_call_id="c"),
        ),
        memory="likes tea",
        path=TurnPath.DOCUMENTS,
        options={"tools": [{"name": "n"}], "stream": True},
        depth=2,
        ancestors=(AgentId("a"), AgentId("b")),
    )
    thawed = load_turn(dump_turn(made))
    assert thawed == replace(made, agent=replace(made.agent, config={"a": {"y": None, "z": [1, 2.5]}, "b": 1}))
    assert thawed.scope == made.scope
    assert thawed.scope.principals == made.scope.principals
    assert isinstance(thawed.scope.role, Role)
    assert list(thawed.agent.config) == ["a", "b"], "prompts may show it: one order, live and resumed"
    assert dump_canonical(dump_turn(thawed)) == dump_canonical(dump_turn(made))


def test_requests_and_replies_come_back_as_they_were() -> None:
    request = ChatRequest((ModelMessage("user", "x"),), (ACT,), 0.2, 10, ("OBSERVATION",), 7, True)
    assert request_from_json(request_to_json(request)) == request
    reply = ModelReply(
        "t",
        (ToolCall("c", "n", "{"),),
        "length",
        TokenUsage(1, 2, True),
        "m",
        "hm",
        "conn",
        0.5,
        (ConnectionFallback("a", "b", "why"),),
    )
    assert reply_from_json(reply_to_json(reply)) == reply


def piece(text: str, sent: int, seq: int = 1) -> Event:
    return Event(seq, EventKind.TEXT, {"text": text}, sent, piece=True)


async def test_a_slow_reader_gets_every_whole_event_and_the_text_in_the_end() -> None:
    outlet = EventQueue(pieces=3)
    for at in range(10):
        outlet.put(piece("ab", 2 * at))
    outlet.put(Event(1, EventKind.TEXT, {"text": "ab" * 10}, sent=20))
    for seq in range(2, 500):
        outlet.put(Event(seq, EventKind.STATUS, {}))
    outlet.close()
    outlet.put(Event(500, EventKind.STATUS, {}))
    seen = [event async for event in outlet]
    assert [event.sent for event in seen if event.piece] == [0, 2, 4]
    assert seen[3].sent == 6, "what was shown, so that the rest follows"
    assert [event.seq for event in seen if not event.piece] == list(range(1, 500))


async def test_a_reader_that_keeps_up_sees_pieces_as_they_come() -> None:
    outlet, seen = EventQueue(pieces=2), list[Event]()

    async def read() -> None:
        seen.extend([event async for event in outlet])

    reading = asyncio.create_task(read())
    for at in range(10):
        outlet.put(piece("ab", 2 * at))
        await asyncio.sleep(0)
    outlet.put(piece("new", 0))  # another model began anew
    outlet.put(Event(1, EventKind.TEXT, {"text": "newer"}, sent=3))
    outlet.close()
    await reading
    assert len(seen) == 12
    assert seen[-1].sent == 3


async def test_a_divergence_shows_what_the_runs_answer_would_show() -> None:
    """Requests to models hold what nobody was shown: they are told under the rules that the turn began with."""
    recording = await recorded()
    rules = {ANSWERS: rules_to_json([AnswerRule("mask")])}
    other = {**recording.input, "message": "Write to a.b@example.org", "options": rules}
    replayer = Replayer(Shelf(replace(recording, input=other)), {TurnPath.GENERAL: agent(Models())})
    told = (await replayer.replay(SCOPE, "run"))["diverged"]
    assert told["step"] == 1 and "a.b@" not in str(told) and "Write to [email]" in str(told["now"])
