"""The process above the supervisor: begins it anew where it was killed, and loads nothing but that."""

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

AGAIN_SECONDS = 1.0  # before a supervisor that was killed is begun anew


def restart_when_killed(work: Callable[[], int]) -> int:
    """Do the work in a child, and again in another one where that was killed; its exit status.

    Whoever watches over everything else is watched over by this: it does nothing but wait. A SIGTERM that it gets
    itself goes on to the child, which is then the last one.
    """
    handed_on = threading.Event()
    while True:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # of a child before this one; it has its own in a moment
            os._exit(work())
        hand = _passing_on(child, handed_on)
        signal.signal(signal.SIGTERM, hand)
        if handed_on.is_set():  # between the one child and the other
            hand(signal.SIGTERM, None)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) or handed_on.is_set():
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1
        line = f"the supervisor was ended by signal {os.WTERMSIG(status)}: it is begun anew"
        with suppress(OSError):  # of a full disk
            print(time.strftime("%Y-%m-%dT%H:%M:%S"), line, flush=True)
        time.sleep(AGAIN_SECONDS)
        if handed_on.is_set():
            return 1


def _passing_on(child: int, handed_on: threading.Event) -> Callable[[int, FrameType | None], None]:
    def hand(number: int, frame: FrameType | None) -> None:
        handed_on.set()
        with suppress(ProcessLookupError):
            os.kill(child, number)

    return hand


def main() -> None:
    """Be the daemon: `python -m cluster.watch.restarting cluster.supervisor`, whose `main` is the work of the child.

    Here its 45 MB would be held twice.
    """
    os.umask(0o077)
    name = sys.argv[1]
    sys.exit(restart_when_killed(lambda: int(importlib.import_module(name).main())))


if __name__ == "__main__":
    main()
