"""Servers killed with all the processes that they have begun."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import psutil

from cluster.state.db import embedded


def kill_servers(state: Path, *programs: str) -> Sequence[str]:
    """`kill -9` the embedded servers of a state directory, or those named (`postgres`, `valkey`); tells which."""
    family: list[psutil.Process] = []
    killed = []
    for process in embedded.server_processes(state):
        name = process.name()
        if not programs or name.startswith(programs):
            killed.append(name)
            family += [process, *process.children(recursive=True)]
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):  # some end with the one before
            process.kill()
    psutil.wait_procs(family, timeout=20)
    return killed
