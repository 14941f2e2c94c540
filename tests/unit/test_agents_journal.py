"""The journal: what was performed is not performed again, whatever died in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from cluster.basics.errors import Conflict, LeaseLost, NotFound, Unavailable
from cluster.models.messages import (
    ChatRequest,
    ConnectionFallback,
    ModelMessage,
    ModelReply,
    ReplyDelta,
    TokenUsage,
    ToolCall,
)
from cluster.state.canonical_json import dump_canonical, normalize_json
from cluster.state.work.run_record import StepState
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.turn_errors import ActionRejected, ApprovalPending, ReplayDiverged
from serve_apps.agents.turn_ports import Journal, RedoPolicy, Said
from tests.fakes.record import Killed, MemoryRecord, Ticks, journal_on

ASKED = ChatRequest((ModelMessage("user", "Move it."),))
CALL = ModelReply("", (ToolCall("c1", "move", '{"to":"b"}'),), "tool_calls", TokenUsage(10, 5), "m", cost_usd=0.25)
FINAL = ModelReply("It is moved.", usage=TokenUsage(20, 4), model="m", cost_usd=0.5)


@dataclass
class World:
    """What exists outside: each effect leaves a mark under the key it was performed with."""

    moved: list[tuple[str, Any]] = field(default_factory=list)
    asked: int = 0
    die_in_tool: bool = False

    def model(self, reply: ModelReply, *left: ConnectionFallback) -> AsyncIterator[Said]:
        async def saying() -> AsyncIterator[Said]:
            self.asked += 1
            for one in left:
                yield one
            for at in range(0, len(reply.content), 5):
                yield ReplyDelta(reply.content[at : at + 5])
            yield reply

        return saying()

    async def move(self, key: str, arguments: Any) -> Any:
        self.moved.append((key, arguments))
        if self.die_in_tool:
            self.die_in_tool = False
            raise Killed
        return {"moved": True, "at": 1}

    def distinct(self) -> int:
        return len({key for key, _ in self.moved})


async def turn(journal: Journal, world: World, redo: RedoPolicy = RedoPolicy.RECONCILE, approve: bool = True) -> str:
    """A model, an approved tool, a model: the shape of an agent's turn."""
    journal.emit(EventKind.STATUS, state="thinking")
    (said,) = [item async for item in journal.stream("chat", ASKED, lambda: world.model(CALL))]
    assert isinstance(said, ModelReply)
    arguments: Any = {"to": "b"}
    if approve:
        try:
            arguments = await journal.ask("move", arguments, "it moves things")
        except ActionRejected as error:
            journal.emit(EventKind.TOOL_RESULT, id="c1", error=f"Action rejected: {error.detail}", approved=False)
            return "not moved"
    try:
        result = await journal.step("tool", "move", arguments, lambda key: world.move(key, arguments), redo=redo)
    except NotFound as error:
        result = {"error": error.code}
    journal.emit(EventKind.TOOL_RESULT, id="c1", result=result)
    text = ""
    async for said in journal.stream("chat", ASKED, lambda: world.model(FINAL), about={"round": 2}):
        if isinstance(said, ReplyDelta):
            text += said.text
            journal.emit_delta(said.text)
    journal.emit(EventKind.TEXT, text=text)
    return text


def told(events: list[Event]) -> list[str]:
    return [dump_canonical([event.seq, event.kind, event.data]) for event in events]


async def undisturbed(redo: RedoPolicy, approve: bool) -> tuple[MemoryRecord, list[str]]:
    record, world = MemoryRecord(), World()
    if approve:
        with pytest.raises(ApprovalPending):
            await turn(journal_on(record), world, redo)
        record.decide("approved")
    shown: list[Event] = []
    assert await turn(journal_on(record, shown=shown), world, redo, approve) == "It is moved."
    assert len(world.moved) == 1
    return record, told([event for event in shown if not event.piece])


async def test_ob_02_a_second_walk_performs_nothing_and_tells_the_same() -> None:
    """OB-02: every step is stored, with its request, reply, time, tokens and cost."""
    record, events = await undisturbed(RedoPolicy.RECONCILE, approve=True)
    world, shown = World(), list[Event]()
    journal = journal_on(record, shown=shown)
    assert await turn(journal, world) == "It is moved."
    assert (world.asked, world.moved) == (0, [])
    assert told([e for e in shown if not e.piece]) == events
    assert [(s.kind, s.name, s.state) for s in record.steps.values()] == [
        ("model", "chat", "done"),
        ("approval", "move", "done"),
        ("tool", "move", "done"),
        ("model", "chat", "done"),
    ]
    assert journal.usage == {"prompt_tokens": 30, "completion_tokens": 9, "cost_usd": 0.75}


