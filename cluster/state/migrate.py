"""Apply migrations/NNNN_*.sql once each, in order, by the owner of the schema."""

from hashlib import sha256
from pathlib import Path

import psycopg

from cluster.basics.errors import InvalidSettings

FOLDER = Path(__file__).parent / "migrations"
LOCK = 7_240_114  # any constant: two starters must not migrate at once


async def migrate(conninfo: str, folder: Path = FOLDER) -> list[str]:
    """Bring the database up to date and return the names that were applied now.

    Raises:
        InvalidSettings: the role may not bypass row-level security, or an applied file was edited since.
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
