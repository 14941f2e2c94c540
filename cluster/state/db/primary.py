"""An external Postgres of several servers: whoever takes writes is found, and one that was replaced is not written to.

A standby that is promoted begins a new timeline. The highest that was ever written to is remembered in the state
directory: a former primary that comes back, and knows nothing of its successor, is of an older one and refused.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import tuple_row

from cluster.basics.errors import Conflict, Unavailable
from cluster.state.db.daemon import file_lock, make_private

# A machine that vanishes closes no connection. Without these the kernel waits for two hours, and a new connection for
# two minutes before the next server is tried.
PATIENCE: Mapping[str, str] = {
    "connect_timeout": "10",  # seconds, for each server
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",  # milliseconds
}
WRITABLE = {"target_session_attrs": "read-write"}

_IDENTITY = (
    "select system_identifier::text, case when pg_is_in_recovery() then 0"
    " else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end from pg_control_system()"
)
# Some who run Postgres for others do not tell, each in words of their own: nothing can be compared there, and it is
# theirs to fence. What is left is a server that went away.
_UNTOLD = (
    psycopg.ProgrammingError,
    psycopg.NotSupportedError,
    psycopg.InternalError,
    psycopg.DataError,
    psycopg.errors.ObjectNotInPrerequisiteState,
)


class StaleServer(psycopg.OperationalError):
    """A server that takes writes and whose successor was written to already."""


def patient_conninfo(conninfo: str) -> str:
    """The same servers with limits on waiting; of several, the one that takes writes. What it says itself stays."""
    try:
        said = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:  # who connects with it says so better
        return conninfo
    wanted = {**PATIENCE, **(WRITABLE if len(_split(said.get("host") or said.get("hostaddr"))) > 1 else {})}
    missing = {name: value for name, value in wanted.items() if name not in said}
    return make_conninfo(conninfo, **missing)  # not by hand: a password may hold what ends one, or begins parameters


def server_conninfos(conninfo: str) -> list[str]:
    """A connection string for each server that this one names, in its order; itself where the counts do not match."""
    said = conninfo_to_dict(conninfo)
    hosts, addresses, ports = (_split(said.get(name)) for name in ("host", "hostaddr", "port"))
    count = max(len(hosts), len(addresses), 1)
    if any(len(found) not in (0, count) for found in (hosts, addresses)) or len(ports) not in (0, 1, count):
        return [conninfo]  # who connects with it says so better
    parts = {"host": hosts, "hostaddr": addresses, "port": ports * count if len(ports) == 1 else ports}
    rest: dict[str, Any] = {name: value for name, value in said.items() if name not in parts}
    return [
        make_conninfo(**rest, **{name: found[at] for name, found in parts.items() if found and found[at]})
        for at in range(count)
    ]


def server_name(conninfo: str) -> str:
    """`host:port` of a connection string that names one server."""
    said = conninfo_to_dict(conninfo)
    return f"{said.get('host') or said.get('hostaddr') or 'localhost'}:{said.get('port') or 5432}"


def _split(value: Any) -> list[str]:
    return str(value).split(",") if value is not None else []


class TimelineFence:
    """The highest timeline of each database cluster that was connected to for writing, by any process of ours.

    Attributes:
        refusal: why a server was refused, until one is admitted.
    """

    def __init__(self, state_dir: Path) -> None:
        """Nothing is read yet; the folder is one that all machines of a cluster see."""
        self._folder = state_dir / "postgres-timelines"
        self._unkept: dict[str, int] = {}  # what could not be written down
        self._last = ""
        self.refusal: str | None = None

    def in_order(self, conninfos: Iterable[str]) -> list[str]:
        """Whoever was admitted last comes first: one that vanished would be waited for by each connection."""
        return sorted(conninfos, key=lambda one: server_name(one) != self._last)

    def prefer(self, conninfo: str) -> None:
        """This server was admitted."""
        self._last, self.refusal = server_name(conninfo), None

    async def admit(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Remember this server's timeline. Raises StaleServer where a later one was written to."""
        try:
            async with connection.cursor(row_factory=tuple_row) as cursor:
                await cursor.execute(_IDENTITY)
                row = await cursor.fetchone()
        except _UNTOLD:
            row = None
        await connection.rollback()
        if row is not None and row[1]:
            await asyncio.to_thread(self.compare, row[0], row[1])

    def admit_now(self, connection: psycopg.Connection[Any]) -> None:
        """As `admit`, where there is no loop."""
        try:
            with connection.cursor(row_factory=tuple_row) as cursor:
                row = cursor.execute(_IDENTITY).fetchone()
        except _UNTOLD:
            row = None
        connection.rollback()
        if row is not None and row[1]:
            self.compare(row[0], row[1])

    def compare(self, system: str, timeline: int) -> None:
        """As `admit`, of a database cluster's identifier and a server's timeline."""
        if not system.isdecimal():  # it names a file
            return
        known = max(self._unkept.get(system, 0), self._read(system))
        if timeline < known:
            self.refusal = (
                f"a Postgres that takes writes is of timeline {timeline}, and {known} was written to since: it was"
                f" replaced. Make it a standby of its successor; were it really the one to use (restored from before,"
                f" perhaps), remove {self._folder / system}"
            )
            raise StaleServer(self.refusal)
        if timeline > known and not self._keep(system, timeline):
            self._unkept[system] = timeline

    def _read(self, system: str) -> int:
        try:
            return int((self._folder / system).read_text(encoding="ascii"))
        except (OSError, ValueError):  # nobody wrote it yet, or this machine does not see the folder
            return 0

    def _keep(self, system: str, timeline: int) -> bool:
        path = self._folder / system
        try:
            make_private(self._folder)
            with file_lock(self._folder / "lock"):
                if timeline > self._read(system):
                    fresh = path.with_suffix(".new")
                    with fresh.open("w", encoding="ascii") as file:
                        file.write(f"{timeline}\n")
                        file.flush()
                        os.fsync(file.fileno())
                    fresh.rename(path)
        except (OSError, Unavailable):  # a full disk, somebody else's folder: this process knows it all the same
            return False
        return True


