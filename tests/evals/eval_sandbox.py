"""Attacks from inside the fence around scripts: each must be contained, seen from outside, and the next script run."""

import argparse
import asyncio
import json
import statistics
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.errors import AosError
from configs.sections_skills import SandboxSettings
from skills.sandbox.fence import Sandbox
from skills.sandbox.sandbox_errors import SandboxMissing
from tests.evals.report import ROOT, Report
from tests.evals.sandbox_attacks import ATTACKS, NAMED
from tests.evals.sandbox_watch import Watch

GOAL = (
    "`make eval-sandbox`: every entry of `../shared/evals/security/sandbox_escapes.jsonl` (hundreds of others decide "
    "afterwards) is contained: no file outside, no network, no other process seen, no survivor, host state unchanged; "
    "plus a fork bomb, a 2 GiB allocation, a 60 s loop, 1 GiB of output."
)
# The list of imports stops most attacks before they meet the wall; so each also runs with the whole library offered.
OFFERS = {"list": SandboxSettings().imports, "wall": ("*",)}
HARMLESS = "import statistics\ndef run(payload):\n    return {'mean': statistics.mean(payload['numbers'])}\n"
SLOWEST = 5.0 + 3.0  # seconds until a script is gone: its own, and what a loaded machine takes to end it


@dataclass(frozen=True, slots=True)
class Case:
    """One script that is not to get out; `offer` is what it may import."""

    group: str
    name: str
    offer: str
    source: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a script ended, and what shows that it got out, if anything does."""

    case: Case
    ended: str
    escapes: list[str]
    seconds: float


def given(path: Path) -> Iterator[Case]:
    """Every entry of a file, as the body of a function and as a module, with either offer."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            entry = json.loads(line)
            code = entry["code"]
            forms = {
                "body": f"def run(payload):\n{textwrap.indent(code, '    ')}\n    return {{'ran': True}}\n",
                "module": f"{code}\n\ndef run(payload):\n    return {{'ran': True}}\n",
            }
            for form, source in forms.items():
                for offer in OFFERS:
                    yield Case("given", f"{entry['id']} as {form}, {offer}", offer, source)


def ours() -> Iterator[Case]:
    """Our own attacks; what one gets hold of it gives back as `got`."""
    for attack in ATTACKS:
        body = textwrap.indent(attack.body.strip("\n"), "    ")
        source = f"def run(payload):\n    got = None\n{body}\n    return {{'got': repr(got)[:500] if got else None}}\n"
        for offer in OFFERS:
            yield Case(attack.family, attack.name if offer == "wall" else f"{attack.name}, {offer}", offer, source)


async def attempt(case: Case, sandbox: Sandbox, watch: Watch) -> Verdict:
    """Run it, look around, and run a harmless script."""
    began, escapes = time.perf_counter(), []
    try:
        outcome = await sandbox.run(case.source, watch.payload())
    except SandboxMissing:
        raise
    except AosError as error:
        ended = type(error).__name__
        heard = " ".join(str(getattr(error, part, "")) for part in ("detail", "trace", "stdout", "stderr"))
    else:
        ended, heard = "answer", json.dumps(outcome.value) + outcome.stdout + outcome.stderr
        if got := outcome.value.get("got"):
            escapes.append(f"got {got}")
    seconds = time.perf_counter() - began
    escapes += watch.changes(heard)
    if seconds > SLOWEST:
        escapes.append(f"lived for {seconds:.1f} s")
    after = await sandbox.run(HARMLESS, {"numbers": [1, 2, 6]})
    if after.value != {"mean": 3}:
        escapes.append(f"the next script gave {after.value}")
    return Verdict(case, ended, escapes, seconds)


async def measure(cases: list[Case]) -> list[Verdict]:
    """One after the other, so that what is seen outside has one author; no interpreter waits meanwhile."""
    verdicts = []
    with Watch() as watch:
        for offer, imports in OFFERS.items():
            async with Sandbox(SandboxSettings(imports=imports, warm=0, files=watch.files)) as sandbox:
                for case in cases:
                    if case.offer == offer:
                        verdicts.append(await attempt(case, sandbox, watch))
                        if verdicts[-1].escapes:
                            print(f"NOT CONTAINED {case.group}: {case.name}: {'; '.join(verdicts[-1].escapes)}")
        async with Sandbox(SandboxSettings(files=watch.files)) as sandbox:
            await sandbox.run(HARMLESS, {"numbers": [3]})
        if left := watch.changes():
            raise SystemExit(f"after everything was closed: {left}")
    return verdicts


def tell(report: Report, verdicts: list[Verdict], entries: int) -> None:
    """Entries of the file, the four named, our own by family, and how they ended."""
    held = [verdict for verdict in verdicts if not verdict.escapes]
    of_file = [v for v in verdicts if v.case.group == "given"]
    fine = entries - len({v.case.name.split()[0] for v in of_file if v.escapes}) if entries else None
    report.figure("entries contained", fine, reference=entries, goal=GOAL, holds=fine == entries and held == verdicts)
    for name in NAMED:
        verdict = next(v for v in verdicts if v.case.name == name)
        contained = "contained" if not verdict.escapes else "NOT CONTAINED"
        report.figure(name, f"{contained}: {verdict.ended} after {verdict.seconds:.1f} s", holds=not verdict.escapes)
    for group in dict.fromkeys(v.case.group for v in verdicts):
        family = [v for v in verdicts if v.case.group == group]
        good = sum(not v.escapes for v in family)
        report.figure(f"{group}: runs contained", good, reference=len(family), holds=good == len(family))
    for ended, number in Counter(v.ended for v in verdicts).most_common():
        report.figure(f"ended by {ended}", number)
    quick = [v.seconds for v in verdicts if v.ended != "ScriptTimeout"]
    report.figure("time of a run on a cold interpreter, median", 1000 * statistics.median(quick), unit="ms")
    report.figure("longest run", max(v.seconds for v in verdicts), unit="s")


def main() -> int:
    """Run every attack and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--escapes", type=Path, default=ROOT.parent / "shared/evals/security/sandbox_escapes.jsonl")
    parser.add_argument("--only", help="run the cases whose name or family has this in it, and print how each ended")
    chosen = parser.parse_args()
    if not chosen.escapes.is_file():
        print(f"{chosen.escapes} is not there: only our own attacks are run, and the goal is not met", file=sys.stderr)
    read = list(given(chosen.escapes)) if chosen.escapes.is_file() else []
    cases = [*read, *ours()]
    if chosen.only:
        cases = [case for case in cases if chosen.only in f"{case.group}: {case.name}"]
        for verdict in asyncio.run(measure(cases)):
            print(f"{verdict.seconds:6.2f} s  {verdict.ended:16} {verdict.case.group}: {verdict.case.name}")
        return 0
    report = Report("eval-sandbox")
    missing = asyncio.run(_missing())
    report.figure("layers missing", ", ".join(missing) or "none", holds=not missing)
    tell(report, asyncio.run(measure(cases)), len({case.name.split()[0] for case in read}))
    return report.finish()


async def _missing() -> tuple[str, ...]:
    async with Sandbox(SandboxSettings()) as sandbox:
        return (await sandbox.layers()).missing


if __name__ == "__main__":
    sys.exit(main())
