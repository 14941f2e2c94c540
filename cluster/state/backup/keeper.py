"""The supervisor's child that ships the log every few seconds, makes scheduled backups and verifies what is there."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Final

import psycopg

from cluster.basics.errors import AosError
from cluster.basics.own_program import own_program
from cluster.state.backup.backup_state import note_backup_state, read_backup_state, verification_complaint
from cluster.state.backup.destination import destination_of
from cluster.state.backup.log_shipping import LogShipping
from cluster.state.db.daemon import file_lock, make_private
from configs.sections import Settings
from configs.settings import load_settings

MODULE: Final = "cluster.state.backup.keeper"
# The command is a program of its own: a backup of hours keeps no log waiting, and its death ends nothing else.
RUN: Final = own_program("cluster.cli", "backup", "run", "--json", "--prune")
VERIFY: Final = own_program("cluster.cli", "backup", "verify", "--json", "--hashes", "--idle")
FAULTS_FOUND: Final = 3  # its exit status: it has noted them itself
ROUND_SECONDS: Final = 15.0
LONGEST_PAUSE: Final = 30.0
AGAIN: Final = timedelta(minutes=10)  # after a backup that failed
VERIFY_AGAIN: Final = timedelta(hours=1)  # after a verification that could not be ended
WITH_FAULTS_DAYS: Final = 1.0  # until the next one where the last has found some: somebody may have seen to them
JOIN_SECONDS: Final = 5.0
SICK: Final = (AosError, OSError, psycopg.Error, sqlite3.Error)


class BackupKeeper:
    """One step every second: a round of the shipping, a backup, a verification, each where it is time."""

    def __init__(
        self,
        settings: Settings,
        report: Callable[[str], None],
        command: Sequence[str] = RUN,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        verify: Sequence[str] = VERIFY,
    ) -> None:
        """Nothing runs yet."""
        self._settings, self._report, self._clock = settings, report, clock
        self._command, self._full, self._verify = command, False, verify
        self._shipping: LogShipping | None = None
        self._bytes: _BytesPass | None = None
        self._bytes_until = ""
        self._backup: subprocess.Popen[bytes] | None = None
        self._verification: subprocess.Popen[bytes] | None = None
        self._next_round = self._next_backup = self._next_verification = datetime.min.replace(tzinfo=UTC)
        self._pause = ROUND_SECONDS
        self._said = ""

    def step(self) -> None:
        """What is due. Failures are noted for doctor and tried again; none is raised."""
        now = self._clock()
        if now >= self._next_round:
            self._pause = ROUND_SECONDS if self._round() else min(2 * self._pause, LONGEST_PAUSE)
            self._next_round = self._clock() + timedelta(seconds=self._pause)
        if self._backup is not None:
            if self._backup.poll() is not None:
                self._backup_ended(self._backup)
                self._backup = None
        elif self._shipping is not None and self._clock() >= self._next_backup and self.is_due():
            # What is pruned under a verification would be missed by it: the next backup prunes as well.
            command = [word for word in self._command if word != "--prune" or self._verification is None]
            self._backup = self._begin([*command, *(("--full",) if self._full else ())], "backup-run.log")
        self._step_verification()

    def _step_verification(self) -> None:
        if self._verification is not None:
            if self._verification.poll() is not None:
                self._verification_ended(self._verification)
                self._verification = None
        elif self._backup is None and self._clock() >= self._next_verification and self.is_verification_due():
            self._verification = self._begin(self._verify, "backup-verify.log")

    def _begin(self, command: Sequence[str], log_name: str) -> subprocess.Popen[bytes]:
        with (self._settings.state_dir / log_name).open("wb") as log:
            # The child has its own handle, and with its programs a group that is ended at once.
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def is_due(self) -> bool:
        """The period has passed since the last good one, or the log has had a gap since."""
        known = read_backup_state(self._settings.state_dir)
        if not known.ended or known.gap > known.ended:
            return True
        age = self._clock() - datetime.fromisoformat(known.ended)
        return age >= timedelta(hours=self._settings.backup.every_hours)

    def is_verification_due(self) -> bool:
        """The period has passed since the last one of what is there, or a day since one that found faults."""
        known, days = read_backup_state(self._settings.state_dir), self._settings.backup.verify_days
        if not days or not known.ended:
            return False
        if not known.verified:
            return True
        period = min(days, WITH_FAULTS_DAYS) if known.faults else days
        return self._clock() - datetime.fromisoformat(known.verified) >= timedelta(days=period)

    def close(self) -> None:
        """End the receiver, a pass over bytes, and a backup and a verification that run: they count for nothing."""
        for child in (self._backup, self._verification):
            if child is not None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGTERM)
                child.wait()
        if self._shipping is not None:
            self._shipping.close()
        if self._bytes is not None:
            self._bytes.join(JOIN_SECONDS)

    def _round(self) -> bool:
        state = self._settings.state_dir
        try:
            if self._shipping is None:
                self._shipping = LogShipping(self._settings, destination_of(self._settings, None))
            moment = self._shipping.ship_log()
            self._look_at_bytes(self._shipping, moment)
        except SICK as error:
            if self._shipping is not None:
                self._shipping.bound_spool()
            self._tell(f"shipping: {error}")
            note_backup_state(state, {"late": str(error)})
            return False
        self._tell("")
        until = {"shipped": min(moment, self._bytes_until)} if self._bytes_until else {}
        note_backup_state(state, {**until, "late": ""})
        return True

    def _look_at_bytes(self, shipping: LogShipping, moment: str) -> None:
        """A file of many gigabytes holds up no log: bytes go beside it, and what is there is told once they are."""
        if self._bytes is None:
            self._bytes = _BytesPass(shipping, moment)
            self._bytes.start()
        self._bytes.join(JOIN_SECONDS)
        if self._bytes.is_alive():
            return
        done, self._bytes = self._bytes, None
        if done.error is not None:
            raise done.error
        self._bytes_until = done.moment

    def _backup_ended(self, done: subprocess.Popen[bytes]) -> None:
        if done.returncode == 0:
            self._full = False
            self._report("a backup was made")
            return
        words = self._last_words("backup-run.log") or f"ended by {done.returncode}"
        self._next_backup = self._clock() + AGAIN
        self._full = not self._full  # what an increment builds on may be what is wrong; or there is no room for all
        self._report(f"the backup failed ({done.returncode}): {words}")
        note_backup_state(self._settings.state_dir, {"failed": words})

    def _verification_ended(self, done: subprocess.Popen[bytes]) -> None:
        state = self._settings.state_dir
        if done.returncode in (0, FAULTS_FOUND):
            known = read_backup_state(state)
            self._report(verification_complaint(known) or "what lies in the destination is whole")
            return
        words = self._last_words("backup-verify.log") or f"ended by {done.returncode}"
        self._next_verification = self._clock() + VERIFY_AGAIN
        self._report(f"the verification could not be ended: {words}")
        note_backup_state(state, {"unverified": words})

    def _last_words(self, log_name: str) -> str:
        words = (self._settings.state_dir / log_name).read_text(encoding="utf-8", errors="replace")
        return words.strip()[-400:]

    def _tell(self, what: str) -> None:
        if what and what != self._said:
            self._report(what)
        self._said = what


class _BytesPass(threading.Thread):
    """One look at the bytes that came; `error` is what ended it, once it is no more alive."""

    def __init__(self, shipping: LogShipping, moment: str) -> None:
        """`moment`: up to then they are there, once it has ended well."""
        super().__init__(name="backup-bytes", daemon=True)
        self._shipping, self.moment = shipping, moment
        self.error: AosError | OSError | psycopg.Error | sqlite3.Error | None = None

    def run(self) -> None:
        """As threads do."""
        try:
            self._shipping.ship_bytes()
        except SICK as error:
            self.error = error


class _Stop(BaseException):
    """Asked to stop."""


def main() -> int:
    """The program; it ends with the supervisor that began it."""
    os.umask(0o077)
    settings, parent = load_settings(), os.getppid()
    make_private(settings.state_dir)

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Stop

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with file_lock(settings.state_dir / "backup-keeper.lock"):  # one that lost its supervisor may just be ending
        keeper = BackupKeeper(settings, lambda line: print(f"backup: {line}", flush=True))
        with suppress(_Stop), closing(keeper):
            while os.getppid() == parent:
                keeper.step()
                time.sleep(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
