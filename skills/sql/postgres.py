"""Asks Postgres: one statement, in a transaction that may not write, for so long, through a cursor."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.abc import PQGen
from psycopg.generators import fetch
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from cluster.basics.errors import AosError
from cluster.state.db.postgres import load_queries
from skills.framework.contract import OutcomeUnknown
from skills.sql.binding import to_pyformat
from skills.sql.database_errors import (
    DatabaseBusy,
    DatabaseDenied,
    DatabaseUnreachable,
    ExtensionMissing,
    QueryTimeout,
    QueryWrong,
    WritesRefused,
)
from skills.sql.login import DatabaseReach, checked_dsn
from skills.sql.query_result import RowBuffer
from skills.sql.reading import SqlStatement

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_SQL = load_queries(Path(__file__).with_name("postgres.sql"))
_REFUSED = re.compile(r"authentication failed|no pg_hba\.conf entry|FATAL: +(?:database|role) \".*\" |no password")
_PIECE = 100  # rows that are fetched at a time

# Postgres says of these that they may change something, since what they give differs from call to call; it is all.
HARMLESS = frozenset({
    "random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7", "currval",
    "lastval", "pg_database_size", "pg_relation_size", "pg_total_relation_size", "pg_table_size", "pg_indexes_size",
    "pg_tablespace_size", "pg_is_in_recovery", "pg_is_wal_replay_paused", "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp", "pg_current_wal_lsn", "pg_current_wal_insert_lsn",
    "pg_current_wal_flush_lsn", "pg_blocking_pids", "pg_safe_snapshot_blocking_pids", "pg_lock_status",
    "pg_sequence_last_value", "pg_relation_filepath", "pg_relation_filenode", "pg_column_size", "pg_current_logfile",
    "pg_stat_statements", "pg_stat_statements_info", "pg_timezone_names", "pg_show_all_settings",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a call: connecting included in `seconds`; `bytes` of JSON; `reads`: nothing may change."""

    seconds: float
    rows: int
    bytes: int
    reads: bool


async def ask_postgres(
    dsn: str,  # of libpq, as URL or words
    statement: SqlStatement,
    values: Mapping[str, Any],
    limits: QueryLimits,
    reach: DatabaseReach,  # where the database may be
    needs: str | None = None,  # an extension without which the query has no table
) -> dict[str, Any]:
    """Give {columns, rows} with {cut} where there is more, or {affected} where a statement gives no rows.

    A single value that is huge is fetched before it can be cut; Postgres itself allows it up to a gigabyte.

    Raises:
        AosError: by name, those of `failures` and of `login`; no text of a failed login is passed on.
        OutcomeUnknown: a statement that writes was stopped at its end.
    """
    begun: list[bool] = []
    try:
        async with asyncio.timeout(limits.seconds):
            connection = await psycopg.AsyncConnection.connect(await checked_dsn(dsn, limits.seconds, reach))
            begun.append(True)
            try:
                return await _run_statement(connection, statement, values, limits, needs)
            finally:
                await connection.close()
    except TimeoutError:
        if begun and not limits.reads:
            raise OutcomeUnknown(f"the statement did not end within {limits.seconds:g} s") from None
        raise QueryTimeout(f"no end within {limits.seconds:g} s") from None
    except psycopg.Error as error:
        raise _error_of(error, limits, unknown=bool(begun) and not limits.reads) from None


async def _run_statement(
    connection: "AsyncConnection[Any]",
    statement: SqlStatement,
    values: Mapping[str, Any],
    limits: QueryLimits,
    needs: str | None,
) -> dict[str, Any]:
    await connection.set_read_only(limits.reads)
    # Also what a reading transaction lets through goes back: EXPLAIN ANALYZE CREATE TABLE AS does make its table.
    async with connection.transaction(force_rollback=limits.reads):
        fence = {"ms": str(max(1, round(limits.seconds * 1000))), "reads": "on" if limits.reads else "off"}
        await connection.execute(_SQL["fence"], fence)
        if limits.reads:
            await _check_functions(connection, statement.names)
        if needs is not None:
            found = await (await connection.execute(_SQL["extension"], {"name": needs})).fetchone()
            if not found or not found[0]:
                fix = f"An administrator of the database runs: create extension {needs};"
                raise ExtensionMissing(f"{needs} is not in this database", fix=fix)
        return await (_through_cursor if statement.rows else _at_once)(connection, statement, values, limits)


