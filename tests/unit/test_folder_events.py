"""Changes in folders: what the kernel tells, what it is not asked, what it refuses, and where it tells nothing."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from configs.sections_sources import SourceSettings
from pipelines.documents.sources.folder_events import (
    EventWatch,
    PollWatch,
    SweepWatch,
    WatchLimitReached,
    WatchState,
    list_watched_folders,
    silent_mount,
)
from pipelines.documents.sources.folder_source import FolderSource
from pipelines.documents.sources.source_port import ListingPage
from pipelines.documents.sync.folder_watch import ChangeDebounce, WatchOpener, WatchPace
from tests.fakes.others_read import folder_for_others

MOUNTS = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:26 / /srv/nas rw,relatime shared:5 - nfs4 nas:/export rw
31 30 254:0 / /srv/nas/local rw,relatime - ext4 /dev/vdb rw
32 22 0:40 / /srv/with\040space rw - fuse.sshfs host: rw
33 22 0:41 / /srv/twice rw - cifs //host/share rw
34 22 0:42 / /srv/twice rw - tmpfs tmpfs rw
"""


@contextmanager
def event_watch(root: Path) -> Iterator[EventWatch]:
    watch = EventWatch(root, list_watched_folders(root, 100))
    try:
        yield watch
    finally:
        watch.close()


