"""Reads files page by page in a guarded child: whatever a file does, each of its pages gets an answer."""

import functools
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cluster.basics.priority import ProcessPriority, lower_process_priority
from configs.sections import OcrSettings, ReadSettings
from pipelines.documents import document
from pipelines.documents.cpu_pulses import PacedSlot
from pipelines.documents.document import FailureReason, Page, Unreadable
from pipelines.documents.extract.containers.unpacked import UnpackedMembers, failed_unpacking
from pipelines.documents.extract.opened import PageImageReader
from pipelines.documents.guarded_child import CallTimeout, ChildDied, GuardedChild, TookTooMuch
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import Kind

STAGE = "read"
LOW_PATIENCE = 4
EXTRACTION = 8
"""Count up when the same bytes would give another text."""

_LIBRARIES = (
    "pypdfium2",
    "pdfplumber",
    "pillow",
    "pi-heif",
    "openpyxl",
    "babel",
    "olefile",
    "beautifulsoup4",
    "lxml",
    "striprtf",
    "xlrd",
    "python-oxmsg",
)
_KILLED_FROM_OUTSIDE = (-9, -15)


@dataclass(frozen=True, slots=True)
class FileSurvey:
    """Facts of a file before its pages are read; `file_hash` is SHA-256 in hex, `size` in bytes."""

    kind: Kind
    file_hash: str
    size: int
    pages: int


