"""Rights passes: what a source withdraws or removes while a long sync reads it holds at once, and stays so."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Transaction
from cluster.state.work.jobs import ClaimedJob, JobId, JobLane
from pipelines.documents.sources.source_port import ItemRights, SourceItem
from pipelines.documents.sync.rights_pass import UnreadItem
from pipelines.documents.sync.source_clock import SourceClock
from pipelines.documents.sync.start_sync import SourceBusy, SyncStarter
from pipelines.documents.sync.synced_documents import SyncedDocuments
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled
from tests.fakes.shelves import CutLedger, Shelf, SyncBench, shelf_kind, sync_bench, use_sync
from tests.postgres.test_source_sync import person

EVE = ItemRights(("eve@unknown.example",))
ITEMS = tuple("abcdefghij")


async def nothing(id_: str) -> None:
    pass


@dataclass
class LongShelf(Shelf):
    """`during` runs while an item's bytes come."""

    during: Callable[[str], Awaitable[None]] = nothing

    async def read_item(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        async for block in super().read_item(item, start, length):
            yield block
        await self.during(item.id)


@pytest.fixture(params=["all", "changes"])
def shelf(request: pytest.FixtureRequest) -> LongShelf:
    return LongShelf(changes=[] if request.param == "changes" else None)


@pytest.fixture
def guarded(ledger: Bench, scope: Scope, shelf: LongShelf) -> SyncBench:
    """The shelf says who may see what."""
    return sync_bench(ledger, scope, None, shelf_kind(shelf, has_rights=True))


@pytest.fixture
async def ann(ledger: Bench, scope: Scope, admin_dsn: str) -> ItemRights:
    await person(ledger, scope, admin_dsn, email := f"ann@{scope.workspace}.example")
    return ItemRights((email,))


async def seen_by(sources: SyncBench, who: ItemRights) -> list[str]:
    return sorted(name.removesuffix(".txt") for name in await sources.documents(f"user:{who.users[0]}"))


async def fill(sources: SyncBench, shelf: Shelf, rights: ItemRights | None, **more: object) -> str:
    """A source whose first sync is over."""
    source = await sources.add(**more)
    for name in ITEMS:
        shelf.put(name, f"Text of {name}.", rights=rights)
    await sources.sync(source)
    return source


async def list_only(sources: SyncBench, source: str) -> JobId:
    """A sync that has listed, and has everything to read still."""
    ledger = sources.ledger
    started = await sources.start(source)
    job = await ledger.claim(lane=JobLane.SYNC)
    assert job.lease.job == started
    turn = await ledger.runner().turn(job, await ledger.recipe(), bool)
    assert turn.moved
    await ledger.jobs.release(job.lease)
    return started


async def run_pass(sources: SyncBench, source: str) -> JobId:
    asked = await sources.start(source)
    assert await sources.ledger.run(JobLane.SYNC) == asked
    return asked


async def plan_pass(sources: SyncBench, source: str) -> ClaimedJob:
    """A pass that has listed, and has written nothing yet."""
    ledger = sources.ledger
    await sources.start(source)
    job = await ledger.claim("passes", JobLane.SYNC)
    assert ledger.sync is not None
    found = await ledger.sync.plan(job)
    assert found is not None
    async with ledger.jobs.writing(job.lease) as tx:
        await ledger.jobs.planned(tx, job.lease, found)
    return job


async def cancel_planned(job: ClaimedJob, sources: SyncBench) -> JobId:
    """Such a pass is cancelled, and the sync beside it goes on to its end."""
    ledger = sources.ledger
    await ledger.jobs.release(job.lease)
    async with ledger.database.transaction(sources.scope) as tx:
        await ledger.desk.cancel(tx, sources.scope, job.lease.job)
    await ledger.run(JobLane.SMALL)
    return job.lease.job


async def settle(sources: SyncBench) -> int:
    """Run what is due by itself until nothing is; how many jobs that were."""
    done = 0
    while (job := await sources.ledger.next_job("w")) is not None or await sources.clock.tick():
        if job is not None:
            await sources.ledger.finish(job, sources.ledger.runner())
            done += 1
    return done


async def test_what_is_withdrawn_while_a_sync_reads_is_withdrawn_at_once_and_does_not_come_back(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights
) -> None:
    source = await fill(guarded, shelf, ann)
    shelf.put("a", "Text of a, changed.", rights=ann)
    shelf.put("b", "Text of b, changed.", rights=ann)
    shelf.put("n", "Text of n.", rights=ann)
    shelf.put("m", "Text of m.", rights=ann)
    shelf.put("o", "Text of o.", rights=EVE)
    long = await list_only(guarded, source)
    before = await ledger.rows(scope, "select cursor from sources")
    for name in ("a", "c", "n"):
        shelf.change(name, rights=EVE)
    shelf.change("o", rights=ann)
    shelf.change("d", path="moved.txt")
    text = shelf.bytes["m"]
    shelf.drop("b", "m")
    read = len(shelf.read)
    assert await run_pass(guarded, source) != long
    assert await seen_by(guarded, ann) == ["e", "f", "g", "h", "i", "j", "moved"]
    assert len(shelf.read) == read, "a pass reads nothing"
    shown = await guarded.show(source)
    assert shown["job_id"] == long and await ledger.rows(scope, "select cursor from sources") == before
    assert shown["last_plan"]["job"] == long, "what the sync came to is told still"
    shelf.bytes["m"], shelf.bytes["b"] = text, b"It can still be read."
    assert await ledger.run(JobLane.SMALL) == long
    assert await seen_by(guarded, ann) == ["e", "f", "g", "h", "i", "j", "moved", "o"]
    assert "m.txt" not in await guarded.ids(), "what left before it was read never comes"
    items, _ = await guarded.parts.store.items(scope, source, "all", skip=0, limit=50)
    rights = {row["item_id"]: row["rights"]["users"] for row in items if row["item_id"] in "acn"}
    assert set(map(tuple, rights.values())) == {EVE.users}, "and what is remembered are the rights of the pass"
    shelf.change("c", rights=ann)
    assert await settle(guarded) == 1, "a whole sync follows by itself"
    assert await seen_by(guarded, ann) == ["c", "e", "f", "g", "h", "i", "j", "moved", "o"]
    assert await settle(guarded) == 0
    assert (await guarded.show(source))["gone"] == 1


@pytest.mark.parametrize("what", ["withdrawn", "gone"])
@pytest.mark.parametrize("name", ["a", "n"])
async def test_bytes_that_are_on_their_way_come_with_the_rights_of_the_pass_or_not_at_all(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf, ann: ItemRights, name: str, what: str
) -> None:
    source = await fill(guarded, shelf, ann)
    shelf.put(name, f"Text of {name} anew.", rights=ann)
    before = (await guarded.ids()).get(f"{name}.txt")
    await list_only(guarded, source)

    async def meanwhile(id_: str) -> None:
        if what == "gone":
            shelf.drop(name)
        else:
            shelf.change(name, rights=EVE)
        await run_pass(guarded, source)

    shelf.during = meanwhile
    await ledger.run(JobLane.SMALL)
    shelf.during = nothing
    assert name not in await seen_by(guarded, ann)
    there = (await guarded.ids()).get(f"{name}.txt")
    assert there == before if what == "gone" else there is not None
    await settle(guarded)
    assert name not in await seen_by(guarded, ann)
    blobs = [path for path in ledger.blobs.path(f"blob:{guarded.scope.tenant}").rglob("*") if path.is_file()]  # type: ignore[arg-type]
    (kept,) = await ledger.rows(guarded.scope, "select count(distinct location) as n from document_versions")
    assert len(blobs) == kept["n"], "no bytes are left that nobody has"


async def test_what_changes_while_its_bytes_come_is_read_again(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf, ann: ItemRights
) -> None:
    """A pass has seen the newer version; the bytes that came are of the older one."""
    source = await fill(guarded, shelf, ann)
    shelf.put("a", "Text of a, the second.", rights=ann)
    await list_only(guarded, source)

    async def meanwhile(id_: str) -> None:
        shelf.during = nothing
        shelf.put("a", "Text of a, the third.", rights=EVE)
        await run_pass(guarded, source)

    shelf.during = meanwhile
    await ledger.run(JobLane.SMALL)
    assert shelf.read.count("a") == 2 and "a" not in await seen_by(guarded, ann)
    await settle(guarded)
    assert shelf.read.count("a") == 3
    assert [
        row["version"]
        for row in await ledger.rows(guarded.scope, "select version from source_items i where i.item_id = 'a'")
    ] == [shelf.items["a"].version]


@pytest.mark.parametrize("what", ["withdrawn", "gone"])
async def test_what_is_taken_between_a_pass_listing_and_its_writing_follows_the_pass(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf, ann: ItemRights, what: str
) -> None:
    source = await fill(guarded, shelf, ann)
    shelf.put("n", "Text of n.", rights=ann)
    await list_only(guarded, source)
    text = shelf.bytes["n"]
    if what == "gone":
        shelf.drop("n")
    else:
        shelf.change("n", rights=EVE)
    job = await plan_pass(guarded, source)
    shelf.bytes["n"] = text
    await ledger.run(JobLane.SMALL)
    assert "n" in await seen_by(guarded, ann), "the pass has written nothing yet"
    await ledger.finish(await ledger.jobs.reload(job), ledger.runner())
    assert "n" not in await seen_by(guarded, ann)
    await settle(guarded)
    assert "n" not in await seen_by(guarded, ann)


async def test_a_lying_listing_hides_nothing_and_keeps_nothing_from_being_read(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights
) -> None:
    source = await fill(guarded, shelf, ann)
    for name in "nopq":
        shelf.put(name, f"Text of {name}.", rights=ann)
    await list_only(guarded, source)
    items, texts = dict(shelf.items), dict(shelf.bytes)
    shelf.drop(*"abcnop")
    await run_pass(guarded, source)
    shown = await guarded.show(source)
    assert (shown["waiting"]["reason"], shown["waiting"]["removals"]) == ("many", 3)
    shelf.items, shelf.bytes = items, texts
    await ledger.run(JobLane.SMALL)
    assert await seen_by(guarded, ann) == sorted([*ITEMS, *"nopq"])


@pytest.mark.parametrize("cut", ["pass", "sync"])
async def test_killed_at_any_step_of_either_job_nothing_comes_back_and_nothing_is_lost(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf, ann: ItemRights, cut: str
) -> None:
    plain, opener = ledger.jobs, guarded.parts.opener
    source = await fill(guarded, shelf, ann, max_removed_percent=100)
    steps = 0
    for after in (False, True):
        at = 0
        while True:
            at += 1
            round_ = f"{at}{after}"
            for name in "abc":
                shelf.put(name, f"Text of {name}, {round_}.", rights=ann)
            new, lost = f"n{round_}", f"m{round_}"
            shelf.put(new, "New.", rights=ann)
            shelf.put(lost, "Lost.", rights=ann)
            await list_only(guarded, source)
            shelf.change("a", rights=EVE)
            shelf.change(new, rights=EVE)
            shelf.drop("c", lost)
            await guarded.start(source)
            killed = 0
            for one, lane in (("pass", JobLane.SYNC), ("sync", JobLane.SMALL)):
                if one == cut:
                    ledger.jobs = CutLedger(ledger.database)
                    ledger.jobs.at, ledger.jobs.after = at, after
                    use_sync(ledger, opener)
                    try:
                        await ledger.run(lane, owner="killed")
                    except WorkerKilled:
                        killed = 1
                    ledger.jobs = plain
                    use_sync(ledger, opener)
                await guarded.lapse()
                while (job := await ledger.next_job("next", lane)) is not None:
                    await ledger.finish(job, ledger.runner())
            steps += killed
            found = await guarded.documents(f"user:{ann.users[0]}")
            assert not found.keys() & {"a.txt", "c.txt", f"{new}.txt", f"{lost}.txt"}, f"{cut} {at} {after}"
            assert found["b.txt"] == f"Text of b, {round_}."
            await settle(guarded)
            found = await guarded.documents(f"user:{ann.users[0]}")
            assert not found.keys() & {"a.txt", "c.txt", f"{new}.txt", f"{lost}.txt"}
            shelf.drop(new)
            shelf.put("c", "Text of c, back.", rights=ann)
            await guarded.sync(source)
            assert "c.txt" in await guarded.documents(f"user:{ann.users[0]}")
            if not killed:
                break
    assert steps > 8


async def test_one_pass_at_a_time_and_whoever_would_change_the_source_waits_for_it(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights
) -> None:
    source, starter = await fill(guarded, shelf, ann), guarded.parts.starter
    shelf.put("n", "Text of n.", rights=ann)
    long = await list_only(guarded, source)
    first = await guarded.start(source)
    assert await guarded.start(source) == first != long
    assert await guarded.start(source, dry_run=True) == long, "a dry run is no reason to list once more"
    await ledger.run(JobLane.SMALL)
    assert await guarded.start(source) == first, "the pass is under way still"

    def refused(act: Callable[[Transaction], Awaitable[object]]) -> Awaitable[None]:
        async def one() -> None:
            async with ledger.database.transaction(scope) as tx:
                with pytest.raises(SourceBusy, match=first):
                    await act(tx)

        return one()

    await refused(lambda tx: starter.approve(tx, scope, source, 1))
    await refused(lambda tx: starter.remove(tx, scope, source))
    await refused(lambda tx: starter.keep(tx, scope, source))
    await refused(lambda tx: guarded.parts.editor.decline(tx, scope, source, 1))
    await refused(lambda tx: guarded.parts.editor.change(tx, scope, source, {"settings": {}}))
    async with ledger.database.transaction(scope) as tx:
        await guarded.parts.editor.pause(tx, scope, source)
    shelf.change("a", rights=EVE)
    await ledger.run(JobLane.SYNC)
    assert "a" not in await seen_by(guarded, ann), "what is under way goes on in a source that is paused"
    assert await settle(guarded) == 0, "and nothing else begins by itself"
    assert await guarded.start(source) not in (first, long)


async def test_a_pass_that_is_resumed_after_a_whole_sync_changes_nothing(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights
) -> None:
    source = await fill(guarded, shelf, ann)
    shelf.put("n", "Text of n.", rights=ann)
    await list_only(guarded, source)
    shelf.change("a", rights=EVE)
    old = await cancel_planned(await plan_pass(guarded, source), guarded)
    shelf.change("a", rights=ann)
    await guarded.sync(source)
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, old)
    await ledger.run(JobLane.SYNC)
    assert (await ledger.desk.show(scope, old))["state"] == "completed"
    assert await seen_by(guarded, ann) == sorted([*ITEMS, "n"])


