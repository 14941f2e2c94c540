"""Who swaps a file of a watched folder for a link after the listing gets nothing read that lies outside the base."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Scope
from pipelines.documents.store.blobs import FolderBlobs
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import PNG, Office
from tests.fakes.ledger import Bench
from tests.fakes.shelves import SyncBench, sync_bench

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


@pytest.mark.parametrize("swap", [swap_file, swap_folder])
@pytest.mark.parametrize("at", [1, 4])  # before the first survey; after the third file's, before any page is read
async def test_a_swap_between_listing_and_reading_fails_that_file_alone(
    sources: SyncBench, ledger: Bench, base: Path, swap: Callable[[Path], None], at: int
) -> None:
    blobs = ledger.blobs
    assert isinstance(blobs, SwappingBlobs)
    blobs.at, blobs.swap = at, lambda: swap(base)
    source = await sources.add("folder", {"path": "papers"})
    assert await sources.sync(source) == {"listed": 3, "added": 3}
    assert blobs.opened > at
    found = await sources.documents("user:x@x")
    assert found == {"b.txt": "Paper of the boat.", "link.txt": "Paper of the boat."}, "a link within the base is read"
    (job,) = await ledger.rows(sources.scope, "select id::text, state from jobs")
    (failed,) = await ledger.desk.failed_units(sources.scope, job["id"])
    assert "leads out of the folder that may be read" in failed["failure"]["detail"]
    assert job["state"] == "partial", "the job itself goes on to its end"


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
    assert (await operator.get(url)).status_code == 200, "a link within the base leads to what was read"
    place.unlink()
    place.symlink_to(outside / "a.txt" if place == file else outside)
    refused = await operator.get(url)
    assert (refused.status_code, refused.json()["reason"]) == (409, "changed")
    assert "leads out" in refused.json()["detail"] and str(outside) not in refused.text
