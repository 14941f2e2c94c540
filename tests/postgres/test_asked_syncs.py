"""A sync that a person asks for while one lists: what changed behind that listing is seen by another, which follows."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from cluster.basics.scope import Scope, UserId
from cluster.state.work.jobs import EnqueuedJob, JobLane
from pipelines.documents.sources.source_port import ListingPage
from tests.fakes.ledger import Bench
from tests.fakes.shelves import Shelf, SyncBench, shelf_kind, sync_bench
from tests.postgres.test_rights_pass import fill, list_only, settle


async def nothing() -> None:
    pass


@dataclass
class SlowShelf(Shelf):
    """`meanwhile` runs once, when the first page of a listing is out."""

    meanwhile: Callable[[], Awaitable[None]] = nothing

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        async for page in super().list_changes(cursor):
            yield page
            act, self.meanwhile = self.meanwhile, nothing
            await act()


@pytest.fixture
def shelf() -> SlowShelf:
    return SlowShelf()


@pytest.fixture
def sources(ledger: Bench, scope: Scope, shelf: SlowShelf) -> SyncBench:
    return sync_bench(ledger, scope, None, shelf_kind(shelf))


async def ask(sources: SyncBench, source: str) -> EnqueuedJob:
    """As a person."""
    person = replace(sources.scope, user=UserId(str(uuid4())))
    async with sources.ledger.database.transaction(person) as tx:
        return await sources.parts.starter.sync(tx, person, source)


async def waits(sources: SyncBench) -> bool:
    (row,) = await sources.ledger.rows(sources.scope, "select asked_at from sources")
    return row["asked_at"] is not None


def change_and_ask(sources: SyncBench, shelf: SlowShelf, source: str, times: int = 1) -> list[EnqueuedJob]:
    """What is listed already changes while the rest is, and somebody asks so many times; what they were answered."""
    answers: list[EnqueuedJob] = []

    async def act() -> None:
        shelf.put("a", "Text of a, changed.")
        answers.extend([await ask(sources, source) for _ in range(times)])

    shelf.meanwhile = act
    return answers


@pytest.mark.parametrize("times", [1, 2])
async def test_who_asks_while_a_listing_is_under_way_gets_what_changed_behind_it(
    sources: SyncBench, ledger: Bench, shelf: SlowShelf, times: int
) -> None:
    source = await fill(sources, shelf, None)
    first = await ask(sources, source)
    answers = change_and_ask(sources, shelf, source, times)
    assert await ledger.run(JobLane.SYNC) == first.job
    assert [(one.job, one.fresh) for one in answers] == [(first.job, False)] * times
    assert (await sources.documents("user:x@x"))["a.txt"] == "Text of a."
    assert await settle(sources) == 1, "once more, however often somebody asked"
    assert (await sources.documents("user:x@x"))["a.txt"] == "Text of a, changed."
    assert not await waits(sources) and await settle(sources) == 0


async def test_who_asks_before_the_listing_begins_is_answered_by_it(
    sources: SyncBench, ledger: Bench, shelf: SlowShelf
) -> None:
    source = await fill(sources, shelf, None)
    first = await ask(sources, source)
    assert await ask(sources, source) == EnqueuedJob(first.job, fresh=False)
    await ledger.run(JobLane.SYNC)
    assert not await waits(sources) and await settle(sources) == 0


async def test_a_listing_that_is_made_anew_answers_who_asked_during_the_first(
    sources: SyncBench, ledger: Bench, shelf: SlowShelf
) -> None:
    source = await fill(sources, shelf, None)
    await ask(sources, source)
    answers = change_and_ask(sources, shelf, source)
    job = await ledger.claim(lane=JobLane.SYNC)
    turn = await ledger.runner().turn(job, await ledger.recipe(), lambda: True, lambda: bool(answers))
    assert not turn.ended and await waits(sources)
    await ledger.jobs.release(job.lease)
    assert await settle(sources) == 1
    assert (await sources.documents("user:x@x"))["a.txt"] == "Text of a, changed." and not await waits(sources)


async def test_while_a_sync_reads_another_pass_follows_the_one_that_was_listing(
    sources: SyncBench, ledger: Bench, shelf: SlowShelf
) -> None:
    source = await fill(sources, shelf, None, max_removed_percent=100)
    shelf.put("n", "Text of n.")
    long = await list_only(sources, source)
    first = await ask(sources, source)

    async def act() -> None:
        shelf.drop("a")
        assert await ask(sources, source) == EnqueuedJob(first.job, fresh=False)

    shelf.meanwhile = act
    assert await ledger.run(JobLane.SYNC) == first.job
    assert "a.txt" in await sources.documents("user:x@x")
    assert await ledger.run(JobLane.SYNC) not in (first.job, long)
    assert "a.txt" not in await sources.documents("user:x@x") and not await waits(sources)
    assert await ledger.run(JobLane.SMALL) == long
    assert await settle(sources) == 1 and await settle(sources) == 0, "and a whole sync after them"


async def test_who_asked_while_a_long_sync_listed_waits_for_no_reading(
    sources: SyncBench, ledger: Bench, shelf: SlowShelf
) -> None:
    source = await fill(sources, shelf, None, max_removed_percent=100)
    shelf.put("n", "Text of n.")

    async def act() -> None:
        shelf.drop("a")
        await ask(sources, source)

    shelf.meanwhile = act
    await list_only(sources, source)
    assert await waits(sources)
    assert await sources.clock.tick() == 1, "a pass beside it"
    await ledger.run(JobLane.SYNC)
    assert "a.txt" not in await sources.documents("user:x@x") and not await waits(sources)


@pytest.mark.parametrize("how", ["cancelled", "nobody", "dry_run"])
async def test_nothing_follows_what_was_cancelled_or_what_nobody_asked_for(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: SlowShelf, how: str
) -> None:
    source = await fill(sources, shelf, None)
    job = (await ask(sources, source)).job

    async def act() -> None:
        if how == "cancelled":
            await ask(sources, source)
        else:
            await sources.start(source, dry_run=how == "dry_run")

    shelf.meanwhile = act
    claimed = await ledger.claim(lane=JobLane.SYNC)
    await ledger.runner().turn(claimed, await ledger.recipe(), lambda: True)
    await ledger.jobs.release(claimed.lease)
    if how == "cancelled":
        async with ledger.database.transaction(scope) as tx:
            await ledger.desk.cancel(tx, scope, job)
    else:
        assert await ledger.run(JobLane.SYNC) == job
    assert await settle(sources) == 0
    assert (await ask(sources, source)).fresh


async def test_who_asks_while_a_source_is_removed_starts_nothing_after_it(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: SlowShelf
) -> None:
    source = await fill(sources, shelf, None)
    async with ledger.database.transaction(scope) as tx:
        removal = await sources.parts.starter.remove(tx, scope, source)
    assert await ask(sources, source) == EnqueuedJob(removal.job, fresh=False)
    assert not await waits(sources)
