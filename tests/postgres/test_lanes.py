"""Lanes are shared by time: a long upload gives its place back, what is slow waits apart, and nothing is lost by it."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cluster.basics.crowd import CpuTimes, CrowdWatch
from cluster.basics.errors import Stalled
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobId, JobLane
from cluster.state.work.lane_shares import LaneShares
from cluster.state.work.work_bell import WorkBell
from configs.sections import WorkerSettings
from pipelines.documents.document import Failure, FailureReason, Page, Unreadable
from pipelines.documents.extract.reader import FileSurvey
from pipelines.documents.ingest.job_loop import JobLoop
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import HereStages
from pipelines.documents.sources.sniff import Kind
from tests.fakes.ledger import Bench, new_workspace
from tests.fakes.reading import FormFeedReader
from tests.postgres.test_job_waits import until

SLICES = WorkerSettings(
    lease_seconds=5, heartbeat_seconds=0.1, poll_seconds=0.02, slice_seconds=0.3, bulk_slice_seconds=0.3
)


@dataclass
class Sluggish(FormFeedReader):
    """Needs a while for each page of `long.txt` and `scan.txt`, whose pages say that they have cost seconds; what says
    STUCK overruns its limit unless the reader is `patient`."""

    patient: bool = False
    surveys: Counter[str] = field(default_factory=Counter)

    def survey(self, path: Path, filename: str | None = None, **text: str | None) -> FileSurvey:
        self.surveys[path.name] += 1
        if "STUCK FILE" in path.read_text() and not self.patient:
            raise Unreadable(FailureReason.TIMEOUT, "no result within 20 s of CPU")
        return super().survey(path, filename, **text)

    def read(self, path: Path, kind: Kind, numbers: Sequence[int], **text: str | None) -> Iterator[Page]:
        for page in super().read(path, kind, numbers, **text):
            if path.name in ("long.txt", "scan.txt"):
                time.sleep(0.12)
            if path.name == "scan.txt":
                page = replace(page, ms=1500)
            stuck = "STUCK PAGE" in page.text and not self.patient
            failure = Failure("read", FailureReason.TIMEOUT, "no result within 20 s of CPU") if stuck else None
            yield Page(page.number, "", failure=failure) if failure else page


def shift(ledger: Bench, owner: str = "w") -> JobLoop:
    return JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, SLICES, owner)


def write(folder: Path, name: str, pages: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\f".join(pages))


async def upload(ledger: Bench, scope: Scope, folder: Path, name: str, pages: Sequence[str]) -> JobId:
    await asyncio.to_thread(write, folder, name, pages)
    file = {"origin": f"upload:{name}", "filename": name, "location": f"file:{folder / name}"}
    return await ledger.enqueue(scope, "upload", {"files": [file]}, JobLane.SMALL)


async def shown(ledger: Bench, scope: Scope, job: JobId) -> dict[str, Any]:
    return await ledger.desk.show(scope, job)


async def until_ended(
    ledger: Bench, jobs: Sequence[tuple[Scope, JobId]], *lanes: tuple[JobLoop, JobLane]
) -> list[JobId]:
    """Work in these lanes until the jobs have ended; in the order of their ends."""
    works = [asyncio.create_task(one.work(lane)) for one, lane in lanes]
    ended: list[JobId] = []
    async with asyncio.timeout(60):
        while len(ended) < len(jobs):
            for scope, job in jobs:
                state = (await shown(ledger, scope, job))["state"]
                if job not in ended and state not in ("queued", "running"):
                    ended.append(job)
            await asyncio.sleep(0.02)
    for one, _ in lanes:
        one.stop()
    await asyncio.gather(*works)
    return ended


async def test_a_long_upload_gives_its_place_back_to_those_behind_it(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """Of the same tenant as well; each page is read once, and a slice is no attempt of the job."""
    ledger.reader = Sluggish()
    long = await upload(ledger, scope, tmp_path / "in", "long.txt", [f"page {n} of the long one" for n in range(12)])
    quick = [await upload(ledger, scope, tmp_path / "in", f"q{n}.txt", [f"quick {n}"]) for n in range(5)]
    order = await until_ended(ledger, [(scope, job) for job in (long, *quick)], (shift(ledger), JobLane.SMALL))
    assert order[-1] == long and set(order[:-1]) == set(quick)
    states = [(await shown(ledger, scope, job))["state"] for job in (long, *quick)]
    assert states == ["completed"] * 6
    assert {ledger.reader.readings["long.txt", n] for n in range(1, 13)} == {1}
    assert (await shown(ledger, scope, long))["attempts"] == 1


async def test_a_long_upload_gets_on_while_new_ones_keep_coming(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    ledger.reader = Sluggish()
    long = await upload(ledger, scope, tmp_path / "in", "long.txt", [f"page {n} of the long one" for n in range(10)])
    worker = shift(ledger)
    for n in range(12):
        await upload(ledger, scope, tmp_path / "in", f"n{n}.txt", [f"new {n}"])
        await worker.once(JobLane.SMALL)
        await worker.once(JobLane.SMALL)
    done = (await shown(ledger, scope, long))["progress"]["read"]["done"]
    assert done == 10


async def test_tenants_share_a_lane_by_the_time_they_take(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    """One whose pages are slow does not get as many turns as one whose pages are quick."""
    ledger.reader = Sluggish()
    other = await new_workspace(admin_dsn)
    for n in range(3):
        pages = [f"page {m} of a long one" for m in range(9)]
        (tmp_path / f"d{n}").mkdir()
        await upload(ledger, scope, tmp_path / f"d{n}", "long.txt", [*pages, str(n)])
    await shift(ledger).once(JobLane.SMALL)
    quick = [await upload(ledger, other, tmp_path / "in", f"q{n}.txt", ["quick"]) for n in range(4)]
    order = await until_ended(ledger, [(other, job) for job in quick], (shift(ledger), JobLane.SMALL))
    assert len(order) == 4
    counted = await ledger.rows(scope, "select coalesce(sum(done), 0) as done from job_progress where stage = 'read'")
    assert int(counted[0]["done"]) < 20


async def test_a_job_beyond_its_share_gives_its_place_back_at_the_next_page_and_stands_where_it_stood(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    """Once another tenant comes; no page is read twice, and that is no attempt of the job."""
    ledger.reader = Sluggish()
    other, bell = await new_workspace(admin_dsn), WorkBell(ledger.database, "")
    shares, hour = LaneShares(ledger.database, JobLane.SMALL, bell), SLICES.model_copy(update={"slice_seconds": 3600})
    mine = []
    for n in range(3):
        pages = [f"page {m} of long one {n}" for m in range(12)]
        (tmp_path / f"d{n}").mkdir()
        mine.append(await upload(ledger, scope, tmp_path / f"d{n}", "long.txt", pages))
    loops = [
        JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, hour, f"w{n}", bell=bell, place=shares.place())
        for n in range(4)
    ]
    for loop in loops:
        await loop._be_seen(JobLane.SMALL, None)
    watching = asyncio.create_task(shares.watch())
    works = [asyncio.create_task(loop.once(JobLane.SMALL)) for loop in loops[:2]]
    async with asyncio.timeout(20):
        while True:
            if (await shown(ledger, scope, mine[1]))["progress"].get("read", {"done": 0})["done"] >= 2:
                break
            await asyncio.sleep(0.02)
    theirs = await upload(ledger, other, tmp_path / "in", "q.txt", ["quick"])
    bell.ring("job:small")
    assert (await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED))[1], "the older one goes on"
    rows = [await shown(ledger, scope, job) for job in mine]
    assert [row["state"] for row in rows] == ["running", "queued", "queued"]
    assert 1 <= rows[1]["progress"]["read"]["done"] < 12
    assert "other_tenants" in {str(wait.reason) for wait in rows[1]["waits"]}
    assert await loops[2].once(JobLane.SMALL)
    assert (await shown(ledger, other, theirs))["state"] == "completed"
    await works[0]
    assert await loops[1].once(JobLane.SMALL)
    row = await shown(ledger, scope, mine[1])
    assert (row["state"], row["attempts"]) == ("completed", 1), "before the third, which never was at work"
    assert (await shown(ledger, scope, mine[2]))["state"] == "queued"
    assert {ledger.reader.readings["long.txt", n] for n in range(1, 13)} == {2}, "once in each of two files"
    watching.cancel()


async def test_a_file_that_is_slow_to_open_keeps_nobody_waiting(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """It overruns the small lane's limit once, and is done in the slow lane with the full one."""
    patient = Sluggish(patient=True)
    ledger.reader = Sluggish()
    slow = await upload(ledger, scope, tmp_path / "in", "slow.txt", ["STUCK FILE"])
    small = shift(ledger)
    assert await small.once(JobLane.SMALL)
    row = await shown(ledger, scope, slow)
    assert (row["state"], row["lane"]) == ("queued", "slow")
    told = [e["payload"] for e in await ledger.desk.events_after(scope, slow, 0) if e["type"] == "moved"]
    assert [t["lane"] for t in told] == ["slow"] and "20 s of CPU" in told[0]["why"]
    assert await small.once(JobLane.SMALL) is False
    ledger.reader = patient
    assert await shift(ledger).once(JobLane.SLOW)
    assert (await shown(ledger, scope, slow))["state"] == "completed"


