"""Surveys and readings as Ray Data give what the worker gives by itself, also when a reader is killed."""

import asyncio
import contextlib
import errno
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
import ray

from cluster.basics.errors import DiskFull, Unavailable
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.ports import EmbeddingLane
from cluster.state.db.postgres import Database
from cluster.watch import memory
from configs.sections import ChunkSettings, OcrSettings, ReadSettings
from configs.settings import load_settings
from pipelines import rows
from pipelines.documents.document import FailureReason, VersionId, document_id, version_id
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.index.chunk_and_embed import VersionIndexer
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.slices import PageSlice, ReadPage
from pipelines.documents.ingest.stages import FileTask, HereStages, JobStages, SurveyResult
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.index import IndexBeside
from pipelines.read import stream_through_actors
from pipelines.worker import DatasetStages
from tests.fakes.ledger import LetterEmbedder
from tests.kill.scans import make_scans

pytestmark = pytest.mark.ray
SAMPLES = Path(__file__).resolve().parents[1] / "samples"
FILES = sorted(path for path in SAMPLES.iterdir() if path.suffix in {".pdf", ".docx", ".xlsx", ".png", ".md"})
OCR = OcrSettings(strategy="tesseract", dpi=150)
"""What the session's actors read from their environment."""


@pytest.fixture(scope="module")
def here() -> Iterator[HereStages]:
    """The way that stays in this process; nothing is indexed, so its database is never opened."""
    nowhere = DocumentStore(Database("host=/nowhere", size=1))
    with DocumentReader(ReadSettings(), OCR) as reader:
        yield HereStages(reader, VersionIndexer(nowhere, LetterEmbedder(), ChunkSettings(), EmbeddingLane.QUESTION))


def tasks(paths: list[Path]) -> list[FileTask]:
    return [FileTask(f"file:{path}", str(path), path.name) for path in paths]


def slices(found: list[SurveyResult], at_most: int) -> list[PageSlice]:
    """The pages of every file that could be opened, as a job would cut them."""
    return [
        PageSlice(
            version_id(document_id("w", one.key), one.file_hash),
            one.key.removeprefix("file:"),
            one.kind,
            one.file_hash,
            one.file_size,
            one.mtime_ns,
            tuple(range(start, min(start + at_most, one.pages + 1))),
        )
        for one in found
        if one.failure is None
        for start in range(1, one.pages + 1, at_most)
    ]


async def surveyed(stages: JobStages, files: list[FileTask]) -> list[SurveyResult]:
    found = [one async for part in stages.survey(files) for one in part]
    return sorted(found, key=lambda one: one.key)


async def read(stages: JobStages, pieces: list[PageSlice]) -> list[ReadPage]:
    """As they would be stored, and without the time it took, which is the one thing that may differ."""
    pages = [rows.to_read(rows.of_read(page)) async for part in stages.read(pieces) for page in part]
    return sorted((timeless(page) for page in pages), key=lambda page: (page.version, page.page.number))


def timeless(page: ReadPage) -> ReadPage:
    attempts = tuple(replace(attempt, ms=0) for attempt in page.page.attempts)
    return replace(page, page=replace(page.page, ms=0, attempts=attempts))


async def test_in_01_a_dataset_gives_what_the_worker_gives(cluster: str, here: HereStages, tmp_path: Path) -> None:
    """IN-01: equal surveys, pages, words and failures for every sample and for what cannot be read."""
    broken, gone = tmp_path / "broken.pdf", tmp_path / "gone.pdf"
    broken.write_bytes(b"%PDF-1.7 and then nothing that a PDF has")
    bulk, files = DatasetStages(ReadSettings()), tasks([*FILES, broken, gone])
    found = await surveyed(here, files)
    assert {one.failure.reason for one in found if one.failure} == {FailureReason.CORRUPT, FailureReason.CHANGED}
    assert await surveyed(bulk, files) == found
    pieces = slices(found, 2)
    stale = replace(pieces[0], file_hash="0" * 64, file_size=1, version=version_id(document_id("w", "stale"), "0"))
    pages = await read(here, [*pieces, stale])
    assert {page.page.engine for page in pages} >= {"native", "tesseract", "none"}
    assert await read(bulk, [*pieces, stale]) == pages


def readers() -> list[psutil.Process]:
    """The actors of this session's own cluster that read pages now."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "MapWorker(MapBatches(_Read))" in " ".join(process.cmdline()):
                found.append(process)
    return found


def busy(process: psutil.Process) -> bool:
    """Whether the OCR engine of its guarded child computes at this moment."""
    with contextlib.suppress(psutil.NoSuchProcess):
        engines = [child for child in process.children(recursive=True) if child.cmdline()[-1:] == ["tesseract"]]
        return any(engine.status() == psutil.STATUS_RUNNING for engine in engines)
    return False


def kill_one_that_reads(dead: Collection[int], seconds: float = 60) -> int:
    """`kill -9` of a reader in the middle of a page, none of those that are `dead`; its process id.

    One that was killed a moment ago is still listed, with its child still running.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for process in readers():
            if process.pid not in dead and busy(process):
                process.kill()
                return int(process.pid)
        time.sleep(0.01)
    raise TimeoutError("no reader was found reading")


def scans(folder: Path) -> list[Path]:
    make_scans(folder, 3, 4)
    return sorted(folder.iterdir())


