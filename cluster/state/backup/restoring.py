"""An instance put back into an empty folder, as it was at a time; what was erased since stays erased."""

import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from cluster.basics.errors import Conflict, Invalid, Unavailable
from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.blob_copies import blob_object, blob_side, read_index
from cluster.state.backup.catalog import BackupManifest, chain_of, list_backups
from cluster.state.backup.destination import BackupFailed, DamagedBackup, Destination
from cluster.state.backup.erasure_log import erased_files
from cluster.state.backup.log_shipping import SHIPPED, fetch_log
from cluster.state.backup.verification import unpack_base
from cluster.state.backup.wrapped_files import SECRET_FILES, read_passphrase, unwrap_files
from cluster.state.db import embedded
from cluster.state.db.daemon import log_tail, make_private
from cluster.state.db.migrate import FOLDER
from cluster.state.db.postgres_account import owner_of
from configs.sections import Settings

LOG = "restored_log"  # inside the data: Postgres' account may reach nothing else
AHEAD = "recovery ended before configured recovery target"
AT_ONCE = 8
Report = Callable[[str], None]


def restore_instance(
    settings: Settings, place: Destination, to_time: datetime | None, report: Report
) -> BackupManifest:
    """Put it back; the database's server runs afterwards. Returns the backup that it began with.

    Raises Conflict: the folder is not empty. Invalid: nothing reaches that time. BackupFailed, DamagedBackup.
    """
    state, data = settings.state_dir, settings.state_dir / "postgres"
    if state.exists() and any(one.name not in SECRET_FILES for one in state.iterdir()):
        raise Conflict(f"{state} is not empty", fix="Name an empty folder with --state-dir.")
    backups = [one for one in list_backups(place) if one.wal]
    last = _chosen(place, backups, to_time)
    if last.migration and not (FOLDER / last.migration).exists():
        raise Invalid(f"the backup was made by newer code: {last.migration}", fix="Restore with that version.")
    make_private(state)
    _put_secrets(settings, place, last, report)
    parts = []
    for one in chain_of(backups, last):
        report(f"database: {one.kind} {one.id}, {one.size / 2**20:,.1f} MiB")
        parts.append(state / "restore-parts" / one.id)
        unpack_base(place, one, parts[-1])
    if len(parts) == 1:
        parts[0].rename(data)
    else:
        run_tool([f"{embedded.postgres_programs()}/pg_combinebackup", *map(str, parts), "-o", str(data)])
    shutil.rmtree(state / "restore-parts")
    count, gap = fetch_log(place, last.wal, data / LOG)
    report(f"log: {count:,} segments" + (f"; it ends after {gap}: the next ones are missing" if gap else ""))
    _recover(settings, data, to_time, gap)
    _put_blobs(settings, place, last, report)
    return last


def _chosen(place: Destination, backups: list[BackupManifest], to_time: datetime | None) -> BackupManifest:
    fitting = [one for one in backups if to_time is None or datetime.fromisoformat(one.ended) <= to_time]
    if not fitting:
        raise Invalid("no backup ended before that time" if backups else f"there is no backup in {place.name}")
    shipped = (place.read_json(SHIPPED) or {}).get("at")
    until = datetime.fromisoformat(shipped) if shipped else datetime.fromisoformat(fitting[-1].ended)
    if to_time is not None and to_time > until:
        raise Invalid(f"the log reaches only to {until.isoformat()}", fix="Leave --to-time out for the newest state.")
    return fitting[-1]


def _recover(settings: Settings, data: Path, to_time: datetime | None, gap: str) -> None:
    lines = f"restore_command = 'cp {LOG}/%f \"%p\"'\nrecovery_target_action = 'promote'\n"
    own = data / "postgresql.auto.conf"
    kept = own.read_text(encoding="utf-8") if own.exists() else ""
    target = "" if to_time is None else f"recovery_target_time = '{to_time.astimezone(UTC).isoformat()}'\n"
    (data / "recovery.signal").touch()
    shutil.rmtree(data / "pg_replslot", ignore_errors=True)  # the slot of the shipping belongs to the other instance
    (data / "pg_replslot").mkdir(mode=0o700)
    own.write_text(kept + lines + target, encoding="utf-8")
    _give_to_postgres(data)
    try:
        embedded.start_servers(settings)
    except Unavailable:
        # Nothing was written between the last commit and that time: all of the log is the state of that time.
        if AHEAD not in log_tail(data / "server.log", 60):
            raise
        if gap:
            raise Invalid(
                f"the log has a gap before that time, after {gap}", fix="Name an earlier --to-time."
            ) from None
        own.write_text(kept + lines, encoding="utf-8")
        embedded.start_servers(settings)
    _await_promotion(settings)
    own.write_text(kept, encoding="utf-8")
    shutil.rmtree(data / LOG)


def _await_promotion(settings: Settings) -> None:
    for _ in range(36_000):
        try:
            with psycopg.connect(embedded.postgres_endpoints(settings)[1] or "", connect_timeout=10) as db:
                if db.execute("select pg_is_in_recovery()").fetchone() == (False,):
                    return
        except psycopg.OperationalError:
            pass  # it may be between two states
        time.sleep(0.1)
    raise BackupFailed("the recovery does not end", fix="See postgres/server.log in the state directory.")


def _give_to_postgres(data: Path) -> None:
    owner = owner_of(data)
    data.chmod(0o700)
    if owner is not None:
        for path in (data, *data.rglob("*")):
            os.chown(path, *owner, follow_symlinks=False)


def _put_secrets(settings: Settings, place: Destination, last: BackupManifest, report: Report) -> None:
    passphrase = read_passphrase(settings.backup.passphrase_file)
    if "secrets.sealed" not in last.digests:
        report(f"secrets: this backup has none; put {', '.join(SECRET_FILES)} into the folder yourself")
        return
    if passphrase is None:
        raise Invalid("its secrets are sealed", fix="Set AOS_BACKUP_PASSPHRASE_FILE.")
    for name, text in unwrap_files(place.read(f"backups/{last.id}/secrets.sealed"), passphrase).items():
        (settings.state_dir / name).unlink(missing_ok=True)
        with os.fdopen(os.open(settings.state_dir / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)


def _put_blobs(settings: Settings, place: Destination, last: BackupManifest, report: Report) -> None:
    index = read_index(place) | read_index(place, f"backups/{last.id}/blob-index.json.gz")
    gone = {f"blob:{key}" for key in index} & set(erased_files(place))
    target = blob_side(settings)

    def put(one: tuple[str, tuple[str, int]]) -> bool:
        key, (digest, size) = one
        if f"blob:{key}" in gone or target.size(key) == size:
            return False
        try:
            target.put(key, place.side.blocks(blob_object(digest)))
        except FileNotFoundError as error:
            raise DamagedBackup(f"blob {key}: {blob_object(digest)} is missing") from error
        return True

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="blobs") as threads:  # each waits for the disk most of the time
        count = sum(threads.map(put, sorted(index.items())))
    report(f"bytes of documents: {count:,} put back, {len(gone):,} erased since or before")
