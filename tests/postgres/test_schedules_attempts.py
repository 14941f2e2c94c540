"""Attempts of the scheduler over real Postgres: what an outage, a failure that passes and a hung action come to."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.work.schedules import Action
from cluster.state.work.schedules_due import DueTime, DueTimeResult
from configs.sections_skills import ScheduleSettings
from serve_apps.agents.schedules.scheduled_message import ScheduledMessage
from serve_apps.agents.schedules.scheduler import MOST_ATTEMPTS
from tests.fakes.agents_contract import person
from tests.fakes.schedules import Clockwork, Noted, add, ask, clockwork, make_desk, runner


@pytest.fixture
async def clocks(app_dsn: str) -> AsyncIterator[Clockwork]:
    async with clockwork(app_dsn) as made:
        yield made


@pytest.fixture
def owner(admin_dsn: str) -> Scope:
    return person(admin_dsn)


@dataclass
class Flaky(Noted):
    """Something it needs is away the first `away` times."""

    away: int = 1
    third: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, due: DueTime, seconds: float) -> DueTimeResult:
        ending = await super().__call__(scope, due, seconds)
        if len(self.begun) == 3:
            self.third.set()
        if len(self.begun) <= self.away:
            raise Unavailable("the index is away")
        return ending


async def test_sh_01_an_outage_is_nobodys_running_time(clocks: Clockwork, owner: Scope, admin_dsn: str) -> None:
    """SH-01: begun an hour ago by a process that is gone; who takes it up has the whole time."""
    schedule = await add(clocks, owner)
    await ask(clocks, owner, schedule)
    (dead,) = await clocks.due.claim("dead", 0.05, 3)
    await clocks.due.begin(dead)
    with psycopg.connect(admin_dsn) as admin:
        admin.execute(
            "update schedule_runs set started_at = now() - interval '1 hour' where schedule_id = %s", (schedule,)
        )
    stop = asyncio.Event()
    carrying = asyncio.create_task(runner(clocks).sweep(stop))
    async with clocks.sweeping(clocks.scheduler()):
        rows = await clocks.until(owner, schedule)
    stop.set()
    await carrying
    assert [(row["status"], row["attempts"]) for row in rows] == [("completed", 2)]


async def test_sh_01_asked_for_by_hand_takes_no_time_of_the_clock_away(
    clocks: Clockwork, owner: Scope, admin_dsn: str
) -> None:
    """SH-01: it is asked for just before its time and ends after it; its time comes as well."""
    noted, schedule = Noted(0.5), await add(clocks, owner)
    await ask(clocks, owner, schedule)
    with psycopg.connect(admin_dsn) as admin:
        admin.execute("update schedules set next_at = asked_at + interval '0.3 seconds' where id = %s", (schedule,))
    async with clocks.sweeping(clocks.scheduler({Action.MESSAGE: noted})):
        rows = await clocks.until(owner, schedule, 2, seconds=8)
        await asyncio.sleep(0.3)
    assert len(rows) == len(noted.begun) == 2 and rows[0]["due_at"] - rows[1]["due_at"] == timedelta(seconds=0.3)
    assert (await clocks.schedules.show(owner, schedule))["next_at"] > datetime.now(UTC)


async def test_what_may_pass_is_begun_again(clocks: Clockwork, owner: Scope, admin_dsn: str) -> None:
    """The same due time, as soon as the lease has run out; and not for ever."""
    flaky, schedule = Flaky(), await add(clocks, owner)
    await ask(clocks, owner, schedule)
    async with clocks.sweeping(clocks.scheduler({Action.MESSAGE: flaky})):
        rows = await clocks.until(owner, schedule)
        assert [(row["status"], row["attempts"]) for row in rows] == [("completed", 2)]
        assert len({due.id for due in flaky.begun}) == 1
        flaky.away = 1000
        await ask(clocks, owner, schedule)
        async with asyncio.timeout(5):
            await flaky.third.wait()
        with psycopg.connect(admin_dsn) as admin:
            admin.execute("update schedule_runs set attempts = %s where status = 'running'", (MOST_ATTEMPTS - 1,))
        rows = await clocks.until(owner, schedule, 2)
    assert (rows[0]["status"], rows[0]["error"]) == ("failed", "unavailable: the index is away")


async def test_a_message_that_is_cut_off_is_cancelled_and_named(clocks: Clockwork, owner: Scope) -> None:
    """SH-02: also where whoever waits for it hangs."""
    schedule = await add(clocks, owner)
    await ask(clocks, owner, schedule)
    hangs = ScheduledMessage(clocks.database, clocks.due, clocks.runs, make_desk(clocks.database), look_seconds=60)
    hasty = ScheduleSettings(poll_seconds=0.05, seconds=0.2, lease_seconds=0.4)
    async with clocks.sweeping(clocks.scheduler({Action.MESSAGE: hangs}, hasty)):
        (row,) = await clocks.until(owner, schedule, seconds=8)
    assert row["status"] == "timeout"
    assert (await clocks.runs.load(owner, str(row["run_id"]))).state == "cancelled"
