"""A dump loaded into a new data folder, which takes the place of one of another major version; that one is kept."""

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from cluster.basics.cleanup import cleanup_on_error
from cluster.basics.disk import DiskRoom, usage_of
from cluster.basics.errors import AosError, Conflict, DiskFull, Invalid, Permanent, Unavailable
from cluster.state.backup.backup_run import run_tool
from cluster.state.backup.database_dump import (
    JOBS,
    NO_DUMP,
    PARTS,
    ROLES,
    TELL_SECONDS,
    DumpManifest,
    Report,
    count_rows,
    every,
    read_dump,
    require_at_rest,
)
from cluster.state.backup.restoring import UNFINISHED_LOAD, require_restored
from cluster.state.db import embedded
from cluster.state.db.daemon import file_lock, make_private
from cluster.state.db.migration_files import FOLDER, VERSION_NEEDED
from cluster.state.db.postgres_major import data_major, programs_major
from cluster.state.db.primary import connect_primary_blocking
from cluster.state.objects.migration import FolderSide
from configs.sections import Settings

LOCK: Final = "load.lock"
LISTS: Final = "load-lists-"  # folders of what pg_restore is told to take
SIZE: Final = "select pg_database_size(oid)::text from pg_database where datname = %s"
# It belongs to one run of a server: the worker would drop what is loaded, and makes it anew after the next start.
KEYWORD_INDEX: Final = " INDEX public document_chunks_bm25"
KEYWORD_RUNS: Final = " TABLE public keyword_index_made "


class LoadFailed(Permanent):
    """The dump could not be loaded."""

    code = "load_failed"
    fix = "See to what it says, and load again."


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What was loaded.

    Attributes:
        dump: what it came from.
        aside: folder with the data from before; None where there was none.
        major: of the server that has it now.
        seconds: that each part took.
    """

    dump: DumpManifest
    aside: Path | None
    major: int
    seconds: dict[str, float] = field(default_factory=dict)


def load_database(settings: Settings, folder: Path, report: Report) -> LoadResult:
    """Load it and compare every table's rows; the server has ended afterwards, and nothing was migrated.

    Raises:
        Conflict: something runs, the data is of this major already, or of another instance.
        Invalid, DamagedDump: the dump is of newer code, or not whole.
        DiskFull: it would not fit.
        LoadFailed: it did not end well. All is as it was before then.
    """
    state = settings.state_dir
    require_at_rest(settings)
    require_restored(state)
    report("the dump's files are compared with their hashes")
    dump = read_dump(folder)
    own = programs_major(embedded.postgres_programs())
    _require_loadable(dump, own)
    make_private(state)
    with file_lock(state / LOCK):
        if (state / UNFINISHED_LOAD).exists():
            report("a load before was broken off: it begins anew")
            _put_back(state)
        _require_place(state, dump, own)
        aside = _set_aside(state, report)
        done = LoadResult(dump, aside, own)
        try:
            with cleanup_on_error(lambda: _put_back(state)):
                _fill(settings, folder, done, report)
        except (Unavailable, DiskFull, LoadFailed, psycopg.Error, OSError) as error:
            hint = error.hint if isinstance(error, AosError) and error.hint else LoadFailed.fix
            raise LoadFailed(f"{str(error).strip()}; {_whereabouts(state, aside)}", fix=hint) from error
        (state / UNFINISHED_LOAD).unlink()
    return done


def _require_loadable(dump: DumpManifest, own: int) -> None:
    if dump.migration and not (FOLDER / dump.migration).exists():
        made = f"newer code: {dump.product} {dump.migration}"
        raise Invalid(f"the dump was made by {made}", fix=f"Load it with {VERSION_NEEDED}.")
    if dump.major > own:
        what = f"the dump is of PostgreSQL {dump.major}, and this version brings PostgreSQL {own}"
        raise Invalid(what, fix="Load it with the version that made it, or a later one.")


def _require_place(state: Path, dump: DumpManifest, own: int) -> None:
    data = state / "postgres"
    major = data_major(data)
    if major is None:
        if data.exists() and (not data.is_dir() or any(data.iterdir())):
            raise Conflict(f"{data} is not empty, and no data of Postgres", fix="Move it away.")
    elif major == own:
        fix = f"Start it with `aos up`. To load the dump all the same, move {data} away."
        raise Conflict(f"{data} is of PostgreSQL {own} already", fix=fix)
    elif "postgres" in embedded.servers_by_name(state):
        raise Conflict(f"the server of {data} runs", fix="Run `aos down` first.")
    elif (system := _system_of(data)) not in ("", dump.system):
        what = f"the dump is of another instance ({dump.system}) than the data in {data} ({system})"
        raise Conflict(what, fix="Name the dump of this one, or an empty AOS_STATE_DIR.")
    free = usage_of(state).free
    if free < dump.bytes:
        detail = f"the database takes {dump.bytes / 2**20:,.1f} MiB, and {free / 2**20:,.1f} are free at {state}"
        raise DiskFull(detail, fix="Free some space there. The data from before stays beside what is loaded.")


def _system_of(data: Path) -> str:
    """The identifier of a data folder of any major: the first eight bytes of its control file; empty without one."""
    try:
        return str(int.from_bytes((data / "global" / "pg_control").read_bytes()[:8], "little"))
    except OSError:
        return ""


def _set_aside(state: Path, report: Report) -> Path | None:
    """Mark the load as begun, and move the data from before out of its way."""
    data, aside = state / "postgres", None
    major = data_major(data)
    if major is not None:
        names = [f"postgres-{major}", *(f"postgres-{major}-{nth}" for nth in range(2, 100))]
        aside = next(state / name for name in names if not (state / name).exists())
    FolderSide(state, private=True).put(UNFINISHED_LOAD, iter([b"" if aside is None else aside.name.encode()]))
    if aside is not None:
        try:
            data.rename(aside)
        except OSError as error:
            (state / UNFINISHED_LOAD).unlink()
            what = f"{data} cannot be moved to {aside.name}: {error.strerror or error}"
            raise Conflict(what, fix="Move it by hand, keep it, and load again.") from error
        report(f"the data of PostgreSQL {major} is kept in {aside}")
    return aside


def _put_back(state: Path) -> None:
    """After a load that failed or was killed: what is half there goes, what was moved aside comes back."""
    mark, data = state / UNFINISHED_LOAD, state / "postgres"
    embedded.stop_servers(state)
    name = mark.read_text(encoding="utf-8").strip()
    # What was not moved yet, or is back already, is of the other major; what is of ours is half a load.
    if not name or (state / name).exists() or data_major(data) == programs_major(embedded.postgres_programs()):
        shutil.rmtree(data, ignore_errors=True)
    if name and (state / name).exists():
        (state / name).rename(data)
    for left in state.glob(f"{LISTS}*/"):
        shutil.rmtree(left, ignore_errors=True)
    mark.unlink()


def _whereabouts(state: Path, aside: Path | None) -> str:
    """Where the data from before is after a failure, for the error's detail."""
    if aside is None:
        return "there is no data, as before"
    if (state / UNFINISHED_LOAD).exists():  # the disk let nothing be moved
        return f"the data from before is still in {aside}, and comes back with the next load"
    return f"the data from before is in {state / 'postgres'} again"


