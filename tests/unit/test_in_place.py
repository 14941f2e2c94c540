"""Files that stay in place are judged when they are opened: what leads out of what may be read is refused."""

import os
from pathlib import Path

import pytest

from cluster.basics.errors import TooLarge
from pipelines.documents.document import FailureReason, Unreadable, VersionId
from pipelines.documents.ingest.slices import PageSlice, read_slice
from pipelines.documents.ingest.stages import FileTask, survey_file
from pipelines.documents.store.blobs import FolderBlobs, location_of
from pipelines.documents.store.in_place import InPlaceFiles
from tests.fakes.reading import FormFeedReader


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for place in ("base/papers", "outside"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.txt").write_text(place)
    return tmp_path / "base"


def opened(base: Path | None, path: Path, most: int | None = None) -> str:
    with InPlaceFiles(base).open(path, most) as real:
        assert real == real.resolve()
        return real.read_text()


def swap(path: Path, target: Path) -> None:
    path.rename(path.with_name("was"))
    path.symlink_to(target)


def test_what_lies_below_is_read_also_where_the_base_is_a_link(base: Path) -> None:
    swap(base, base.with_name("was"))
    for place in (base, base.resolve()):
        assert opened(base, place / "papers" / "a.txt") == "base/papers"
    with pytest.raises(TooLarge):
        opened(base, base / "papers" / "a.txt", most=3)
    assert InPlaceFiles(base).size(base / "papers" / "a.txt") == 11


@pytest.mark.parametrize("swapped", ["papers/a.txt", "papers"])
def test_a_file_or_folder_that_became_a_link_to_another_one_of_the_base_is_refused(base: Path, swapped: str) -> None:
    """Other readers may own that."""
    file, other = base / "papers" / "a.txt", base / "wages"
    other.mkdir()
    (other / "a.txt").write_text("wages")
    swap(base / swapped, other if swapped == "papers" else other / "a.txt")
    assert file.read_text() == "wages", "so it would be by its bare path"
    with pytest.raises(Unreadable, match="is a link that was none") as refused:
        opened(base, file)
    assert (refused.value.reason, refused.value.retryable) == (FailureReason.CHANGED, False)
    assert InPlaceFiles(base).size(file) is None


@pytest.mark.parametrize("swapped", ["papers/a.txt", "papers"])
def test_a_file_or_folder_that_became_a_link_out_of_the_base_is_refused(base: Path, swapped: str) -> None:
    file, outside = base / "papers" / "a.txt", base.with_name("outside")
    assert opened(base, file) == "base/papers"
    swap(base / swapped, outside if swapped == "papers" else outside / "a.txt")
    assert file.read_text() == "outside", "so it would be by its bare path"
    with pytest.raises(Unreadable, match="leads out of the folder") as refused:
        opened(base, file)
    assert (refused.value.reason, refused.value.retryable) == (FailureReason.CHANGED, False)
    assert InPlaceFiles(base).size(file) is None


def test_dots_pipes_folders_circles_and_what_is_gone_are_refused(base: Path) -> None:
    os.mkfifo(base / "pipe")
    (base / "circle").symlink_to("circle")
    with pytest.raises(Unreadable, match="leads out"):
        opened(base, base / "papers" / ".." / ".." / "outside" / "a.txt")
    with pytest.raises(Unreadable, match="pipe"):
        opened(base, base / "pipe")
    for path, error in (("papers", IsADirectoryError), ("circle", OSError), ("gone", FileNotFoundError)):
        with pytest.raises(error):
            opened(base, base / path)
        assert InPlaceFiles(base).size(base / path) is None


def test_without_a_base_only_what_no_link_leads_to_is_read(base: Path) -> None:
    """It was listed when there was one."""
    file = base.resolve() / "papers" / "a.txt"
    assert opened(None, file) == file.read_text()
    swap(file, base.resolve().with_name("outside") / "a.txt")
    with pytest.raises(Unreadable):
        opened(None, file)
    assert InPlaceFiles(None).size(file) is None


def test_a_survey_and_the_pages_of_such_a_file_fail_by_themselves_with_the_reason(base: Path) -> None:
    """Also by a name that is no UTF-8, and by the plain path."""
    blobs, odd = FolderBlobs(base.with_name("blobs"), base=base), base / os.fsdecode(b"\xff.txt")
    odd.write_text("mine")
    references = [blobs.reference(location_of(odd)), os.fspath(odd)]
    for number, reference in enumerate(references):
        assert survey_file(FormFeedReader(), FileTask("k", reference, "a.txt"), blobs).pages == 1, number
    swap(odd, base.with_name("outside") / "a.txt")
    facts = odd.stat()
    for reference in references:
        failed = survey_file(FormFeedReader(), FileTask("k", reference, "a.txt"), blobs).failure
        assert failed is not None and "leads out" in failed.detail and not failed.retryable
        piece = PageSlice(VersionId("v"), reference, "text", "0", facts.st_size, facts.st_mtime_ns, (1,))
        (page,) = read_slice(FormFeedReader(), piece, blobs)
        assert page.page.failure is not None and "leads out" in page.page.failure.detail and not page.page.text
