"""Watched folders over a real ledger: a change comes by itself, once, whatever is killed, half written or gone."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.basics.scope import Scope
from configs.sections_sources import SourceSettings
from tests.fakes.ledger import Bench
from tests.fakes.shelves import sync_bench
from tests.fakes.watching import WatchedBench, watching_process

FILES = 2_000


@pytest.fixture
def watched(ledger: Bench, scope: Scope, tmp_path: Path) -> WatchedBench:
    base = tmp_path / "base"
    base.mkdir()
    return WatchedBench.over(sync_bench(ledger, scope, str(base)), base)


def names(*wanted: str) -> Callable[[dict[str, str]], bool]:
    return lambda found: set(found) == set(wanted)


async def test_a_file_that_comes_changes_moves_or_goes_is_followed_within_seconds(watched: WatchedBench) -> None:
    source = await watched.add()
    place = watched.base / "papers"
    async with watched.watching():
        state = await watched.until(source, "events")
        assert (state["folders"], state["why"]) == (1, None)
        (place / "a.txt").write_text("Harbour a.")
        assert await watched.until_holds(names("a.txt")) < 10
        ids = await watched.sources.ids()
        (place / "deep" / "er").mkdir(parents=True)
        (place / "a.txt").rename(place / "deep" / "er" / "b.txt")
        await watched.until_holds(names("b.txt"))
        assert (await watched.sources.ids())["b.txt"] == ids["a.txt"], "a renamed file is the same document"
        assert len(watched.sources.ledger.reader.readings) == 1, "and is not read again"
        (place / "deep" / "er" / "c.txt").write_text("A folder that came later is watched, too.")
        await watched.until_holds(names("b.txt", "c.txt"))
        (place / "deep").rename(place / "shallow")
        await watched.rest()
        (place / "shallow" / "er" / "c.txt").write_text("And one that was renamed, of another length.")
        await watched.until_holds(lambda found: "another length" in found.get("c.txt", ""))
        (place / "shallow" / "er" / "b.txt").unlink()
        await watched.until_holds(names("c.txt"))
        assert (await watched.state(source))["changed_at"] is not None
        await watched.rest()
        (place / ".~lock.c.odt#").write_text("a program's own")
        assert await watched.rest() == 0, "what programs keep for themselves is no change, nor is that files are read"
    assert (await watched.state(source))["mode"] == "nobody"


async def test_thousands_of_files_at_once_are_few_syncs_and_none_is_missing(watched: WatchedBench) -> None:
    source = await watched.add()
    place = watched.base / "papers"

    def fill() -> None:
        for n in range(FILES):
            folder = place / f"f{n % 50}"
            folder.mkdir(exist_ok=True)
            (folder / f"{n:04}.txt").write_text(f"Paper {n}.")

    async with watched.watching():
        await watched.until(source, "events")
        await watched.rest(0.5)
        await asyncio.to_thread(fill)
        await watched.until_holds(lambda found: len(found) == FILES, 120)
        await watched.rest(0.5)
        assert await watched.jobs() <= 4, "many changes are one"
        assert (await watched.state(source))["folders"] == 51
    assert len(watched.sources.ledger.reader.readings) == FILES, "each was read once"


async def test_one_process_watches_and_another_takes_over_from_where_it_was_killed(
    watched: WatchedBench, app_dsn: str
) -> None:
    source = await watched.add()
    place = watched.base / "papers"
    with watching_process(app_dsn, watched.base) as process:
        await watched.until(source, "events")
        await watched.rest(0.5)
        first = await watched.state(source)
        async with watched.watching():
            await watched.rest(2.5)  # longer than a lease
            assert (await watched.state(source))["since"] == first["since"], "who watches keeps it"
            (place / "a.txt").write_text("Seen by the first.")
            await watched.until_holds(names("a.txt"))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            (place / "b.txt").write_text("Written while nobody watched.")
            taken = await watched.until_holds(names("a.txt", "b.txt"))
            assert taken < 15 and (await watched.until(source, "events"))["since"] != first["since"]


async def test_many_watchers_start_each_sync_once(watched: WatchedBench) -> None:
    source = await watched.add()
    place = watched.base / "papers"
    async with watched.watching(), watched.watching(), watched.watching():
        await watched.until(source, "events")
        await watched.rest()
        before = await watched.jobs()
        for n in range(5):
            (place / f"{n}.txt").write_text(f"Paper {n}.")
            await asyncio.sleep(0.05)
        await watched.until_holds(names(*(f"{n}.txt" for n in range(5))))
        await watched.rest()
        assert await watched.jobs() - before <= 2
    rows = await watched.sources.ledger.rows(watched.sources.scope, "select fence from source_watches")
    assert [row["fence"] for row in rows] == [1], "nobody else ever had it"


async def test_a_change_during_a_sync_starts_another_one_after_it(watched: WatchedBench) -> None:
    source = await watched.add()
    place = watched.base / "papers"
    (place / "a.txt").write_text("First.")
    async with watched.watching():
        await watched.until(source, "events")
        await watched.rest()
        (place / "b.txt").write_text("Second.")
        for _ in range(100):
            if (await watched.sources.show(source))["job_state"] == "queued":
                break
            await asyncio.sleep(0.05)
        ledger = watched.sources.ledger
        job = await ledger.claim()
        assert ledger.sync is not None
        planned = await ledger.sync.plan(job)
        async with ledger.jobs.writing(job.lease) as tx:
            await ledger.jobs.planned(tx, job.lease, planned)
        (place / "c.txt").write_text("Third, after the listing.")
        await asyncio.sleep(1)
        assert (await watched.sources.show(source))["job_id"] == job.lease.job, "never two at once"
        await ledger.finish(await ledger.jobs.reload(job), ledger.runner())
        await watched.until_holds(names("a.txt", "b.txt", "c.txt"))


async def test_a_folder_that_vanishes_takes_nothing_along_and_is_watched_again_when_it_is_back(
    watched: WatchedBench,
) -> None:
    source = await watched.add()
    place = watched.base / "papers"
    for n in range(5):
        (place / f"{n}.txt").write_text(f"Paper {n}.")
    all_there = names(*(f"{n}.txt" for n in range(5)))
    async with watched.watching():
        await watched.until_holds(all_there)
        await watched.until(source, "events")
        place.rename(watched.base / "elsewhere")
        state = await watched.until(source, "missing")
        assert "papers" in state["why"]
        await watched.rest()
        assert all_there(await watched.sources.documents("user:x@x"))
        (watched.base / "elsewhere").rename(place)
        await watched.until(source, "events")
        (place / "5.txt").write_text("After it came back.")
        await watched.until_holds(names(*(f"{n}.txt" for n in range(6))))


async def test_a_file_that_is_written_slowly_is_read_once_and_whole(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    watched = WatchedBench.over(sync_bench(ledger, scope, str(base)), base, settle_seconds=1.0)
    await watched.add()
    place = base / "papers"

    async def write() -> None:
        with (place / "slow.txt").open("w") as file:
            for n in range(16):
                file.write(f"Part {n}. ")
                file.flush()
                await asyncio.sleep(0.3)

    async with watched.watching():
        writing = asyncio.create_task(write())
        (place / "quick.txt").write_text("Quick.")
        await watched.until_holds(lambda found: "quick.txt" in found)
        assert not writing.done() and "slow.txt" not in await watched.sources.documents("user:x@x")
        await watched.until_holds(names("quick.txt", "slow.txt"))
        await writing
    found = await watched.sources.documents("user:x@x")
    assert found["slow.txt"].endswith("Part 15.") and found["slow.txt"].startswith("Part 0.")
    assert sorted(name for name, _ in ledger.reader.readings) == ["quick.txt", "slow.txt"], "each was read once"


async def test_more_folders_than_may_be_watched_are_swept_and_it_is_said(watched: WatchedBench) -> None:
    source = await watched.add()
    place = watched.base / "papers"
    for n in range(5):
        (place / f"f{n}").mkdir()
    settings = SourceSettings(watch_folders=3, sweep_seconds=1)
    async with watched.watching(settings):
        state = await watched.until(source, "sweeping")
        assert "more than 3 folders" in state["why"] and "AOS_SOURCES_WATCH_FOLDERS" in state["why"]
        await watched.rest()
        (place / "f1" / "a.txt").write_text("Found by a sweep.")
        await watched.until_holds(names("a.txt"))


async def test_where_no_events_come_it_is_polled(watched: WatchedBench) -> None:
    source = await watched.add()
    place = watched.base / "papers"
    async with watched.watching(SourceSettings(watch="poll", poll_seconds=0.2)):
        await watched.until(source, "polling")
        await watched.rest()
        (place / "a.txt").write_text("Found by looking.")
        await watched.until_holds(names("a.txt"))
        older = place / "b.txt"
        older.write_text("Of another time.")
        os.utime(older, ns=(1, 1))
        older.rename(place / "a.txt")
        await watched.until_holds(lambda found: "another time" in found.get("a.txt", ""))
        assert (await watched.state(source))["mode"] == "polling"


async def test_a_source_that_is_removed_or_off_is_not_watched_any_more(watched: WatchedBench, scope: Scope) -> None:
    source = await watched.add()
    async with watched.watching():
        await watched.until(source, "events")
        await watched.rest(0.5)
        async with watched.sources.ledger.database.transaction(scope) as tx:
            await watched.sources.parts.store.disable(tx, scope, source)
        await asyncio.sleep(1)
        assert (await watched.state(source))["mode"] == "off"
        (watched.base / "papers" / "a.txt").write_text("Nobody looks.")
        assert await watched.rest() == 0
