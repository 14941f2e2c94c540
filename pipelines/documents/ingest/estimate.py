"""Estimate for reading a folder: files and pages by kind, counted in a sample, and time by recent jobs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Final

from pipelines.documents.document import Unreadable
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.sources.files import ScanLimits, iter_files
from pipelines.documents.sources.housekeeping import housekeeping_kind

MOST_FOLDERS: Final = 500


@dataclass(frozen=True, slots=True)
class SampledFile:
    """A file that was looked at: its kind, hash and pages, or the reason why it cannot be read."""

    path: Path
    kind: str
    file_hash: str | None
    pages: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class FolderListing:
    """A folder for choosing: the folders in it by name, and how many files lie in it directly."""

    folders: tuple[str, ...]
    files: int
    more: bool


@dataclass(frozen=True, slots=True)
class ScanEstimate:
    """Estimate of what a scan would find."""

    files: int  # all there are, or that were found
    looked_at: int  # of how many the pages were counted; where that is fewer, the rest is inferred from them
    unchanged: int  # files, inferred alike, whose bytes are known already
    pages: int  # to be read, those of unchanged files not among them
    kinds: Mapping[str, int]  # files by kind, of those looked at
    reasons: Mapping[str, int]  # files that cannot be read by reason, of those looked at
    complete: bool = True  # whether those are all there are

    @property
    def exact(self) -> bool:
        """True if every file was looked at."""
        return self.complete and self.looked_at == self.files


class _WalkStopped(Exception):
    """The walk was long enough."""


def list_files(root: Path, enough: Callable[[], bool], passed: Counter[str] | None = None) -> tuple[list[Path], bool]:
    """The files of a scan, as the scan itself would find them, and whether those are all: the walk ends when it is
    enough, as a folder may hold more than anybody waits for. `passed` counts what a scan passes over, by kind. May take
    seconds: for a thread."""

    def stop_walk() -> None:
        if enough():
            raise _WalkStopped

    found: list[Path] = []
    try:
        found.extend(iter_files(root, ScanLimits(), passed, stop_walk))
    except _WalkStopped:
        return found, False
    return found, True


def sample_files(reader: DocumentReader, paths: Sequence[Path], enough: Callable[[], bool]) -> list[SampledFile]:
    """Survey files until it is enough, spread over the whole list so that what was seen stands for the rest."""
    return [_sample_file(reader, path) for path in takewhile(lambda _: not enough(), spread_evenly(paths))]


def estimate_scan(
    files: int, seen: Sequence[SampledFile], known: Mapping[Path, str | None], complete: bool = True
) -> ScanEstimate:
    """From those looked at to all; `known` are hashes of what is stored by path, `complete` as in Estimate."""
    same = [one for one in seen if one.file_hash is not None and known.get(one.path) == one.file_hash]
    pages = sum(one.pages for one in seen) - sum(one.pages for one in same)
    scale = files / len(seen) if seen else 0.0
    kinds = Counter(one.kind for one in seen if one.reason is None)
    reasons = Counter(one.reason for one in seen if one.reason is not None)
    unchanged, new = round(len(same) * scale), round(pages * scale)
    return ScanEstimate(files, len(seen), unchanged, new, kinds, reasons, complete)


def spread_evenly(paths: Sequence[Path]) -> list[Path]:
    """The same files, so that any first part of them is evenly taken from the whole (van der Corput, base 2)."""
    count = len(paths)
    bits = max(1, (count - 1).bit_length())
    order = (int(f"{n:0{bits}b}"[::-1], 2) for n in range(2**bits))
    return [paths[n] for n in order if n < count]


def list_folder(root: Path) -> FolderListing:
    """List what lies directly in a folder, without what a scan passes over. Raises OSError: it cannot be entered."""
    shown = sorted((one for one in root.iterdir() if housekeeping_kind(one.name) is None), key=lambda one: one.name)
    inside = [one.name for one in shown if _can_see(one.is_dir)]
    files = sum(_can_see(one.is_file) for one in shown)
    return FolderListing(tuple(islice(inside, MOST_FOLDERS)), files, len(inside) > MOST_FOLDERS)


def _can_see(look: Callable[[], bool]) -> bool:
    try:
        return look()
    except OSError:
        return False


def _sample_file(reader: DocumentReader, path: Path) -> SampledFile:
    try:
        found = reader.survey(path, path.name)
    except Unreadable as error:
        return SampledFile(path, "", None, 0, str(error.reason))
    return SampledFile(path, str(found.kind), found.file_hash, found.pages, None)
