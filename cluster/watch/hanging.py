"""Detects hanging processes: silent several times in a row, and not merely short of a core, memory or a disk."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

SILENCES = 2  # in a row
LONGEST = 120.0  # seconds of silence after which it does not matter what keeps it
# States of a thread (proc(5)) that wants to go on and may not: it runs, waits for a core, or for a disk.
STARVED = frozenset("RD")


@dataclass(frozen=True, slots=True)
class SilenceCount:
    """A process's silence: the number of unanswered questions, and since when in seconds of the clock."""

    times: int
    since: float


class SilenceTracker:
    """Counts questions that were not answered, and tells whom to take for hanging."""

    def __init__(
        self, clock: Callable[[], float], starved: Callable[[int], bool] | None = None, silences: int = SILENCES
    ) -> None:
        """`starved` tells whether a process waits for what it is not given; a hang is `silences` in a row."""
        self._clock, self._starved, self._most = clock, starved or is_starved, silences
        self._silent: dict[tuple[str, int], SilenceCount] = {}

    def answered(self, name: str, pid: int = 0) -> None:
        """All is well with it again."""
        self._silent.pop((name, pid), None)

    def hangs(self, name: str, pid: int = 0) -> bool:
        """Count a silence; True where it is to be ended.

        A process that is short of a core or waits for a disk is not: on a busy machine it would be ended again and
        again. One that stays silent for LONGEST is ended nevertheless.
        """
        now = self._clock()
        before = self._silent.get((name, pid), SilenceCount(0, now))
        silence = SilenceCount(before.times + 1, before.since)
        self._silent[name, pid] = silence
        if silence.times < self._most:
            return False
        return now - silence.since >= LONGEST or not (pid and self._starved(pid))


def is_starved(pid: int) -> bool:
    """True where a thread of the process wants to go on, and is not let."""
    with suppress(OSError):
        return any(state in STARVED for state in _thread_states(pid))
    return False


def is_family_starved(pid: int) -> bool:
    """As `is_starved`, of a process and all that it has begun; a stopped one is not, whatever the others do."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        return process.status() != psutil.STATUS_STOPPED and any(is_starved(one.pid) for one in family)
    return False


def _thread_states(pid: int) -> list[str]:
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # threads end
            stat = (thread / "stat").read_text(encoding="utf-8", errors="replace")
            found.append(stat.rpartition(")")[2].split()[0])
    return found
