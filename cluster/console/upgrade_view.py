"""The upgrade check's report, as tables for people and as JSON for scripts."""

from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cluster.state.db.migration_files import HeldLock
from cluster.state.db.upgrade_check import UpgradeReport

SHORT_SECONDS = 1.0  # that nobody notices
SHOWN_LOCKS = 6


def as_json(report: UpgradeReport) -> dict[str, Any]:
    """For scripts."""
    body = asdict(report)
    for shown, one in zip(body["pending"], report.pending, strict=True):
        shown["locks"] = [_lock_body(lock) for lock in one.locks]
        shown["beside_old_code"] = not one.stop
    return body | {"exit_code": report.exit_code}


def _lock_body(lock: HeldLock) -> dict[str, Any]:
    held = round(lock.seconds, 3)
    return {"table": lock.table, "mode": lock.mode.title, "stops": lock.mode.stops, "seconds": held}


def report_view(report: UpgradeReport) -> Group:
    """For people."""
    parts: list[Table | Text] = []
    if report.pending and report.applied:
        parts.append(_pending_table(report))
    parts += [Text(line) for line in _summary(report)]
    for one in (*report.refusals, *report.cautions):
        parts.append(Text(f"! {one.what}\n  fix: {one.fix}"))
    return Group(*parts)


def _pending_table(report: UpgradeReport) -> Table:
    drawn = Table(title="pending migrations", title_justify="left")
    for column in ("migration", "locks, at most", "old code"):
        drawn.add_column(column, overflow="fold")
    for one in report.pending:
        drawn.add_row(one.name, escape(_locks_text(one.locks)), escape("; ".join(one.stop) or "runs beside it"))
    return drawn


def _locks_text(locks: tuple[HeldLock, ...]) -> str:
    if not locks:
        return "nothing that is there"
    lines = [f"{lock.table}: {lock.mode.title}, {_seconds(lock.seconds)}" for lock in locks[:SHOWN_LOCKS]]
    return "\n".join(lines + ([f"and {len(locks) - SHOWN_LOCKS} more (--json)"] if len(locks) > SHOWN_LOCKS else []))


def _seconds(seconds: float) -> str:
    if seconds < SHORT_SECONDS:
        return "under a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _summary(report: UpgradeReport) -> list[str]:
    lines = []
    if not report.applied and not report.refusals:
        lines.append("There is no state yet: `aos up` makes it.")
    elif not report.refusals:
        count = len(report.pending)
        lines.append(
            f"{count} pending, {report.applied} applied." if count else f"Up to date: {report.applied} applied."
        )
    if any(one.stop for one in report.pending):
        lines.append(f"Old code has to be stopped: `aos down`, then `aos up` ({report.sessions} connections are open).")
    if report.server is not None:
        brought = "" if report.brings is None else f", this version brings {report.brings}"
        lines.append(f"PostgreSQL {report.server}{brought}.")
    if report.free_bytes is not None and report.pending:
        lines.append(f"Disk: {report.free_bytes:,} bytes free, {report.needed_bytes:,} may be written.")
    return lines
