"""An instance put back into an empty folder, as it was at a time; what was erased since stays erased."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import psycopg

from cluster.basics.errors import Conflict, Invalid, Unavailable
from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.blob_catalogue import BlobRecord, blob_object, read_catalogue
from cluster.state.backup.blob_copies import blob_side, checked_blocks
from cluster.state.backup.catalog import BackupManifest, chain_of, list_backups
from cluster.state.backup.destination import BackupFailed, DamagedBackup, Destination
from cluster.state.backup.erasure_log import erased_files, erasure_log
from cluster.state.backup.log_segments import fetch_log
from cluster.state.backup.log_shipping import SHIPPED
from cluster.state.backup.verification import unpack_base
from cluster.state.backup.wrapped_files import SECRET_FILES, read_passphrase, unwrap_files
from cluster.state.db import embedded
from cluster.state.db.daemon import close_to_others, log_tail
from cluster.state.db.embedded import is_external
from cluster.state.db.migration_files import FOLDER, VERSION_NEEDED
from cluster.state.db.postgres_account import owner_of
from configs.sections import Settings

LOG = "restored_log"  # inside the data: Postgres' account may reach nothing else
AHEAD = b"recovery ended before configured recovery target"
AT_ONCE, BATCH = 8, 1024
RECEIPT_KEY = "receipt-key"
UNFINISHED = "restore-unfinished"
UNFINISHED_LOAD = "load-unfinished"  # of `aos upgrade --load`; holds the name of the folder that was moved aside
NO_KEYS = f"Put {', '.join(SECRET_FILES)} into the folder, by themselves."
Report = Callable[[str], None]


@dataclass
class Restore:
    """What was put back.

    Attributes:
        backup: the one that it began with.
        damaged: files of documents that the destination has no more as they were; everything else is there.
        seconds: how long each part took: copy, combine, replay (of the log), blobs.
    """

    backup: BackupManifest
    damaged: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Adds to a part's seconds."""
        began = time.monotonic()
        yield
        self.seconds[part] = round(self.seconds.get(part, 0) + time.monotonic() - began, 3)


def restore_instance(settings: Settings, place: Destination, to_time: datetime | None, report: Report) -> Restore:
    """Put it back; the database's server runs afterwards. Of an external database its operator has put back that one.

    Nothing opens it before `finish_restore`: without its bytes, or with what was erased since.

    Raises Conflict: the folder is not empty. Invalid: nothing reaches that time. BackupFailed, DamagedBackup.
    """
    state = settings.state_dir
    if state.exists() and (not state.is_dir() or any(one.name not in SECRET_FILES for one in state.iterdir())):
        raise Conflict(f"{state} is not empty", fix="Name an empty folder with --state-dir.")
    done = Restore(_chosen(settings, place, to_time))
    if done.backup.migration and not (FOLDER / done.backup.migration).exists():
        made = f"newer code: {done.backup.product} {done.backup.migration}"
        raise Invalid(f"the backup was made by {made}", fix=f"Restore with {VERSION_NEEDED}.")
    close_to_others(state)
    _put_secrets(settings, place, done.backup, report)
    if erasure_log(place) and not (state / RECEIPT_KEY).exists():
        raise Invalid(f"{RECEIPT_KEY} is not in {state}, and erasures are to be carried out again", fix=NO_KEYS)
    (state / UNFINISHED).touch()
    if done.backup.wal:
        _put_database(settings, place, to_time, done, report)
    with done.timed("blobs"):
        _put_blobs(settings, place, done, report)
    return done


def finish_restore(state_dir: Path) -> None:
    """Erasures were carried out again, too."""
    (state_dir / UNFINISHED).unlink()


def require_finished(state_dir: Path) -> None:
    """Raises Conflict: a restore or a load into this folder failed or was killed."""
    require_restored(state_dir)
    if (state_dir / UNFINISHED_LOAD).exists():
        fix = "Run `aos upgrade --load` again: it begins anew, and what was moved aside is still there."
        raise Conflict(f"the load of a dump into {state_dir} was broken off", fix=fix)


def require_restored(state_dir: Path) -> None:
    """Raises Conflict: a restore into this folder failed or was killed."""
    if (mark := state_dir / UNFINISHED).exists():
        fix = f"Restore again into an empty folder. To open this one all the same, remove {mark}."
        raise Conflict(f"the restore into {state_dir} did not end well: bytes or erasures may be missing", fix=fix)


