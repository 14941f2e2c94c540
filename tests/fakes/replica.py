"""A process that looks like a replica of one state directory's Ray, and does nothing."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from cluster import connect

REPLICA = "import sys, time; held = open(sys.argv[1], 'w'); print('up', flush=True); time.sleep(600)"


@contextmanager
def replica(state: Path, title: str = "ray::ServeReplica:gateway:Gateway") -> Iterator[psutil.Process]:
    """A process by Ray's title, with a log in Ray's folder of this state directory."""
    place = connect.ray_folder(state)
    place.mkdir(parents=True, exist_ok=True)
    words = [title, "-c", REPLICA, str(place / f"{time.monotonic_ns()}.log")]
    started = subprocess.Popen(words, executable=sys.executable, stdout=subprocess.PIPE)
    try:
        assert started.stdout is not None and started.stdout.readline() == b"up\n"
        yield psutil.Process(started.pid)
    finally:
        started.kill()
        started.wait()
