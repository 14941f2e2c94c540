"""Apply migrations/NNNN_*.sql once each, in order, by the owner of the schema; then let the application in."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from cluster.basics.errors import Conflict, InvalidSettings, Permanent, Unavailable
from cluster.state.db import migration_files
from cluster.state.db.embedded import APPLICATION_ROLE
from cluster.state.db.migration_files import MigrationFile, read_migrations
from cluster.state.db.primary import TimelineFence, connect_primary

FOLDER = migration_files.FOLDER
LOCK = 7_240_114  # any constant: two starters must not migrate at once
GRANT_SAYS_INHERIT = 160_000  # before, whether a member inherits was said of the role alone

Connection = psycopg.AsyncConnection[tuple[object, ...]]


class NewerState(Permanent):
    """The state was written by newer code than this."""

    code = "newer_state"


@dataclass(frozen=True, slots=True)
class LockPatience:
    """Waiting for locks: whoever comes after a statement that waits for one waits behind it, so it gives way soon.

    Attributes:
        wait_seconds: that a statement waits for a lock, and others behind it.
        pause_seconds: before it is tried again.
        give_up_seconds: from the first try of a migration.
        leave_seconds: that sessions of the application have to end: Postgres lists them until their process is gone.
    """

    wait_seconds: float = 1.0
    pause_seconds: float = 2.0
    give_up_seconds: float = 180.0
    leave_seconds: float = 10.0


PATIENT = LockPatience()


def _nobody(line: str) -> None:
    """Where nobody wants to read."""


async def apply_migrations(
    conninfo: str, folder: Path = FOLDER, report: Callable[[str], None] = _nobody, patience: LockPatience = PATIENT
) -> list[str]:
    """Bring the database up to date and return the names that were applied now.

    `conninfo` is of one server (`current_server`). `report` gets a line for each, and how long it took, where there was
    a schema before.

    Raises:
        InvalidSettings: the role may not bypass row-level security, or an applied file was edited since.
        NewerState: migrations were applied that this code does not know.
        Conflict: one needs old code stopped, and the application is connected.
        Unavailable: a lock could not be had in time; what was applied before stays.
    """
    applied_now = []
    files = read_migrations(folder)
    async with await connect_primary(conninfo, None, autocommit=True) as connection:
        await connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        await _check_role(connection)
        await connection.execute(
            "create table if not exists schema_migrations"
            " (name text primary key, hash text not null, at timestamptz not null default now())"
        )
        cursor = await connection.execute("select name, hash from schema_migrations")
        applied: dict[str, str] = dict(await cursor.fetchall())
        pending = pending_migrations(applied, files)
        if applied:
            await _refuse_beside_old_code(connection, pending, patience.leave_seconds)
        for one in pending:
            took = await _apply_patiently(connection, one, patience, report)
            if applied:
                report(f"schema: {one.name} applied in {took:.2f} s")
            applied_now.append(one.name)
    return applied_now


def pending_migrations(applied: Mapping[str, str], files: Iterable[MigrationFile]) -> list[MigrationFile]:
    """Those that are not applied yet; `applied` are names with hashes.

    Raises NewerState where others were applied, InvalidSettings where a file was edited since.
    """
    known = {one.name: one for one in files}
    if unknown := sorted(applied.keys() - known.keys()):
        what = f"{', '.join(unknown[-3:])} is applied, and this code ends with {max(known, default='none')}"
        raise NewerState(
            f"the state was written by newer code: {what}",
            fix="Start the newer version again, or this one on a backup from before. Nothing was changed.",
        )
    for name, digest in applied.items():
        if known[name].hash != digest:
            raise InvalidSettings(f"{name} was edited after it was applied", fix="Add a new migration.")
    return [one for one in known.values() if one.name not in applied]


async def application_sessions(connection: Connection) -> int:
    """Connections of the application to this database, a pooler's included."""
    cursor = await connection.execute(
        "select count(*)::int from pg_stat_activity a join pg_roles r on r.oid = a.usesysid"
        " where a.datname = current_database() and a.pid <> pg_backend_pid() and not r.rolsuper"
        " and exists (select from pg_roles g where g.rolname = %s and pg_has_role(r.oid, g.oid, 'usage'))",
        (APPLICATION_ROLE,),
    )
    row = await cursor.fetchone()
    return int(str(row[0])) if row else 0


async def _refuse_beside_old_code(
    connection: Connection, pending: Iterable[MigrationFile], leave_seconds: float
) -> None:
    stopping = [one for one in pending if one.needs_stop]
    if stopping and (sessions := await _sessions_that_stay(connection, leave_seconds)):
        one = stopping[0]
        raise Conflict(
            f"{one.name} needs the version from before stopped ({one.needs_stop[0]}); {sessions} connections of the"
            " application are open",
            fix="Run `aos down`, on each machine of a cluster, then `aos up`. Nothing was changed.",
        )


async def _sessions_that_stay(connection: Connection, seconds: float) -> int:
    """Whoever was stopped a moment ago is on its way out, and no old code any more."""
    until, sessions = time.monotonic() + seconds, await application_sessions(connection)
    while sessions and time.monotonic() < until:
        await asyncio.sleep(min(0.2, seconds))
        sessions = await application_sessions(connection)
    return sessions


