"""Looks after the indexes: one that a restart or a vacuum has damaged is made anew, and is not asked meanwhile."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from cluster.basics.errors import Transient
from cluster.state.db.postgres import DAMAGED, Database, load_queries
from cluster.state.db.primary import connect_primary
from pipelines.documents.index.keyword_refresh import KeywordRefresh, query_answer

log = logging.getLogger(__name__)

SQL = load_queries(Path(__file__).with_suffix(".sql"))
LOOK_SECONDS, LONGEST_PAUSE = 5.0, 300.0
PROBE_SECONDS = 300.0  # between probes of an index, however often it is vacuumed
IDLE_SECONDS = 900.0  # where it is not: pages can be damaged by whatever holds them
LEAST_VECTORS = 0.9  # a sound graph finds itself; under writes a few are missed
LEAST_WORDS = 0.5  # one that lost its words finds none; a sound one may rank others before a chunk
# pgvector before 0.8.2 can overflow in parallel builds.
BUILD = "set statement_timeout = 0; set max_parallel_maintenance_workers = 0"


class IndexMaintenance:
    """Makes anew what cannot be believed: the BM25 index after a restart of Postgres, and any that failed or misses.

    pg_textsearch before 1.2 does not survive a restart, and once it has met a damaged page it finds nothing and is
    silent. pgvector before 0.8.4 can damage a graph that is vacuumed under writes. Meanwhile words are ranked by
    Postgres' own full text, and every vector is measured.
    """

    def __init__(
        self,
        database: Database,
        owner: str | None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`database` is the application's, `owner` the connection string of the schema's owner, where it is known."""
        self._database, self._owner, self._sleep, self._clock = database, owner, sleep, clock
        self._probed: dict[str, tuple[int, float]] = {}  # index to vacuums and when
        self._words = KeywordRefresh(database, sleep=sleep)

    async def keep(self) -> None:
        """Look after them until cancelled; after a failure less and less often."""
        pause = LOOK_SECONDS
        while True:
            await self._sleep(pause)
            whole = await self.look(self.renew_words, self.refresh_words, self.probe, self.renew_graphs)
            pause = LOOK_SECONDS if whole else min(2 * pause, LONGEST_PAUSE)

    async def look(self, *works: Callable[[], Awaitable[Any]]) -> bool:
        """Do what can be done now; the log says why something cannot. An index is no reason to end anything else."""
        whole = True
        for work in works:
            try:
                await work()
            except (Transient, psycopg.Error) as error:
                log.error("an index is not made anew yet: %s", error)
                whole = False
        return whole

    async def renew_words(self) -> bool:
        """Make the BM25 index anew if it cannot be believed; False where it can, or was made within the hour.

        Who writes chunks waits for as long as it takes: 48 s for a million.

        Raises:
            Unavailable: Postgres cannot be reached, or the table is held by others for too long.
            psycopg.Error: it cannot be made.
        """
        if not await self._query_answer("worn"):
            return False
        begun = self._clock()
        # What is damaged goes at once: nothing can be written to it. Two transactions: in one, everybody would wait for
        # the whole, who reads as well.
        await self._query_answer("drop_worn")
        made = bool(await self._query_answer("make"))
        if made:
            log.warning("the keyword index was made anew in %.1f s", self._clock() - begun)
        return made

    async def refresh_words(self) -> None:
        """Make the BM25 index anew beside the one that is asked, where it is time; see `KeywordRefresh`."""
        try:
            await self._words.refresh()
        except DAMAGED as error:
            await self._distrust_index("document_chunks_bm25", str(error))

    async def probe(self) -> None:
        """Ask the indexes for some of what they hold: those never asked yet, or vacuumed, or not asked for long.

        Takes half a second at a million chunks.

        Raises Unavailable: Postgres cannot be reached.
        """
        async with self._database.transaction() as tx:
            indexes = await tx.all(SQL["probed"])
        for row in indexes:
            before, at = self._probed.get(row["name"], (None, -IDLE_SECONDS))
            if self._clock() - at >= (IDLE_SECONDS if before == row["vacuums"] else PROBE_SECONDS):
                self._probed[row["name"]] = row["vacuums"], self._clock()
                await self._probe_index(row["name"], row["generation"], row["young"])

    async def _probe_index(self, name: str, generation: int | None, young: bool) -> None:
        query, least = ("words_met", LEAST_WORDS) if generation is None else ("vectors_met", LEAST_VECTORS)
        try:
            met = await self._query_answer(query, generation=generation)
        except DAMAGED as error:
            await self._distrust_index(name, str(error))
        except psycopg.Error as error:
            log.error("%s cannot be probed: %s", name, error)
        else:
            # A new graph that misses much will do so again: there are vectors that none can reach.
            if met is not None and met < least and not (young and generation is not None):
                await self._distrust_index(name, f"it finds {met:.0%} of what it holds")

    async def renew_graphs(self) -> list[str]:
        """Make graphs anew that cannot be believed, and tell which; nobody waits for it.

        Takes half an hour for a million vectors. Where the owner is not known nothing is done: `aos doctor` says how.

        Raises psycopg.Error: one cannot be made.
        """
        async with self._database.transaction() as tx:
            names: Sequence[str] = [row["name"] for row in await tx.all(SQL["faulty"])]
        if self._owner is None or not names:
            return []
        async with await connect_primary(self._owner, self._database.fence, autocommit=True) as connection:
            cursor = await connection.execute("select pg_try_advisory_lock(hashtext('aos.graphs'))")
            if await cursor.fetchone() != (True,):
                return []
            await connection.execute(BUILD)
            for name in names:
                log.warning("%s is made anew", name)
                await connection.execute(SQL["graph_memory"], {"name": name})
                # What an attempt that was broken off has left.
                left = sql.Identifier(f"{name}_ccnew")
                await connection.execute(sql.SQL("drop index concurrently if exists {}").format(left))
                await connection.execute(sql.SQL("reindex index concurrently {}").format(sql.Identifier(name)))
                await connection.execute(SQL["renewed"], {"name": name})
        return list(names)

    async def _distrust_index(self, name: str, why: str) -> None:
        log.error("%s is not asked any more: %s", name, why)
        await self._query_answer("distrust", name=name, why=why)

    async def _query_answer(self, query: str, /, **values: Any) -> Any:
        return await query_answer(self._database, SQL[query], **values)
