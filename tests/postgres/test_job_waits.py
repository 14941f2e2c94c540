"""Why jobs wait, as the ledger has it: workers, other jobs, other tenants, what kept them, and a quota."""

import asyncio
from pathlib import Path

import httpx
import psycopg

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.work.job_queries import JobQueries
from cluster.state.work.jobs import JobId, JobLane
from configs.sections import WorkerSettings
from pipelines.documents.index.generations import IndexRecipe
from pipelines.documents.ingest.job_loop import JobLoop
from tests.fakes.http import Api
from tests.fakes.ledger import Bench, new_workspace

FAST = WorkerSettings(lease_seconds=5, heartbeat_seconds=0.05, poll_seconds=0.02)


async def scan(ledger: Bench, scope: Scope, root: str = "/nowhere") -> JobId:
    return await ledger.enqueue(scope, "scan", {"root": root, "agent_id": None})


async def why(ledger: Bench, scope: Scope, job: JobId) -> list[tuple[str, str]]:
    shown = await ledger.desk.show(scope, job)
    return [(str(one.reason), one.detail) for one in shown["waits"]]


async def until(ledger: Bench, scope: Scope, job: JobId, reason: str) -> str:
    async with asyncio.timeout(20):
        while True:
            if reason in (found := dict(await why(ledger, scope, job))):
                return found[reason]
            await asyncio.sleep(0.02)


async def ended(ledger: Bench, scope: Scope, job: JobId) -> None:
    async with asyncio.timeout(20):
        while True:
            if (await ledger.desk.show(scope, job))["state"] == "completed":
                return
            await asyncio.sleep(0.02)


async def test_no_worker_behind_and_next(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    first, second, third = [await scan(ledger, scope) for _ in range(3)]
    assert [reason for reason, _ in await why(ledger, scope, first)] == ["no_worker"]
    await ledger.jobs.seen("w", JobLane.BULK, None)
    await ledger.jobs.seen("w2", JobLane.SMALL, None)
    assert await why(ledger, scope, first) == []
    assert await why(ledger, scope, third) == [
        ("behind", f"2 jobs of yours come first, job {second} just before it; 0 at work")
    ]
    claimed = await ledger.claim()
    assert claimed.lease.job == first
    assert await why(ledger, scope, first) == []
    assert [reason for reason, _ in await why(ledger, scope, second)] == ["next"]
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("update lane_workers set seen_at = seen_at - interval '2 min' where lane = 'bulk'")
    assert [reason for reason, _ in await why(ledger, scope, second)] == ["no_worker"]


async def test_other_tenants_that_were_served_less_come_first_and_nobody_sees_whose(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    other = await new_workspace(admin_dsn)
    await ledger.jobs.seen("w", JobLane.BULK, None)
    mine = await scan(ledger, scope)
    await ledger.jobs.end_turn(await ledger.claim(), 500)
    await ledger.rows(scope, "update jobs set state = 'queued', owner = null returning id")
    theirs = await scan(ledger, other)
    found = await why(ledger, scope, mine)
    assert [reason for reason, _ in found] == ["other_tenants"] and "1 job of other tenants" in found[0][1]
    assert await why(ledger, other, theirs) == []
    rows = await ledger.rows(other, "select * from job_places(%(jobs)s::uuid[], interval '1 min')", jobs=[mine])
    assert rows == [], "a foreign job has no place that one may see"


async def test_a_part_that_is_away_is_said_of_the_lane_and_of_the_job(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    away = True

    async def recipe(anew: bool) -> IndexRecipe:
        if away:
            raise Unavailable("the embedder does not answer")
        return await ledger.recipe()

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f.txt").write_text("a page")
    job = await scan(ledger, scope, str(tmp_path / "in"))
    worker = JobLoop(ledger.jobs, ledger.runner(), recipe, FAST, "w")
    working = asyncio.create_task(worker.work(JobLane.BULK))
    assert "the embedder does not answer" in await until(ledger, scope, job, "part_away")
    away = False
    await ended(ledger, scope, job)
    worker.stop()
    await working


async def test_a_strained_machine_is_said_of_the_running_job_by_its_own_worker(ledger: Bench, scope: Scope) -> None:
    job, behind = await scan(ledger, scope), await scan(ledger, scope)
    await ledger.jobs.seen("worker-1", JobLane.BULK, "machine_busy: 1 % idle")
    await ledger.jobs.seen("worker-2", JobLane.BULK, None)
    await ledger.claim("worker-1")
    assert await why(ledger, scope, job) == [("machine_busy", "1 % idle")]
    assert [reason for reason, _ in await why(ledger, scope, behind)] == ["next"], "another worker may take it"


async def test_a_worker_tells_what_strains_it_while_it_works(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    from tests.postgres.test_shift import SlowReader, files

    ledger.reader = SlowReader()
    job = await scan(ledger, scope, files(tmp_path))
    strain = "memory_short: 93 % of the memory is in use"
    worker = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, FAST, "w", strain=lambda: strain)
    working = asyncio.create_task(worker.once(JobLane.BULK))
    assert await until(ledger, scope, job, "memory_short") == "93 % of the memory is in use"
    await working
    assert await why(ledger, scope, job) == []


async def test_a_spent_quota_is_said_while_a_job_waits(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f.txt").write_text("one\ftwo\fthree")
    await ledger.scan(scope, tmp_path / "in")
    await ledger.jobs.seen("w", JobLane.BULK, None)
    job = await scan(ledger, scope)
    ledger.desk = JobQueries(ledger.database, 4)
    assert await why(ledger, scope, job) == []
    ledger.desk = JobQueries(ledger.database, 3)
    ((reason, detail),) = await why(ledger, scope, job)
    assert reason == "quota" and "3 of the 3 pages" in detail


async def test_the_api_says_why_with_what_to_do(api: Api, operator: httpx.AsyncClient, tmp_path: Path) -> None:
    (tmp_path / "scans" / "in").mkdir()
    started = (await operator.post("/api/documents/batch-scan", json={"path": "in"})).json()
    one = (await operator.get(f"/api/jobs/{started['job_id']}")).json()
    (listed,) = (await operator.get("/api/jobs")).json()["items"]
    assert one["waits"] == listed["waits"]
    assert [(wait["reason"], "aos up" in wait["fix"]) for wait in one["waits"]] == [("no_worker", True)]
    await operator.post(f"/api/jobs/{started['job_id']}/cancel")
    assert (await operator.get(f"/api/jobs/{started['job_id']}")).json()["waits"] == []