async def _apply_patiently(
    connection: Connection, one: MigrationFile, patience: LockPatience, report: Callable[[str], None]
) -> float:
    """Apply one whole or not at all, and again while somebody holds what it needs; the seconds that it took at last."""
    began = time.monotonic()
    while True:
        started = time.monotonic()
        try:
            async with connection.transaction():
                await connection.execute(f"set local lock_timeout = {round(patience.wait_seconds * 1000)}")
                await connection.execute(one.text.encode())
                kept = "insert into schema_migrations (name, hash) values (%s, %s)"
                await connection.execute(kept, (one.name, one.hash))
            return time.monotonic() - started
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
            holders = await _open_transactions(connection)
            if time.monotonic() - began > patience.give_up_seconds:
                raise Unavailable(
                    f"{one.name} could not lock what it changes within {patience.give_up_seconds:g} s; {holders}",
                    fix="End those, or run `aos down`; then `aos up` goes on from here.",
                ) from error
            report(f"schema: {one.name} waits for a lock, so that nobody waits behind it; {holders}")
            await asyncio.sleep(patience.pause_seconds)


async def _open_transactions(connection: Connection) -> str:
    """The oldest transactions that are open in this database, for an error's detail."""
    cursor = await connection.execute(
        "select pid, usename::text, state, extract(epoch from clock_timestamp() - xact_start)::int"
        " from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        " and xact_start is not null and backend_type = 'client backend' order by xact_start limit 3"
    )
    found = [f"{pid} of {user} ({state}, {age} s)" for pid, user, state, age in await cursor.fetchall()]
    return f"open transactions: {', '.join(found)}" if found else "no other transaction is open now"


async def _check_role(connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
    """The three functions that find ids across tenants run with this role's rights."""
    cursor = await connection.execute("select rolsuper or rolbypassrls from pg_roles where rolname = current_user")
    row = await cursor.fetchone()
    if not (row and row[0]):
        raise InvalidSettings(
            "the migrating role cannot bypass row-level security",
            fix="Give DATABASE_ADMIN_URL a superuser, or: alter role <owner> bypassrls createrole;",
        )


async def let_in(owner: str, application: str, fence: TimelineFence | None) -> None:
    """Give whom the application connects as its rights, once it is certain that row-level security binds them.

    The migrations grant to `aos_app`; another role becomes a member of it and inherits. That it owns tables would not
    exempt it: row-level security is forced on all that have it. Both are connection strings, `owner` of who migrated;
    `fence` refuses servers that were replaced.

    Raises:
        InvalidSettings: the role is exempt from row-level security, or cannot be made a member.
        Unavailable: the application cannot connect.
    """
    role, belongs = await _application_role(application, fence)
    if belongs:
        return
    async with await connect_primary(owner, None, autocommit=True) as connection:
        await connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        how = "with inherit true" if connection.info.server_version >= GRANT_SAYS_INHERIT else ""
        group, member = sql.Identifier(APPLICATION_ROLE), sql.Identifier(role)
        by_hand = f"As a superuser: {sql.SQL('grant {} to {}').format(group, member).as_string()};"
        try:
            await connection.execute(sql.SQL("grant {} to {} " + how).format(group, member))
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject) as error:
            what = f"{role}, whom the application connects as, has no rights, and the owner cannot give them: {error}"
            raise InvalidSettings(what, fix=by_hand) from error
        cursor = await connection.execute("select pg_has_role(%s, %s, 'usage')", (role, APPLICATION_ROLE))
        if await cursor.fetchone() != (True,):
            what = f"{role}, whom the application connects as, does not inherit the rights of {APPLICATION_ROLE}"
            raise InvalidSettings(what, fix=f"alter role {member.as_string()} inherit;")


async def _application_role(application: str, fence: TimelineFence | None) -> tuple[str, bool]:
    """The application's role, and whether it has the application's rights already."""
    try:
        async with await connect_primary(application, fence, autocommit=True) as connection:
            cursor = await connection.execute(
                "select rolname::text, rolsuper or rolbypassrls as exempt, exists (select 1 from pg_roles a"
                " where a.rolname = %s and pg_has_role(current_user, a.oid, 'usage')) as belongs"
                " from pg_roles where rolname = current_user",
                (APPLICATION_ROLE,),
            )
            row = await cursor.fetchone()
    except psycopg.OperationalError as error:
        raise Unavailable(
            f"the application cannot connect: {error}",
            fix="Correct DATABASE_URL (or POSTGRES_HOST, POSTGRES_USER and POSTGRES_PASSWORD).",
        ) from error
    assert row is not None  # everybody finds themselves in pg_roles
    role, exempt, belongs = row
    if exempt:
        raise InvalidSettings(
            f"postgres.url or postgres.user (DATABASE_URL, POSTGRES_USER): row-level security does not bind {role},"
            " a superuser or a role with bypassrls",
            fix=f"Name a plain role there, such as {APPLICATION_ROLE}; one with more rights migrates, by"
            " DATABASE_ADMIN_URL.",
        )
    return role, belongs
