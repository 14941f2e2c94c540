"""Batches of a job's pages: read by many at once, written by few statements, counted before they are begun."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from cluster.state.work.jobs import ClaimedJob, JobId, JobLease, JobLedger, UnitOutcome, UnitStatus, WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import Failure, page_id
from pipelines.documents.ingest.attempts import count_attempts
from pipelines.documents.ingest.job_plan import READ
from pipelines.documents.ingest.outcome import outcome_of_page, with_file_caveats
from pipelines.documents.ingest.slices import ReadPage, cut_slices
from pipelines.documents.ingest.stages import JobStages, gather_ahead
from pipelines.documents.ingest.suspects import given_up_page, most_deaths, suspects_apart
from pipelines.documents.ingest.vision_step import VisionStep
from pipelines.documents.store.blobs import BlobStore, Location
from pipelines.documents.store.document_writes import DocumentStore, StoredPage
from pipelines.documents.store.page_codec import failure_to_json
from pipelines.documents.store.reading_options import ReadingOptions

# Of a slice, which a reader takes at once: read again after a kill are at most this many times the number of readers.
# Ray needs as long to hand out one page as sixteen, and several slices for each reader keep all of them busy.
SLICE_PAGES = 4  # of a job whose pace nobody knows
SLICE_SECONDS = 4.0
FEWEST_SLICE_PAGES, MOST_SLICE_PAGES = 2, 16
PAGES_A_READER = 100  # of a first batch, whose pace nobody knows
BATCH_SECONDS = 180.0  # readers start for seconds, and stand still at the end of a batch
BATCH_SECONDS_HERE = 30.0  # on one machine, which may be crowded by the next batch
MOST_PAGES = 20_000
MOST_UNDER_WAY = 4  # slices a reader: two at work or next in line, others finished and not written yet
WRITE_PAGES = 64  # in one transaction; what comes while it runs waits for the next


class PageBatches:
    """Reads batches and writes their pages through the lease."""

    def __init__(
        self,
        jobs: JobLedger,
        store: DocumentStore,
        blobs: BlobStore,
        read: ReadSettings,
        vision: VisionStep | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._jobs, self._store, self._blobs, self._read, self._vision = jobs, store, blobs, read, vision
        self._clock = clock
        self._last: tuple[JobId, float] | None = None  # pages a second of each reader in the last batch of a job
        self._cost: tuple[JobId, float] | None = None  # seconds of a reader for a page of it
        self._cut = False  # whether that ended early

    def size(self, job: JobId, readers: int, seconds: float) -> int:
        """Pages of the job's next batch: so many readers need those seconds for them, at the pace of its last one."""
        pace = self._last[1] if self._last is not None and self._last[0] == job else None
        seconds = min(seconds, BATCH_SECONDS_HERE) if self._cut else seconds  # so may this: others wait
        pages = PAGES_A_READER * readers if pace is None else pace * readers * seconds
        return max(self._read.batch_pages, min(round(pages), MOST_PAGES))

    def slice_pages(self, job: JobId) -> int:
        """Pages of a slice: what one reader needs some seconds for, by what those of the job's last batch have cost.

        Not by its pace: that of a first batch is the pace at which readers start.
        """
        if self._cost is None or self._cost[0] != job:
            return SLICE_PAGES
        return max(FEWEST_SLICE_PAGES, min(round(SLICE_SECONDS / max(self._cost[1], 0.001)), MOST_SLICE_PAGES))

    async def run(
        self,
        job: ClaimedJob,
        most: int,
        choose: Callable[[int], JobStages],
        look: Callable[[Failure | None], Awaitable[None]],
        stopped: Callable[[], bool],
        ended: Callable[[], bool],
        readers: int | None = None,
    ) -> int:
        """Read the next pages of the job, at most so many, and return how many have ended.

        Args:
            choose: the stages that read so many pages.
            look: at a page's failure, before it is the page's own.
            stopped: ends the batch after what has been read.
            ended: whether this worker is to leave the job; then no model is waited for.
            readers: of the cluster; None where each page is written as it comes.
        """
        lease, pending = job.lease, await self._jobs.pending(job.lease, READ, most)
        worn_out = [u for u in pending if u.attempts >= most_deaths(self._read)]
        done = await self._write(lease, [given_up_page(u) for u in worn_out], {u.key: u for u in worn_out})
        units = {u.key: u for u in suspects_apart(pending, self._read)}
        if not units or stopped():
            return done
        locations = {str(u.payload["location"]) for u in units.values()}
        paths = {location: self._blobs.reference(Location(location)) for location in locations}
        most_a_slice = self.slice_pages(lease.job)
        slices = cut_slices([(u.payload, int(u.payload["number"])) for u in units.values()], paths, most_a_slice)
        in_line = [units[page_id(piece.version, number)] for piece in slices for number in piece.numbers]
        ahead = max(self._read.batch_pages, MOST_UNDER_WAY * most_a_slice * readers) if readers else None
        began, spent = self._clock(), list[int]()

        async def seen() -> AsyncGenerator[list[ReadPage]]:
            reading = choose(len(units)).read(slices)
            try:
                async for pages in reading:
                    for page in pages:
                        await look(page.page.failure)
                    spent.extend(page.page.ms for page in pages)
                    improve = None if self._vision is None else self._vision.improve(lease, pages, units, paths, ended)
                    yield pages if improve is None else await improve
                    if stopped():
                        return
            finally:
                if close := getattr(reading, "aclose", None):  # its readers end with the turn, not some time later
                    await close()

        async with (
            count_attempts(self._jobs, lease, READ, in_line, ahead) as attempts,
            # Closed however the writes end: nobody reads on for a turn that is over.
            aclosing(gather_ahead(seen(), WRITE_PAGES) if readers else seen()) as read,
        ):
            async for pages in read:
                done += await self._write(lease, pages, units)
                await attempts.touch(page.key for page in pages)
        self._cut = stopped()
        self._remember(lease.job, done, began, readers or 1, spent)
        return done

    def _remember(self, job: JobId, done: int, began: float, readers: int, spent: Sequence[int]) -> None:
        """Keep what the job's next batch and its slices are cut by; `spent`: a reader's milliseconds for each page."""
        if spent:
            self._cost = job, sum(spent) / len(spent) / 1000
        if done >= self._read.batch_pages and (seconds := self._clock() - began) > 0:
            self._last = job, done / seconds / readers

    async def _write(self, lease: JobLease, pages: Sequence[ReadPage], units: Mapping[str, WorkUnit]) -> int:
        """Pages and their units' ends in one transaction; a failure that may pass waits for its next attempt."""
        if not (final := [with_file_caveats(p, units[p.key]) for p in pages if not self._may_pass(p, units[p.key])]):
            return 0
        settled = [
            UnitOutcome(p.key, UnitStatus.FAILED, failure_to_json(p.page.failure))
            if p.page.failure is not None
            else UnitOutcome(p.key, UnitStatus.DONE, outcome=outcome_of_page(p.page.caveats))
            for p in final
        ]
        stored: dict[str, list[StoredPage]] = {}
        for page in final:
            unit = units[page.key]
            options = ReadingOptions.from_json(unit.payload.get("reading"))
            stored.setdefault(unit.fingerprint, []).append(StoredPage(page.version, page.page, options))
        async with self._jobs.writing(lease) as tx:
            for reading, some in stored.items():
                await self._store.put_pages(tx, lease.scope, some, reading)
            await self._jobs.settle(tx, lease, READ, settled)
        return len(final)

    def _may_pass(self, page: ReadPage, unit: WorkUnit) -> bool:
        failure = page.page.failure
        return bool(failure and failure.retryable and unit.attempts + 1 < self._read.max_attempts)
