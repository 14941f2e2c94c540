"""Syncs of a source that lists what changed: rights, failures, removals and returns that it names only once."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from cluster.basics.scope import Scope
from pipelines.documents.sources.source_port import ItemRights, ListingFault
from pipelines.documents.store.library import DocumentLibrary
from pipelines.documents.sync.source_edits import SourceEditor
from pipelines.documents.sync.synced_documents import SyncedDocuments
from tests.fakes.ledger import Bench
from tests.fakes.shelves import Shelf, SyncBench, shelf_kind, sync_bench


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(changes=[])


@pytest.fixture
def sources(ledger: Bench, scope: Scope, shelf: Shelf) -> SyncBench:
    return sync_bench(ledger, scope, None, shelf_kind(shelf))


@pytest.fixture
def guarded(ledger: Bench, scope: Scope, shelf: Shelf) -> SyncBench:
    """The shelf says who may see what."""
    return sync_bench(ledger, scope, None, shelf_kind(shelf, has_rights=True))


@pytest.fixture
def ann(scope: Scope) -> str:
    return f"ann@{scope.workspace}.example"


@pytest.fixture
def eve(scope: Scope) -> str:
    return f"eve@{scope.workspace}.example"


def sign_up(admin_dsn: str, scope: Scope, emails: Sequence[str]) -> None:
    with psycopg.connect(admin_dsn) as owner:
        for email in emails:
            owner.execute(
                "insert into users (tenant_id, email, password_hash, role) values (%s, %s, 'x', 'viewer')",
                (scope.tenant, email),
            )


async def test_who_gets_an_account_later_is_let_in_by_the_rights_of_now(
    guarded: SyncBench, scope: Scope, shelf: Shelf, admin_dsn: str, ann: str, eve: str
) -> None:
    source = await guarded.add()
    shelf.put("a", "For Ann.", rights=ItemRights(("other@x.example",)))
    shelf.put("b", "For Eve.", rights=ItemRights((eve,)))
    await guarded.sync(source)
    shelf.change("a", rights=ItemRights((ann,)))
    shelf.change("b", rights=ItemRights())
    assert await guarded.sync(source) == {"listed": 2, "unchanged": 2}
    sign_up(admin_dsn, scope, [ann, eve])
    assert await guarded.sync(source) == {"rights": 1, "unchanged": 1}
    assert list(await guarded.documents(f"user:{ann}")) == ["a.txt"]
    assert not await guarded.documents(f"user:{eve}"), "what was withdrawn before she came does not come back"


async def test_what_could_not_be_fetched_is_asked_for_again_as_it_was_listed_last(
    guarded: SyncBench, scope: Scope, shelf: Shelf, admin_dsn: str, ann: str, eve: str
) -> None:
    """What a source needs to give an item may be told by its version alone."""
    sign_up(admin_dsn, scope, [ann, eve])
    source = await guarded.add()
    shelf.put("a", "For Eve.", rights=ItemRights((eve,)))
    shelf.put("x", "For nobody.")
    shelf.away_items = {"a"}
    await guarded.sync(source)
    shelf.put("a", "For Ann.", path="new/a.txt", rights=ItemRights((ann,)))
    await guarded.sync(source)
    rows, _ = await guarded.parts.store.items(scope, source, "failed", skip=0, limit=9)
    assert [(row["path"], row["version"], row["rights"]["users"]) for row in rows] == [("new/a.txt", "2", [ann])]
    shelf.away_items, shelf.asked = set(), []
    assert await guarded.sync(source) == {"added": 1, "unchanged": 1}
    assert shelf.asked == [("a", "2")]
    assert await guarded.documents(f"user:{ann}") == {"a.txt": "For Ann."}
    assert not await guarded.documents(f"user:{eve}")


async def test_a_change_that_could_not_be_fetched_does_not_count_as_read(sources: SyncBench, shelf: Shelf) -> None:
    source = await sources.add()
    shelf.put("a", "As it was.")
    shelf.put("x", "Another.")
    await sources.sync(source)
    shelf.put("a", "Anew.")
    shelf.away_items = {"a"}
    await sources.sync(source)
    rows, _ = await sources.parts.store.items(sources.scope, source, "failed", skip=0, limit=9)
    assert [row["version"] for row in rows] == ["1"]
    shelf.away_items = set()
    await sources.sync(source)
    assert (await sources.documents("user:x@x"))["a.txt"] == "Anew."


async def ten_with_four_that_wait(sources: SyncBench, shelf: Shelf) -> str:
    source = await sources.add()
    for name in "abcdefghij":
        shelf.put(name, f"Text of {name}.")
    await sources.sync(source)
    shelf.drop("a", "b", "c", "d")
    await sources.sync(source)
    assert (await sources.show(source))["waiting"]["removals"] == 4
    return source


async def test_removals_wait_until_a_person_says_so_whatever_is_listed_meanwhile(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await ten_with_four_that_wait(sources, shelf)
    shelf.put("k", "Text of k.")
    shelf.put("a", "Text of a.")
    assert await sources.sync(source) == {"listed": 2, "added": 1, "unchanged": 7, "waiting": 3}
    assert (await sources.show(source))["waiting"]["paths"] == ["b.txt", "c.txt", "d.txt"]
    assert await sources.sync(source) == {"unchanged": 8, "waiting": 3}
    async with ledger.database.transaction(scope) as tx:
        await sources.parts.starter.approve(tx, scope, source, 3)
    await ledger.run()
    assert sorted(await sources.documents("user:x@x")) == [f"{name}.txt" for name in "aefghijk"]
    assert (await sources.show(source))["waiting"] is None


async def test_a_removal_that_was_declined_does_not_come_back_until_it_is_named_again(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await ten_with_four_that_wait(sources, shelf)
    async with ledger.database.transaction(scope) as tx:
        await SourceEditor(sources.parts.store).decline(tx, scope, source, 4)
    assert await sources.sync(source) == {"unchanged": 10}
    assert (await sources.show(source))["waiting"] is None and len(await sources.documents("user:x@x")) == 10
    assert shelf.changes is not None
    shelf.changes.append(("a", None))
    assert await sources.sync(source) == {"unchanged": 9, "removed": 1}


@pytest.mark.parametrize(
    ("values", "cursor"), [({"credential": "another"}, None), ({"settings": {"x": "y"}}, None), ({"readers": []}, "1")]
)
async def test_another_account_is_asked_for_everything(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, values: dict[str, object], cursor: str | None
) -> None:
    source = await sources.add()
    shelf.put("a", "Text of a.")
    await sources.sync(source)
    async with ledger.database.transaction(scope) as tx:
        await SourceEditor(sources.parts.store).change(tx, scope, source, values)
    assert (await sources.parts.store.definition(scope, source)).cursor == cursor


async def test_what_comes_back_changed_is_hidden_until_its_new_bytes_are_here(
    guarded: SyncBench, scope: Scope, shelf: Shelf, admin_dsn: str, ann: str, eve: str
) -> None:
    sign_up(admin_dsn, scope, [ann, eve])
    source = await guarded.add(max_removed_percent=100, erase_after_days=0)
    shelf.put("a", "Old, for Eve.", rights=ItemRights((eve,)))
    shelf.put("x", "For nobody.")
    await guarded.sync(source)
    ids = await guarded.ids()
    shelf.drop("a")
    await guarded.sync(source)
    shelf.put("a", "New, for Ann.", path="b.txt", rights=ItemRights((ann,)))
    shelf.change("a", version="2")
    shelf.away_items = {"a"}
    assert await guarded.sync(source) == {"listed": 1, "returned": 1, "unchanged": 1}
    assert not await guarded.documents(f"user:{eve}") and not await guarded.documents(f"user:{ann}")
    shelf.away_items = set()
    assert await guarded.sync(source) == {"returned": 1, "unchanged": 1}, "it is neither named again nor erased"
    assert await guarded.documents(f"user:{ann}") == {"b.txt": "New, for Ann."}
    assert not await guarded.documents(f"user:{eve}") and (await guarded.ids())["b.txt"] == ids["a.txt"]


@pytest.mark.parametrize("version", ["1", "2"])
async def test_what_is_back_on_the_day_it_would_be_erased_stays(sources: SyncBench, shelf: Shelf, version: str) -> None:
    source = await sources.add(max_removed_percent=100, erase_after_days=0)
    shelf.put("a", "Text of a.")
    await sources.sync(source)
    ids = await sources.ids()
    shelf.drop("a")
    await sources.sync(source)
    shelf.put("a", "Text of a.")
    shelf.change("a", version=version)
    assert await sources.sync(source) == {"listed": 1, "returned": 1}
    assert await sources.ids() == ids and await sources.documents("user:x@x") == {"a.txt": "Text of a."}


async def test_what_has_come_back_since_it_was_to_be_erased_is_not(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await sources.add()
    shelf.put("a", "Text of a.")
    await sources.sync(source)
    definition, ids = await sources.parts.store.definition(scope, source), await sources.ids()
    async with ledger.database.transaction(scope) as tx:
        unit = {"document": ids["a.txt"], "left": True}
        assert await SyncedDocuments(ledger.database).erase(tx, scope, definition, "a", unit) is None
    assert await sources.ids() == ids
    assert await sources.sync(source) == {"unchanged": 1}


@pytest.mark.parametrize("version", ["1", "2"])
async def test_readers_by_hand_outlast_a_return(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, version: str
) -> None:
    source = await sources.add(max_removed_percent=100)
    shelf.put("a", "Text of a.")
    await sources.sync(source)
    async with ledger.database.transaction(scope) as tx:
        library, ids = DocumentLibrary(ledger.database), await sources.ids()
        await library.change_readers(tx, scope, ids["a.txt"], ["group:legal"])
    shelf.drop("a")
    await sources.sync(source)
    shelf.put("a", "Text of a.")
    shelf.change("a", version=version)
    await sources.sync(source)
    assert await sources.sync(source) == {"unchanged": 1}
    assert await sources.documents("group:legal") and not await sources.documents("user:x@x")


async def age(ledger: Bench, scope: Scope, hours: int) -> None:
    """Whatever happened to sources happened earlier than it did."""
    await ledger.rows(
        scope,
        "update sources set last_success_at = last_success_at - make_interval(hours => %(hours)s),"
        " hidden_at = hidden_at - make_interval(hours => %(hours)s) returning id",
        hours=hours,
    )


async def two_that_are_hidden(guarded: SyncBench, ledger: Bench, shelf: Shelf, ann: str) -> str:
    source = await guarded.add(stale_after_hours=24, every_minutes=1440)
    for name in "ab":
        shelf.put(name, f"Text of {name}.", rights=ItemRights((ann,)))
    await guarded.sync(source)
    assert len(await guarded.documents(f"user:{ann}")) == 2
    await age(ledger, guarded.scope, 25)
    guarded.time.now = datetime.now(UTC)
    await guarded.clock.tick()
    assert not await guarded.documents(f"user:{ann}")
    return source


@pytest.mark.parametrize("full", [True, False])
async def test_what_half_a_listing_confirms_is_shown_and_is_hidden_again_in_its_time(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, admin_dsn: str, ann: str, full: bool
) -> None:
    sign_up(admin_dsn, scope, [ann])
    shelf.changes = None if full else []
    source = await two_that_are_hidden(guarded, ledger, shelf, ann)
    shelf.change("a", path="a.txt")
    unlisted = shelf.items.pop("b")
    shelf.faults = [ListingFault("there", "permission denied")]
    await guarded.sync(source)
    assert list(await guarded.documents(f"user:{ann}")) == ["a.txt"]
    assert (await guarded.show(source))["hidden_at"] is not None, "not all of it is shown"
    await guarded.clock.tick()
    assert list(await guarded.documents(f"user:{ann}")) == ["a.txt"]
    await age(ledger, scope, 25)
    await guarded.clock.tick()
    assert not await guarded.documents(f"user:{ann}"), "nobody has confirmed it since"
    shelf.items["b"], shelf.faults = unlisted, []
    await guarded.sync(source)
    assert len(await guarded.documents(f"user:{ann}")) == 2 and (await guarded.show(source))["hidden_at"] is None


async def test_what_is_hidden_during_a_sync_is_shown_by_the_next_at_once(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, admin_dsn: str, ann: str
) -> None:
    sign_up(admin_dsn, scope, [ann])
    source = await two_that_are_hidden(guarded, ledger, shelf, ann)
    await guarded.sync(source)
    await age(ledger, scope, 23)
    await guarded.start(source)
    job = await ledger.claim()
    assert ledger.sync is not None
    planned = await ledger.sync.plan(job)
    async with ledger.jobs.writing(job.lease) as tx:
        await ledger.jobs.planned(tx, job.lease, planned)
    guarded.time.now = datetime.now(UTC) + timedelta(hours=2)
    await guarded.clock.tick()
    await ledger.finish(await ledger.jobs.reload(job), ledger.runner())
    shown = await guarded.show(source)
    assert not await guarded.documents(f"user:{ann}") and shown["hidden_at"] is not None
    assert shown["next_at"] < datetime.now(UTC)
    await guarded.sync(source)
    assert len(await guarded.documents(f"user:{ann}")) == 2 and (await guarded.show(source))["hidden_at"] is None
