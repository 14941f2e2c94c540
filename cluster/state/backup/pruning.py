"""Old backups removed, with the log and the bytes that only they needed."""

from datetime import datetime

from cluster.state.backup.blob_copies import (
    INDEX,
    BlobIndex,
    blob_object,
    blob_side,
    index_lock,
    pack_index,
    read_index,
)
from cluster.state.backup.catalog import list_backups, removable
from cluster.state.backup.destination import Destination
from cluster.state.backup.erasure_log import erased_files
from cluster.state.db.daemon import file_lock, make_private
from configs.sections import Settings


def prune_backups(
    settings: Settings,
    place: Destination,
    keep_full: int | None,
    keep_days: float | None,
    now: datetime,
    *,
    dry_run: bool = False,
) -> list[str]:
    """Ids of what went. The manifest goes first, so that what is cut off half-way is no backup any more."""
    make_private(settings.state_dir)
    with file_lock(settings.state_dir / "backup.lock"):
        backups = list_backups(place)
        gone = removable(backups, keep_full, keep_days, now)
        ids = [one.id for one in gone]
        if dry_run:
            return ids
        kept = [one for one in backups if one.id not in ids]
        for id_ in reversed(ids):
            place.side.delete(f"backups/{id_}/manifest.json")
            for key in [key for key, _ in place.side.objects() if key.startswith(f"backups/{id_}/")]:
                place.side.delete(key)
        if first := min((one.wal[8:] for one in kept if one.wal), default=""):
            for key in [key for key, _ in place.side.objects() if key.startswith("wal/0") and ".history" not in key]:
                if key.removeprefix("wal/")[8:24] < first:
                    place.side.delete(key)
        _prune_blobs(settings, place, [one.id for one in kept])
        return ids


def _prune_blobs(settings: Settings, place: Destination, kept: list[str]) -> None:
    """What no kept backup names and the instance has no more goes, and at once what was erased."""
    erased = {name.removeprefix("blob:") for name in erased_files(place)}
    source, named = blob_side(settings), BlobIndex()
    for id_ in kept:
        named |= read_index(place, f"backups/{id_}/{INDEX}")
    with index_lock(settings):
        index = read_index(place)
        held = {key: one for key, one in index.items() if key in named or source.size(key) is not None}
        left = {key: one for key, one in held.items() if key not in erased}
        place.put(INDEX, pack_index(left))
    wanted = {digest for digest, _ in (left | {k: v for k, v in named.items() if k not in erased}).values()}
    for digest in {one[0] for one in (index | named).values()} - wanted:
        place.side.delete(blob_object(digest))
