"""A large folder is worked at by several workers: each has files of its own, under a lease of its own."""

import asyncio
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import Invalid, LeaseLost
from cluster.basics.scope import Scope
from cluster.state.work.job_partitions import PARTITIONS
from cluster.state.work.jobs import ClaimedJob, JobId, JobLane, UnitOutcome, UnitStatus
from pipelines.documents.ingest.job_loop import JobLoop
from pipelines.documents.ingest.job_plan import READ, SURVEY, JobPlanner
from tests.fakes.ledger import Bench, new_workspace
from tests.postgres.test_lanes import SLICES, Sluggish, shown, until_ended, write

FILES, EACH, PAGES = 10, 3, 2


@dataclass
class Claims:
    """Hears which partition was claimed by whom."""

    heard: dict[str, list[int]] = field(default_factory=dict)

    def loop(self, ledger: Bench, owner: str) -> JobLoop:
        def began(job: ClaimedJob) -> None:
            if job.lease.partition is not None:
                self.heard.setdefault(owner, []).append(job.lease.partition.number)

        return JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, SLICES, owner, began=began)


@pytest.fixture(autouse=True)
def small_partitions(ledger: Bench) -> None:
    ledger.read = ledger.read.model_copy(update={"partition_files": EACH})


async def scan(ledger: Bench, scope: Scope, folder: Path, files: int = FILES, name: str = "f") -> JobId:
    for n in range(files):
        await asyncio.to_thread(write, folder / f"{n}", f"{name}.txt", [f"page {p} of file {n}" for p in range(PAGES)])
    return await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})


async def planned(ledger: Bench, scope: Scope, folder: Path) -> JobId:
    """A job whose partitions wait to be claimed."""
    job = await scan(ledger, scope, folder)
    claimed = await ledger.claim()
    assert (await ledger.runner().turn(claimed, await ledger.recipe(), lambda: False)).moved
    await ledger.jobs.release(claimed.lease)
    return job


async def finish(ledger: Bench, job: ClaimedJob) -> None:
    """Do all that is in a partition, and give it back."""
    await ledger.finish(job, ledger.runner())
    await ledger.jobs.release(job.lease, kept=True)


async def stored_pages(ledger: Bench, scope: Scope) -> list[dict[str, Any]]:
    return await ledger.rows(
        scope, "select count(*) as pages, count(distinct (document_id, number)) as distinct from pages"
    )


