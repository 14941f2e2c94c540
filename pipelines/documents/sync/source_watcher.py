"""Watches the sources of all tenants that can be watched, each in one process at a time."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from uuid import uuid4

from cluster.basics.errors import NotFound
from cluster.state.db.postgres import Database
from cluster.state.work.lease import Heartbeat, LeaseSweep
from configs.sections_sources import SourceSettings
from pipelines.documents.sync.folder_watch import FolderWatch, WatchOpener, WatchPace
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_store import SourceStore
from pipelines.documents.sync.start_sync import SyncStarter
from pipelines.documents.sync.watch_leases import WatchLease, WatchLeases, WatchTerms

_log = logging.getLogger("aos.sources")

AT_ONCE: Final = 64  # sources in one process: each takes one of the kernel's inotify instances, of which there are 128
LEASE_SECONDS: Final = 20.0
CLAIM_SECONDS: Final = 5.0
THREADS: Final = 8  # of their own: a network folder that hangs holds up watches, and nothing else


class SourceWatcher:
    """Watches from `open` on; whatever it does not get to is another process's, or waits for its period."""

    def __init__(
        self,
        database: Database,
        opener: SourceOpener,
        starter: SyncStarter,
        settings: SourceSettings,
        *,
        pace: WatchPace = WatchPace(),
        lease_seconds: float = LEASE_SECONDS,
        claim_seconds: float = CLAIM_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is watched yet."""
        self._opener, self._starter, self._settings, self._pace, self._clock = opener, starter, settings, pace, clock
        self._leases, self._store = WatchLeases(database), SourceStore(database)
        self._terms = WatchTerms(f"watch:{uuid4().hex[:12]}", lease_seconds, opener.watched_kinds())
        self._watches = WatchOpener(settings, clock)
        self._sweep = LeaseSweep(self._claim, self._carry, AT_ONCE, lambda: claim_seconds)
        self._threads = ThreadPoolExecutor(THREADS, "aos-watch")

    async def open(self) -> None:
        """Begin, unless settings say that nothing is watched."""
        if self._settings.watch != "off":
            self._sweep.open()

    async def close(self) -> None:
        """Let go of everything: another process takes it over at once."""
        await self._sweep.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _claim(self, most: int) -> Sequence[WatchLease]:
        return await self._leases.claim(self._terms, most)

    async def _carry(self, lease: WatchLease, stop: asyncio.Event) -> None:
        """Watch one for as long as the lease holds. After an error it is left until the lease runs out."""
        seconds = self._terms.seconds
        heartbeat = Heartbeat(self._leases.heartbeat, lease, seconds, seconds / 4)
        # It is lost where it was taken over, removed, or is not to be watched any more.
        await heartbeat.run_and_release(self._watch(lease), stop, self._leases.release)

    async def _watch(self, lease: WatchLease) -> None:
        try:
            source = await self._store.definition(lease.scope, lease.id)
            threads, pace = self._threads, self._pace
            watch = FolderWatch(
                lease, self._leases, self._opener, self._watches, self._starter, threads, pace, self._clock
            )
            await watch.run(source)
        except NotFound:
            _log.info("source %s is gone", lease.id)
