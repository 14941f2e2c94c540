"""The write-ahead log, new bytes and erasures on their way to the destination, a few seconds behind the instance.

`pg_receivewal` streams rather than `archive_command`: the log of a quiet instance, too, is there within seconds, and no
segment of 16 MiB is closed for a few rows. A slot keeps what was not received while the supervisor was away.
"""

import gzip
import json
import subprocess
import time
from pathlib import Path
from typing import Final

import psycopg

from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.blob_copies import blob_side, copy_new_blobs
from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.db.daemon import make_private
from cluster.state.db.embedded import is_external, postgres_endpoints, postgres_programs
from configs.sections import Settings

SLOT: Final = "aos_backup"
SHIPPED: Final = "wal/shipped.json"
PARTIAL: Final = ".partial"
FLUSH_SECONDS: Final = 20.0


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
        copy_new_blobs(self._place, blob_side(self._settings))
        if is_external(self._settings.postgres):
            return ""
        self._ensure_receiver()
        try:
            moment = self._received()
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

    def _ensure_receiver(self) -> None:
        if self._receiver is not None and self._receiver.poll() is None:
            return
        make_private(self._spool)
        admin = postgres_endpoints(self._settings)[1] or ""
        command = [f"{postgres_programs()}/pg_receivewal", "-d", admin, "-D", str(self._spool), "-S", SLOT]
        run_tool([*command, "--create-slot", "--if-not-exists"])
        with (self._settings.state_dir / "wal-spool.log").open("wb") as log:
            self._receiver = subprocess.Popen(
                [*command, "--synchronous", "--no-loop"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _received(self) -> str:
        """Wait until the spool has all that was written by now, and ship the erasures of that time."""
        with psycopg.connect(postgres_endpoints(self._settings)[1] or "", autocommit=True, connect_timeout=10) as db:
            row = db.execute("select now()::text, pg_current_wal_flush_lsn()::text").fetchone()
            moment, lsn = ("", "") if row is None else (str(row[0]), str(row[1]))
            deadline = time.monotonic() + FLUSH_SECONDS
            there = (
                "select 1 from pg_stat_replication where application_name = 'pg_receivewal' and flush_lsn >= %s::pg_lsn"
            )
            while db.execute(there, [lsn]).fetchone() is None:
                if time.monotonic() > deadline:
                    raise BackupFailed("pg_receivewal is behind", fix="See wal-spool.log in the state directory.")
                time.sleep(0.1)
            if db.execute("select to_regclass('erasures') is null").fetchone() != (True,):
                done = db.execute("select id::text, receipt, files from erasures where state = 'done'")
                for id_, receipt, files in done.fetchall():
                    if f"erasures/{id_}" not in self._sent:
                        body = {"receipt": receipt, "files": list(files or [])}
                        self._place.put(f"erasures/{id_}.json", json.dumps(body).encode())
                        self._sent[f"erasures/{id_}"] = 1
        return moment

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


def fetch_log(place: Destination, first: str, target: Path) -> int:
    """Put every segment from `first` on into a folder, the one that was filling by its whole name; how many."""
    target.mkdir(exist_ok=True)
    count = 0
    keys = sorted(key for key, _ in place.side.objects() if key.startswith("wal/") and key.endswith(".gz"))
    for key in keys:  # the whole one sorts before its partial one, which is then older
        name = key.removeprefix("wal/").removesuffix(".gz")
        plain = name.removesuffix(PARTIAL)
        if (not plain.endswith(".history") and plain[8:] < first[8:]) or (target / plain).exists():
            continue
        try:
            (target / plain).write_bytes(gzip.decompress(place.read(key)))
        except (OSError, EOFError) as error:
            raise BackupFailed(f"{key} cannot be read: {error}", fix="`aos backup verify` names all such.") from error
        count += 1
    return count