def tells(watch: EventWatch, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if watch.look():
            return True
        time.sleep(0.01)
    return False


def test_a_change_is_told_and_reading_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("x")
    with event_watch(tmp_path) as watch:
        assert not watch.look() and watch.is_current()
        (tmp_path / "a" / "x.txt").read_text()
        list(tmp_path.rglob("*"))
        (tmp_path / "a" / ".x.txt.swp").write_text("an editor's own")
        assert not tells(watch, 0.3)
        (tmp_path / "a" / "x.txt").write_text("another x")
        assert tells(watch)
        (tmp_path / "a" / "x.txt").rename(tmp_path / "y.txt")
        assert tells(watch)
        (tmp_path / "y.txt").unlink()
        assert tells(watch) and watch.is_current()
        (tmp_path / "b").mkdir()
        assert tells(watch) and not watch.is_current(), "a folder came that is not watched yet"
        (tmp_path / "b").rmdir()
        assert watch.is_current()
        (tmp_path / "a").rename(tmp_path / "old")
        (tmp_path / "a").mkdir()
        assert not watch.is_current(), "another folder has its name"


def test_links_are_followed_once_and_never_out_of_the_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a" / "b").mkdir(parents=True)
    (outside / "c").mkdir(parents=True)
    (root / "a" / "up").symlink_to(root)
    (root / "a" / "self").symlink_to("self")
    (root / "twice").symlink_to(root / "a" / "b")
    (root / "out").symlink_to(outside)
    (root / ".git").mkdir()
    found = list_watched_folders(root, 100)
    assert {one.resolve() for one in found} == {root, root / "a", root / "a" / "b"} and len(found) == 3
    with event_watch(root) as watch:
        (outside / "c" / "x.txt").write_text("not ours")
        assert not tells(watch, 0.3)


@contextmanager
def as_nobody() -> Iterator[None]:
    """As an account that may not enter everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


async def first_page(source: FolderSource) -> ListingPage:
    return await anext(source.list_changes(None))


def test_a_folder_that_may_not_be_entered_is_left_out_and_the_others_are_watched() -> None:
    with folder_for_others("aos-watch.") as root:
        root.chmod(0o777)
        (root / "open").mkdir(mode=0o777)
        (root / "shut").mkdir()
        (root / "shut").chmod(0o000)
        with as_nobody():
            assert list_watched_folders(root, 100) == [root, root / "open"]
            with event_watch(root) as watch:
                (root / "x.txt").write_text("x")
                assert tells(watch) and watch.is_current()
            page = asyncio.run(first_page(FolderSource(root)))
        assert [one.path for one in page.items] == ["x.txt"] and [one.path for one in page.faults] == ["shut"]
        (root / "shut").chmod(0o700)


def test_a_root_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_watched_folders(tmp_path / "gone", 100)


def test_more_folders_than_allowed_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / f"f{n}").mkdir()
    with pytest.raises(WatchLimitReached, match="more than 3 folders") as refused:
        list_watched_folders(tmp_path, 3)
    assert "AOS_SOURCES_WATCH_FOLDERS" in refused.value.hint


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home", None),
        ("/srv/nas", "nfs4"),
        ("/srv/nas/deep/er", "nfs4"),
        ("/srv/nas/local/x", None),
        ("/srv/with space/x", "fuse.sshfs"),
        ("/srv/twice", None),
        ("/srv/nasty", None),
        ("/srv", "nfs4 fuse.sshfs cifs"),
    ],
)
def test_a_mount_that_tells_nothing_of_others_is_known_by_its_type(path: str, kind: str | None) -> None:
    found = silent_mount(Path(path), MOUNTS)
    assert found == kind or (kind is not None and found in kind.split())


def test_such_a_mount_is_polled_and_the_reason_is_told(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / {tmp_path}/nas rw - nfs4 nas:/x rw\n")
    (tmp_path / "nas").mkdir()
    opener = WatchOpener(SourceSettings(), time.monotonic, mounts)
    watch = opener.open("s", tmp_path / "nas")
    assert isinstance(watch, PollWatch) and watch.state == WatchState(
        "polling", "nfs4 does not tell of what other machines change", 1
    )


def test_what_one_process_watches_is_bounded_over_all_its_sources(tmp_path: Path) -> None:
    for name in ("a", "b"):
        for n in range(3):
            (tmp_path / name / f"{n}").mkdir(parents=True)
    opener = WatchOpener(SourceSettings(watch_folders=6), time.monotonic)
    first, second = opener.open("one", tmp_path / "a"), opener.open("two", tmp_path / "b")
    assert first.state.mode == "events" and isinstance(second, SweepWatch)
    assert "4 folders beside the 4" in str(second.state.why)
    again = opener.open("one", tmp_path / "a")
    assert again.state.mode == "events", "its own former watch does not count"
    first.close()
    again.close()
    opener.release("one")
    third = opener.open("two", tmp_path / "b")
    assert third.state.mode == "events"
    third.close()


def test_polling_sees_every_change_and_waits_longer_where_looking_takes_long(tmp_path: Path) -> None:
    now = [0.0]
    (tmp_path / "x.txt").write_text("one")
    watch = PollWatch(tmp_path, 1, "nfs4", 10, lambda: now[0])
    assert not watch.look()
    (tmp_path / "x.txt").write_text("two")
    assert not watch.look(), "it is not time yet"
    now[0] = 11
    assert watch.look()
    older = tmp_path / "older"
    older.write_text("six")
    os.utime(older, ns=(1, 1))
    older.rename(tmp_path / "x.txt")
    now[0] = 22
    assert watch.look(), "a file that is replaced by an older one of the same size"
    now[0] = 33
    assert not watch.look()
    ticks = iter([44, 48, 60, 85, 86])
    slow = PollWatch(tmp_path, 1, "nfs4", 10, lambda: next(ticks))
    assert slow._next == 44
    slow.look()
    assert slow._next == 48 + 10 * 12


def test_changes_are_one_until_it_is_quiet_or_has_lasted_too_long() -> None:
    changes = ChangeDebounce(WatchPace(quiet=2, longest=10, rest=5, retry=1))
    assert not changes.is_due(0)
    for now in range(8):
        changes.note(now)
        assert not changes.is_due(now + 1)
    assert changes.is_due(9), "quiet for two seconds"
    for now in range(8, 12):
        changes.note(now)
    assert changes.is_due(11), "never quiet, but for ten seconds"
    changes.put_off(11)
    assert not changes.is_due(11.5) and changes.is_due(12)
    changes.settle(12)
    assert not changes.is_due(100)
    changes.note(13)
    assert not changes.is_due(16.9) and changes.is_due(17), "and a rest between two syncs"


def test_changes_that_never_end_are_synchronised_less_often() -> None:
    changes = ChangeDebounce(WatchPace(quiet=2, longest=10, rest=5, longest_rest=30))
    started = []
    for now in range(400):
        changes.note(now)
        if changes.is_due(now):
            started.append(now)
            changes.settle(now)
    gaps = [later - earlier for earlier, later in pairwise(started)]
    assert gaps[:4] == [11, 11, 20, 30] and set(gaps[4:]) == {30}
    changes.note(1_000)
    assert changes.is_due(1_002)
    changes.settle(1_002)
    changes.note(1_003)
    assert changes.is_due(1_007), "after a quiet time it is quick again"