@pytest.mark.parametrize("approve", [True, False])
@pytest.mark.parametrize("redo", [RedoPolicy.REPEAT, RedoPolicy.RECONCILE])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_can_be_taken_up_after_a_death_at_any_write(when: str, redo: RedoPolicy, approve: bool) -> None:
    """HI-02: die at each write; the effect happens once by its key, and never twice without one."""
    _, expected = await undisturbed(redo, approve)
    for write in range(1, 8):
        record, world = MemoryRecord(), World()
        setattr(record, f"kill_{when}", write)
        shown: list[Event] = []
        for _ in range(12):
            shown = []
            try:
                answer = await turn(journal_on(record, shown=shown), world, redo, approve)
                break
            except Killed:
                record.kill_before = record.kill_after = None
            except ApprovalPending:
                (one,) = (a for a in record.asked.values() if a.state == "pending")
                if one.wanted.category == "reconcile":
                    happened = bool(world.moved)
                    record.decide(
                        "approved", {"found": "happened" if happened else "run", "result": {"moved": True, "at": 1}}
                    )
                else:
                    record.decide("approved")
        assert answer == "It is moved."
        assert world.distinct() == 1
        if redo is RedoPolicy.RECONCILE:
            assert len(world.moved) == 1, "a write without a key is never performed twice"
        reconciled = any(a.wanted.category == "reconcile" for a in record.asked.values())
        assert reconciled <= (redo is RedoPolicy.RECONCILE)
        if not reconciled:
            assert told([e for e in shown if not e.piece]) == expected
        assert told(record.events) == told([e for e in shown if not e.piece])[: len(record.events)]


async def test_a_write_that_broke_off_is_put_before_a_person_and_not_repeated() -> None:
    """HI-04: begun and not ended: shown as such; a person says that it happened, or did not, or to give up."""
    for found, moved, answer in (("happened", 1, "It is moved."), ("run", 2, "It is moved."), ("give_up", 1, None)):
        record, world = MemoryRecord(), World(die_in_tool=True)
        for expected in (ApprovalPending, Killed, ApprovalPending):
            with pytest.raises(expected):
                await turn(journal_on(record), world)
            if expected is ApprovalPending and not record.decide("approved") and found:
                pass
        # the last decision above said nothing of `found`, so ask again with an answer
        (doubt,) = (a for a in record.asked.values() if a.wanted.category == "reconcile")
        (first,) = (a for a in record.asked.values() if a.wanted.category == "approval")
        assert first.execution == "needs_reconcile"
        doubt.state = "rejected" if found == "give_up" else "approved"
        doubt.arguments = {"found": found, "result": {"moved": True, "at": 1}}
        if answer is None:
            with pytest.raises(Exception, match="nobody knows") as caught:
                await turn(journal_on(record), world)
            assert caught.value.code == "given_up"  # type: ignore[attr-defined]
        else:
            assert await turn(journal_on(record), world) == answer
            assert {a.execution for a in record.asked.values()} <= {"done", "none"} | {"needs_reconcile"}
            assert first.execution == "done"
        assert len(world.moved) == moved


async def test_a_repeated_write_that_breaks_off_again_is_asked_about_again() -> None:
    record, world = MemoryRecord(), World()
    for _ in range(3):
        world.die_in_tool = True
        try:
            await turn(journal_on(record), world, approve=False)
        except Killed:
            pass
        except ApprovalPending:
            record.decide("approved", {"found": "run"})
    before = len(world.moved)
    while True:
        world.die_in_tool = False
        try:
            assert await turn(journal_on(record), world, approve=False) == "It is moved."
            break
        except ApprovalPending:
            record.decide("approved", {"found": "happened", "result": {"moved": True, "at": 1}})
    assert len(world.moved) == before, "somebody said it had happened"
    shown: list[Event] = []
    await turn(journal_on(record, shown=shown), World(), approve=False)
    assert sum(e.kind is EventKind.APPROVAL_REQUIRED for e in shown) >= 2
    assert told(record.events) == told([e for e in shown if not e.piece])[: len(record.events)]


@pytest.mark.parametrize("state", ["rejected", "expired"])
async def test_hi_03_what_is_rejected_or_expires_is_never_done_and_the_turn_goes_on(state: str) -> None:
    """HI-03, X-37."""
    record, world = MemoryRecord(), World()
    with pytest.raises(ApprovalPending):
        await turn(journal_on(record), world)
    record.decide(state)
    for _ in range(2):
        assert await turn(journal_on(record), world) == "not moved"
    assert world.moved == []


