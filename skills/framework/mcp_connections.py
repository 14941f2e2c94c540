"""Connections to MCP servers: each belongs to one context, is made in the background, and ends when nobody calls."""

import asyncio
import hmac
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar

from cluster.basics.errors import AosError, Overloaded, Transient

CONNECT_SECONDS = 10.0  # a server that has not answered by then is away
AWAY_SECONDS = 60.0  # and for so long nobody waits for it again
IDLE_SECONDS = 60.0
END_SECONDS = 5.0  # for a connection to be closed properly
MOST_LINKS = 64  # of this process
MOST_OF_WORKSPACE = 16

T = TypeVar("T")
_log = logging.getLogger("aos.mcp")


class ServerAway(Transient):
    """The MCP server does not answer."""

    code, status = "mcp_server_away", 503
    fix = "Look whether it runs, and whether its address or its command is right; it is tried again in a minute."


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """Key of a connection; no two contexts share one."""

    tenant: str
    workspace: str
    user: str | None
    agent: str | None
    session: str | None
    server: str  # what is connected to, as a digest of the options
    credential: str  # with what, as `Remotes.mark` tells it; empty without

    @property
    def away(self) -> tuple[str, str, str, str]:
        """For whom a server is away that did not answer here: never for another tenant, or with another secret."""
        return self.tenant, self.workspace, self.server, self.credential


class McpServer(Protocol):
    """A server that can be connected to, once."""

    name: str  # for people
    fault: AosError | None  # what went wrong last on the way to it, by name
    login: Mapping[str, str]  # headers with secrets; there only while a call is made

    def open(self) -> AbstractAsyncContextManager[Any]:
        """A client that is connected."""

    def name_error(self, error: BaseException) -> AosError | None:
        """The error by its name; None for what the library of such servers does not raise."""


class ServerConnection:
    """A connection. A task of its own opens, holds and closes it: the library's scopes may not change tasks."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.seen: dict[str, str] = {}  # tool to digest of what it said of itself
        self.users, self.broken, self.idle_since = 0, False, 0.0
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._task = asyncio.create_task(self._hold_open())

    @property
    def over(self) -> bool:
        """True where the other side, or a failure, has ended it."""
        return self._task.done()

    async def client(self, seconds: float) -> Any:
        """The connected client. Raises AosError: by name; ServerAway where nothing has a better one."""
        await asyncio.wait({self._ready, self._task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._ready.done() and not self.over:
            return self._ready.result()
        raise self.why(f"did not answer within {seconds:g} s")

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's result, or the connection's end: the library leaves some callers waiting for good.

        Raises AosError: the connection has ended, or (ServiceGarbled) an answer cannot be read: nobody knows then what
        the server has done.
        """
        working = asyncio.create_task(work)
        try:
            await asyncio.wait({working, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise self.why("ended the connection")
            if (error := working.exception()) is not None:
                raise self.server.name_error(error) or error
            return working.result()
        finally:
            if not working.done():
                working.cancel()
                with suppress(asyncio.CancelledError):
                    await working

    def why(self, otherwise: str) -> AosError:
        """The named error that ended the connection, else ServerAway."""
        if self.server.fault is not None:
            return self.server.fault
        error = self._task.exception() if self.over and not self._task.cancelled() else None
        return ServerAway(f"{self.server.name} {otherwise if error is None else f'failed: {_root_class(error)}'}")

    async def close(self) -> None:
        """End it, within some seconds; what the server is made of is gone then."""
        self._end.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=END_SECONDS)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=END_SECONDS)
        if self._task.done() and not self._task.cancelled() and (error := self._task.exception()) is not None:
            _log.info("%s: the connection ended with %s", self.server.name, _root_class(error))

    async def _hold_open(self) -> None:
        async with self.server.open() as client:
            self._ready.set_result(client)
            await self._end.wait()


