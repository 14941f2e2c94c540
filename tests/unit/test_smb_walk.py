"""What a share lists that no honest server does, or Windows alone: names without text, links, folders without end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pipelines.documents.sources.smb_share import FolderEntry
from pipelines.documents.sources.smb_source import FolderWalk
from pipelines.documents.sources.source_port import SourceItem, SourceRefused

FILE = FolderEntry("a.txt", False, False, False, 7, "2026-01-01T00:00:00+00:00", 3)
FOLDER = replace(FILE, name="sub", is_folder=True, number=8)


class ScriptedShare:
    """Folders by path with their entries."""

    def __init__(self, folders: Mapping[str, Sequence[FolderEntry]]) -> None:
        self._folders = folders

    def open_folder(self, path: str) -> list[Sequence[FolderEntry]]:
        return [self._folders[path]]

    def next_entries(self, opened: list[Sequence[FolderEntry]]) -> Sequence[FolderEntry]:
        return opened.pop() if opened else ()

    def close(self, opened: Any) -> None:
        assert not opened


def walk(folders: Mapping[str, Sequence[FolderEntry]]) -> tuple[list[SourceItem], list[str]]:
    steps = FolderWalk(ScriptedShare(folders), "")  # type: ignore[arg-type]
    items: list[SourceItem] = []
    faults: list[str] = []
    while (page := steps.step()) is not None:
        items += page.items
        faults += [fault.path for fault in page.faults]
    return items, faults


def test_a_name_that_is_no_text_is_listed_as_an_item_that_can_be_stored_and_fails_alone() -> None:
    names = ["half \ud83d.txt", "nul\0.txt", "x/../../up.txt", "a\\b.txt"]
    items, _ = walk({"": [FILE, *(replace(FILE, name=name) for name in names)]})
    assert [item.id for item in items if not item.id.startswith("unreadable:")] == ["a.txt"] and len(items) == 5
    for item in items:
        assert "\0" not in item.id + item.path and item.id.encode() and item.path.encode()
    _, faults = walk({"": [replace(FOLDER, name="half \ud83d"), FILE]})
    assert faults == ["half \\ud83d"], "nobody knows what is in it"


def test_what_is_hidden_housekeeping_or_leads_away_is_passed_over() -> None:
    names = ["~$a.docx", "Thumbs.db", "desktop.ini", ".git"]
    more = [replace(FILE, is_hidden=True), replace(FOLDER, leads_away=True), replace(FOLDER, name="$RECYCLE.BIN")]
    items, faults = walk({"": [*(replace(FILE, name=name) for name in names), *more]})
    assert not items and not faults


def test_a_file_without_a_number_has_no_fingerprint_and_one_that_moves_keeps_its_own() -> None:
    (moved,), _ = walk({"": [FOLDER], "sub": [replace(FILE, name="b.txt")]})
    (there,), _ = walk({"": [FILE]})
    assert moved.fingerprint == there.fingerprint is not None and moved.id == "sub/b.txt"
    (none,), _ = walk({"": [replace(FILE, number=None)]})
    assert none.fingerprint is None and none.version == there.version


def test_folders_without_end_are_refused_and_a_volume_within_another_is_not_taken_for_a_circle() -> None:
    class Endless(dict[str, Sequence[FolderEntry]]):
        def __missing__(self, path: str) -> Sequence[FolderEntry]:
            return [replace(FOLDER, number=None)]

    with pytest.raises(SourceRefused, match="nested too deeply"):
        walk(Endless())
    top = replace(FOLDER, name=".", number=64)
    inner = replace(top, name="volume", written="2026-02-02T00:00:00+00:00")
    items, _ = walk({"": [top, inner, replace(top, name="circle")], "volume": [FILE]})
    assert [item.id for item in items] == ["volume/a.txt"]
