"""Findings of the health checks, as one table for people and as JSON for scripts."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from rich.markup import escape
from rich.table import Table


class StatusColour(StrEnum):
    """Green works; yellow works, with something to know; red does not work."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


GREEN, YELLOW, RED = StatusColour


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """One probe's result; `fix` says what to do where it is not green."""

    part: str
    colour: StatusColour
    detail: str
    fix: str = ""
    milliseconds: int = 0


def is_red(findings: list[HealthFinding]) -> bool:
    """True where something does not work."""
    return any(finding.colour is StatusColour.RED for finding in findings)


def as_json(findings: list[HealthFinding]) -> dict[str, Any]:
    """For scripts: `healthy` and every finding."""
    return {"healthy": not is_red(findings), "findings": [asdict(finding) for finding in findings]}


def findings_table(findings: list[HealthFinding]) -> Table:
    """For people."""
    drawn = Table(title="aos doctor", title_justify="left")
    for column in ("part", "", "what was found", "ms"):
        drawn.add_column(column, overflow="fold", justify="right" if column == "ms" else "left")
    for finding in findings:
        detail = escape(finding.detail) + (f"\n[bold]fix:[/bold] {escape(finding.fix)}" if finding.fix else "")
        mark = f"[{finding.colour}]{finding.colour}[/{finding.colour}]"
        drawn.add_row(finding.part, mark, detail, str(finding.milliseconds))
    return drawn
