"""Workers of Ray that were stopped before they opened a socket on which they could be asked."""

from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

# What command lines of a raylet's workers have, with a title and before. Its agents are none: it ends with any of them.
TITLED, UNTITLED = "ray::", ("default_worker.py", "setup_worker.py")
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")


class StoppedWorkers:
    """Looks at the state of a raylet's own children.

    A worker starts for seconds before it can be asked (`answer_liveness`), and Ray waits for it as long as it takes.
    A stopped one (SIGSTOP, state T of proc(5)) does nothing until somebody wakes it; in a debugger it is in state t.
    """

    def __init__(self) -> None:
        """Nobody was seen stopped."""
        self._before = set[psutil.Process]()

    def look(self, raylet: int, answering: Container[int]) -> set[psutil.Process]:
        """Those of the process `raylet` that are stopped now and were at the look before.

        Who is `answering` at a socket, or has a judge elsewhere, is left out.
        """
        stopped = {one for pid in child_pids(raylet) if pid not in answering for one in _stopped_worker(pid)}
        still, self._before = stopped & self._before, stopped
        return still


def child_pids(pid: int) -> Iterator[int]:
    """Of whatever thread began them: a few files, where psutil would read those of every process (proc_pid_task(5))."""
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # threads end
            yield from map(int, thread.read_text().split())


def _stopped_worker(pid: int) -> Iterator[psutil.Process]:
    with suppress(psutil.Error):  # it has ended
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_STOPPED:
            words = " ".join(process.cmdline())
            if is_worker(words):
                yield process


def is_worker(command: str) -> bool:
    """True of the command line of a raylet's worker, whether or not it has a title yet."""
    if command.startswith(AGENTS):
        return False
    return command.startswith(TITLED) or any(name in command for name in UNTITLED)
