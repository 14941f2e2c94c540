"""Upgrade check: what the migrations that are pending lock, for how long, and what stands in their way; read-only."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from cluster.basics.errors import AosError, InvalidSettings, Permanent, Unavailable
from cluster.state.db import embedded, migrate
from cluster.state.db.migration_files import FOLDER, HeldLock, MigrationFile, read_migrations
from cluster.state.db.postgres_major import OtherPostgres, data_major, programs_major
from cluster.state.db.primary import TimelineFence, connect_primary
from configs.sections import Settings

ROOM = 256 * 2**20  # bytes that stay free beside what migrations write
# Not as options of the connection: to whoever looks for a server that takes writes, it would not be one.
LOOK = "set default_transaction_read_only = on; set lock_timeout = '5s'; set statement_timeout = '60s'"
UP_TO_DATE, REFUSED, PENDING, PENDING_STOP = 0, 1, 3, 4  # exit codes


@dataclass(frozen=True, slots=True)
class PendingMigration:
    """A migration to come: `locks` on tables that are there, at most; `stop` why old code may not run beside it."""

    name: str
    locks: tuple[HeldLock, ...]
    seconds: float
    stop: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpgradeFinding:
    """Why `aos up` refuses, or something that it should not begin without, in a sentence, and what to do."""

    code: str
    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """What an upgrade would do.

    Attributes:
        applied: migrations that are applied.
        refusals: why `aos up` would refuse.
        cautions: what may end it in its middle; nothing is lost then.
        server: major version of the Postgres that answers; None where none was asked.
        data: major version that wrote the embedded server's data folder; None for an external server and before it.
        brings: major version of the embedded server of this code; None for an external server.
        free_bytes: on the disk of the embedded server's data; None for an external server.
        needed_bytes: that migrations write at most.
        sessions: open connections of the application.
    """

    applied: int = 0
    pending: tuple[PendingMigration, ...] = ()
    refusals: tuple[UpgradeFinding, ...] = ()
    cautions: tuple[UpgradeFinding, ...] = ()
    server: int | None = None
    data: int | None = None
    brings: int | None = None
    free_bytes: int | None = None
    needed_bytes: int = 0
    sessions: int = 0

    @property
    def exit_code(self) -> int:
        """0 nothing is pending, 1 refused, 3 pending beside old code, 4 pending with old code stopped."""
        if self.refusals:
            return REFUSED
        if not self.pending:
            return UP_TO_DATE
        return PENDING_STOP if any(one.stop for one in self.pending) else PENDING


@dataclass(frozen=True, slots=True)
class SchemaState:
    """What the database holds: migrations by name, bytes by table, and who is connected."""

    applied: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    server: int = 0
    sessions: int = 0


def check_upgrade(
    settings: Settings, folder: Path = FOLDER, free_bytes: Callable[[Path], int] | None = None
) -> UpgradeReport:
    """Look, and change nothing; an embedded Postgres that does not run does so as long as this lasts.

    Raises:
        Unavailable: Postgres cannot be asked.
        InvalidSettings: an external one is configured, but not who may migrate it.
    """
    files = read_migrations(folder)
    data = settings.state_dir / "postgres"
    external = embedded.is_external(settings.postgres)
    brings = None if external else programs_major(embedded.postgres_programs())
    wrote = None if external else data_major(data)
    if not external and wrote is None:
        pending = tuple(PendingMigration(one.name, (), 0.0, ()) for one in files)
        return UpgradeReport(pending=pending, brings=brings)
    try:
        with embedded.postgres_for_a_look(settings) as owner:
            if owner is None:
                raise InvalidSettings(
                    "an external Postgres is configured, but not who may migrate it",
                    fix="Set DATABASE_ADMIN_URL (or POSTGRES_ADMIN_USER and POSTGRES_ADMIN_PASSWORD).",
                )
            schema = asyncio.run(read_schema(owner, embedded.timeline_fence(settings)))
    except OtherPostgres as error:
        return UpgradeReport(refusals=(_refusal(error),), data=wrote, brings=brings)
    free = None if external else (free_bytes or _free_bytes)(data)
    return judge_upgrade(schema, files, free, data=wrote, brings=brings)


def judge_upgrade(
    schema: SchemaState,
    files: list[MigrationFile],
    free: int | None,
    *,
    data: int | None = None,
    brings: int | None = None,
) -> UpgradeReport:
    """The report on a schema that was read."""
    refusals: tuple[UpgradeFinding, ...] = ()
    try:
        pending = migrate.pending_migrations(schema.applied, files)
    except Permanent as error:
        pending, refusals = [], (_refusal(error),)
    fresh = not schema.applied
    found = [_pending(one, {} if fresh else schema.sizes, fresh=fresh) for one in pending]
    needed = sum(one.new_bytes(schema.sizes) for one in pending)
    return UpgradeReport(
        applied=len(schema.applied),
        pending=tuple(found),
        refusals=refusals,
        cautions=_disk_cautions(free, needed) if pending else (),
        server=schema.server // 10_000 or None,
        data=data,
        brings=brings,
        free_bytes=free,
        needed_bytes=needed,
        sessions=schema.sessions,
    )


async def read_schema(owner: str, fence: TimelineFence | None) -> SchemaState:
    """The migrations that are applied, and the bytes of each table with its indexes; `owner` is who migrates.

    Raises Unavailable where it cannot be asked.
    """
    try:
        return await _read_schema(owner, fence)
    except (psycopg.OperationalError, psycopg.errors.InsufficientPrivilege) as error:
        raise Unavailable(
            f"Postgres cannot be asked: {str(error).strip()}", fix="See to the server, and to DATABASE_ADMIN_URL."
        ) from error


async def _read_schema(owner: str, fence: TimelineFence | None) -> SchemaState:
    async with await connect_primary(owner, fence, autocommit=True) as connection:
        await connection.execute(LOOK)
        there = await connection.execute("select to_regclass('public.schema_migrations') is not null")
        applied: dict[str, str] = {}
        if await there.fetchone() == (True,):
            rows = await connection.execute("select name, hash from schema_migrations order by name")
            applied = dict(await rows.fetchall())
        tables = await connection.execute(
            "select c.relname::text, case c.relkind when 'p' then"
            " (select coalesce(sum(pg_total_relation_size(relid)), 0)::bigint from pg_partition_tree(c.oid))"
            " else pg_total_relation_size(c.oid) end from pg_class c"
            " where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'm', 'v')"
        )
        sizes: dict[str, int] = dict(await tables.fetchall())
        sessions = await migrate.application_sessions(connection)
        return SchemaState(applied, sizes, connection.info.server_version, sessions)


def _pending(one: MigrationFile, sizes: dict[str, int], *, fresh: bool) -> PendingMigration:
    locks = one.held_locks(sizes)
    return PendingMigration(
        one.name, tuple(locks), max((lock.seconds for lock in locks), default=0.0), () if fresh else one.needs_stop
    )


def _disk_cautions(free: int | None, needed: int) -> tuple[UpgradeFinding, ...]:
    if free is None or free >= needed + ROOM:
        return ()
    what = f"{needed + ROOM:,} bytes may be needed, and {free:,} are free on the disk of the data"
    return (UpgradeFinding("disk_full", what, "Free some space before `aos up`."),)


def _refusal(error: AosError) -> UpgradeFinding:
    return UpgradeFinding(error.code, str(error), error.hint)


def _free_bytes(data: Path) -> int:
    return shutil.disk_usage(data).free
