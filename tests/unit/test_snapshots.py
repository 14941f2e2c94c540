"""A running program's settings: what is live is always the newest, the rest stays as it began."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from cluster import logs
from cluster.basics.errors import Unavailable
from cluster.state.settings.settings_rows import SettingsRows, StoredSettings, layer_settings
from cluster.state.settings.snapshots import SettingsSnapshots, SettingsWatcher
from configs.keys import LIVE
from configs.sections import Settings
from configs.settings import LayeredSettings, load_settings


class Rows(SettingsRows):
    """Rows in memory."""

    def __init__(self) -> None:
        self.kept_now, self.asked, self.broken = StoredSettings(1, {}, {}, {}), 0, False

    async def version(self) -> int:
        self.asked += 1
        if self.broken:
            raise Unavailable("away")
        return self.kept_now.version

    async def kept(self) -> StoredSettings:
        return self.kept_now

    def layers(self, kept: StoredSettings) -> tuple[LayeredSettings, Any]:
        return layer_settings(kept, {})

    def put(self, **values: Any) -> None:
        named = {name.replace("__", "."): value for name, value in values.items()}
        self.kept_now = StoredSettings(self.kept_now.version + 1, named, {}, {})


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it does not become true")


async def test_ad_04_a_change_is_taken_up_without_a_restart() -> None:
    """AD-04, RE-27: what is live is the newest value, what needs a restart is the one that the program began with."""
    rows, snapshots = Rows(), SettingsSnapshots(load_settings({}))
    settings, watch = snapshots.view(), SettingsWatcher(snapshots, rows)
    search = settings.search  # handed to whoever reads it, before anything changed
    await watch.look()
    rows.put(search__rrf_k=7, search__exact_scope=9, agents__rag_top_k=3, rerank__model="/weights")
    assert (await watch.look(), await watch.look()) == (True, False)
    assert (search.rrf_k, settings.agents.rag_top_k) == (7, 3)
    assert (search.exact_scope, settings.rerank.model) == (5_000, None), "these need a restart"
    works_with = snapshots.effective()
    assert (works_with.search.rrf_k, works_with.search.exact_scope) == (7, 5_000)
    assert snapshots.now.search.exact_scope == 9 and snapshots.began.search.rrf_k == 60
    rows.put()
    await watch.look()
    assert search.rrf_k == 60, "a row that is gone gives the value below it back"


async def test_a_change_is_seen_within_the_looks_and_postgres_may_be_away() -> None:
    rows, snapshots = Rows(), SettingsSnapshots(load_settings({}))
    watch = SettingsWatcher(snapshots, rows, seconds=0.01)
    heard: list[Settings] = []
    snapshots.told(heard.append)
    await watch.open()
    try:
        rows.broken = True
        rows.put(log_level="ERROR")
        asked = rows.asked
        await until(lambda: rows.asked >= asked + 3)
        assert not heard, "what cannot be read changes nothing"
        rows.broken = False
        await until(lambda: bool(heard))
    finally:
        await watch.close()
    assert [one.log_level for one in heard] == ["ERROR"], "told once"
    asked = rows.asked
    await asyncio.sleep(0.05)
    assert rows.asked == asked, "closed"


def test_the_log_level_follows_the_snapshot() -> None:
    names = [logging.getLogger(name) for name in logs.OURS]
    before = [(logger.level, logger.handlers[:], logger.propagate) for logger in names]
    try:
        snapshots = logs.follow_log_level(SettingsSnapshots(load_settings({})))
        assert not logging.getLogger("aos.http").isEnabledFor(logging.DEBUG)
        snapshots.swap(load_settings({"LOG_LEVEL": "DEBUG"}))
        assert logging.getLogger("aos.http").isEnabledFor(logging.DEBUG)
    finally:
        for logger, (level, handlers, propagate) in zip(names, before, strict=True):
            logger.setLevel(level)
            logger.handlers[:], logger.propagate = handlers, propagate


@pytest.mark.parametrize("name", sorted(LIVE))
def test_a_view_shows_every_setting_and_only_live_ones_move(name: str) -> None:
    began = load_settings({})
    snapshots = SettingsSnapshots(began)
    section, _, key = name.partition(".")
    moved = (
        began.model_copy(update={section: getattr(began, section).model_copy(update={key: "moved"})})
        if key
        else (began.model_copy(update={section: "moved"}))
    )
    view = snapshots.view()
    holder = getattr(view, section) if key else view
    assert getattr(holder, key or section) == getattr(getattr(began, section) if key else began, key or section)
    snapshots.swap(moved)
    assert getattr(holder, key or section) == "moved"
