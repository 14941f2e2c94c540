"""Facts of the last good backup and of the shipping, in a file of the state directory: for doctor and the console."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cluster.state.db.daemon import file_lock

FILE: Final = "backup-state.json"
LATE: Final = timedelta(minutes=2)  # of the shipping: it is to be a minute behind at most


@dataclass(frozen=True, slots=True)
class BackupState:
    """What was last seen; moments are ISO texts, empty where nothing was yet.

    Attributes:
        ended, id, kind: of the newest good backup.
        shipped: up to when everything is in the destination.
        late: why the last round of the shipping failed; empty where it did not.
        failed: why the last backup failed, or what was to be removed after it could not be; empty where nothing did.
        gap: since when the log has a gap: what lies between it and the next backup cannot be restored to.
        verified: when the destination was last looked through.
        faults, fault: how many that found, and the first of them.
        unverified: why the last look could not be ended; empty where it could.
    """

    ended: str = ""
    id: str = ""
    kind: str = ""
    shipped: str = ""
    late: str = ""
    failed: str = ""
    gap: str = ""
    verified: str = ""
    faults: int = 0
    fault: str = ""
    unverified: str = ""


def read_backup_state(state_dir: Path) -> BackupState:
    """Empty where there is none, or a power cut left what cannot be read."""
    with suppress(FileNotFoundError, ValueError, TypeError):
        return BackupState(**json.loads((state_dir / FILE).read_text(encoding="utf-8")))
    return BackupState()


def note_backup_state(state_dir: Path, changes: Mapping[str, Any]) -> None:
    """Change some of it; the shipping and a backup may do so at once."""
    with file_lock(state_dir / f"{FILE}.lock"):
        known = asdict(read_backup_state(state_dir))
        fresh = state_dir / f"{FILE}.new"
        fresh.write_text(json.dumps({**known, **changes}), encoding="utf-8")
        fresh.replace(state_dir / FILE)


def note_verification(state_dir: Path, faults: Sequence[str], now: datetime) -> None:
    """What it found; nothing where no instance of this folder has backed up yet."""
    if (state_dir / FILE).exists():
        found = {"faults": len(faults), "fault": next(iter(faults), ""), "unverified": ""}
        note_backup_state(state_dir, {"verified": now.isoformat(), **found})


def backup_complaint(known: BackupState, every_hours: float, now: datetime) -> str:
    """What is wrong with it, in a sentence; empty where nothing is."""
    if not known.ended:
        return f"there is no good backup yet{_because(known.failed or known.late)}"
    age = now - datetime.fromisoformat(known.ended)
    if age > timedelta(hours=2 * every_hours):
        return f"the last good backup is {_hours(age)} old{_because(known.failed or known.late)}"
    if known.gap and known.gap > known.ended:
        return "the log has a gap from the last backup until the next one"
    if not known.shipped:
        return f"nothing was shipped yet{_because(known.late)}"
    behind = now - datetime.fromisoformat(known.shipped)
    if behind > LATE:
        return f"shipping is {_hours(behind)} behind{_because(known.late)}"
    return f"it failed last: {known.failed}" if known.failed else ""


def verification_complaint(known: BackupState) -> str:
    """What the last look through the destination found, in a sentence; empty where that was nothing."""
    if not known.faults:
        return f"it could not be verified{_because(known.unverified)}" if known.unverified else ""
    more = f" and {known.faults - 1:,} more faults" if known.faults > 1 else ""
    return f"what lies there is not whole ({known.verified[:19]}): {known.fault}{more}"


def _because(why: str) -> str:
    return f": {why}" if why else ""


def _hours(age: timedelta) -> str:
    seconds = age.total_seconds()
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"
