"""The bell: Postgres tells of jobs that may be claimed; what hears nothing says so, and is looked for as before."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import psycopg
from psycopg.conninfo import make_conninfo

from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane, JobState
from cluster.state.work.lease import LeaseSweep
from cluster.state.work.run_record import RunLease
from cluster.state.work.work_bell import RUNS, WEBHOOKS, WorkBell
from configs.sections import WorkerSettings
from pipelines.documents.ingest.job_loop import JobLoop
from tests.fakes.ledger import Bench

SMALL = "job:small"
LONG = 60.0  # seconds that no test waits


@asynccontextmanager
async def listening(ledger: Bench, conninfo: str, probe_seconds: float = LONG) -> AsyncIterator[WorkBell]:
    bell = WorkBell(ledger.database, conninfo, probe_seconds)
    task = asyncio.create_task(bell.listen())
    try:
        yield bell
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    for _ in range(round(seconds / 0.02)):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError


async def seconds_of(waiting: Awaitable[None]) -> float:
    began = time.monotonic()
    await waiting
    return time.monotonic() - began


async def enqueue(ledger: Bench, scope: Scope) -> None:
    await ledger.enqueue(scope, "scan", {"root": "/nowhere/at/all", "agent_id": None}, JobLane.SMALL)


async def test_a_job_that_begins_to_wait_rings_in_its_lane_alone(ledger: Bench, scope: Scope, app_dsn: str) -> None:
    async with listening(ledger, app_dsn) as bell:
        await until(lambda: bell.hears)
        small, bulk = bell.count(SMALL), bell.count("job:bulk")
        waiting = asyncio.create_task(seconds_of(bell.wait(SMALL, small, poll=LONG, sweep=LONG)))
        await asyncio.sleep(0.05)
        await enqueue(ledger, scope)
        assert await waiting < 10
        assert bell.count(SMALL) == small + 1 and bell.count("job:bulk") == bulk
        assert await seconds_of(bell.wait(SMALL, small, poll=LONG, sweep=LONG)) < 1, "it has rung since"


async def test_a_claim_rings_for_nobody_and_an_end_for_who_may_have_its_place(
    ledger: Bench, scope: Scope, app_dsn: str
) -> None:
    await enqueue(ledger, scope)
    async with listening(ledger, app_dsn) as bell:
        await until(lambda: bell.hears)
        before = bell.count(SMALL)
        job = await ledger.jobs.claim("w", JobLane.SMALL, 30)
        assert job is not None
        await ledger.jobs.heartbeat(job.lease, 30)
        await asyncio.sleep(0.3)
        assert bell.count(SMALL) == before
        await ledger.jobs.finish(job.lease, JobState.FAILED, "no")
        await until(lambda: bell.count(SMALL) > before)


async def test_where_nothing_is_told_it_says_so_and_is_looked_for(ledger: Bench, scope: Scope, app_dsn: str) -> None:
    """As behind a pooler that lends connections by transaction: there is a connection, and nothing comes."""
    async with listening(ledger, make_conninfo(app_dsn, dbname="postgres"), 0.2) as bell:
        await asyncio.sleep(0.5)
        assert not bell.hears
        assert await seconds_of(bell.wait(SMALL, bell.count(SMALL), poll=0.05, sweep=LONG)) < 10


async def test_proofs_of_other_workers_are_not_kept(ledger: Bench, scope: Scope, app_dsn: str) -> None:
    """Each is another word: whoever counted them would grow for as long as it runs."""
    async with listening(ledger, app_dsn) as bell:
        await until(lambda: bell.hears)
        before = bell.count(SMALL)
        async with ledger.database.transaction() as tx:
            await tx.all("select pg_notify('aos_work', 'probe:of-another')")
        await enqueue(ledger, scope)  # told after it
        await until(lambda: bell.count(SMALL) > before)
        assert bell.count("probe:of-another") == bell.count("what nobody told")


async def test_whatever_keeps_it_from_listening_ends_no_worker(ledger: Bench, scope: Scope) -> None:
    bell = WorkBell(ledger.database, "this_is_no_option=1")
    task = asyncio.create_task(bell.listen())
    await asyncio.sleep(0.3)
    assert not task.done() and not bell.hears
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_connection_that_is_cut_is_made_anew(ledger: Bench, scope: Scope, app_dsn: str, admin_dsn: str) -> None:
    """Whoever waits meanwhile looks; afterwards it is told again."""
    async with listening(ledger, app_dsn) as bell:
        await until(lambda: bell.hears)
        waiting = asyncio.create_task(seconds_of(bell.wait(SMALL, bell.count(SMALL), poll=LONG, sweep=LONG)))
        await asyncio.sleep(0.05)
        with psycopg.connect(admin_dsn, autocommit=True) as owner:
            ended = owner.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid() and query like %s",
                ["%listen aos_work%"],
            ).fetchall()
        assert len(ended) == 1
        assert await waiting < 10
        assert not bell.hears
        await until(lambda: bell.hears)
        before = bell.count(SMALL)
        await enqueue(ledger, scope)
        await until(lambda: bell.count(SMALL) > before)


async def test_a_worker_that_is_told_claims_at_once_and_hardly_looks_otherwise(
    ledger: Bench, scope: Scope, app_dsn: str
) -> None:
    settings = WorkerSettings(poll_seconds=0.01, sweep_seconds=LONG)
    async with listening(ledger, app_dsn) as bell:
        await until(lambda: bell.hears)
        loop = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, settings, "w", bell=bell)
        working = asyncio.create_task(loop.work(JobLane.SMALL))
        await asyncio.sleep(0.3)  # it has looked, and waits
        await enqueue(ledger, scope)
        for _ in range(400):
            if not {"queued", "running"} & set(await states(ledger, scope)):
                break
            await asyncio.sleep(0.05)
        assert not {"queued", "running"} & set(await states(ledger, scope))
        loop.stop()
        async with asyncio.timeout(10):
            await working


async def test_a_sweep_that_is_told_looks_at_once_and_hardly_otherwise(
    ledger: Bench, scope: Scope, app_dsn: str
) -> None:
    """Runs that nobody reads, and what a webhook is to be sent."""
    async with listening(ledger, app_dsn) as bell:
        await until(lambda: bell.hears)
        looks, stop = Counter[str](), asyncio.Event()

        def sweeping(queue: str) -> asyncio.Task[None]:
            async def claim(room: int) -> list[RunLease]:
                looks[queue] += 1
                return []

            async def carry(lease: RunLease, stop: asyncio.Event) -> None:
                raise AssertionError

            sweep = LeaseSweep(claim, carry, 1, lambda: 0.01, (bell, queue, LONG))
            return asyncio.create_task(sweep.run(stop))

        tasks = [sweeping(queue) for queue in (RUNS, WEBHOOKS)]
        await until(lambda: looks[RUNS] > 0 and looks[WEBHOOKS] > 0)
        await asyncio.sleep(0.3)
        before = dict(looks)
        async with ledger.database.transaction() as tx:
            await tx.all("select pg_notify('aos_work', %(queue)s)", queue=RUNS)
        await until(lambda: looks[RUNS] == before[RUNS] + 1)
        assert looks[WEBHOOKS] == before[WEBHOOKS], "it was not told"
        stop.set()
        await asyncio.gather(*tasks)


async def states(ledger: Bench, scope: Scope) -> list[str]:
    async with ledger.database.transaction(scope) as tx:
        return [row["state"] for row in await tx.all("select state from jobs")]
