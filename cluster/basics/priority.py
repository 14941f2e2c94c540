"""Work that nobody waits for, behind everything else on the machine."""

import os
import threading
import time
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

AUTOGROUP = Path("/proc/self/autogroup")
OOM_SCORE = Path("/proc/self/oom_score_adj")
MOST_OOM_SCORE = 1000
LAST = 19
TRIES = 5
BETWEEN_SECONDS = 0.1  # the kernel takes one change in so long from whoever is not root


class ProcessPriority(StrEnum):
    """The CPU priority of work beside other work on the machine."""

    NORMAL = "normal"
    LOW = "low"  # the smallest share of a core that is wanted by others, but never none
    IDLE = "idle"  # only while no other wants the core


def lower_process_priority(priority: ProcessPriority = ProcessPriority.IDLE) -> None:
    """Let this process, its threads to come and the processes it starts stand behind the others of the machine.

    For work that nobody waits for, a higher niceness would not do: its share of a core is smaller, but a waking process
    of a lower one still waits for the end of its slice, again and again on the way of one question. So that is IDLE.

    Linux shares cores out to sessions first (sched(7), autogroups): a process that leads one gives up its share, too,
    or all that is idle in it would weigh as much as a whole other session.
    """
    if priority is ProcessPriority.NORMAL:
        return
    try:
        if priority is ProcessPriority.IDLE:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        else:
            os.nice(LAST)
    except OSError:  # a sandbox that knows no such policy
        os.nice(LAST)
    if os.getsid(0) == os.getpid() == threading.get_native_id():
        _last_of_sessions()


def lower_thread_priority() -> None:
    """Let the calling thread, and those that it starts, go behind the others of its process.

    Not in the idle class: it would be stopped for seconds with the interpreter's lock in its hand.
    """
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LAST)


def gives_way() -> bool:
    """Whether the calling thread goes behind the others, by `lower_thread_priority`."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == LAST


def end_me_first() -> None:
    """Let the kernel's OOM killer end this process, and those that it starts, before any other."""
    with suppress(OSError):  # a sandbox that shows no /proc
        OOM_SCORE.write_text(str(MOST_OOM_SCORE))


def _last_of_sessions() -> None:
    with suppress(OSError):  # a kernel that has no autogroups, or a sandbox that refuses
        for _ in range(TRIES):
            try:
                AUTOGROUP.write_text(str(LAST))
                return
            except BlockingIOError:
                time.sleep(BETWEEN_SECONDS)
