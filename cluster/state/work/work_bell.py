"""Postgres tells of work that may be claimed (LISTEN and NOTIFY): nobody has to look for it all the time."""

import asyncio
import logging
import secrets
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import psycopg

from cluster.basics.errors import Transient
from cluster.state.db.postgres import Database, SqlStore
from cluster.state.db.primary import connect_primary

_log = logging.getLogger("aos.work")

RUNS, WEBHOOKS = "run:", "webhook:"
PROBE_SECONDS = 60.0  # between two proofs that it is told
PROOF = "probe:"
AGAIN_SECONDS = 2.0  # before a connection that was lost is made anew
READ_SECONDS = 1.0  # for what has begun to arrive


class WorkBell(SqlStore, queries="work_bell.sql"):
    """Rings for a queue whenever Postgres tells of it. Queues are `job:` and a lane, `run:` and `webhook:`.

    It trusts no connection: every minute a word of its own has to arrive. Where it does not, as behind a pooler that
    lends connections by transaction, `hears` is false, and whoever waits looks as often as without it.
    """

    def __init__(self, database: Database, conninfo: str, probe_seconds: float = PROBE_SECONDS) -> None:
        """Nothing is heard before `listen`; `conninfo` is of a connection that it keeps for itself."""
        super().__init__(database)
        self._conninfo, self._probe_seconds = conninfo, probe_seconds
        self.hears = False
        self._counts: Counter[str] = Counter()
        self._all = 0  # times that it rang for all of them
        self._rung: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._wakes: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)
        self._listening: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen from now on; once is enough, whoever else opens it."""
        if self._listening is None:
            self._listening = asyncio.create_task(self.listen())

    async def close(self) -> None:
        """Listen no more."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening})

    def on_ring(self, queue: str, wake: Callable[[], None]) -> None:
        """Call `wake` whenever it rings for the queue."""
        self._wakes[queue].append(wake)

    def pause(self, *, poll: float, sweep: float) -> float:
        """Seconds until one looks without having been told: `poll` where it is deaf."""
        return max(poll, sweep) if self.hears else poll

    def count(self, queue: str) -> int:
        """How often it rang for a queue; to be asked before one looks whether something waits."""
        return self._counts[queue] + self._all

    async def wait(self, queue: str, since: int, *, poll: float, sweep: float) -> None:
        """Until it rings for the queue, or has rung since `since`; at most `sweep` seconds, `poll` where it is deaf."""
        if self.count(queue) != since:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(sweep if self.hears else poll):
                await self._rung[queue].wait()

    def ring(self, *queues: str) -> None:
        """Let whoever waits for these queues look; without any, for all."""
        self._counts.update(queues)
        self._all += not queues
        for queue in queues or tuple(self._rung):
            self._rung.pop(queue, asyncio.Event()).set()
        for queue in queues or tuple(self._wakes):
            for wake in self._wakes.get(queue, ()):
                wake()

    async def listen(self) -> None:
        """Listen until cancelled; a connection that is lost is made anew."""
        while True:
            try:
                async with await connect_primary(self._conninfo, self._db.fence, autocommit=True) as connection:
                    await connection.execute(self._sql["listen"].encode())
                    while await self._hear(connection):
                        pass
            except (psycopg.Error, Transient) as error:
                _log.warning("work is looked for, as Postgres does not tell of it: %s", error)
            finally:
                self.hears = False
                self.ring()
            await asyncio.sleep(AGAIN_SECONDS)

    async def _hear(self, connection: psycopg.AsyncConnection[Any]) -> bool:
        """Ring for what is told until it is time for another proof; false where this one did not arrive."""
        word, arrived = f"{PROOF}{secrets.token_hex(8)}", False
        async with self._db.transaction() as tx:
            await tx.all(self._sql["probe"], word=word)
        async for notice in listen_quietly(connection, self._probe_seconds):
            if notice.payload == word:
                arrived = True
                if not self.hears:  # what was told before may have been missed
                    self.hears = True
                    self.ring()
            elif not notice.payload.startswith(PROOF):  # of other workers: each has a word of its own, for ever
                self.ring(notice.payload)
        if not arrived:
            _log.warning("work is looked for: Postgres tells nothing on this connection")
        return arrived


async def listen_quietly(connection: psycopg.AsyncConnection[Any], seconds: float) -> AsyncIterator[psycopg.Notify]:
    """What Postgres tells within so many seconds, as soon as it does.

    `notifies` by itself wakes ten times a second, to see whether somebody has interrupted it: a tenth of what an idle
    worker computes. Here the connection wakes us.
    """
    deadline = monotonic() + seconds
    async for notice in connection.notifies(timeout=0):  # what came with the answer to something else
        yield notice
    while (left := deadline - monotonic()) > 0 and await _has_data(connection, left):
        async for notice in connection.notifies(timeout=READ_SECONDS, stop_after=1):
            yield notice


async def _has_data(connection: psycopg.AsyncConnection[Any], seconds: float) -> bool:
    loop, arrived, number = asyncio.get_running_loop(), asyncio.Event(), connection.fileno()
    loop.add_reader(number, arrived.set)
    try:
        async with asyncio.timeout(seconds):
            await arrived.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(number)
    return True
