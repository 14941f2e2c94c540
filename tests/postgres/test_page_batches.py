"""Large batches: indexed while others are read, written together, and a death among them accuses few pages."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.basics.errors import LeaseLost, Stalled, Unavailable
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobId
from pipelines.documents.document import VersionId
from pipelines.documents.index.generations import BrokenVectors, IndexedVersion
from pipelines.documents.ingest.job_plan import READ
from pipelines.documents.ingest.page_batches import MOST_PAGES, SLICE_PAGES, PageBatches
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import HereStages
from tests.fakes.ledger import AwayEmbedder, Bench
from tests.fakes.reading import WorkerKilled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "scans"
    root.mkdir()
    for name in "abc":
        text = "\f".join(f"Document {name}, page {n}. It tells of the {name * 5} matter." for n in range(1, 21))
        (root / f"{name}.txt").write_text(text)
    return root


class OverlapStages:
    """Holds the last document's pages back until the first one is indexed, or its embedder was asked in vain."""

    def __init__(self, here: HereStages) -> None:
        self.survey, self._here, self._asked = here.survey, here, asyncio.Event()

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        last = slices[-1].version
        async for pages in self._here.read([one for one in slices if one.version != last]):
            yield pages
        async with asyncio.timeout(20):
            await self._asked.wait()
        async for pages in self._here.read([one for one in slices if one.version == last]):
            yield pages

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        async for indexed in self._here.index(scope, versions):
            yield indexed
            self._asked.set()


async def test_documents_are_indexed_while_others_are_read(ledger: Bench, scope: Scope, folder: Path) -> None:
    ledger.stages, ledger.readers = OverlapStages(ledger.here()), lambda _: 2
    job = await ledger.scan(scope, folder)
    shown = await ledger.desk.show(scope, job)
    assert shown["state"] == "completed"
    assert shown["progress"][READ]["done"] == 60


class Beside:
    """Indexes in place of what the runner has, and counts."""

    def __init__(self, stages: OverlapStages) -> None:
        self._stages, self.indexed, self.closed = stages, 0, 0

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        async for indexed in self._stages.index(scope, versions):
            self.indexed += len(indexed)
            yield indexed

    async def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(("readers", "taken"), [(8, False), (9, True)])
async def test_what_many_readers_bring_is_indexed_by_another_process(
    ledger: Bench, scope: Scope, folder: Path, readers: int, taken: bool
) -> None:
    """How many are, and how many after their batch as any, is a matter of pace."""
    stages = OverlapStages(ledger.here())
    beside = Beside(stages)
    ledger.stages, ledger.readers, ledger.beside = stages, lambda _: readers, beside
    shown = await ledger.desk.show(scope, await ledger.scan(scope, folder))
    assert shown["state"] == "completed"
    assert (beside.indexed > 0, beside.closed > 0) == (taken, taken)


async def test_pages_are_read_on_while_the_embedder_is_away(ledger: Bench, scope: Scope, folder: Path) -> None:
    """What is found by its words meanwhile is embedded later; the job says so after its batch."""
    ledger.embedder = AwayEmbedder()
    ledger.stages, ledger.readers = OverlapStages(ledger.here()), lambda _: 2
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    job = await ledger.claim()
    with pytest.raises(Unavailable, match="embedder"):
        await ledger.runner().turn(job, await ledger.recipe(), lambda: False)
    assert not await ledger.jobs.pending(job.lease, READ, 100)


class BrokenStages(OverlapStages):
    """Its embedder gives numbers that are none, which ends the job."""

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        raise BrokenVectors(versions[0])
        yield []


async def test_an_index_that_fails_accuses_no_page_that_was_read_meanwhile(
    ledger: Bench, scope: Scope, folder: Path
) -> None:
    """Whoever resumes the job has all their attempts."""
    ledger.stages, ledger.readers = BrokenStages(ledger.here()), lambda _: 2
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    job = await ledger.claim()
    with pytest.raises(BrokenVectors):
        await ledger.runner().turn(job, await ledger.recipe(), lambda: False)
    left = await ledger.jobs.pending(job.lease, READ, 100)
    assert left and {unit.attempts for unit in left} == {0}


class StarvedStages(OverlapStages):
    """Nobody gets on with its index; what reads notices that it stands still too, where it is not told to stop."""

    def __init__(self, here: HereStages, stalls: bool) -> None:
        super().__init__(here)
        self._stalls = stalls

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        async for pages in super().read(slices):
            yield pages
            if self._stalls and self.waits:
                raise Stalled("nothing gets on")

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        self._asked.set()
        await asyncio.Event().wait()
        yield []

    @property
    def waits(self) -> bool:
        return self._asked.is_set()


@pytest.mark.parametrize("stalls", [True, False])
async def test_an_index_that_gets_nowhere_holds_up_no_turn_that_is_over(
    ledger: Bench, scope: Scope, folder: Path, stalls: bool
) -> None:
    """Neither after a stall, of which the runner learns, nor where the job was cancelled; it costs no attempt."""
    stages = ledger.stages = StarvedStages(ledger.here(), stalls)
    ledger.readers = lambda _: 2
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    job, ended = await ledger.claim(), lambda: stages.waits and not stalls
    async with asyncio.timeout(30):
        if stalls:
            with pytest.raises(Stalled):
                await ledger.runner().turn(job, await ledger.recipe(), ended, ended)
        else:
            assert not (await ledger.runner().turn(job, await ledger.recipe(), ended, ended)).ended
    (row,) = await ledger.rows(scope, "select max(attempts) as most from units where status = 'pending'")
    assert row["most"] == 0


