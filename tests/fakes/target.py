"""What a guarded child is asked to do in the tests; light to import, since every child does."""

import os
import subprocess
import time
from pathlib import Path

from pipelines.documents.document import Reason, Unreadable


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
        raise Unreadable(Reason.TIMEOUT, "one line", retryable=True)

    def grow(self) -> int:
        return len(bytearray(2**40))
