"""Who swaps a file of a watched folder for a link after the listing gets nothing read that lies outside the base."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLane
from pipelines.documents.store.blobs import FolderBlobs
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import PNG, Office
from tests.fakes.ledger import Bench
from tests.fakes.shelves import SyncBench, sync_bench
from tests.postgres.test_shift import shift

SECRET = "The secret of the harbour."


class SwappingBlobs(FolderBlobs):
    """Something happens once, before a file is opened for the `at`th time."""

    def __init__(self, root: Path, base: Path) -> None:
        super().__init__(root, base=base)
        self.at, self.opened = 1, 0
        self.swap: Callable[[], None] = lambda: None

    def open_reference(self, reference: str) -> AbstractContextManager[Path]:
        self.opened += 1
        if self.opened == self.at:
            self.swap()
        return super().open_reference(reference)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for place, text in (("base/papers/in", "Paper of the ferry."), ("outside", SECRET)):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.txt").write_text(text)
    (tmp_path / "base" / "papers" / "b.txt").write_text("Paper of the boat.")
    (tmp_path / "base" / "papers" / "link.txt").symlink_to("b.txt")
    return tmp_path / "base"


@pytest.fixture
def sources(ledger: Bench, scope: Scope, base: Path) -> SyncBench:
    ledger.blobs = SwappingBlobs(base.with_name("blobs"), base)
    return sync_bench(ledger, scope, str(base))


def swap_file(base: Path) -> None:
    file = base / "papers" / "in" / "a.txt"
    file.unlink()
    file.symlink_to(base.with_name("outside") / "a.txt")


def swap_folder(base: Path) -> None:
    (base / "papers" / "in").rename(base.with_name("was"))
    (base / "papers" / "in").symlink_to(base.with_name("outside"))


def swap_within(base: Path) -> None:
    shutil.copytree(base.with_name("outside"), base / "wages")
    (base / "papers" / "in").rename(base.with_name("was"))
    (base / "papers" / "in").symlink_to(base / "wages")


@pytest.mark.parametrize(
    "swap, why",
    [
        (swap_file, "leads out of the folder that may be read"),
        (swap_folder, "leads out of the folder that may be read"),
        (swap_within, "is a link that was none when it was listed"),
    ],
)
@pytest.mark.parametrize("at", [1, 4])  # before the first survey; after the third file's, before any page is read
async def test_a_swap_between_listing_and_reading_fails_that_file_alone(
    sources: SyncBench, ledger: Bench, base: Path, swap: Callable[[Path], None], why: str, at: int
) -> None:
    blobs = ledger.blobs
    assert isinstance(blobs, SwappingBlobs)
    blobs.at, blobs.swap = at, lambda: swap(base)
    source = await sources.add("folder", {"path": "papers"})
    assert await sources.sync(source) == {"listed": 3, "added": 3}
    assert blobs.opened > at
    found = await sources.documents("user:x@x")
    assert found == {"b.txt": "Paper of the boat.", "link.txt": "Paper of the boat."}, "a link in the folder is read"
    (job,) = await ledger.rows(sources.scope, "select id::text, state from jobs")
    (failed,) = await ledger.desk.failed_units(sources.scope, job["id"])
    assert why in failed["failure"]["detail"]
    assert job["state"] == "partial", "the job itself goes on to its end"


async def test_a_registered_folder_that_becomes_a_link_is_read_no_more_until_it_is_put_back(
    sources: SyncBench, ledger: Bench, base: Path
) -> None:
    """What it leads to lies within the base, too, and is for other readers."""
    shutil.copytree(base.with_name("outside"), base / "wages")
    before = {"a.txt": "Paper of the ferry.", "b.txt": "Paper of the boat.", "link.txt": "Paper of the boat."}
    source = await sources.add("folder", {"path": "papers"})
    await sources.sync(source)
    (base / "papers").rename(base / "kept")
    (base / "papers").symlink_to(base / "wages")
    await sources.start(source)
    assert await shift(ledger).once(JobLane.SYNC)
    error = (await sources.show(source))["last_error"]
    assert error["code"] == "source_refused" and "is a link now" in error["detail"]
    assert await sources.documents("user:x@x") == before
    (base / "papers").unlink()
    (base / "kept").rename(base / "papers")
    assert await sources.sync(source) == {"listed": 3, "unchanged": 3}


@pytest.mark.parametrize("left", ["archive", "../../outside", "../other"])
async def test_a_folder_that_moved_and_left_a_link_behind_is_where_it_went(
    sources: SyncBench, ledger: Bench, base: Path, left: str
) -> None:
    """As people do who keep old paths alive: nothing is read again, and what was read is found at the new place."""
    (base / "other").mkdir()
    source = await sources.add("folder", {"path": "papers"})
    await sources.sync(source)
    (base / "papers" / "in").rename(base / "papers" / "archive")
    (base / "papers" / "in").symlink_to(left)
    assert await sources.sync(source) == {"listed": 3, "moved": 1, "unchanged": 2}
    (place,) = await ledger.rows(
        sources.scope,
        "select v.location from document_versions v join documents d on d.id = v.document_id"
        " where d.filename = 'a.txt'",
    )
    assert place["location"] == f"file:{base}/papers/archive/a.txt"
    with ledger.blobs.open_reference(place["location"]) as file:
        assert file.read_text() == "Paper of the ferry."
    assert await sources.sync(source) == {"listed": 3, "unchanged": 3}


async def test_a_scan_whose_folder_is_swapped_before_it_is_listed_reads_nothing(
    sources: SyncBench, ledger: Bench, base: Path
) -> None:
    (base / "papers").rename(base / "kept")
    (base / "papers").symlink_to(base.with_name("outside"))
    await ledger.enqueue(sources.scope, "scan", {"root": str(base / "papers"), "agent_id": None})
    assert await shift(ledger).once(JobLane.BULK)
    (job,) = await ledger.rows(sources.scope, "select state, error from jobs")
    assert job["state"] == "failed" and "is a link now" in str(job["error"])
    assert await sources.documents("user:x@x") == {}


@pytest.mark.parametrize("swapped", ["in/a.txt", "in"])
async def test_a_picture_is_not_drawn_from_outside_of_the_base(
    operator: httpx.AsyncClient,
    admin_dsn: str,
    office: Office,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    swapped: str,
) -> None:
    """Even where the bytes are those that were read."""
    file, outside = tmp_path / "scans" / "in" / "a.txt", tmp_path_factory.mktemp("outside")
    file.parent.mkdir()
    for one in (file, outside / "a.txt"):
        one.write_bytes(b"as it was")
    passage = Passage("as it was", vector=hash_vector("as it was"))
    book = Book("a.txt", [passage], file_type="text", version=sha256(b"as it was").hexdigest())
    with psycopg.connect(admin_dsn) as connection:
        (document,) = load(connection, office.scope, open_generation(connection, office.scope), [book])
        connection.execute("update document_versions set location = %s", (f"file:{file}",))
    url = f"/api/documents/{document}/pages/1/image"
    assert (await operator.get(url, params={"dpi": 72})).content == PNG + b"1@72"
    kept = file.parent.with_name("kept")
    kept.mkdir()
    place = tmp_path / "scans" / swapped
    place.rename(kept / place.name)
    place.symlink_to(kept / place.name)
    linked = await operator.get(url)
    assert (linked.status_code, linked.json()["reason"]) == (409, "changed"), "nor by a link that was none"
    place.unlink()
    place.symlink_to(outside / "a.txt" if place == file else outside)
    refused = await operator.get(url)
    assert (refused.status_code, refused.json()["reason"]) == (409, "changed")
    assert "leads out" in refused.json()["detail"] and str(outside) not in refused.text
