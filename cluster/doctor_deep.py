"""The doctor's deep examination: orphans of every kind, found by a program of its own, shown as a table."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from cluster.basics.errors import Unavailable
from cluster.basics.own_program import own_program

# What is stored is known above the cluster: it is not imported here but asked, as a program of its own.
PROGRAM: Final = own_program("serve_apps.integrity.deep_program")
LEFT: Final = 3  # exit code where something is there that was not mended


class ExaminationFailed(Unavailable):
    """What is stored could not be looked through."""

    code = "examination_failed"


def run_deep(hours: float, *, apply: bool, every_hash: bool, program: Sequence[str] = PROGRAM) -> dict[str, Any]:
    """The program's report; its progress goes to stderr. It takes as long as it takes.

    Raises Unavailable: Postgres is away, or its owner is not known; ExaminationFailed.
    """
    asked = [*program, "--hours", str(hours)]
    asked += ["--apply"] if apply else []
    asked += ["--every-hash"] if every_hash else []
    try:
        done = subprocess.run(asked, stdout=subprocess.PIPE, check=False)
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        fix = "Run it again: what was mended stays so."
        raise ExaminationFailed(f"it ended without a report: {error}", fix=fix) from error
    if found := told.get("error"):
        raise Unavailable(str(found["detail"]), fix=found["fix"])
    return told


def exit_code(report: dict[str, Any]) -> int:
    """0: nothing is left; 3: something is, and was not mended; 1: something could not be looked at."""
    if report["failed"]:
        return 1
    return LEFT if report["left"] else 0


def deep_table(report: dict[str, Any], *, apply: bool) -> Group:
    """For people."""
    drawn = Table(title="what is stored", title_justify="left")
    for column in ("check", "place", "found", "mended", "what it is"):
        drawn.add_column(column, overflow="fold", justify="right" if column in ("found", "mended") else "left")
    for one in report["findings"]:
        told = Text(f"{one['what']}, such as {', '.join(one['examples'])}")
        if one["held"]:
            told.append(f"\n{one['held']} are kept by a legal hold")
        if one["busy"]:
            told.append(f"\n{one['busy']} are in use; run it again")
        if one["fix"] and one["left"]:
            told.append(f"\nfix: {one['fix']}", style="bold")
        drawn.add_row(one["check"], one["place"], f"{one['count']:,}", f"{one['mended']:,}", told)
    mends = any(one["mends"] and one["left"] for one in report["findings"])
    lines = [f"{report['checks']} checks: {report['found']:,} found, {report['mended']:,} mended."]
    if mends and not apply:
        lines.append("Nothing was changed: add --repair.")
    lines += [f"! {one}" for one in report["failed"]] + list(report["notes"])
    return Group(*([drawn] if report["findings"] else []), *map(Text, lines))
