"""A record of the harm that would stay if its doer were killed: stopped processes and a filler on the disk."""

import fcntl
import json
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from cluster.basics.disk import FULL
from cluster.basics.errors import Conflict
from cluster.state.db.daemon import make_private

PIECE = 64 * 2**20  # bytes


def chaos_folder(state_dir: Path) -> Path:
    """The folder of the record, the filler, generated pages and the last report."""
    return state_dir / "chaos"


def identity(pid: int) -> tuple[int, float]:
    """Number of a process, and when it began in seconds since the machine's start: the number alone may come again.

    A clock that is set meanwhile changes nothing of it. Raises psutil.NoSuchProcess.
    """
    return pid, round(psutil.Process(pid).create_time() - psutil.boot_time(), 2)


class HarmRecord:
    """Written before anything is done: whoever comes after a kill of the doer undoes what stands here."""

    def __init__(self, state_dir: Path) -> None:
        """Nothing is written yet."""
        self._folder = chaos_folder(state_dir)
        self.filler = self._folder / "filler"
        self._path = self._folder / "stopped.json"

    def stop(self, processes: Iterable[psutil.Process]) -> None:
        """SIGSTOP; of those that have ended meanwhile nothing is noted."""
        known = {(pid, began) for pid, began in self._read()}
        targets = list(processes)
        for process in targets:
            with suppress(psutil.NoSuchProcess):
                known.add(identity(process.pid))
        self._write(known)
        for process in targets:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)

    def wake(self) -> list[str]:
        """SIGCONT to all that stand here, and forget them; those that were still stopped, in words."""
        woken = []
        for pid, began in self._read():
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                if identity(pid) != (pid, began):
                    continue  # the number belongs to another one now
                if process.status() == psutil.STATUS_STOPPED:
                    woken.append(f"process {pid} ({process.name()}) was stopped: it goes on")
                process.send_signal(signal.SIGCONT)
        with suppress(FileNotFoundError):
            self._path.unlink()
        return woken

    def fill(self, free: int, keep: int) -> int:
        """Take all but `keep` of `free` bytes of the disk, by pieces; the bytes taken, fewer where others write."""
        wanted, taken = max(0, free - keep), 0
        descriptor = os.open(self.filler, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            while taken < wanted:
                piece = min(PIECE, wanted - taken)
                os.posix_fallocate(descriptor, taken, piece)
                taken += piece
        except OSError as error:
            if error.errno not in FULL:
                raise
        finally:
            os.close(descriptor)
        return taken

    def empty(self) -> list[str]:
        """Remove the filler, if it is there; in words."""
        with suppress(FileNotFoundError):
            size = self.filler.stat().st_size
            self.filler.unlink()
            return [f"a filler of {size / 2**20:.0f} MiB was on the disk: it is removed"]
        return []

    def undo(self) -> list[str]:
        """Wake what is stopped, free what is filled; what there was, in words."""
        return [*self.wake(), *self.empty()]

    def _read(self) -> list[tuple[int, float]]:
        try:
            found: list[Any] = json.loads(self._path.read_text(encoding="utf-8"))
            return [(int(pid), float(began)) for pid, began in found]
        except (FileNotFoundError, ValueError, TypeError):
            return []

    def _write(self, stopped: Iterable[tuple[int, float]]) -> None:
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(sorted(stopped)), encoding="utf-8")
        fresh.replace(self._path)


@contextmanager
def only_campaign(state_dir: Path) -> Iterator[HarmRecord]:
    """The record, for one at a time; what an earlier one left is undone before, and what this one leaves at its end.

    Raises Conflict: another one does harm just now.
    """
    make_private(chaos_folder(state_dir))
    with (chaos_folder(state_dir) / "lock").open("w") as lock:
        if not _take(lock.fileno()):
            raise Conflict(f"`aos chaos` already runs for {state_dir}", fix="Wait for its end, or stop it with Ctrl-C.")
        record = HarmRecord(state_dir)
        record.undo()
        try:
            yield record
        finally:
            record.undo()


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, and so does a terminal that goes away: with everything undone.

    One that was begun to outlive its terminal (`nohup`) still does.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    former = {number: handler for number, handler in former.items() if handler is not signal.SIG_IGN}
    for number in former:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def undo_leftovers(state_dir: Path) -> list[str] | None:
    """Undo what a killed one left; in words. None while one is at work."""
    if not chaos_folder(state_dir).is_dir():
        return []
    with (chaos_folder(state_dir) / "lock").open("w") as lock:
        return HarmRecord(state_dir).undo() if _take(lock.fileno()) else None


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