async def _check_functions(connection: "AsyncConnection[Any]", names: frozenset[str]) -> None:
    rows = await (await connection.execute(_SQL["doubtful"], {"names": sorted(names)})).fetchall()
    if doubtful := sorted(row[0] for row in rows if row[0] not in HARMLESS):
        fix = "Where it only reads, whoever defined it says so: alter function … stable."
        raise WritesRefused(f"{doubtful[0]} may change something", fix=fix)


async def _through_cursor(
    connection: "AsyncConnection[Any]", statement: SqlStatement, values: Mapping[str, Any], limits: QueryLimits
) -> dict[str, Any]:
    # DECLARE takes nothing but a query, and one only; rows beyond the limit never leave the server.
    async with connection.cursor(name="answer") as cursor:
        await cursor.execute(*_driver_statement(statement, values))
        answer = RowBuffer([column.name for column in cursor.description or ()], limits.rows, limits.bytes)
        while not answer.cut and (rows := await cursor.fetchmany(_PIECE)):
            answer.add(rows)
        return answer.given()


async def _at_once(
    connection: "AsyncConnection[Any]", statement: SqlStatement, values: Mapping[str, Any], limits: QueryLimits
) -> dict[str, Any]:
    # A stream's protocol takes one statement, whatever the text holds. What is too much is read and dropped: to stop a
    # statement that writes would undo what it has written.
    cursor = _Streamed(connection)
    answer = RowBuffer([], limits.rows, limits.bytes)
    async for row in cursor.stream(*_driver_statement(statement, values)):
        if not answer.cut:
            answer.add([row])
    if cursor.description is None:
        return {"affected": cursor.rowcount}
    answer.columns = [column.name for column in cursor.description]
    return answer.given()


class _Streamed(psycopg.AsyncCursor[Any]):
    """A cursor whose `stream` also takes statements that give no rows, and knows its columns where there is no row."""

    def _stream_fetchone_gen(self, first: bool) -> PQGen[PGresult | None]:
        result = yield from fetch(self._pgconn)
        if result is None:
            return None
        if result.status == ExecStatus.SINGLE_TUPLE:
            self.pgresult = result
            self._tx.set_pgresult(result, set_loaders=first)
            if first:
                self._make_row = self._make_row_maker()
            return result
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            self._raise_for_result(result)
        self.pgresult = result
        self._rowcount = -1 if result.command_tuples is None else result.command_tuples
        while (yield from fetch(self._pgconn)):
            pass
        return None


def _driver_statement(statement: SqlStatement, values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    # Without values psycopg reads no %.
    return (to_pyformat(statement.text), values) if values else (statement.text, None)


def _error_of(error: psycopg.Error, limits: QueryLimits, *, unknown: bool) -> AosError:
    """By SQLSTATE; the message of the server is passed on where it speaks of the statement alone."""
    state, said = error.sqlstate or "", (error.diag.message_primary or "")[:500]
    match state[:2]:
        case "57" if state == "57014":
            return QueryTimeout(f"the database stopped it after {limits.seconds:g} s")
        case "25" if state == "25006":
            return WritesRefused(said)
        case "28" | "3D":
            return DatabaseDenied("the login fails, or there is no such database")
        case "42" if state == "42501":
            return DatabaseDenied(said)
        case "42" | "22" | "23" | "0A" | "26" | "34" | "2F" | "P0" | "21" | "44" | "25" | "2B":
            return QueryWrong(said)
        case "55" if state == "55000":
            return QueryWrong(said)
        case "40" | "53" | "55" | "57":
            return DatabaseBusy(said)
        case _ if state[:2] in ("", "08"):
            if unknown:
                return OutcomeUnknown("the connection was lost")
            # A refused login comes without a state, in the words of libpq, which name the user.
            denied = isinstance(error, psycopg.OperationalError) and _REFUSED.search(str(error))
            return DatabaseDenied("the login fails") if denied else DatabaseUnreachable(type(error).__name__)
        case _:
            return QueryWrong(f"{said} ({state})")