async def test_a_slow_page_moves_its_job_and_what_was_read_stays_read(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.reader = Sluggish()
    pages = ["first page", "second page", "STUCK PAGE", "fourth page"]
    job = await upload(ledger, scope, tmp_path / "in", "p.txt", pages)
    assert await shift(ledger).once(JobLane.SMALL)
    row = await shown(ledger, scope, job)
    assert (row["state"], row["lane"], row["progress"]["read"]["done"]) == ("queued", "slow", 2)
    units = await ledger.rows(scope, "select attempts from units where stage = 'read' and status = 'pending'")
    assert [unit["attempts"] for unit in units] == [0, 0]
    readings = Counter(ledger.reader.readings)
    ledger.reader = Sluggish(patient=True)
    assert await shift(ledger).once(JobLane.SLOW)
    assert (await shown(ledger, scope, job))["state"] == "completed"
    assert not {key for key in ledger.reader.readings if readings[key]} - {("p.txt", 3)}


async def test_in_the_slow_lane_a_limit_that_is_overrun_is_the_answer(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    ledger.reader = Sluggish()
    job = await upload(ledger, scope, tmp_path / "in", "bad.txt", ["STUCK FILE"])
    worker = shift(ledger)
    assert await worker.once(JobLane.SMALL) and await worker.once(JobLane.SLOW)
    row = await shown(ledger, scope, job)
    assert (row["state"], row["failures"]) == ("failed", {"timeout": 1})
    assert ledger.reader.surveys["bad.txt"] == 2


async def test_a_worker_that_dies_in_a_slice_loses_no_page_of_it(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    ledger.reader = Sluggish()
    pages = [f"page {n} of the long one" for n in range(8)]
    job = await upload(ledger, scope, tmp_path / "in", "long.txt", pages)
    await shift(ledger).once(JobLane.SMALL)
    victim = asyncio.create_task(shift(ledger, "victim").once(JobLane.SMALL))
    await asyncio.sleep(0.15)
    victim.cancel()
    await asyncio.gather(victim, return_exceptions=True)
    await ledger.rows(
        scope, "update jobs set lease_until = now() - interval '1 s' where state = 'running' returning id"
    )
    await until_ended(ledger, [(scope, job)], (shift(ledger, "heir"), JobLane.SMALL))
    row = await shown(ledger, scope, job)
    assert (row["state"], row["progress"]["read"]["done"]) == ("completed", 8)
    stored = await ledger.rows(scope, "select number from pages order by number")
    assert [page["number"] for page in stored] == list(range(1, 9))


class Pool(HereStages):
    """The cluster, where readers stand behind everything else: it stalls while `stalls`."""

    stalls = 0

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        if self.stalls:
            self.stalls -= 1
            raise Stalled("no page for minutes")
        async for pages in super().read(slices):
            yield pages


def machine(*left: float) -> CrowdWatch:
    """One that leaves so much of its time at each look; then what it left at last."""
    told = itertools.chain(left, itertools.repeat(left[-1]))
    times = (
        CpuTimes(100.0 * n, 0, 0) if n % 2 == 0 else CpuTimes(100.0 * n, 100 * next(told), 0) for n in itertools.count()
    )
    return CrowdWatch(0.1, lambda: next(times), lambda _: None)


async def test_on_a_machine_that_is_never_idle_bulk_goes_on_where_it_has_its_floor(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """And a few pages at a time, so that it is soon back on the cluster."""
    write(tmp_path / "in", "f.txt", [f"page {n}" for n in range(30)])
    ledger.read = ledger.read.model_copy(update={"small_pages": 8, "batch_pages": 16})
    held = FormFeedReader()
    ledger.stages, ledger.held = ledger.here(), HereStages(held, ledger.indexer())
    # Busy at the first turn (looked at twice), still busy at the second, then idle.
    ledger.crowd = machine(0.0, 0.0, 0.0, 1.0)
    await ledger.scan(scope, tmp_path / "in")
    assert (held.readings.total(), ledger.reader.readings.total()) == (16, 14)


async def test_after_a_stall_bulk_goes_on_where_it_has_its_floor(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """Whatever was seen of this machine: the readers may be on another."""
    write(tmp_path / "in", "f.txt", [f"page {n}" for n in range(30)])
    held, pool = FormFeedReader(), Pool(ledger.reader, ledger.indexer())
    pool.stalls = 1
    ledger.stages, ledger.held = pool, HereStages(held, ledger.indexer())
    job = await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
    worker = shift(ledger)
    await worker.once(JobLane.BULK)
    assert (await shown(ledger, scope, job))["state"] == "queued"
    await worker.once(JobLane.BULK)
    assert (await shown(ledger, scope, job))["state"] == "completed"
    assert (held.readings.total(), ledger.reader.readings.total()) == (30, 0)


async def test_a_scan_moves_to_bulk_by_what_its_pages_cost_and_a_longer_text_does_not(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """What the scan costs shows in its first slice, and none of its pages is read again."""
    ledger.reader = Sluggish()
    text = await upload(ledger, scope, tmp_path / "in", "text.txt", [f"page {n}" for n in range(60)])
    await until_ended(ledger, [(scope, text)], (shift(ledger), JobLane.SMALL))
    assert (await shown(ledger, scope, text))["lane"] == "small"
    scan = await upload(ledger, scope, tmp_path / "in", "scan.txt", [f"sheet {n}" for n in range(30)])
    for _ in range(3):
        await shift(ledger).once(JobLane.SMALL)
    row = await shown(ledger, scope, scan)
    assert (row["state"], row["lane"]) == ("queued", "bulk") and 3 <= row["progress"]["read"]["done"] < 10
    (moved,) = [e["payload"] for e in await ledger.desk.events_after(scope, scan, 0) if e["type"] == "moved"]
    assert moved["lane"] == "bulk" and "more than 30 s" in moved["why"]
    await until_ended(ledger, [(scope, scan)], (shift(ledger), JobLane.BULK))
    assert {ledger.reader.readings["scan.txt", n] for n in range(1, 31)} == {1}


async def test_a_long_upload_with_a_slow_page_is_not_left_to_the_one_reader_of_the_slow_lane(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """A scan of 2,000 dear pages would be there for days; a few of them stay."""
    ledger.reader = Sluggish()
    for count, lane in ((60, "bulk"), (5, "slow")):
        pages = ["STUCK PAGE", *(f"page {n}" for n in range(count))]
        job = await upload(ledger, scope, tmp_path / "in", f"f{count}.txt", pages)
        await shift(ledger).once(JobLane.SMALL)
        assert (await shown(ledger, scope, job))["lane"] == "slow"
        await shift(ledger).once(JobLane.SLOW)
        assert (await shown(ledger, scope, job))["lane"] == lane


async def test_uploads_are_read_here_whatever_their_size(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """A Dataset's actors would begin anew with each slice."""
    cluster = Pool(FormFeedReader(), ledger.indexer())
    ledger.read = ledger.read.model_copy(update={"small_pages": 4})
    runner = ledger.runner()
    runner._bulk = cluster
    cluster.stalls = 99
    job = await upload(ledger, scope, tmp_path / "in", "text.txt", [f"page {n}" for n in range(50)])
    worker = JobLoop(ledger.jobs, runner, ledger.recipe, SLICES, "w")
    await until_ended(ledger, [(scope, job)], (worker, JobLane.SMALL))
    assert (await shown(ledger, scope, job))["state"] == "completed"


async def test_bulk_gives_its_place_to_another_tenant_within_its_slice_and_to_nobody_else(
    ledger: Bench, scope: Scope, admin_dsn: str, tmp_path: Path
) -> None:
    ledger.reader = Sluggish()
    other = await new_workspace(admin_dsn)
    write(tmp_path / "a", "long.txt", [f"page {n}" for n in range(12)])
    write(tmp_path / "b", "b.txt", ["quick"])
    mine = await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "a"), "agent_id": None})
    theirs = await ledger.enqueue(other, "scan", {"root": str(tmp_path / "b"), "agent_id": None})
    worker = shift(ledger)
    assert await worker.once(JobLane.BULK)
    row = await shown(ledger, scope, mine)
    assert row["state"] == "queued" and 1 <= row["progress"]["read"]["done"] < 12
    assert await worker.once(JobLane.BULK)
    assert (await shown(ledger, other, theirs))["state"] == "completed"
    assert await worker.once(JobLane.BULK)
    assert (await shown(ledger, scope, mine))["state"] == "completed", "nobody waits any more"
    assert {ledger.reader.readings["long.txt", n] for n in range(1, 13)} == {1}


async def test_one_loop_goes_on_while_memory_keeps_the_others_from_beginning(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    short = "memory_short: 95% of the memory is in use"
    first = shift(ledger)
    kept = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, SLICES, "w2", kept=lambda: short)
    working = asyncio.create_task(kept.work(JobLane.SMALL))
    job = await upload(ledger, scope, tmp_path / "in", "a.txt", ["one"])
    assert await until(ledger, scope, job, "memory_short") == "95% of the memory is in use"
    assert await first.once(JobLane.SMALL)
    assert (await shown(ledger, scope, job))["state"] == "completed"
    kept.stop()
    await working
