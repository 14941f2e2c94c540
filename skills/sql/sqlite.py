"""Asks a file of SQLite: opened for reading, with an authorizer that knows what the statement will really do."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

from cluster.basics.errors import AosError
from skills.sql.database_errors import DatabaseBusy, DatabaseUnreachable, QueryTimeout, QueryWrong, WritesRefused
from skills.sql.login import file_of
from skills.sql.postgres import QueryLimits
from skills.sql.query_result import RowBuffer
from skills.sql.reading import FORBIDDEN, SqlStatement

_STEPS = 2_000  # of SQLite's machine between two looks at the clock: about a tenth of a millisecond
_LONGEST = 10_000_000  # bytes of one value

_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_CHANGES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_WRITES = _CHANGES | {sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT}
_PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"})


async def ask_sqlite(
    dsn: str, statement: SqlStatement, values: Mapping[str, Any], limits: QueryLimits, folders: Sequence[Path]
) -> dict[str, Any]:
    """Give {columns, rows} with {cut} where there is more, or {affected}; of a file in one of the folders.

    Raises AosError: by name, those of `failures`.
    """
    stop = threading.Event()
    try:
        path = await asyncio.to_thread(file_of, dsn, folders)
        return await asyncio.to_thread(_run_statement, path, statement, values, limits, stop)
    finally:
        stop.set()  # a cancelled call leaves its thread behind; it ends at its next look


def open_database(path: Path, limits: QueryLimits) -> sqlite3.Connection:
    """The file, read-only where the limits say so, never made. Raises sqlite3.Error: there is none, or no database."""
    mode = "ro" if limits.reads else "rw"
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode={mode}", uri=True, timeout=min(limits.seconds, 5.0))
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    if limits.reads:
        connection.execute("pragma query_only = on")
    return connection


def _run_statement(
    path: Path, statement: SqlStatement, values: Mapping[str, Any], limits: QueryLimits, stop: threading.Event
) -> dict[str, Any]:
    end = monotonic() + limits.seconds
    try:
        connection = open_database(path, limits)
    except sqlite3.Error:
        raise DatabaseUnreachable("the file cannot be opened") from None
    try:
        connection.set_authorizer(_make_authorizer(limits.reads))
        connection.set_progress_handler(lambda: int(stop.is_set() or monotonic() > end), _STEPS)
        with connection:
            cursor = connection.execute(statement.text, values)
            if cursor.description is None:
                return {"affected": cursor.rowcount}
            answer = RowBuffer([column[0] for column in cursor.description], limits.rows, limits.bytes)
            for row in cursor:
                answer.add([row])
                if answer.cut:
                    break
            return answer.given()
    except sqlite3.Error as error:
        raise _error_of(error, limits) from None
    finally:
        connection.close()


def _make_authorizer(reads: bool) -> Callable[..., int]:
    def decide(action: int, first: str | None, second: str | None, *_: object) -> int:
        allowed = action in _READS or (not reads and action in _WRITES)
        allowed = allowed or (action == sqlite3.SQLITE_FUNCTION and not FORBIDDEN.fullmatch(second or ""))
        allowed = allowed or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS)
        # So it announces the columns of pragma_table_info and its like; a statement cannot write there by itself.
        allowed = allowed or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master")
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return decide


def _error_of(error: sqlite3.Error, limits: QueryLimits) -> AosError:
    code, said = getattr(error, "sqlite_errorcode", None), str(error)[:500]
    match code:
        case sqlite3.SQLITE_INTERRUPT:
            return QueryTimeout(f"no end within {limits.seconds:g} s")
        case sqlite3.SQLITE_AUTH:
            return WritesRefused("the statement does what this skill is not for")
        case sqlite3.SQLITE_READONLY:
            return WritesRefused(said)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return DatabaseBusy(said)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_IOERR:
            return DatabaseUnreachable(said)
        case _:
            return QueryWrong(said)
