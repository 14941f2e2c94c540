"""A folder as a source: what is listed, what cannot be, and what a rename leaves as it was."""

import os
import time
from pathlib import Path

import pytest

from pipelines.documents.sources.folder_source import KIND, FolderSource
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingPage,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceOpening,
    SourceRefused,
)


async def listed(place: Path) -> ListingPage:
    pages = [page async for page in FolderSource(place).list_changes(None)]
    return ListingPage([one for page in pages for one in page.items], faults=[f for page in pages for f in page.faults])


async def by_path(place: Path) -> dict[str, SourceItem]:
    return {one.path: one for one in (await listed(place)).items}


async def read(place: Path, item: SourceItem, *span: int) -> bytes:
    return b"".join([block async for block in FolderSource(place).read(item, *span)])


async def test_every_file_is_an_item_by_its_path_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("0123456789")
    (tmp_path / "a" / "~$b.txt").write_text("a program's own")
    odd = os.fsdecode(b"\xff.txt")
    (tmp_path / odd).write_text("odd")
    (tmp_path / "bytes:x").write_text("named like an escape")
    items = await by_path(tmp_path)
    assert set(items) == {"a/b.txt", "\\xff.txt", "bytes:x"}
    assert items["a/b.txt"].filename == "b.txt" and items["a/b.txt"].size == 10
    assert [await read(tmp_path, items["a/b.txt"], *span) for span in ((), (4,), (4, 3))] == [
        b"0123456789",
        b"456789",
        b"456",
    ]
    assert await read(tmp_path, items["\\xff.txt"]) == b"odd"
    assert await read(tmp_path, items["bytes:x"]) == b"named like an escape"
    assert FolderSource(tmp_path).local_path(items["\\xff.txt"]) == tmp_path / odd


async def test_a_folder_or_file_that_was_swapped_for_a_link_out_of_the_root_is_not_read(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "a", outside):
        folder.mkdir(parents=True)
        (folder / "b.txt").write_text(folder.name)
    (root / "c.txt").write_text("c")
    (root / "in.txt").symlink_to("c.txt")
    items = await by_path(root)
    (root / "a").rename(root / "was")
    (root / "a").symlink_to(outside)
    (root / "c.txt").unlink()
    (root / "c.txt").symlink_to(outside / "b.txt")
    for path in ("a/b.txt", "c.txt", "in.txt"):
        with pytest.raises(ItemGone):
            await read(root, items[path])
    (root / "c.txt").unlink()
    os.mkfifo(root / "c.txt")
    with pytest.raises(ItemGone):
        await read(root, items["c.txt"])
    (root / "c.txt").unlink()
    (root / "c.txt").write_text("again")
    assert await read(root, items["in.txt"]) == b"again"
    root.rename(tmp_path / "gone")
    root.symlink_to(outside)
    (outside / "c.txt").write_text("of somebody else")
    with pytest.raises(ItemGone):
        await read(root, items["c.txt"])


async def test_what_stays_in_place_is_named_by_a_path_without_links(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "a", root / "b", outside):
        folder.mkdir(parents=True)
        (folder / "x.txt").write_text("alike")
        os.utime(folder / "x.txt", ns=(0, 0))
    (root / "link.txt").symlink_to("a/x.txt")
    items, source = await by_path(root), FolderSource(root)
    assert source.local_path(items["link.txt"]) == root / "a" / "x.txt"
    assert items["a/x.txt"].version == "0-5" != items["link.txt"].version
    (root / "link.txt").unlink()
    (root / "link.txt").symlink_to("b/x.txt")
    assert (await by_path(root))["link.txt"].version != items["link.txt"].version, "another file, however alike"
    (root / "link.txt").unlink()
    (root / "link.txt").symlink_to(outside / "x.txt")
    with pytest.raises(ItemGone, match="leads out"):
        source.local_path(items["link.txt"])
    (root / "a").rename(root / "was")
    (root / "a").symlink_to(outside)
    assert source.local_path(items["a/x.txt"]) == root / "a" / "x.txt", "as it was listed: no reader follows a link"
    os.utime(root / "b" / "x.txt", ns=(-5, -5))
    (root / "a").unlink()
    (root / "a").symlink_to("b")
    early = await by_path(root)
    assert early["a/x.txt"].version.startswith("-5-5-") and source.local_path(early["a/x.txt"]) == root / "b" / "x.txt"
    (root / "a").unlink()
    early = await by_path(root)
    assert early["b/x.txt"].version == "-5-5" and source.local_path(early["b/x.txt"]) == root / "b" / "x.txt"


