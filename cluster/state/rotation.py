"""Seals everything that is sealed anew under the current key, in all tenants; may be broken off and repeated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, InvalidSettings, Unavailable
from cluster.state.db.postgres import Connection, load_queries
from cluster.state.db.primary import connect_primary
from cluster.state.settings.settings_rows import envelope_of, sealed_value, setting_place
from cluster.state.vault import KeyFile, UnopenableSecret, Vault, key_id, secret_place

TABLES = ("credentials", "llm_connections", "run_secrets", "oauth_connections", "webhook_secrets")
SETTINGS = "system_settings"  # few rows, sealed inside their JSON
BATCH = 200
LOCK = 7_240_115  # any constant: two rotations must not put two keys in front of each other
KEPT = 2  # keys that a file keeps: the current one, and the one before, which opens yesterday's backup
_FIRST = "00000000-0000-0000-0000-000000000000"

Queries = Mapping[str, str]
Report = Callable[[str, int, int], None]  # table, done, of how many


@dataclass(slots=True)
class TableRotation:
    """The result of a key rotation over one table's envelopes.

    Attributes:
        total: how many there are.
        old: how many another key had sealed.
        resealed: how many are sealed anew; in a dry run how many could be.
        failed: id -> why it cannot be opened; it stays as it is.
    """

    total: int = 0
    old: int = 0
    resealed: int = 0
    failed: dict[str, str] = field(default_factory=dict)


async def rotate_keys(
    conninfo: str, vault: Vault, file: KeyFile | None, report: Report, *, dry_run: bool = False
) -> dict[str, TableRotation]:
    """Seal anew what an older key sealed; each row in one statement, so that it opens at every moment.

    `conninfo` is that of the schema's owner, who sees all tenants, on one server (`current_server`). `file` is where
    the keys are kept, if they are not configured: it gets a new key in front, unless a rotation was broken off, which
    is then ended first; the key before stays, as somebody may be sealing with it right now. `report` is told after each
    batch.

    Raises Conflict where another rotation runs, InvalidSettings where this role does not see all tenants, and
    Unavailable where Postgres does not answer.
    """
    sql = load_queries(Path(__file__).with_suffix(".sql"))
    try:
        async with await connect_primary(conninfo, None, autocommit=True, row_factory=dict_row) as connection:
            await _lock_rotation(connection)
            found = await _count_envelopes(connection, sql, vault)
            if file is not None and not dry_run and not any(table.old for table in found.values()):
                file.put_in_front()
                found = await _count_envelopes(connection, sql, vault)
            for name in TABLES:
                await _reseal_table(connection, sql, vault, name, found[name], report, dry_run=dry_run)
            await _reseal_settings(connection, sql, vault, found[SETTINGS], report, dry_run=dry_run)
            if file is not None and not dry_run and not any(table.failed for table in found.values()):
                file.keep(KEPT)
            return found
    except psycopg.OperationalError as error:
        raise Unavailable(f"Postgres went away: {error}", fix="Repeat it: what is done stays done.") from error


async def _lock_rotation(connection: Connection) -> None:
    cursor = await connection.execute(
        "select pg_try_advisory_lock(%s) as alone, rolsuper or rolbypassrls as sees from pg_roles"
        " where rolname = current_user",
        [LOCK],
    )
    row = await cursor.fetchone()
    if row is None or not row["sees"]:
        raise InvalidSettings("this role does not see all tenants", fix="Set DATABASE_ADMIN_URL.")
    if not row["alone"]:
        raise Conflict("another rotation runs")


async def _count_envelopes(connection: Connection, sql: Queries, vault: Vault) -> dict[str, TableRotation]:
    found = {}
    for name in TABLES:
        row = await (await connection.execute(sql[f"count_{name}"], {"key": vault.current})).fetchone()
        found[name] = TableRotation() if row is None else TableRotation(row["total"], row["old"])
    sealed = await (await connection.execute(sql[SETTINGS])).fetchall()
    old = sum(key_id(envelope_of(row["value"])) != vault.current for row in sealed)
    found[SETTINGS] = TableRotation(len(sealed), old)
    return found


async def _reseal_settings(
    connection: Connection, sql: Queries, vault: Vault, table: TableRotation, report: Report, *, dry_run: bool
) -> None:
    for row in await (await connection.execute(sql[SETTINGS])).fetchall():
        try:
            fresh = vault.rotate(envelope_of(row["value"]), setting_place(row["key"]))
        except UnopenableSecret as error:
            table.failed[row["key"]] = error.detail
            continue
        if fresh is None:
            continue
        if not dry_run:
            values = {"key": row["key"], "before": Jsonb(row["value"]), "fresh": Jsonb(sealed_value(fresh))}
            await connection.execute(sql[f"reseal_{SETTINGS}"], values)
        table.resealed += 1
    if table.old:
        report(SETTINGS, table.resealed + len(table.failed), table.old)


async def _reseal_table(
    connection: Connection,
    sql: Queries,
    vault: Vault,
    name: str,
    table: TableRotation,
    report: Report,
    *,
    dry_run: bool,
) -> None:
    after = _FIRST
    while True:
        values = {"key": vault.current, "after": after, "most": BATCH}
        rows = await (await connection.execute(sql[name], values)).fetchall()
        if not rows:
            return
        for row in rows:
            before, id_ = bytes(row["sealed"]), str(row["id"])
            try:
                fresh = vault.rotate(before, secret_place(str(row["tenant_id"]), str(row["workspace_id"]), name, id_))
            except UnopenableSecret as error:
                table.failed[id_] = error.detail
                continue
            if not dry_run:
                values = {"fresh": fresh, "id": id_, "before": before}
                await connection.execute(sql[f"reseal_{name}"], values)
            table.resealed += 1
        after = str(rows[-1]["id"])
        report(name, table.resealed + len(table.failed), table.old)
