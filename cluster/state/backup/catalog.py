"""Backups of a destination: which count, on what each one builds, and which may go."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from cluster.state.backup.destination import Destination


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """A finished backup: it is written last, so that one that was killed half-way is none.

    Attributes:
        parent: id of the backup that this increment builds on; None of a full one.
        began, ended: ISO moments; a restore to a time earlier than `ended` takes an older one.
        wal: name of the first segment that a restore needs; empty where no database is inside.
        digests: SHA-256 of each of its objects, by the key in its folder.
        system: the database's own identifier; of a server that was made anew it is another.
        migration: the newest one that its schema has; older code cannot read it.
    """

    id: str
    parent: str | None
    began: str
    ended: str
    wal: str
    digests: dict[str, str]
    size: int
    blobs: int
    system: str = ""
    migration: str = ""

    @property
    def kind(self) -> str:
        """As commands name it."""
        if not self.wal:
            return "files"
        return "full" if self.parent is None else "incremental"


def list_backups(place: Destination) -> list[BackupManifest]:
    """Those that are whole, the oldest first; one whose chain is broken is not among them."""
    found: dict[str, BackupManifest] = {}
    names = sorted(
        key for key, _ in place.side.objects() if key.startswith("backups/") and key.endswith("/manifest.json")
    )
    for name in names:
        body = place.read_json(name)
        try:
            one = BackupManifest(**body)
        except TypeError:
            continue
        if one.parent is None or one.parent in found:
            found[one.id] = one
    return list(found.values())


def write_manifest(place: Destination, one: BackupManifest) -> None:
    """From now on it counts."""
    place.put(f"backups/{one.id}/manifest.json", json.dumps(asdict(one), indent=1).encode())


def chain_of(backups: Sequence[BackupManifest], last: BackupManifest) -> list[BackupManifest]:
    """The full one, and each increment to the last."""
    known, chain = {one.id: one for one in backups}, [last]
    while (parent := chain[0].parent) is not None:
        chain.insert(0, known[parent])
    return chain


def removable(
    backups: Sequence[BackupManifest], keep_full: int | None, keep_days: float | None, now: datetime
) -> list[BackupManifest]:
    """Those that neither rule keeps. What a kept one builds on stays, and so does the newest chain."""
    if keep_full is None and keep_days is None:
        return []
    full = [one.id for one in backups if one.parent is None]
    kept = set(full[-max(keep_full or 1, 1) :])
    if keep_days is not None:
        oldest = now - timedelta(days=keep_days)
        young = [one for one in backups if datetime.fromisoformat(one.ended) >= oldest]
        kept |= {chain_of(backups, one)[0].id for one in young}
    return [one for one in backups if chain_of(backups, one)[0].id not in kept]
