"""CPU pressure: the share of a machine's time that is left to work that stands behind everything else."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

PROC = Path("/proc")
LOOK_SECONDS = 1.0
SURE_SECONDS = 4.0  # somebody who asks a question or two leaves less for a second
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds of all cores since the machine began: in all, of nobody, and of processes of the idle class."""

    total: float
    idle: float
    behind: float


def times_now() -> CpuTimes:
    """Of this machine."""
    cores = psutil.cpu_times()
    idle = cores.idle + getattr(cores, "iowait", 0.0)
    total = sum(cores[:8])  # the rest, of guests, is counted in these already
    behind = sum(_idle_class_seconds(int(place.name)) for place in PROC.iterdir() if place.name.isdigit())
    return CpuTimes(total, idle, behind)


def left_between(before: CpuTimes, after: CpuTimes) -> float:
    """The share of the machine, 0 to 1, that was idle or went to the idle class: what it may have had."""
    took = after.total - before.total
    if took <= 0:
        return 1.0
    # A process that ended takes its time with it: that is no negative share.
    behind = max(0.0, after.behind - before.behind)
    return min(1.0, max(0.0, (after.idle - before.idle + behind) / took))


def _idle_class_seconds(pid: int) -> float:
    try:
        if os.sched_getscheduler(pid) != os.SCHED_IDLE:
            return 0.0
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


class CrowdWatch:
    """Looks, time and again, whether others leave less than a share of the machine to bulk work."""

    def __init__(
        self, share: float, times: Callable[[], CpuTimes] = times_now, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """`share` is 0 to 1; nothing is looked at yet."""
        self.share, self._times, self._sleep = share, times, sleep
        self.left = 1.0

    @property
    def is_crowded(self) -> bool:
        """At the last look."""
        return self.left < self.share

    def look(self) -> bool:
        """Measure; True where so little is left now. It blocks for a second, and longer before it believes that."""
        was = self.is_crowded
        self.left = self._left_within(LOOK_SECONDS)
        if self.is_crowded and not was:
            self.left = self._left_within(SURE_SECONDS)
        return self.is_crowded

    def _left_within(self, seconds: float) -> float:
        before = self._times()
        self._sleep(seconds)
        return left_between(before, self._times())
