"""Server programs as daemons: started, recognised by pid file, ended; and a lock file against a second starter."""

import fcntl
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import psutil

from cluster.basics.errors import Unavailable

SOCKET_PATH_LIMIT = 107  # bytes in sockaddr_un.sun_path on Linux, less the final zero


def find_daemon(pid_file: Path, program: str, argument: str) -> psutil.Process | None:
    """The process a pid file names; a pid reused by another does not count.

    The name of its file, or of the script that an interpreter runs, begins with `program`; `argument` is one of its
    words, or a folder in one.
    """
    try:
        process = psutil.Process(int(pid_file.read_text().split()[0]))
        program_file, words = process.exe(), process.cmdline()  # servers write over their words, not over their file
    except (FileNotFoundError, PermissionError, IndexError, ValueError, psutil.Error):
        return None
    named = any(Path(word).name.startswith(program) for word in (program_file, *words[1:2]))
    return process if named and (argument in words or f"{argument}/" in " ".join(words)) else None


def end_process(process: psutil.Process | None, how: signal.Signals = signal.SIGTERM, seconds: float = 60) -> None:
    """Ask a process to end and wait; kill it when `seconds` pass. None and an ended process are fine."""
    if process is None:
        return
    try:
        process.send_signal(how)
        if not _wait_for_end(process, seconds):
            process.kill()
            _wait_for_end(process, 10)
    except psutil.NoSuchProcess:
        return


def is_running(process: psutil.Process) -> bool:
    """False also for a zombie, although nobody may be there to reap it (containers without an init)."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _wait_for_end(process: psutil.Process, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def run_as(owner: tuple[int, int] | None, command: list[str], log: Path | None, cwd: Path = Path("/")) -> None:
    """Run a command that daemonises or ends; in its own session, so that a Ctrl-C here does not reach it.

    It is in `cwd` before it becomes `owner`, who need not be able to get there.
    """
    user, group = owner or (None, None)
    done = subprocess.run(
        command,
        user=user,
        group=group,
        extra_groups=None if owner is None else [],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        # A pipe would be inherited by the server and never close; initdb ends, so its words can be read.
        stdout=subprocess.PIPE if log is None else subprocess.DEVNULL,
        stderr=subprocess.STDOUT if log is None else subprocess.DEVNULL,
        start_new_session=True,
        check=False,
        text=True,
    )
    if done.returncode != 0:
        words = done.stdout if log is None else log_tail(log)
        raise Unavailable(f"{Path(command[0]).name} failed ({done.returncode}):\n{words}")


def log_tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for an error's detail."""
    if not log.exists():
        return "(no log)"
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def is_passable(path: Path) -> bool:
    """True where any account may pass the folders above `path`."""
    return all(stat.S_IMODE(folder.stat().st_mode) & stat.S_IXOTH for folder in path.parents)


def socket_folder(preferred: Path, name: str) -> Path:
    """The server's own folder, or a short one under /tmp where the path would not fit a socket address."""
    if len(os.fsencode(preferred / name)) <= SOCKET_PATH_LIMIT:
        return preferred
    return Path("/tmp") / f"aos-{sha256(os.fsencode(preferred)).hexdigest()[:10]}"


def make_private(folder: Path, owner: tuple[int, int] | None = None) -> None:
    """Make a folder that only its owner may enter; one that somebody else made, or a link of theirs, is refused."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ours = {os.geteuid(), owner[0] if owner else None}
    if not {folder.lstat().st_uid, folder.stat().st_uid} <= ours:
        raise Unavailable(f"{folder} belongs to another account", fix="Choose another AOS_STATE_DIR.")
    if owner is not None:
        os.chown(folder, *owner)


def close_to_others(folder: Path) -> None:
    """As `make_private`, and shut where it was open: what is inside may be open to everybody."""
    make_private(folder)
    folder.chmod(0o700)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """One holder of this lock file at a time, across processes; the kernel frees it when the holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
