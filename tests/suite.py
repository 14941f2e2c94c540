"""The whole suite as two pytest runs at once: what drives Ray and mostly waits for it, and everything else."""

import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WAITING = ("tests/acceptance", "tests/console", "tests/ray")


def halves() -> dict[str, list[str]]:
    """What each run is told; a new folder belongs to the second without being named."""
    return {"product": [*WAITING], "rest": ["tests", *(f"--ignore={folder}" for folder in WAITING)]}


def start(told: Sequence[str], folder: Path) -> "subprocess.Popen[bytes]":
    """One run; what it prints is kept in `folder`, and so are its counts."""
    command = [sys.executable, "-m", "pytest", *told, f"--junitxml={folder / 'counts.xml'}"]
    with (folder / "printed").open("wb") as printed:
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT)


def counted(path: Path) -> Counter[str]:
    """Passed, failed (errors included) and skipped tests of a run; nothing where it broke off."""
    if not path.exists():
        return Counter()
    found: Counter[str] = Counter()
    for suite in Xml.parse(path).getroot().iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        found.update(failed=failed, skipped=skipped, passed=int(suite.get("tests", 0)) - failed - skipped)
    return found


def main() -> int:
    """Run both, print one after the other, and the sum; 0 only where both passed."""
    with tempfile.TemporaryDirectory(prefix="aos-suite-") as place:
        runs = {}
        for name, told in halves().items():
            folder = Path(place) / name
            folder.mkdir()
            runs[name] = folder, start(told, folder)
        try:
            total, codes = Counter[str](), []
            for name, (folder, run) in runs.items():
                codes.append(run.wait())
                print(f"== {name}", flush=True)
                sys.stdout.buffer.write((folder / "printed").read_bytes())
                sys.stdout.flush()
                total += counted(folder / "counts.xml")
        finally:
            for _, run in runs.values():
                run.send_signal(signal.SIGINT)  # pytest then stops what its fixtures started
                run.wait()
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return max(map(abs, codes))


if __name__ == "__main__":
    sys.exit(main())