def _put_database(
    settings: Settings, place: Destination, to_time: datetime | None, done: Restore, report: Report
) -> None:
    state, data, parts = settings.state_dir, settings.state_dir / "postgres", list[Path]()
    with done.timed("copy"):
        for one in chain_of(list_backups(place), done.backup):
            report(f"database: {one.kind} {one.id}, {one.size / 2**20:,.1f} MiB")
            parts.append(state / "restore-parts" / one.id)
            unpack_base(place, one, parts[-1])
    with done.timed("combine"):
        if len(parts) == 1:
            parts[0].rename(data)
        else:
            run_tool([f"{embedded.postgres_programs()}/pg_combinebackup", *map(str, parts), "-o", str(data)])
        shutil.rmtree(state / "restore-parts")
    with done.timed("copy"):
        count, gap = fetch_log(place, done.backup.wal, data / LOG)
    report(f"log: {count:,} segments" + (f"; it ends after {gap}: the next ones are missing" if gap else ""))
    with done.timed("replay"):
        _recover(settings, data, to_time, gap)


def _chosen(settings: Settings, place: Destination, to_time: datetime | None) -> BackupManifest:
    external, found = is_external(settings.postgres), list_backups(place)
    backups = [one for one in found if bool(one.wal) is not external]
    if found and not backups:
        told = "the database is external by the settings, and the backup has one of its own"
        other = "the backup has no database: it was an external one", "Set DATABASE_URL to where that was put back."
        detail, fix = (told, "Unset DATABASE_URL and AOS_POSTGRES_HOST.") if external else other
        raise Invalid(detail, fix=fix)
    fitting = [one for one in backups if to_time is None or datetime.fromisoformat(one.ended) <= to_time]
    if not fitting:
        raise Invalid("no backup ended before that time" if backups else f"there is no backup in {place.name}")
    if external:
        return fitting[-1]
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
    if not _replay_log(settings, data):
        # Nothing was written between the last commit and that time: all of the log is the state of that time.
        if gap:
            raise Invalid(f"the log has a gap before that time, after {gap}", fix="Name an earlier --to-time.")
        own.write_text(kept + lines, encoding="utf-8")
        if not _replay_log(settings, data):
            raise BackupFailed(f"the log cannot be replayed:\n{log_tail(data / 'server.log')}")
    own.write_text(kept, encoding="utf-8")
    shutil.rmtree(data / LOG)


def _replay_log(settings: Settings, data: Path) -> bool:
    """Until the server is one of its own; False where the log ends before the moment that was asked for."""
    log = data / "server.log"  # it came with the backup, and tells of earlier lives
    before = log.stat().st_size if log.exists() else 0

    def ends_early() -> bool:
        with log.open("rb") as file:
            file.seek(before)
            return AHEAD in file.read()

    try:
        embedded.start_servers(settings)
    except Unavailable:
        if not _runs(settings):
            if ends_early():
                return False
            raise  # else it only takes longer than a start may
    while _runs(settings):
        with suppress(psycopg.OperationalError, Unavailable):  # it may be between two states
            if not _is_replaying(settings):
                return True
        time.sleep(0.1)
    if ends_early():
        return False
    raise BackupFailed(f"the restored server ended:\n{log_tail(log)}")


def _is_replaying(settings: Settings) -> bool:
    with psycopg.connect(embedded.postgres_endpoints(settings)[1] or "", connect_timeout=10) as db:
        return db.execute("select pg_is_in_recovery()").fetchone() != (False,)


def _runs(settings: Settings) -> bool:
    return "postgres" in embedded.servers_by_name(settings.state_dir)


def _give_to_postgres(data: Path) -> None:
    owner = owner_of(data)
    data.chmod(0o700)
    if owner is not None:
        for path in (data, *data.rglob("*")):
            os.chown(path, *owner, follow_symlinks=False)


def _put_secrets(settings: Settings, place: Destination, last: BackupManifest, report: Report) -> None:
    passphrase = read_passphrase(settings.backup.passphrase_file)
    if "secrets.sealed" not in last.digests:
        report(f"secrets: this backup has none. {NO_KEYS}")
        return
    if passphrase is None:
        raise Invalid("its secrets are sealed", fix="Set AOS_BACKUP_PASSPHRASE_FILE.")
    for name, text in unwrap_files(place.read(f"backups/{last.id}/secrets.sealed"), passphrase).items():
        (settings.state_dir / name).unlink(missing_ok=True)
        with os.fdopen(os.open(settings.state_dir / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)


def _put_blobs(settings: Settings, place: Destination, done: Restore, report: Report) -> None:
    erased = {name.removeprefix("blob:") for name in erased_files(place)}
    target, count = blob_side(settings), 0

    def put(one: BlobRecord) -> str | bool:
        if target.size(one.key) == one.size:
            return False
        try:
            blocks = place.side.blocks(blob_object(one.digest))
            target.put(one.key, checked_blocks(blocks, one.digest, one.key))
        except (FileNotFoundError, DamagedBackup):
            return one.key
        return True

    with read_catalogue(place, settings.state_dir) as catalogue:
        records = (one for one in catalogue.records() if one.key not in erased)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="blobs") as threads:
            while batch := list(islice(records, BATCH)):
                results = list(threads.map(put, batch))
                count += sum(one is True for one in results)
                done.damaged += [one for one in results if isinstance(one, str)]
    report(f"bytes of documents: {count:,} put back, {len(erased):,} erased since or before")
