"""The write-ahead log, new bytes and erasures on their way to the destination, a few seconds behind the instance.

`pg_receivewal` streams rather than `archive_command`: the log of a quiet instance, too, is there within seconds, and no
segment of 16 MiB is closed for a few rows. A slot keeps what was not received while the supervisor was away.
"""

import json
import signal
import subprocess
import threading
import time
from datetime import UTC, datetime
from typing import Any, Final, LiteralString

import psycopg

from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.backup_state import note_backup_state, read_backup_state
from cluster.state.backup.blob_copies import BlobCopies
from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.backup.instance_claim import claim_database, claim_destination
from cluster.state.backup.log_segments import LogSpool
from cluster.state.db.daemon import end_process, find_daemon, make_private
from cluster.state.db.embedded import is_external, postgres_endpoints, postgres_programs, timeline_fence
from cluster.state.db.primary import connect_primary_blocking
from configs.sections import Settings

SLOT: Final = "aos_backup"
SHIPPED: Final = "wal/shipped.json"
FLUSH_SECONDS: Final = 20.0
SPOOL_MOST: Final = 1 << 30  # bytes: beyond it the slot keeps the log, and beyond max_slot_wal_keep_size nobody does
RECEIVER: Final = "pg_receivewal"


class LogShipping:
    """Begun with the first round, and again where the receiver died; `close` ends it."""

    def __init__(
        self, settings: Settings, place: Destination, most: int = SPOOL_MOST, patience: float = FLUSH_SECONDS
    ) -> None:
        """Nothing runs yet.

        Args:
            most: bytes that may wait here for a destination that takes none.
            patience: seconds for the receiver to have what was written.
        """
        self._settings, self._place, self._most, self._patience = settings, place, most, patience
        self._folder = settings.state_dir / "wal-spool"
        self._spool = LogSpool(self._folder, place)
        self._receiver: subprocess.Popen[bytes] | None = None
        self._sent: set[str] = set()
        self._stop = threading.Event()

    def round(self) -> str:
        """Ship the log that is there, and then the bytes that came; the moment up to which all is in the destination.

        In this order: bytes are written before the rows that name them.
        """
        moment = self.ship_log()
        self.ship_bytes()
        return moment

    def ship_log(self) -> str:
        """The moment up to which the log is there; empty where it is not shipped from here. Raises BackupFailed."""
        claim_destination(self._settings, self._place)
        admin = postgres_endpoints(self._settings)[1]
        if admin is None:
            return datetime.now(UTC).isoformat()
        try:
            with self._connect(admin) as db:
                self._ship_erasures(db)
                if is_external(self._settings.postgres):
                    return _now(db)
                claim_database(self._place, _one(db, "select system_identifier::text from pg_control_system()"))
                self._renew_lost_slot(db)
                if self._spool.size() > self._most:  # else each round would receive more, until the disk here is full
                    self._spool.ship()
                self._ensure_receiver(admin)
                moment = self._received(db)
        except psycopg.Error as error:
            raise BackupFailed(f"the log cannot be shipped: {error}") from error
        self._spool.ship()
        self._place.put(SHIPPED, json.dumps({"at": moment}).encode())
        return moment

    def ship_bytes(self) -> None:
        """Those that came since the last time; hours where there are many. Raises BackupFailed."""
        copies, admin = BlobCopies(self._settings, self._place, self._stop), postgres_endpoints(self._settings)[1]
        if admin is None:
            copies.copy_all()
            return
        try:
            with self._connect(admin) as db:
                copies.copy_arrived(db)
        except psycopg.Error as error:
            raise BackupFailed(f"bytes of documents cannot be looked for: {error}") from error

    def close(self) -> None:
        """End the receiver, and a pass over the bytes as soon as it can."""
        self._stop.set()
        self._end_receiver()

    def _connect(self, admin: str) -> psycopg.Connection[Any]:
        return connect_primary_blocking(admin, timeline_fence(self._settings), autocommit=True, connect_timeout=10)

    def _end_receiver(self) -> None:
        if self._receiver is not None:
            self._receiver.terminate()
            self._receiver.wait()
            self._receiver = None

    def bound_spool(self) -> None:
        """The destination is away: receive no more where the spool is full."""
        if self._spool.size() > self._most:
            self._end_receiver()

    def _renew_lost_slot(self, db: psycopg.Connection[Any]) -> None:
        """Where log is gone that was not received (the slot was lost, or there is none yet): begin anew, and say so."""
        slot = db.execute("select wal_status from pg_replication_slots where slot_name = %s", [SLOT]).fetchone()
        if slot is not None and slot[0] != "lost":
            return
        if slot is None:
            _require_bound(db)
        self._end_receiver()
        if slot is not None:
            self._spool.ship()  # what was received before is whole up to there
            db.execute("select pg_drop_replication_slot(%s)", [SLOT])
        self._spool.clear()  # the receiver would go on after it, with log that is gone, or of another database
        if read_backup_state(self._settings.state_dir).ended:
            note_backup_state(self._settings.state_dir, {"gap": _now(db)})

    def _ensure_receiver(self, admin: str) -> None:
        if self._receiver is not None and self._receiver.poll() is None:
            return
        make_private(self._folder)
        pid_file = self._settings.state_dir / "wal-spool.pid"
        end_process(find_daemon(pid_file, RECEIVER, str(self._folder)), signal.SIGTERM, 10)  # of one that was killed
        command = [f"{postgres_programs()}/{RECEIVER}", "-d", admin, "-D", str(self._folder), "-S", SLOT]
        run_tool([*command, "--create-slot", "--if-not-exists"])
        with (self._settings.state_dir / "wal-spool.log").open("wb") as log:
            self._receiver = subprocess.Popen(
                [*command, "--synchronous", "--no-loop"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        pid_file.write_text(f"{self._receiver.pid}\n")

    def _received(self, db: psycopg.Connection[Any]) -> str:
        """Wait until the spool has all that was written by now; that moment."""
        moment, lsn = _now(db), _one(db, "select pg_current_wal_flush_lsn()::text")
        deadline = time.monotonic() + self._patience
        there = (  # not by a name of the program: others may have a receiver of their own
            "select 1 from pg_stat_replication r join pg_replication_slots s on s.active_pid = r.pid"
            " where s.slot_name = %s and r.flush_lsn >= %s::pg_lsn"
        )
        while db.execute(there.encode(), [SLOT, lsn]).fetchone() is None:
            if time.monotonic() > deadline:
                raise BackupFailed(f"{RECEIVER} is behind", fix="See wal-spool.log in the state directory.")
            time.sleep(0.1)
        return moment

    def _ship_erasures(self, db: psycopg.Connection[Any]) -> None:
        """Before the log, and whether it can be shipped or not: a restore has to know of each."""
        if db.execute("select to_regclass('erasures') is null").fetchone() == (True,):
            return
        done = db.execute("select id::text, receipt, files from erasures where state = 'done'")
        for id_, receipt, files in done.fetchall():
            key = f"erasures/{id_}.json"
            if key not in self._sent and self._place.side.size(key) is None:
                self._place.put(key, json.dumps({"receipt": receipt, "files": list(files or [])}).encode())
            self._sent.add(key)


def _require_bound(db: psycopg.Connection[Any]) -> None:
    """A slot that nobody reads would fill the disk of a server that earlier code has started, and that still runs."""
    bound = "select source from pg_settings where name = 'max_slot_wal_keep_size'"
    if _one(db, bound) == "default":
        why = "this server keeps log without bound for whoever does not fetch it: earlier code has started it"
        raise BackupFailed(why, fix="`aos down`, `aos up`.")


def _now(db: psycopg.Connection[Any]) -> str:
    """In UTC, whatever the server's own zone is: such moments are compared as texts."""
    row = db.execute("select now()").fetchone()
    return "" if row is None else str(row[0].astimezone(UTC).isoformat())


def _one(db: psycopg.Connection[Any], query: LiteralString) -> str:
    row = db.execute(query).fetchone()
    return "" if row is None else str(row[0])
