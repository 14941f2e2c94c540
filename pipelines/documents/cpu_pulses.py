"""Processes that run in short pulses: they have a share of a core however busy it is, and keep nobody waiting for long.

A class of scheduling cannot do that: in the idle class they would have nothing on a machine that is never idle, and no
process comes back from there without privileges; with a weight of their own they would run for whole slices of some
milliseconds, again and again on the way of one question.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PULSE_SECONDS = 0.005
GENTLE_SECONDS = 2.0  # most pages cost less, their OCR counted
_TICKS = os.sysconf("SC_CLK_TCK")


class SharedPace:
    """Paces calls that run beside each other in guarded children: what is costly gives way to what is not.

    A call that has cost more than `GENTLE_SECONDS` of CPU runs in pulses while others run, so that all the costly ones
    together have half of the machine at most. Where every slot is taken, one that has cost `hurried_seconds` ends.
    """

    def __init__(self, slots: int, cores: int, hurried_seconds: float) -> None:
        """`slots`: calls that can run at once."""
        self._slots, self._cores, self._hurried = slots, cores, hurried_seconds
        self._running = 0
        self._counting = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Around a call."""
        with self._counting:
            self._running += 1
        try:
            yield
        finally:
            with self._counting:
                self._running -= 1

    def most_seconds(self) -> float:
        """CPU that a call may cost now."""
        return self._hurried if self._running >= self._slots else math.inf

    def share(self, cost: float) -> float:
        """Share of a core that a call may have now which has cost so many seconds of CPU."""
        alone = self._running < 2
        return 1.0 if alone or cost < GENTLE_SECONDS else min(1.0, self._cores / (2 * self._running))


def pulsed(calls: "Connection[Any, Any]", pid: int, share: float, seconds: float) -> bool:
    """True if an answer came within so many seconds, in which a process and its helpers had a share of a core."""
    if share >= 1:
        return calls.poll(max(0.0, seconds))
    rest, end = PULSE_SECONDS * (1 - share) / share, time.monotonic() + seconds
    processes = tuple(tree(pid))  # those that begin in between are stopped from the next look on
    try:
        while not calls.poll(PULSE_SECONDS):
            if time.monotonic() >= end:
                return False
            _signal(processes, signal.SIGSTOP)
            time.sleep(rest)
            _signal(processes, signal.SIGCONT)
        return True
    finally:
        _signal(processes, signal.SIGCONT)


def tree(pid: int) -> Iterator[int]:
    """A process and all that it started, whose parents still live."""
    yield pid
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in thread.read_text().split():
                yield from tree(int(child))


def cpu_seconds_of(pid: int, helpers: bool) -> float:
    """Of a process, from its start, with what it has waited for: 0 where it is gone."""
    found = 0.0
    for one in tree(pid) if helpers else (pid,):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8", errors="replace")
            found += sum(map(int, fields.rpartition(")")[2].split()[11:15])) / _TICKS
    return found


def _signal(processes: Sequence[int], number: signal.Signals) -> None:
    for one in processes:
        with suppress(ProcessLookupError):
            os.kill(one, number)
