"""One destination belongs to one instance: logs and backups of two in one folder would be no backup of either."""

import json
import platform
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
        body = {"instance": own, "host": platform.node()}
        place.put(KEY, json.dumps(body).encode())
        known = place.read_json(KEY)  # of two at once the later one keeps it, and both see that
    if not isinstance(known, dict) or known.get("instance") != own:
        host = known.get("host", "?") if isinstance(known, dict) else "?"
        raise ForeignDestination(f"{place.name} belongs to an instance of {host}")
    if place.name not in ours:
        claimed.write_text("\n".join([*ours, place.name]) + "\n", encoding="utf-8")
