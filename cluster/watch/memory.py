"""Memory that runs out: bulk readers are ended first, the largest before the others, and nobody else by us."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

GIB = 2**30
REST_SECONDS = 5.0  # after an end, until its memory is given back
SAY_SECONDS = 60.0
CGROUP = Path("/sys/fs/cgroup")
# Actors that read and index in bulk, by their titles: what they have in hand is done again, and they come back.
TITLES = ("ray::MapWorker(", "ray::_Index")  # the latter indexes beside those of a Dataset
READERS = (*(f"MapWorker(MapBatches({one}))" for one in ("_Read", "_Survey", "_Index")), "ray::_Index")


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory in use, by whomever, and in total; bytes."""

    used: int
    total: int

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.used / self.total if self.total else 0.0


def use_now(cgroup: Path = CGROUP) -> MemoryUse:
    """Of the machine, or of the container where that has less left (cgroup v2)."""
    machine = psutil.virtual_memory()
    found = MemoryUse(machine.total - machine.available, machine.total)
    with suppress(OSError, ValueError):  # no limit, or no such file
        limit, current = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        held = current - _inactive_file_bytes(cgroup)
        if limit < found.total and held / limit > found.share:
            return MemoryUse(held, limit)
    return found


def _inactive_file_bytes(cgroup: Path) -> int:
    """Cached files, which the kernel gives away before it ends anybody."""
    for line in (cgroup / "memory.stat").read_text().splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


class MemoryWatch:
    """Ends readers, one after the other, while more than a share of the memory is used."""

    def __init__(
        self,
        high: float,
        processes: Callable[[], Iterable[psutil.Process]],
        report: Callable[[str], None],
        clock: Callable[[], float],
        use: Callable[[], MemoryUse] = use_now,
    ) -> None:
        """`high` is the share, 1 for none; `processes` are those of our Ray, asked only where it is exceeded."""
        self._high, self._processes, self._report, self._clock, self._use = high, processes, report, clock, use
        self._rests_until = self._said = float("-inf")

    def look(self) -> int | None:
        """End a reader where memory runs out, and say so; its process."""
        use, now = self._use(), self._clock()
        if use.share < self._high or now < self._rests_until:
            return None
        what = f"memory: {use.share:.0%} of {use.total / GIB:.1f} GiB is in use, more than {self._high:.0%}"
        sized = sorted(_reader_sizes(self._processes()), key=lambda found: found[0])
        if not sized:
            if now - self._said >= SAY_SECONDS:
                self._said = now
                self._report(f"{what}; no reader works that could be ended, and nobody else is")
            return None
        size, victim = sized[-1]
        self._rests_until = now + REST_SECONDS
        with suppress(psutil.NoSuchProcess):
            family = victim.children(recursive=True)
            victim.kill()
            for child in family:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        self._report(
            f"{what}; ended the reader {victim.pid}, which had {size / 2**20:.0f} MiB: its pages are read again"
        )
        return victim.pid


def _reader_sizes(processes: Iterable[psutil.Process]) -> Iterable[tuple[int, psutil.Process]]:
    """Readers with the memory that they and what they started have for themselves."""
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if any(reader in " ".join(process.cmdline()) for reader in READERS):
                family = [process, *process.children(recursive=True)]
                yield sum(one.memory_info().rss for one in family if one.is_running()), process
