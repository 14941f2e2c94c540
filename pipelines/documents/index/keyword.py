"""The index for BM25, made anew after a restart of Postgres, which pg_textsearch before 1.2 does not survive."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

from cluster.basics.errors import Transient
from cluster.state.postgres import Database, load_queries

log = logging.getLogger(__name__)

SQL = load_queries(Path(__file__).with_suffix(".sql"))
LOOK_SECONDS = 5.0


class KeywordIndex:
    """Keeps it. Meanwhile questions to large scopes are ranked by Postgres' own full text, and results say so."""

    def __init__(self, database: Database, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """`database` is the application's: functions of the schema's owner do what it may not."""
        self._database, self._sleep = database, sleep

    async def renew(self) -> bool:
        """Make it anew if an earlier run of the server made it; False where there is nothing to do.

        Who writes chunks waits for as long as it takes, some minutes for a million chunks.

        Raises:
            Unavailable: Postgres cannot be reached, or the table is held by others for too long.
        """
        if not await self._ask("worn"):
            return False
        begun = perf_counter()
        # Two transactions: in one, everybody would wait for the whole, who reads as well.
        await self._ask("drop_worn")
        made = await self._ask("make")
        if made:
            log.warning("Postgres was restarted: the keyword index was made anew in %.1f s", perf_counter() - begun)
        return made

    async def keep(self) -> None:
        """Look after it until cancelled."""
        while True:
            await self._sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Renew it where that can be done now; the log says why where it cannot."""
        try:
            await self.renew()
        except Transient as error:
            log.warning("the keyword index is not made anew yet: %s", error)

    async def _ask(self, name: str) -> bool:
        async with self._database.transaction() as tx:
            row = await tx.one(SQL[name])
        return bool(row and next(iter(row.values())))
