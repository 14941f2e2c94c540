"""One destination belongs to one instance: logs and backups of two in one folder would be no backup of either."""

import json
import platform
import re
from typing import Final
from uuid import uuid4

from cluster.basics.errors import Conflict
from cluster.state.backup.destination import BackupFailed, Destination
from cluster.state.secret_file import kept_secret
from configs.sections import Settings

KEY: Final = "instance.json"
FILE: Final = "backup-instance"  # never part of a backup: what was restored is another instance
CLAIMED: Final = "backup-places"


class ForeignDestination(Conflict):
    """Another instance backs up to this place."""

    code = "foreign_destination"
    fix = "Give each instance a folder or a prefix of its own; so also one that was restored."


def claim_destination(settings: Settings, place: Destination) -> None:
    """Write our name there, where there is none. Raises ForeignDestination, BackupFailed.

    A place that had our name and has none any more is most likely the folder under a disk that is not mounted.
    """
    own = kept_secret(settings.state_dir / FILE, lambda: uuid4().hex).strip()
    claimed = settings.state_dir / CLAIMED
    known, ours = place.read_json(KEY), claimed.read_text(encoding="utf-8").splitlines() if claimed.exists() else []
    if known is None:
        if place.name in ours:
            fix = f"Mount it. If it was emptied on purpose, remove {claimed}."
            raise BackupFailed(f"{place.name} is empty, but had backups: is its disk mounted?", fix=fix)
        body = {"instance": own, "host": platform.node(), "place": uuid4().hex}
        place.put(KEY, json.dumps(body).encode())
        known = place.read_json(KEY)  # of two at once the later one keeps it, and both see that
    if not isinstance(known, dict) or known.get("instance") != own:
        host = known.get("host", "?") if isinstance(known, dict) else "?"
        raise ForeignDestination(f"{place.name} belongs to an instance of {host}")
    if place.name not in ours:
        claimed.write_text("\n".join([*ours, place.name]) + "\n", encoding="utf-8")


def claim_database(place: Destination, system: str) -> None:
    """After `claim_destination`. Raises ForeignDestination: it has the log of another database, whose segments have the
    same names, as after the folder of the database was made anew.
    """
    known = place.read_json(KEY) or {}
    if "system" not in known:
        place.put(KEY, json.dumps({**known, "system": system}).encode())
    elif known["system"] != system:
        raise ForeignDestination(f"{place.name} has backups of another database of this instance")


def place_id(place: Destination) -> str:
    """What tells this place from another of the same name, as one that was emptied. Raises BackupFailed."""
    known = place.read_json(KEY)
    found = known.get("place") if isinstance(known, dict) else None
    if not isinstance(found, str) or re.fullmatch("[0-9a-f]{32}", found) is None:
        raise BackupFailed(f"{place.name} has no {KEY} of an instance", fix="Name the place that it backs up to.")
    return found
