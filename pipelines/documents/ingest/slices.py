"""Runs of pages of one file that travel and are read together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pipelines.documents.document import Failure, FailureReason, Page, Unreadable, VersionId, page_id
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import Kind


@dataclass(frozen=True, slots=True)
class PageSlice:
    """Pages of one version, and what its file looked like when it was surveyed."""

    version: VersionId  # the version they belong to
    path: str  # where the file is on this node
    kind: str  # its format
    file_hash: str  # SHA-256 in hex
    file_size: int  # bytes
    mtime_ns: int  # modification time; a file with another time or size is hashed again before it is read
    numbers: tuple[int, ...]  # 1-based, ascending
    encoding: str | None = None  # of a text, as a person set it
    language: str | None = None  # of the workspace (ISO 639-1), where it is known
    ocr: tuple[str, ...] = ()  # the languages that scans are in, where the workspace has its own


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that was read, with the unit it settles."""

    version: VersionId
    page: Page

    @property
    def key(self) -> str:
        """The key of its unit."""
        return page_id(self.version, self.page.number)


class PageReader(Protocol):
    """Reads pages of one file; a page that cannot be read is a page with a failure."""

    def use(self, languages: tuple[str, ...]) -> None:
        """Read scans in these languages from now on; in those of the settings where there are none."""
        ...

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
        ...


def cut_slices(
    pages: Sequence[tuple[Mapping[str, Any], int]], path: Mapping[str, str], at_most: int
) -> list[PageSlice]:
    """Group pages of the same version, in order, into slices of at most that many.

    Args:
        pages: a read unit's payload and its page number.
        path: location to local path.
        at_most: pages a slice; all of a slice is read again after a kill.
    """
    grouped: dict[str, list[tuple[Mapping[str, Any], int]]] = {}
    for payload, number in pages:
        grouped.setdefault(payload["version"], []).append((payload, number))
    slices = []
    for version, members in grouped.items():
        first = members[0][0]
        numbers = sorted(number for _, number in members)
        for start in range(0, len(numbers), at_most):
            slices.append(
                PageSlice(
                    version=VersionId(version),
                    path=path[first["location"]],
                    kind=first["kind"],
                    file_hash=first["file_hash"],
                    file_size=first["file_size"],
                    mtime_ns=first["mtime_ns"],
                    numbers=tuple(numbers[start : start + at_most]),
                    encoding=first.get("encoding"),
                    language=first.get("language"),
                    ocr=tuple(first.get("ocr") or ()),
                )
            )
    return slices


def read_slice(reader: PageReader, piece: PageSlice) -> Iterator[ReadPage]:
    """Read the pages of a slice; if the file is not the one that was surveyed, each page says so."""
    path = Path(piece.path)
    failure = _change_failure(path, piece)
    if failure is not None:
        for number in piece.numbers:
            yield ReadPage(piece.version, Page(number, "", engine="none", failure=failure))
        return
    reader.use(piece.ocr)
    told = {"encoding": piece.encoding, "language": piece.language}
    for page in reader.read(path, Kind(piece.kind), piece.numbers, **told):
        yield ReadPage(piece.version, page)


def _change_failure(path: Path, piece: PageSlice) -> Failure | None:
    try:
        facts = path.stat()
        if (facts.st_size, facts.st_mtime_ns) == (piece.file_size, piece.mtime_ns):
            return None
        if hash_file(path) == piece.file_hash:
            return None
    except OSError as error:
        return Unreadable(FailureReason.CHANGED, f"the file cannot be opened any more: {error.strerror}").as_failure(
            "read"
        )
    return Unreadable(FailureReason.CHANGED, "the file is not the one that was surveyed; ingest it again").as_failure(
        "read"
    )
