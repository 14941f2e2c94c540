"""`make test-access`: who gets in, who sees what, and what ends at once, with the real programs of an organisation.

The tests named here are part of `make test`, too; this says what of each promise they hold, and what they measured.
"""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from configs.settings import load_settings
from tests.evals import certified_oidc, eval_cache
from tests.evals.report import ROOT, Report

OF = "tests/postgres/"
WALK = 10_000


@dataclass(frozen=True, slots=True)
class Promise:
    """A line that has to hold.

    Attributes:
        tests: files, or `file::beginning of names`; every test among them has to pass, and none may be skipped.
        least: how many there have to be, so that none goes missing.
    """

    name: str
    goal: str
    tests: tuple[str, ...]
    least: int


@dataclass
class Outcome:
    """What became of a promise's tests, and what they measured by name."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    measured: dict[str, str] = field(default_factory=dict)


RIGHTS = (
    "Rights taken away (8 ways) while a stream, a socket, a console page, an MCP call, a run and a job go on:"
    " refused ≤ 5 s on two gateway replicas, 0 events after that."
)
FOREIGN = (
    "Foreign ids × routes × roles × document readers × groups: 0 leaks, also with the WHERE filter removed; 10,000"
    " random operations (grant, revoke, move, search, ask, cache) 0 stale, 0 foreign."
)
OIDC = (
    "OIDC: 30 attacks (alg none, wrong aud/iss/nonce, replayed code, expired key, mixed-up providers, open redirects)"
    " all refused"
)
LDAP = "LDAP: nested groups, 10,000 users paged, injection strings, referral to elsewhere, plain-text bind refused"
PLANTED = "nothing of 200 planted values in messages, memory, journals, traces, logs, metrics, exports."
ERASURE = (
    "Erasure of 50 documents and 5 people in a filled state with two generations, cache, graph, answers, runs: probe"
    " finds 0; the receipt verifies; a hold refuses it; retention at a jumped clock deletes what is due, nothing else."
)
LIMITS = (
    "Limits: one tenant at ten times its limit, others' p95 ≤ 1.2 × idle; 200 parallel wrong passwords from made-up"
    " addresses cost the account's guard 5 tries."
)
AUDIT = (
    "Audit: collector away for 10 min under load: 0 lines lost or doubled, order and chain verify from the exported"
    " file alone; every mutating route writes exactly one line (a test walks the routes)."
)
PROMISES = (
    Promise("OIDC", OIDC, (f"{OF}test_oidc.py",), 60),
    Promise("LDAP", LDAP, (f"{OF}test_ldap.py", f"{OF}test_ldap_attacks.py"), 50),
    Promise("SCIM", "SCIM: the tester's run without an error.", (f"{OF}test_scim.py",), 16),
    Promise("planted values", PLANTED, (f"{OF}test_planted_values.py",), 1),
    Promise(
        "erasure, holds, retention",
        ERASURE,
        tuple(f"{OF}test_{name}.py" for name in ("erasure_receipts", "http_erasures", "legal_holds", "retention")),
        20,
    ),
    Promise(
        "limits", LIMITS, tuple(f"{OF}{name}.py" for name in ("test_rate_limits", "test_quotas", "noisy_neighbour")), 20
    ),
    Promise("audit", AUDIT, (f"{OF}test_audit_export.py", f"{OF}test_audit_completeness.py"), 8),
    Promise("rights end at once", RIGHTS, (f"{OF}test_token_ends.py", f"{OF}test_agents_rights.py"), 20),
    Promise(
        "foreign ids, roles, readers, groups",
        FOREIGN,
        (
            f"{OF}test_isolation.py",
            f"{OF}test_http_roles.py",
            f"{OF}test_http_groups.py",
            f"{OF}test_folder_readers.py",
        ),
        25,
    ),
    Promise(
        "header identity",
        "`X-OpenWebUI-User-*` counts only with a service key that may impersonate; without it the header is refused,"
        " not ignored.",
        (f"{OF}test_http_impersonation.py",),
        8,
    ),
)


def run_tests(promises: Sequence[Promise], folder: Path) -> Xml.Element:
    """What pytest counted of their tests; each runs once, whoever names it."""
    files = sorted({test.partition("::")[0] for one in promises for test in one.tests})
    counts = folder / "counts.xml"
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-q", *files, f"--junitxml={counts}"]
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    return Xml.parse(counts).getroot()


def outcome_of(promise: Promise, counted: Xml.Element) -> Outcome:
    """What became of the tests that a promise names."""
    found = Outcome()
    for case in counted.iter("testcase"):
        file, name = case.get("classname", "").replace(".", "/") + ".py", case.get("name", "")
        if not any(
            file == path and name.startswith(beginning)
            for path, _, beginning in (test.partition("::") for test in promise.tests)
        ):
            continue
        if case.find("skipped") is not None:
            found.skipped.append(name)
        elif case.find("failure") is not None or case.find("error") is not None:
            found.failed.append(name)
        else:
            found.passed += 1
        for one in case.iter("property"):
            found.measured[one.get("name", "")] = one.get("value", "")
    return found


def judge(report: Report, promise: Promise, found: Outcome) -> None:
    """A figure for the promise, and one for each number that its tests measured."""
    total = found.passed + len(found.failed) + len(found.skipped)
    holds = found.passed >= promise.least and not found.failed and not found.skipped
    report.figure(
        promise.name, f"{found.passed} of {total} tests", reference=promise.least, goal=promise.goal, holds=holds
    )
    for name, value in found.measured.items():
        report.figure(f"{promise.name}: {name}", value)
    for name in (*found.failed, *found.skipped):
        print(f"{promise.name}: {name} did not pass", file=sys.stderr)


def measure_certified(report: Report, ends: embedded.StateEndpoints, state: Path) -> None:
    """Signed in and out by a program that was certified for it."""
    goal = "a certified OpenID provider (npm `oidc-provider`) signs people in, and out again"
    try:
        found = certified_oidc.measure(ends.postgres, ends.postgres_admin or "", state)
    except certified_oidc.NoNode as error:
        print(error, file=sys.stderr)
        report.figure("certified provider", None, goal=goal)
        return
    holds = list(found.values()) == [200, "viewer", 200, 401]
    report.figure("certified provider", ", ".join(f"{name}: {value}" for name, value in found.items()))
    report.figure("certified provider, as it should be", int(holds), reference=1, goal=goal, holds=holds)


def main() -> int:
    """Run the tests, the programs and the walk; 1 where a promise does not hold, 2 without the data of the walk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--only", choices=[one.name for one in PROMISES], help="one promise, without programs and walk")
    options = parser.parse_args()
    corpus = options.evals / eval_cache.CORPUS
    if options.only is None and not corpus.is_dir():
        print(f"{corpus} is not there: nothing is measured", file=sys.stderr)
        return 2
    report = Report("test-access", part=options.only is not None)
    promises = [one for one in PROMISES if options.only in (None, one.name)]
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        counted = run_tests(promises, folder)
        for promise in promises:
            judge(report, promise, outcome_of(promise, counted))
        if options.only is None:
            state = folder / "state"
            ends = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
            asyncio.run(apply_migrations(ends.postgres_admin or ""))
            (state / "scans").mkdir()
            measure_certified(report, ends, state)
            asyncio.run(eval_cache.measure_walk(report, options.evals, state, WALK))
    finally:
        embedded.stop_servers(folder / "state")
        shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
