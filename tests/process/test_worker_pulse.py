"""The main loop of Ray's workers: woken four times a second instead of a hundred, and at once for all else."""

import json
import subprocess
import sys
from typing import Any

# A loop as Boost.Asio has it: its timer is set anew after each of its events, and never read.
LOOP = """
import ctypes, json, os, select, sys, threading, time

class Event(ctypes.Structure):
    _pack_ = 1 if os.uname().machine == "x86_64" else 8
    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))

libc = ctypes.CDLL(None, use_errno=True)
epoll = libc.epoll_create1(0)
timer = libc.timerfd_create(1, 0)
work, worker = os.pipe()
TIMER, WORK = 2**63 + 8, 2**62 + 16  # pointers, as far as the loop's epoll knows
for number, mark, how in ((timer, TIMER, 1), (work, WORK, 1 | 1 << 31)):
    libc.epoll_ctl(epoll, 1, number, ctypes.byref(Event(how, mark)))

def set_timer():
    libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 10_000_000), None)

def run(seconds):
    ticks, works, until = 0, [], time.monotonic() + seconds
    found = (Event * 8)()
    while time.monotonic() < until:
        for one in found[: max(0, libc.epoll_wait(epoll, found, 8, 1000))]:
            if one.data == TIMER:
                ticks += 1
                set_timer()
            else:
                works.append(time.monotonic() - float(os.read(work, 100)))
    return ticks, works

set_timer()
before, _ = run(1)
import cluster.ray_daemons.worker_pulse
run(2)  # until it has found the loop
threading.Timer(1.1, lambda: os.write(worker, str(time.monotonic()).encode())).start()
after, works = run(2)
print(json.dumps({"before": before, "after": after, "works": works}))
"""
OTHER = """
import json, os, select, time
import cluster.ray_daemons.worker_pulse as pulse
from threading import Timer
found = []
Timer(0.5, lambda: found.append(pulse.find_loop_timer())).start()
watching = select.epoll()
watching.register(os.eventfd(0), select.EPOLLIN)
watching.poll(1)
print(json.dumps([found == [None]]))
"""


def ran(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_the_loop_is_woken_four_times_a_second_and_at_once_for_work() -> None:
    told = ran(LOOP)
    assert 50 < told["before"] <= 110, "as Ray has it"
    assert 5 <= told["after"] <= 10
    (waited,) = told["works"]
    assert waited < 0.1


def test_a_main_thread_that_waits_for_something_else_is_let_be() -> None:
    assert ran(OTHER) == [True]
