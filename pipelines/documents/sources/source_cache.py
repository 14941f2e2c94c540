"""A bounded cache of what sources can fetch again: a folder for each source, locked while it is read or written."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipelines.documents.sources.source_port import SourceDependencies

_LOCK: Final = ".lock"


@dataclass(frozen=True, slots=True)
class CachePlace:
    """One source's folder in the cache; `passing`: it goes when the source is closed."""

    folder: Path
    most_bytes: int
    passing: bool = False

    @contextmanager
    def locked(self, *, alone: bool) -> Iterator[Path]:
        """The folder, which nobody else writes meanwhile, or with `alone` uses at all. Waits; processes count too."""
        # Beside the folder, so that it can go and come again while somebody waits. The file itself stays: who removed
        # it would let two in.
        lock = self.folder.with_name(f"{self.folder.name}{_LOCK}")
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            os.utime(self.folder)
            yield self.folder

    def empty(self) -> None:
        """Drop what is in it; for whoever holds it alone."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def trim(self) -> None:
        """Drop the folders of other sources that were used longest ago, until all together keep the bound."""
        if self.passing:
            return
        used = []
        for folder in self.folder.parent.iterdir():
            if folder.is_dir():
                used.append((folder.stat().st_mtime, folder, _bytes_below(folder)))
        total = sum(size for _, _, size in used)
        for _, folder, size in sorted(used):
            if total <= self.most_bytes:
                return
            if folder != self.folder and _drop_unused(folder):
                total -= size

    def close(self) -> None:
        """Drop it where it was for this opening alone."""
        if self.passing:
            shutil.rmtree(self.folder.parent, ignore_errors=True)


def cache_place(dependencies: SourceDependencies, place: str, *parts: str) -> CachePlace:
    """The place of one source: `place` is its tenant and workspace, `parts` tell it from others."""
    name = hashlib.sha256("\0".join((place, *parts)).encode("utf-8", "surrogatepass")).hexdigest()[:40]
    if dependencies.cache is None:
        return CachePlace(
            Path(tempfile.mkdtemp(prefix="aos-source-")) / name, dependencies.bounds.cache_bytes, passing=True
        )
    return CachePlace(dependencies.cache / name, dependencies.bounds.cache_bytes)


def _bytes_below(folder: Path) -> int:
    """Bytes of all files; those that go meanwhile count nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).lstat().st_size
            except FileNotFoundError:
                continue
    return total


def _drop_unused(folder: Path) -> bool:
    """False where somebody uses it."""
    with folder.with_name(f"{folder.name}{_LOCK}").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(folder, ignore_errors=True)
        return True
