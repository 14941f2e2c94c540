"""`make audit`: known vulnerabilities of the locked packages, by pip-audit; no answer is never a clean bill."""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cluster.console.supply.lock_files import FOLDER, GROUPS, Group

CLEAN, FOUND, UNAVAILABLE = 0, 1, 2
PROBE: Group = "build"  # a handful of packages, asked first: where nothing is known of any, nothing more is asked


def audit_outcome(report: dict[str, Any] | None) -> tuple[int, list[str]]:
    """Exit code and lines of a report of pip-audit; None: it wrote none.

    pip-audit says "no known vulnerabilities" and exits with 0 too where its database knows no package at all.
    """
    rows = (report or {}).get("dependencies", [])
    audited = [one for one in rows if "skip_reason" not in one]
    if not audited:
        return UNAVAILABLE, ["no database of vulnerabilities answers here: nothing was audited"]
    found = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no release'}"
        for one in audited
        for flaw in one["vulns"]
    ]
    skipped = [one["name"] for one in rows if "skip_reason" in one]
    note = [f"not known there: {', '.join(skipped)}"] if skipped else []
    return (FOUND if found else CLEAN), [*found, *note, f"{len(audited)} packages audited, {len(found)} flaws"]


def exit_code(outcome: int, offline: bool) -> int:
    """Without an answer 0 only where somebody said that there is no network."""
    return 0 if outcome == UNAVAILABLE and offline else outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask about all groups; 0 clean, 1 flaws found, 2 no answer (0 with --offline)."""
    parser = argparse.ArgumentParser(
        prog="python -m cluster.console.supply.audit_packages",
        description=__doc__,
        epilog="examples: make audit; CI_OFFLINE=1 make audit. Exit codes: 0 clean, 1 flaws found, 2 no answer.",
    )
    parser.add_argument("--offline", action="store_true", help="no answer is no failure (CI_OFFLINE=1 for make)")
    parser.add_argument("--json", action="store_true", help="the report of pip-audit instead of lines")
    asked = parser.parse_args(arguments)
    if find_spec("pip_audit") is None:
        print("pip-audit is missing: run `make install` first", file=sys.stderr)
        return UNAVAILABLE
    report = _ask([PROBE])
    outcome, lines = audit_outcome(report)
    if outcome != UNAVAILABLE:
        report = _ask(GROUPS)
        outcome, lines = audit_outcome(report)
    print(json.dumps(report) if asked.json else "\n".join(lines))
    if outcome == UNAVAILABLE and asked.offline:
        print("CI_OFFLINE=1: left out, not passed", file=sys.stderr)
    return exit_code(outcome, asked.offline)


def _ask(groups: Sequence[Group]) -> dict[str, Any] | None:
    with TemporaryDirectory() as place:
        out = Path(place) / "report.json"
        command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
        for group in groups:
            command += ["-r", str(FOLDER / f"{group}.txt")]
        done = subprocess.run([*command, "-f", "json", "-o", str(out)], capture_output=True, text=True, check=False)
        if out.exists() and out.stat().st_size:
            return dict(json.loads(out.read_text(encoding="utf-8")))
    print(done.stderr.strip()[-400:], file=sys.stderr)
    return None


if __name__ == "__main__":
    sys.exit(main())
