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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PULSE_SECONDS = 0.005
GENTLE_SECONDS = 1.0  # what has cost more gives way: a page of text costs a tenth of it
_TICKS = os.sysconf("SC_CLK_TCK")


class SharedPace:
    """Paces calls that run beside each other in guarded children: what is costly gives way to what is not.

    A call is costly once it has cost `GENTLE_SECONDS` of CPU. While others run that are not, all the costly ones
    together have half of the machine at most, in pulses. Where all are costly nobody has to give way, but tenants to
    each other: each has the same part of the machine, and who runs the fewest calls runs them without pulses. Where
    every slot is taken and somebody waits, the costliest ends once it has cost `hurried_seconds`.

    Attributes:
        others_wait: whether somebody waits for a slot; whoever looks at the queue keeps it true.
    """

    def __init__(self, slots: int, cores: int, hurried_seconds: float) -> None:
        """`slots`: calls that can run at once."""
        self._slots, self._cores, self._hurried = slots, cores, hurried_seconds
        self._costs: dict[PacedSlot, float] = {}
        self._counting = threading.Lock()
        self.others_wait = False

    def slot(self) -> "PacedSlot":
        """One of the slots, for one child."""
        return PacedSlot(self)

    @property
    def is_full(self) -> bool:
        """True where every slot is taken."""
        return len(self._costs) >= self._slots

    @contextmanager
    def _running(self, slot: "PacedSlot") -> Iterator[None]:
        with self._counting:
            self._costs[slot] = 0.0
        try:
            yield
        finally:
            with self._counting:
                self._costs.pop(slot, None)

    def _limits(self, slot: "PacedSlot", cost: float) -> tuple[float, float]:
        with self._counting:
            running, costliest = len(self._costs), max(self._costs.values(), default=0.0)
            self._costs[slot] = cost
            share = self._share_of(slot, cost)
            hurried = self.others_wait and running >= self._slots and cost >= max(costliest, self._hurried)
            if hurried:  # its slot counts as free from now on: no other one has to end for who waits
                del self._costs[slot]
        return (self._hurried if hurried else math.inf), share

    def _share_of(self, slot: "PacedSlot", cost: float) -> float:
        if cost < GENTLE_SECONDS or len(self._costs) < 2:
            return 1.0
        costly = Counter(one.tenant for one, other in self._costs.items() if other >= GENTLE_SECONDS)
        own, room = costly[slot.tenant], float(self._cores)
        if costly.total() < len(self._costs):
            room /= 2
        elif own == min(costly.values()):
            return 1.0
        return min(1.0, room / len(costly) / own)


class PacedSlot:
    """A slot of a pace: the calls of one child, one at a time, for whichever tenant it works now.

    Attributes:
        tenant: whose calls they are; whoever takes the next piece of work says so.
    """

    def __init__(self, pace: SharedPace) -> None:
        self._pace, self.tenant = pace, ""

    def running(self) -> AbstractContextManager[None]:
        """Around a call."""
        return self._pace._running(self)

    def limits(self, cost: float) -> tuple[float, float]:
        """CPU seconds that the call may cost, and its share of a core now, after it has cost so much."""
        return self._pace._limits(self, cost)


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


def own_cpu_seconds() -> float:
    """Of this process and all that it started: a clock that stands while they are stopped, or wait for a core."""
    return cpu_seconds_of(os.getpid(), helpers=True)


def _signal(processes: Sequence[int], number: signal.Signals) -> None:
    for one in processes:
        with suppress(ProcessLookupError, PermissionError):  # it has ended, and its number is another's by now
            os.kill(one, number)
