"""The suite's own runner ends a run that does not end by itself."""

import subprocess
import sys
import time

from tests import suite

WAITING = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
print("here", flush=True)
time.sleep(60)
"""


def test_a_run_that_does_not_end_is_broken_off_and_says_where_it_was() -> None:
    waiting = [sys.executable, "-c", WAITING]
    with subprocess.Popen(waiting, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        assert run.stdout is not None and run.stdout.readline() == b"here\n"
        assert suite.awaited(run, time.monotonic()) == suite.BROKEN_OFF
        assert b"KeyboardInterrupt" in run.stdout.read()
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as run:
        assert suite.awaited(run, time.monotonic() + 60) == 3
