"""Blobs in S3-compatible storage: the same port as the folder, local copies in a bounded cache, and the way between."""

import asyncio
import hashlib
import itertools
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from cluster import doctor
from cluster.basics.disk import DiskRoom, DiskUsage
from cluster.basics.errors import DiskFull, NotFound, TooLarge
from cluster.cli import run_command
from cluster.console.findings import StatusColour
from cluster.state.objects.bucket import Bucket, ObjectChanged, ObjectFacts, StorageUnavailable
from cluster.state.objects.migration import BlobMigration, BucketSide, FolderSide, MigrationCount, MigrationJournal
from configs.sections_blobs import BlobSettings
from configs.settings import InvalidConfiguration, load_settings
from pipelines.documents.ingest.stages import FileTask, survey_file
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.blobs import BlobStore, FolderBlobs, Location
from pipelines.documents.store.choose_store import open_blobs, open_parts
from pipelines.documents.store.file_cache import FileCache
from pipelines.documents.store.s3_blobs import BucketBlobs
from pipelines.documents.store.uploads.part_store import BucketParts, FolderParts, PartStore
from tests.fakes.reading import FormFeedReader
from tests.fakes.s3 import S3Server, bucket_blobs, run_s3

T, W = str(uuid4()), str(uuid4())
MIB = 2**20


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with run_s3() as server:
        yield server


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, s3: S3Server, tmp_path: Path) -> BlobStore:
    """Both stores are held to the same tests."""
    if request.param == "folder":
        return FolderBlobs(tmp_path / "blobs", base=tmp_path)
    return bucket_blobs(s3.settings(), tmp_path)


@pytest.fixture(params=["folder", "bucket"])
def part_store(request: pytest.FixtureRequest, s3: S3Server, tmp_path: Path) -> PartStore:
    return FolderParts(tmp_path / "blobs") if request.param == "folder" else BucketParts(Bucket.of(s3.settings()))


async def blocks(*some: bytes) -> AsyncIterator[bytes]:
    for block in some:
        yield block


def put(store: BlobStore, data: bytes, name: str | None = None) -> Location:
    return asyncio.run(store.put(T, W, blocks(data), name))


def read(store: BlobStore, location: Location) -> bytes:
    with store.open_local(location) as path:
        return path.read_bytes()


def test_vs_07_what_is_put_is_read_sized_and_deleted(store: BlobStore) -> None:
    """VS-07: raw files in a store with keys by tenant and workspace; larger than one piece of a multipart upload."""
    data = os.urandom(12 * MIB + 7)
    location = asyncio.run(store.put(T, W, blocks(data[:5], data[5:MIB], data[MIB:])))
    assert location.startswith(f"blob:{T}/{W}/")
    assert store.size(location) == len(data) and read(store, location) == data
    with store.open_reference(store.reference(location)) as path:
        assert path.read_bytes() == data
    named = put(store, b"two", "by-name")
    assert named == store.location(T, W, "by-name") and read(store, named) == b"two"
    store.delete(location)
    store.delete(location)
    assert store.size(location) is None
    with pytest.raises(FileNotFoundError):
        read(store, location)
    assert read(store, named) == b"two"


def test_a_stream_that_breaks_leaves_nothing(store: BlobStore) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * (6 * MIB)
        raise RuntimeError("the line is dead")

    with pytest.raises(RuntimeError, match="the line is dead"):
        asyncio.run(store.put(T, W, broken(), "broken"))
    assert store.size(store.location(T, W, "broken")) is None


def test_scanned_files_are_opened_where_they_are(store: BlobStore, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"on the share")
    location = Location(f"file:{file}")
    assert read(store, location) == b"on the share" and store.size(location) == 12
    with store.open_reference(store.reference(location)) as path:
        assert path == file
    store.delete(location)
    assert file.exists(), "a file of a scanned folder is never touched"
    for odd in ("blob:../x", "http://x", ""):
        with pytest.raises(NotFound), store.open_local(Location(odd)):
            pass