async def test_a_pass_of_a_source_that_is_gone_ends(
    ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights
) -> None:
    sources = sync_bench(ledger, scope, None, shelf_kind(shelf))
    source = await fill(sources, shelf, ann)
    shelf.put("n", "Text of n.")
    await list_only(sources, source)
    shelf.drop("a")
    old = await cancel_planned(await plan_pass(sources, source), sources)
    shelf.put("a", "Text of a.")
    await settle(sources)
    async with ledger.database.transaction(scope) as tx:
        assert await sources.parts.starter.keep(tx, scope, source) is None
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, old)
    await ledger.run(JobLane.SYNC)
    assert len(await sources.documents("user:x@x")) == 11


async def test_a_pass_confirms_rights_and_the_long_sync_takes_nothing_back_of_that(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf, ann: ItemRights
) -> None:
    source = await fill(guarded, shelf, ann)
    shelf.put("n", "Text of n.", rights=ann)
    await list_only(guarded, source)
    before = (await guarded.show(source))["last_success_at"]
    await run_pass(guarded, source)
    confirmed = (await guarded.show(source))["last_success_at"]
    assert confirmed > before
    await ledger.run(JobLane.SMALL)
    assert (await guarded.show(source))["last_success_at"] == confirmed


async def test_the_period_starts_passes_while_a_sync_reads(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf, ann: ItemRights
) -> None:
    source = await fill(guarded, shelf, ann, every_minutes=1)
    shelf.put("n", "Text of n.", rights=ann)
    long = await list_only(guarded, source)
    shelf.change("a", rights=EVE)
    guarded.time.now = datetime.now(UTC) + timedelta(seconds=61)
    assert await guarded.clock.tick() == 1
    await ledger.run(JobLane.SYNC)
    assert "a" not in await seen_by(guarded, ann) and (await guarded.show(source))["job_id"] == long
    assert await guarded.clock.tick() == 0, "the next begins after the period"
    guarded.time.now += timedelta(seconds=61)
    assert await guarded.clock.tick() == 1
    await ledger.run(JobLane.SYNC)


