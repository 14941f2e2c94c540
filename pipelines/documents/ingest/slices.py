"""Runs of pages of one file that travel and are read together."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from cluster.basics.disk import means_full
from pipelines.documents.document import FailureReason, Page, Unreadable, VersionId, page_id
from pipelines.documents.extract.containers.unpacked import UnpackedMembers
from pipelines.documents.extract.reader import FileSurvey
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.blobs import path_of_reference


@dataclass(frozen=True, slots=True)
class PageSlice:
    """Pages of one version, and what its file looked like when it was surveyed."""

    version: VersionId  # the version they belong to
    path: str  # what leads a node to the file: a path, or what its blob store knows it by
    kind: str  # its format
    file_hash: str  # SHA-256 in hex
    file_size: int  # bytes
    mtime_ns: int  # modification time; a file with another time or size is hashed again before it is read
    numbers: tuple[int, ...]  # 1-based, ascending
    encoding: str | None = None  # of a text, as a person set it
    language: str | None = None  # of the workspace (ISO 639-1), where it is known
    ocr: tuple[str, ...] = ()  # the languages that scans are in, where the workspace or a person says so
    strategy: str | None = None  # of OCR, where a person says so


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that was read, with the unit it settles."""

    version: VersionId
    page: Page

    @property
    def key(self) -> str:
        """The key of its unit."""
        return page_id(self.version, self.page.number)


class FileAccess(Protocol):
    """Port to files wherever they are kept: pipelines.documents.store.blobs.BlobStore."""

    def open_reference(self, reference: str) -> AbstractContextManager[Path]:
        """A file to read from, for as long as the block runs. Raises OSError, Unreadable: it may not be read."""

    def hand_over(self, staging: Path, staged: str) -> str:
        """Bring an unpacked file to where other nodes have it, too; what leads there."""


class SharedFiles:
    """Files that every node sees at their paths, wherever those lead: what others may write to is for a blob store."""

    @contextmanager
    def open_reference(self, reference: str) -> Iterator[Path]:
        """The file itself."""
        yield path_of_reference(reference)

    def hand_over(self, staging: Path, staged: str) -> str:
        """It stays."""
        return staged


SHARED_FILES = SharedFiles()


class FileReader(Protocol):
    """Surveys files and reads their pages; a page that cannot be read is a page with a failure."""

    def survey(
        self, path: Path, filename: str | None = None, *, encoding: str | None = None, language: str | None = None
    ) -> FileSurvey:
        """The facts of a file; raises Unreadable with the reason."""

    def unpack(
        self, path: Path, kind: Kind, folder: Path | None, *, encoding: str | None = None, language: str | None = None
    ) -> UnpackedMembers:
        """Members of a container, their bytes in files of a folder; without one, only what is to be said of them."""

    def use(self, languages: tuple[str, ...], strategy: str | None = None) -> None:
        """Read scans in these languages by this strategy from now on; as the settings say where there are none."""

    def read(
        self,
        path: Path,
        kind: Kind,
        numbers: Sequence[int],
        *,
        encoding: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        """Lazily, in the order of `numbers`."""


def cut_slices(
    pages: Sequence[tuple[Mapping[str, Any], int]], path: Mapping[str, str], at_most: int
) -> list[PageSlice]:
    """Group pages of a version that are read alike, in order, into slices of at most that many.

    All of a slice is read again after a kill.

    Args:
        pages: a read unit's payload and its page number.
        path: location to what leads a node to the file.
    """
    grouped: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], int]]] = {}
    for payload, number in pages:
        alike = payload["version"], tuple(payload.get("ocr") or ()), payload.get("strategy")
        grouped.setdefault(alike, []).append((payload, number))
    slices = []
    for (version, ocr, strategy), members in grouped.items():
        first, numbers = members[0][0], sorted(number for _, number in members)
        facts = {name: first[name] for name in ("kind", "file_hash", "file_size", "mtime_ns")}
        facts |= {"encoding": first.get("encoding"), "language": first.get("language")}
        facts |= {"ocr": ocr, "strategy": strategy}
        whole = PageSlice(VersionId(version), path[first["location"]], numbers=(), **facts)
        some = (tuple(numbers[start : start + at_most]) for start in range(0, len(numbers), at_most))
        slices += [replace(whole, numbers=of) for of in some]
    return slices


def read_slice(reader: FileReader, piece: PageSlice, files: FileAccess = SHARED_FILES) -> Iterator[ReadPage]:
    """Read the pages of a slice; if the file is not the one that was surveyed, each page says so."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(files.open_reference(piece.path))
        except Unreadable as error:
            yield from _changed_pages(piece, error)
            return
        except OSError as error:
            if means_full(error):
                raise
            yield from _changed_pages(piece, _unopened(error))
            return
        if (changed := _change_of(path, piece)) is not None:
            yield from _changed_pages(piece, changed)
            return
        yield from _read_file(reader, piece, path)


def _changed_pages(piece: PageSlice, why: Unreadable) -> Iterator[ReadPage]:
    failure = why.as_failure("read")
    for number in piece.numbers:
        yield ReadPage(piece.version, Page(number, "", engine="none", failure=failure))


def _read_file(reader: FileReader, piece: PageSlice, path: Path) -> Iterator[ReadPage]:
    reader.use(piece.ocr, piece.strategy)
    told = {"encoding": piece.encoding, "language": piece.language}
    for page in reader.read(path, Kind(piece.kind), piece.numbers, **told):
        yield ReadPage(piece.version, page)


def _unopened(error: OSError) -> Unreadable:
    """The share that it lies on may be there again soon."""
    why = f"the file cannot be opened any more: {error.strerror}"
    return Unreadable(FailureReason.CHANGED, why, retryable=True)


def _change_of(path: Path, piece: PageSlice) -> Unreadable | None:
    try:
        facts = path.stat()
        same = (facts.st_size, facts.st_mtime_ns) == (piece.file_size, piece.mtime_ns)
        if same or hash_file(path) == piece.file_hash:
            return None
    except OSError as error:
        return _unopened(error)
    return Unreadable(FailureReason.CHANGED, "the file is not the one that was surveyed; ingest it again")
