"""One pool, named queries from .sql files, and the transaction that carries a scope for row-level security."""

import asyncio
import inspect
import re
import select
import struct
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import psycopg
from pgvector import Vector
from psycopg import sql
from psycopg.adapt import Dumper
from psycopg.postgres import types
from psycopg.pq import Format
from psycopg.rows import AsyncRowFactory, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from cluster.basics.cleanup import async_cleanup_on_error
from cluster.basics.errors import AosError, Conflict, DiskFull, LegalHold, NotFound, Overloaded, Unavailable
from cluster.basics.scope import Scope
from cluster.state.db.primary import TimelineFence, fenced_connection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row = dict[str, Any]
Connection = psycopg.AsyncConnection[Row]

# What a query raises that meets an index whose pages make no sense.
DAMAGED = (
    psycopg.errors.InternalError_,
    psycopg.errors.IndexCorrupted,
    psycopg.errors.DataCorrupted,
    psycopg.errors.DataException,
)

# psycopg_pool waits twice as long before each try, until this is over; then it begins anew (`check`). Else a standby
# that takes over after a minute would have nobody for another minute.
RECONNECT_SECONDS = 2.0

HELD = "AOH09"  # what the triggers of legal holds raise, with whom to ask as their hint

IDLE_SECONDS = (
    60.0  # one connection that nobody used for so long ends, of those beyond the first: its server holds 12 MB
)

_NAMED = re.compile(r"^-- (\w+): (.+)$", re.MULTILINE)