async def test_edited_arguments_are_what_is_done_and_nothing_else() -> None:
    record, world = MemoryRecord(), World()
    with pytest.raises(ApprovalPending):
        await turn(journal_on(record), world)
    record.decide("approved", {"to": "c"})
    await turn(journal_on(record), world)
    assert [arguments for _, arguments in world.moved] == [{"to": "c"}]


async def test_an_approval_allows_its_arguments_only_and_once() -> None:
    record = MemoryRecord()

    async def performed(key: str) -> Any:
        return 1

    async def sly(arguments: Any) -> None:
        journal = journal_on(record)
        await journal.ask("move", {"to": "b"}, "")
        await journal.step("tool", "move", arguments, performed)

    with pytest.raises(ApprovalPending):
        await sly({"to": "b"})
    record.decide("approved")
    with pytest.raises(Conflict):
        await sly({"to": "elsewhere"})
    await sly({"to": "b"})
    (one,) = record.asked.values()
    assert one.execution == "done"


async def test_what_waits_cannot_be_walked_past() -> None:
    """A handler that swallows the wait gets nowhere."""
    journal = journal_on(MemoryRecord())
    with pytest.raises(ApprovalPending):
        await journal.ask("move", {}, "")

    async def performed(key: str) -> Any:
        raise AssertionError("performed")

    with pytest.raises(ApprovalPending):
        await journal.step("tool", "move", {}, performed)
    with pytest.raises(ApprovalPending):
        await journal.ask("other", {}, "")
    assert isinstance(journal.halted, ApprovalPending)


async def test_a_turn_that_asks_for_something_else_diverges_with_the_step() -> None:
    record = MemoryRecord()

    async def performed(key: str) -> Any:
        return key

    await journal_on(record).step("tool", "move", {"to": "b"}, performed)
    with pytest.raises(ReplayDiverged, match="step 1 was tool move, now it is tool move with another request"):
        await journal_on(record).step("tool", "move", {"to": "c"}, performed)


async def test_an_approved_action_is_carried_out_although_prompts_and_reasons_were_edited_meanwhile() -> None:
    """HI-02: what acts has to be the same; what a model was told then, and why a person was asked, may have changed."""
    record, world = MemoryRecord(), World()

    async def act(prompt: str, reason: str, to: str = "b") -> Any:
        journal, request = journal_on(record), ChatRequest((ModelMessage("system", prompt),))
        [item async for item in journal.stream("chat", request, lambda: world.model(CALL))]
        await journal.step("retrieval", "search", {"limit": len(prompt)}, _one)
        arguments = await journal.ask("move", {"to": to}, reason)
        return await journal.step("tool", "move", arguments, lambda key: world.move(key, arguments))

    with pytest.raises(ApprovalPending):
        await act("Be brief.", "it moves things")
    with pytest.raises(ReplayDiverged):
        await act("Be brief.", "it moves things", "c")
    record.decide("approved")
    for prompt in ("Be kind and brief.", "Be kind."):
        await act(prompt, "it moves what is not ours")
    assert (world.asked, len(world.moved)) == (1, 1)


async def test_errors_are_recorded_and_come_back_as_they_were() -> None:
    record = MemoryRecord()

    async def failing(key: str) -> Any:
        raise Unavailable("no route", fix="Look at the cable.")

    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            await journal_on(record).step("retrieval", "search", {"q": 1}, failing)
        assert (caught.value.detail, caught.value.hint, caught.value.code) == (
            "no route",
            "Look at the cable.",
            "unavailable",
        )
    assert record.steps[1].state is StepState.FAILED

    async def gone() -> AsyncIterator[Said]:
        yield ReplyDelta("The ans")
        raise Unavailable("reset")

    for _ in range(2):
        journal = journal_on(record)
        with pytest.raises(Unavailable):
            await journal.step("retrieval", "search", {"q": 1}, failing)
        with pytest.raises(Unavailable):
            async for _said in journal.stream("chat", ASKED, gone):
                pass
        assert await journal.step("clock", "now", {}, _one) == 1


async def _one(key: str) -> Any:
    return 1


async def test_what_cannot_be_recorded_ends_the_walk() -> None:
    class Lost(MemoryRecord):
        async def end(self, *args: Any) -> None:
            raise LeaseLost("another")

    journal = journal_on(Lost())
    for _ in range(2):
        with pytest.raises(LeaseLost):
            await journal.step("clock", "now", {}, _one)
    assert isinstance(journal.halted, LeaseLost)


