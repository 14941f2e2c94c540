"""Room on a disk: how much of it stays free, and which errors of whatever library mean that there was none left."""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.errors import DiskFull

GIB = 2**30
FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """Bytes that may still be written, and those that there are in all."""

    free: int
    total: int


def usage_of(path: Path) -> DiskUsage:
    """Of the disk that holds `path`, or will: of its nearest folder that is there."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    found = shutil.disk_usage(there)
    return DiskUsage(found.free, found.total)


@dataclass(frozen=True, slots=True)
class DiskRoom:
    """A disk of which some stays free."""

    path: Path  # what is stored below
    least_bytes: int = 0  # this or `least_percent`, the larger of the two, has to stay free
    least_percent: float = 0.0
    settings: str = "disk.free_bytes (AOS_DISK_FREE_BYTES)"  # what to change, for whoever is refused
    usage: Callable[[Path], DiskUsage] = usage_of  # tells how full the disk is

    def missing(self) -> DiskFull | None:
        """The error that refuses a write for want of free space; None where there is room."""
        now = self.usage(self.path)
        least = max(self.least_bytes, round(now.total * self.least_percent / 100))
        if now.free >= least:
            return None
        free, total, floor = map(_format_size, (now.free, now.total, least))
        detail = f"{free} of {total} are free at {self.path}; {floor} have to stay free"
        fix = f"Free some space there, move it to a larger disk (AOS_STATE_DIR), or lower {self.settings}."
        return DiskFull(detail, fix=fix)

    def require(self) -> None:
        """Raises DiskFull where less is free than has to stay so."""
        if (why := self.missing()) is not None:
            raise why

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Whatever is written inside of this and does not fit raises DiskFull, with how much is free here."""
        try:
            yield
        except OSError as error:
            if not means_full(error):
                raise
            raise full_at(self.path, self.usage) from error


def means_full(error: BaseException | None) -> bool:
    """True where it, or its cause, says that a disk has no room; libraries wrap what the system told them."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in FULL):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def full_at(path: Path | None = None, usage: Callable[[Path], DiskUsage] = usage_of) -> DiskFull:
    """The DiskFull error for one that `means_full`; without a path it was about temporary files."""
    place = path or Path(tempfile.gettempdir())
    now, moved = usage(place), "AOS_STATE_DIR" if path else "TMPDIR"
    detail = f"{_format_size(now.free)} of {_format_size(now.total)} are free at {place}, and no more could be written"
    return DiskFull(detail, fix=f"Free some space there, or move it to a larger disk ({moved}).")


def _format_size(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / 2**20:.1f} MiB"
