"""A job's progress: read from the ledger through the API, shown live, ended with counts and an exit code."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from cluster.basics.errors import AosError, Unavailable
from cluster.console.api import JSON, Away
from cluster.console.show import passed_over

ENDED = {"completed": 0, "partial": 3, "failed": 1, "cancelled": 1}  # state -> exit code
POLL_SECONDS = 0.5
PATIENCE_SECONDS = 600.0  # a whole repair, Ray killed and the models loaded again, fits into it


def follow(read: Callable[[], JSON], console: Console, quiet: bool = False, patience: float = PATIENCE_SECONDS) -> JSON:
    """Poll a job until it ends and return its last state.

    Args:
        read: asks for the job.
        console: where progress is shown.
        quiet: shows nothing.
        patience: seconds that the API may be away: the job goes on, or will, without anybody who watches.

    Raises:
        Unavailable: it was away for longer; the detail has the last reason.
        AosError: whatever else `read` raises.
    """
    started = answered = time.monotonic()
    columns = (
        TextColumn("{task.fields[phase]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pages  {task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[failures]}"),
    )
    with Progress(*columns, console=console, disable=quiet, transient=not console.is_terminal) as progress:
        task = progress.add_task("", total=None, phase="queued", rate="", failures="")
        first: int | None = None
        while True:
            try:
                job = read()
            except (Unavailable, Away) as error:
                if time.monotonic() - answered > patience:
                    raise _given_up(patience, error) from error
                progress.update(task, failures=f"the API is away, asking again: {escape(str(error))}")
                time.sleep(POLL_SECONDS)
                continue
            answered = time.monotonic()
            pages = job.get("pages") or {}
            done = int(pages.get("done", 0)) + int(pages.get("failed", 0))
            first = done if first is None else first
            progress.update(
                task,
                total=pages.get("expected") or None,
                completed=done,
                phase=f"{job['state']} {job.get('phase') or ''}".strip(),
                rate=_rate(done - first, int(pages.get("expected", 0)) - done, time.monotonic() - started),
                failures=_failures(job),
            )
            if job["state"] in ENDED:
                return job
            time.sleep(POLL_SECONDS)


def exit_code(job: JSON) -> int:
    """0 complete, 3 partial, 1 failed or cancelled."""
    return ENDED.get(str(job["state"]), 0)


def summary(job: JSON) -> Table:
    """Counts of a job; every page is in one of them."""
    table = Table(title=f"{job.get('kind', 'job')} {job['id']}: {job['state']}", title_justify="left")
    for column in ("", "expected", "done", "failed", "unchanged"):
        table.add_column(column, justify="left" if not column else "right")
    for name in ("documents", "pages"):
        counts = job.get(name) or {}
        table.add_row(name, *(str(counts.get(key, 0)) for key in ("expected", "done", "failed", "unchanged")))
    for reason, count in (job.get("failures") or {}).items():
        table.add_row(f"  {reason}", "", "", str(count), "")
    if passed := passed_over(job):
        table.add_row(f"  {passed}", "", "", "", "")
    if job.get("error"):
        table.caption = str(job["error"])
    return table


def _given_up(patience: float, last: AosError) -> Unavailable:
    return Unavailable(
        f"the API was away for {patience:.0f} s; the job is not lost ({last})",
        fix="Run `aos doctor`, then follow it again: aos jobs list, aos jobs watch ID.",
    )


def _rate(done: int, left: int, seconds: float) -> str:
    if done <= 0 or seconds <= 0:
        return ""
    speed = done / seconds
    return f"{speed:.1f}/s  ETA {left / speed:.0f} s" if left > 0 else f"{speed:.1f}/s"


def _failures(job: JSON) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in (job.get("failures") or {}).items())
