"""An upload and a bulk scan go down one path: what they leave behind is the same."""

import random
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.scope import Scope
from cluster.models.ports import EmbeddingLane as ModelLane
from cluster.state.work.jobs import JobId, JobLane
from configs.sections import OcrSettings, ReadSettings
from pipelines import rows
from pipelines.documents.document import VersionId
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.index.chunk_and_embed import VersionIndexer
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.ingestion import IngestionRunner
from pipelines.documents.ingest.slices import PageSlice, ReadPage, read_slice
from pipelines.documents.ingest.stages import FileTask, HereStages, JobStages, SurveyResult, survey_file
from tests.fakes.ledger import Bench, new_workspace

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
FILES = sorted(path for path in SAMPLES.iterdir() if path.suffix in {".pdf", ".docx", ".xlsx", ".png", ".md"})
PAGES = "select id, document_id, version_id, number, text, words, engine, confidence, failure from pages order by id"
CHUNKS = (
    "select c.id, c.document_id, c.chunk_index, c.text, c.search_text, c.spans, c.boxes, c.headings,"
    " c.metadata - 'upload_date' as metadata, c.engine, c.confidence,"
    " e.embedding::text from document_chunks c join embeddings e on e.chunk_id = c.id order by c.id"
)
# The same without what an upload and a scan name differently by design: the document, and with it every id.
TEXTS = (
    "select d.filename, number, text, words, engine, p.failure from pages p join documents d on d.id = p.document_id"
)
PIECES = (
    "select d.filename, chunk_index, text, spans, boxes, headings from document_chunks c"
    " join documents d on d.id = c.document_id"
)


class BulkShaped:
    """What a Dataset does to work, without Ray: everything crosses as rows, in any order, a list a slice."""

    def __init__(self, reader: DocumentReader, indexer: VersionIndexer) -> None:
        self._reader, self._indexer, self._order = reader, indexer, random.Random(5)
        self.slices = 0

    async def survey(self, files: Sequence[FileTask]) -> AsyncIterator[list[SurveyResult]]:
        for row in self._shuffled([rows.of_task(task) for task in files]):
            found = survey_file(self._reader, rows.to_task(row))
            yield [rows.to_surveyed(rows.of_surveyed(found))]

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        for row in self._shuffled([rows.of_slice(piece) for piece in slices]):
            self.slices += 1
            pages = read_slice(self._reader, rows.to_slice(row))
            yield [rows.to_read(rows.of_read(page)) for page in pages]

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        for version in self._shuffled(versions):
            indexed = await self._indexer.index(scope, [version])
            yield [rows.to_indexed(rows.of_indexed(one)) for one in indexed]

    def _shuffled(self, items: Sequence[Any]) -> list[Any]:
        return self._order.sample(items, len(items))


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    with DocumentReader(ReadSettings(), OcrSettings(strategy="tesseract", dpi=150)) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample documents alone."""
    made = tmp_path / "samples"
    made.mkdir()
    for path in FILES:
        shutil.copy(path, made)
    return made


def indexer(ledger: Bench, lane: ModelLane) -> VersionIndexer:
    return VersionIndexer(ledger.store, ledger.embedder, ledger.chunk, lane)


async def run(
    ledger: Bench, stages: JobStages, scope: Scope, kind: str, payload: dict[str, Any], lane: JobLane
) -> JobId:
    ledger.stages = stages
    await ledger.enqueue(scope, kind, payload, lane)
    job = await ledger.run(lane)
    assert (await ledger.desk.show(scope, job))["state"] == "completed"
    return job


async def forget(ledger: Bench, scope: Scope) -> None:
    async with ledger.database.transaction(scope) as tx:
        await tx.run("delete from documents")


async def test_in_01_both_ways_leave_the_same_pages_and_chunks(
    ledger: Bench, scope: Scope, reader: DocumentReader, folder: Path
) -> None:
    """IN-01: the same files through the small path and in bulk: equal ids, texts, boxes, chunks and vectors."""
    bulk = BulkShaped(reader, indexer(ledger, ModelLane.BULK))
    payload = {"root": str(folder), "agent_id": None}
    here = HereStages(reader, indexer(ledger, ModelLane.QUESTION))
    await run(ledger, here, scope, "scan", payload, JobLane.SMALL)
    small = await ledger.rows(scope, PAGES), await ledger.rows(scope, CHUNKS)
    texts = await ledger.rows(scope, TEXTS)
    assert {row["filename"] for row in texts} == {path.name for path in FILES}
    assert any(row["boxes"] for row in small[1])
    assert all({row["engine"] for row in rows} == {"native", "tesseract"} for rows in small)

    await forget(ledger, scope)
    await run(ledger, bulk, scope, "scan", payload, JobLane.BULK)
    assert bulk.slices >= len(FILES)
    assert (await ledger.rows(scope, PAGES), await ledger.rows(scope, CHUNKS)) == small


async def test_in_01_an_upload_reads_as_a_scanned_folder_does(
    ledger: Bench, scope: Scope, admin_dsn: str, reader: DocumentReader, folder: Path
) -> None:
    """IN-01: an upload's document has another name, hence other ids, and the same pages and passages."""
    other = await new_workspace(admin_dsn)
    uploads = [{"origin": f"upload:{p.name}", "filename": p.name, "location": f"file:{p}"} for p in FILES]
    here = HereStages(reader, indexer(ledger, ModelLane.QUESTION))
    bulk = BulkShaped(reader, indexer(ledger, ModelLane.BULK))
    await run(ledger, here, scope, "upload", {"files": uploads, "agent_id": None}, JobLane.SMALL)
    await run(ledger, bulk, other, "scan", {"root": str(folder), "agent_id": None}, JobLane.BULK)
    for query, order in ((TEXTS, "number"), (PIECES, "chunk_index")):
        uploaded, scanned = [
            sorted(await ledger.rows(owner, query), key=lambda row: (row["filename"], row[order]))
            for owner in (scope, other)
        ]
        assert uploaded == scanned and uploaded


@pytest.mark.parametrize(("small_pages", "chosen"), [(20, "here"), (1, "bulk")])
async def test_in_01_the_number_of_pages_decides_which_way(
    ledger: Bench, scope: Scope, tmp_path: Path, small_pages: int, chosen: str
) -> None:
    """IN-01: few pages stay in the worker, more go to the cluster, whichever lane the job came by."""
    (tmp_path / "in").mkdir()
    for n in range(3):
        (tmp_path / "in" / f"{n}.txt").write_text(f"one\ftwo of file {n}")
    ways = {"here": Counting(ledger.here()), "bulk": Counting(ledger.here())}
    runner = IngestionRunner(
        ledger.jobs,
        ledger.store,
        ledger.generations,
        ledger.blobs,
        ledger.rebuild(),
        here=ways["here"],
        bulk=ways["bulk"],
        read=ReadSettings(small_pages=small_pages),
        chunk=ledger.chunk,
        read_fingerprint="reader-1",
        exact_scope=10_000,
    )
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
    job = await ledger.claim()
    await ledger.finish(job, runner)
    assert {name: way.read_pages for name, way in ways.items()} == {"here": 0, "bulk": 0} | {chosen: 6}


class Counting:
    """Another way to do the work, that counts the pages it was given."""

    def __init__(self, inner: JobStages) -> None:
        self.survey, self.index, self._inner = inner.survey, inner.index, inner
        self.read_pages = 0

    def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        self.read_pages += sum(len(piece.numbers) for piece in slices)
        return self._inner.read(slices)
