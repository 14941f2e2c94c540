"""Has the BM25 index made anew before it would write to disk what it holds in memory, which it writes as it came."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from cluster.basics.errors import Unavailable
from cluster.state.db.postgres import Database, load_queries

log = logging.getLogger(__name__)

_SQL: Final = load_queries(Path(__file__).with_suffix(".sql"))
# Chunks in memory, of all, at which the index is made anew. Each takes 2.3 KB there, and is looked at by every question
# that has one of its words: 20,000 of them take 4 ms and 40,000 11 ms (eight words, p50), as long as a whole search.
_SHARE: Final = 0.2
LEAST_WAITING, MOST_WAITING = 10_000, 50_000
# Rows that have gone, of all, at which their places are given back, and chunks in memory with which that is done.
_GONE: Final = 0.2
LEAST_GONE, FEW_WAITING = 1_000, 1_000
_REST: Final = 4  # times as long as the last one took, before another: who writes chunks waits for it
_TRIES, _PAUSE = 50, 0.2  # seconds; who reads chunks holds the table for as long as that takes


class KeywordRefresh:
    """For pg_textsearch before 1.2, whose index is sound where it was made at one go, and in memory.

    What it writes from memory later is not sorted, as its search takes it to be: words of a chunk are passed over then,
    and a question may never end.
    """

    def __init__(
        self,
        database: Database,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`database` is the application's."""
        self._database, self._sleep, self._clock = database, sleep, clock
        self._rested = 0.0  # by the clock: when it may be made again

    async def refresh(self) -> bool:
        """Make the index anew if it is time; True where another is asked from now on.

        Who writes chunks waits for as long as it takes, 48 s for a million; who asks does not.

        Raises:
            Unavailable: Postgres cannot be reached, or the table is held by others for too long.
            psycopg.Error: it cannot be made.
        """
        state = await self._read_state()
        if state is None:
            return False
        cluttered = state["gone"] >= max(LEAST_GONE, _GONE * state["chunks"])
        most = min(max(LEAST_WAITING, _SHARE * state["chunks"]), MOST_WAITING)
        due = state["written"] or state["waiting"] > most or (cluttered and state["waiting"] > FEW_WAITING)
        taken = due and self._clock() >= self._rested and await self._replace()
        if cluttered:
            await self._give_places_back()
        return taken

    async def _replace(self) -> bool:
        begun = self._clock()
        await self._answer("make_spare")
        taken = False
        for _ in range(_TRIES):
            try:
                taken = await self._answer("take_spare")
                break
            except Unavailable:
                await self._sleep(_PAUSE)
        took = self._clock() - begun
        self._rested = self._clock() + _REST * took
        if taken:
            log.info("the keyword index was made anew beside the one that was asked, in %.1f s", took)
        return taken

    async def _give_places_back(self) -> None:
        """A vacuum has the index write what it holds in memory: next to nothing, or the index is made anew for it."""
        state = await self._read_state()
        if state is not None and state["waiting"] <= FEW_WAITING:
            await self._database.vacuum("document_chunks")
            async with self._database.transaction() as tx:
                await tx.run(_SQL["given_back"])

    async def _read_state(self) -> dict[str, Any] | None:
        async with self._database.transaction() as tx:
            return await tx.one(_SQL["state"])

    async def _answer(self, query: str) -> bool:
        async with self._database.transaction() as tx:
            await tx.run("set local statement_timeout = 0")
            row = await tx.only(_SQL[query])
        return bool(row["answer"])
