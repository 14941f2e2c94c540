import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from cluster.watch.stopped import StoppedChildren


@contextmanager
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)
    while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
        time.sleep(0.005)


def test_a_child_that_was_stopped_is_found_whenever_it_began_and_until_it_goes_on() -> None:
    watch = StoppedChildren()
    ours = os.getpid()
    with child() as first:
        assert not list(watch.look(ours, ()))
        with child() as second:
            stop(second)
            assert [one.pid for one in watch.look(ours, ())] == [second.pid]
            stop(first)
            assert {one.pid for one in watch.look(ours, ())} == {first.pid, second.pid}
            assert [one.pid for one in watch.look(ours, {str(second.pid)})] == [first.pid], "it has a socket of its own"
        first.send_signal(signal.SIGCONT)
        while psutil.Process(first.pid).status() == psutil.STATUS_STOPPED:
            time.sleep(0.005)
        assert not list(watch.look(ours, ()))


def test_only_children_of_the_raylet_that_runs_are_told_of() -> None:
    watch = StoppedChildren()
    with child() as other:
        stop(other)
        assert not list(watch.look(psutil.Process().ppid(), ()))
        assert [one.pid for one in watch.look(os.getpid(), ())] == [other.pid], "another raylet: all are looked at anew"
