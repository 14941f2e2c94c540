"""A supervisor as far as others see it: a process by its name, which writes how far it is."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROGRAM = """
import json, os, pathlib, sys, time
state, turns = pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])

def write(name, text):  # whole or not at all: who finds an empty file takes the process for ended
    (state / "fresh").write_text(text)
    (state / "fresh").replace(state / name)

for at, (seconds, phase, detail) in enumerate(turns):
    write("supervisor.json", json.dumps({"phase": phase, "detail": detail, "pid": os.getpid(), "restarts": 0}))
    if not at:
        write("supervisor.pid", str(os.getpid()))
    time.sleep(seconds)
"""


@contextmanager
def supervising(state: Path, turns: str) -> Iterator[None]:
    """Run one while the block runs; `turns` is JSON of [seconds, phase, detail], and after the last it ends."""
    words = [sys.executable, "-c", _PROGRAM, "cluster.supervisor", str(state), turns]
    child = subprocess.Popen(words)
    try:
        while not (state / "supervisor.pid").exists() and child.poll() is None:
            time.sleep(0.01)
        yield
    finally:
        child.kill()
        child.wait()