class FailingStarter(SyncStarter):
    """The process ends before it has started anything."""

    async def sync(self, *args: object, **how: object) -> object:  # type: ignore[override]
        raise Conflict("the process is gone")


@pytest.mark.parametrize("shelf", ["all"], indirect=True)
async def test_a_sync_that_could_not_be_started_is_due_still(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf
) -> None:
    source = await guarded.add(every_minutes=60)
    starter = FailingStarter(guarded.parts.starter.jobs, guarded.parts.starter.store)
    guarded.time.now = datetime.now(UTC) + timedelta(seconds=5)
    documents = SyncedDocuments(ledger.database)
    await SourceClock(ledger.database, guarded.parts.store, documents, starter, guarded.time).tick()
    assert (await guarded.show(source))["job_id"] is None
    await guarded.clock.tick()
    assert (await guarded.show(source))["job_id"] is not None


@pytest.mark.parametrize("shelf", ["all"], indirect=True)
async def test_a_dry_run_keeps_no_sync_waiting(guarded: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf) -> None:
    source = await guarded.add()
    shelf.put("a", "Text of a.")
    dry = await guarded.start(source, dry_run=True)
    assert await guarded.start(source, dry_run=True) == dry
    real = await guarded.start(source)
    assert real != dry and await guarded.start(source) == real
    assert await ledger.run(JobLane.SYNC) == dry
    assert (await guarded.show(source))["last_plan"]["counts"]["added"] == 1, "the dry run says what it was asked"
    assert await ledger.run() == real
    assert list(await guarded.documents("*")) == ["a.txt"]


