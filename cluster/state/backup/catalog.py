"""Backups of a destination: which count, on what each one builds, and which may go."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cluster.basics.errors import Invalid
from cluster.state.backup.destination import Destination

FORM: Final = 1  # of manifests; what older code could not read has a higher one
ID: Final = re.compile(r"[0-9A-Za-z-]{1,40}")
SEGMENT_NAME: Final = re.compile(r"[0-9A-F]{24}")


class NewerBackup(Invalid):
    """A newer version has made this backup."""

    code = "newer_backup"
    fix = "Use that version, or a later one."


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
        product: the version that made it.
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
    product: str = ""
    form: int = FORM

    @property
    def kind(self) -> str:
        """As commands name it."""
        if not self.wal:
            return "files"
        return "full" if self.parent is None else "incremental"


def list_backups(place: Destination) -> list[BackupManifest]:
    """Those that are whole, the oldest first; one whose chain is broken is not among them.

    Raises NewerBackup: one is of a form that this code does not know.
    """
    found: dict[str, BackupManifest] = {}
    for key in place.keys("backups"):
        if not key.endswith("/manifest.json"):
            continue
        if (one := _parse(place.read_json(key), key)) is not None:
            found[one.id] = one
    whole: set[str] = set()
    while fresh := {id_ for id_, one in found.items() if one.parent is None or one.parent in whole} - whole:
        whole |= fresh  # not in one pass: where the clock was put back, an increment has an older name than its parent
    return [one for id_, one in found.items() if id_ in whole]


def _parse(body: Any, key: str) -> BackupManifest | None:
    """None of what no backup has written: names in it become paths."""
    if not isinstance(body, dict):
        return None
    if isinstance(form := body.get("form"), int) and form > FORM:
        raise NewerBackup(f"{key} is of {body.get('product') or 'a version'} that this code does not know")
    try:
        one = BackupManifest(**body)
        moments = [datetime.fromisoformat(text) for text in (one.began, one.ended)]
        names = [one.id, *([] if one.parent is None else [one.parent])]
        good = all(ID.fullmatch(name) for name in names) and key == f"backups/{one.id}/manifest.json"
        good = good and (one.wal == "" or SEGMENT_NAME.fullmatch(one.wal) is not None)
        good = good and all(moment.tzinfo for moment in moments) and not any("/" in name for name in one.digests)
    except (TypeError, ValueError):
        return None
    return one if good else None


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
    kept: set[str] = set()
    for has_database in (True, False):  # an external database later on makes no older backup of our own a spare one
        full = [one.id for one in backups if one.parent is None and bool(one.wal) is has_database]
        kept |= set(full[-max(keep_full or 1, 1) :])
    if keep_days is not None:
        oldest = now - timedelta(days=keep_days)
        young = [one for one in backups if datetime.fromisoformat(one.ended) >= oldest]
        kept |= {chain_of(backups, one)[0].id for one in young}
    return [one for one in backups if chain_of(backups, one)[0].id not in kept]