def test_a_workspace_is_erased_and_no_other(store: BlobStore) -> None:
    mine, other = put(store, b"mine"), str(uuid4())
    theirs = asyncio.run(store.put(T, other, blocks(b"theirs")))
    digest = hashlib.sha256(b"mine").hexdigest()
    assert store.copies(T, W, {digest: 4}) == [mine] and store.copies(T, other, {digest: 4}) == []
    store.erase(T, W)
    assert store.size(mine) is None and read(store, theirs) == b"theirs"


def test_members_of_an_archive_are_handed_over_and_adopted(store: BlobStore, tmp_path: Path) -> None:
    staging = store.staging(T, W, "job")
    staging.mkdir(parents=True)
    (staging / "0").write_bytes(b"a member")
    (staging / "1").write_bytes(b"left behind")
    handed = store.hand_over(staging, str(staging / "0"))
    kept = store.adopt(T, W, handed, "document-hash")
    assert store.adopt(T, W, handed, "document-hash") == kept, "done again it is the same"
    store.discard(staging)
    assert read(store, kept) == b"a member" and not staging.exists()
    digest = hashlib.sha256(b"a member").hexdigest()
    assert store.copies(T, W, {digest: 8}) == [kept], "nothing staged is left"


def test_a_survey_opens_what_is_in_the_bucket(s3: S3Server, tmp_path: Path) -> None:
    """As an actor on another node does, with a cache of its own."""
    settings = s3.settings()
    first, second = bucket_blobs(settings, tmp_path / "a"), bucket_blobs(settings, tmp_path / "b")
    location = put(first, b"one\ftwo")
    task = FileTask("k", first.reference(location), "a.txt")
    results = [survey_file(FormFeedReader(), task, store) for store in (first, second)]
    assert [(one.pages, one.kind, one.failure) for one in results] == [(2, str(Kind.TEXT), None)] * 2
    assert results[0].mtime_ns == results[1].mtime_ns, "a slice need not hash the file again on another node"
    first.delete(location)
    gone = survey_file(FormFeedReader(), FileTask("k", first.reference(location), "a.txt"), first)
    assert gone.failure is not None and gone.failure.reason == "changed"


def test_parts_are_kept_by_upload_and_dropped_together(part_store: PartStore) -> None:
    one, two = str(uuid4()), str(uuid4())

    async def go() -> None:
        first = await part_store.put(T, W, one, blocks(b"a" * 10, b"b"))
        again = await part_store.put(T, W, one, blocks(b"c"))
        other = await part_store.put(T, W, two, blocks(b"d"))
        assert first != again
        assert b"".join([block async for block in part_store.read(first)]) == b"a" * 10 + b"b"
        assert {folder.session for folder in part_store.folders()} == {one, two}
        part_store.delete(again)
        part_store.drop(T, W, one)
        part_store.drop(T, W, one)
        with pytest.raises(FileNotFoundError):
            _ = [block async for block in part_store.read(first)]
        assert b"".join([block async for block in part_store.read(other)]) == b"d"

    asyncio.run(go())


def test_a_storage_that_is_away_or_has_no_such_bucket_has_a_name(s3: S3Server, tmp_path: Path) -> None:
    away = bucket_blobs(BlobSettings(url="s3://nowhere/x", endpoint="http://127.0.0.1:9"), tmp_path)
    away._bucket._store = Bucket.of(  # one try is enough to see it
        BlobSettings(url="s3://nowhere/x", endpoint=s3.endpoint, access_key="k", secret_key="s")
    )._store
    with pytest.raises(StorageUnavailable) as told:
        put(away, b"x")
    assert "nowhere" in told.value.detail and "AOS_BLOBS_URL" in told.value.hint
    with pytest.raises(StorageUnavailable):
        read(away, Location(f"blob:{T}/{W}/a"))
    with pytest.raises(StorageUnavailable):
        away.copies(T, W, {})


def test_copies_are_fetched_once_and_evicted_while_those_in_use_stay(s3: S3Server, tmp_path: Path) -> None:
    store = bucket_blobs(s3.settings(), tmp_path, most_bytes=3 * MIB)
    places = [put(store, bytes([n]) * MIB) for n in range(6)]
    with store.open_local(places[0]) as held:
        for place in places:
            read(store, place)
        files = tmp_path / "blob_cache" / "files"
        assert sum(path.stat().st_size for path in files.iterdir()) <= 3 * MIB
        assert held.read_bytes() == b"\0" * MIB, "whoever has it open keeps it"
        with store.open_local(places[0]) as again:
            assert again == held, "a reader knows it again by its name"
        assert held.exists()
    assert not held.exists() and list((tmp_path / "blob_cache" / "used").iterdir()) == []


