"""Probe of what a killed `aos chaos` left: stopped processes go on, and a filler leaves the disk."""

from collections.abc import Iterable

from cluster.console.findings import YELLOW, HealthFinding
from cluster.faults.harm_record import undo_leftovers
from configs.sections import Settings


def probe_chaos(settings: Settings) -> Iterable[HealthFinding]:
    """Undoes it; one that runs now is left alone. Nothing is said where there was never one."""
    undone = undo_leftovers(settings.state_dir)
    if undone is None:
        yield HealthFinding("chaos", YELLOW, "`aos chaos` harms this instance just now", "Wait for its end.")
    elif undone:
        yield HealthFinding("chaos", YELLOW, f"`aos chaos` was killed: {'; '.join(undone)}", "Look again.")