@pytest.mark.parametrize("shelf", ["all"], indirect=True)
async def test_a_worker_that_is_to_stop_leaves_a_listing_and_another_makes_it_anew(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await guarded.add()
    for name in ITEMS:
        shelf.put(name, f"Text of {name}.")
    await guarded.start(source)
    job = await ledger.claim(lane=JobLane.SYNC)
    asked = 0

    def ended() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    turn = await ledger.runner().turn(job, await ledger.recipe(), lambda: True, ended)
    assert (turn.ended, turn.moved) == (False, False)
    assert not (await ledger.jobs.reload(job)).planned and (await guarded.show(source))["last_error"] is None
    await ledger.jobs.release(job.lease)
    turn = await ledger.runner().turn(job := await ledger.claim(lane=JobLane.SYNC), await ledger.recipe(), lambda: True)
    assert (await ledger.jobs.reload(job)).planned, "a slice of time that is over ends no listing"
    await ledger.finish(await ledger.jobs.reload(job), ledger.runner())
    assert len(await guarded.documents("*")) == 10


@pytest.mark.parametrize("shelf", ["all"], indirect=True)
async def test_whether_a_source_answers_is_told_by_its_first_page(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf
) -> None:
    source = await guarded.add()
    for name in ITEMS:
        shelf.put(name, f"Text of {name}.")
    shelf.away_items = {"b"}
    await list_only(guarded, source)
    pages, closed = 0, 0
    every = shelf.list_changes

    async def counted(cursor: str | None) -> AsyncIterator[object]:
        nonlocal pages, closed
        try:
            async for page in every(cursor):
                pages += 1
                yield page
        finally:
            closed += 1

    shelf.list_changes = counted  # type: ignore[assignment]
    await ledger.run(JobLane.SMALL)
    assert (pages, closed) == (3, 3), "one page each time that an item did not come"


@pytest.mark.parametrize("shelf", ["all"], indirect=True)
async def test_documents_that_stay_are_those_that_are_seen(
    ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights
) -> None:
    """What had left would be hidden for ever, with nobody to erase it."""
    sources = sync_bench(ledger, scope, None, shelf_kind(shelf))
    source = await fill(sources, shelf, ann, max_removed_percent=100)
    shelf.drop("a")
    await sources.sync(source)
    assert "a.txt" in await sources.ids()
    async with ledger.database.transaction(scope) as tx:
        job = await sources.parts.starter.keep(tx, scope, source)
    assert job is not None and await ledger.run(JobLane.SYNC) == job.job
    assert sorted(await sources.ids()) == [f"{name}.txt" for name in ITEMS[1:]]
    assert (await sources.parts.store.page(scope))[1] == 0
    blobs = [path for path in ledger.blobs.path(f"blob:{scope.tenant}").rglob("*") if path.is_file()]  # type: ignore[arg-type]
    assert len(blobs) == 9


async def test_what_a_pass_finds_gone_and_another_back_has_its_readers_by_hand(
    ledger: Bench, scope: Scope, shelf: LongShelf
) -> None:
    """The unit that fetches it was written when it was there."""
    sources = sync_bench(ledger, scope, None, shelf_kind(shelf))
    source = await sources.add(readers=("*",), max_removed_percent=100)
    for name in ITEMS:
        shelf.put(name, f"Text of {name}.")
    await sources.sync(source)
    by_hand = (
        "update documents set readers = array['user:boss@x.example'], own_readers = true"
        " where filename = 'a.txt' returning id"
    )
    (document,) = await ledger.rows(scope, by_hand)
    shelf.put("a", "Text of a, changed.")
    long = await list_only(sources, source)
    item, text = shelf.items["a"], shelf.bytes["a"]
    shelf.drop("a")
    await run_pass(sources, source)
    shelf.items["a"], shelf.bytes["a"] = item, text
    if shelf.changes is not None:
        shelf.changes.append(("a", item))
    await run_pass(sources, source)
    assert await ledger.run(JobLane.SMALL) == long
    await settle(sources)
    await sources.sync(source)
    now = await ledger.rows(scope, "select readers, own_readers from documents where id = %(id)s", id=document["id"])
    assert now == [{"readers": ["user:boss@x.example"], "own_readers": True}]


@pytest.mark.parametrize("what", ["withdrawn", "gone"])
@pytest.mark.parametrize("name", ["a", "n"])
async def test_what_is_fetched_while_a_pass_plans_does_not_escape_it(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights, name: str, what: str
) -> None:
    source = await fill(guarded, shelf, ann)
    shelf.put(name, f"Text of {name} anew.", rights=ann)
    long = await list_only(guarded, source)
    text = shelf.bytes[name]
    if what == "gone":
        shelf.drop(name)
    else:
        shelf.change(name, rights=EVE)
    await guarded.start(source)
    assert ledger.sync is not None
    passes = ledger.sync._planner._passes
    unread = passes.unread

    async def after_the_long_sync(*asked: Any) -> AsyncIterator[list[UnreadItem]]:
        shelf.bytes[name] = text
        assert await ledger.run(JobLane.SMALL, owner="another") == long
        async for page in unread(*asked):
            yield page

    passes.unread = after_the_long_sync  # type: ignore[method-assign]
    job = await ledger.claim("passes", JobLane.SYNC)
    await ledger.finish(job, ledger.runner())
    passes.unread = unread  # type: ignore[method-assign]
    assert name not in await seen_by(guarded, ann)


async def test_a_long_sync_shows_nothing_new_of_a_source_that_is_hidden_since_it_listed(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: LongShelf, ann: ItemRights
) -> None:
    source = await fill(guarded, shelf, ann, stale_after_hours=1)
    shelf.put("n", "Text of n.", rights=ann)
    long = await list_only(guarded, source)
    days = "last_success_at = now() - interval '5 days', created_at = now() - interval '9 days'"
    await ledger.rows(scope, f"update sources set {days} returning id")
    await guarded.clock.tick()
    assert await seen_by(guarded, ann) == []
    assert await ledger.run(JobLane.SMALL) == long
    assert await seen_by(guarded, ann) == []
    await guarded.sync(source)
    await settle(guarded)
    assert "n" in await seen_by(guarded, ann), "and the next sync shows it"


class SlowDocuments(SyncedDocuments):
    """Both jobs have the source's row, as far as both can, before either changes it."""

    async def hold_current(self, *asked: Any) -> bool:
        held = await super().hold_current(*asked)
        await asyncio.sleep(0.3)
        return held


@pytest.mark.parametrize("shelf", ["all"], indirect=True)
async def test_a_sync_and_its_pass_close_at_once_and_neither_is_held_up(
    guarded: SyncBench, ledger: Bench, shelf: LongShelf, ann: ItemRights
) -> None:
    source = await fill(guarded, shelf, ann)
    shelf.put("n", "Text of n.", rights=ann)
    await list_only(guarded, source)
    jobs = [await plan_pass(guarded, source), await ledger.claim("reads", JobLane.SMALL)]
    before, sync = (await guarded.show(source))["last_success_at"], ledger.sync
    assert sync is not None
    sync._documents = SlowDocuments(ledger.database)
    payloads = [(await ledger.jobs.reload(job)).payload for job in jobs]
    await asyncio.gather(*(sync.close(job.lease, payload) for job, payload in zip(jobs, payloads, strict=True)))
    assert (await guarded.show(source))["last_success_at"] > before
