"""The watch over one source's folder: a change, once it is quiet again, starts a sync."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from configs.sections_sources import SourceSettings
from pipelines.documents.sources.folder_events import (
    ChangeWatch,
    EventWatch,
    PollWatch,
    SweepWatch,
    WatchLimitReached,
    WatchState,
    list_watched_folders,
    silent_mount,
)
from pipelines.documents.sources.source_port import SourceInvalid, SourceRefused
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_store import SourceDefinition
from pipelines.documents.sync.start_sync import SyncStarter
from pipelines.documents.sync.watch_leases import WatchLease, WatchLeases

_MOUNTS: Final = Path("/proc/self/mountinfo")

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WatchPace:
    """Seconds between two looks; of quiet before a sync, and for how long at most that is waited for; between two syncs
    that changes start, and at most, where changes never end; until a sync that is under way is asked for again; and
    between two looks whether the folder is there.
    """

    look: float = 0.5
    quiet: float = 2.0
    longest: float = 15.0
    rest: float = 5.0
    longest_rest: float = 30.0
    retry: float = 2.0
    check: float = 5.0


class ChangeDebounce:
    """Many changes are one, however many come and for however long they do."""

    def __init__(self, pace: WatchPace) -> None:
        """Nothing has changed."""
        self._pace = pace
        self._first: float | None = None
        self._last = self._retry_at = self._rest_until = float("-inf")
        self._rest = pace.rest

    def note(self, now: float) -> None:
        """Something has changed."""
        self._first = now if self._first is None else self._first
        self._last = now

    def is_due(self, now: float) -> bool:
        """True where a sync is to start now."""
        if self._first is None or now < max(self._retry_at, self._rest_until):
            return False
        return now >= min(self._last + self._pace.quiet, self._first + self._pace.longest)

    def put_off(self, now: float) -> None:
        """A sync is under way, which may have listed before the change."""
        self._retry_at = now + self._pace.retry

    def settle(self, now: float) -> None:
        """A sync has started that lists everything that was noted. One that follows another closely is rested after for
        twice as long: a file that is written all day is no reason for a sync in every moment of it.
        """
        pace = self._pace
        close = now < self._rest_until + pace.longest
        self._rest = min(2 * self._rest, pace.longest_rest) if close else pace.rest
        self._first, self._rest_until = None, now + self._rest


class WatchOpener:
    """Opens the watch that tells most of what it may, and remembers how many folders this process watches."""

    def __init__(self, settings: SourceSettings, clock: Callable[[], float], mounts: Path = _MOUNTS) -> None:
        """`clock` in seconds; `mounts` lists what is mounted where."""
        self._settings, self._clock, self._mounts = settings, clock, mounts
        self._held: dict[str, int] = {}
        self._counting = threading.Lock()

    def open(self, source: str, root: Path) -> ChangeWatch:
        """Blocks for as long as it takes to walk the folders. Raises OSError: the root cannot be listed."""
        try:
            return self._open(source, root)
        except FileNotFoundError:  # a folder went while it was opened
            return self._open(source, root)

    def release(self, source: str) -> None:
        """Its folders are not watched any more."""
        with self._counting:
            self._held.pop(source, None)

    def _open(self, source: str, root: Path) -> ChangeWatch:
        settings = self._settings
        try:
            folders = list_watched_folders(root, settings.watch_folders)
            if (why := self._why_poll(root)) is not None:
                return PollWatch(root, len(folders), why, settings.poll_seconds, self._clock)
            self._take(source, len(folders))
            return EventWatch(root, folders)
        except WatchLimitReached as error:
            self.release(source)
            state = WatchState("sweeping", f"{error.detail}. {error.hint}")
            return SweepWatch(state, settings.sweep_seconds, self._clock)

    def _take(self, source: str, folders: int) -> None:
        most = self._settings.watch_folders
        with self._counting:
            others = sum(count for one, count in self._held.items() if one != source)
            if others + folders > most:
                raise WatchLimitReached(
                    f"{folders} folders beside the {others} that are watched here already are more than {most}",
                    fix="Raise AOS_SOURCES_WATCH_FOLDERS.",
                )
            self._held[source] = folders

    def _why_poll(self, root: Path) -> str | None:
        if self._settings.watch == "poll":
            return "AOS_SOURCES_WATCH is poll"
        try:
            kind = silent_mount(root, self._mounts.read_text())
        except OSError:  # a system without /proc
            return None
        return None if kind is None else f"{kind} does not tell of what other machines change"


class FolderWatch:
    """One source under one lease. What may block does so in threads of its own, and holds up nobody but watches."""

    def __init__(
        self,
        lease: WatchLease,
        leases: WatchLeases,
        sources: SourceOpener,
        watches: WatchOpener,
        starter: SyncStarter,
        threads: ThreadPoolExecutor,
        pace: WatchPace,
        clock: Callable[[], float],
    ) -> None:
        """Nothing is watched yet; `clock` in seconds."""
        self._lease, self._leases, self._sources, self._watches = lease, leases, sources, watches
        self._starter, self._threads, self._pace, self._clock = starter, threads, pace, clock
        self._changes = ChangeDebounce(pace)
        self._watch: ChangeWatch | None = None
        self._told: WatchState | None = None
        self._root: tuple[Path, int, int] | None = None
        self._check_at = float("-inf")

    async def run(self, source: SourceDefinition) -> None:
        """Watch until cancelled. It begins with a sync, as nobody knows what happened while nobody watched.

        Raises LeaseLost; NotFound: the source was removed.
        """
        self._changes.note(self._clock())
        try:
            while True:
                if self._clock() >= self._check_at:
                    await self._check_root(source)
                    self._check_at = self._clock() + self._pace.check
                if self._watch is not None:
                    await self._guard(self._look_and_start)
                await asyncio.sleep(self._pace.look)
        finally:
            self._close()

    async def _check_root(self, source: SourceDefinition) -> None:
        """Open a watch over the folder that is there now, where it is not the one that is watched."""

        async def look() -> None:
            root = await self._in_thread(partial(self._sources.watch_root, source.kind, source.settings))
            found = await self._in_thread(root.stat)
            if (now := (root, found.st_dev, found.st_ino)) != self._root or self._watch is None:
                self._root = now
                self._changes.note(self._clock())
                await self._open()

        await self._guard(look)

    async def _look_and_start(self) -> None:
        watch = self._watch
        assert watch is not None
        if await self._in_thread(watch.look):
            self._changes.note(self._clock())
        if not self._changes.is_due(self._clock()):
            return
        # Folders that came since are watched before they are listed: what comes to them later is told.
        if not await self._in_thread(watch.is_current):
            await self._open()
        started = await self._leases.start(self._lease, self._starter)
        (self._changes.settle if started else self._changes.put_off)(self._clock())

    async def _open(self) -> None:
        """A watch in the place of the one that is there."""
        assert self._root is not None
        opened = await self._in_thread(partial(self._watches.open, self._lease.id, self._root[0]))
        if self._watch is not None:
            self._watch.close()
        self._watch = opened
        await self._tell(opened.state)

    async def _guard(self, act: Callable[[], Awaitable[None]]) -> None:
        """A folder that cannot be looked at is not watched, and no sync of it starts, until it can be again."""
        try:
            await act()
        except (OSError, SourceInvalid, SourceRefused) as error:
            self._close()
            why = error.strerror if isinstance(error, OSError) else error.detail
            await self._tell(WatchState("missing", why or str(error)))

    async def _tell(self, state: WatchState) -> None:
        if state != self._told:
            await self._leases.report(self._lease, state)
            self._told = state

    async def _in_thread(self, act: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    def _close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._watches.release(self._lease.id)