async def test_time_is_that_of_the_steps_and_waiting_for_people_costs_none() -> None:
    """X-37: the agent's clock stops while a person thinks."""
    record, clock = MemoryRecord(), Ticks()

    async def slow(key: str) -> Any:
        clock.seconds += 2
        return 1

    for _ in range(2):
        journal = journal_on(record, clock=clock)
        await journal.step("tool", "a", {}, slow)
        try:
            await journal.ask("move", {}, "")
        except ApprovalPending:
            clock.seconds += 3600
            record.decide("approved")
    await journal.step("tool", "move", {}, slow)
    assert journal.spent_ms == 4000


async def test_results_look_alike_live_and_from_the_record() -> None:
    """A prompt is made of them: another order of keys would be another prompt."""
    record = MemoryRecord()
    odd = {"z": 1, "a": (1, 2), "n": float("nan"), "s": "a\x00b\ud800", "big": 1e22, "half": 0.5}

    async def performed(key: str) -> Any:
        return odd

    live = await journal_on(record).step("tool", "odd", {}, performed)
    again = await journal_on(record).step("tool", "odd", {}, performed)
    assert list(live) == list(again) == sorted(odd)
    assert live == again == {"a": [1, 2], "big": 10**22, "half": 0.5, "n": None, "s": "a\ufffdb\ufffd", "z": 1}
    assert dump_canonical(normalize_json(live)) == dump_canonical(live)
    with pytest.raises(TypeError):
        normalize_json({1: 2})
    with pytest.raises(TypeError):
        normalize_json({"a": {1, 2}})


async def test_pieces_say_where_they_stand_and_the_text_how_much_was_shown() -> None:
    shown: list[Event] = []
    journal, world = journal_on(MemoryRecord(), shown=shown), World()
    left = ConnectionFallback("a", "b", "unavailable")
    async for said in journal.stream("chat", ASKED, lambda: world.model(FINAL, left)):
        if isinstance(said, ReplyDelta):
            journal.emit_delta(said.text)
    journal.emit(EventKind.TEXT, text=FINAL.content)
    *pieces, whole = shown
    assert [e.sent for e in pieces] == [0, 5, 10]
    assert "".join(e.data["text"] for e in pieces) == FINAL.content
    assert (whole.sent, whole.seq, pieces[0].seq) == (12, 1, 1)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_fallback_is_given_once_it_is_on_record(fails: bool) -> None:
    """Regression: told within an open step, its number went to the answer when the turn was taken up: nobody saw it."""
    record, left = MemoryRecord(), ConnectionFallback("a", "b", "unavailable")

    async def saying() -> AsyncIterator[Said]:
        yield left
        if fails:
            raise Unavailable("both")
        yield ReplyDelta("It is ")
        yield FINAL

    for _ in range(2):
        given: list[Said] = []
        with suppress(Unavailable):
            async for item in journal_on(record).stream("chat", ASKED, saying):
                assert not isinstance(item, ConnectionFallback) or 1 in record.steps
                given.append(item)
        assert [item for item in given if not isinstance(item, ReplyDelta)] == ([left] if fails else [left, FINAL])


async def test_a_cancelled_write_is_finished_and_known_to_be_done() -> None:
    record, began, go = MemoryRecord(), asyncio.Event(), asyncio.Event()

    async def write(key: str) -> Any:
        began.set()
        await go.wait()
        return "written"

    task = asyncio.ensure_future(journal_on(record).step("tool", "w", {}, write, redo=RedoPolicy.RECONCILE))
    await began.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert record.steps[1].state is StepState.DONE


async def test_a_cancelled_model_is_closed_at_once_and_asked_again_later() -> None:
    record, closed = MemoryRecord(), list[bool]()

    async def endless() -> AsyncIterator[Said]:
        try:
            yield ReplyDelta("The")
            await asyncio.sleep(3600)
        finally:
            closed.append(True)

    async def read() -> None:
        async for _ in journal_on(record).stream("chat", ASKED, endless):
            pass

    task = asyncio.ensure_future(read())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == [True]
    assert record.steps == {}


async def test_a_request_is_told_once_it_can_be_decided_and_is_kept_when_the_turn_is_cancelled() -> None:
    """HI-01: a client that decides at once finds it; one that leaves at that moment does not undo it."""
    began, go, shown = asyncio.Event(), asyncio.Event(), list[Event]()

    class Slow(MemoryRecord):
        async def ask(self, *args: Any) -> None:
            began.set()
            await go.wait()
            await super().ask(*args)

    record = Slow()
    journal = journal_on(record, shown=shown)
    task = asyncio.ensure_future(journal.ask("move", {"to": "b"}, ""))
    await began.wait()
    assert shown == []
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(journal.halted, ApprovalPending)
    (asked,) = record.asked.values()
    assert shown[-1].data["approval"]["id"] == asked.wanted.id
    assert told(shown) == told(record.events)