def test_what_others_have_replaced_is_read_anew_and_its_copy_goes_with_it(s3: S3Server, tmp_path: Path) -> None:
    store = bucket_blobs(s3.settings(), tmp_path)
    place = put(store, b"the first", "incoming/a.txt")
    assert read(store, place) == b"the first"
    put(store, b"another 1", "incoming/a.txt")
    assert read(store, place) == b"another 1", "as long, and in the same second"
    before = len(list((tmp_path / "blob_cache" / "files").iterdir()))
    store.delete(place)
    assert len(list((tmp_path / "blob_cache" / "files").iterdir())) == before - 1
    with pytest.raises(FileNotFoundError):
        read(store, place)


def test_many_who_want_a_copy_fetch_it_once(tmp_path: Path) -> None:
    cache, fetched = FileCache(tmp_path / "cache", 2**30), list[int]()

    def fetch(target: Path) -> int:
        fetched.append(1)
        time.sleep(0.2)
        target.write_bytes(b"x")
        return 10**9

    def want() -> None:
        with cache.open("a/b", fetch) as path:
            assert path.read_bytes() == b"x" and path.stat().st_mtime_ns == 10**9

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fetched == [1]
    cache.forget("a/b")
    want()
    assert len(fetched) == 2


def test_a_fetch_that_fails_or_has_no_room_leaves_nothing(tmp_path: Path) -> None:
    free = [0]
    cache = FileCache(tmp_path / "c", 2**30, DiskRoom(tmp_path, MIB, usage=lambda _: DiskUsage(free[0], 2**30)))

    def fetch(target: Path) -> int:
        target.write_bytes(b"half")
        raise StorageUnavailable("it went away")

    with pytest.raises(DiskFull), cache.open("k", fetch):
        pass
    free[0] = 2**30
    with pytest.raises(StorageUnavailable), cache.open("k", fetch):
        pass
    assert [path for path in (tmp_path / "c").rglob("*") if path.is_file() and path.parent.name != "locks"] == []


def test_what_killed_processes_left_in_the_cache_goes(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "c", 2**30)

    def fetch(target: Path) -> int:
        target.write_bytes(b"x")
        return 0

    with cache.open("k", fetch) as path:
        host = path.name.split(".")[0]
        dead = path.parent / f"{host}.{2**22 + 1}.x.y"
        dead.write_bytes(b"of a process that is gone")
        old = tmp_path / "c" / "files" / "old"
        old.write_bytes(b"unused for two hours")
        os.utime(old, (time.time() - 7200,) * 2)
        cache.evict()
        assert path.exists() and not dead.exists() and not old.exists()