def fenced_connection(fence: TimelineFence | None) -> type[psycopg.AsyncConnection[Any]]:
    """A kind of connection that passes over servers which the fence refuses; without one, any connection."""
    if fence is None:
        return psycopg.AsyncConnection
    held = fence

    class FencedConnection(psycopg.AsyncConnection[Any]):
        @classmethod
        async def connect(cls, conninfo: str = "", **rest: Any) -> Self:
            failures: list[psycopg.Error] = []
            for one in held.in_order(server_conninfos(conninfo)):
                try:
                    connection = await super().connect(one, **rest)
                except psycopg.OperationalError as error:
                    failures.append(error)
                    continue
                try:
                    await held.admit(connection)
                except psycopg.OperationalError as error:
                    await connection.close()
                    failures.append(error)
                    continue
                except BaseException:
                    await connection.close()
                    raise
                held.prefer(one)
                return connection
            raise _one_of(failures)

    return FencedConnection


def connect_fenced(conninfo: str, fence: TimelineFence | None, **rest: Any) -> psycopg.Connection[Any]:
    """As a connection of `fenced_connection`, where there is no loop; raises as psycopg does."""
    if fence is None:
        return psycopg.connect(conninfo, **rest)
    failures: list[psycopg.Error] = []
    for one in fence.in_order(server_conninfos(conninfo)):
        try:
            connection = psycopg.connect(one, **rest)
        except psycopg.OperationalError as error:
            failures.append(error)
            continue
        try:
            fence.admit_now(connection)
        except psycopg.OperationalError as error:
            connection.close()
            failures.append(error)
            continue
        fence.prefer(one)
        return connection
    raise _one_of(failures)


def _one_of(failures: list[psycopg.Error]) -> psycopg.Error:
    if len(failures) == 1:
        return failures[0]
    told = "; ".join(" ".join(str(one).split()) for one in failures)
    return (StaleServer if any(isinstance(one, StaleServer) for one in failures) else type(failures[-1]))(told)


async def current_server(conninfo: str, fence: TimelineFence | None) -> str:
    """The connection string of the one server among them that a pool would write to; as it is without a fence.

    Raises Conflict where who takes writes was replaced by another server, Unavailable where nobody takes any.
    """
    if fence is None:
        return conninfo
    failures: list[psycopg.Error] = []
    for one in fence.in_order(server_conninfos(conninfo)):
        try:
            connection = await fenced_connection(fence).connect(one, autocommit=True)
        except psycopg.OperationalError as error:
            failures.append(error)
            continue
        await connection.close()
        return one
    told = _one_of(failures)
    if isinstance(told, StaleServer):
        raise Conflict(str(told), fix="Start its successor, or name that one in DATABASE_ADMIN_URL too.") from told
    raise Unavailable(f"Postgres does not answer: {told}", fix="Start it, or correct DATABASE_ADMIN_URL.") from told
