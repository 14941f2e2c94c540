"""A job's progress: read from the ledger through the API, shown live, ended with counts and an exit code."""

import time
from collections.abc import Callable

from rich.console import Console, Group
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cluster.basics.errors import Unavailable
from cluster.console import printing
from cluster.console.api import JSON, ApiUnavailable

ENDED = {"completed": 0, "partial": 3, "failed": 1, "cancelled": 1}  # state -> exit code
OUTCOMES = ("completed", "degraded", "partial", "failed", "unchanged", "pending")
POLL_SECONDS = 0.5
PATIENCE_SECONDS = 600.0  # a whole repair, Ray killed and the models loaded again, fits into it


def poll_job(
    read: Callable[[], JSON], console: Console, quiet: bool = False, patience: float = PATIENCE_SECONDS
) -> JSON:
    """Poll a job until it ends and return its last state; raises what `read` raises.

    Args:
        patience: seconds that the API may be away: the job goes on, or will, without anybody who watches. Raises
            Unavailable where it was away for longer; the detail has the last reason.
    """
    started = answered = time.monotonic()
    fields = ("{task.fields[phase]}", "pages  {task.fields[rate]}", "{task.fields[failures]}")
    phase, rate, failures = (TextColumn(text) for text in fields)
    columns = (phase, BarColumn(), MofNCompleteColumn(), rate, TimeElapsedColumn(), failures)
    with Progress(*columns, console=console, disable=quiet, transient=not console.is_terminal) as progress:
        task = progress.add_task("", total=None, phase="queued", rate="", failures="")
        first: int | None = None
        while True:
            try:
                job = read()
            except (Unavailable, ApiUnavailable) as error:
                if time.monotonic() - answered > patience:
                    raise Unavailable(
                        f"the API was away for {patience:.0f} s; the job is not lost ({error})",
                        fix="Run `aos doctor`, then follow it again: aos jobs list, aos jobs watch ID.",
                    ) from error
                progress.update(task, failures=f"the API is away, asking again: {escape(str(error))}")
                time.sleep(POLL_SECONDS)
                continue
            answered = time.monotonic()
            pages = job.get("pages") or {}
            done = int(pages.get("done", 0)) + int(pages.get("failed", 0))
            first = done if first is None else first
            failed = [f"{reason} {count}" for reason, count in (job.get("failures") or {}).items()]
            progress.update(
                task,
                total=pages.get("expected") or None,
                completed=done,
                phase=f"{job['state']} {job.get('phase') or ''}".strip(),
                rate=_format_rate(done - first, int(pages.get("expected", 0)) - done, time.monotonic() - started),
                failures=", ".join([*failed, *map(escape, printing.wait_lines(job)[:1])]),
            )
            if job["state"] in ENDED:
                return job
            time.sleep(POLL_SECONDS)


def exit_code(job: JSON) -> int:
    """0 complete, 3 where something is missing or doubtful, 1 failed or cancelled."""
    return ENDED.get(str(job["state"]), 0)


def job_summary(job: JSON) -> Group:
    """Counts of a job; every page and every document is in one of them."""
    table = Table(title=f"{job.get('kind', 'job')} {job['id']}: {job['state']}", title_justify="left")
    for column in ("", "expected", "done", "failed", "unchanged"):
        table.add_column(column, justify="left" if not column else "right")
    for name in ("documents", "pages"):
        counts = job.get(name) or {}
        table.add_row(name, *(str(counts.get(key, 0)) for key in ("expected", "done", "failed", "unchanged")))
    for reason, count in (job.get("failures") or {}).items():
        table.add_row(f"  {reason}", "", "", str(count), "")
    if passed := printing.passed_over(job):
        table.add_row(f"  {passed}", "", "", "", "")
    if parts := job.get("partitions"):
        table.add_row("partitions", str(parts["total"]), str(parts["total"] - parts["open"]), "", "")
        table.add_row(f"  at work: {parts['at_work']}", "", "", "", "")
    lines = [*_outcome_lines(job), *printing.wait_lines(job), *([str(job["error"])] if job.get("error") else [])]
    return Group(table, Text("\n".join(lines))) if lines else Group(table)


def failure_reasons(failures: JSON) -> Text:
    """A job's failures: documents that lack something or may be wrong, failed pages and files, each with its reason."""
    text = Text()
    for one in failures.get("caveats") or ():
        text.append(f"{one['filename']}: {one['status']}{', as before' if one['unchanged'] else ''}\n", style="yellow")
        for line in printing.caveat_lines(one):
            text.append(f"    {line}\n")
    for one in failures["items"]:
        failure, page = one["failure"] or {}, f", page {one['page']}" if one["page"] else ""
        detail = f": {failure['detail']}" if failure.get("detail") else ""
        text.append(f"{one['filename']}{page}: {failure.get('reason', 'failed')}{detail}\n", style="red")
    return text


def _outcome_lines(job: JSON) -> list[str]:
    """Counts of its documents by outcome, and of documents by kind of caveat."""
    told = job.get("outcome") or {}
    counts = [f"{told[name]} {name}" for name in OUTCOMES if told.get(name)]
    lines = [f"documents: {', '.join(counts)}"] if counts else []
    if told.get("pages_with_caveats"):
        lines.append(f"pages with caveats: {told['pages_with_caveats']}")
    lines += [f"  {kind.replace('_', ' ')}: documents {count}" for kind, count in (job.get("caveats") or {}).items()]
    return lines


def _format_rate(done: int, left: int, seconds: float) -> str:
    if done <= 0 or seconds <= 0:
        return ""
    speed = done / seconds
    return f"{speed:.1f}/s  ETA {left / speed:.0f} s" if left > 0 else f"{speed:.1f}/s"
