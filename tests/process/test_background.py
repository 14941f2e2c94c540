"""Stepping back: a process is in the idle class, its session last; a thread takes nobody along."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GROUP = Path("/proc/self/autogroup")
IDLE, OTHER = os.SCHED_IDLE, os.SCHED_OTHER
TOLD = """
import os, threading
from cluster.basics.priority import {what}
def mine():
    print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
def work():
    {what}()
    mine()
if {apart}:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
else:
    work()
mine()
print((open({group!r}).read().split() or [0])[-1] if os.path.exists({group!r}) else 0)
"""


def told(what: str, *, apart: bool = False, leads: bool = True) -> list[list[int]]:
    """Class and niceness of the thread that stepped back, those of its process afterwards, its session's niceness."""
    script = TOLD.format(what=what, apart=apart, group=str(GROUP))
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=leads,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def ours() -> int:
    """The niceness of this session."""
    return int((GROUP.read_text().split() or [0])[-1]) if GROUP.exists() else 0  # empty: it has no group of its own


def test_a_process_that_leads_its_session_takes_it_along() -> None:
    (own, _), (process, _), (group,) = told("lower_process_priority")
    assert own == process == IDLE and group == (19 if GROUP.exists() else 0)


@pytest.mark.parametrize(("apart", "leads"), [(True, True), (False, False)])
def test_a_thread_or_a_process_that_leads_nobody_takes_nobody_along(apart: bool, leads: bool) -> None:
    (own, _), (process, _), (group,) = told("lower_process_priority", apart=apart, leads=leads)
    assert own == IDLE and process == (OTHER if apart else IDLE) and group == (0 if leads else ours())


def test_a_thread_that_gives_way_is_not_in_the_idle_class() -> None:
    assert told("lower_thread_priority", apart=True)[:2] == [[OTHER, 19], [OTHER, os.getpriority(os.PRIO_PROCESS, 0)]]
