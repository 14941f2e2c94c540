"""The unit tests as they run alone: how long they take, and whether they stayed away from Ray."""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.evals.report import ROOT, Report

SECONDS = 20.0
GOAL = "unit tests alone ≤ 20 s and import no Ray"
WAITED = Path("/proc/thread-self/schedstat")  # Linux: ns on a core, ns waiting for one, turns


def main() -> int:
    """Run them in a process of their own; other arguments than `--note` go to pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--note", type=Path, help="run the tests here and write down what was seen")
    chosen, others = parser.parse_known_args()
    return _inside(chosen.note, others) if chosen.note else _measure(others)


def _inside(note: Path, others: list[str]) -> int:
    code = int(pytest.main(["tests/unit", *others]))
    waited = int(WAITED.read_text().split()[1]) / 1e9 if WAITED.exists() else 0.0
    note.write_text(f"{waited} {int('ray' in sys.modules)}")
    return code


def _measure(others: list[str]) -> int:
    # Compiled modules are kept, as they are by default: else each run compiles some hundred files first.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "note"
        began = time.monotonic()
        command = [sys.executable, "-m", "tests.evals.eval_units", f"--note={note}", *others]
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        wall = time.monotonic() - began
        noted = note.read_text().split() if note.exists() else None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    waited, ray = (float(noted[0]), noted[1] == "1") if noted else (0.0, None)
    alone = wall - waited
    report = Report("test-unit")
    report.figure("pytest's exit code", code, goal="0", holds=code == 0)
    report.figure("seconds", wall, unit="s")
    report.figure("of them waiting for a core that others used", waited, unit="s")
    report.figure("seconds without that wait", alone, unit="s", goal=GOAL, holds=alone <= SECONDS)
    report.figure("CPU seconds, children included", used.ru_utime + used.ru_stime, unit="s")
    seen = {True: "yes", False: "no", None: None}[ray]
    report.figure("Ray was imported", seen, goal=GOAL, holds=ray is False)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
