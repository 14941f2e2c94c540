"""Probe of the backups: yellow without a good one younger than twice the period, or where shipping is late."""

from collections.abc import Iterable
from datetime import UTC, datetime

from cluster.console.findings import GREEN, YELLOW, HealthFinding
from cluster.state.backup.backup_state import backup_complaint, read_backup_state
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
    without = "; the external database is its operator's to back up" if is_external(settings.postgres) else ""
    without += "" if settings.backup.passphrase_file else "; keys are not in it (AOS_BACKUP_PASSPHRASE_FILE)"
    told = f"last good one {known.ended[:19]} ({known.kind}), everything until {known.shipped[:19]}{without}"
    yield HealthFinding("backup", GREEN, told)