def _fill(settings: Settings, folder: Path, done: LoadResult, report: Report) -> None:
    dump, database = done.dump, settings.postgres.database
    with embedded.postgres_for_a_look(settings, make=True) as owner:
        assert owner is not None
        server = make_conninfo(owner, dbname="postgres")
        report(f"PostgreSQL {done.major} has started: {dump.bytes / 2**20:,.1f} MiB of PostgreSQL {dump.server} come")
        with connect_primary_blocking(server, None, autocommit=True) as connection:
            _make_roles(connection, (folder / ROLES).read_text(encoding="utf-8"))
            # Made anew by pg_restore, with the settings and rights that it had.
            connection.execute(sql.SQL("drop database {}").format(sql.Identifier(database)))
            began = time.monotonic()
            _restore(settings, server, folder, dump, report)
            done.seconds["restore"] = round(time.monotonic() - began, 3)
            if dump.database != database:
                names = sql.Identifier(dump.database), sql.Identifier(database)
                connection.execute(sql.SQL("alter database {} rename to {}").format(*names))
        report(f"restored in {done.seconds['restore']:.1f} s; rows are counted")
        began = time.monotonic()
        with connect_primary_blocking(owner, None, autocommit=True) as connection:
            _compare_rows(dump.rows, count_rows(connection))
            done.seconds["compare"] = round(time.monotonic() - began, 3)
            connection.execute("analyze")  # else tables are planned for as if they were empty
            connection.execute("checkpoint")  # else the server might have more to write than its end is given time for
    report(f"{sum(dump.rows.values()):,} rows of {len(dump.rows)} tables are as they were")


def _make_roles(connection: psycopg.Connection[tuple[object, ...]], text: str) -> None:
    """Those of the old server with what they may and their passwords; a statement a line, as pg_dumpall writes them."""
    for line in text.splitlines():
        if line.startswith(("CREATE ", "ALTER ", "GRANT ")):
            try:
                connection.execute(line.encode())
            except psycopg.errors.DuplicateObject:
                continue  # the owner and the application have been made with the server


def _restore(settings: Settings, server: str, folder: Path, dump: DumpManifest, report: Report) -> None:
    program, parts = f"{embedded.postgres_programs()}/pg_restore", str(folder / PARTS)
    room = DiskRoom(settings.state_dir, settings.disk.free_bytes, settings.disk.free_percent)
    memory = embedded.graph_memory(embedded.memory_limit()) // 2 // embedded.MIB  # two indexes are made at once
    target = make_conninfo(server, options=f"-c maintenance_work_mem={memory}MB")

    def tell() -> None:
        with connect_primary_blocking(server, None, autocommit=True) as connection:
            row = connection.execute(SIZE, [dump.database]).fetchone()
        report(f"  {0 if row is None else int(row[0]) / 2**20:,.1f} MiB are there")

    with TemporaryDirectory(prefix=LISTS, dir=settings.state_dir) as place:
        everything, chosen = Path(place, "all"), Path(place, "chosen")
        run_tool([program, "-l", "-C", "-f", str(everything), parts])
        text = everything.read_text(encoding="utf-8")
        left_out = KEYWORD_INDEX if KEYWORD_RUNS in text else "\0"
        chosen.write_text("".join(line for line in text.splitlines(keepends=True) if left_out not in line), "utf-8")
        command = [program, "-C", "-e", "-j", JOBS, "-L", str(chosen), "-d", target, parts]
        run_tool(command, room, every(TELL_SECONDS, tell))


def _compare_rows(were: dict[str, int], are: dict[str, int]) -> None:
    other = [
        f"{name}: {were.get(name, 0):,} in the dump, {are.get(name, 0):,} here"
        for name in sorted(were.keys() | are.keys())
        if were.get(name) != are.get(name)
    ]
    if other:
        raise LoadFailed(f"{len(other)} tables have other rows than were dumped: {'; '.join(other[:5])}", fix=NO_DUMP)
