"""Looks after the indexes: one that a restart or a vacuum has damaged is made anew, and is not asked meanwhile."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cluster.basics.errors import Transient
from cluster.state.postgres import DAMAGED, Database, load_queries

log = logging.getLogger(__name__)

SQL = load_queries(Path(__file__).with_suffix(".sql"))
LOOK_SECONDS = 5.0
PROBE_SECONDS = 300.0  # between probes of a graph, however often it is vacuumed
PROBED = 100  # vectors; each is a search
LEAST_REACH = 0.9  # a sound graph finds itself; under writes a few are missed


class Care:
    """Makes anew what cannot be believed: the BM25 index after a restart of Postgres, and any that failed or misses.

    pg_textsearch before 1.2 does not survive a restart, and pgvector before 0.8.4 can damage a graph that is vacuumed
    under writes. Meanwhile words are ranked by Postgres' own full text, and every vector is measured.
    """

    def __init__(
        self,
        database: Database,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`database` is the application's: functions of the schema's owner do what it may not."""
        self._database, self._sleep, self._clock = database, sleep, clock
        self._probed: dict[int, tuple[int, float]] = {}  # generation to vacuums and when

    async def keep(self) -> None:
        """Look after them until cancelled."""
        while True:
            await self._sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Do now what can be done now; the log says why where something cannot."""
        for work in (self.renew_words, self.probe, self.renew_graphs):
            try:
                await work()
            except Transient as error:
                log.warning("an index is not made anew yet: %s", error)

    async def renew_words(self) -> bool:
        """Make the BM25 index anew if it cannot be believed; False where there is nothing to do.

        Who writes chunks waits for as long as it takes: 48 s for a million.

        Raises:
            Unavailable: Postgres cannot be reached, or the table is held by others for too long.
        """
        if not await self._ask("worn"):
            return False
        begun = self._clock()
        # Two transactions: in one, everybody would wait for the whole, who reads as well.
        await self._ask("drop_worn")
        made = bool(await self._ask("make"))
        if made:
            log.warning("the keyword index was made anew in %.1f s", self._clock() - begun)
        return made

    async def probe(self) -> None:
        """Ask graphs that were vacuumed since the last time for some of their own vectors.

        Raises:
            Unavailable: Postgres cannot be reached.
        """
        async with self._database.transaction() as tx:
            graphs = await tx.all(SQL["graphs"])
        for generation, vacuums in ((row["generation"], row["vacuums"]) for row in graphs):
            before, at = self._probed.get(generation, (None, 0.0))
            if before == vacuums or (before is not None and self._clock() - at < PROBE_SECONDS):
                continue
            self._probed[generation] = vacuums, self._clock()
            if why := await self._fault(generation):
                log.error("the graph of generation %d is made anew: %s", generation, why)
                await self._ask("distrust", name=f"embeddings_{generation}_hnsw", why=why)

    async def renew_graphs(self) -> list[str]:
        """Make graphs anew that cannot be believed, and tell which.

        Who writes vectors of such a generation waits for as long as it takes: half an hour for a million.

        Raises:
            Unavailable: as for words.
        """
        while await self._ask("drop_faulty"):
            pass
        made = []
        while name := await self._ask("make_dropped"):
            log.warning("%s was made anew", name)
            made.append(name)
        return made

    async def _fault(self, generation: int) -> str | None:
        try:
            reach = await self._ask("reach", generation=generation, vectors=PROBED)
        except DAMAGED as error:
            return str(error)
        if reach is None or reach >= LEAST_REACH:
            return None
        return f"it finds {reach:.0%} of its own vectors"

    async def _ask(self, query: str, /, **values: Any) -> Any:
        async with self._database.transaction() as tx:
            row = await tx.one(SQL[query], **values)
        return row["answer"] if row else None
