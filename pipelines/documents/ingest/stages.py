"""Stages of a job over files, pages and versions: the port, and the implementation in this process."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cluster.basics.disk import full_at, means_full
from cluster.basics.scope import Scope
from pipelines.documents.document import Failure, FailureReason, Unreadable, VersionId
from pipelines.documents.extract.containers.unpacked import CONTAINERS, NOTHING_UNPACKED, UnpackedMembers
from pipelines.documents.index.chunk_and_embed import VersionIndexer
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.ingest.slices import SHARED_FILES, FileAccess, FileReader, PageSlice, ReadPage, read_slice

LOOK_SECONDS = 1.0  # between two looks whether what goes on beside has ended

Item = TypeVar("Item")
VersionIndexing = Callable[[Scope, Sequence[VersionId]], AsyncIterator[list[IndexedVersion]]]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Result of one batch: units settled, whether the job has ended, and whether it waits in the other lane now."""

    units: int
    ended: bool
    moved: bool = False


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file to survey; `key` is its unit's, `path`, `encoding` and `language` are as in Slice.

    `staging` is the folder that members of a container are unpacked to; none where they are too deep in others.
    """

    key: str
    path: str
    filename: str
    encoding: str | None = None
    language: str | None = None
    staging: str = ""


@dataclass(frozen=True, slots=True)
class SurveyResult:
    """Survey result of a file: its kind, hash and pages as in Slice; or, as `failure`, why it cannot be opened.

    `unpacked` are the members of a container, whose bytes lie in the staging folder.
    """

    key: str
    kind: str = ""
    file_hash: str = ""
    file_size: int = 0
    mtime_ns: int = 0
    pages: int = 0
    failure: Failure | None = None
    unpacked: UnpackedMembers = NOTHING_UNPACKED


class JobStages(Protocol):
    """Port to the stages of a job: survey, read and index."""

    def survey(self, files: Sequence[FileTask]) -> AsyncIterator[list[SurveyResult]]:
        """Open each file far enough to count its pages."""

    def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        """Read pages; results come in any order, in lists that are written together."""

    def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        """Split and embed the stored pages of versions."""


class IndexStage(Protocol):
    """Port to what indexes documents while a Dataset reads others."""

    def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        """As in JobStages."""

    async def close(self) -> None:
        """At the end of a batch."""


class HereStages:
    """Small inputs: the stage functions in this process, with a warm reader and no Dataset."""

    def __init__(self, reader: FileReader, indexer: VersionIndexer, files: FileAccess = SHARED_FILES) -> None:
        self._reader, self._indexer, self._files = reader, indexer, files

    async def survey(self, files: Sequence[FileTask]) -> AsyncIterator[list[SurveyResult]]:
        """One list a file."""
        async for surveyed in in_thread(survey_file(self._reader, task, self._files) for task in files):
            yield [surveyed]

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        """One list a page."""
        pages = (page for piece in slices for page in read_slice(self._reader, piece, self._files))
        async for page in in_thread(pages):
            yield [page]

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        """One list for all."""
        yield await self._indexer.index(scope, versions)


def survey_file(reader: FileReader, task: FileTask, files: FileAccess = SHARED_FILES) -> SurveyResult:
    """Survey one file; a file that cannot be opened is a value with a reason."""
    hints = {"encoding": task.encoding, "language": task.language}
    unpacked, staging = NOTHING_UNPACKED, Path(task.staging) if task.staging else None
    try:
        with files.open_reference(task.path) as path:
            mtime_ns = path.stat().st_mtime_ns
            facts = reader.survey(path, task.filename, **hints)
            if facts.kind in CONTAINERS:
                unpacked = reader.unpack(path, facts.kind, staging, **hints)
        if staging is not None and unpacked.members:
            handed = (replace(one, staged=files.hand_over(staging, one.staged)) for one in unpacked.members)
            unpacked = replace(unpacked, members=tuple(handed))
    except Unreadable as error:
        return SurveyResult(task.key, failure=error.as_failure("survey"))
    except OSError as error:
        if means_full(error):
            raise
        why = f"the file cannot be opened: {error.strerror}"
        return SurveyResult(task.key, failure=Failure("survey", FailureReason.CHANGED, why, retryable=True))
    return SurveyResult(
        task.key, str(facts.kind), facts.file_hash, facts.size, mtime_ns, facts.pages, unpacked=unpacked
    )


async def in_thread(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Take blocking items one by one off the event loop; the iterator is closed when the reader of this stops.

    Raises DiskFull: the work needed room that no disk had; whatever else it raises, it raises here.
    """
    iterator: Iterator[Item] = iter(items)
    end = object()
    step: asyncio.Future[Any] | None = None
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, iterator, end))
            if (item := await asyncio.shield(step)) is end:
                return
            yield item
    except OSError as error:
        if not means_full(error):
            raise
        raise full_at() from error
    finally:
        if step is not None and not step.done():  # who is cancelled waits: a generator at work cannot be closed
            await asyncio.wait({step})
        if close := getattr(iterator, "close", None):
            await asyncio.to_thread(close)


async def gather_ahead(lists: AsyncGenerator[list[Item]], most: int) -> AsyncGenerator[list[Item]]:
    """Take lists while the reader of this is busy, and hand out together what has come since.

    At most so many items wait, or one list. What came before an error is handed out before it is raised.
    """
    waiting: deque[list[Item]] = deque()
    changed = asyncio.Condition()

    async def pull() -> None:
        async with aclosing(lists):
            async for one in lists:
                async with changed:
                    await changed.wait_for(lambda: not waiting or sum(map(len, waiting)) + len(one) <= most)  # noqa: B023
                    waiting.append(one)
                    changed.notify_all()

    async def tell_end(pulling: "asyncio.Task[None]") -> None:
        await asyncio.wait({pulling})
        async with changed:
            changed.notify_all()

    pulling = asyncio.create_task(pull())
    ending = asyncio.create_task(tell_end(pulling))
    try:
        while True:
            async with changed:
                await changed.wait_for(lambda: bool(waiting) or pulling.done())
                items, over = [item for one in waiting for item in one], not waiting
                waiting.clear()
                changed.notify_all()
            if over:
                pulling.result()  # raises what has ended it
                return
            yield items
    finally:
        pulling.cancel()
        await asyncio.wait({pulling, ending})


async def unless_over(index: Coroutine[Any, Any, int], reading: asyncio.Task[int], ended: Callable[[], bool]) -> int:
    """What an index comes to; given up once the reading beside it has failed, or this worker is to leave the job.

    Its process may wait for a CPU for as long as others want them all.
    """
    indexing = asyncio.create_task(index)
    try:
        while not indexing.done():
            await asyncio.wait({indexing}, timeout=LOOK_SECONDS)
            if not indexing.done() and reading.done() and (ended() or reading.exception() is not None):
                return 0
        return indexing.result()
    finally:
        indexing.cancel()
        await asyncio.wait({indexing})
