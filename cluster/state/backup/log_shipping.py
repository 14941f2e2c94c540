"""The write-ahead log, new bytes and erasures on their way to the destination, a few seconds behind the instance.

`pg_receivewal` streams rather than `archive_command`: the log of a quiet instance, too, is there within seconds, and no
segment of 16 MiB is closed for a few rows. A slot keeps what was not received while the supervisor was away.
"""

import gzip
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import psycopg

from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.backup_state import note_backup_state, read_backup_state
from cluster.state.backup.blob_copies import copy_new_blobs
from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.backup.instance_claim import claim_destination
from cluster.state.db.daemon import end_process, find_daemon, make_private
from cluster.state.db.embedded import is_external, postgres_endpoints, postgres_programs
from configs.sections import Settings

SLOT: Final = "aos_backup"
SHIPPED: Final = "wal/shipped.json"
PARTIAL: Final = ".partial"
FLUSH_SECONDS: Final = 20.0
SPOOL_MOST: Final = 1 << 30  # bytes: beyond it the slot keeps the log, and beyond max_slot_wal_keep_size nobody does
RECEIVER: Final = "pg_receivewal"


class LogShipping:
    """Begun with the first round, and again where the receiver died; `close` ends it."""

    def __init__(self, settings: Settings, place: Destination) -> None:
        """Nothing runs yet."""
        self._settings, self._place = settings, place
        self._spool = settings.state_dir / "wal-spool"
        self._receiver: subprocess.Popen[bytes] | None = None
        self._sent: dict[str, int] = {}

    def round(self) -> str:
        """Ship what is there; the moment up to which everything is in the destination. Raises BackupFailed."""
        claim_destination(self._settings, self._place)
        copy_new_blobs(self._settings, self._place)
        admin = postgres_endpoints(self._settings)[1]
        if admin is None:
            return ""
        try:
            with psycopg.connect(admin, autocommit=True, connect_timeout=10) as db:
                self._ship_erasures(db)
                if is_external(self._settings.postgres):
                    return ""
                self._renew_lost_slot(db)
                self._ensure_receiver(admin)
                moment = self._received(db)
        except psycopg.Error as error:
            raise BackupFailed(f"the log cannot be shipped: {error}") from error
        self._ship_segments()
        self._place.put(SHIPPED, json.dumps({"at": moment}).encode())
        return moment

    def close(self) -> None:
        """End the receiver."""
        if self._receiver is not None:
            self._receiver.terminate()
            self._receiver.wait()
            self._receiver = None

    def bound_spool(self) -> None:
        """The destination is away: receive no more where the spool is full."""
        if self._spool.is_dir() and sum(path.stat().st_size for path in self._spool.iterdir()) > SPOOL_MOST:
            self.close()

    def _renew_lost_slot(self, db: psycopg.Connection[Any]) -> None:
        """Where log is gone that was not received (the slot was lost, or there is none yet): begin anew, and say so."""
        slot = db.execute("select wal_status from pg_replication_slots where slot_name = %s", [SLOT]).fetchone()
        if slot is not None and slot[0] != "lost":
            return
        self.close()
        if slot is not None:
            self._ship_segments()  # what was received before is whole up to there
            for path in self._spool.glob("*"):
                path.unlink()
            db.execute("select pg_drop_replication_slot(%s)", [SLOT])
        row, state = db.execute("select now()").fetchone(), self._settings.state_dir
        if row is not None and read_backup_state(state).ended:
            note_backup_state(state, {"gap": row[0].isoformat()})

    def _ensure_receiver(self, admin: str) -> None:
        if self._receiver is not None and self._receiver.poll() is None:
            return
        make_private(self._spool)
        pid_file = self._settings.state_dir / "wal-spool.pid"
        end_process(find_daemon(pid_file, RECEIVER, str(self._spool)), signal.SIGTERM, 10)  # of one that was killed
        command = [f"{postgres_programs()}/{RECEIVER}", "-d", admin, "-D", str(self._spool), "-S", SLOT]
        run_tool([*command, "--create-slot", "--if-not-exists"])
        with (self._settings.state_dir / "wal-spool.log").open("wb") as log:
            self._receiver = subprocess.Popen(
                [*command, "--synchronous", "--no-loop"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        pid_file.write_text(f"{self._receiver.pid}\n")

    def _received(self, db: psycopg.Connection[Any]) -> str:
        """Wait until the spool has all that was written by now; that moment."""
        row = db.execute("select now(), pg_current_wal_flush_lsn()::text").fetchone()
        moment, lsn = ("", "") if row is None else (row[0].isoformat(), str(row[1]))
        deadline = time.monotonic() + FLUSH_SECONDS
        there = f"select 1 from pg_stat_replication where application_name = '{RECEIVER}' and flush_lsn >= %s::pg_lsn"
        while db.execute(there.encode(), [lsn]).fetchone() is None:
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
            self._sent[key] = 1

    def _ship_segments(self) -> None:
        """Whole segments go once and leave the spool; the one that fills goes again as long as it changes."""
        for path in sorted(self._spool.iterdir()):
            try:
                stamp = path.stat().st_mtime_ns
                if self._sent.get(path.name) == stamp:
                    continue
                data = gzip.compress(path.read_bytes(), 1)
            except FileNotFoundError:
                continue  # it was whole just now, and has another name
            self._place.put(f"wal/{path.name}.gz", data)
            self._sent[path.name] = stamp
            if not path.name.endswith(PARTIAL):
                self._place.side.delete(f"wal/{path.name}{PARTIAL}.gz")
                if not path.name.endswith(".history"):
                    path.unlink()


def fetch_log(place: Destination, first: str, target: Path) -> tuple[int, str]:
    """Put every segment from `first` on into a folder, the one that was filling by its whole name.

    How many, and the last one before a gap, where there is one: what follows it cannot be reached from here.
    """
    target.mkdir(exist_ok=True)
    count, number = 0, segment_number(first) - 1
    keys = sorted(key for key, _ in place.side.objects() if key.startswith("wal/") and key.endswith(".gz"))
    for key in keys:  # the whole one sorts before its partial one, which is then older
        name = key.removeprefix("wal/").removesuffix(".gz")
        plain = name.removesuffix(PARTIAL)
        is_segment = not plain.endswith(".history")
        if (is_segment and plain[8:] < first[8:]) or (target / plain).exists():
            continue
        if is_segment:
            if segment_number(plain) > number + 1:
                return count, f"{number >> 8:08X}{number & 0xFF:08X}"
            number = segment_number(plain)
        try:
            (target / plain).write_bytes(gzip.decompress(place.read(key)))
        except (OSError, EOFError) as error:
            raise BackupFailed(f"{key} cannot be read: {error}", fix="`aos backup verify` names all such.") from error
        count += 1
    return count, ""


def segment_number(name: str) -> int:
    """Its place in the log, whatever the timeline."""
    return (int(name[8:16], 16) << 8) + int(name[16:24], 16)
