"""The supervisor's hold on the child that keeps backups: begun where a destination is set, and again where it died."""

import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Final

from cluster.basics.own_program import own_program
from cluster.state.backup.keeper import MODULE
from configs.sections import Settings

AGAIN_SECONDS: Final = 10.0
END_SECONDS: Final = 20.0


class BackupChild:
    """Nothing runs without AOS_BACKUP_URL."""

    def __init__(
        self,
        settings: Settings,
        report: Callable[[str], None],
        command: Sequence[str] = own_program(MODULE),
        clock: Callable[[], float] = time.monotonic,
        end_seconds: float = END_SECONDS,
    ) -> None:
        """Nothing runs yet. `end_seconds`: what it has to end, once it was asked to."""
        self._settings, self._report, self._clock, self._end = settings, report, clock, end_seconds
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._next = 0.0

    def look(self) -> None:
        """Begin it where it is to run and does not."""
        if self._settings.backup.url is None or self._clock() < self._next:
            return
        if self._child is not None:
            if self._child.poll() is None:
                return
            self._report(f"the backup keeper ended ({self._child.returncode}): it is begun anew")
        self._next = self._clock() + AGAIN_SECONDS
        state = self._settings.state_dir
        given = ["env", f"AOS_STATE_DIR={state}", f"AOS_PROFILE={self._settings.profile}"]
        try:
            self._child = subprocess.Popen([*given, *self._command], stdin=subprocess.DEVNULL)
        except OSError as error:  # of the system's own, such as too little memory: the product goes on without backups
            self._child = None
            self._report(f"the backup keeper cannot be begun: {error}")

    def close(self) -> None:
        """End it, with what it began."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(self._end)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
