"""Probe of the backups: yellow without a good one in time, where shipping is late or what lies there is damaged."""

from collections.abc import Iterable
from datetime import UTC, datetime

from cluster.console.findings import GREEN, YELLOW, HealthFinding
from cluster.state.backup.backup_state import backup_complaint, read_backup_state, verification_complaint
from cluster.state.db.embedded import is_external
from configs.sections import Settings


def probe_backup(settings: Settings) -> Iterable[HealthFinding]:
    """From what the last rounds noted: the destination itself is not asked, it may be slow."""
    place, known = settings.backup.url, read_backup_state(settings.state_dir)
    if place is None:
        fix = "Set AOS_BACKUP_URL, see Backups in cluster/README.md."
        yield HealthFinding("backup", YELLOW, "there is none, and no place for one", fix)
        return
    wrong = backup_complaint(known, settings.backup.every_hours, datetime.now(UTC))
    if wrong:
        yield HealthFinding(
            "backup", YELLOW, f"{place}: {wrong}", "`aos backup run` says why; see logs/supervisor.log."
        )
        return
    if damaged := verification_complaint(known):
        fix = "See to the place; `aos backup verify` looks through it."
        if known.faults:
            fix = (
                "`aos backup verify` names all. `aos backup run --full` makes one that is whole, with files that are"
                " missing or cut off (remove others that are named before); `aos backup prune` removes older backups."
            )
        yield HealthFinding("backup", YELLOW, f"{place}: {damaged}", fix)
        return
    without = "; the external database is its operator's to back up" if is_external(settings.postgres) else ""
    without += "" if settings.backup.passphrase_file else "; keys are not in it (AOS_BACKUP_PASSPHRASE_FILE)"
    without += f"; verified {known.verified[:19]}" if known.verified else ""
    told = f"last good one {known.ended[:19]} ({known.kind}), everything until {known.shipped[:19]}{without}"
    yield HealthFinding("backup", GREEN, told)