async def test_a_death_among_many_pages_accuses_those_that_were_in_line(
    ledger: Bench, scope: Scope, folder: Path
) -> None:
    """Of sixty pages of a batch sixteen are in line for one reader; nothing is lost, and nothing written twice."""
    ledger.read = ledger.read.model_copy(update={"batch_pages": 4})
    ledger.readers = lambda _: 1
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    ledger.reader.die_before = lambda name, number: (name, number) == ("b.txt", 6)
    job = await ledger.claim(lease=0.05)
    with pytest.raises(WorkerKilled):
        await ledger.runner().turn(job, await ledger.recipe(), lambda: False)
    left = "select attempts from units where stage = 'read' and status = 'pending'"
    accused = [row["attempts"] for row in await ledger.rows(scope, left)]
    assert 0 < sum(accused) <= 16 and max(accused) == 1
    ledger.reader.die_before = lambda name, number: False
    await asyncio.sleep(0.1)
    await ledger.run(owner="worker-2")
    assert max(ledger.reader.readings.values()) == 1  # what was read before the death is written
    (row,) = await ledger.rows(scope, "select count(*) as n, count(distinct id) as ids, max(revision) as r from pages")
    assert (row["n"], row["ids"]) == (60, 60)


async def test_whoever_stops_gives_back_what_was_in_line(ledger: Bench, scope: Scope, folder: Path) -> None:
    ledger.read = ledger.read.model_copy(update={"batch_pages": 4})
    ledger.readers = lambda _: 1
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    job = await ledger.claim()
    stopped = lambda: sum(ledger.reader.readings.values()) >= 10  # noqa: E731
    assert not (await ledger.runner().turn(job, await ledger.recipe(), stopped)).ended
    counts = await ledger.rows(scope, "select status, max(attempts) as most from units where stage = 'read' group by 1")
    assert {row["status"]: row["most"] for row in counts} == {"done": 1, "pending": 0}


async def test_a_batch_is_as_long_as_its_job_is_quick(ledger: Bench, scope: Scope, folder: Path) -> None:
    """Unknown, a hundred pages a reader; then by the pace of this job, and never of another."""
    ledger.read = ledger.read.model_copy(update={"batch_pages": 10})
    times = iter((100.0, 104.0))
    batches = PageBatches(ledger.jobs, ledger.store, ledger.blobs, ledger.read, None, lambda: next(times))
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    ledger.readers, stages = (lambda _: 1), ledger.here()
    job = await ledger.claim()
    await ledger.runner().turn(job, await ledger.recipe(), lambda: bool(ledger.reader.told))  # surveyed, nothing read

    async def look(failure: object) -> None:
        assert failure is None

    own = job.lease.job
    assert batches.size(own, 3, 180) == 300
    assert await batches.run(job, 20, lambda pages: stages, look, bool, bool, 1) == 20
    assert batches.size(own, 3, 180) == 3 * 20 / 4 * 180
    assert batches.size(own, 1, 1) == 10
    assert batches.size(type(own)("another"), 3, 180) == 300
    assert batches.size(type(own)("another"), 1000, 180) == MOST_PAGES


class EndlessStages:
    """Reads on for as long as somebody takes what it reads; then it is closed."""

    def __init__(self, here: HereStages) -> None:
        self.survey, self.index, self._here, self.closed = here.survey, here.index, here, False

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        try:
            async for pages in self._here.read(slices[:2]):
                yield pages
            await asyncio.Event().wait()
        finally:
            self.closed = True


@pytest.mark.parametrize("readers", [2, None])
async def test_nothing_reads_on_for_a_turn_whose_lease_was_lost(
    ledger: Bench, scope: Scope, folder: Path, readers: int | None
) -> None:
    """It has ended when the turn has, whoever still holds the error."""
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    stages = EndlessStages(ledger.here())
    job = await ledger.claim(lease=0.05)
    await ledger.runner().turn(job, await ledger.recipe(), lambda: bool(ledger.reader.told))  # surveyed, nothing read
    thief = []

    async def look(failure: object) -> None:
        if not thief:
            await asyncio.sleep(0.1)
            thief.append(await ledger.claim("worker-2"))

    batches, kept = PageBatches(ledger.jobs, ledger.store, ledger.blobs, ledger.read, None), None
    try:
        await batches.run(job, 60, lambda pages: stages, look, bool, bool, readers)
    except LeaseLost as error:
        kept = error
    assert kept is not None and stages.closed


@pytest.mark.parametrize(("ms", "pages"), [(3000, 2), (1000, 4), (500, 8), (20, 16), (0, 16)])
async def test_a_slice_is_as_long_as_a_reader_needs_seconds_for_it(
    ledger: Bench, scope: Scope, folder: Path, ms: int, pages: int
) -> None:
    """By what its pages cost a reader, however slowly the readers of the first batch started: ten are left."""
    ledger.read = ledger.read.model_copy(update={"batch_pages": 10})
    batches = PageBatches(ledger.jobs, ledger.store, ledger.blobs, ledger.read, None)
    await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
    ledger.readers, stages = (lambda _: 4), ledger.here()
    job = await ledger.claim()
    await ledger.runner().turn(job, await ledger.recipe(), lambda: bool(ledger.reader.told))  # surveyed, nothing read
    seen: list[int] = []

    class Seen:
        async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
            seen.append(max(len(one.numbers) for one in slices))
            async for some in stages.read(slices):
                yield [replace(one, page=replace(one.page, ms=ms)) for one in some]

    async def look(failure: object) -> None:
        assert failure is None

    for _ in range(2):
        assert await batches.run(job, 10, lambda _: Seen(), look, bool, bool, 4) == 10  # type: ignore[arg-type,return-value]
    assert seen == [SLICE_PAGES, min(pages, 10)]
    assert batches.slice_pages(job.lease.job) == pages
    assert batches.slice_pages(JobId("another")) == SLICE_PAGES
