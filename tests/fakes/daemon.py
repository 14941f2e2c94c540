"""A supervisor as far as others see it: a process by its name, which writes how far it is."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.handover import code_digest

_PROGRAM = """
import json, os, pathlib, sys, time
state, turns, code = pathlib.Path(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]

def write(name, text):  # whole or not at all: who finds an empty file takes the process for ended
    (state / "fresh").write_text(text)
    (state / "fresh").replace(state / name)

for at, (seconds, phase, detail) in enumerate(turns):
    write("supervisor.json", json.dumps({"phase": phase, "detail": detail, "pid": os.getpid(), "restarts": 0}))
    if not at:
        if code:
            write("supervisor.code", f"{code} {os.getpid()}")
        write("supervisor.pid", str(os.getpid()))
    time.sleep(seconds)
"""


@contextmanager
def supervising(state: Path, turns: str, code: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run one while the block runs; `turns` is JSON of [seconds, phase, detail], and after the last it ends.

    `code` is the digest of what it has loaded: this code's unless given, and empty for one that notes none.
    """
    loaded = code_digest() if code is None else code
    child = subprocess.Popen([sys.executable, "-c", _PROGRAM, "cluster.supervisor", str(state), turns, loaded])
    try:
        while not (state / "supervisor.pid").exists() and child.poll() is None:
            time.sleep(0.01)
        yield child
    finally:
        child.kill()
        child.wait()
