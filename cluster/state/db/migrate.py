"""Apply migrations/NNNN_*.sql once each, in order, by the owner of the schema; then let the application in."""

from hashlib import sha256
from pathlib import Path

import psycopg
from psycopg import sql

from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.state.db.embedded import APPLICATION_ROLE

FOLDER = Path(__file__).parents[1] / "migrations"
LOCK = 7_240_114  # any constant: two starters must not migrate at once
GRANT_SAYS_INHERIT = 160_000  # before, whether a member inherits was said of the role alone


async def apply_migrations(conninfo: str, folder: Path = FOLDER) -> list[str]:
    """Bring the database up to date and return the names that were applied now.

    Raises InvalidSettings where the role may not bypass row-level security, or an applied file was edited since.
    """
    applied_now = []
    files = [(path.name, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("[0-9]*.sql"))]  # noqa: ASYNC240
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        await _check_role(connection)
        await connection.execute(
            "create table if not exists schema_migrations"
            " (name text primary key, hash text not null, at timestamptz not null default now())"
        )
        cursor = await connection.execute("select name, hash from schema_migrations")
        applied: dict[str, str] = dict(await cursor.fetchall())
        for name, text in files:
            digest = sha256(text.encode()).hexdigest()
            if name in applied:
                if applied[name] != digest:
                    raise InvalidSettings(f"{name} was edited after it was applied", fix="Add a new migration.")
                continue
            async with connection.transaction():
                await connection.execute(text.encode())
                await connection.execute("insert into schema_migrations (name, hash) values (%s, %s)", (name, digest))
            applied_now.append(name)
    return applied_now


async def _check_role(connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
    """The three functions that find ids across tenants run with this role's rights."""
    cursor = await connection.execute("select rolsuper or rolbypassrls from pg_roles where rolname = current_user")
    row = await cursor.fetchone()
    if not (row and row[0]):
        raise InvalidSettings(
            "the migrating role cannot bypass row-level security",
            fix="Give DATABASE_ADMIN_URL a superuser, or: alter role <owner> bypassrls createrole;",
        )


async def let_in(owner: str, application: str) -> None:
    """Give whom the application connects as its rights, once it is certain that row-level security binds them.

    The migrations grant to `aos_app`; another role becomes a member of it and inherits. That it owns tables would not
    exempt it: row-level security is forced on all that have it. Both are connection strings, `owner` of who migrated.

    Raises:
        InvalidSettings: the role is exempt from row-level security, or cannot be made a member.
        Unavailable: the application cannot connect.
    """
    role, belongs = await _application_role(application)
    if belongs:
        return
    async with await psycopg.AsyncConnection.connect(owner, autocommit=True) as connection:
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


async def _application_role(application: str) -> tuple[str, bool]:
    """The application's role, and whether it has the application's rights already."""
    try:
        async with await psycopg.AsyncConnection.connect(application, autocommit=True) as connection:
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
