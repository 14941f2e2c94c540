"""Processes that run in short pulses: they have a share of a core however busy it is, and keep nobody waiting for long.

A class of scheduling cannot do that: in the idle class they would have nothing on a machine that is never idle, and no
process comes back from there without privileges; with a weight of their own they would run for whole slices of some
milliseconds, again and again on the way of one question.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PULSE_SECONDS = 0.005
_TICKS = os.sysconf("SC_CLK_TCK")


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
