"""One backup of a running instance: bytes, database, bytes again, secrets, and the manifest last."""

import gzip
import json
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import psutil

from cluster.basics.cleanup import cleanup_on_error
from cluster.basics.disk import DiskRoom
from cluster.basics.errors import InvalidSettings
from cluster.state.backup.backup_state import note_backup_state
from cluster.state.backup.blob_catalogue import INDEX, PIECES, catalogue_lock, open_catalogue
from cluster.state.backup.blob_copies import BlobCopies
from cluster.state.backup.catalog import BackupManifest, chain_of, list_backups, write_manifest
from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.backup.instance_claim import claim_database, claim_destination
from cluster.state.backup.wrapped_files import read_passphrase, wrap_files
from cluster.state.db.daemon import end_process, file_lock, make_private
from cluster.state.db.embedded import is_external, postgres_endpoints, postgres_programs, timeline_fence
from cluster.state.db.primary import connect_primary_blocking
from configs.sections import Settings
from configs.settings import env_file_path, section_types

FULL_EVERY = timedelta(days=7)
LOCK = "backup.lock"
SYSTEM = "select system_identifier::text from pg_control_system()"
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """What a run would make: `full`, `incremental` or `files`, on which backup, and why."""

    kind: str
    parent: BackupManifest | None
    why: str


def plan_backup(settings: Settings, place: Destination, wanted: str | None) -> BackupPlan:
    """`wanted`: full, incremental, or None for a full one a week and increments between."""
    if is_external(settings.postgres):
        return BackupPlan("files", None, "the database is external: pg_basebackup of it is its operator's job")
    system = _ask(settings, SYSTEM)
    backups = [one for one in list_backups(place) if one.wal and one.system == system]
    if wanted == "full":
        return BackupPlan("full", None, "asked for")
    if not backups:
        return BackupPlan("full", None, "there is none yet to build on")
    if _ask(settings, "show summarize_wal") != "on":
        return BackupPlan("full", None, "this server keeps no summaries yet: `aos down`, `aos up`")
    chain = chain_of(backups, backups[-1])
    if lost := [one.id for one in chain if place.side.size(f"backups/{one.id}/base.tar.gz") != one.size]:
        return BackupPlan("full", None, f"{lost[0]} is damaged, and an increment would be of no use")
    age = datetime.now(UTC) - datetime.fromisoformat(chain[0].ended)
    if wanted is None and age >= FULL_EVERY:
        return BackupPlan("full", None, "the last full one is a week old")
    return BackupPlan("incremental", backups[-1], f"on {backups[-1].id}")


def run_backup(settings: Settings, place: Destination, plan: BackupPlan, report: Report) -> BackupManifest:
    """Make it. Raises BackupFailed; nothing that counts is left then."""
    state = settings.state_dir
    make_private(state)
    passphrase = read_passphrase(settings.backup.passphrase_file)
    with file_lock(state / LOCK):
        claim_destination(settings, place)
        system = "" if plan.kind == "files" else _ask(settings, SYSTEM)
        if system:
            claim_database(place, system)
        _clear_up(state)
        began = datetime.now(UTC)
        id_ = f"{began:%Y%m%dT%H%M%SZ}-{uuid4().hex[:6]}"
        copies = BlobCopies(settings, place)
        report(f"bytes of documents: {copies.copy_all(heal=plan.parent is None)[1]:,} new")
        with TemporaryDirectory(prefix="backup-", dir=state) as folder:
            try:
                wal, sizes, digests = _database(settings, place, plan, id_, Path(folder), report)
            except OSError as error:
                raise BackupFailed(
                    f"{state}: {error.strerror or error}", fix="Make room for one backup there."
                ) from error
        blobs, came = copies.copy_all()
        report(f"bytes of documents: {came:,} more since")
        ended = datetime.now(UTC)  # a restore to a moment before it begins with an older one
        pieces = _put_index(settings, place, id_, digests) if plan.parent is None else []
        rest = {"settings.json": settings_text(settings)}
        if passphrase is not None:
            rest["secrets.sealed"] = wrap_files(state, passphrase, env_file_path())
        for name, data in rest.items():
            place.put(f"backups/{id_}/{name}", data)
            digests[name] = sha256(data).hexdigest()
        parent = None if plan.parent is None else plan.parent.id
        migration = "" if not wal else _last_migration(settings)
        times = began.isoformat(), ended.isoformat()
        product = version("aos")
        made = BackupManifest(id_, parent, *times, wal, digests, sizes, blobs, system, migration, product)
        write_manifest(place, made)
        for piece in pieces:  # what they say is in its index
            place.side.delete(piece)
        if place.name == settings.backup.url:
            noted = {"id": made.id, "ended": made.ended, "kind": made.kind, "failed": ""}
            note_backup_state(state, noted)
        return made


