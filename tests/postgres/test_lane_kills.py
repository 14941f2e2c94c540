"""A worker is killed while several uploads run in it at once: each page is here once, and what was done is kept."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane
from tests.fakes.ledger import Bench, new_workspace
from tests.postgres.lane_worker import LOOPS, PARTITION_FILES
from tests.postgres.test_lanes import shown, upload, write

PAGES, UPLOADS, KILLS = 14, 4, (12, 60)  # killed once so many pages are done


@contextmanager
def worker(dsn: str, folder: Path, lane: JobLane = JobLane.SMALL) -> Iterator["subprocess.Popen[bytes]"]:
    """It is killed in the end, whatever it does."""
    command = [sys.executable, "-m", "tests.postgres.lane_worker", dsn, str(folder), lane]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


async def test_uploads_that_run_at_once_lose_and_double_no_page_when_their_worker_is_killed(
    ledger: Bench, scope: Scope, admin_dsn: str, app_dsn: str, tmp_path: Path
) -> None:
    other = await new_workspace(admin_dsn)
    jobs = []
    for n in range(UPLOADS):
        for owner, of in ((scope, "a"), (other, "b")):
            name = f"{of}{n}.txt"
            pages = [f"page {number} of {name}" for number in range(PAGES)]
            jobs.append((owner, await upload(ledger, owner, tmp_path / "in", name, pages)))

    async def done() -> int:
        rows = [await shown(ledger, owner, job) for owner, job in jobs]
        return sum(row["progress"].get("read", {}).get("done", 0) for row in rows)

    async def states() -> Counter[str]:
        return Counter([(await shown(ledger, owner, job))["state"] for owner, job in jobs])

    at_once = list[int]()
    async with asyncio.timeout(90):
        for enough in KILLS:
            with worker(app_dsn, tmp_path):
                while await done() < enough:  # noqa: ASYNC110 -- it is another process that works
                    await asyncio.sleep(0.05)
                at_once.append((await states())["running"])
        with worker(app_dsn, tmp_path):
            while await states() != {"completed": len(jobs)}:  # noqa: ASYNC110 -- as above
                await asyncio.sleep(0.05)
    assert min(at_once) >= 2, "several were in the middle of their pages"
    for owner in (scope, other):
        stored = await ledger.rows(
            owner, "select count(*) as pages, count(distinct (document_id, number)) as distinct from pages"
        )
        assert stored == [{"pages": UPLOADS * PAGES, "distinct": UPLOADS * PAGES}]
        doubled = await ledger.rows(
            owner, "select 1 from document_chunks group by document_id, text having count(*) > 1"
        )
        assert doubled == []
    readings = Counter((tmp_path / "readings").read_text().splitlines())
    assert len(readings) == 2 * UPLOADS * PAGES
    assert readings.total() - len(readings) <= LOOPS * len(KILLS), "no more than what was under way is read again"


async def test_of_two_workers_at_one_folder_either_may_be_killed_and_no_page_is_lost_or_doubled(
    ledger: Bench, scope: Scope, app_dsn: str, tmp_path: Path
) -> None:
    files = 12 * PARTITION_FILES + 1  # the last partition is a short one
    for n in range(files):
        write(tmp_path / "in", f"f{n:02}.txt", [f"page {number} of file {n}" for number in range(PAGES)])
    job = await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})

    async def done() -> int:
        return int((await shown(ledger, scope, job))["progress"].get("read", {}).get("done", 0))

    async with asyncio.timeout(90):
        with worker(app_dsn, tmp_path, JobLane.BULK):
            with worker(app_dsn, tmp_path, JobLane.BULK):
                while await done() < 60:  # noqa: ASYNC110 -- it is another process that works
                    await asyncio.sleep(0.05)
                while (at_once := await ledger.jobs.partitions.count_at_work(JobLane.BULK)) <= LOOPS:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            await asyncio.sleep(1)
        with worker(app_dsn, tmp_path, JobLane.BULK):
            while (await shown(ledger, scope, job))["state"] != "completed":  # noqa: ASYNC110 -- as above
                await asyncio.sleep(0.05)
    assert at_once > LOOPS, "both were in the middle of it, in several partitions each"
    stored = await ledger.rows(
        scope, "select count(*) as pages, count(distinct (document_id, number)) as distinct from pages"
    )
    assert stored == [{"pages": files * PAGES, "distinct": files * PAGES}]
    assert (
        await ledger.rows(scope, "select 1 from document_chunks group by document_id, text having count(*) > 1") == []
    )
    progress = (await shown(ledger, scope, job))["progress"]
    assert [progress[stage]["done"] for stage in ("survey", "read", "index")] == [files, files * PAGES, files]
    readings = Counter((tmp_path / "readings").read_text().splitlines())
    assert len(readings) == files * PAGES
    assert readings.total() - len(readings) <= 3 * LOOPS, "no more than what was under way is read again"
