"""Syncs over a real ledger: what is read, what leaves, what waits, and that no kill loses or doubles anything."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.basics.errors import Forbidden
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane
from pipelines.documents.sources.source_port import ItemRights, ListingFault, SourceInvalid, SourceRefused
from pipelines.documents.store.library import DocumentLibrary
from pipelines.documents.sync.source_opener import EndpointGuard
from pipelines.documents.sync.source_sync import SyncCutOff
from pipelines.documents.sync.start_sync import NothingWaits, SourceBusy
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled
from tests.fakes.shelves import CutLedger, Shelf, SyncBench, shelf_kind, sync_bench, use_sync


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def sources(ledger: Bench, scope: Scope, shelf: Shelf, tmp_path: Path) -> SyncBench:
    (tmp_path / "base").mkdir()
    return sync_bench(ledger, scope, str(tmp_path / "base"), shelf_kind(shelf))


@pytest.fixture
def guarded(ledger: Bench, scope: Scope, shelf: Shelf) -> SyncBench:
    """The shelf says who may see what."""
    return sync_bench(ledger, scope, None, shelf_kind(shelf, has_rights=True))


@pytest.fixture
def folder(tmp_path: Path, sources: SyncBench) -> Path:
    place = tmp_path / "base" / "papers"
    for n in range(200):
        one = place / f"p{n % 7}" / f"{n:03}.txt"
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text(f"Paper {n} tells of harbour {n}.")
    return place


def later(path: Path) -> None:
    """Its time is another one, however coarse the clock of the file system is."""
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))


async def test_a_folder_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, folder: Path
) -> None:
    source = await sources.add("folder", {"path": "papers"})
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    assert len(ledger.reader.readings) == 200 and len(await sources.documents("user:x@x")) == 200
    before = await sources.ids()
    ledger.reader.readings.clear()
    for n in range(5):
        (folder / f"new{n}.txt").write_text(f"New paper {n}.")
        changed = folder / f"p{n}" / f"{n:03}.txt"
        changed.write_text(f"Paper {n} tells of another harbour.")
        later(changed)
        (folder / f"p{(n + 10) % 7}" / f"{n + 10:03}.txt").unlink()
        moved = folder / f"p{(n + 20) % 7}" / f"{n + 20:03}.txt"
        moved.rename(folder / f"moved{n}.txt")
    counts = await sources.sync(source)
    assert counts == {"listed": 200, "added": 5, "changed": 5, "moved": 5, "unchanged": 185, "removed": 5}
    assert sorted(name for name, _ in ledger.reader.readings) == [
        *(f"{n:03}.txt" for n in range(5)),
        *(f"new{n}.txt" for n in range(5)),
    ]
    found = await sources.documents("user:x@x")
    assert len(found) == 200 and found["000.txt"] == "Paper 0 tells of another harbour."
    assert not found.keys() & {f"{n:03}.txt" for n in range(10, 15)}
    now = await sources.ids()
    assert {now[f"moved{n}.txt"] for n in range(5)} == {before[f"{n + 20:03}.txt"] for n in range(5)}
    assert {now[f"{n:03}.txt"] for n in range(5)} == {before[f"{n:03}.txt"] for n in range(5)}
    ledger.reader.readings.clear()
    assert await sources.sync(source) == {"listed": 200, "unchanged": 200} and not ledger.reader.readings
    (place,) = await ledger.rows(
        sources.scope,
        "select v.location from document_versions v join documents d on d.id = v.document_id"
        " where d.filename = 'moved0.txt'",
    )
    assert place["location"] == f"file:{folder}/moved0.txt", "its pages are drawn from where it lies now"


STEPS = ["a", "b", "c", "d", "e"]


async def test_killed_at_any_step_nothing_is_lost_doubled_or_resurrected(
    sources: SyncBench, ledger: Bench, shelf: Shelf, scope: Scope
) -> None:
    """The worker is ended at every transaction of a sync that adds, changes, renames, hides and deletes by hand."""
    plain, opener = ledger.jobs, sources.parts.opener
    steps, source = 0, await sources.add(max_removed_percent=100, erase_after_days=0)
    for after in (False, True):
        at = 0
        while True:
            at += 1
            for name in STEPS:
                shelf.put(name, f"{name} as it was", path=f"{name}.txt")
            shelf.items.pop("new", None)
            await sources.sync(source)
            library = DocumentLibrary(ledger.database)
            ids = await sources.ids()
            shelf.put("b", f"b anew {at} {after}")
            shelf.change("c", path=f"c{at}.txt")
            shelf.drop("d")
            shelf.put("new", "new")
            ledger.jobs = CutLedger(ledger.database)
            ledger.jobs.at, ledger.jobs.after = at, after
            use_sync(ledger, opener)
            await sources.start(source)
            try:
                await ledger.run(owner="killed")
                killed = False
            except WorkerKilled:
                killed = True
            ledger.jobs = plain
            use_sync(ledger, opener)
            if killed and (await sources.show(source))["job_state"] == "running":
                await sources.lapse()
                await ledger.run(owner="next")
            steps += killed
            found = await sources.documents("user:x@x")
            assert found == {
                "a.txt": "a as it was",
                "b.txt": f"b anew {at} {after}",
                f"c{at}.txt": "c as it was",
                "e.txt": "e as it was",
                "new.txt": "new",
            }, f"cut at {at}, after its commit: {after}"
            now = await sources.ids()
            assert now["b.txt"] == ids["b.txt"] and now[f"c{at}.txt"] == ids["c.txt"]
            async with ledger.database.transaction(scope) as tx:
                await library.delete(tx, scope, now["new.txt"])
            await sources.sync(source)  # also erases what left before
            assert "new.txt" not in await sources.ids() and "d.txt" not in await sources.ids()
            shelf.drop("new")
            shelf.change("c", path="c.txt")
            await sources.sync(source)
            if not killed:
                break
    assert steps > 20


async def uploads(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    place = tmp_path / "hand.txt"
    place.write_text("By hand.")
    file = {"origin": "upload:hand.txt", "filename": "hand.txt", "location": f"file:{place}"}
    await ledger.enqueue(scope, "upload", {"files": [file]}, JobLane.SMALL)
    await ledger.run(JobLane.SMALL)


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (lambda shelf: shelf.drop(*"abc"), "many"),
        (lambda shelf: shelf.drop(*STEPS, *"fghij"), "empty"),
        (lambda shelf: (shelf.drop("a"), shelf.faults.append(ListingFault("x", "broken"))), "incomplete"),
    ],
)
async def test_a_lying_source_deletes_nothing_until_a_person_says_so(
    sources: SyncBench,
    ledger: Bench,
    scope: Scope,
    shelf: Shelf,
    tmp_path: Path,
    lie: Callable[[Shelf], object],
    reason: str,
) -> None:
    await uploads(ledger, scope, tmp_path)
    source = await sources.add()
    for name in "abcdefghij":
        shelf.put(name, f"Text of {name}.")
    await sources.sync(source)
    kept, texts = dict(shelf.items), dict(shelf.bytes)
    lie(shelf)
    await sources.sync(source)
    shown = await sources.show(source)
    gone = 10 - len(shelf.items)
    assert (shown["waiting"]["reason"], shown["waiting"]["removals"]) == (reason, gone)
    assert len(await sources.documents("user:x@x")) == 11
    async with ledger.database.transaction(scope) as tx:
        with pytest.raises(NothingWaits):
            await sources.parts.starter.approve(tx, scope, source, gone + 1)
    shelf.items["a"], shelf.bytes["a"] = kept["a"], texts["a"]  # comes back before anybody has approved
    async with ledger.database.transaction(scope) as tx:
        await sources.parts.starter.approve(tx, scope, source, gone)
    await ledger.run()
    found = await sources.documents("user:x@x")
    assert sorted(found) == sorted(["hand.txt", "a.txt", *(f"{n}.txt" for n in "bcdefghij" if n in shelf.items)])
    assert (await sources.show(source))["waiting"] is None


async def test_a_source_that_breaks_off_or_is_away_changes_nothing(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    from tests.postgres.test_shift import shift

    source = await sources.add()
    shelf.put("a", "Text of a.")
    await sources.sync(source)
    shelf.away = True
    job = await sources.start(source)
    assert await shift(ledger).once(JobLane.SYNC)
    told = await ledger.desk.show(scope, job)
    assert told["state"] == "queued" and "source_away" in [one.reason for one in told["waits"]]
    assert (await sources.show(source))["last_error"]["code"] == "source_away"
    assert await sources.documents("user:x@x") == {"a.txt": "Text of a."}
    shelf.away, shelf.away_items = False, {"b"}
    shelf.put("b", "Text of b.")
    shelf.put("c", "Text of c.")
    await sources.sync(source)
    assert sorted(await sources.documents("user:x@x")) == ["a.txt", "c.txt"]
    shown = await sources.show(source)
    assert (shown["failed"], shown["job_state"]) == (1, "partial")
    shelf.away_items = set()
    assert await sources.sync(source) == {"listed": 3, "added": 1, "unchanged": 2}
    assert sorted(await sources.documents("user:x@x")) == ["a.txt", "b.txt", "c.txt"]


async def test_what_a_person_deletes_stays_away_and_what_comes_back_is_the_same_document(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await sources.add(max_removed_percent=100)
    for name in "abc":
        shelf.put(name, f"Text of {name}.")
    await sources.sync(source)
    ids = await sources.ids()
    async with ledger.database.transaction(scope) as tx:
        await DocumentLibrary(ledger.database).delete(tx, scope, ids["a.txt"])
    shelf.put("a", "Text of a, changed.")
    item, text = shelf.items["b"], shelf.bytes["b"]
    shelf.drop("b")
    assert await sources.sync(source) == {"listed": 2, "excluded": 1, "unchanged": 1, "removed": 1}
    assert list(await sources.documents("user:x@x", "role:admin")) == ["c.txt"], "it left search for everybody"
    assert "b.txt" in await sources.ids(), "and is erased by policy, not at once"
    shelf.items["b"], shelf.bytes["b"] = item, text
    read = len(shelf.read)
    assert await sources.sync(source) == {"listed": 3, "excluded": 1, "returned": 1, "unchanged": 1}
    assert len(shelf.read) == read and (await sources.ids())["b.txt"] == ids["b.txt"]
    assert sorted(await sources.documents("user:x@x")) == ["b.txt", "c.txt"]


async def test_what_left_is_erased_when_its_time_is_over_and_a_new_document_when_it_comes_back(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await sources.add(max_removed_percent=100, erase_after_days=0)
    shelf.put("a", "Text of a.")
    shelf.put("b", "Text of b.")
    await sources.sync(source)
    before = await sources.ids()
    shelf.drop("a")
    await sources.sync(source)
    await sources.sync(source)
    assert list(await sources.ids()) == ["b.txt"]
    blobs = [path for path in (ledger.blobs.path(f"blob:{scope.tenant}")).rglob("*") if path.is_file()]  # type: ignore[arg-type]
    assert len(blobs) == 1, "its bytes went with it"
    shelf.put("a", "Text of a, again.")
    await sources.sync(source)
    found = await sources.ids()
    assert list(found) == ["a.txt", "b.txt"] and found["a.txt"] != before["a.txt"]


ANN, EVE = ItemRights(("ann@x.example",)), ItemRights(("eve@unknown.example",))


async def person(ledger: Bench, scope: Scope, admin_dsn: str, email: str) -> None:
    import psycopg

    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "insert into users (tenant_id, email, password_hash, role) values (%s, %s, 'x', 'viewer')",
            (scope.tenant, email),
        )


async def test_rights_follow_and_who_is_unknown_is_nobody(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, admin_dsn: str
) -> None:
    ann = f"ann@{scope.workspace}.example"
    await person(ledger, scope, admin_dsn, ann)
    source = await guarded.add()
    shelf.put("a", "For Ann.", rights=ItemRights((ann.upper(),)))
    shelf.put("b", "For Eve.", rights=EVE)
    shelf.put("c", "For nobody.")
    await guarded.sync(source)
    assert list(await guarded.documents(f"user:{ann}")) == ["a.txt"]
    assert not await guarded.documents("user:eve@unknown.example", "role:admin")
    read = len(shelf.read)
    shelf.change("b", rights=ItemRights((ann,)))
    shelf.change("a", rights=EVE)
    assert await guarded.sync(source) == {"listed": 3, "rights": 2, "unchanged": 1}
    assert list(await guarded.documents(f"user:{ann}")) == ["b.txt"] and len(shelf.read) == read


async def test_rights_that_nobody_confirms_hide_their_documents_until_somebody_does(
    guarded: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, admin_dsn: str
) -> None:
    ann = f"ann@{scope.workspace}.example"
    await person(ledger, scope, admin_dsn, ann)
    source = await guarded.add(stale_after_hours=24)
    shelf.put("a", "For Ann.", rights=ItemRights((ann,)))
    await guarded.sync(source)
    guarded.time.now = datetime.now(UTC) + timedelta(hours=23)
    await guarded.clock.tick()
    assert list(await guarded.documents(f"user:{ann}")) == ["a.txt"]
    guarded.time.now += timedelta(hours=2)
    await guarded.clock.tick()
    assert not await guarded.documents(f"user:{ann}") and (await guarded.show(source))["hidden_at"] is not None
    shelf.away = True
    await guarded.start(source)
    with pytest.raises(SyncCutOff):
        await ledger.run()
    assert not await guarded.documents(f"user:{ann}"), "a sync that fails confirms nothing"
    async with ledger.database.transaction(scope) as tx:
        await tx.run("update jobs set state = 'failed'")
    shelf.away = False
    await guarded.sync(source)
    assert list(await guarded.documents(f"user:{ann}")) == ["a.txt"]
    assert (await guarded.show(source))["hidden_at"] is None


async def test_a_list_of_changes_goes_on_from_its_cursor_once_all_is_done(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    shelf.changes = []
    source = await sources.add(max_removed_percent=100)
    for name in "abcd":
        shelf.put(name, f"Text of {name}.")
    await sources.sync(source)
    shelf.put("e", "Text of e.")
    shelf.put("a", "Text of a, changed.")
    shelf.drop("b")
    job = await sources.start(source)
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.cancel(tx, scope, job)
    assert await sources.sync(source) == {"listed": 2, "added": 1, "changed": 1, "unchanged": 2, "removed": 1}
    assert shelf.cursors == [None, "4"], "a job that was cancelled has not moved it on"
    assert shelf.read.count("a") == 2 and len(shelf.read) == 6
    assert sorted(await sources.documents("user:x@x")) == ["a.txt", "c.txt", "d.txt", "e.txt"]
    await sources.sync(source)
    assert shelf.cursors[-1] == "7" and len(shelf.read) == 6


async def test_a_dry_run_tells_all_and_changes_nothing(sources: SyncBench, shelf: Shelf) -> None:
    source = await sources.add(max_removed_percent=100)
    shelf.put("a", "Text of a.")
    await sources.sync(source)
    shelf.put("b", "Text of b.")
    shelf.drop("a")
    assert await sources.sync(source, dry_run=True) == {"listed": 1, "added": 1, "removed": 1}
    shown = await sources.show(source)
    assert shown["last_plan"]["samples"] == {"added": ["b.txt"], "removed": ["a.txt"]}
    assert list(await sources.documents("user:x@x")) == ["a.txt"] and shelf.read == ["a"]


async def test_an_older_sync_that_is_resumed_changes_nothing(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    """What it would hide has come back since."""
    source = await sources.add(max_removed_percent=100)
    for name in "ab":
        shelf.put(name, f"Text of {name}.")
    await sources.sync(source)
    item, text = shelf.items["a"], shelf.bytes["a"]
    shelf.drop("a")
    old = await sources.start(source)
    job = await ledger.claim()
    assert ledger.sync is not None
    planned = await ledger.sync.plan(job)
    async with ledger.jobs.writing(job.lease) as tx:
        await ledger.jobs.planned(tx, job.lease, planned)
    await ledger.jobs.release(job.lease)
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.cancel(tx, scope, old)
    shelf.items["a"], shelf.bytes["a"] = item, text
    await sources.sync(source)
    async with ledger.database.transaction(scope) as tx:
        await ledger.desk.resume(tx, scope, old)
    await ledger.run()
    assert (await ledger.desk.show(scope, old))["state"] == "completed"
    assert sorted(await sources.documents("user:x@x")) == ["a.txt", "b.txt"]


async def test_the_clock_starts_a_sync_once_when_it_is_due(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf
) -> None:
    source = await sources.add(every_minutes=60)
    shelf.put("a", "Text of a.")
    sources.time.now = datetime.now(UTC) + timedelta(seconds=5)
    await sources.clock.tick()
    job = (await sources.show(source))["job_id"]
    await sources.clock.tick()
    assert await sources.start(source) == job, "the one that is under way is the answer"
    await ledger.run()
    assert list(await sources.documents("user:x@x")) == ["a.txt"]
    sources.time.now += timedelta(minutes=61)
    await sources.clock.tick()
    assert (await sources.show(source))["job_id"] != job


async def test_a_source_goes_with_its_documents_or_leaves_them(
    sources: SyncBench, ledger: Bench, scope: Scope, shelf: Shelf, tmp_path: Path
) -> None:
    await uploads(ledger, scope, tmp_path)
    shelf.put("a", "Text of a.")
    first, second = await sources.add(), await sources.add(name="two")
    await sources.sync(first)
    await sources.start(second)
    async with ledger.database.transaction(scope) as tx:
        with pytest.raises(SourceBusy):
            await sources.parts.starter.keep(tx, scope, second)
    await ledger.run()
    assert len(await ledger.rows(scope, "select id from documents")) == 3
    async with ledger.database.transaction(scope) as tx:
        await sources.parts.starter.keep(tx, scope, first)
    async with ledger.database.transaction(scope) as tx:
        await sources.parts.starter.remove(tx, scope, second)
    await ledger.run()
    assert sorted(await sources.documents("user:x@x")) == ["a.txt", "hand.txt"]
    assert (await sources.parts.store.page(scope))[1] == 0


async def test_only_folders_below_the_base_are_read(sources: SyncBench, scope: Scope) -> None:
    opener = sources.parts.opener
    for path in ("../elsewhere", "/etc"):
        with pytest.raises(SourceInvalid):
            await opener.open(scope, "folder", {"path": path}, None)
    with pytest.raises(SourceRefused):
        await opener.open(scope, "folder", {"path": "not-there"}, None)
    with pytest.raises(SourceInvalid):
        await opener.open(scope, "folder", {"path": ".", "other": "x"}, None)


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9000", "http://169.254.169.254", "http://[::1]:9"])
async def test_an_endpoint_inside_is_refused_unless_it_is_allowed(
    sources: SyncBench, scope: Scope, endpoint: str
) -> None:
    with pytest.raises(Forbidden) as refused:
        await sources.parts.opener.open(scope, "s3", {"bucket": "b", "endpoint": endpoint}, None)
    assert "AOS_SOURCES_ALLOW" in refused.value.hint


async def test_only_an_endpoint_that_is_listed_may_lack_tls() -> None:
    """Whoever answers there sends the client on to wherever they like."""

    async def find(host: str, port: int) -> list[str]:
        return ["93.184.216.34"]

    with pytest.raises(Forbidden, match="no TLS"):
        await EndpointGuard(find=find).check("http://s3.example")
    assert await EndpointGuard(find=find).check("https://s3.example") == "https://s3.example"
    for entry in ("s3.example", "s3.example:80", "93.184.216.0/24"):
        assert await EndpointGuard((entry,), find).check("http://s3.example/x") == "http://93.184.216.34/x"


async def test_a_link_that_cannot_be_followed_keeps_everything_until_it_can(sources: SyncBench, folder: Path) -> None:
    """Half a listing is none: what is behind the fault may well be there."""
    source = await sources.add("folder", {"path": "papers"}, max_removed_percent=100)
    await sources.sync(source)
    (folder / "loop").symlink_to("loop")
    for n in range(7, 10):
        (folder / f"p{n % 7}" / f"{n:03}.txt").unlink()
    (folder / "p3" / "010.txt").rename(folder / "renamed.txt")
    counts = await sources.sync(source)
    assert counts == {"listed": 197, "unchanged": 196, "held": 1, "waiting": 4, "faults": 1}
    shown = await sources.show(source)
    assert shown["waiting"]["reason"] == "incomplete" and shown["last_error"]["code"] == "incomplete"
    assert len(await sources.documents("user:x@x")) == 200
    (folder / "loop").unlink()
    assert await sources.sync(source) == {"listed": 197, "unchanged": 196, "moved": 1, "removed": 3}
    assert (await sources.show(source))["last_error"] is None


async def test_everything_that_could_not_be_listed_is_counted(sources: SyncBench, shelf: Shelf) -> None:
    """Though only some of it is kept to be shown."""
    source = await sources.add()
    shelf.put("a", "Text of a.")
    shelf.faults = [ListingFault(f"x{n}", "permission denied") for n in range(1500)]
    assert await sources.sync(source) == {"listed": 1, "added": 1, "faults": 1500}
    assert len((await sources.show(source))["last_plan"]["samples"]["faults"]) == 10
