"""Opens each connection to Postgres: of several servers the one that takes writes, and none that was replaced.

A standby that is promoted begins a new timeline. The highest that was ever written to is remembered in the state
directory: a former primary that comes back, and knows nothing of its successor, is of an older one and refused.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import tuple_row

from cluster.basics.cleanup import async_cleanup_on_error, cleanup_on_error
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


def server_addresses(conninfo: str, resolve: Callable[..., list[Any]] = socket.getaddrinfo) -> list[str]:
    """As `server_conninfos`, and one for each address of a name that has several: each may be a server of its own.

    Blocks while `resolve` asks for addresses.
    """
    return [address for one in server_conninfos(conninfo) for address in _by_address(one, resolve)]


def _by_address(conninfo: str, resolve: Callable[..., list[Any]]) -> list[str]:
    said = conninfo_to_dict(conninfo)
    host = str(said.get("host") or "")
    if not host or said.get("hostaddr") or host.startswith(("/", "@")):  # a socket's folder has no address
        return [conninfo]
    try:
        found = resolve(host, said.get("port") or 5432, type=socket.SOCK_STREAM)
    except OSError:  # who connects with it says so better
        return [conninfo]
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    if len(addresses) < 2:
        return [conninfo]
    writable = {} if "target_session_attrs" in said else WRITABLE
    return [make_conninfo(conninfo, hostaddr=address, **writable) for address in addresses]


def server_name(conninfo: str) -> str:
    """`host:port` of a connection string that names one server."""
    said = conninfo_to_dict(conninfo)
    return f"{said.get('host') or said.get('hostaddr') or 'localhost'}:{said.get('port') or 5432}"


def _place(conninfo: str) -> tuple[Any, ...]:
    said = conninfo_to_dict(conninfo)
    return tuple(said.get(name) for name in ("host", "hostaddr", "port"))


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
        self._last: tuple[Any, ...] = ()
        self.refusal: str | None = None

    def in_order(self, conninfos: Iterable[str]) -> list[str]:
        """Whoever was admitted last comes first: one that vanished would be waited for by each connection."""
        return sorted(conninfos, key=lambda one: _place(one) != self._last)

    def admit(self, conninfo: str, identity: tuple[Any, ...] | None) -> None:
        """Remember the timeline of the server that this names, by its answer to `_IDENTITY`; None where it has none.

        Raises StaleServer where a later one was written to.
        """
        if identity is not None and identity[1]:  # a standby's is 0
            self.compare(str(identity[0]), int(identity[1]))
        self._last, self.refusal = _place(conninfo), None

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


class PrimarySearch:
    """One search for the server to connect to: who is next, which error passes on to the next, what is raised at last.

    It waits for nothing itself: who blocks and who does not decide the same.
    """

    def __init__(self, conninfo: str, fence: TimelineFence) -> None:
        """Asks for the addresses of names, and blocks meanwhile."""
        self.servers = fence.in_order(server_addresses(conninfo))
        self._failures: list[psycopg.Error] = []

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """To connect to one of them, and to have it admitted; where that fails the next one has its turn."""
        try:
            yield
        except psycopg.OperationalError as error:
            self._failures.append(error)

    def failure(self) -> psycopg.Error:
        """Of all of them together: StaleServer where one was refused, else as psycopg raises it."""
        if len(self._failures) == 1:
            return self._failures[0]
        told = "; ".join(" ".join(str(one).split()) for one in self._failures)
        stale = any(isinstance(one, StaleServer) for one in self._failures)
        return (StaleServer if stale else type(self._failures[-1]))(told)


def fenced_connection(fence: TimelineFence | None) -> type[psycopg.AsyncConnection[Any]]:
    """A kind of connection that passes over servers which the fence refuses; without one, any connection."""
    if fence is None:
        return psycopg.AsyncConnection
    held = fence

    class FencedConnection(psycopg.AsyncConnection[Any]):
        @classmethod
        async def connect(cls, conninfo: str = "", **rest: Any) -> Self:
            search = await asyncio.to_thread(PrimarySearch, conninfo, held)
            for one in search.servers:
                with search.attempt():
                    connection = await super().connect(one, **rest)
                    async with async_cleanup_on_error(connection.close):
                        identity = None
                        with suppress(*_UNTOLD):
                            cursor = await connection.cursor(row_factory=tuple_row).execute(_IDENTITY)
                            identity = await cursor.fetchone()
                        await connection.rollback()
                        await asyncio.to_thread(held.admit, one, identity)
                        return connection
            raise search.failure()

    return FencedConnection


async def connect_primary(conninfo: str, fence: TimelineFence | None, **rest: Any) -> psycopg.AsyncConnection[Any]:
    """A connection outside the pool, to the one server that a pool would write to; `rest` as psycopg has it.

    `fence` is None for an embedded server, and for one that `current_server` has just named. Raises as psycopg does,
    StaleServer where whoever takes writes was replaced.
    """
    return await fenced_connection(fence).connect(conninfo, **rest)


def connect_primary_blocking(conninfo: str, fence: TimelineFence | None, **rest: Any) -> psycopg.Connection[Any]:
    """As `connect_primary`, for programs and threads that have no loop."""
    if fence is None:
        return psycopg.connect(conninfo, **rest)
    search = PrimarySearch(conninfo, fence)
    for one in search.servers:
        with search.attempt():
            connection = psycopg.connect(one, **rest)
            with cleanup_on_error(connection.close):
                identity = None
                with suppress(*_UNTOLD):
                    identity = connection.cursor(row_factory=tuple_row).execute(_IDENTITY).fetchone()
                connection.rollback()
                fence.admit(one, identity)
                return connection
    raise search.failure()


async def current_server(conninfo: str, fence: TimelineFence | None) -> str:
    """The connection string of the one server among them that a pool would write to; as it is without a fence.

    Raises Conflict where who takes writes was replaced by another server, Unavailable where nobody takes any.
    """
    if fence is None:
        return conninfo
    try:
        async with await connect_primary(conninfo, fence, autocommit=True) as connection:
            found = connection.info
            address = {"hostaddr": found.hostaddr} if found.hostaddr else {}
            return make_conninfo(conninfo, host=found.host, port=found.port, **address)
    except StaleServer as error:
        fix = "Start its successor, or name that one in DATABASE_ADMIN_URL too."
        raise Conflict(str(error), fix=fix) from error
    except psycopg.OperationalError as error:
        raise Unavailable(
            f"Postgres does not answer: {error}", fix="Start it, or correct DATABASE_ADMIN_URL."
        ) from error