class DocumentReader:
    """Opens and reads files; one child process is kept between calls. Not for two threads at once."""

    def __init__(
        self,
        read: ReadSettings,
        ocr: OcrSettings,
        make_engine: Callable[[OcrSettings], PageImageReader] | None = None,
        *,
        priority: ProcessPriority = ProcessPriority.NORMAL,
        helpers: bool = False,
        share: float = 1.0,
        pace: PacedSlot | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            ocr: how pictures are read.
            make_engine: a top-level function that makes the reader of pictures; the default is the OCR cascade.
            priority: of the child and what it starts: bulk work must not make people wait. Below the normal one, time
                limits by the clock are `LOW_PATIENCE` times as long, as it may have to wait itself.
            helpers: what OCR costs counts as CPU of the page, too.
            share: of a core, that reading has at most.
            pace: its slot beside other readers: what is costly gives way to what is not, and tenants to each other.
        """
        self._languages: tuple[str, ...] = ()
        self._strategy: str | None = None
        self._read, self._paced = read, pace is not None
        self._patience = 1 if priority is ProcessPriority.NORMAL else LOW_PATIENCE
        make = functools.partial(make_extraction_worker, read, ocr, make_engine, priority)
        self._guard = GuardedChild(make, memory_bytes=read.memory_bytes, helpers=helpers, share=share, pace=pace)

    @property
    def child(self) -> int | None:
        """Process id of the child while there is one."""
        return self._guard.pid

    def warm_up(self) -> None:
        """Start the child before the first file."""
        self._guard.warm_up()

    def end_unused(self, seconds: float) -> bool:
        """End a child that has read something, and then nothing for so long; true where it was ended."""
        return self._guard.end_unused(seconds)

    def use(self, languages: tuple[str, ...], strategy: str | None = None) -> None:
        """Read scans in these languages by this strategy from now on; as the settings say where there are none."""
        self._languages, self._strategy = languages, strategy

    def survey(
        self, path: Path, filename: str | None = None, *, encoding: str | None = None, language: str | None = None
    ) -> FileSurvey:
        """Kind, hash and number of pages.

        Args:
            filename: the name its owner gave it.
            encoding: of a text, as a person set it.
            language: of the workspace (ISO 639-1), where it is known.

        Raises:
            Unreadable: with the reason; `retryable` where time or the machine was at fault.
        """
        try:
            size = path.stat().st_size
            if size > self._read.max_file_bytes:
                raise Unreadable(FailureReason.TOO_LARGE, f"{size} bytes, more than {self._read.max_file_bytes}")
            file_hash = hash_file(path)
        except OSError as error:
            raise _unreachable_file(error) from error
        kind, pages = self._call_child("survey", path, filename, encoding, language, seconds=self._read.open_seconds)
        if pages > self._read.max_pages:
            raise Unreadable(
                FailureReason.TOO_LARGE,
                f"{pages} pages, more than {self._read.max_pages}; divide the file, or raise read.max_pages "
                "(AOS_READ_MAX_PAGES)",
            )
        return FileSurvey(kind, file_hash, size, pages)

    def unpack(
        self, path: Path, kind: Kind, folder: Path | None, *, encoding: str | None = None, language: str | None = None
    ) -> UnpackedMembers:
        """Members of a container, their bytes in files of a folder, which is emptied before.

        Without a folder nothing is unpacked, and the caveats say so. Members that could not be looked at are a caveat.
        """
        seconds, done = self._read.open_seconds, False
        try:
            found: UnpackedMembers = self._call_child("unpack", path, kind, folder, encoding, language, seconds=seconds)
            done = True
        except Unreadable as error:
            if self._paced and error.reason is FailureReason.TIMEOUT:
                raise  # it goes on elsewhere
            return failed_unpacking(kind, error)
        finally:
            if folder is not None and not done:  # half of it would only take room, which may be what was missing
                shutil.rmtree(folder, ignore_errors=True)
        return found

    def read(
        self,
        path: Path,
        kind: Kind,
        numbers: Sequence[int],
        *,
        encoding: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        """The pages with these 1-based numbers, one at a time; a page that cannot be read carries its failure.

        Encoding and language are those of the survey.
        """
        for number in numbers:
            yield self._read_page(path, kind, number, encoding, language)

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        """A PNG of one page.

        Raises Unreadable: UNSUPPORTED for formats without pages of their own, else why it cannot be drawn.
        """
        data: bytes = self._call_child("picture", path, kind, number, dpi, seconds=self._read.page_seconds)
        return data

    def close(self) -> None:
        """End the child and everything it has started."""
        self._guard.close()

    def __enter__(self) -> Self:
        """Nothing is started before the first call."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_page(self, path: Path, kind: Kind, number: int, encoding: str | None, language: str | None) -> Page:
        started = time.monotonic()
        try:
            told = (encoding, language, self._languages, self._strategy)
            page: Page = self._call_child("page", path, kind, number, *told, seconds=self._read.page_seconds)
        except Unreadable as error:
            page = Page(number, "", failure=error.as_failure(STAGE))
        return page if page.ms else replace(page, ms=round((time.monotonic() - started) * 1000))

    def _call_child(self, method: str, *arguments: object, seconds: float) -> Any:
        """Call the child; its end is a reason too. One that was killed from outside, or whose child had no room left,
        did nothing wrong: once more."""
        call = functools.partial(
            self._guard.call, method, *arguments, seconds=seconds * self._patience, cpu_seconds=self._read.cpu_seconds
        )
        try:
            try:
                return call()
            except ChildDied as death:
                # Files before this one may have left little of the memory that it may have.
                crowded = death.starved and not death.fresh
                if not crowded and (death.cause or death.code not in _KILLED_FROM_OUTSIDE):
                    raise
                return call()
        except TookTooMuch as error:  # whenever it is tried
            # In the small lane it goes on elsewhere: there is nothing to raise.
            advice = "" if self._paced else "; raise read.cpu_seconds (AOS_READ_CPU_SECONDS)"
            raise Unreadable(FailureReason.TIMEOUT, f"{error}{advice}") from error
        except CallTimeout as error:
            raise Unreadable(FailureReason.TIMEOUT, str(error), retryable=True) from error
        except ChildDied as error:
            raise crash_reason(error, self._read.memory_bytes) from error


def make_extraction_worker(
    read: ReadSettings,
    ocr: OcrSettings,
    make_engine: Callable[[OcrSettings], PageImageReader] | None,
    priority: ProcessPriority = ProcessPriority.NORMAL,
) -> object:
    """In the child: the parsers are imported here and not in the parent."""
    lower_process_priority(priority)
    from pipelines.documents.extract.extraction_worker import ExtractionWorker

    return ExtractionWorker(read, ocr, make_engine or _load_page_reader)


def _load_page_reader(ocr: OcrSettings) -> PageImageReader:
    """The OCR cascade, imported at the first picture: it is half of what an idle child would hold."""
    from pipelines.documents.ocr.languages.auto_reading import build_page_reader

    return build_page_reader(ocr)


def extraction_fingerprint(read: ReadSettings, ocr: OcrSettings) -> str:
    """Changes when the same bytes could give another text: code, library versions, settings that matter, OCR."""
    from pipelines.documents.ocr import cascade

    versions = [(name, version(name)) for name in _LIBRARIES]
    limits = read.min_useful_text, read.part_chars
    return document.fingerprint_parts(STAGE, EXTRACTION, versions, *limits, cascade.ocr_fingerprint(ocr))


def fingerprint_with(made: str, encoding: str | None) -> str:
    """That of a page of a text whose encoding a person set: another encoding is another reading."""
    return made if encoding is None else document.fingerprint_parts(made, encoding)


def _unreachable_file(error: OSError) -> Unreadable:
    """A file that is gone has changed since it was listed, or its mount is away; anything else may pass, too."""
    if isinstance(error, FileNotFoundError):
        return Unreadable(FailureReason.CHANGED, "the file is gone", retryable=True)
    return Unreadable(FailureReason.CORRUPT, f"the file cannot be opened: {error.strerror}", retryable=True)


def crash_reason(error: ChildDied, memory_bytes: int) -> Unreadable:
    """Reason for which a parser's process ended: a defect that this file found in it, or want of memory."""
    gone = ("FileNotFoundError", "IsADirectoryError")
    if error.cause.startswith(gone):
        return Unreadable(FailureReason.CHANGED, "the file is gone", retryable=True)
    if error.starved:
        return Unreadable(
            FailureReason.BOMB,
            f"it needs more memory than one file may have, {memory_bytes >> 20} MiB; raise read.memory_bytes "
            "(AOS_READ_MEMORY_BYTES)",
        )
    return Unreadable(
        FailureReason.CRASHED, error.cause or f"the reading process ended with {error.code}", retryable=True
    )