async def test_workers_that_are_free_share_a_folder_and_each_page_is_read_once(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.reader = Sluggish()
    job = await scan(ledger, scope, tmp_path / "in", name="long")
    claims = Claims()
    loops = [(claims.loop(ledger, owner), JobLane.BULK) for owner in ("one", "two")]
    await until_ended(ledger, [(scope, job)], *loops)
    row = await shown(ledger, scope, job)
    assert (row["state"], row["payload"][PARTITIONS]) == ("completed", 4)
    assert row["partitions"] == {"total": 4, "open": 0, "at_work": 0}
    assert set(claims.heard) == {"one", "two"}
    assert sorted([*claims.heard["one"], *claims.heard["two"]]) == [0, 1, 2, 3]
    assert ledger.reader.readings == Counter({("long.txt", n): FILES for n in range(1, PAGES + 1)})
    assert await stored_pages(ledger, scope) == [{"pages": FILES * PAGES, "distinct": FILES * PAGES}]


async def test_a_folder_that_fits_into_one_partition_has_none(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    job = await scan(ledger, scope, tmp_path / "in", files=EACH)
    assert await ledger.run() == job
    row = await shown(ledger, scope, job)
    assert row["state"] == "completed" and PARTITIONS not in row["payload"] and row["partitions"] is None


async def test_a_partition_whose_worker_died_is_anothers_and_who_wakes_writes_nothing(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    job = await planned(ledger, scope, tmp_path / "in")
    zombie = await ledger.claim("zombie", lease=0.2)
    beside = await ledger.claim("beside", lease=60)
    assert zombie.lease.partition and beside.lease.partition
    assert (zombie.lease.partition.number, beside.lease.partition.number) == (0, 1)
    units = await ledger.jobs.pending(zombie.lease, SURVEY, 10)
    await asyncio.sleep(0.3)
    heir = await ledger.claim("heir")
    assert heir.lease.partition and heir.lease.partition.number == 0
    assert heir.lease.partition.fence > zombie.lease.partition.fence
    with pytest.raises(LeaseLost):
        async with ledger.jobs.writing(zombie.lease) as tx:
            await ledger.jobs.settle(tx, zombie.lease, SURVEY, [UnitOutcome(units[0].key, UnitStatus.DONE)])
    with pytest.raises(LeaseLost):
        await ledger.jobs.heartbeat(zombie.lease, 60)
    await ledger.jobs.release(zombie.lease)  # which is nothing of its own any more
    for one in (heir, beside):
        await finish(ledger, one)
    while (left := await ledger.next_job("last")) is not None:
        await ledger.finish(left, ledger.runner())
        await ledger.jobs.release(left.lease, kept=True)
    assert (await shown(ledger, scope, job))["state"] == "completed"
    assert await stored_pages(ledger, scope) == [{"pages": FILES * PAGES, "distinct": FILES * PAGES}]


async def test_the_last_to_give_a_partition_back_puts_the_job_in_the_queue(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    job = await planned(ledger, scope, tmp_path / "in")
    one, two = await ledger.claim("one"), await ledger.claim("two")
    assert await ledger.jobs.partitions.count_at_work(JobLane.BULK) == 2
    assert (await shown(ledger, scope, job))["partitions"] == {"total": 4, "open": 4, "at_work": 2}
    await ledger.jobs.release(one.lease)
    assert (await shown(ledger, scope, job))["state"] == "running"
    assert await ledger.jobs.partitions.count_at_work(JobLane.BULK) == 1
    await ledger.jobs.release(two.lease)
    assert (await shown(ledger, scope, job))["state"] == "queued"
    with pytest.raises(LeaseLost):
        async with ledger.jobs.writing(two.lease):
            pass


async def test_two_that_give_back_the_last_partitions_at_once_leave_no_job_behind(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    job = await planned(ledger, scope, tmp_path / "in")
    for _ in range(5):
        both = [await ledger.claim("one"), await ledger.claim("two")]
        await asyncio.gather(*(ledger.jobs.release(one.lease) for one in both))
        assert (await shown(ledger, scope, job))["state"] == "queued"


async def test_a_partitions_heartbeat_keeps_the_jobs_lease_too(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    await planned(ledger, scope, tmp_path / "in")
    held = await ledger.claim("one", lease=0.3)
    for _ in range(4):
        await asyncio.sleep(0.15)
        assert await ledger.jobs.heartbeat(held.lease, 0.3) is False
    other = await ledger.claim("two")
    assert other.lease.fence == held.lease.fence, "nobody has claimed the job itself"
    assert other.lease.partition and other.lease.partition.number == 1


async def test_a_job_that_is_cancelled_ends_after_the_last_who_works_at_it_and_can_be_resumed(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.reader = Sluggish()
    job = await scan(ledger, scope, tmp_path / "in", name="long")
    claims = Claims()
    loops = [claims.loop(ledger, owner) for owner in ("one", "two")]
    works = [asyncio.create_task(one.work(JobLane.BULK)) for one in loops]
    async with asyncio.timeout(30):
        while len(claims.heard) < 2:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.02)
        async with ledger.database.transaction(scope) as tx:
            assert await ledger.desk.cancel(tx, scope, job) is False
        while (await shown(ledger, scope, job))["state"] != "cancelled":  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
    for one in loops:
        one.stop()
    await asyncio.gather(*works)
    unfinished = await ledger.rows(scope, "select 1 from documents where status in ('pending', 'processing')")
    assert unfinished == [], "what was not read says so"
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, job)
    await until_ended(ledger, [(scope, job)], (claims.loop(ledger, "three"), JobLane.BULK))
    assert (await shown(ledger, scope, job))["state"] == "completed"
    assert await stored_pages(ledger, scope) == [{"pages": FILES * PAGES, "distinct": FILES * PAGES}]


async def test_those_who_share_a_folder_give_it_back_to_a_tenant_that_waits(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    ledger.reader = Sluggish()
    other = await new_workspace(admin_dsn)
    mine = await scan(ledger, scope, tmp_path / "in", name="long")
    claims = Claims()
    loops = [(claims.loop(ledger, owner), JobLane.BULK) for owner in ("one", "two")]
    write(tmp_path / "b", "b.txt", ["quick"])

    async def come_later() -> JobId:
        while len(claims.heard) < 2:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.02)
        return await ledger.enqueue(other, "scan", {"root": str(tmp_path / "b"), "agent_id": None})

    later = asyncio.create_task(come_later())
    working = asyncio.create_task(until_ended(ledger, [(scope, mine)], *loops))
    theirs = await later
    async with asyncio.timeout(30):
        while (await shown(ledger, other, theirs))["state"] != "completed":  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
    row = await shown(ledger, scope, mine)
    assert row["state"] in ("queued", "running"), "who came later did not wait for the whole folder"
    await working
    assert await stored_pages(ledger, scope) == [{"pages": FILES * PAGES, "distinct": FILES * PAGES}]


async def test_a_worker_that_is_told_to_go_gives_its_partition_back_without_an_attempt(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    await planned(ledger, scope, tmp_path / "in")
    one, two = await ledger.claim("one"), await ledger.claim("two")
    for job in (one, two):
        await ledger.jobs.begin(job.lease, SURVEY, await ledger.jobs.pending(job.lease, SURVEY, 10))
    await ledger.jobs.release(one.lease, untouched=True)
    again = await ledger.claim("three")
    assert again.lease.partition and again.lease.partition.number == 0
    assert {unit.attempts for unit in await ledger.jobs.pending(again.lease, SURVEY, 10)} == {0}
    assert {unit.attempts for unit in await ledger.jobs.pending(two.lease, SURVEY, 10)} == {1}


async def test_a_plan_that_is_made_again_leaves_no_file_without_a_partition(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """Its worker was killed before it had ended, and the folder has fewer files by then."""
    folder = tmp_path / "in"
    job = await scan(ledger, scope, folder)
    first = await ledger.claim(lease=0.1)
    planner = JobPlanner(ledger.jobs, ledger.generations, ledger.rebuild(), partition_files=EACH)
    await planner._scan_folder(first.lease, folder, JobLane.BULK)
    for n in range(1, FILES):  # what is left fits into one partition
        shutil.rmtree(folder / f"{n}")
    await asyncio.sleep(0.2)
    await until_ended(ledger, [(scope, job)], (Claims().loop(ledger, "one"), JobLane.BULK))
    row = await shown(ledger, scope, job)
    assert row["partitions"] == {"total": 4, "open": 0, "at_work": 0}
    assert (row["state"], row["progress"]["survey"]) == (
        "partial",
        {"expected": FILES, "done": 1, "failed": FILES - 1, "unchanged": 0},
    )


async def test_an_error_in_one_partition_ends_the_job_with_its_reason_after_the_others_have_stopped(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.reader = Sluggish()
    job = await scan(ledger, scope, tmp_path / "in", name="long")
    claims = Claims()
    good, bad = claims.loop(ledger, "good"), claims.loop(ledger, "bad")

    async def break_off(*_: object) -> None:
        if len(claims.heard) == 2:
            raise Invalid("these vectors are no numbers")

    bad._runner._versions.run = break_off  # type: ignore[assignment]
    await until_ended(ledger, [(scope, job)], (good, JobLane.BULK), (bad, JobLane.BULK))
    row = await shown(ledger, scope, job)
    assert row["state"] == "failed" and "these vectors are no numbers" in row["error"]
    assert await ledger.rows(scope, "select 1 from documents where status in ('pending', 'processing')") == []
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, job)
    await until_ended(ledger, [(scope, job)], (claims.loop(ledger, "heir"), JobLane.BULK))
    assert (await shown(ledger, scope, job))["state"] == "completed"
    assert await stored_pages(ledger, scope) == [{"pages": FILES * PAGES, "distinct": FILES * PAGES}]


async def test_a_partition_that_ends_its_workers_comes_last_and_ends_the_job_at_last(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    job = await planned(ledger, scope, tmp_path / "in")
    numbers = []
    for owner in range(3):
        died = await ledger.claim(f"dies-{owner}", lease=0.01)
        assert died.lease.partition
        numbers.append(died.lease.partition.number)
        await asyncio.sleep(0.05)
    assert numbers == [0, 0, 1], "others are tried first"
    await ledger.rows(scope, "update job_partitions set lapses = 8 where number = 0 returning number")
    assert await ledger.next_job("next") is None, "nobody begins with anything more of it"
    await ledger.rows(scope, "update jobs set lease_until = now() - interval '1 s' returning id")
    await until_ended(ledger, [(scope, job)], (Claims().loop(ledger, "last"), JobLane.BULK))
    row = await shown(ledger, scope, job)
    assert row["state"] == "failed" and "its worker ended 8 times" in row["error"]


async def test_a_turn_that_ends_as_it_should_forgets_deaths_before_it(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    await planned(ledger, scope, tmp_path / "in")
    held = await ledger.claim()
    await ledger.rows(scope, "update job_partitions set lapses = 3 where number = 0 returning number")
    await ledger.jobs.end_turn(held, 1)
    assert await ledger.rows(scope, "select lapses from job_partitions where number = 0") == [{"lapses": 0}]


async def test_who_shares_a_folder_hears_of_another_job_of_its_workspace(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    await planned(ledger, scope, tmp_path / "in")
    held = await ledger.claim()
    assert await ledger.jobs.others_wait(held) is False
    write(tmp_path / "b", "b.txt", ["quick"])
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "b"), "agent_id": None})
    assert await ledger.jobs.others_wait(held) is True


async def test_what_was_taken_for_done_and_is_not_is_found(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    job = await planned(ledger, scope, tmp_path / "in")
    await ledger.rows(scope, "update job_partitions set open = false returning number")
    await until_ended(ledger, [(scope, job)], (Claims().loop(ledger, "one"), JobLane.BULK))
    assert (await shown(ledger, scope, job))["state"] == "completed"


async def test_a_heartbeat_of_a_job_that_is_in_the_queue_keeps_nothing(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    await planned(ledger, scope, tmp_path / "in")
    held = await ledger.claim()
    await ledger.rows(scope, "update jobs set state = 'queued', lease_until = null returning id")
    with pytest.raises(LeaseLost):
        await ledger.jobs.heartbeat(held.lease, 3600)
    (row,) = await ledger.rows(
        scope, "select lease_until < now() + interval '10 min' as short from job_partitions where number = 0"
    )
    assert row["short"]


async def test_partitions_are_seen_in_their_workspace_alone_and_code_of_before_gets_none(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    job = await planned(ledger, scope, tmp_path / "in")
    other = await new_workspace(admin_dsn)
    assert len(await ledger.rows(scope, "select number from job_partitions")) == 4
    assert await ledger.rows(other, "select number from job_partitions") == []
    before = "select id from claim_job('bulk', 'before', interval '1 min')"
    assert await ledger.rows(scope, before) == []
    assert (await shown(ledger, scope, job))["state"] == "queued"


async def test_each_claim_of_a_partition_unpacks_into_a_folder_of_its_own(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    await planned(ledger, scope, tmp_path / "in")
    zombie = await ledger.claim("zombie", lease=0.05)
    await asyncio.sleep(0.1)
    heir = await ledger.claim("heir", lease=0.05)
    await asyncio.sleep(0.1)
    for one in (zombie, heir):
        assert one.lease.partition
    claims = {zombie.lease.claim, heir.lease.claim, (await ledger.claim("third")).lease.claim}
    assert len(claims) == 3


async def test_pages_of_a_file_are_in_its_partition(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    job = await planned(ledger, scope, tmp_path / "in")
    await ledger.claim("one")
    second = await ledger.claim("two")
    await finish(ledger, second)
    found = await ledger.rows(
        scope,
        "select stage, array_agg(distinct partition) as partitions from units where job_id = %(job)s"
        " and status = 'done' group by stage",
        job=job,
    )
    assert {row["stage"]: row["partitions"] for row in found} == {SURVEY: [1], READ: [1], "index": [1]}
