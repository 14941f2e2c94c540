"""Children of a raylet that were stopped before they opened a socket on which they could be asked."""

from collections.abc import Container, Iterator
from contextlib import suppress

import psutil


class StoppedChildren:
    """Looks at a raylet's own children: at the state of each, and for more of them among processes that are new.

    A process of Ray's starts for seconds before it can be asked (`answer_liveness`), and Ray waits for it as long as it
    takes. One that is stopped (SIGSTOP, state T of proc(5)) does nothing until somebody wakes it.
    """

    def __init__(self) -> None:
        """No raylet is known yet."""
        self._raylet = 0
        self._known = set[int]()
        self._children: dict[int, psutil.Process] = {}

    def look(self, raylet: int, answering: Container[str]) -> Iterator[psutil.Process]:
        """Those of the process `raylet` that are stopped now; the numbers of who is `answering` are of those asked."""
        if raylet != self._raylet:
            self._raylet, self._known, self._children = raylet, set(), {}
        running = set(psutil.pids())
        for pid in running - self._known:
            with suppress(psutil.Error):  # it has ended
                process = psutil.Process(pid)
                if process.ppid() == raylet:
                    self._children[pid] = process
        self._known = running
        self._children = {pid: process for pid, process in self._children.items() if pid in running}
        for pid, process in self._children.items():
            if str(pid) not in answering and _is_stopped(process):
                yield process


def _is_stopped(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() == psutil.STATUS_STOPPED
    return False
