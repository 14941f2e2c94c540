"""IN-18: an embedder or a source is away for an hour: the job waits, says so, goes on by itself, loses nothing."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.models.ports import EmbedderFacts
from cluster.models.ports import EmbeddingLane as ModelLane
from cluster.state.work.jobs import JobId, JobLane
from configs.sections import WorkerSettings
from pipelines.documents.ingest.job_loop import JobLoop
from tests.fakes.ledger import Bench, LetterEmbedder
from tests.fakes.shelves import Shelf, SyncBench, shelf_kind, sync_bench

FAST = WorkerSettings(lease_seconds=60, heartbeat_seconds=5, poll_seconds=0.005)
FILES = 300


class OutageEmbedder(LetterEmbedder):
    """Goes away after so many calls; `known` while it still tells what it is, as one that is only too slow does."""

    def __init__(self, good: int) -> None:
        self.good, self.known, self.asked = good, True, 0

    async def facts(self) -> EmbedderFacts:
        if self.good <= 0 and not self.known:
            raise Unavailable("the embedder does not answer")
        return await super().facts()

    async def embed(self, texts: Sequence[str], lane: ModelLane = ModelLane.QUESTION) -> NDArray[np.float32]:
        self.good, self.asked = self.good - 1, self.asked + 1
        if self.good < 0:
            raise Unavailable("it timed out")
        return await super().embed(texts, lane)


def worker(ledger: Bench) -> JobLoop:
    return JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, FAST, "w")


async def take(ledger: Bench) -> bool:
    """A job of each lane, as the loops of a worker take them; False where none waits."""
    return any([await worker(ledger).once(lane) for lane in (JobLane.SYNC, JobLane.SMALL, JobLane.BULK)])


async def waits(ledger: Bench, scope: Scope, job: JobId) -> dict[str, str]:
    shown = await ledger.desk.show(scope, job)
    return {str(one.reason): one.detail for one in shown["waits"]} | {"state": shown["state"]}


async def most_attempts(ledger: Bench, scope: Scope) -> int:
    (row,) = await ledger.rows(scope, "select coalesce(max(attempts), 0) as n from units where status = 'pending'")
    return int(row["n"])


async def statuses(ledger: Bench, scope: Scope) -> dict[str, int]:
    rows = await ledger.rows(scope, "select status, count(*) as n from documents group by status")
    return {row["status"]: row["n"] for row in rows}


@pytest.mark.parametrize("known", [True, False])
async def test_in_18_a_scan_waits_for_an_embedder_that_went_away_in_its_middle(
    ledger: Bench, scope: Scope, tmp_path: Path, known: bool
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        (tmp_path / "in" / f"{number:03}.txt").write_text(f"Letter {number} of the harbour.")
    embedder = OutageEmbedder(good=2)
    ledger.embedder, embedder.known = embedder, known
    job = await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
    claims = 6
    for _ in range(claims):
        try:
            await worker(ledger).once(JobLane.BULK)
        except Unavailable as error:  # a lane in which nothing is claimed
            await ledger.jobs.seen("w", JobLane.BULK, f"part_away: {error}")
    told = await waits(ledger, scope, job)
    assert told["state"] == "queued" and "embedder" in told["part_away"]
    assert await most_attempts(ledger, scope) == 0
    found = await statuses(ledger, scope)
    # Documents are indexed beside the reading, as many at a time as are ready: 64 at most in each of two calls.
    assert 0 < found["completed"] <= 128 and not found.keys() & {"failed", "partial"}
    words = await ledger.rows(scope, "select count(distinct version_id) as n from document_chunks")
    assert words[0]["n"] > found["completed"], "what was read is found by its words meanwhile"
    embedder.good = 10_000
    while (await ledger.desk.show(scope, job))["state"] != "completed":
        assert await worker(ledger).once(JobLane.BULK)
    shown = await ledger.desk.show(scope, job)
    assert (shown["progress"]["index"]["done"], shown["progress"]["index"]["failed"]) == (FILES, 0)
    assert await statuses(ledger, scope) == {"completed": FILES} and not shown["waits"]
    (row,) = await ledger.rows(
        scope,
        "select count(*) as n, count(distinct c.version_id) as versions from document_chunks c"
        " join embeddings e on e.chunk_id = c.id",
    )
    assert (row["n"], row["versions"]) == (FILES, FILES), "each has its vector, once"


async def test_in_18_an_upload_waits_too_and_a_worker_that_works_on_ends_it(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("A letter.")
    embedder = OutageEmbedder(good=0)
    ledger.embedder = embedder
    file = {"origin": "upload:a.txt", "filename": "a.txt", "location": f"file:{tmp_path / 'a.txt'}"}
    job = await ledger.enqueue(scope, "upload", {"files": [file]}, JobLane.SMALL)
    loop = worker(ledger)
    working = asyncio.create_task(loop.work(JobLane.SMALL))
    async with asyncio.timeout(30):
        while "part_away" not in await waits(ledger, scope, job):  # noqa: ASYNC110 -- the loop works meanwhile
            await asyncio.sleep(0.02)
        embedder.good = 100
        while (await ledger.desk.show(scope, job))["state"] != "completed":  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    loop.stop()
    await working
    assert await statuses(ledger, scope) == {"completed": 1}


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    for number in range(FILES):
        made.put(f"{number:03}", f"Letter {number} of the harbour.")
    return made


@pytest.fixture
def sources(ledger: Bench, scope: Scope, shelf: Shelf) -> SyncBench:
    return sync_bench(ledger, scope, None, shelf_kind(shelf))


async def pass_rest(ledger: Bench, scope: Scope) -> float:
    """The rest of the job is over; how long it was, in seconds."""
    (row,) = await ledger.rows(
        scope,
        "with was as (select id, extract(epoch from resume_at - clock_timestamp())::float as rest from jobs"
        " where state = 'queued') update jobs j set resume_at = null from was where was.id = j.id returning was.rest",
    )
    return float(row["rest"])


async def test_in_18_a_sync_waits_for_a_source_that_went_away_in_its_middle_and_no_other_job_does(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, tmp_path: Path
) -> None:
    def go(_: str) -> None:
        shelf.away = len(shelf.read) >= 100

    shelf.before_read = go
    source = await sources.add()
    job = await sources.start(source)
    away = 0.0
    while away < 3600:
        assert await take(ledger)
        told = await waits(ledger, scope, job)
        assert (told["state"], told["source_away"]) == ("queued", "nobody answers")
        assert await most_attempts(ledger, scope) == 0
        assert await take(ledger) is False, "it rests"
        if not away:
            (tmp_path / "in").mkdir()
            (tmp_path / "in" / "f.txt").write_text("A letter of somebody else.")
            other = await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
            assert await take(ledger)
            assert (await ledger.desk.show(scope, other))["state"] == "completed"
        away += await pass_rest(ledger, scope)
    assert (await sources.show(source))["last_error"]["code"] == "source_away"
    shelf.away, shelf.before_read = False, lambda _: None
    assert await take(ledger)
    shown = await ledger.desk.show(scope, job)
    assert (shown["state"], shown["progress"]["fetch"]["failed"], shown["waits"]) == ("completed", 0, [])
    assert await statuses(ledger, scope) == {"completed": FILES + 1}
    assert len(shelf.read) == len(set(shelf.read)) == FILES, "nothing was read twice"
    after = await sources.show(source)
    assert (after["failed"], after["last_error"]) == (0, None)


async def test_in_18_whoever_asks_for_a_sync_that_rests_wakes_it(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await sources.add()
    shelf.away = True
    job = await sources.start(source)
    await take(ledger)
    assert await take(ledger) is False
    shelf.away = False
    assert await sources.start(source) == job
    assert await take(ledger)
    assert (await ledger.desk.show(scope, job))["state"] == "completed"


async def test_in_18_rights_and_removals_wait_neither_for_an_embedder_nor_behind_bulk_work(
    ledger: Bench, scope: Scope, shelf: Shelf, tmp_path: Path
) -> None:
    sources = sync_bench(ledger, scope, None, shelf_kind(shelf))
    source = await sources.add(max_removed_percent=100, readers=("role:viewer",))
    await sources.sync(source)
    assert len(await sources.documents("role:viewer")) == FILES
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f.txt").write_text("A letter of somebody else.")
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
    bulk = await ledger.jobs.claim("busy", JobLane.BULK, 600)
    assert bulk is not None and bulk.kind == "scan"
    embedder = OutageEmbedder(good=0)
    ledger.embedder, embedder.known = embedder, False
    shelf.drop("000")
    shelf.put("new", "A letter that came later.")
    job = await sources.start(source)
    assert await worker(ledger).once(JobLane.SYNC)
    assert len(await sources.documents("role:viewer")) == FILES - 1, "it left at once"
    shown = await ledger.desk.show(scope, job)
    assert (shown["state"], shown["lane"], embedder.asked) == ("queued", "small", 0), "its bytes wait, in their lane"
    embedder.good, embedder.known = 100, True
    assert await worker(ledger).once(JobLane.SMALL)
    assert len(await sources.documents("role:viewer")) == FILES


async def test_in_18_a_folder_whose_share_is_gone_while_its_files_are_read_is_waited_for(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """Its files stay in place: none of them has failed because all of them are away."""
    base = tmp_path / "base"
    for number in range(30):
        (base / "share").mkdir(parents=True, exist_ok=True)
        (base / "share" / f"{number:02}.txt").write_text(f"Letter {number}.")
    sources = sync_bench(ledger, scope, str(base))
    source = await sources.add("folder", {"path": "share"})
    reader, gone = ledger.reader, base / ".away"

    def die(name: str, number: int) -> bool:
        if len(reader.readings) == 10 and not gone.exists():
            (base / "share").rename(gone)
        return False

    reader.die_before = die
    job = await sources.start(source)
    for _ in range(5):
        assert await take(ledger)
        assert "source_away" in await waits(ledger, scope, job)
        await pass_rest(ledger, scope)
    assert await most_attempts(ledger, scope) == 0 and "failed" not in await statuses(ledger, scope)
    gone.rename(base / "share")
    reader.die_before = lambda name, number: False
    assert await take(ledger)
    assert (await ledger.desk.show(scope, job))["state"] == "completed"
    assert await statuses(ledger, scope) == {"completed": 30}
