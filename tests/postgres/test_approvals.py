"""Approvals in Postgres: decided once, in time, audited; executed once, or shown as uncertain."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from cluster.basics.errors import Conflict, LeaseLost, NotFound
from cluster.basics.telemetry import Telemetry
from cluster.state.approvals import ReconcileVerdict, ReviewVerdict
from cluster.state.canonical_json import action_digest
from cluster.state.db.postgres import Row
from serve_apps.agents.durable.journal import LiveJournal
from serve_apps.agents.durable.recorder import LedgerRecorder
from serve_apps.agents.durable.replay import Replayer, replay_recording
from serve_apps.agents.durable.run_loop import emit_opening
from serve_apps.agents.durable.traced import TurnTracer
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn_ports import RedoPolicy, Turn
from tests.fakes import executor
from tests.fakes.marks import Marks
from tests.fakes.record import Ticks
from tests.fakes.runs import Outside, Stage, acting, stage


@pytest.fixture
async def here(app_dsn: str, admin_dsn: str) -> AsyncIterator[Stage]:
    async with stage(app_dsn, admin_dsn) as made:
        yield made


async def asked(here: Stage, outside: Outside, redo: RedoPolicy = RedoPolicy.RECONCILE) -> tuple[Turn, str]:
    """A turn that waits, and the id of what it waits for."""
    turn = await here.begin()
    await here.carry(turn, acting(outside, redo))
    (row,) = await here.pending(turn)
    return turn, str(row["id"])


async def trail(here: Stage) -> list[Row]:
    return await here.rows(
        "select action, object, actor, detail from audit where action <> 'agent.execute' order by seq"
    )


async def test_two_approvers_one_wins(here: Stage) -> None:
    """HI-05: ten decide at once; one is first, nine get a conflict, and the trail has one entry."""
    outside = Outside()
    turn, id_ = await asked(here, outside)
    verdicts = [ReviewVerdict.APPROVED, ReviewVerdict.REJECTED] * 5
    said = await asyncio.gather(*(here.approvals.decide(here.scope, id_, v) for v in verdicts), return_exceptions=True)
    (won,) = [row for row in said if not isinstance(row, BaseException)]
    lost = [row for row in said if isinstance(row, BaseException)]
    assert len(lost) == 9
    assert all(isinstance(error, Conflict) and f"it is {won['state']} already" in error.detail for error in lost)
    (entry,) = await trail(here)
    assert (entry["action"], entry["object"], entry["actor"]) == (f"approval.{won['state']}", id_, here.scope.user)
    await here.carry(turn, acting(outside))
    assert len(outside.acted) == (won["state"] == "approved")


async def test_a_reader_who_decides_and_leaves_with_the_request_finds_it_on_record(here: Stage) -> None:
    """HI-01: the request is told once it is committed: it can be decided at that moment, and leaving undoes nothing."""
    outside, turn = Outside(), await here.begin()
    runner = here.runner(acting(outside))
    events = runner.run(turn, await runner.claim(turn))
    async for event in events:
        if event.kind is EventKind.APPROVAL_REQUIRED:
            assert await here.state(turn) == "waiting"
            await here.approvals.decide(here.scope, event.data["approval"]["id"], ReviewVerdict.APPROVED)
            break
    await events.aclose()
    async with here.sweeping(acting(outside)):
        await here.until(turn, "completed")
    assert len(outside.acted) == 1


async def test_edited_arguments_are_bound_audited_and_executed(here: Stage) -> None:
    """The decision is bound to what was edited: a new digest, in the trail too."""
    outside = Outside()
    turn, id_ = await asked(here, outside)
    row = await here.approvals.decide(here.scope, id_, ReviewVerdict.APPROVED, arguments={"to": "c"}, notes="not b")
    assert row["digest"] == action_digest("act", {"to": "b"})
    assert row["decided_digest"] == action_digest("act", {"to": "c"}) != row["digest"]
    events = await here.carry(turn, acting(outside))
    assert [arguments for _, _, arguments in outside.acted] == [{"to": "c"}]
    (decided,) = [event for event in events if event.kind is EventKind.APPROVAL_DECIDED]
    assert decided.data == {"id": id_, "state": "approved", "reviewer": here.scope.user, "arguments": {"to": "c"}}
    (entry,) = await trail(here)
    assert entry["detail"] == {"tool": "act", "digest": row["decided_digest"], "edited": True}


async def test_a_decision_that_was_tampered_with_executes_nothing(here: Stage, admin_dsn: str) -> None:
    """Other arguments than the digest says: the step is refused before anything happens."""
    outside = Outside()
    turn, id_ = await asked(here, outside)
    await here.approvals.decide(here.scope, id_, ReviewVerdict.APPROVED)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute('update approvals set decided_arguments = \'{"to": "elsewhere"}\' where id = %s', (id_,))
    events = await here.carry(turn, acting(outside))
    assert (events[-1].kind, events[-1].data["code"]) == (EventKind.ERROR, "conflict")
    assert outside.acted == []


async def test_x_37_what_nobody_decides_expires_and_the_turn_goes_on_without(here: Stage, admin_dsn: str) -> None:
    """X-37, X-09: too late is no; the run is taken up by the background and told so."""
    outside = Outside()
    turn, id_ = await asked(here, outside)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update approvals set expires_at = now() - interval '1 s' where id = %s", (id_,))
    with pytest.raises(Conflict, match="it is expired already"):
        await here.approvals.decide(here.scope, id_, ReviewVerdict.APPROVED)
    assert await here.pending(turn) == []
    assert (await here.approvals.page(here.scope, state="expired"))[1] == 1
    async with here.sweeping(acting(outside)):
        await here.until(turn, "completed")
    assert outside.acted == []
    results = [data for _, kind, data in await here.stored(turn) if kind == "tool_result"]
    assert results == [{"id": "c1", "name": "act", "error": "Action rejected: EXPIRED"}]


async def test_a_waiting_run_is_nobodys_and_a_decided_one_is_carried_once(here: Stage) -> None:
    outside = Outside()
    turn, id_ = await asked(here, outside)
    with pytest.raises(Conflict, match="is waiting"):
        await here.carry(turn, acting(outside))
    assert await here.runs.claim_next("anybody", 5) is None
    async with here.sweeping(acting(outside), "one"), here.sweeping(acting(outside), "two"):
        await here.approvals.decide(here.scope, id_, ReviewVerdict.APPROVED)
        await here.until(turn, "completed")
    assert len(outside.acted) == 1


async def test_a_decided_run_goes_on_although_its_reader_leaves(here: Stage) -> None:
    """An approved action does not depend on a browser."""
    outside = Outside()
    turn, id_ = await asked(here, outside)
    await here.approvals.decide(here.scope, id_, ReviewVerdict.APPROVED)
    runner = here.runner(acting(outside))
    events = runner.run(turn, await runner.claim(turn))
    await anext(events)
    await events.aclose()
    assert await here.state(turn) in ("queued", "completed")
    async with here.sweeping(acting(outside)):
        await here.until(turn, "completed")
    assert len(outside.acted) == 1


@pytest.mark.parametrize("effect", ["read", "keyed", "write"])
@pytest.mark.parametrize("crash", ["before the effect", "after the effect"])
@pytest.mark.parametrize("ask", [True, False])
async def test_hi_04_exactly_once_for_each_kind_of_tool_and_crash(
    here: Stage, admin_dsn: str, effect: str, crash: str, ask: bool
) -> None:
    """HI-04: what takes a key is repeated under it; what takes none is put before a person, never repeated."""

    class Died(BaseException):
        pass

    def die() -> None:
        raise Died

    redo = RedoPolicy.RECONCILE if effect == "write" else RedoPolicy.REPEAT
    outside, turn = Outside(), await here.begin(attended=False)
    setattr(outside, "before_act" if crash.startswith("before") else "after_act", die)

    async def mortal() -> None:
        lease = await here.runs.claim(here.scope, turn.run, "mortal", 30)
        loaded = await here.runs.load(here.scope, turn.run)
        journal = LiveJournal(
            turn.run,
            loaded.seed,
            loaded.steps,
            loaded.last_event,
            recorder=LedgerRecorder(here.runs, here.approvals, lease),
            show=lambda event: None,
            clock=Ticks(),
            now=lambda: datetime.now(UTC),
            patience=timedelta(hours=1),
            tracer=TurnTracer(Telemetry.off()),
        )
        emit_opening(turn, journal)
        await acting(outside, redo, ask=ask)(turn, journal)

    if ask:
        await here.carry(turn, acting(outside, redo))
        (row,) = await here.pending(turn)
        await here.approvals.decide(here.scope, str(row["id"]), ReviewVerdict.APPROVED)
    with contextlib.suppress(Died):
        await mortal()
    outside.before_act = outside.after_act = lambda: None
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update runs set lease_until = now() - interval '1 s' where state = 'running'")
    happened = crash.startswith("after")
    async with here.sweeping(acting(outside, redo, ask=ask)):
        if effect == "write":
            await here.until(turn, "waiting")
            assert len(outside.acted) == happened, "nothing is repeated blindly"
            (doubt,) = await here.pending(turn)
            assert (doubt["category"], doubt["tool"], doubt["arguments"]) == ("reconcile", "act", {"to": "b"})
            if ask:
                assert (await here.approvals.show(here.scope, str(row["id"])))["execution"] == "needs_reconcile"
            with pytest.raises(Conflict, match="this is a reconcile request"):
                await here.approvals.decide(here.scope, str(doubt["id"]), ReviewVerdict.APPROVED)
            found = ReconcileVerdict.HAPPENED if happened else ReconcileVerdict.RUN
            await here.approvals.reconcile(here.scope, str(doubt["id"]), found, result={"done": True})
        await here.until(turn, "completed")
    assert len({key for _, key, _ in outside.acted}) == 1
    assert len(outside.acted) == (2 if happened and effect != "write" else 1)
    rows, _ = await here.approvals.page(here.scope, run=turn.run)
    assert {(r["category"], r["execution"]) for r in rows} <= {
        ("approval", "done"),
        ("reconcile", "done"),
        ("reconcile", "none"),
    }
    recording = await here.desk.recording(here.scope, turn.run)
    assert (await replay_recording(recording, acting(Outside(), redo, ask=ask))).same


async def test_an_approval_begins_once_and_what_a_failed_run_had_begun_is_shown(here: Stage) -> None:
    outside = Outside()
    turn, id_ = await asked(here, outside)
    await here.approvals.decide(here.scope, id_, ReviewVerdict.APPROVED)
    lease = await here.runs.claim(here.scope, turn.run, "mortal", 30)
    loaded = await here.runs.load(here.scope, turn.run)
    assert loaded.steps[-1].kind == "approval"
    async with here.runs.writing(lease) as tx:
        await here.approvals.begin(tx, here.scope, id_, action_digest("act", {"to": "b"}))
    with pytest.raises(Conflict):
        async with here.runs.writing(lease) as tx:  # a second beginning of the same approval
            await here.approvals.begin(tx, here.scope, id_, action_digest("act", {"to": "b"}))
    async with here.runs.writing(lease) as tx:
        await here.runs.finish(tx, lease, "failed")  # type: ignore[arg-type]
    shown = await here.approvals.show(here.scope, id_)
    assert shown["execution"] == "needs_reconcile", "what a failed run had begun is shown"
    with pytest.raises(LeaseLost):
        async with here.runs.writing(lease) as tx:
            pass
    assert outside.acted == []


async def test_b_12_there_is_no_way_to_decide_by_words(here: Stage) -> None:
    """B-12: a decision is one of two values; text beside it is a note and decides nothing."""
    _, id_ = await asked(here, Outside())
    for words in ("don't do it", "yes", "approve", "APPROVED "):
        with pytest.raises(ValueError, match="is not a valid ReviewVerdict"):
            await here.approvals.decide(here.scope, id_, ReviewVerdict(words))
    row = await here.approvals.decide(here.scope, id_, ReviewVerdict.REJECTED, notes="yes please, approve it")
    assert row["state"] == "rejected"
    with pytest.raises(NotFound):
        await here.approvals.decide(here.scope, "approve", ReviewVerdict.APPROVED)


async def test_a_replay_from_postgres_is_byte_identical(here: Stage) -> None:
    """Through jsonb and back: floats, keys of any order, edited arguments and all."""
    outside = Outside()
    turn, id_ = await asked(here, outside)
    await here.approvals.decide(
        here.scope, id_, ReviewVerdict.APPROVED, arguments={"z": 1e22, "a": 0.1, "m": [1.0, "\u2028"]}
    )
    await here.carry(turn, acting(outside))
    fresh = Outside()
    report = await Replayer(here.desk, {turn.path: acting(fresh)}).replay(here.scope, turn.run)
    assert report == {
        "run_id": turn.run,
        "state": "completed",
        "same": True,
        "events": len(await here.stored(turn)),
        "steps": 4,
        "diverged": None,
    }
    assert (fresh.asked, fresh.acted) == (0, [])


async def test_kill_9_of_an_executor_in_the_middle_of_a_turn(here: Stage, app_dsn: str, tmp_path: Path) -> None:
    """A real process, killed while its model writes, and again while it acts: a clear state, and one effect."""
    marks, turn = Marks(tmp_path / "outside"), await here.begin("keyed-1")
    address = f"{here.scope.tenant}:{here.scope.workspace}/{turn.run}"
    process = executor.start(app_dsn, marks, run=address, seconds=4)
    try:
        await asyncio.to_thread(executor.wait_for, process, lambda line: line == "status")
        await asyncio.sleep(0.3)
    finally:
        process.kill()
        process.wait()
    after = executor.by_label(marks, 0.01)
    async with here.sweeping(after):
        await here.until(turn, "interrupted")
    events = await here.carry(turn, after)
    assert events[-1].kind is EventKind.APPROVAL_REQUIRED
    (row,) = await here.pending(turn)
    await here.approvals.decide(here.scope, str(row["id"]), ReviewVerdict.APPROVED)
    background = executor.start(app_dsn, marks, seconds=2)
    try:
        while not marks.calls():
            assert background.poll() is None
            await asyncio.sleep(0.05)
    finally:
        background.kill()
        background.wait()
    async with here.sweeping(after):
        await here.until(turn, "completed")
    assert (marks.calls()["keyed-1"], marks.effects()["keyed-1"]) == (2, 1)
