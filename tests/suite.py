"""The whole suite as two pytest runs at once: what drives Ray and mostly waits for it, and everything else.

Two busy cores starve a browser or a killed process now and then. Up to three failed tests are therefore run once more,
alone, when both runs are over; one that passes then is named as unstable, and is to be mended all the same.
"""

import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_AGAIN = 3
FAILED = 1  # pytest: some tests failed; anything above says that the run itself broke
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


def failures(path: Path) -> list[str]:
    """What pytest calls the tests that failed, errors included."""
    if not path.exists():
        return []
    cases = Xml.parse(path).getroot().iter("testcase")
    return [_id(case) for case in cases if case.find("failure") is not None or case.find("error") is not None]


def _id(case: Xml.Element) -> str:
    """`tests.unit.test_a.TestB` and `test_c` as tests/unit/test_a.py::TestB::test_c."""
    parts = case.get("classname", "").split(".")
    file = max((n for n in range(len(parts) + 1) if Path(ROOT, *parts[:n]).with_suffix(".py").is_file()), default=0)
    return "::".join([f"{'/'.join(parts[:file])}.py", *parts[file:], case.get("name", "")])


def again(failed: Sequence[str], folder: Path) -> bool:
    """Whether tests that failed pass when they have the machine to themselves."""
    folder.mkdir()
    code = start(failed, folder).wait()
    print(f"== once more, alone\n{(folder / 'printed').read_text(errors='replace')}", flush=True)
    return code == 0


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
            failed: list[str] = []
            for name, (folder, run) in runs.items():
                codes.append(abs(run.wait()))
                print(f"== {name}", flush=True)
                sys.stdout.buffer.write((folder / "printed").read_bytes())
                sys.stdout.flush()
                total += counted(folder / "counts.xml")
                failed += failures(folder / "counts.xml")
        finally:
            for _, run in runs.values():
                run.send_signal(signal.SIGINT)  # pytest then stops what its fixtures started
                run.wait()
        few = max(codes) == FAILED and 0 < len(failed) <= MOST_AGAIN
        unstable = failed if few and again(failed, Path(place) / "again") else []
    for one in unstable:
        print(f"UNSTABLE {one}: failed beside everything else, passed alone")
    total.update(passed=len(unstable), failed=-len(unstable))
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped, {len(unstable)} unstable")
    return 0 if unstable else max(codes)


if __name__ == "__main__":
    sys.exit(main())
