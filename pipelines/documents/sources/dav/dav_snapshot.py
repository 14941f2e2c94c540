"""Folders as they were listed last, by etag: where a change shows in all folders above it, few have to be asked."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.documents.sources.source_port import SourceItem

FULL_EVERY: Final = 20
"""Each so many listings look everywhere, and see whether the server's etags told the truth."""
LONGEST: Final = 4 << 20  # characters of a cursor; a larger source is looked at as a whole each time
_MOST_BYTES: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder: its own etag, the etags of its folders by name, and its items."""

    etag: str
    folders: Mapping[str, str]
    items: tuple[SourceItem, ...]


@dataclass(slots=True)
class Snapshot:
    """Folders by path. A folder that could not be listed as a whole is not among them.

    `place`: whose listing of what this is; `listings`: how many there have been; `distrusted`: an etag stayed the same
    while what it stands for did not.
    """

    place: str
    listings: int = 0
    distrusted: bool = False
    folders: dict[str, FolderState] = field(default_factory=dict)

    @property
    def may_skip(self) -> bool:
        """True if the next listing need not look everywhere."""
        return not self.distrusted and bool(self.folders) and self.listings % FULL_EVERY != 0

    def note(self, path: str, found: FolderState, before: "Snapshot") -> None:
        """A folder was looked at; the same etag over something else is never believed again."""
        old = before.folders.get(path)
        if old is not None and old.etag == found.etag and old != found:
            self.distrusted = True
        self.folders[path] = found

    def to_cursor(self) -> str:
        """As text; without its folders where these are too many."""
        rows = {} if self.distrusted else {path: _state_to_json(one) for path, one in self.folders.items()}
        text = self._pack(rows)
        return text if len(text) <= LONGEST else self._pack({})

    def _pack(self, rows: Mapping[str, Any]) -> str:
        value = {"place": self.place, "listings": self.listings, "distrusted": self.distrusted, "folders": rows}
        packed = zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 6)
        return base64.b85encode(packed).decode()


def snapshot_from(cursor: str | None, place: str) -> Snapshot:
    """What a cursor holds; an empty one where it is of another place, or none of ours."""
    if cursor is None:
        return Snapshot(place)
    try:
        value = json.loads(zlib.decompressobj().decompress(base64.b85decode(cursor), _MOST_BYTES))
        if value["place"] != place:
            return Snapshot(place)
        folders = {path: _state_from_json(row) for path, row in value["folders"].items()}
        return Snapshot(place, int(value["listings"]), bool(value["distrusted"]), folders)
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error, binascii.Error):
        return Snapshot(place)


def _state_to_json(state: FolderState) -> list[Any]:
    rows = [[one.id, one.version, one.path, one.size, one.fingerprint] for one in state.items]
    return [state.etag, dict(state.folders), rows]


def _state_from_json(row: Any) -> FolderState:
    etag, folders, items = row
    return FolderState(etag, folders, tuple(SourceItem(*one) for one in items))
