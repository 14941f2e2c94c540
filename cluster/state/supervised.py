"""Status of the supervisor of a state directory: its last written phase, its process, and waiting until ready."""

import json
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import psutil

from cluster.basics.errors import Unavailable
from cluster.state.db.daemon import find_daemon, is_running, log_tail

MODULE = "cluster.supervisor"  # a word of its command line, and of that of the process above it
RESTARTING = "cluster.watch.restarting"  # the same of the process above it
LOOK_SECONDS = 0.2
SIGN_SECONDS = 10.0  # between two signs of life in a joined cluster
# So old a sign may be of one that is ready, and of one that rolls something out: it has its own limit then.
READY_SECONDS, BUSY_SECONDS = 90.0, 600.0


@dataclass(frozen=True, slots=True)
class SupervisorStatus:
    """The supervisor's last written status: `phase` is starting, ready, repairing, failed or stopped.

    `detail` of one that is ready names the servers that are not ours and do not answer.
    """

    phase: str
    detail: str
    pid: int
    restarts: int = 0


def read_status(state_dir: Path) -> SupervisorStatus | None:
    """The last written status; None before the first one, and where a power cut left what cannot be read."""
    try:
        return SupervisorStatus(**json.loads(status_path(state_dir).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def write_status(state_dir: Path, phase: str, detail: str = "", restarts: int = 0) -> None:
    """Say how far this supervisor is; a reader sees the last word or this one, never half."""
    status = SupervisorStatus(phase, detail, os.getpid(), restarts)
    path = status_path(state_dir)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(status)), encoding="utf-8")
    fresh.replace(path)


def give_sign(state_dir: Path) -> None:
    """Say that this supervisor lives, to other machines that see the same folder; nothing else changes."""
    with suppress(FileNotFoundError):
        os.utime(status_path(state_dir))


def lives_elsewhere(state_dir: Path) -> SupervisorStatus | None:
    """The status of a supervisor on another machine that sees the same folder; None where its last sign is too old."""
    status = read_status(state_dir)
    if status is None or status.phase in ("failed", "stopped"):
        return None
    limit = READY_SECONDS if status.phase == "ready" else BUSY_SECONDS
    try:
        sign = status_path(state_dir).stat().st_mtime
    except FileNotFoundError:  # it has gone between the two looks, as it does before another supervisor begins
        return None
    return status if time.time() - sign < limit else None


def find_supervisor(state_dir: Path) -> psutil.Process | None:
    """Its process, while it runs."""
    return find_daemon(pid_path(state_dir), "python", MODULE) or find_daemon(pid_path(state_dir), "aos", "up")


def restarting_parent(supervisor: psutil.Process) -> psutil.Process | None:
    """The parent that would restart the supervisor, were it killed; None where nobody would."""
    with suppress(psutil.Error):
        parent = supervisor.parent()
        return parent if parent is not None and MODULE in parent.cmdline() else None
    return None


def waiting_parent(state_dir: Path) -> psutil.Process | None:
    """The process that begins a supervisor of this folder anew, while that has not said yet that it is there."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if RESTARTING not in process.cmdline() or not is_running(process):
                continue
            if process.environ().get("AOS_STATE_DIR") == str(state_dir):
                return restarting_parent(process) or process
    return None


def recorded_pid(state_dir: Path) -> int | None:
    """The number of its process as it wrote it down; None before that."""
    try:
        return int(pid_path(state_dir).read_text(encoding="utf-8").split()[0])
    except (FileNotFoundError, ValueError, IndexError):
        return None


def note_profile(state_dir: Path, profile: str) -> None:
    """Write down which profile the instance runs with: whoever looks at it may have another."""
    (state_dir / "supervisor.profile").write_text(f"{profile}\n", encoding="utf-8")


def running_profile(state_dir: Path) -> str:
    """The profile that the instance runs with, or ran with the last time; empty where that is unknown."""
    with suppress(FileNotFoundError):
        return (state_dir / "supervisor.profile").read_text(encoding="utf-8").strip()
    return ""


def note_code(state_dir: Path, who: Literal["supervisor", "parts"], digest: str) -> None:
    """Write down which code this supervisor has loaded, or the parts that were started."""
    (state_dir / f"{who}.code").write_text(f"{digest} {os.getpid()}\n", encoding="utf-8")


def noted_code(state_dir: Path, who: Literal["supervisor", "parts"], pid: int | None = None) -> str:
    """What `note_code` wrote, by this process where one is named; else empty: code from before it wrote nothing."""
    with suppress(FileNotFoundError, ValueError):
        digest, writer = (state_dir / f"{who}.code").read_text(encoding="utf-8").rstrip("\n").split(" ")
        return digest if pid in (None, int(writer)) else ""
    return ""


def other_profile(state_dir: Path, profile: str) -> str | None:
    """That an instance runs here with another profile than this one, for people; None where none does."""
    running = running_profile(state_dir)
    if find_supervisor(state_dir) is None or running in ("", profile):
        return None
    return f"it runs already, with the profile {running}"


def status_path(state_dir: Path) -> Path:
    """The file of its status."""
    return state_dir / "supervisor.json"


def pid_path(state_dir: Path) -> Path:
    """The file of its process id."""
    return state_dir / "supervisor.pid"


def log_path(state_dir: Path) -> Path:
    """The daemon's log."""
    return state_dir / "logs" / "supervisor.log"


def wait_until_ready(
    state_dir: Path, report: Callable[[str], None], seconds: float, pid: Callable[[], int | None] | None = None
) -> None:
    """Wait for so many seconds at most, and report each line that it says meanwhile.

    `pid` tells its process, None once that has ended; when left out, it is what `find_supervisor` finds.
    Raises Unavailable where it ended, or is still starting or repairing when the time is up; the detail says why.
    """
    log, deadline, seen = log_path(state_dir), time.monotonic() + seconds, ""
    while True:
        process = _supervisor_pid(state_dir) if pid is None else pid()
        status = read_status(state_dir)
        if process is None:
            reason = status.detail if status is not None and status.phase == "failed" else log_tail(log)
            raise Unavailable(f"it ended before it was ready: {reason}", fix=f"The whole log: {log}")
        # The file may still hold the last word of one that was killed.
        said = status if status is not None and status.pid == process else None
        if said is not None and said.phase == "ready":
            return
        if said is not None and said.phase == "repairing" and seconds == math.inf:  # one that has just begun
            raise Unavailable(said.detail, fix=f"It is tried again. The whole log: {log}")
        if said is not None and said.phase != "failed" and said.detail not in {"", seen}:
            seen = said.detail
            report(seen)
        if time.monotonic() > deadline:
            what = "starting" if said is None else f"{said.phase}: {said.detail}"
            raise Unavailable(f"not ready after {seconds:.0f} s, {what}", fix=f"See why: {log}")
        time.sleep(LOOK_SECONDS)


def _supervisor_pid(state_dir: Path) -> int | None:
    process = find_supervisor(state_dir)
    return None if process is None else process.pid