def _put_index(settings: Settings, place: Destination, id_: str, digests: dict[str, str]) -> list[str]:
    """All of the catalogue, with a full backup; the pieces that are of no more use then."""
    with open_catalogue(settings, place) as catalogue, catalogue_lock(settings):
        pieces = place.keys(PIECES)
        digests[INDEX] = catalogue.write_whole(f"backups/{id_}/{INDEX}")
    return pieces


def _clear_up(state: Path) -> None:
    """What a run that was killed has left: its folder, and the program that goes on to fill it."""
    for left in state.glob("backup-*/"):
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if words and Path(words[0]).name.startswith("pg_") and any(f"{left}/" in word for word in words):
                end_process(process, signal.SIGKILL, 10)
        shutil.rmtree(left, ignore_errors=True)


def _database(
    settings: Settings, place: Destination, plan: BackupPlan, id_: str, folder: Path, report: Report
) -> tuple[str, int, dict[str, str]]:
    """The first segment it needs, bytes stored, and their hashes."""
    if plan.kind == "files":
        return "", 0, {}
    admin = postgres_endpoints(settings)[1] or ""
    data, tools = folder / "data", postgres_programs()
    command = [f"{tools}/pg_basebackup", "-d", admin, "-D", str(data), "-c", "fast", "--no-sync"]
    if plan.parent is not None:
        (folder / "parent").write_bytes(place.read(f"backups/{plan.parent.id}/backup_manifest"))
        command.append(f"--incremental={folder / 'parent'}")
    report(f"database: {plan.kind}, {plan.why}")
    room = DiskRoom(settings.state_dir, settings.disk.free_bytes, settings.disk.free_percent)

    def fitting(one: tarfile.TarInfo) -> tarfile.TarInfo:
        room.require()
        return one

    room.require()
    run_tool(command, room)
    run_tool([f"{tools}/pg_verifybackup", "-q", str(data)])
    packed = folder / "base.tar.gz"
    with gzip.open(packed, "wb", compresslevel=1) as out, tarfile.open(fileobj=out, mode="w|") as tar:
        tar.add(data, arcname=".", filter=fitting)
    names = {"base.tar.gz": packed, "backup_manifest": data / "backup_manifest"}
    digests = {}
    for name, path in names.items():
        with path.open("rb") as file:
            digest = sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        digests[name] = digest.hexdigest()
        place.put_file(f"backups/{id_}/{name}", path)
    ranges = json.loads((data / "backup_manifest").read_text())["WAL-Ranges"]
    size = packed.stat().st_size
    shutil.rmtree(data)
    report(f"database: {size / 2**20:,.1f} MiB")
    return segment_of(int(ranges[0]["Timeline"]), str(ranges[0]["Start-LSN"])), size, digests


def segment_of(timeline: int, lsn: str) -> str:
    """The name of the 16 MiB segment that holds a position."""
    high, low = (int(part, 16) for part in lsn.split("/"))
    return f"{timeline:08X}{high:08X}{low >> 24:08X}"


def run_tool(command: list[str], room: DiskRoom | None = None, tick: Callable[[], None] | None = None) -> None:
    """One of Postgres' programs; `tick` is called twice a second meanwhile.

    Raises BackupFailed with its words; DiskFull before a disk is full that others use.
    """
    with (
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as tool,
        cleanup_on_error(tool.kill),
    ):
        while True:
            try:
                words, _ = tool.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                if tick is not None:
                    tick()
                if room is not None and (why := room.missing()) is not None:
                    raise why from None
    if tool.returncode != 0:
        raise BackupFailed(f"{Path(command[0]).name} ({tool.returncode}): {words.strip()[-800:]}")


def _last_migration(settings: Settings) -> str:
    if _ask(settings, "select coalesce(to_regclass('schema_migrations')::text, '')") == "":
        return ""
    return _ask(settings, "select coalesce(max(name), '') from schema_migrations")


def settings_text(settings: Settings) -> bytes:
    """What is set, without secrets: for whoever sets up another machine."""
    words, sections = ("key", "password", "secret", "url"), section_types()
    shown = {
        section: {
            key: value
            for key, value in getattr(settings, section).model_dump(mode="json").items()
            if not kind.is_secret(key) and not any(word in key for word in words)
        }
        for section, kind in sections.items()
    }
    return json.dumps(shown, indent=1, sort_keys=True).encode()


def _ask(settings: Settings, query: str) -> str:
    admin = postgres_endpoints(settings)[1]
    if admin is None:
        raise InvalidSettings("the owner of the database is not configured", fix="Set DATABASE_ADMIN_URL.")
    with connect_primary_blocking(admin, timeline_fence(settings), autocommit=True, connect_timeout=10) as connection:
        row = connection.execute(query.encode()).fetchone()
    return "" if row is None else str(row[0])
