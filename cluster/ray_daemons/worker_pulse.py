"""Ray's workers look four times a second whether a signal waits for Python, and not a hundred times.

The hundred are fixed in Ray (`CoreWorker.CheckSignal`, ten milliseconds), and cost half a percent of a core in each of
six processes: a third of what an idle laptop computes. The main thread's loop (Boost.Asio's, over epoll) is woken for
them by a timer's descriptor that it sets anew each time. Here a descriptor that is written to four times a second takes
the timer's place. All else wakes the loop by other descriptors, as quickly as before; where the main thread's epoll
does not look as Asio's does, nothing is changed.
"""

import ctypes
import os
import platform
import re
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PULSE_SECONDS = 0.25
LOOK_SECONDS = 1.0  # until the main thread waits in its loop
LONGEST_NANOSECONDS = 10_000_000  # of Ray's timer
EPOLL, TIMER = "anon_inode:[eventpoll]", "anon_inode:[timerfd]"
WATCHED = re.compile(r"^tfd:\s*(\d+)\s+events:\s*[0-9a-f]+\s+data:\s*([0-9a-f]+)", re.M)
VALUE = re.compile(r"^it_value: \((\d+), (\d+)\)", re.M)
THREAD = "signal-pulse"


class _EpollEvent(ctypes.Structure):
    """`struct epoll_event`, packed on one machine alone."""

    _pack_ = 1 if platform.machine() == "x86_64" else 8
    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))


@dataclass(frozen=True, slots=True)
class LoopTimer:
    """The timer of an Asio loop: the epoll that watches it, its own descriptor, and what the loop knows it by."""

    epoll: int
    descriptor: int
    data: int


def find_loop_timer(me: Path = Path("/proc/self")) -> LoopTimer | None:
    """The timer of the loop in which the main thread waits; None where it does not wait, or for something else."""
    with suppress(OSError, ValueError, IndexError):
        words = (me / "task" / str(os.getpid()) / "syscall").read_text().split()
        epoll = int(words[1], 16)  # the first argument of the call in which it waits
        if str((me / "fd" / str(epoll)).readlink()) != EPOLL:
            return None
        watched = [(int(one), int(data, 16)) for one, data in WATCHED.findall((me / f"fdinfo/{epoll}").read_text())]
        timers = [(one, data) for one, data in watched if str((me / "fd" / str(one)).readlink()) == TIMER]
        if len(timers) != 1:
            return None
        ((descriptor, data),) = timers
        left = VALUE.search((me / f"fdinfo/{descriptor}").read_text())
        if left and int(left[1]) == 0 and 0 < int(left[2]) <= LONGEST_NANOSECONDS:
            return LoopTimer(epoll, descriptor, data)
    return None


def replace_timer(timer: LoopTimer) -> Callable[[], None]:
    """Let the loop be woken by what is returned, and by that alone; its timers are as late as that is called.

    Edge-triggered, as nobody reads what is written: Asio does not read from its timer either. Setting the timer fails
    from now on, which Asio does not look at.
    """
    pulse = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    os.dup2(pulse, timer.descriptor, inheritable=False)  # the timer is closed by that, and no longer watched
    event = _EpollEvent(select.EPOLLIN | select.EPOLLERR | select.EPOLLET, timer.data)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.epoll_ctl(timer.epoll, 1, timer.descriptor, ctypes.byref(event)) != 0:  # 1: EPOLL_CTL_ADD
        raise OSError(ctypes.get_errno(), "epoll_ctl")
    return lambda: os.eventfd_write(pulse, 1)


def beat_forever() -> None:
    """Wait until Ray's loop waits, then wake it so often."""
    while (timer := find_loop_timer()) is None:
        time.sleep(LOOK_SECONDS)
    wake = replace_timer(timer)
    while True:
        time.sleep(PULSE_SECONDS)
        wake()


threading.Thread(target=beat_forever, name=THREAD, daemon=True).start()
