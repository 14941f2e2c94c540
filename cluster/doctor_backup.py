"""Probe of the backups: yellow without a good one younger than twice the period, or where the log is late."""

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
        yield HealthFinding("backup", YELLOW, "there is none, and no place for one", "Set AOS_BACKUP_URL, see README.")
        return
    ships = not is_external(settings.postgres)
    wrong = backup_complaint(known, settings.backup.every_hours, datetime.now(UTC), ships=ships)
    if wrong:
        yield HealthFinding(
            "backup", YELLOW, f"{place}: {wrong}", "`aos backup run` says why; see logs/supervisor.log."
        )
        return
    behind = "" if not known.shipped else f", the log until {known.shipped[:19]}"
    without = "" if ships else "; the external database is its operator's to back up"
    yield HealthFinding("backup", GREEN, f"last good one {known.ended[:19]} ({known.kind}){behind}{without}")
