"""The settings of a running program: one immutable snapshot at a time, replaced when somebody changes a row."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, cast

from cluster.basics.errors import AosError
from cluster.state.settings.settings_rows import SettingsRows
from configs.keys import LIVE
from configs.section import Section
from configs.sections import Settings
from configs.settings import InvalidConfiguration

log = logging.getLogger("aos.settings")

LOOK_SECONDS = 5.0  # a change is taken up after at most so long, and one query


class SettingsSnapshots:
    """Holds the snapshot a program began with, and the newest one."""

    def __init__(self, began: Settings) -> None:
        """`began`: what the program was put together from."""
        self.began = self.now = began
        self._told: list[Callable[[Settings], None]] = []

    def view(self) -> Settings:
        """Settings that stay what they are, but for those that `configs.keys.LIVE` names: they are always the newest.

        It is handed to whoever reads a setting each time it is used; `isinstance` and copies do not work on its
        sections.
        """
        return cast(Settings, _View(self))

    def effective(self) -> Settings:
        """The settings in effect at this moment: the newest of what is live, the rest as it began."""
        changes: dict[str, Any] = {}
        for name in LIVE:
            section, _, key = name.partition(".")
            newest = getattr(self.now, section)
            if not key:
                changes[section] = newest
                continue
            standing = changes.get(section, getattr(self.began, section))
            changes[section] = standing.model_copy(update={key: getattr(newest, key)})
        return self.began.model_copy(update=changes)

    def told(self, hear: Callable[[Settings], None]) -> None:
        """Call `hear` with every new snapshot."""
        self._told.append(hear)

    def swap(self, newest: Settings) -> None:
        """From now on this one counts."""
        if newest != self.now:
            self.now = newest  # one reference: whoever reads sees the old or the new one
            for hear in self._told:
                hear(newest)


class SettingsWatcher:
    """Looks at the rows' version, and swaps the snapshot when it is another."""

    def __init__(self, snapshots: SettingsSnapshots, rows: SettingsRows, seconds: float = LOOK_SECONDS) -> None:
        """Nothing is asked before `open`."""
        self._snapshots, self._rows, self._seconds = snapshots, rows, seconds
        self._seen: int | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to look."""
        self._task = asyncio.get_running_loop().create_task(self._poll_forever())

    async def close(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> bool:
        """Take up a new version of the rows; True where there was one.

        Raises:
            InvalidConfiguration: files and environment, which nobody changes here, are not valid.
            Unavailable, Overloaded: Postgres does not answer; the snapshot stays.
        """
        version = await self._rows.version()
        if version == self._seen:
            return False
        kept = await self._rows.kept()
        found, left_out = self._rows.layers(kept)
        for name, why in left_out.items():
            log.error("the row %s of system_settings is left out: %s", name, why)
        self._snapshots.swap(found.settings)
        self._seen = kept.version
        return True

    async def _poll_forever(self) -> None:
        while True:
            try:
                await self.look()
            except (AosError, InvalidConfiguration) as error:
                log.warning("settings could not be read, those of before stay: %s", error)
            await asyncio.sleep(self._seconds)


class _View:
    """Looks like the settings."""

    __slots__ = ("_of",)

    def __init__(self, of: SettingsSnapshots) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of.began, name)
        if isinstance(found, Section):
            live = frozenset(key.partition(".")[2] for key in LIVE if key.startswith(f"{name}."))
            return _SectionView(self._of, name, live) if live else found
        return getattr(self._of.now, name) if name in LIVE else found


class _SectionView:
    """Looks like a section."""

    __slots__ = ("_live", "_name", "_of")

    def __init__(self, of: SettingsSnapshots, name: str, live: frozenset[str]) -> None:
        self._of, self._name, self._live = of, name, live

    def __getattr__(self, key: str) -> Any:
        settings = self._of.now if key in self._live else self._of.began
        return getattr(getattr(settings, self._name), key)
