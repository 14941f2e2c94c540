"""Runs that end before their time: an accepted cancel holds, what had begun is shown, deleting leaves nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cluster.basics.errors import Conflict, Unavailable
from cluster.state.agent_store import AgentStore
from cluster.state.approvals import ApprovalRequest, ReconcileVerdict, ReviewVerdict
from cluster.state.canonical_json import action_digest
from cluster.state.conversations import ConversationStore
from cluster.state.work.run_record import RunEvent, RunLease, RunState, RunStep, StepState
from serve_apps.agents.turn_ports import RedoPolicy, Turn
from tests.fakes.runs import Outside, Stage, acting, events_of, stage

CANCELLED = ("status", {"state": "cancelled"})


@pytest.fixture
async def here(app_dsn: str, admin_dsn: str) -> AsyncIterator[Stage]:
    async with stage(app_dsn, admin_dsn) as made:
        yield made


async def cancel(here: Stage, turn: Turn) -> RunState:
    async with here.database.transaction(here.scope) as tx:
        return await here.runs.cancel(tx, here.scope, turn.run)


async def begin_action(here: Stage, lease: RunLease) -> None:
    """A tool that must not be called twice is called, and its end is not recorded."""
    async with here.runs.writing(lease) as tx:
        await here.runs.put_step(tx, lease, RunStep(1, "tool", "act", {"to": "b"}, "h", StepState.STARTED))
        await here.runs.put_events(tx, lease, [RunEvent(1, "status", {"state": "thinking"})])


async def lapse(here: Stage, turn: Turn) -> None:
    """The owner is gone; time would do it."""
    async with here.database.transaction(here.scope) as tx:
        await tx.run("update runs set lease_until = now() - interval '1 s' where id = %(id)s", id=turn.run)


async def asked(here: Stage, turn: Turn) -> list[tuple[str, str, str]]:
    rows, _ = await here.approvals.page(here.scope, run=turn.run)
    return [(row["category"], row["state"], row["execution"]) for row in rows]


async def test_a_cancel_that_was_accepted_is_not_undone_by_a_question(here: Stage) -> None:
    """The turn reaches its question before the owner hears of the cancel: nothing can be approved any more."""
    here.settings = here.settings.model_copy(update={"heartbeat_seconds": 30.0, "lease_seconds": 60.0})
    turn, outside = await here.begin(), Outside()
    runner = here.runner(acting(outside))
    lease = await runner.claim(turn)
    assert await cancel(here, turn) is RunState.RUNNING
    async for _ in runner.run(turn, lease):
        pass
    assert await here.state(turn) == "cancelled"
    assert await asked(here, turn) == [("approval", "expired", "none")]
    stored = await here.stored(turn)
    assert (stored[-1][1:], [seq for seq, _, _ in stored]) == (CANCELLED, list(range(1, len(stored) + 1)))
    rows, _ = await here.approvals.page(here.scope, run=turn.run)
    with pytest.raises(Conflict):
        await here.approvals.decide(here.scope, str(rows[0]["id"]), ReviewVerdict.APPROVED)
    with pytest.raises(Conflict, match="is cancelled"):
        await here.carry(turn, acting(outside))
    assert outside.acted == []


@pytest.mark.parametrize("by", ["claim", "claim_next", "cancel", "interrupt"])
async def test_a_cancel_outlives_the_owner_that_was_to_carry_it_out(here: Stage, by: str) -> None:
    turn = await here.begin(attended=by != "claim_next")
    lease = await here.runs.claim(here.scope, turn.run, "mortal", 60, attended=by != "claim_next")
    await begin_action(here, lease)
    if by == "cancel":
        await lapse(here, turn)
        assert await cancel(here, turn) is RunState.CANCELLED
    else:
        assert await cancel(here, turn) is RunState.RUNNING
    if by == "interrupt":
        assert await here.runs.interrupt(lease) is RunState.CANCELLED
    else:
        await lapse(here, turn)
    if by == "claim":
        with pytest.raises(Conflict, match="is cancelled"):
            await here.runs.claim(here.scope, turn.run, "another", 60)
    if by == "claim_next":
        assert [await here.runs.claim_next("another", 60) for _ in range(2)] == [None, None]
    assert await here.state(turn) == "cancelled"
    assert [event[1:] for event in await here.stored(turn)] == [("status", {"state": "thinking"}), CANCELLED]
    assert await asked(here, turn) == [("reconcile", "pending", "needs_reconcile")]


async def test_an_approved_action_does_not_begin_once_somebody_wants_the_run_to_end(here: Stage) -> None:
    turn = await here.begin()
    lease = await here.runs.claim(here.scope, turn.run, "one", 60)
    wanted = ApprovalRequest(turn.run, turn.run, 1, "act", {}, "", None)
    async with here.runs.writing(lease) as tx:
        await here.approvals.request(tx, here.scope, wanted)
        await here.runs.wait(tx, lease)
    await here.approvals.decide(here.scope, wanted.id, ReviewVerdict.APPROVED)
    lease = await here.runs.claim(here.scope, turn.run, "one", 60)
    await cancel(here, turn)
    with pytest.raises(Unavailable, match="to be cancelled"):
        async with here.runs.writing(lease) as tx:
            await here.approvals.begin(tx, here.scope, wanted.id, action_digest("act", {}))
    assert await asked(here, turn) == [("approval", "approved", "none")]


@pytest.mark.parametrize("found", [ReconcileVerdict.HAPPENED, ReconcileVerdict.GIVE_UP])
async def test_what_a_cancelled_run_had_begun_can_be_settled_and_then_deleted(
    here: Stage, admin_dsn: str, found: ReconcileVerdict
) -> None:
    """Nobody loses the record of an action that may have happened; then all of it goes, events too."""
    turn = await here.begin()
    lease = await here.runs.claim(here.scope, turn.run, "one", 60)
    wanted = ApprovalRequest(turn.run, turn.run, 1, "act", {"to": "b"}, "", None)
    async with here.runs.writing(lease) as tx:
        await here.approvals.request(tx, here.scope, wanted)
        await here.runs.wait(tx, lease)
    await here.approvals.decide(here.scope, wanted.id, ReviewVerdict.APPROVED)
    lease = await here.runs.claim(here.scope, turn.run, "one", 60)
    async with here.runs.writing(lease) as tx:
        await here.approvals.begin(tx, here.scope, wanted.id, action_digest("act", {"to": "b"}))
        await here.runs.put_step(tx, lease, RunStep(2, "tool", "act", {"to": "b"}, "h", StepState.STARTED))
    async with here.runs.writing(lease) as tx:
        await here.runs.finish(tx, lease, RunState.CANCELLED)
    (doubt,) = await here.pending(turn)
    assert await asked(here, turn) == [
        ("approval", "approved", "needs_reconcile"),
        ("reconcile", "pending", "needs_reconcile"),
    ]
    kept, agents = ConversationStore(here.database), AgentStore(here.database)
    for refused in (kept.delete, agents.delete):
        with pytest.raises(Conflict, match="is cancelled"):
            async with here.database.transaction(here.scope) as tx:
                await refused(tx, here.scope, here.session if refused == kept.delete else here.agent)
    await here.approvals.reconcile(here.scope, str(doubt["id"]), found)
    execution = "done" if found is ReconcileVerdict.HAPPENED else "failed"
    assert (await here.approvals.show(here.scope, wanted.id))["execution"] == execution
    assert await here.state(turn) == "cancelled"
    async with here.database.transaction(here.scope) as tx:
        await tx.one("select append_event(%(stream)s, 'status', '{}')", stream=f"run:{turn.run}")
    assert events_of(admin_dsn, turn.run)
    async with here.database.transaction(here.scope) as tx:
        if found is ReconcileVerdict.HAPPENED:
            await kept.delete(tx, here.scope, here.session)
        else:
            await agents.delete(tx, here.scope, here.agent)
    assert events_of(admin_dsn, turn.run) == []
    assert await here.rows("select 1 from event_streams") == []


async def test_what_an_owner_had_begun_when_it_died_is_asked_and_the_answer_takes_the_run_on(here: Stage) -> None:
    """An attended run, a tool that needs no approval: the doubt is shown, the session stays, nothing is repeated."""
    turn, outside = await here.begin(), Outside()

    def die() -> None:
        raise asyncio.CancelledError

    outside.after_act = die
    handler = acting(outside, RedoPolicy.RECONCILE, ask=False)
    runner = here.runner(handler)
    lease = await runner.claim(turn)
    async for _ in runner.run(turn, lease):
        pass
    assert await here.state(turn) == "interrupted"
    assert await asked(here, turn) == [("reconcile", "pending", "needs_reconcile")]
    with pytest.raises(Conflict, match="is interrupted"):
        async with here.database.transaction(here.scope) as tx:
            await ConversationStore(here.database).delete(tx, here.scope, here.session)
    (doubt,) = await here.pending(turn)
    outside.after_act = lambda: None
    async with here.sweeping(handler):
        await here.approvals.reconcile(here.scope, str(doubt["id"]), ReconcileVerdict.HAPPENED, result={"done": True})
        await here.until(turn, "completed")
    assert len(outside.acted) == 1
    assert await asked(here, turn) == [("reconcile", "approved", "done")]


async def test_a_lapsed_run_that_had_begun_something_is_put_before_a_person(here: Stage) -> None:
    turn = await here.begin()
    await begin_action(here, await here.runs.claim(here.scope, turn.run, "mortal", 60))
    await lapse(here, turn)
    for _ in range(3):
        assert await here.runs.claim_next("another", 60) is None
    assert await here.state(turn) == "interrupted"
    assert await asked(here, turn) == [("reconcile", "pending", "needs_reconcile")]
    (doubt,) = await here.pending(turn)
    assert (doubt["tool"], doubt["arguments"], doubt["digest"]) == (
        "act",
        {"to": "b"},
        action_digest("act", {"to": "b"}),
    )


async def test_looking_for_work_never_waits_for_a_run_that_somebody_has_locked(here: Stage) -> None:
    """A cancel holds the run and goes on to its approval; the sweep must not hold the approval and want the run."""
    turn = await here.begin()
    lease = await here.runs.claim(here.scope, turn.run, "one", 60)
    wanted = ApprovalRequest(turn.run, turn.run, 1, "act", {}, "", None)
    async with here.runs.writing(lease) as tx:
        await here.approvals.request(tx, here.scope, wanted)
        await here.runs.wait(tx, lease)
        await tx.run("update approvals set expires_at = now() - interval '1 s'")
    async with here.database.transaction(here.scope) as tx:
        await tx.one("select id from runs where id = %(id)s for update", id=turn.run)
        assert await asyncio.wait_for(here.runs.claim_next("another", 60), 5) is None
        await here.runs.cancel(tx, here.scope, turn.run)
    assert await here.state(turn) == "cancelled"


async def test_a_tenant_with_much_in_the_background_waits_behind_one_with_nothing(
    here: Stage, app_dsn: str, admin_dsn: str
) -> None:
    first, second = await here.begin(attended=False), await here.begin(attended=False)
    async with stage(app_dsn, admin_dsn) as other:
        third = await other.begin(attended=False)
        leases = [await here.runs.claim_next("one", 60) for _ in range(3)]
        assert [lease.run for lease in leases if lease] == [first.run, third.run, second.run]
