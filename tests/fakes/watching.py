"""Sources that are watched at a quick pace, here or in a process of their own that a test may kill."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.state.db.postgres import Database
from cluster.state.vault import Vault, VaultKey
from configs.sections_sources import SourceSettings
from pipelines.documents.sync.folder_watch import WatchPace
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_parts import SourceParts
from pipelines.documents.sync.source_watcher import SourceWatcher
from tests.fakes.shelves import SyncBench, use_sync

PACE = WatchPace(look=0.02, quiet=0.2, longest=1.5, rest=0.2, retry=0.1, check=0.2)
LEASE_SECONDS = 1.5
ROOT = Path(__file__).parents[2]


@dataclass
class WatchedBench:
    """Syncs of one workspace that changes start."""

    sources: SyncBench
    base: Path
    opener: SourceOpener

    @classmethod
    def over(cls, sources: SyncBench, base: Path, settle_seconds: float = 0.0) -> "WatchedBench":
        """`base` is the folder that may be read."""
        opener = opener_below(sources.ledger.database, base, settle_seconds)
        use_sync(sources.ledger, opener)
        return cls(sources, base, opener)

    async def add(self, path: str = "papers", **more: Any) -> str:
        """A watched source of a folder that is made where it is not there."""
        (self.base / path).mkdir(parents=True, exist_ok=True)
        more = {"name": path, "watch": True, "max_removed_percent": 100} | more
        return await self.sources.add("folder", {"path": path}, **more)

    @asynccontextmanager
    async def watching(self, settings: SourceSettings | None = None) -> AsyncIterator[SourceWatcher]:
        """While a process watches."""
        watcher = watcher_over(self.sources.ledger.database, self.opener, settings or SourceSettings())
        await watcher.open()
        try:
            yield watcher
        finally:
            await watcher.close()

    async def state(self, source: str) -> dict[str, Any]:
        """How it is watched."""
        return dict((await self.sources.show(source))["watching"])

    async def until(self, source: str, mode: str, seconds: float = 20) -> dict[str, Any]:
        """It is watched like that."""
        end = time.monotonic() + seconds
        while (state := await self.state(source))["mode"] != mode:
            assert time.monotonic() < end, f"it is watched as {state}"
            await self.work()
            await asyncio.sleep(0.05)
        return state

    async def work(self) -> int:
        """Do the syncs that wait, each to its end; how many."""
        done = 0
        while (job := await self.sources.ledger.next_job("worker")) is not None:
            await self.sources.ledger.finish(job, self.sources.ledger.runner())
            done += 1
        return done

    async def jobs(self) -> int:
        """How many syncs there ever were."""
        (row,) = await self.sources.ledger.rows(self.sources.scope, "select count(*) as n from jobs")
        return int(row["n"])

    async def until_holds(self, there: Callable[[dict[str, str]], bool], seconds: float = 30) -> float:
        """Work until the documents are as they should be; how long that took."""
        began = time.monotonic()
        while not there(found := await self.sources.documents("user:x@x")):
            assert time.monotonic() - began < seconds, f"{len(found)} documents: {sorted(found)[:20]}"
            await self.work()
            await asyncio.sleep(0.05)
        return time.monotonic() - began

    async def rest(self, seconds: float = 1.0) -> int:
        """Work for a while; how many syncs there were."""
        end, done = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            done += await self.work()
            await asyncio.sleep(0.05)
        return done


def opener_below(database: Database, base: Path, settle_seconds: float = 0.0) -> SourceOpener:
    return SourceOpener(database, Vault([VaultKey(b"k" * 32)]), str(base), settle_seconds=settle_seconds)


def watcher_over(database: Database, opener: SourceOpener, settings: SourceSettings) -> SourceWatcher:
    starter = SourceParts.over(database, opener).starter
    quick = {"pace": PACE, "lease_seconds": LEASE_SECONDS, "claim_seconds": 0.1}
    return SourceWatcher(database, opener, starter, settings, **quick)  # type: ignore[arg-type]


@contextmanager
def watching_process(app_dsn: str, base: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that watches, for a test to kill."""
    command = [sys.executable, "-m", "tests.fakes.watching", app_dsn, str(base)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "watching\n"
            yield process
        finally:
            process.kill()


async def _watch(app_dsn: str, base: Path) -> None:
    database = Database(app_dsn, size=4, timeout=10)
    await database.open()
    await watcher_over(database, opener_below(database, base), SourceSettings()).open()
    sys.stdout.write("watching\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_watch(sys.argv[1], Path(sys.argv[2])))
