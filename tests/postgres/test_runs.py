"""Runs in Postgres: claimed once, written by their owner only, resumed from any point with the same events."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import product
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import Conflict, Invalid, LeaseLost, NotFound, Unavailable
from cluster.models.messages import ChatRequest, ModelMessage, ReplyDelta
from cluster.state.approvals import ReconcileVerdict, ReviewVerdict
from cluster.state.db.postgres import Transaction
from cluster.state.work.run_record import RunEvent, RunLease, RunStep, StepState
from cluster.state.work.runs import RunLedger
from cluster.state.work.work_bell import RUNS
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.delegation import InnerJournal
from serve_apps.agents.turn_ports import Journal, RedoPolicy, RunId, Said, Turn, TurnOutcome, TurnPath
from tests.fakes.runs import Outside, Stage, acting, stage
from tests.fakes.told_work import told_work


@pytest.fixture
async def here(app_dsn: str, admin_dsn: str) -> AsyncIterator[Stage]:
    async with stage(app_dsn, admin_dsn) as made:
        yield made


async def finished(here: Stage, turn: Turn, redo: RedoPolicy, outside: Outside) -> list[tuple[int, str, Any]]:
    """Carry an approved turn to its end without a disturbance."""
    await here.carry(turn, acting(outside, redo))
    (asked,) = await here.pending(turn)
    await here.approvals.decide(here.scope, str(asked["id"]), ReviewVerdict.APPROVED)
    await here.carry(turn, acting(outside, redo))
    assert await here.state(turn) == "completed"
    return await here.stored(turn)


def comparable(events: list[tuple[int, str, Any]], turn: Turn) -> str:
    """Events without what names the run, its approvals and the moment."""
    kept = []
    for seq, kind, payload in events:
        told = dict(payload)
        if "approval" in told:
            told["approval"] = {k: v for k, v in told["approval"].items() if k not in ("id", "expires_at")}
        if kind == "approval_decided":
            told.pop("id")
        kept.append((seq, kind, told))
    return repr(kept).replace(turn.run, "RUN")


async def test_at_01_each_execution_of_an_agent_is_in_the_audit_trail_with_its_end(here: Stage, admin_dsn: str) -> None:
    """AT-01: who, which agent, how it ended; no word of what was said."""

    async def answers(turn: Turn, journal: Journal) -> TurnOutcome:
        return TurnOutcome(f"secret {turn.message}")

    async def fails(turn: Turn, journal: Journal) -> TurnOutcome:
        raise Invalid("it cannot be done")

    done, failed = await here.begin("a secret"), await here.begin("b")
    await here.carry(done, answers)
    await here.carry(failed, fails)
    with psycopg.connect(admin_dsn) as connection:
        found = connection.execute(
            "select actor, object, outcome, detail from audit where action = 'agent.execute' order by seq"
        ).fetchall()
    assert [(row[1], row[2], row[3]["run"], row[3]["state"]) for row in found] == [
        (done.agent.id, "done", done.run, "completed"),
        (failed.agent.id, "failed", failed.run, "failed"),
    ]
    assert found[1][3]["code"] == "invalid" and all(row[0] == str(here.scope.user) for row in found)
    assert "secret" not in repr(found)


async def test_at_01_whoever_helped_with_a_run_is_named_in_its_line(here: Stage, admin_dsn: str) -> None:
    """AT-01: agents that a task was delegated to have no run of their own."""

    async def delegates(turn: Turn, journal: Journal) -> TurnOutcome:
        inside = InnerJournal(journal, RunId(str(uuid4())), "scout")
        inside.emit(EventKind.STATUS, state="thinking")
        inside.emit(EventKind.STATUS, state="executing")
        return TurnOutcome("done")

    await here.carry(await here.begin("a"), delegates)
    with psycopg.connect(admin_dsn) as connection:
        (found,) = connection.execute("select detail from audit where action = 'agent.execute'").fetchall()
    assert found[0]["delegates"] == ["scout"]


async def test_at_01_a_call_that_the_approval_list_refuses_is_a_line_of_its_own(here: Stage, admin_dsn: str) -> None:
    """AT-01: what a policy stopped is found as a denial, whatever became of the run; its cost is told beside it."""

    async def refused(turn: Turn, journal: Journal) -> TurnOutcome:
        why = "refused: no pattern of the approval list allows shell_exec"
        journal.emit(EventKind.TOOL_RESULT, id="1", name="shell_exec", error=why, approved=True, ms=0)
        journal.emit(EventKind.TOOL_RESULT, id="2", name="calculator", error="bad_arguments: n", approved=True, ms=0)
        return TurnOutcome("done")

    turn = await here.begin("a")
    await here.carry(turn, refused)
    with psycopg.connect(admin_dsn) as connection:
        found = connection.execute(
            "select action, object, outcome, detail from audit where action <> 'session.begin' order by seq"
        ).fetchall()
    (denial, execution) = [row for row in found if row[0] in ("tool.refuse", "agent.execute")]
    assert denial[:3] == ("tool.refuse", "shell_exec", "denied")
    assert denial[3]["run"] == turn.run and "no pattern" in denial[3]["why"]
    assert {"ms", "prompt_tokens", "completion_tokens", "cost_usd"} <= set(execution[3])


async def test_hi_01_a_turn_stops_at_its_approval_and_goes_on_with_the_decision(here: Stage) -> None:
    """HI-01, HI-02, OR-10: the stream ends with the request; nobody waits; the decision takes the run further."""
    outside, turn = Outside(), await here.begin()
    events = await here.carry(turn, acting(outside))
    assert events[-1].kind is EventKind.APPROVAL_REQUIRED
    assert events[0].data["state"] == "accepted"
    assert events[-2].data["state"] == "waiting_approval"
    assert await here.state(turn) == "waiting"
    (asked,) = await here.pending(turn)
    assert {k: str(asked[k]) for k in ("run_id", "session_id", "agent_id", "tool", "state", "execution")} == {
        "run_id": turn.run,
        "session_id": here.session,
        "agent_id": here.agent,
        "tool": "act",
        "state": "pending",
        "execution": "none",
    }
    assert (asked["expires_at"] - asked["created_at"]).total_seconds() == pytest.approx(24 * 3600, abs=60)
    async with here.sweeping(acting(outside)):
        decided = await here.approvals.decide(here.scope, str(asked["id"]), ReviewVerdict.APPROVED, notes="go")
        assert (decided["state"], str(decided["reviewer"]), decided["notes"]) == ("approved", here.scope.user, "go")
        await here.until(turn, "completed")
    assert [arguments for _, _, arguments in outside.acted] == [{"to": "b"}]
    stored = await here.stored(turn)
    assert [seq for seq, _, _ in stored] == list(range(1, len(stored) + 1))
    assert stored[-1][1:] == (
        "done",
        {
            "answer": "It is done.",
            "finish_reason": "stop",
            "confidence": 0.9,
            "citations": [],
            "tool_calls": [],
            "usage": {"prompt_tokens": 30, "completion_tokens": 9, "cost_usd": 0.75},
            "agent_trace": [{"step": "tool", "name": "act"}],
        },
    )
    row = await here.desk.show(here.scope, turn.run)
    assert (row["prompt_tokens"], row["completion_tokens"], float(row["cost_usd"])) == (30, 9, 0.75)
    (message,) = await here.rows("select role, content, run_id from messages")
    assert (message["role"], message["content"]["text"], str(message["run_id"])) == (
        "assistant",
        "It is done.",
        turn.run,
    )
    assert (await here.approvals.show(here.scope, str(asked["id"])))["execution"] == "done"


async def test_ob_01_the_trace_has_every_step_with_its_time_tokens_and_cost(here: Stage) -> None:
    """OB-01, OB-02, OB-03."""
    turn = await here.begin()
    await finished(here, turn, RedoPolicy.RECONCILE, Outside())
    steps = await here.desk.steps(here.scope, turn.run)
    assert [(s["seq"], s["kind"], s["name"], s["state"]) for s in steps] == [
        (1, "model", "chat", "done"),
        (2, "approval", "act", "done"),
        (3, "tool", "act", "done"),
        (4, "model", "chat", "done"),
    ]
    assert (steps[0]["prompt_tokens"], steps[0]["completion_tokens"], float(steps[0]["cost_usd"])) == (10, 5, 0.25)
    assert steps[0]["request"]["request"]["messages"] == [{"role": "user", "content": "b"}]
    assert steps[2]["reply"]["ok"] == {"done": True}
    assert all(step["ms"] >= 0 and step["at"] for step in steps)


class Mortal(RunLedger):
    """Its process ends, as it were, before or after the n-th transaction: from then on it writes nothing."""

    def __init__(self, here: Stage, at: int, when: str) -> None:
        super().__init__(here.database)
        self._last, self._when, self._count = at, when, 0

    @asynccontextmanager
    async def writing(self, lease: RunLease) -> AsyncIterator[Transaction]:
        self._count += 1
        if self._count > self._last or (self._count == self._last and self._when == "before"):
            raise LeaseLost("dead")
        async with super().writing(lease) as tx:
            yield tx
        if self._count == self._last:
            raise LeaseLost("dead")


async def dies(here: Stage, turn: Turn, outside: Outside, redo: RedoPolicy, at: int, when: str) -> None:
    """An executor that gets as far as its n-th write; then its lease runs out and its run is taken from it."""
    runner = here.runner(acting(outside, redo), "mortal", runs=Mortal(here, at, when))
    with suppress(LeaseLost):
        async for _ in runner.run(turn, await runner.claim(turn)):
            pass
    async with here.database.transaction(here.scope) as tx:  # time would do it
        await tx.run(
            "update runs set lease_until = now() - interval '1 s' where id = %(id)s and state = 'running'", id=turn.run
        )


async def decide(here: Stage, turn: Turn, outside: Outside) -> bool:
    """Decide what waits; whether it was asked if something has happened."""
    doubted = False
    for row in await here.pending(turn):
        if row["category"] == "reconcile":
            found = ReconcileVerdict.HAPPENED if outside.acted else ReconcileVerdict.RUN
            await here.approvals.reconcile(here.scope, str(row["id"]), found, result={"done": True})
            doubted = True
        else:
            await here.approvals.decide(here.scope, str(row["id"]), ReviewVerdict.APPROVED)
    return doubted


@pytest.mark.parametrize("redo", [RedoPolicy.REPEAT, RedoPolicy.RECONCILE])
async def test_a_turn_can_be_taken_up_after_a_death_at_any_write(here: Stage, redo: RedoPolicy) -> None:
    """HI-02, HI-04: die before and after each write of each leg; same events, the effect once by its key."""
    plain = await here.begin()
    expected = comparable(await finished(here, plain, redo, Outside()), plain)
    for when, at, leg in product(("before", "after"), range(1, 6), (1, 2)):
        outside, turn, doubted = Outside(), await here.begin(), False
        for round_ in range(1, 9):
            if await here.state(turn) == "completed":
                break
            doubted |= await decide(here, turn, outside)
            if round_ == leg:
                await dies(here, turn, outside, redo, at, when)
            elif await here.state(turn) != "waiting":
                await here.carry(turn, acting(outside, redo), "second")
        assert await here.state(turn) == "completed", (when, at, leg)
        assert len({key for _, key, _ in outside.acted}) == 1, (when, at, leg)
        if redo is RedoPolicy.RECONCILE:
            assert len(outside.acted) == 1, (when, at, leg)
        assert not (doubted and redo is RedoPolicy.REPEAT)
        if not doubted:
            assert comparable(await here.stored(turn), turn) == expected, (when, at, leg)
        rows, _ = await here.approvals.page(here.scope, run=turn.run)
        assert rows[0]["execution"] == "done"


async def test_a_run_is_claimed_once_and_its_zombie_is_refused(here: Stage) -> None:
    """Two owners: the one with the old token writes nothing, whatever it tries."""
    turn = await here.begin()
    old = await here.runs.claim(here.scope, turn.run, "one", 0.05)
    with pytest.raises(Conflict, match="is running"):
        await here.runs.claim(here.scope, turn.run, "two", 5)
    await asyncio.sleep(0.1)
    new = await here.runs.claim(here.scope, turn.run, "two", 5)
    assert new.fence == old.fence + 1
    with pytest.raises(LeaseLost):
        await here.runs.heartbeat(old, 5)
    step = RunStep(1, "tool", "act", {}, "h", StepState.STARTED)
    for attempt in (here.runs.put_step, here.runs.finish):
        with pytest.raises(LeaseLost):
            async with here.runs.writing(old) as tx:
                await attempt(tx, old, step)  # type: ignore[arg-type]
    assert await here.runs.interrupt(old) is None
    assert await here.runs.heartbeat(new, 5) is False
    assert (await here.runs.load(here.scope, turn.run)).steps == ()


async def test_an_owner_that_wakes_late_stops_at_once_and_writes_nothing(here: Stage) -> None:
    asleep, outside = asyncio.Event(), Outside()

    async def sleepy(turn: Turn, journal: Journal) -> TurnOutcome:
        await asleep.wait()
        return await acting(outside, ask=False)(turn, journal)

    turn = await here.begin()
    runner = here.runner(sleepy)
    lease = await runner.claim(turn)
    events = runner.run(turn, lease)
    await anext(events)
    async with here.database.transaction(here.scope) as tx:
        await tx.run("update runs set lease_until = now() - interval '1 s' where id = %(id)s", id=turn.run)
    await here.runs.claim(here.scope, turn.run, "another", 60)
    with pytest.raises(LeaseLost):
        async for _ in events:
            pass
    assert (outside.asked, await here.stored(turn), await here.state(turn)) == (0, [], "running")


async def test_events_have_no_gap_and_a_repeat_changes_nothing(here: Stage) -> None:
    turn = await here.begin()
    lease = await here.runs.claim(here.scope, turn.run, "one", 5)

    async def put(*seqs: int, say: str = "first") -> None:
        async with here.runs.writing(lease) as tx:
            await here.runs.put_events(tx, lease, [RunEvent(seq, "status", {"state": say}) for seq in seqs])

    await put(1, 2)
    await put(1, 2, 3, say="second")
    for wrong in ((5,), (4, 6)):
        with pytest.raises(ValueError, match=r"gap|no event before"):
            await put(*wrong)
    assert [(seq, data["state"]) for seq, _, data in await here.stored(turn)] == [
        (1, "first"),
        (2, "first"),
        (3, "second"),
    ]
    (row,) = await here.rows("select last_seq from event_streams")
    assert row["last_seq"] == 3
    other = await here.begin()
    foreign = await here.runs.claim(here.scope, other.run, "one", 5)
    with pytest.raises(ValueError, match="no event before"):
        async with here.runs.writing(foreign) as tx:
            await here.runs.put_events(tx, foreign, [RunEvent(2, "status", {})])


async def test_a_reader_who_leaves_stops_the_model_and_the_run_can_be_taken_up(here: Stage) -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[Said]:
        try:
            for _ in range(10_000):
                yield ReplyDelta("word ")
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    async def handle(turn: Turn, journal: Journal) -> TurnOutcome:
        async for item in journal.stream("chat", ChatRequest((ModelMessage("user", "x"),)), endless):
            if isinstance(item, ReplyDelta):
                journal.emit_delta(item.text)
        raise AssertionError

    turn = await here.begin()
    runner = here.runner(handle)
    events = runner.run(turn, await runner.claim(turn))
    seen = [await anext(events) for _ in range(5)]
    assert seen[-1].piece
    began = asyncio.get_running_loop().time()
    await events.aclose()
    assert asyncio.get_running_loop().time() - began < 5
    assert closed.is_set()
    assert await here.state(turn) == "interrupted"
    events_again = await here.carry(turn, acting(Outside(), ask=False))
    assert (events_again[-1].kind, await here.state(turn)) == (EventKind.DONE, "completed")
    with pytest.raises(Conflict, match="is completed"):
        await here.carry(turn, acting(Outside()))


async def test_a_run_is_cancelled_while_it_runs_and_while_it_waits(here: Stage) -> None:
    async def forever(turn: Turn, journal: Journal) -> TurnOutcome:
        await asyncio.sleep(3600)
        raise AssertionError

    turn = await here.begin()
    runner = here.runner(forever)
    events = runner.run(turn, await runner.claim(turn))
    await anext(events)
    async with here.database.transaction(here.scope) as tx:
        assert await here.runs.cancel(tx, here.scope, turn.run) == "running"
    rest = [event async for event in events]
    assert [event.data for event in rest] == [{"state": "cancelled"}]
    assert await here.state(turn) == "cancelled"

    waiting, outside = await here.begin(), Outside()
    await here.carry(waiting, acting(outside))
    (asked,) = await here.pending(waiting)
    async with here.database.transaction(here.scope) as tx:
        assert await here.runs.cancel(tx, here.scope, waiting.run) == "cancelled"
    assert (await here.approvals.show(here.scope, str(asked["id"])))["state"] == "expired"
    with pytest.raises(Conflict, match="expired"):
        await here.approvals.decide(here.scope, str(asked["id"]), ReviewVerdict.APPROVED)
    stored = await here.stored(waiting)
    assert stored[-1][1:] == ("status", {"state": "cancelled"})
    assert [seq for seq, _, _ in stored] == list(range(1, len(stored) + 1))
    with pytest.raises(Conflict):
        async with here.database.transaction(here.scope) as tx:
            await here.runs.cancel(tx, here.scope, waiting.run)
    assert outside.acted == []


async def test_errors_end_a_run_by_name_and_bugs_by_a_number(here: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async def named(turn: Turn, journal: Journal) -> TurnOutcome:
        raise Unavailable("the model is away", fix="Wait.")

    async def bug(turn: Turn, journal: Journal) -> TurnOutcome:
        raise KeyError("secret detail")

    turn = await here.begin()
    last = (await here.carry(turn, named))[-1]
    assert (last.kind, last.data) == (
        EventKind.ERROR,
        {
            "code": "unavailable",
            "title": "A part of the system cannot be reached.",
            "detail": "the model is away",
            "fix": "Wait.",
        },
    )
    assert await here.state(turn) == "failed"
    turn = await here.begin()
    last = (await here.carry(turn, bug))[-1]
    assert last.data["code"] == "internal"
    assert "secret" not in str(last.data)
    assert last.data["detail"].removeprefix("reference ") in caplog.text
    assert "secret detail" in caplog.text
    assert (await here.desk.show(here.scope, turn.run))["error"]["code"] == "internal"


async def test_an_answer_that_cannot_be_kept_fails_the_run(here: Stage) -> None:
    async def closed(*args: Any) -> None:
        raise Invalid("the session is closed")

    turn = await here.begin()
    runner = here.runner(acting(Outside(), ask=False), remember=closed)
    events = [event async for event in runner.run(turn, await runner.claim(turn))]
    assert [e.kind for e in events].count(EventKind.DONE) == 0
    assert (events[-1].data["code"], await here.state(turn)) == ("invalid", "failed")
    stored = await here.stored(turn)
    assert stored[-1][1] == "error"
    assert [seq for seq, _, _ in stored] == list(range(1, len(stored) + 1))


async def test_attended_runs_lapse_to_interrupted_and_unattended_ones_are_taken_over(here: Stage) -> None:
    """An attended run whose owner died, or never came, is interrupted; one in the background is carried on."""
    never, died, background = await here.begin(), await here.begin(), await here.begin(attended=False)
    await here.runs.claim(here.scope, died.run, "mortal", 0.05)
    lease = await here.runs.claim_next("mortal", 0.05)
    assert lease is not None
    assert lease.run == background.run
    await asyncio.sleep(0.5)
    outside = Outside()
    async with here.sweeping(acting(outside, ask=False)):
        await here.until(background, "completed")
        await here.until(died, "interrupted")
        await here.until(never, "interrupted")
    assert {run for run, _, _ in outside.acted} == {background.run}


async def test_a_run_is_told_where_somebody_has_to_take_it_up(here: Stage, app_dsn: str) -> None:
    """Whoever reads along claims it without being told; a decision hands it to whoever comes first."""
    outside = Outside()
    with told_work(app_dsn) as attended:
        turn = await here.begin()
        await here.carry(turn, acting(outside))
    with told_work(app_dsn) as unattended:
        await here.begin(attended=False)
    with told_work(app_dsn) as decided:
        (asked,) = await here.pending(turn)
        await here.approvals.decide(here.scope, str(asked["id"]), ReviewVerdict.APPROVED)
    assert (attended, unattended, decided) == ([], [RUNS], [RUNS])


async def test_a_run_that_ends_every_executor_ends_itself(here: Stage) -> None:
    turn = await here.begin(attended=False)
    for _ in range(9):
        assert await here.runs.claim_next("mortal", 0.0) is not None
    assert await here.runs.claim_next("mortal", 0.0) is None
    row = await here.desk.show(here.scope, turn.run)
    assert (row["state"], row["error"]["code"]) == ("failed", "crashes")


async def test_mt_04_another_tenant_sees_and_changes_nothing(here: Stage, app_dsn: str, admin_dsn: str) -> None:
    """MT-04, B-08: by every call, and with the first wall taken out of every query."""
    turn = await here.begin()
    await here.carry(turn, acting(Outside()))
    (asked,) = await here.pending(turn)
    async with stage(app_dsn, admin_dsn) as other:
        for call in (
            other.desk.show(other.scope, turn.run),
            other.desk.steps(other.scope, turn.run),
            other.desk.recording(other.scope, turn.run),
            other.runs.load(other.scope, turn.run),
            other.runs.claim(other.scope, turn.run, "thief", 5),
            other.approvals.show(other.scope, str(asked["id"])),
            other.approvals.decide(other.scope, str(asked["id"]), ReviewVerdict.APPROVED),
            other.desk.show(other.scope, "no uuid"),
            other.approvals.show(other.scope, "no uuid"),
            other.desk.show(other.scope, str(uuid4())),
        ):
            with pytest.raises(NotFound):
                await call
        assert await other.desk.events_after(other.scope, turn.run, 0) == []
        assert (await other.desk.page(other.scope), await other.approvals.page(other.scope)) == (([], 0), ([], 0))
        for table in ("runs", "run_steps", "approvals", "events", "event_streams"):
            assert await other.rows(f"select 1 from {table}") == []
        for statement in (
            "update runs set state = 'completed'",
            "update approvals set state = 'approved'",
            "delete from run_steps",
            "delete from approvals",
            "delete from runs",
        ):
            async with other.database.transaction(other.scope) as tx:
                assert await tx.run(statement) == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await other.rows(
                "insert into run_steps (run_id, seq, tenant_id, workspace_id, kind, name, request, request_hash, state)"
                " values (%(run)s, 9, %(tenant)s, %(workspace)s, 'k', 'n', '{}', 'h', 'done') returning 1",
                run=turn.run,
                tenant=here.scope.tenant,
                workspace=here.scope.workspace,
            )
    assert await here.state(turn) == "waiting"
    assert len(await here.pending(turn)) == 1


async def test_the_list_of_runs_is_filtered_and_counted(here: Stage) -> None:
    turns = [await here.begin(path=path) for path in (TurnPath.GENERAL, TurnPath.GENERAL, TurnPath.DOCUMENTS)]
    await here.carry(turns[0], acting(Outside(), ask=False))
    rows, total = await here.desk.page(here.scope, limit=2)
    assert ([str(row["id"]) for row in rows], total) == ([turns[2].run, turns[1].run], 3)
    assert (await here.desk.page(here.scope, state="completed"))[1] == 1
    assert (await here.desk.page(here.scope, session=here.session, agent=here.agent, user=here.scope.user))[1] == 3
    assert (await here.desk.page(here.scope, session=str(uuid4())))[1] == 0
    assert (await here.desk.page(here.scope, agent="no uuid"))[1] == 0


async def test_the_background_ends_although_somebody_reads_a_long_turn(here: Stage) -> None:
    """Regression: whoever shut down waited for the time of a turn, as long as a reader stayed."""
    go, stop = asyncio.Event(), asyncio.Event()

    async def long(turn: Turn, journal: Journal) -> TurnOutcome:
        await go.wait()
        return TurnOutcome("Done.")

    runner, turn = here.runner(long), await here.begin()
    events = runner.run(turn, await runner.claim(turn))
    await anext(events)
    sweep = asyncio.create_task(runner.sweep(stop))
    await asyncio.sleep(0.1)
    stop.set()
    done, _ = await asyncio.wait({sweep}, timeout=2)
    go.set()
    assert [event.kind async for event in events][-1] is EventKind.DONE
    await sweep
    assert done == {sweep}
