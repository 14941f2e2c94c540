"""The clock of sources: starts syncs that are due, and hides documents whose rights are too old."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import psycopg

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db.postgres import Database, Row
from pipelines.documents.sync.source_store import SourceStore
from pipelines.documents.sync.start_sync import SyncStarter
from pipelines.documents.sync.synced_documents import SyncedDocuments

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 30.0
AT_ONCE: Final = 20
HIDDEN_AT_ONCE: Final = 500


class SourceClock:
    """Runs where questions are answered: while somebody can ask, what is stale is hidden."""

    def __init__(
        self,
        database: Database,
        store: SourceStore,
        documents: SyncedDocuments,
        starter: SyncStarter,
        clock: Callable[[], datetime],
    ) -> None:
        """`clock` gives the moment, with a time zone."""
        self._db, self._store, self._documents = database, store, documents
        self._starter, self._clock = starter, clock
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """From now on it ticks here too; each due sync starts once, whoever looks."""
        self._tasks = [asyncio.create_task(self._repeat(act)) for act in (self.start_due, self.hide_stale)]

    async def close(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def tick(self) -> int:
        """Start what is due and hide what is stale, once; for how many sources there was something to do."""
        return await self.start_due() + await self.hide_stale()

    async def start_due(self) -> int:
        """Start syncs that are due; how many there were."""
        due = await self._store.due(self._clock(), AT_ONCE)
        for row in due:
            await self._start_due(_scope_of(row), row["id"])
        return len(due)

    async def hide_stale(self) -> int:
        """Hide documents whose rights are too old; of how many sources. It may take long, and no start waits for it."""
        stale = await self._store.stale(self._clock(), AT_ONCE)
        for row in stale:
            await self._hide(_scope_of(row), row["id"])
        return len(stale)

    async def _repeat(self, act: Callable[[], Awaitable[int]]) -> None:
        while True:
            try:
                await act()
            except (AosError, psycopg.Error) as error:  # the next time tries again
                log.warning("sources: %s: %s", type(error).__name__, error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _start_due(self, scope: Scope, source: str) -> None:
        """Start its sync and say when the next is due, both or neither."""
        now = self._clock()
        try:
            async with self._db.transaction(scope) as tx:
                if not await self._store.take_due(tx, scope, source, now):  # another process was faster
                    return
                job = await self._starter.sync(tx, scope, source)
                # A listing that is under way may have passed what has changed since.
                await self._store.set_next(tx, scope, source, now, None if job.fresh else LOOK_SECONDS)
        except AosError as error:  # others are due, too
            log.warning("source %s: %s: %s", source, type(error).__name__, error)

    async def _hide(self, scope: Scope, source: str) -> None:
        """Batch by batch; it counts as hidden once all are, so that one that is cut off begins again."""
        after: str | None = ""
        while True:
            async with self._db.transaction(scope) as tx:
                if not await self._store.still_stale(tx, scope, source, self._clock()):
                    return
                if after is not None:
                    after = await self._documents.hide_stale(tx, scope, source, after, HIDDEN_AT_ONCE)
                elif not await self._documents.hide_visible(tx, scope, source, HIDDEN_AT_ONCE):
                    await self._store.set_hidden(tx, scope, source)
                    return


def _scope_of(row: Row) -> Scope:
    return Scope.of_worker(TenantId(row["tenant_id"]), WorkspaceId(row["workspace_id"]))
