"""Writes the searchable PDF of a stored document: words from the database, the file in a guarded child."""

import asyncio
import functools
import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster.basics.errors import Unavailable
from cluster.basics.priority import ProcessPriority, lower_process_priority
from cluster.basics.scope import Scope
from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.export.stored_content import StoredContent, StoredVersion
from pipelines.documents.extract.reader import LOW_PATIENCE, crash_reason
from pipelines.documents.guarded_child import CallTimeout, ChildDied, GuardedChild
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import Kind

PDF_KINDS: Final = (Kind.PDF, Kind.IMAGE)
_SAVE_SECONDS_A_PAGE: Final = 0.25  # of CPU, on top of what opening a file may cost
_KILLED_FROM_OUTSIDE: Final = (-9, -15)
_TIMES_WRITTEN: Final = 2  # of the largest file that is read
_LEAST_WRITTEN: Final = 2**28


@dataclass(frozen=True, slots=True)
class LayerCounts:
    """Pages of a searchable PDF: `layered` got words, `native` had their own text, `empty` hold none that was found.

    `unread` could not be read, or are not stored: they are shown, and nothing on them is found. `doubled` keep another
    program's invisible text beside ours, `unplaced` have words whose places nobody knows.
    """

    pages: int = 0
    layered: int = 0
    native: int = 0
    empty: int = 0
    unread: int = 0
    doubled: int = 0
    unplaced: int = 0


class SearchablePdfExporter:
    """Writes one PDF at a time; each has a child of its own, which ends with it."""

    def __init__(
        self,
        content: StoredContent,
        read: ReadSettings,
        ocr: OcrSettings,
        make: Callable[[ReadSettings, OcrSettings], object] | None = None,
    ) -> None:
        """`make`, a top-level function, makes the child's object; it is SearchablePdfWorker where none is given."""
        self._content, self._read = content, read
        self._make = functools.partial(make or make_searchable_pdf_worker, read, ocr)

    async def write_pdf(self, scope: Scope, version: StoredVersion, source: Path, target: Path) -> LayerCounts:
        """Write the file; `target`'s folder is the place for parts of it, too.

        Raises:
            Unreadable: CHANGED, the source is gone or not what was read; TOO_LARGE, its PDF would be; else why it
                cannot be shown.
            Unavailable: the child was ended from outside.
            DiskFull: there is no room for the file.
        """
        guard = GuardedChild(self._make, memory_bytes=self._read.memory_bytes, name="export")
        thread = ThreadPoolExecutor(1, thread_name_prefix="export")
        try:
            return await self._write(scope, version, source, target, functools.partial(_call_in, thread, guard))
        finally:
            guard.interrupt()  # the call it is at, where whoever wanted it has left
            thread.submit(guard.close)
            await asyncio.to_thread(thread.shutdown)  # nothing is written any more once this returns

    async def _write(
        self, scope: Scope, version: StoredVersion, source: Path, target: Path, call: Callable[..., Any]
    ) -> LayerCounts:
        before = await asyncio.to_thread(_require_same_bytes, source, version.file_hash)
        limit = {"read": self._read, "seconds": self._read.open_seconds * LOW_PATIENCE}
        pages = await call("open", source, Kind(version.kind), target.with_suffix(".part"), **limit)
        if pages != version.page_count:
            raise Unreadable(FailureReason.CHANGED, f"it has {pages} pages; {version.page_count} were read")
        async for some in self._content.pages(scope, version):
            await call("add_pages", some, **limit)
        more = _SAVE_SECONDS_A_PAGE * pages
        counts: LayerCounts = await call("save", target, **limit, more_cpu=more)
        if await asyncio.to_thread(_file_state, source) != before:
            raise Unreadable(FailureReason.CHANGED, "its content changed while it was exported")
        return counts


def make_searchable_pdf_worker(read: ReadSettings, ocr: OcrSettings) -> object:
    """In the child: the libraries are imported here and not in the parent."""
    lower_process_priority(ProcessPriority.LOW)
    # Frames of a picture may share their bytes: what is written is bounded by itself.
    most = max(_LEAST_WRITTEN, _TIMES_WRITTEN * read.max_file_bytes)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    from pipelines.documents.export.searchable_pdf import SearchablePdfWorker

    return SearchablePdfWorker(read, ocr)


async def _call_in(
    thread: ThreadPoolExecutor,
    guard: GuardedChild,
    method: str,
    *arguments: object,
    read: ReadSettings,
    seconds: float,
    more_cpu: float = 0.0,
) -> Any:
    cpu = read.cpu_seconds + more_cpu
    call = functools.partial(guard.call, method, *arguments, seconds=seconds, cpu_seconds=cpu)
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, call)
    except CallTimeout as error:
        raise Unreadable(FailureReason.TIMEOUT, f"its PDF could not be written: {error}", retryable=True) from error
    except ChildDied as error:
        if not error.starved and not error.cause and error.code in _KILLED_FROM_OUTSIDE:
            raise Unavailable(
                "the process that wrote the PDF was ended from outside", fix="Ask for it again; nothing was changed."
            ) from error
        raise crash_reason(error, read.memory_bytes) from error


def _require_same_bytes(path: Path, file_hash: str) -> tuple[int, int, int]:
    """The file's state while it has this hash. Raises Unreadable: CHANGED."""
    try:
        before = _file_state(path)
        if hash_file(path) != file_hash:
            raise Unreadable(FailureReason.CHANGED, "its content changed since it was read")
    except OSError as error:
        raise Unreadable(FailureReason.CHANGED, "it is no longer where it was read") from error
    return before


def _file_state(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise Unreadable(FailureReason.CHANGED, "it is no longer where it was read") from error
    return found.st_ino, found.st_size, found.st_mtime_ns
