"""The scheduler over real Postgres: what is due is done once, whoever dies, however many look."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import psycopg
import pytest

from cluster.basics.errors import Conflict
from cluster.basics.scope import Role, Scope
from cluster.state.work.schedules import Action, ScheduleChange, ScheduleOutcome
from cluster.state.work.schedules_due import DueTimeResult
from configs.sections_skills import ScheduleSettings
from tests.fakes.agents_contract import person
from tests.fakes.schedules import Clockwork, Noted, add, ask, clockwork, make_due, runner


@pytest.fixture
async def clocks(app_dsn: str) -> AsyncIterator[Clockwork]:
    async with clockwork(app_dsn) as made:
        yield made


@pytest.fixture
def owner(admin_dsn: str) -> Scope:
    return person(admin_dsn)


async def test_sh_01_a_missed_time_runs_once_and_the_next_is_ahead(
    clocks: Clockwork, owner: Scope, admin_dsn: str
) -> None:
    """SH-01, SH-02: thirty hours of silence are one run; two schedulers do not make it two."""
    noted = Noted(0.1)
    schedule = await add(clocks, owner)
    make_due(admin_dsn, schedule)
    actions = {Action.MESSAGE: noted}
    async with clocks.sweeping(clocks.scheduler(actions), clocks.scheduler(actions, owner="s2")):
        rows = await clocks.until(owner, schedule)
        await asyncio.sleep(0.4)
    row = await clocks.schedules.show(owner, schedule)
    assert [one["status"] for one in rows] == ["completed"] and len(noted.begun) == 1
    assert row["last_status"] == "completed" and row["due_at"] is None
    assert row["next_at"] > datetime.now(UTC) and row["next_at"].hour == 6
    assert (datetime.now(UTC) - row["last_at"]).total_seconds() > 29 * 3600


async def test_sh_01_a_disabled_one_rests_and_is_run_when_it_is_asked_for(
    clocks: Clockwork, owner: Scope, admin_dsn: str
) -> None:
    """SH-01: by hand it runs once, whatever the clock says, and its times stay as they are."""
    noted = Noted()
    schedule = await add(clocks, owner, enabled=False)
    make_due(admin_dsn, schedule)
    async with clocks.sweeping(clocks.scheduler({Action.MESSAGE: noted})):
        await asyncio.sleep(0.3)
        assert noted.begun == []
    await ask(clocks, owner, schedule)
    await ask(clocks, owner, schedule)  # before anybody looks: it is due once
    async with clocks.sweeping(clocks.scheduler({Action.MESSAGE: noted})):
        await clocks.until(owner, schedule)
        await asyncio.sleep(0.3)
    assert len(noted.begun) == 1
    async with clocks.database.transaction(owner) as tx:
        change = ScheduleChange(cron="15 7 * * *", timezone="Europe/Berlin", enabled=True)
        await clocks.schedules.change(tx, owner, schedule, change, datetime.now(UTC), None)
    assert (await clocks.schedules.show(owner, schedule))["next_at"].minute == 15


async def test_sh_02_three_at_a_time_however_many_look(clocks: Clockwork, owner: Scope, admin_dsn: str) -> None:
    """SH-02: the limit holds over all replicas, and a tenant with one due time is not behind one with many."""
    noted, other = Noted(0.25), person(admin_dsn)
    many = [await add(clocks, owner, f"n{n}") for n in range(6)]
    single = await add(clocks, other, "alone")
    for schedule in many:
        make_due(admin_dsn, schedule, 40)
    make_due(admin_dsn, single, 1)
    actions = {Action.MESSAGE: noted}
    async with clocks.sweeping(clocks.scheduler(actions), clocks.scheduler(actions, owner="s2")):
        for schedule in many:
            await clocks.until(owner, schedule)
        await clocks.until(other, single)
    assert noted.most == 3 and len(noted.begun) == 7
    assert single in [due.lease.schedule for due in noted.begun[:3]]


async def test_sh_02_what_takes_too_long_is_ended(clocks: Clockwork, owner: Scope) -> None:
    """SH-02: the limit of seconds ends an action, its row says so, and the schedule goes on."""
    schedule = await add(clocks, owner)
    await ask(clocks, owner, schedule)
    hasty = ScheduleSettings(poll_seconds=0.05, seconds=0.2, lease_seconds=0.4)
    async with clocks.sweeping(clocks.scheduler({Action.MESSAGE: Noted(60)}, hasty)):
        rows = await clocks.until(owner, schedule, seconds=5)
    assert rows[0]["status"] == "timeout" and rows[0]["ended_at"] is not None


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_sh_01_a_killed_scheduler_loses_nothing_and_doubles_nothing(
    clocks: Clockwork, owner: Scope, app_dsn: str, admin_dsn: str, moment: str
) -> None:
    """SH-01: kill -9 before or after the turn is stored; another takes the same due time up and ends it."""
    schedule = await add(clocks, owner)
    make_due(admin_dsn, schedule)
    doomed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "tests.fakes.schedules", app_dsn, moment], timeout=60
    )
    assert doomed.returncode == -signal.SIGKILL
    stop = asyncio.Event()
    carrying = asyncio.create_task(runner(clocks).sweep(stop))
    async with clocks.sweeping(clocks.scheduler(), clocks.scheduler(owner="s2")):
        rows = await clocks.until(owner, schedule)
        await asyncio.sleep(0.3)
    stop.set()
    await carrying
    assert [(row["status"], row["attempts"]) for row in rows] == [("completed", 2)]
    with psycopg.connect(admin_dsn) as admin:
        workspace = (owner.workspace,)
        runs = admin.execute(
            "select id, user_id, attended, state from runs where workspace_id = %s", workspace
        ).fetchall()
        said = admin.execute(
            "select role, count(*) from messages where workspace_id = %s group by 1", workspace
        ).fetchall()
    assert [(str(run[0]), str(run[1]), *run[2:]) for run in runs] == [
        (str(rows[0]["run_id"]), owner.user, False, "completed")
    ]
    assert sorted(said) == [("assistant", 1), ("user", 1)]


async def test_a_scheduler_that_was_thought_dead_writes_nothing(clocks: Clockwork, owner: Scope) -> None:
    """The fencing token of an old claim stores no turn and ends no due time."""
    schedule = await add(clocks, owner)
    await ask(clocks, owner, schedule)
    (old,) = await clocks.due.claim("zombie", 0.05, 3)
    zombie = await clocks.due.begin(old)
    await asyncio.sleep(0.1)
    (new,) = await clocks.due.claim("living", 5, 3)
    assert (await clocks.due.begin(new)).id == zombie.id
    for write in (
        clocks.due.finish(zombie, DueTimeResult(ScheduleOutcome.COMPLETED)),
        clocks.messages._accept(owner, zombie),
    ):
        with pytest.raises(Exception, match="token"):
            await write
    async with clocks.database.transaction(owner) as tx:
        assert await tx.all("select id from runs") == []
        assert await tx.all("select * from messages") == []


async def test_sh_01_rights_are_looked_at_when_it_runs(clocks: Clockwork, owner: Scope, admin_dsn: str) -> None:
    """SH-01: it has the rights that are left; an owner who is gone runs nothing, and the trail says so."""
    noted = Noted()
    schedule = await add(clocks, owner)
    with psycopg.connect(admin_dsn) as admin:
        admin.execute("update memberships set role = 'viewer' where user_id = %s", (owner.user,))
        admin.execute("update users set role = 'viewer' where id = %s", (owner.user,))
    async with clocks.sweeping(clocks.scheduler({Action.MESSAGE: noted})):
        await ask(clocks, owner, schedule)
        await clocks.until(owner, schedule)
        assert noted.scopes[0].role is Role.VIEWER and noted.scopes[0].user == owner.user
        with psycopg.connect(admin_dsn) as admin:
            admin.execute("delete from memberships where user_id = %s", (owner.user,))
        await ask(clocks, owner, schedule)
        rows = await clocks.until(owner, schedule, 2)
    assert rows[0]["status"] == "refused" and len(noted.begun) == 1
    with psycopg.connect(admin_dsn) as admin:
        told = admin.execute(
            "select count(*) from audit where tenant_id = %s and action = 'schedule.carry'", (owner.tenant,)
        ).fetchone()
    assert told == (1,)


async def test_a_name_is_taken_once(clocks: Clockwork, owner: Scope) -> None:
    await add(clocks, owner)
    with pytest.raises(Conflict):
        await add(clocks, owner)