def load_queries(path: Path) -> Mapping[str, str]:
    """Read `-- name: a sentence` blocks; ValueError where two share a name, or SQL stands before the first."""
    text = path.read_text(encoding="utf-8")
    marks = list(_NAMED.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        raise ValueError(f"{path.name}: every query begins with `-- name: what it does`")
    found: dict[str, str] = {}
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        name = mark.group(1)
        if name in found:
            raise ValueError(f"{path.name}: {name} stands there twice")
        found[name] = text[mark.start() : following.start() if following else len(text)].strip()
    return found


@dataclass(frozen=True, slots=True)
class Transaction:
    """One open transaction; its scope is set in Postgres and ends with it."""

    connection: Connection

    async def all(self, query: str, **values: Any) -> list[Row]:
        """Every row."""
        cursor = await self.connection.execute(query, values)
        return await cursor.fetchall()

    async def one(self, query: str, **values: Any) -> Row | None:
        """The first row, None where there is none."""
        cursor = await self.connection.execute(query, values)
        return await cursor.fetchone()

    async def only(self, query: str, **values: Any) -> Row:
        """The row that there must be."""
        row = await self.one(query, **values)
        assert row is not None
        return row

    async def required(self, name: str, query: str, /, **values: Any) -> Row:
        """The first row; raises NotFound, which says `name`, where there is none."""
        row = await self.one(query, **values)
        if row is None:
            raise NotFound(name)
        return row

    async def page(self, query: str, count: str, /, *, skip: int, limit: int, **values: Any) -> tuple[list[Row], int]:
        """Some rows of a query, and the `total` of the one that counts them."""
        rows = await self.all(query, **values, skip=skip, limit=limit)
        return rows, int((await self.only(count, **values))["total"])

    async def run(self, query: str, **values: Any) -> int:
        """Execute and tell how many rows it touched."""
        cursor = await self.connection.execute(query, values)
        return cursor.rowcount

    async def many(self, query: str, rows: list[Row]) -> None:
        """Execute once a row, pipelined."""
        if rows:
            async with self.connection.cursor() as cursor:
                await cursor.executemany(query, rows)


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """One query of a journey to the server.

    Attributes:
        query: the named query.
        values: its own.
        settings: of Postgres, such as the planner's; those of a query hold for the ones after it too.
        prepare: keep the statement on the connection; None keeps what is asked often, False never.
        row: what becomes of each row; by itself a dict by column.
    """

    query: str
    values: Mapping[str, Any]
    settings: Mapping[str, str] = field(default_factory=dict)
    prepare: bool | None = None
    row: AsyncRowFactory[Any] = dict_row


class Database:
    """The application's pool. It connects as a role that row-level security binds."""

    def __init__(
        self, conninfo: str, *, size: int = 8, timeout: float = 60, fence: TimelineFence | None = None
    ) -> None:
        """`conninfo` is of the application role, `size` the most connections, `timeout` seconds until Overloaded.

        `fence` refuses servers that were replaced; None where there are none.
        """
        self.fence = fence
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            connection_class=fenced_connection(fence),
            min_size=1,
            max_size=size,
            timeout=timeout,
            max_idle=IDLE_SECONDS,
            reconnect_timeout=RECONNECT_SECONDS,
            reconnect_failed=AsyncConnectionPool.check,
            open=False,
            kwargs={"row_factory": dict_row, "autocommit": True},  # transactions are opened with their scope
            check=_check_connection,
            configure=configure_connection,
        )
        self._pool._pool = _Stack()

    async def open(self) -> None:
        """Connect, or say that the server cannot be reached."""
        try:
            await self._pool.open(wait=True, timeout=30)
        except (PoolTimeout, psycopg.OperationalError) as error:
            await self._pool.close()
            if self.fence is not None and self.fence.refusal is not None:
                raise Unavailable(self.fence.refusal) from error
            raise Unavailable(f"Postgres does not answer: {error}", fix="Start it with `aos up`.") from error

    async def close(self) -> None:
        """Give the connections back."""
        await self._pool.close()

    async def read(
        self,
        scope: Scope,
        query: str,
        settings: Mapping[str, str] = MappingProxyType({}),
        prepare: bool | None = None,
        /,
        **values: Any,
    ) -> list[Row]:
        """Every row of one query; `settings` and `prepare` as in Read."""
        (rows,) = await self.read_all(scope, ReadQuery(query, values, settings, prepare))
        return rows

    async def read_all(self, scope: Scope, *reads: ReadQuery) -> list[list[Any]]:
        """Every row of each query, in a read-only transaction that is one journey to the server and back."""
        given = {"transaction_read_only": "on"} | of_scope(scope)
        async with self._lent() as connection:
            cursors = []
            # What is sent before a pipeline ends is one transaction without `begin` and `commit`: each would be a
            # message of its own, which wakes the server. Were it two, the query would have no scope and find nothing.
            async with async_cleanup_on_error(connection.rollback), connection.pipeline():
                for read in reads:
                    given |= read.settings
                    if given:
                        await connection.execute(*settings_query(given))
                    cursor = connection.cursor(row_factory=read.row)
                    cursors.append(await cursor.execute(read.query, read.values, prepare=read.prepare))
                    given = {}
            return [await cursor.fetchall() for cursor in cursors]

    @asynccontextmanager
    async def transaction(self, scope: Scope | None = None) -> AsyncIterator[Transaction]:
        """Commit at the end, roll back on any error. Without a scope no row that belongs to somebody is seen."""
        async with self._lent() as connection:
            await connection.execute(_begin_statement(scope))
            try:
                async with async_cleanup_on_error(connection.rollback):
                    yield Transaction(connection)
            except psycopg.errors.ReadOnlySqlTransaction as error:  # 25006: a standby by now, or behind a proxy
                await connection.close()  # the next one may lead to its successor
                raise Unavailable("this Postgres takes no writes", fix="It is a standby, or was made one.") from error
            await connection.commit()

    async def vacuum(self, table: str) -> bool:
        """Give the places of a table's rows that have gone back, in its indexes too; it takes as long as it takes.

        False where this role may not maintain it, or another session of ours does.
        """
        key = f"aos.vacuum.{table}"
        async with self._lent() as connection:
            allowed = "select has_table_privilege(%s, 'maintain') and pg_try_advisory_lock(hashtext(%s)) as ours"
            row = await (await connection.execute(allowed, (table, key))).fetchone()
            if row is None or not row["ours"]:
                return False
            try:
                await connection.execute("set statement_timeout = 0")
                await connection.execute(sql.SQL("vacuum (index_cleanup on) {}").format(sql.Identifier(table)))
            finally:
                await connection.execute("reset statement_timeout")
                await connection.execute("select pg_advisory_unlock(hashtext(%s))", (key,))
        return True

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Connection]:
        task = asyncio.current_task()
        asked = task.cancelling() if task else 0
        try:
            async with self._pool.connection() as connection:
                # psycopg_pool waits with `asyncio.wait_for`, which before Python 3.12 loses a cancellation that comes
                # while a connection is handed over: the task would go on, and whoever ends it wait for ever.
                if task and task.cancelling() > asked:
                    await asyncio.sleep(0)  # a scope of anyio cancels again, with the name it knows its own by
                    raise asyncio.CancelledError
                yield connection
        except PoolTimeout as error:
            if self.fence is not None and self.fence.refusal is not None:
                raise Unavailable(self.fence.refusal) from error
            raise Overloaded("every database connection is busy") from error
        except psycopg.OperationalError as error:
            raise classify_postgres_error(error) from error
        except psycopg.DatabaseError as error:
            if error.sqlstate != HELD:
                raise
            fix = f"Ask {error.diag.message_hint}, or another tenant administrator, to release the hold."
            raise LegalHold(error.diag.message_primary or "", fix=fix) from error


