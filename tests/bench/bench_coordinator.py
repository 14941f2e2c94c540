"""`python -m tests.bench.bench_coordinator`: the ingest runner without Ray, recorded pages into real Postgres."""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import psutil

from cluster.basics.scope import Scope
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from configs.sections import ChunkSettings, ReadSettings
from configs.settings import load_settings
from pipelines import rows
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.document import Page, VersionId
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import in_thread
from pipelines.documents.store.page_codec import search_text
from tests.bench.bench_readers import PAGES_A_DOCUMENT, tree_seconds
from tests.bench.sleeping_readers import words_of_a_page, write_documents
from tests.evals.report import Report
from tests.fakes.chunking import letter_vectors
from tests.fakes.ledger import Bench, LetterEmbedder, bench, new_workspace

READERS = 64  # that there seem to be


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


async def measure(report: Report, place: Path, documents: int) -> None:
    """One job, from its first page to its end."""
    found = embedded.start_servers(load_settings())
    admin = found.postgres_admin or ""
    await apply_migrations(admin)
    pages = write_documents(place / "documents", documents, PAGES_A_DOCUMENT)
    scope = await new_workspace(admin)
    pid = int((place / "s" / "postgres" / "postmaster.pid").read_text().split()[0])
    async with bench(found.postgres, place) as ledger:
        stages = RecordedStages(ledger, index_row(), psutil.Process(pid))
        ledger.stages, ledger.beside, ledger.readers = stages, stages, lambda _: READERS
        ledger.read = ReadSettings(readers=READERS)
        await ledger.scan(scope, place / "documents")
        ended = stages.now()
        (row,) = await ledger.rows(scope, "select count(distinct id) as n from pages where text <> ''")
    assert stages.begun is not None
    report.figure("pages written", row["n"], reference=pages, goal="every page once", holds=row["n"] == pages)
    # Of the whole job, its indexing included; the goal is of a worker with its part of Ray, see `make bench-scale`.
    for name, before, after in zip(("runner", "postgres"), stages.begun, ended, strict=False):
        report.figure(f"CPU of {name} a page", 1000 * (after - before) / pages, unit="ms")
    report.figure("pages/s", pages / (ended[2] - stages.begun[2]))


def main() -> int:
    """Measure, print, write `.reports/bench-coordinator.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=60, help=f"of {PAGES_A_DOCUMENT} pages each")
    options = parser.parse_args()
    report, place = Report("bench-coordinator"), Path(tempfile.mkdtemp(prefix="aos-"))
    os.environ["AOS_STATE_DIR"] = str(place / "s")
    try:
        asyncio.run(measure(report, place, options.documents))
    finally:
        embedded.stop_servers(place / "s")
        shutil.rmtree(place, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
