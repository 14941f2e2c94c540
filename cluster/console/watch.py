"""A job's progress: read from the ledger through the API, shown live, ended with counts and an exit code."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from cluster.console.api import JSON

ENDED = {"completed": 0, "partial": 3, "failed": 1, "cancelled": 1}  # state -> exit code
POLL_SECONDS = 0.5


def follow(read: Callable[[], JSON], console: Console, quiet: bool = False) -> JSON:
    """Poll a job until it ends and return its last state; `quiet` shows nothing."""
    started = time.monotonic()
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
            job = read()
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
    if job.get("error"):
        table.caption = str(job["error"])
    return table


def _rate(done: int, left: int, seconds: float) -> str:
    if done <= 0 or seconds <= 0:
        return ""
    speed = done / seconds
    return f"{speed:.1f}/s  ETA {left / speed:.0f} s" if left > 0 else f"{speed:.1f}/s"


def _failures(job: JSON) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in (job.get("failures") or {}).items())
