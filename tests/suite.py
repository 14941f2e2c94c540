"""The whole suite as two rows of pytest runs at once, about as long as each other: all without Postgres; the rest.

What drives the product, by its API or in a browser, shares one; there is no coroutine among those tests, as Playwright
leaves an event loop running in the thread that started it.

Two busy cores starve a browser or a killed process now and then. Up to three failed tests are therefore run once more,
alone, when all runs are over; one that passes then is named as unstable, and is to be mended all the same.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.evals.report import ROOT, Report

GOAL, SECONDS = "`make test` ≤ 20 min on 2 cores; unit tests alone ≤ 20 s and import no Ray.", 1_200
MOST_AGAIN = 3
LONGEST = 4_200.0  # seconds that the runs may take together; a test may take what pyproject.toml gives it
BROKEN_OFF = 2  # pytest: interrupted
FAILED = 1  # pytest: some tests failed; anything above says that the run itself broke
ROW = {
    "product": ("tests/acceptance",),
    "ray": ("tests/weights", "tests/ray"),
    "apart": ("tests/process", "tests/ui", "tests/unit", "tests/wire"),
}


def runs() -> dict[str, list[str]]:
    """What each run is told; a new folder belongs to the last without being named."""
    elsewhere = [f"--ignore={folder}" for folders in ROW.values() for folder in folders]
    return {**{name: list(folders) for name, folders in ROW.items()}, "rest": ["tests", *elsewhere]}


def start(told: Sequence[str], folder: Path) -> "subprocess.Popen[bytes]":
    """One run; what it prints is kept in `folder`, and so are its counts."""
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", *told, f"--junitxml={folder / 'counts.xml'}"]
    # Hundreds of processes import the same modules: what one has compiled is kept for the next, whoever calls.
    kept = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    with (folder / "printed").open("wb") as printed:
        return subprocess.Popen(
            command, cwd=ROOT, env=kept, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT
        )


def awaited(run: "subprocess.Popen[bytes]", until: float) -> int:
    """Its exit code; a run that still goes on then is broken off, so that what it was at is printed and not lost.

    `until` is a time of `time.monotonic`.
    """
    try:
        return abs(run.wait(max(0.0, until - time.monotonic())))
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)  # pytest then says where it stood
        try:
            run.wait(60)
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
        return BROKEN_OFF


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


def forgivable(codes: Sequence[int], failed: Sequence[Sequence[str]]) -> bool:
    """Few tests failed, and nothing else: a run that failed without one of its tests is not forgiven."""
    named = all(tests for code, tests in zip(codes, failed, strict=True) if code)
    return named and max(codes) == FAILED and sum(map(len, failed)) <= MOST_AGAIN


def again(failed: Sequence[Sequence[str]], place: Path) -> bool:
    """Whether tests that failed pass when they have the machine to themselves; those of one run in one process."""
    codes = []
    for number, tests in enumerate(failed):
        folder = place / f"again{number}"
        folder.mkdir(parents=True)
        codes.append(awaited(start(tests, folder), time.monotonic() + LONGEST / 4))
        print(f"== once more, alone\n{(folder / 'printed').read_text(errors='replace')}", flush=True)
    return not any(codes)


def main() -> int:
    """Run all, print one after the other, and the sum; 0 only where all passed."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # runs inherit that it is ignored, as in a shell's `&`
    total, codes, failed, began = Counter[str](), list[int](), list[list[str]](), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="aos-suite-") as place:
        told = runs()
        folders = {name: Path(place) / name for name in told}
        for folder in folders.values():
            folder.mkdir()
        started = {"rest": start(told["rest"], folders["rest"])}
        try:
            for name, folder in folders.items():  # those of the row in turn, beside the rest
                run = started.get(name) or started.setdefault(name, start(told[name], folder))
                codes.append(awaited(run, began + LONGEST))
                print(f"== {name}", flush=True)
                sys.stdout.buffer.write((folder / "printed").read_bytes())
                sys.stdout.flush()
                total += counted(folder / "counts.xml")
                failed.append(failures(folder / "counts.xml"))
        finally:
            for run in started.values():
                run.send_signal(signal.SIGINT)  # pytest then stops what its fixtures started
                run.wait()
        passed = forgivable(codes, failed) and again([tests for tests in failed if tests], Path(place))
    unstable = [test for tests in failed for test in tests] if passed else []
    for one in unstable:
        print(f"UNSTABLE {one}: failed beside everything else, passed alone")
    total.update(passed=len(unstable), failed=-len(unstable))
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped, {len(unstable)} unstable")
    # Told, and not judged here: how long it takes is no property of the code alone.
    seconds, report = round(time.monotonic() - began), Report("test")
    report.figure("seconds", seconds, goal=GOAL, holds=seconds <= SECONDS)
    report.figure("tests passed", total["passed"], reference=f"{total['failed']} failed, {len(unstable)} unstable")
    report.finish(shown=False)
    return 0 if unstable else max(codes)


if __name__ == "__main__":
    sys.exit(main())
