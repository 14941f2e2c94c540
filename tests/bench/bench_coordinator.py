"""`python -m tests.bench.bench_coordinator`: the ingest runner without Ray, recorded pages into real Postgres."""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import psutil

from cluster.basics.scope import Scope
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.work.jobs import ClaimedJob, JobId, JobLane, JobState
from configs.sections import ChunkSettings, ReadSettings, WorkerSettings
from configs.settings import load_settings
from pipelines import rows
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.document import Page, VersionId
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.job_loop import JobLoop
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import in_thread
from pipelines.documents.store.page_codec import search_text
from tests.bench.bench_readers import PAGES_A_DOCUMENT, tree_seconds
from tests.bench.sleeping_readers import words_of_a_page, write_documents
from tests.evals.report import Report
from tests.fakes.chunking import letter_vectors
from tests.fakes.ledger import Bench, LetterEmbedder, bench, new_workspace, worker_scope

READERS = 64  # that there seem to be
PARTITIONS_A_WORKER = 4
SHARED_GOAL = "several workers share one large job by ranges with fencing"


class RecordedStages:
    """Hands out rows as readers and an index actor send them; what they cost to make is no part of the figures.

    Attributes:
        begun: seconds of CPU of this process and of Postgres, and the time, when the first page was asked for.
    """

    def __init__(self, ledger: Bench, index_row: rows.Row, postmaster: psutil.Process) -> None:
        self.survey, self._ledger, self._index_row = ledger.here().survey, ledger, index_row
        self._postmaster = postmaster
        text, words = words_of_a_page()
        row = rows.of_read(ReadPage(VersionId(""), Page(1, text, words, ms=500)))
        self._head, self._words = json.loads(row["page"]), row["words"]
        self.begun: tuple[float, float, float] | None = None

    def now(self) -> tuple[float, float, float]:
        """As `begun`."""
        return time.process_time(), tree_seconds(self._postmaster), time.monotonic()

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        """As in JobStages."""
        self.begun = self.begun or self.now()
        async for pages in in_thread(self._recorded(slices)):
            yield pages

    def _recorded(self, slices: Sequence[PageSlice]) -> Iterator[list[ReadPage]]:
        for piece in slices:
            heads = [json.dumps(self._head | {"number": number}) for number in piece.numbers]
            yield [rows.to_read({"version": piece.version, "page": head, "words": self._words}) for head in heads]

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        """As in JobStages."""
        query = "select id, reads from document_versions where id = any(%(versions)s)"
        for row in await self._ledger.rows(scope, query, versions=list(versions)):
            yield [rows.to_indexed(self._index_row | {"version": row["id"], "reads": row["reads"]})]

    async def close(self) -> None:
        """As in IndexStage."""


def index_row() -> rows.Row:
    """What an index actor sends of a document, its version left out."""
    text, words = words_of_a_page()
    pages = [Page(number + 1, text, words) for number in range(PAGES_A_DOCUMENT)]
    chunks = tuple(split_pages(pages, ChunkSettings()))
    vectors = letter_vectors([search_text(chunk) for chunk in chunks])
    return rows.of_indexed(IndexedVersion(VersionId(""), chunks, vectors, made=LetterEmbedder.name))


def use_recorded_stages(ledger: Bench, place: Path, partition_files: int) -> RecordedStages:
    """The ledger's jobs have them from now on."""
    pid = int((place / "s" / "postgres" / "postmaster.pid").read_text().split()[0])
    stages = RecordedStages(ledger, index_row(), psutil.Process(pid))
    ledger.stages, ledger.beside, ledger.readers = stages, stages, lambda _: READERS
    ledger.read = ReadSettings(readers=READERS, partition_files=partition_files)
    return stages


