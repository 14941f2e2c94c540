"""The embedded database as pg_dump writes it, for a server of another major version: its parts, the manifest last."""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psycopg
from pydantic import TypeAdapter, ValidationError

from cluster.basics.cleanup import cleanup_on_error
from cluster.basics.disk import DiskRoom
from cluster.basics.errors import Conflict, Invalid, Permanent
from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.destination import BackupFailed
from cluster.state.backup.restoring import require_finished
from cluster.state.db.embedded import is_external, postgres_for_a_look, postgres_programs
from cluster.state.db.migrate import pending_migrations
from cluster.state.db.migration_files import read_migrations
from cluster.state.db.primary import connect_primary_blocking
from cluster.state.objects.migration import FolderSide
from cluster.state.supervised import find_supervisor, lives_elsewhere
from configs.sections import Settings

MANIFEST: Final = "manifest.json"
ROLES: Final = "roles.sql"
PARTS: Final = "database"
FORM: Final = 1  # of manifests; what older code could not read has a higher one
JOBS: Final = "2"  # processes of pg_dump and of pg_restore
TELL_SECONDS: Final = 10.0
NO_DUMP: Final = "Name the folder of a dump that ended well, or dump again with the version that wrote the data."
# Every table that a dump holds the rows of, partitions one by one; what belongs to an extension comes with it.
TABLES: Final = (
    "select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace"
    " where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and not exists (select from"
    " pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e') order by 1"
)
FACTS: Final = (
    "select current_setting('server_version'), current_setting('server_version_num')::int / 10000,"
    " (select system_identifier::text from pg_control_system()), current_database()::text,"
    " pg_database_size(current_database())"
)
OTHERS: Final = (
    "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    " and backend_type = 'client backend'"
)
Report = Callable[[str], None]
Connection = psycopg.Connection[tuple[Any, ...]]


class DamagedDump(Permanent):
    """The dump is not what was written."""

    code = "damaged_dump"
    fix = NO_DUMP


@dataclass(frozen=True, slots=True)
class DumpManifest:
    """A finished dump: written last, so that one that was killed half-way is none.

    Attributes:
        product: the version that made it.
        migration: the newest one that its schema has.
        server, major: PostgreSQL's version, as 18.6 and as 18.
        system: the data folder's own identifier.
        database: its name.
        taken: ISO moment that all of it is of.
        bytes: of the database as it was on the disk.
        rows: by table.
        digests: SHA-256 of each file, by its path in the folder.
    """

    product: str
    migration: str
    server: str
    major: int
    system: str
    database: str
    taken: str
    bytes: int
    rows: dict[str, int]
    digests: dict[str, str]
    form: int = FORM


_FORM: Final = TypeAdapter(DumpManifest)


def require_at_rest(settings: Settings) -> None:
    """Raises Invalid, Conflict: the database is not AOS' own, or an instance runs on this state directory."""
    if is_external(settings.postgres):
        fix = "Its operator upgrades that server (pg_upgrade, or pg_dump and pg_restore); AOS starts on it as before."
        raise Invalid("the database is external by the settings", fix=fix)
    state = settings.state_dir
    if find_supervisor(state) is not None or lives_elsewhere(state) is not None:
        raise Conflict(f"AOS runs on {state}, and would go on to write", fix="Run `aos down` first.")


def dump_database(settings: Settings, folder: Path, report: Report) -> DumpManifest:
    """Write all of it into an empty or new folder; a server that does not run does so meanwhile.

    Raises:
        Conflict: something runs, migrations are pending, or the folder is not empty.
        NewerState, OtherPostgres, Unavailable: the data is not for this version.
        BackupFailed, DiskFull: it could not be written. Nothing is left of it then.
    """
    require_at_rest(settings)
    require_finished(settings.state_dir)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        fix = f"Name an empty folder or a new one. One without {MANIFEST} is what a killed dump has left: remove it."
        raise Conflict(f"{folder} is not empty", fix=fix)
    room = DiskRoom(folder, settings.disk.free_bytes, settings.disk.free_percent)
    room.require()
    with postgres_for_a_look(settings) as owner:
        assert owner is not None  # an embedded server has one
        try:
            with connect_primary_blocking(owner, None) as connection:
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                migration = _require_current(connection)
                _make_folder(folder)
                with cleanup_on_error(lambda: _clear(folder)), room.writing():
                    return _write(owner, connection, folder, migration, room, report)
        except psycopg.Error as error:
            raise BackupFailed(f"the server: {str(error).strip()}", fix="See to it, and dump again.") from error


