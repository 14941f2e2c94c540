"""Counting beside the answers: uses wait in memory, and are written together a moment later; no answer waits for it."""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final

import psycopg

from cluster.basics.errors import AosError, Transient
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from pipelines.documents.usage.document_usage import AnswerUse, DocumentUsage

log = logging.getLogger("aos.usage")

EVERY_SECONDS: Final = 2.0  # what a kill loses at most
RETRY_SECONDS: Final = 15.0
AT_ONCE: Final = 200  # answers of one transaction
MOST_WAITING: Final = 5_000  # answers; while the database is away, the oldest go
CLOSE_SECONDS: Final = 5.0


class UsageRecorder:
    """Uses of one process, in the order in which they come. It runs from the first of them on."""

    def __init__(self, database: Database, every: float = EVERY_SECONDS, most: int = MOST_WAITING) -> None:
        """`every`: seconds between two writes; `most`: answers that wait."""
        self._usage, self._every = DocumentUsage(database), every
        self._waiting: deque[AnswerUse] = deque(maxlen=most)
        self._came, self._closed = asyncio.Event(), False
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()  # two flushes at a time would write, and lose, the same
        self.lost = 0  # that nobody could write

    @property
    def waiting(self) -> int:
        """Answers that are not written yet."""
        return len(self._waiting)

    def record(self, use: AnswerUse) -> None:
        """Take an answer's use and return at once; on an event loop. After `close` it is lost."""
        if not use.passages:
            return
        if self._closed:
            self.lost += 1
            return
        self.lost += len(self._waiting) == self._waiting.maxlen
        self._waiting.append(use)
        self._came.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write_on())

    async def flush(self) -> None:
        """Write what waits. Raises Transient, psycopg.OperationalError: the rest waits on."""
        async with self._writing:
            while self._waiting:
                await self._flush_batch()

    async def _flush_batch(self) -> None:
        batch = [self._waiting[n] for n in range(min(AT_ONCE, len(self._waiting)))]
        by_workspace: defaultdict[Scope, list[AnswerUse]] = defaultdict(list)
        for use in batch:
            by_workspace[use.scope].append(use)
        for scope, uses in by_workspace.items():
            await self._write(scope, uses)
        for use in batch:  # those that came meanwhile may have pushed some of them out
            if self._waiting and self._waiting[0] is use:
                self._waiting.popleft()

    async def close(self) -> None:
        """Write what waits, as far as the database answers in time; the database is still open."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        try:
            await asyncio.wait_for(self.flush(), CLOSE_SECONDS)
        except (Transient, psycopg.Error, TimeoutError) as error:
            self.lost += len(self._waiting)
            log.warning("the use of documents in %s answers is not counted: %s", len(self._waiting), error)

    async def _write_on(self) -> None:
        while True:
            await self._came.wait()
            await asyncio.sleep(self._every)
            self._came.clear()
            try:
                await self.flush()
            except (Transient, psycopg.OperationalError) as error:  # it waits, and is written once
                log.warning("the use of documents is counted later: %s: %s", type(error).__name__, error)
                self._came.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _write(self, scope: Scope, uses: Sequence[AnswerUse]) -> None:
        try:
            await self._usage.add(scope, uses)
        except (Transient, psycopg.OperationalError):
            raise
        except (AosError, psycopg.Error) as error:  # the same would fail again, and stand in the way of the others
            self.lost += len(uses)
            log.error("the use of documents in %s answers is not counted: %s", len(uses), error)