async def test_a_killed_reader_loses_and_doubles_nothing(cluster: str, here: HereStages, tmp_path: Path) -> None:
    """Two kills in one run: every page comes once, with the text that it has undisturbed."""
    bulk = DatasetStages(ReadSettings(readers=2))
    pieces = slices(await surveyed(here, tasks(scans(tmp_path))), 2)
    pages: list[ReadPage] = []
    killed: list[int] = []
    async for part in bulk.read(pieces):
        pages += part
        if len(killed) < 2:
            killed.append(await asyncio.to_thread(kill_one_that_reads, killed))
    assert len(killed) == 2 and not any(_lives(pid) for pid in killed)
    assert Counter((page.version, page.page.number) for page in pages) == Counter(
        (piece.version, number) for piece in pieces for number in piece.numbers
    )
    assert all(page.page.failure is None for page in pages)
    for page in pages:
        assert f"page {page.page.number}" in page.page.text


class Told:
    """Says which settings it has."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._psm = load_settings(rows=given).ocr.psm

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        yield pa.Table.from_pylist([{"psm": self._psm}])


def test_re_27_actors_have_the_rows_that_their_worker_began_with(cluster: str) -> None:
    """RE-27: whatever was changed since, a job's pages are read with what its fingerprint says."""
    for given, psm in (({"ocr.psm": 6}, 6), (None, 3)):
        tables = stream_through_actors([{"n": 1}], Told, ReadSettings(), quiet_seconds=10, given=given)
        assert [row["psm"] for table in tables for row in table.to_pylist()] == [psm]


class Scheduled:
    """Tells the scheduling class of its actor, which nothing of ours has set from inside."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        yield pa.Table.from_pylist([{"policy": os.sched_getscheduler(0)}])


@pytest.mark.parametrize(("idle", "policy"), [(True, os.SCHED_IDLE), (False, os.SCHED_OTHER)])
def test_actors_of_bulk_jobs_start_behind_everything_else(cluster: str, idle: bool, policy: int) -> None:
    """Their imports take seconds, in which somebody asks questions."""
    for table in stream_through_actors([{"n": 1}], Scheduled, ReadSettings(idle=idle), quiet_seconds=10):
        assert [row["policy"] for row in table.to_pylist()] == [policy]


def reserves(cpus: float, seconds: float = 20) -> bool:
    """Whether so many CPUs are reserved soon: Ray hears of an actor's end a moment later."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ray.cluster_resources()["CPU"] - ray.available_resources().get("CPU", 0) == pytest.approx(cpus):
            return True
        time.sleep(0.2)
    return False


class _Index:
    """Indexes nothing, and dies at a version that is called so."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._given = given

    def index_group(self, row: rows.Row) -> list[rows.Row]:
        if "death" in row["versions"]:
            os._exit(1)
        return [rows.of_indexed(IndexedVersion(VersionId(version), (), None)) for version in row["versions"]]


async def test_documents_are_indexed_beside_a_dataset_that_reads(cluster: str) -> None:
    """By an actor that takes one CPU and gives it back; one that dies leaves what is left to another time."""
    scope = Scope.of_worker(TenantId("t"), WorkspaceId("w"))
    beside = IndexBeside(ReadSettings(reader_cpus=1), {"ocr.psm": 6}, _Index)
    versions = [VersionId(str(n)) for n in range(20)]
    found = [one async for some in beside.index(scope, versions) for one in some]
    assert [one.version for one in found] == versions
    assert reserves(1)
    titles = [" ".join(process.cmdline()) for process in psutil.Process().children(recursive=True)]
    assert sum(title.startswith(memory.TITLES) for title in titles) == 1  # where memory runs out it ends as readers do
    with pytest.raises(Unavailable):
        [one async for one in beside.index(scope, [VersionId("death")])]
    await beside.close()
    await beside.close()
    found = [one async for some in beside.index(scope, versions[:1]) for one in some]
    assert len(found) == 1
    await beside.close()
    assert reserves(0)


class Full:
    """Finds no room on its node: as our reader says it, or as the system does."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        if batch.to_pylist()[0]["named"]:
            raise DiskFull("1.0 MiB are free at /scratch", fix="Free some there.")
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("named", [True, False])
def test_a_node_whose_disk_is_full_is_known_for_that(cluster: str, named: bool) -> None:
    with pytest.raises(DiskFull) as full:
        list(stream_through_actors([{"named": named}], Full, ReadSettings(), quiet_seconds=10))
    if named:
        assert (full.value.detail, full.value.hint) == ("1.0 MiB are free at /scratch", "Free some there.")


class Placed:
    """Tells what Ray has given to its actor."""

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        yield pa.Table.from_pylist([{"gpus": len(ray.get_gpu_ids()), "seen": os.environ.get("CUDA_VISIBLE_DEVICES")}])


@pytest.mark.parametrize(("gpus", "given"), [(0.25, {"gpus": 1, "seen": "0"}), (0, {"gpus": 0})])
def test_an_actor_has_the_part_of_a_gpu_that_is_asked_for(cluster: str, gpus: float, given: dict[str, object]) -> None:
    """EasyOCR computes in a child of the actor, which inherits what the actor may see."""
    for table in stream_through_actors([{"n": 1}, {"n": 2}], Placed, ReadSettings(), quiet_seconds=10, gpus=gpus):
        for row in table.to_pylist():
            assert given.items() <= row.items()


async def test_readers_reserve_their_part_of_the_gpu(cluster: str, here: HereStages, tmp_path: Path) -> None:
    free: list[float] = []
    async for _ in DatasetStages(ReadSettings(readers=2), 0.25).read(
        slices(await surveyed(here, tasks(scans(tmp_path))), 2)
    ):
        free.append(ray.available_resources().get("GPU", 0))
    assert min(free) == pytest.approx(0.5)


def _lives(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
        os.kill(pid, 0)
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False