async def measure(report: Report, place: Path, documents: int) -> None:
    """One job, from its first page to its end."""
    found = embedded.start_servers(load_settings())
    admin = found.postgres_admin or ""
    await apply_migrations(admin)
    pages = write_documents(place / "documents", documents, PAGES_A_DOCUMENT)
    scope = await new_workspace(admin)
    async with bench(found.postgres, place) as ledger:
        stages = use_recorded_stages(ledger, place, documents)
        await ledger.scan(scope, place / "documents")
        ended = stages.now()
        (row,) = await ledger.rows(scope, "select count(distinct id) as n from pages where text <> ''")
    assert stages.begun is not None
    report.figure("pages written", row["n"], reference=pages, goal="every page once", holds=row["n"] == pages)
    # Of the whole job, its indexing included; the goal is of a worker with its part of Ray, see `make bench-scale`.
    for name, before, after in zip(("runner", "postgres"), stages.begun, ended, strict=False):
        report.figure(f"CPU of {name} a page", 1000 * (after - before) / pages, unit="ms")
    report.figure("pages/s", pages / (ended[2] - stages.begun[2]))


async def measure_shared(report: Report, place: Path, documents: int, workers: int) -> None:
    """One job at which so many workers are at work, each a process of its own."""
    endpoints = embedded.start_servers(load_settings())
    pages = documents * PAGES_A_DOCUMENT
    scope = await new_workspace(endpoints.postgres_admin or "")
    async with bench(endpoints.postgres, place) as ledger:
        job = await ledger.enqueue(scope, "scan", {"root": str(place / "documents"), "agent_id": None})
        files = -(-documents // (workers * PARTITIONS_A_WORKER))
        words = [sys.executable, "-m", "tests.bench.bench_coordinator", "--join", f"{place}", "--files", f"{files}"]
        words += ["--job", f"{scope.tenant} {scope.workspace} {job}"]
        joined = [await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE) for _ in range(workers)]
        told = [json.loads((await one.communicate())[0]) for one in joined]
        row = await ledger.desk.show(scope, job)
        (stored,) = await ledger.rows(
            scope, "select count(*) as n, count(distinct id) as ids from pages where text <> ''"
        )
    whole = row["state"] == "completed" and stored["n"] == stored["ids"] == pages
    report.figure(f"{workers} workers at one job: pages", stored["n"], reference=pages, goal=SHARED_GOAL, holds=whole)
    shares = [one["partitions"] for one in told]
    report.figure("of its partitions each had", ", ".join(map(str, shares)), goal=SHARED_GOAL, holds=min(shares) > 0)
    for number, one in enumerate(told):
        report.figure(f"worker {number}: CPU of all it did", one["seconds"], unit="s")
    seconds = max(one["ended"] for one in told) - min(one["began"] for one in told)
    report.figure(f"{workers} workers at one job: pages/s", pages / seconds)


async def join(place: Path, partition_files: int, named: str) -> None:
    """Work at a job until it has ended, and print what of it was done here."""
    tenant, workspace, job = named.split()
    scope = worker_scope(tenant, workspace)
    partitions = list[int]()

    def heard(claimed: ClaimedJob) -> None:
        if claimed.lease.partition is not None:
            partitions.append(claimed.lease.partition.number)

    async with bench(embedded.start_servers(load_settings()).postgres, place) as ledger:
        use_recorded_stages(ledger, place, partition_files)
        began, used = time.monotonic(), time.process_time()
        loop = JobLoop(ledger.jobs, ledger.runner(), ledger.recipe, WorkerSettings(), str(os.getpid()), began=heard)
        while (await ledger.desk.show(scope, JobId(job)))["state"] in (JobState.QUEUED, JobState.RUNNING):
            if not await loop.once(JobLane.BULK):
                await asyncio.sleep(0.05)
    ended = {"began": began, "ended": time.monotonic(), "seconds": time.process_time() - used}
    print(json.dumps(ended | {"partitions": len(partitions)}))


def main() -> int:
    """Measure, print, write `.reports/bench-coordinator.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=60, help=f"of {PAGES_A_DOCUMENT} pages each")
    parser.add_argument("--workers", type=int, default=2, help="how many share the second job")
    for hidden in ("--join", "--files", "--job"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.join:
        os.environ["AOS_STATE_DIR"] = f"{options.join}/s"
        asyncio.run(join(Path(options.join), int(options.files), options.job))
        return 0
    report, place = Report("bench-coordinator"), Path(tempfile.mkdtemp(prefix="aos-"))
    os.environ["AOS_STATE_DIR"] = str(place / "s")
    try:
        asyncio.run(measure(report, place, options.documents))
        asyncio.run(measure_shared(report, place, options.documents, options.workers))
    finally:
        embedded.stop_servers(place / "s")
        shutil.rmtree(place, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