def read_dump(folder: Path) -> DumpManifest:
    """A dump that is whole. Raises DamagedDump, and Invalid where newer code has made it."""
    try:
        body = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise DamagedDump(f"{folder} is no dump: it has no {MANIFEST}") from error
    try:
        made = _FORM.validate_json(body)
    except ValidationError as error:
        raise DamagedDump(f"{folder / MANIFEST} is not what a dump writes") from error
    if made.form != FORM:
        raise Invalid(f"the dump was made by newer code: {made.product}", fix="Load it with that version.")
    found = file_digests(folder)
    for name, digest in made.digests.items():
        if name not in found:
            raise DamagedDump(f"{name} is missing in {folder}")
        if found[name] != digest:
            raise DamagedDump(f"{folder / name} is not what was written")
    return made


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file but the manifest, by its path in the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / MANIFEST:
            with path.open("rb") as file:
                found[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def count_rows(connection: Connection) -> dict[str, int]:
    """By table; whoever asks has to be one whom row-level security does not bind."""
    return dict(_counts(connection, [str(name) for (name,) in connection.execute(TABLES).fetchall()]))


def _counts(connection: Connection, tables: list[str]) -> Iterator[tuple[str, int]]:
    for table in tables:
        row = connection.execute(f"select count(*) from {table}".encode()).fetchone()  # quoted by Postgres
        yield table, 0 if row is None else int(row[0])


def every(seconds: float, tell: Callable[[], None]) -> Callable[[], None]:
    """Calls `tell` when so many seconds have passed since the last time, or the beginning."""
    last = [time.monotonic()]

    def tick() -> None:
        if time.monotonic() - last[0] >= seconds:
            last[0] = time.monotonic()
            tell()

    return tick


def _require_current(connection: Connection) -> str:
    """The newest migration. Raises Conflict, NewerState: the schema is not this version's, or somebody is connected."""
    others = connection.execute(OTHERS).fetchone()
    if others != (0,):
        raise Conflict("somebody else is connected to the database", fix="Run `aos down`, and end what else uses it.")
    there = connection.execute("select to_regclass('public.schema_migrations') is not null").fetchone() == (True,)
    found = connection.execute("select name, hash from schema_migrations").fetchall() if there else []
    applied: dict[str, str] = dict(found)
    if pending := pending_migrations(applied, read_migrations()):
        what = f"{len(pending)} migrations are not applied yet, {pending[0].name} the first"
        raise Conflict(what, fix="Run `aos up` and `aos down` with this version, then dump.")
    return max(applied)


def _write(
    owner: str, connection: Connection, folder: Path, migration: str, room: DiskRoom, report: Report
) -> DumpManifest:
    snapshot = connection.execute("select pg_export_snapshot()").fetchone()
    facts = connection.execute(FACTS).fetchone()
    assert snapshot is not None and facts is not None
    server, major, system, database, size = facts
    taken = datetime.now(UTC).isoformat()
    report(f"PostgreSQL {server}, {size / 2**20:,.1f} MiB in the database {database}")
    tools = postgres_programs()
    roles = ["--roles-only", "--no-comments", "-d", owner, "-f", str(folder / ROLES)]
    run_tool([f"{tools}/pg_dumpall", *roles])
    # gzip is the one compression that every build of pg_restore knows; its higher levels cost more time than disk.
    how = ["-Fd", "-j", JOBS, "-Z", "gzip:1", f"--snapshot={snapshot[0]}", "-d", owner, "-f", str(folder / PARTS)]
    began = time.monotonic()
    tick = every(TELL_SECONDS, lambda: report(f"  {_folder_bytes(folder) / 2**20:,.1f} MiB are written"))
    run_tool([f"{tools}/pg_dump", *how], room, tick)
    report(f"dumped in {time.monotonic() - began:.1f} s, {_folder_bytes(folder) / 2**20:,.1f} MiB; rows are counted")
    rows, digests = count_rows(connection), file_digests(folder)
    facts_told = (server, major, system, database, taken, size, rows, digests)
    made = DumpManifest(version("aos"), migration, *facts_told)
    FolderSide(folder, private=True).put(MANIFEST, iter([_FORM.dump_json(made, indent=1)]))
    report(f"{sum(rows.values()):,} rows of {len(rows)} tables")
    return made


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        fix = "Name a folder that this account may make or owns."
        raise Conflict(f"{folder}: {error.strerror or error}", fix=fix) from error


def _clear(folder: Path) -> None:
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    (folder / ROLES).unlink(missing_ok=True)


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
