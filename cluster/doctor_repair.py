"""The doctor's repair: orphans of uploads, found and removed by a program of the pipelines, shown as a table."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from cluster.basics.errors import Unavailable
from cluster.basics.own_program import own_program

# Documents stand above the cluster: their storage is not imported here but asked, as a program of its own.
PROGRAM: Final = own_program("pipelines.documents.repair")
SECONDS: Final = 3600.0
LEFT: Final = 3  # exit code where something is there that was not removed
SHOWN: Final = 50


class RepairFailed(Unavailable):
    """The storage could not be looked through."""

    code = "repair_failed"


def run_repair(hours: float, *, apply: bool, program: Sequence[str] = PROGRAM) -> dict[str, Any]:
    """The program's report. Raises Unavailable: Postgres is away; RepairFailed."""
    asked = [*program, "--hours", str(hours), *(["--apply"] if apply else [])]
    try:
        done = subprocess.run(asked, capture_output=True, timeout=SECONDS, check=False)
        told: dict[str, Any] = json.loads(done.stdout)
    except (ValueError, subprocess.TimeoutExpired) as error:
        raise RepairFailed(f"it ended without a report: {error}", fix="See to the storage and its log.") from error
    if found := told.get("error"):
        raise Unavailable(str(found["detail"]), fix=found["fix"])
    return told


def exit_code(report: dict[str, Any], *, apply: bool) -> int:
    """0: nothing is left; 3: orphans are there; 1: something could not be looked at, or removed."""
    if report["failed"]:
        return 1
    return LEFT if report["orphans"] and not apply else 0


def repair_table(report: dict[str, Any], *, apply: bool) -> Group:
    """For people."""
    drawn = Table(title="orphans of uploads", title_justify="left")
    for column in ("kind", "place", "bytes", "last written"):
        drawn.add_column(column, overflow="fold", justify="right" if column == "bytes" else "left")
    for one in report["orphans"][:SHOWN]:
        drawn.add_row(one["kind"], Text(one["place"]), f"{one['size']:,}", one["since"][:19])
    more = len(report["orphans"]) - SHOWN
    lines = [f"{more} more; --json lists all of them."] if more > 0 else []
    count = f"{len(report['orphans'])} found, {report['bytes']:,} bytes"
    lines.append(f"{count}; {report['removed']} removed." if apply else f"{count}. Nothing was removed: add --apply.")
    if not report["orphans"]:
        lines = ["No orphan was found."]
    lines += [f"! {one}" for one in report["failed"]] + list(report["notes"])
    return Group(*([drawn] if report["orphans"] else []), *map(Text, lines))