async def test_a_folder_is_kept_by_where_it_leads_and_followed_no_further(tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "papers").mkdir(parents=True)
    (base / "wages").mkdir()
    (base / "way").symlink_to("papers")
    (base / "out").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to(base)
    dependencies = SourceDependencies(base, lambda url: pytest.fail(url))
    assert KIND.pin is not None and KIND.watch_root is not None
    for path in ("papers", "./papers/", str(base / "papers")):
        assert KIND.pin({"path": path}, dependencies) == {"path": path}, "nothing to follow"
    behind = SourceDependencies(tmp_path / "link", dependencies.check_endpoint)
    for path in ("papers", str(tmp_path / "link" / "papers"), str(base / "papers")):
        assert KIND.watch_root({"path": path}, behind) == base / "papers", "the base itself may be a link"
    detour = SourceDependencies(base / ".." / "link", dependencies.check_endpoint)
    assert KIND.watch_root({"path": "papers"}, detour) == base / "papers", "however the base is written"
    pinned = KIND.pin({"path": "way"}, dependencies)
    assert pinned == {"path": str(base / "papers")}
    with pytest.raises(SourceInvalid):
        KIND.pin({"path": "out"}, dependencies)
    (base / "way").unlink()
    (base / "way").symlink_to("wages")
    assert KIND.watch_root(pinned, dependencies) == base / "papers", "wherever the link leads by now"
    (base / "papers").rename(base / "was")
    (base / "papers").symlink_to("wages")
    for settings in (pinned, {"path": "papers"}):
        with pytest.raises(SourceRefused, match="is a link now"):
            KIND.watch_root(settings, dependencies)
        with pytest.raises(SourceRefused, match="is a link now"):
            await KIND.open(SourceOpening(settings), dependencies)


async def test_a_rename_keeps_version_and_fingerprint_and_a_change_neither(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    before = (await by_path(tmp_path))["a.txt"]
    (tmp_path / "a.txt").rename(tmp_path / "b.txt")
    moved = (await by_path(tmp_path))["b.txt"]
    assert (moved.version, moved.fingerprint) == (before.version, before.fingerprint)
    (tmp_path / "b.txt").write_text("longer")
    changed = (await by_path(tmp_path))["b.txt"]
    assert changed.version != before.version and changed.fingerprint != before.fingerprint


async def test_what_cannot_be_looked_at_is_a_fault_and_a_link_that_leads_nowhere_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("not-there")
    found = await listed(tmp_path)
    assert [one.path for one in found.items] == ["a.txt"] and [one.path for one in found.faults] == ["loop"]


async def test_what_is_still_being_written_is_there_and_not_settled(tmp_path: Path) -> None:
    for name in ("old", "fresh", "growing", "leaving", "ahead"):
        (tmp_path / name).write_text(name)
    os.utime(tmp_path / "ahead", ns=(0, time.time_ns() + 3_600_000_000_000))
    later = time.time_ns() + 60_000_000_000

    async def collect(source: FolderSource) -> dict[str, bool]:
        seen = {}
        async for page in source.list_changes(None):
            seen |= {one.path: one.settled for one in page.items}
        return seen

    assert await collect(FolderSource(tmp_path, 0.05, lambda: later)) == {
        **dict.fromkeys(("old", "fresh", "growing", "leaving", "ahead"), True)
    }, "none is fresh, but for one from the clock of another machine, which does not change either"
    listing = FolderSource(tmp_path, 0.2).list_changes(None)
    assert not (await anext(listing)).items
    (tmp_path / "growing").write_text("it has grown")
    (tmp_path / "leaving").unlink()
    (last,) = [page async for page in listing]
    assert {one.path: one.settled for one in last.items} == {
        **{"old": True, "fresh": True, "ahead": True, "growing": False, "leaving": False}
    }


async def test_a_folder_or_a_file_that_went_away_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="not-there"):
        await listed(tmp_path / "not-there")
    with pytest.raises(ItemGone):
        await read(tmp_path, SourceItem("x.txt", "1", "x.txt"))
    assert (await listed(tmp_path)).items == []