class McpConnections:
    """All connections of this process."""

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        *,
        connect: float = CONNECT_SECONDS,
        away: float = AWAY_SECONDS,
        idle: float = IDLE_SECONDS,
    ) -> None:
        """`clock` counts seconds, as `connect`, `away` and `idle` do."""
        self._clock, self._connect, self._away_seconds, self._idle = clock, connect, away, idle
        self._links: dict[ConnectionContext, ServerConnection] = {}
        self._away: dict[tuple[str, ...], tuple[float, AosError]] = {}
        self._salt = secrets.token_bytes(32)
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._links)

    def mark(self, secret: Mapping[str, str] | None) -> str:
        """Tells secrets apart without keeping them."""
        if secret is None:
            return ""
        text = "\0".join(f"{name}\0{value}" for name, value in sorted(secret.items()))
        return hmac.digest(self._salt, text.encode("utf-8", "surrogatepass"), "sha256").hex()

    @asynccontextmanager
    async def link(
        self, context: ConnectionContext, make: Callable[[], McpServer], login: Mapping[str, str], *, keep: bool = True
    ) -> AsyncIterator[tuple[ServerConnection, Any]]:
        """The context's connection with its client, for one call; one that fails is not used again.

        `make` is asked where there is no connection yet. `login`: headers with secrets, which the connection has while
        calls are made. It is there for the next call with `keep`; otherwise it ends with this one.

        Raises ServerAway: it did not answer in time, or lately; Overloaded: too many connections are in use.
        """
        self._refuse_away(context)
        link = self._connection_for(context, make)
        link.users += 1
        link.server.login = login
        answered = False
        try:
            try:
                client = await link.client(self._connect)
            except AosError as error:
                link.broken = True
                if isinstance(error, Transient):  # another one is an answer, and a better one may be asked for at once
                    self._away[context.away] = (self._clock() + self._away_seconds, error)
                raise
            yield link, client
            answered = True
        except AosError:
            answered = True  # if with a no
            raise
        finally:
            link.broken |= not answered
            link.users -= 1
            if not link.users:
                link.server.login = {}
                link.idle_since = self._clock()
            self._release_connection(context, link, keep)

    async def aclose(self) -> None:
        """End all of them."""
        links, self._links = list(self._links.values()), {}
        await asyncio.gather(*(link.close() for link in links), *self._closing)

    def _refuse_away(self, context: ConnectionContext) -> None:
        now = self._clock()
        self._away = {key: one for key, one in self._away.items() if one[0] > now}
        if (known := self._away.get(context.away)) is not None:
            until, error = known
            raise ServerAway(f"{error.detail or error.title}; it is tried again in {round(until - now)} s")

    def _connection_for(self, context: ConnectionContext, make: Callable[[], McpServer]) -> ServerConnection:
        known = self._links.get(context)
        if known is not None and not known.over and not known.broken:
            return known
        self._make_room(context)
        link = self._links[context] = ServerConnection(make())
        return link

    def _make_room(self, context: ConnectionContext) -> None:
        for other, link in list(self._links.items()):
            if link.over and not link.users:
                self._drop_connection(other, link)
        ours = [one for one in self._links if (one.tenant, one.workspace) == (context.tenant, context.workspace)]
        for among, most in ((ours, MOST_OF_WORKSPACE), (list(self._links), MOST_LINKS)):
            if len(among) < most:
                continue
            unused = [one for one in among if not self._links[one].users]
            if not unused:
                raise Overloaded(f"{most} connections to MCP servers are in use")
            oldest = min(unused, key=lambda one: self._links[one].idle_since)
            self._drop_connection(oldest, self._links[oldest])

    def _release_connection(self, context: ConnectionContext, link: ServerConnection, keep: bool) -> None:
        if link.users:
            return
        if link.broken or link.over or not keep:
            self._drop_connection(context, link)
        else:
            asyncio.get_running_loop().call_later(self._idle, self._close_idle, context, link)

    def _close_idle(self, context: ConnectionContext, link: ServerConnection) -> None:
        if not link.users and self._links.get(context) is link and self._clock() - link.idle_since >= self._idle * 0.9:
            self._drop_connection(context, link)

    def _drop_connection(self, context: ConnectionContext, link: ServerConnection) -> None:
        if self._links.get(context) is link:
            del self._links[context]
        closing = asyncio.create_task(link.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


def _root_class(error: BaseException) -> str:
    """The class of what went wrong at the bottom; never its text, which may quote what was sent."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
