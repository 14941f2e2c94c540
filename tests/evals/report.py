"""A run's figures: printed as a table, written as JSON, judged against their goals."""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; `holds` is None where there is no goal."""

    name: str
    value: float | int | str | None
    unit: str = ""
    reference: float | int | str | None = None
    goal: str = ""
    holds: bool | None = None


@dataclass
class Report:
    """Collects figures under the name of the make target that made them.

    Attributes:
        part: only some of the target was asked for; it never passes for the whole.
    """

    name: str
    figures: list[Figure] = field(default_factory=list)
    folder: Path = ROOT / ".reports"
    part: bool = False

    def figure(
        self,
        name: str,
        value: float | int | str | None,
        *,
        unit: str = "",
        reference: float | int | str | None = None,
        goal: str = "",
        holds: bool | None = None,
    ) -> None:
        """Add a figure; one with a goal and no value has failed, whatever `holds` says."""
        if goal and (value is None or holds is None):
            holds = False
        self.figures.append(Figure(name, value, unit, reference, goal, holds))

    def finish(self, shown: bool = True) -> int:
        """Write `.reports/<name>.json`, of a part `<name>-part.json`, and print it; 1 where a goal does not hold."""
        self.folder.mkdir(exist_ok=True)
        body = {
            "commit": current_commit(),
            "machine": f"{platform.machine()} {os.cpu_count()} cores",
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "figures": [asdict(figure) for figure in self.figures],
        }
        name = f"{self.name}-part" if self.part else self.name
        (self.folder / f"{name}.json").write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
        table = Table(title=name)
        for column in ("figure", "value", "reference", "goal", "holds"):
            table.add_column(column, overflow="fold")
        for figure in self.figures:
            verdict = "" if figure.holds is None else ("yes" if figure.holds else "NO")
            table.add_row(
                figure.name, _show(figure.value, figure.unit), _show(figure.reference, ""), figure.goal, verdict
            )
        if shown:
            Console(width=150).print(table)
        return 1 if any(figure.goal and figure.holds is not True for figure in self.figures) else 0


def _show(value: float | int | str | None, unit: str) -> str:
    if value is None:
        return "" if not unit else "missing"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{text} {unit}".strip()


def current_commit() -> str:
    """What the working tree was taken from."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
