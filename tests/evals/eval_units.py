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
AT_ONCE = min(2, len(os.sched_getaffinity(0)))  # runs, as of the whole suite
GOAL = "unit tests alone ≤ 20 s and import no Ray"
WAITED = Path("/proc/thread-self/schedstat")  # Linux: ns on a core, ns waiting for one, turns


def main() -> int:
    """Run them in processes of their own; other arguments than `--note` go to pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--note", type=Path, help="run the given tests here and write down what was seen")
    chosen, others = parser.parse_known_args()
    return _inside(chosen.note, others) if chosen.note else _measure(others)


def _inside(note: Path, others: list[str]) -> int:
    code = int(pytest.main(others))
    waited = int(WAITED.read_text().split()[1]) / 1e9 if WAITED.exists() else 0.0
    note.write_text(f"{waited} {int('ray' in sys.modules)}")
    return code


def _shares() -> list[list[str]]:
    """The files of tests, dealt out by size, there and back: none begins every turn."""
    files = sorted((ROOT / "tests" / "unit").glob("test_*.py"), key=lambda file: file.stat().st_size)
    turns = [files[at : at + AT_ONCE] for at in range(0, len(files), AT_ONCE)]
    dealt = [turn[::-1] if number % 2 else turn for number, turn in enumerate(turns)]
    return [[str(turn[n].relative_to(ROOT)) for turn in dealt if n < len(turn)] for n in range(AT_ONCE)]


def _measure(others: list[str]) -> int:
    # Compiled modules are kept, as they are by default: else each run compiles some hundred files first.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        began, runs = time.monotonic(), []
        for number, share in enumerate(_shares()):
            note = Path(folder) / str(number)
            command = [sys.executable, "-m", "tests.evals.eval_units", f"--note={note}", *share, *others]
            runs.append((subprocess.Popen(command, cwd=ROOT, env=environment), note))
        code = max(abs(run.wait()) for run, _ in runs)
        wall = time.monotonic() - began
        noted = [note.read_text().split() for _, note in runs if note.exists()]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    waited = min((float(one[0]) for one in noted), default=0.0)
    ray = any(one[1] == "1" for one in noted) if len(noted) == AT_ONCE else None
    alone = wall - waited
    report = Report("test-unit")
    report.figure("pytest's exit code", code, goal="0", holds=code == 0)
    report.figure("seconds", wall, unit="s", reference=f"{AT_ONCE} runs at once")
    report.figure("of them waiting for a core that others used", waited, unit="s")
    report.figure("seconds without that wait", alone, unit="s", goal=GOAL, holds=alone <= SECONDS)
    report.figure("CPU seconds, children included", used.ru_utime + used.ru_stime, unit="s")
    seen = {True: "yes", False: "no", None: None}[ray]
    report.figure("Ray was imported", seen, goal=GOAL, holds=ray is False)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
