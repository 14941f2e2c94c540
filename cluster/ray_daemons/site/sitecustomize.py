"""Python imports this by itself where its folder is in PYTHONPATH: three of Ray's daemons become others that hold less.

Ray has no option for any. It begins each by the path of a program of its own, in an interpreter that has loaded nothing
yet; another program in the same process is to Ray the one that it has begun.
"""

import os
import sys
from collections.abc import Sequence

DASHBOARD, AGENT = "/ray/dashboard/dashboard.py", "/ray/dashboard/agent.py"
MUTE = "--disable-frontend"  # of `ray start --include-dashboard=false`
CLIENT_SERVER = "ray.util.client.server"  # of Ray Client, which has no user here; 90 MB
STAND_IN = f"{__file__.rpartition('/')[0]}/agent_stand_in.py"  # without pathlib: every worker passes here


def spared_command(words: Sequence[str]) -> list[str]:
    """What Python is to be begun with instead of these words, the program's path first; empty: it is let be."""
    program = words[0] if words else ""
    if CLIENT_SERVER in words:
        return ["-I", "-S", "-c", ""]
    if program.endswith(DASHBOARD) and MUTE in words:
        return ["-m", "cluster.ray_daemons.serve_api", *words[1:]]
    if program.endswith(AGENT):
        return ["-I", "-S", STAND_IN, *words[1:]]  # -I -S: of Python itself as little as can be
    return []


if command := spared_command(getattr(sys, "argv", [])):
    os.execv(sys.executable, [sys.executable, *command])