class SqlStore:
    """Rows of a part of the product: the pool, and the queries of a file beside the subclass, which names it."""

    _queries: ClassVar[Path]

    def __init_subclass__(cls, queries: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if queries is not None:
            cls._queries = Path(inspect.getfile(cls)).with_name(queries)

    def __init__(self, database: Database) -> None:
        """Nothing is asked yet."""
        self._db, self._sql = database, load_queries(self._queries)


def field_values(record: Any) -> dict[str, Any]:
    """What a dataclass holds, for a query that names its values as the class does; nothing is copied."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


@contextmanager
def unique_or_conflict(taken: str, fix: str | None = None) -> Iterator[None]:
    """Raises Conflict, with these words, where a row breaks a unique constraint."""
    try:
        yield
    except psycopg.errors.UniqueViolation as error:
        raise Conflict(taken, fix=fix) from error


def classify_postgres_error(error: psycopg.OperationalError) -> AosError:
    """Translate an error of the server into one of ours."""
    if isinstance(error, psycopg.errors.DiskFull):  # 53100: also of its temporary files
        told = error.diag.message_primary or str(error)
        fix = "Free some space on the disk of Postgres (embedded, it is that of AOS_STATE_DIR), or move it."
        return DiskFull(f"Postgres has no room to write: {told}", fix=fix)
    return Unavailable(f"Postgres went away: {error}")


class _Stack(deque[Connection]):
    """The connection that came back last is lent first.

    Its server has what it needs at hand; psycopg_pool itself takes turns, so that each question meets a process whose
    caches others have emptied since. A hybrid search at 100,000 chunks takes 6 % less time.
    """

    def popleft(self) -> Connection:
        return self.pop()


class _VectorDumper(Dumper):
    """A vector as pgvector receives it: to write and read its numbers as text takes longer than to compare them."""

    format = Format.BINARY  # without a type of its own: it is the one that the query casts it to

    def dump(self, obj: Vector) -> bytes:
        return obj.to_binary()


class _RealsDumper(Dumper):
    """Numbers of a float32 array as one real[], row after row: a list of them takes a hundred times as long."""

    format = Format.BINARY
    oid = types["float4"].array_oid

    def dump(self, obj: "NDArray[np.float32]") -> bytes:
        import numpy as np  # already there with the array; most processes send none

        items = np.empty(obj.size, [("size", ">i4"), ("value", ">f4")])
        items["size"], items["value"] = 4, obj.ravel()
        return struct.pack("!5i", 1, 0, types["float4"].oid, obj.size, 1) + items.tobytes()


async def configure_connection(connection: psycopg.AsyncConnection[Any]) -> None:
    """Teach a connection to send vectors as the pool's do."""
    connection.adapters.register_dumper(Vector, _VectorDumper)
    connection.adapters.register_dumper("numpy.ndarray", _RealsDumper)


async def _check_connection(connection: Connection) -> None:
    """Check that a pooled connection still stands: a server that went away has closed it, which makes it readable.

    To ask the server each time would cost every request a journey.
    """
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        await AsyncConnectionPool.check_connection(connection)


def _begin_statement(scope: Scope | None) -> sql.SQL | sql.Composed:
    """Open the transaction and set its scope in one message: every request pays for each round trip."""
    if scope is None:
        return sql.SQL("begin")
    calls = [sql.SQL("set_config({}, {}, true)").format(name, value) for name, value in of_scope(scope).items()]
    return sql.SQL("begin; select {}").format(sql.SQL(", ").join(calls))


def settings_query(given: Mapping[str, str]) -> tuple[str, list[str]]:
    """A query, with its values, that sets these until the transaction ends."""
    calls = ", ".join(["set_config(%s, %s, true)"] * len(given))
    return f"select {calls}", [part for pair in given.items() for part in pair]


def of_scope(scope: Scope) -> dict[str, str]:
    """The settings that the policies read."""
    return {
        "aos.tenant": scope.tenant,
        "aos.workspace": scope.workspace,
        "aos.principals": _array_literal(scope.principals),
    }


def _array_literal(values: Sequence[str]) -> str:
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join(f'"{value}"' for value in quoted) + "}"
