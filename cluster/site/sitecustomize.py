"""Python imports this by itself where its folder is in PYTHONPATH: two of Ray's daemons become others that hold less.

Ray has no option for either. It begins both by the paths of its own programs, in an interpreter that has loaded nothing
yet; another program in the same process is to Ray the one that it has begun.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

DASHBOARD, AGENT = ("ray", "dashboard", "dashboard.py"), ("ray", "dashboard", "agent.py")
MUTE = "--disable-frontend"  # of `ray start --include-dashboard=false`
STAND_IN = Path(__file__).with_name("agent.py")


def spared_command(words: Sequence[str]) -> list[str]:
    """What Python is to be begun with instead of these words, the program's path first; empty: it is let be."""
    program = Path(words[0]).parts[-3:] if words else ()
    if program == DASHBOARD and MUTE in words:
        return ["-m", "cluster.serve_api", *words[1:]]
    if program == AGENT:
        return ["-I", "-S", str(STAND_IN), *words[1:]]  # -I -S: of Python itself as little as can be
    return []


if command := spared_command(getattr(sys, "argv", [])):
    os.execv(sys.executable, [sys.executable, *command])
