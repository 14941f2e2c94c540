"""What a guarded child is asked to do in the tests; light to import, since every child does."""

import os
import subprocess
import sys
import time
from pathlib import Path

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import GuardedChild, more_memory


class Target:
    """Counts its calls, and misbehaves when asked to."""

    def __init__(self) -> None:
        self._calls = 0

    def count(self) -> int:
        self._calls += 1
        return self._calls

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def helper_then_sleep(self, note: str) -> None:
        """Starts a program as OCR does, notes its process id, and hangs."""
        helper = subprocess.Popen(["sleep", "600"])
        Path(note).write_text(str(helper.pid), encoding="utf-8")
        time.sleep(600)

    def kill_itself(self, number: int) -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)

    def surprise(self) -> None:
        raise LookupError("a defect in a parser")

    def refuse(self) -> None:
        raise Unreadable(FailureReason.TIMEOUT, "one line", retryable=True)

    def fill(self, wrapped: str) -> None:
        """Writes to a disk without room; whoever meets that takes it for something else."""
        try:
            with Path("/dev/full").open("wb") as full:
                full.write(b"x")
        except OSError as error:
            if wrapped == "unreadable":
                raise Unreadable(FailureReason.CORRUPT, "the file is damaged") from error
            if wrapped == "defect":
                raise LookupError("no such part")  # noqa: B904 - as a library does that knows no better
            raise

    def grow(self, size: int) -> int:
        return len(bytearray(size))

    def grow_with_more(self, size: int) -> int:
        with more_memory(2 * size):
            return len(bytearray(size))

    def grow_in_a_guard(self, size: int) -> int:
        with GuardedChild(Target, memory_bytes=2 * size) as guard:
            return int(guard.call("grow", size, seconds=30))

    def abort_holding(self, size: int) -> None:
        """As a library of C does that gets no more memory."""
        held = bytearray(size)
        held[::4096] = b"x" * len(held[::4096])
        os.abort()

    def spin_in_a_guard(self, seconds: float) -> None:
        """As OCR does: the work is done by a process of this one's own, which leads a session of its own."""
        self._inner = getattr(self, "_inner", None) or GuardedChild(Target)
        self._inner.call("spin", seconds, seconds=60)

    def spin(self, seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    def helper_that_spins(self) -> None:
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        time.sleep(60)