def wait_for(true: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def write_x(target: Path) -> int:
    target.write_bytes(b"x")
    return 0


def test_every_process_that_reads_removes_what_is_unused_while_nobody_reads(tmp_path: Path) -> None:
    cache, files = FileCache(tmp_path / "c", 2**30, tidy_seconds=0.05), tmp_path / "c" / "files"
    with cache.open("k", write_x):
        pass
    (copy,) = files.iterdir()
    os.utime(copy, (time.time() - 7200,) * 2)
    wait_for(lambda: not list(files.iterdir()))
    wait_for(lambda: cache._tidier is None)  # nothing is left to look after
    assert not list(files.iterdir())
    with cache.open("k", write_x):
        pass
    (copy,) = files.iterdir()
    other = FileCache(tmp_path / "c", 2**30, tidy_seconds=0.05)  # a process that has begun, and reads nothing yet
    other.tidy()
    os.utime(copy, (time.time() - 7200,) * 2)
    wait_for(lambda: not copy.exists())


def test_who_fetches_a_copy_has_it_whoever_evicts_it_at_once(tmp_path: Path) -> None:
    mine, others, over = FileCache(tmp_path, 0), FileCache(tmp_path, 0), threading.Event()

    def fetch(target: Path) -> int:
        target.write_bytes(b"bytes")
        return time.time_ns()

    def evict() -> None:
        while not over.is_set():
            others.evict()

    evicting = threading.Thread(target=evict)
    evicting.start()
    try:
        for number in range(1000):
            with mine.open(f"file {number}", fetch) as path:
                assert path.read_bytes() == b"bytes"
    finally:
        over.set()
        evicting.join()
    assert not list((tmp_path / "used").iterdir())


def test_a_fetch_that_takes_long_holds_up_no_other_file(tmp_path: Path) -> None:
    cache, go_on, begun = FileCache(tmp_path / "c", 2**30), threading.Event(), threading.Event()

    def slowly(target: Path) -> int:
        begun.set()
        assert go_on.wait(60)
        return write_x(target)

    def read_slowly() -> None:
        with cache.open("slow", slowly):
            pass

    slow = threading.Thread(target=read_slowly)
    slow.start()
    assert begun.wait(20)
    done = list[int]()

    def read_others() -> None:
        for number in range(1500):  # more than there would be locks, were they shared
            with cache.open(f"k{number}", write_x):
                done.append(number)
            cache.forget(f"k{number}")

    others = threading.Thread(target=read_others, daemon=True)
    others.start()
    others.join(60)
    free = len(done) == 1500
    go_on.set()
    slow.join()
    others.join()
    assert free and list((tmp_path / "c" / "locks").iterdir()) == []


def test_a_lock_that_was_removed_under_those_who_wait_is_held_by_one_of_them(tmp_path: Path) -> None:
    cache, inside, most = FileCache(tmp_path / "c", 2**30), list[int](), list[int]()

    def fetch(target: Path) -> int:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.001)
        inside.pop()
        return write_x(target)

    def want() -> None:
        for _ in range(40):
            with suppress(FileNotFoundError), cache.open("k", fetch):
                cache.forget("k")

    threads = [threading.Thread(target=want) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert max(most) == 1


def test_an_object_that_is_replaced_while_it_is_fetched_is_read_whole_or_not_at_all(
    s3: S3Server, tmp_path: Path
) -> None:
    """What others write is fetched by the ETag that was looked at, and never more bytes than that had."""
    bucket, cache = Bucket.of(s3.settings()), FileCache(tmp_path / "c", 2**30)
    key, replaced = f"{T}/{W}/incoming/a.txt", list[int]()

    class Replaced(Bucket):
        """Somebody replaces the object after it was looked at, as often as `left` says."""

        left = 1

        def facts(self, asked: str) -> ObjectFacts | None:
            found = super().facts(asked)
            if self.left:
                self.left -= 1
                replaced.append(1)
                bucket.put_blocks(key, iter([b"another " + bytes([len(replaced)]) * 5000]))
            return found

    store = BucketBlobs(Replaced(bucket._store, bucket._signer, "b"), cache)
    bucket.put_blocks(key, iter([b"the first"]))
    before = bucket.facts(key)
    assert before is not None
    location = Location(f"blob:{key}")
    assert read(store, location) == b"another " + b"\1" * 5000, "asked again, it is what is there now"
    with pytest.raises(ObjectChanged):
        bucket.fetch_as(before, tmp_path / "x")
    bucket.put_blocks(key, iter([b"the other"]))  # of the same size: the tag alone tells
    with pytest.raises(ObjectChanged):
        bucket.fetch_as(before, tmp_path / "x")
    bucket.put_blocks(key, iter([b"one that is longer"]))
    untagged = ObjectFacts(key, before.size, before.modified)  # of a storage that compares no ETag
    with pytest.raises(ObjectChanged):
        bucket.fetch_as(untagged, tmp_path / "x")
    assert (tmp_path / "x").stat().st_size <= before.size
    bucket.put_blocks(key, iter([b"of which there is no copy yet"]))
    store._bucket.left = 99  # type: ignore[attr-defined]
    with pytest.raises(ObjectChanged):
        read(store, location)
    assert not [one for one in (tmp_path / "c" / "files").iterdir() if one.suffix]


def test_a_file_with_more_bytes_than_may_be_is_not_fetched(store: BlobStore, tmp_path: Path) -> None:
    location = put(store, b"x" * 11, "incoming/a.txt")
    with pytest.raises(TooLarge), store.open_local(location, most=10):
        pass
    with store.open_local(location, most=11) as path:
        assert path.stat().st_size == 11
    scanned = tmp_path / "scan.txt"
    scanned.write_bytes(b"x" * 11)
    with pytest.raises(TooLarge), store.open_local(Location(f"file:{scanned}"), most=10):
        pass


async def test_a_slow_disk_holds_up_nobody_else(tmp_path: Path) -> None:
    """Bytes are written in threads: what else is on the event loop goes on."""
    slow = DiskRoom(tmp_path, usage=lambda _: time.sleep(0.3) or DiskUsage(2**40, 2**40))  # type: ignore[func-returns-value]
    store, ticks = FolderBlobs(tmp_path, slow), list[float]()

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    location = await store.put(T, W, blocks(b"a" * MIB, b"b" * MIB))
    ticking.cancel()
    assert store.size(location) == 2 * MIB and len(ticks) > 20
    assert max(after - before for before, after in itertools.pairwise(ticks)) < 0.25


async def test_a_write_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    store, began = FolderBlobs(tmp_path), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * MIB
            began.set()
            await asyncio.sleep(0)

    writing = asyncio.create_task(store.put(T, W, endless()))
    await began.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert [names for _, _, names in os.walk(tmp_path) if names] == []


def sides(s3: S3Server, tmp_path: Path) -> tuple[FolderBlobs, BlobSettings]:
    return FolderBlobs(tmp_path / "blobs"), s3.settings("copied/here")


def migrate(
    folder: Path, settings: BlobSettings, journal: Path, *, back: bool = False, **options: bool
) -> MigrationCount:
    ends = FolderSide(folder), BucketSide(Bucket.of(settings))
    source, target = reversed(ends) if back else ends
    return BlobMigration(source, target, MigrationJournal(journal)).run(lambda count: None, **options)


def test_blobs_move_to_the_bucket_and_back_with_the_same_keys(s3: S3Server, tmp_path: Path) -> None:
    folder, settings = sides(s3, tmp_path)
    data = [os.urandom(size) for size in (1, 700, 6 * MIB)]
    places = [put(folder, one) for one in data]
    asyncio.run(FolderParts(tmp_path / "blobs").put(T, W, str(uuid4()), blocks(b"of an upload under way")))
    (tmp_path / "blobs" / "x.part").write_bytes(b"left by a kill")
    dry = migrate(tmp_path / "blobs", settings, tmp_path / "j", dry_run=True)
    assert (dry.found, dry.copied, dry.there) == (3, 3, 0)
    assert list(Bucket.of(settings).below()) == [], "a dry run writes nothing"
    told = migrate(tmp_path / "blobs", settings, tmp_path / "j")
    assert (told.copied, told.copied_bytes, told.failed) == (3, sum(map(len, data)), {})
    bucket = bucket_blobs(settings, tmp_path)
    assert [read(bucket, place) for place in places] == data, "rows lead to them as before"
    again = migrate(tmp_path / "blobs", settings, tmp_path / "j")
    assert (again.copied, again.there) == (0, 3)
    back = migrate(tmp_path / "back", settings, tmp_path / "k", back=True)
    assert back.copied == 3
    assert [read(FolderBlobs(tmp_path / "back"), place) for place in places] == data


def test_a_migration_that_is_cut_off_goes_on_and_finds_what_is_not_the_same(s3: S3Server, tmp_path: Path) -> None:
    folder, settings = sides(s3, tmp_path)
    places = [put(folder, os.urandom(1000), f"n{n}") for n in range(5)]
    bucket = Bucket.of(settings)
    keys = [place.removeprefix("blob:") for place in places]
    bucket.put_blocks(keys[0], iter([folder.path(places[0]).read_bytes()]))  # copied, and killed before it was noted
    bucket.put_blocks(keys[1], iter([b"?" * 1000]))  # of the same size, and not the same
    (tmp_path / "j").write_text('{"key": "half a li')
    told = migrate(tmp_path / "blobs", settings, tmp_path / "j")
    assert (told.there, told.copied, told.failed) == (1, 4, {})
    assert b"".join(bucket.blocks(keys[1])) == folder.path(places[1]).read_bytes()
    noted = [json.loads(line) for line in (tmp_path / "j").read_text().splitlines()[1:]]
    assert {one["key"] for one in noted} >= set(keys[1:])


def test_what_cannot_be_copied_is_named_and_the_others_go_on(s3: S3Server, tmp_path: Path) -> None:
    folder, settings = sides(s3, tmp_path)
    good, bad = put(folder, b"good"), put(folder, b"bad!")

    class Bent(BucketSide):
        def put(self, key: str, some: Iterator[bytes]) -> None:
            super().put(key, iter([b"bent"]) if bad.endswith(key) else some)

    ends = FolderSide(tmp_path / "blobs"), Bent(Bucket.of(settings))
    told = BlobMigration(*ends, MigrationJournal(tmp_path / "j")).run(lambda count: None)
    assert list(told.failed) == [bad.removeprefix("blob:")] and told.copied == 1
    bucket = Bucket.of(settings)
    assert bucket.facts(good.removeprefix("blob:")) and bucket.facts(bad.removeprefix("blob:")) is None


def test_the_settings_choose_the_store(s3: S3Server, tmp_path: Path) -> None:
    state = {"AOS_STATE_DIR": str(tmp_path)}
    plain = load_settings(state)
    assert isinstance(open_blobs(plain), FolderBlobs) and isinstance(open_parts(plain), FolderParts)
    made = s3.settings()
    environment = {"AOS_BLOBS_URL": str(made.url), "AOS_BLOBS_ENDPOINT": s3.endpoint}
    chosen = load_settings({**state, **environment, "AOS_BLOBS_ACCESS_KEY": "k", "AOS_BLOBS_SECRET_KEY": "s"})
    store = open_blobs(chosen)
    assert isinstance(store, BucketBlobs) and isinstance(open_parts(chosen), BucketParts)
    assert read(store, put(store, b"by the settings")) == b"by the settings"
    for wrong in ("http://x/y", "s3://", "s3://user:secret@b/x", "s3://b/../x", "bucket"):
        with pytest.raises(InvalidConfiguration):
            load_settings({**state, "AOS_BLOBS_URL": wrong})


def test_the_doctor_tries_the_bucket(s3: S3Server, tmp_path: Path) -> None:
    made, state = s3.settings(), {"AOS_STATE_DIR": str(tmp_path)}
    assert doctor.run_probe("blobs", load_settings(state)) == []
    environment = {**state, "AOS_BLOBS_ENDPOINT": s3.endpoint, "AOS_BLOBS_ACCESS_KEY": "k", "AOS_BLOBS_SECRET_KEY": "s"}
    (well,) = doctor.run_probe("blobs", load_settings({**environment, "AOS_BLOBS_URL": str(made.url)}))
    assert well.colour is StatusColour.GREEN and list(Bucket.of(made).below()) == []
    (sick,) = doctor.run_probe("blobs", load_settings({**environment, "AOS_BLOBS_URL": "s3://not-there"}))
    assert sick.colour is StatusColour.RED and "AOS_BLOBS_URL" in sick.fix


def test_the_command_copies_counts_and_says_what_failed(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, folder = s3.settings(), FolderBlobs(tmp_path / "blobs")
    places = [put(folder, bytes([n]) * 100) for n in range(3)]
    for name, value in (
        ("AOS_STATE_DIR", str(tmp_path)),
        ("AOS_BLOBS_ENDPOINT", s3.endpoint),
        ("AOS_BLOBS_ACCESS_KEY", "k"),
        ("AOS_BLOBS_SECRET_KEY", "s"),
    ):
        monkeypatch.setenv(name, value)
    to = ["blobs", "migrate", "--to", str(made.url), "--json"]
    assert run_command([*to, "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["copied"] == 3 and list(Bucket.of(made).below()) == []
    assert run_command(to) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["copied"], told["there"], told["failed"], told["copied_bytes"]) == (3, 0, {}, 300)
    assert run_command(["blobs", "migrate", "--to", str(made.url)]) == 0
    assert "3 are there already" in capsys.readouterr().out
    assert read(bucket_blobs(made, tmp_path), places[2]) == b"\2" * 100
    for wrong in (["--to", "folder"], ["--to", "http://x"], ["--to", str(made.url), "--from", str(made.url)]):
        assert run_command(["blobs", "migrate", *wrong]) == 1
