"""`make test-upgrade`: states of earlier versions start under this one; a product is updated while people use it."""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import httpx
import psutil

from cluster import connect
from cluster.state import supervised
from tests.evals.report import ROOT, Report
from tests.fakes.older_state import predecessors
from tests.fakes.webhook_receiver import Receiver, receiving
from tests.instance import AOS, Instance, instance

STATES = (
    "every release starts on the state of its two predecessors (kept as fixtures made by their code), refuses clearly"
    " what it cannot read; a migration says how long it locks what"
)
BESIDE = "Two versions side by side during a rolling update under 5 requests/s: 0 failed requests, 0 lost events"
TESTS = (
    "unit/test_migration_locks",
    "postgres/test_migration_runner",
    "postgres/test_upgrade_check",
    "postgres/test_upgrade",
)
OLD = "4ca688ce"  # the newest commit of the second predecessor's schema (0106)
EVERY = 0.2  # seconds: five requests a second
REPLICAS = ("ServeReplica:gateway", "ServeReplica:worker", "ServeReplica:embedding")
BEFORE = AFTER = 20.0


@dataclass
class Users:
    """People who ask and upload, five requests a second, whatever happens; every failure is kept."""

    url: str
    headers: dict[str, str]
    over: threading.Event = field(default_factory=threading.Event)
    answered: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    slowest: float = 0.0
    phase: str = "before"
    by_phase: Counter[str] = field(default_factory=Counter)

    def work(self) -> None:
        """Until it is over; a slow answer holds up no other request."""
        number, began = 0, time.monotonic()
        with httpx.Client(base_url=self.url, headers=self.headers, timeout=60) as http, ThreadPoolExecutor(40) as pool:
            while not self.over.is_set():
                pool.submit(self._ask, http, number)
                number += 1
                time.sleep(max(0.0, began + number * EVERY - time.monotonic()))

    def _ask(self, http: httpx.Client, number: int) -> None:
        what = ("documents", "search", "jobs", "upload", "spaces")[number % 5]
        phase, began = self.phase, time.monotonic()
        try:
            reply = self._send(http, what, number)
        except httpx.HTTPError as error:
            self.failed.append(f"{phase}: {what}: {type(error).__name__}")
            return
        self.slowest = max(self.slowest, time.monotonic() - began)
        if reply.status_code >= 400:
            self.failed.append(f"{phase}: {what}: {reply.status_code} {reply.text[:120]}")
        else:
            self.answered[what] += 1
            self.by_phase[phase] += 1

    @staticmethod
    def _send(http: httpx.Client, what: str, number: int) -> httpx.Response:
        if what == "upload":
            text = f"Note {number} tells of harbour {number}.\n".encode()
            return http.post("/api/documents/upload", files={"file": (f"note-{number}.txt", text, "text/plain")})
        if what == "search":
            return http.post("/api/documents/search", json={"query": f"harbour {number}", "limit": 3, "cache": False})
        path = {"documents": "/api/documents/", "jobs": "/api/jobs", "spaces": "/api/workspaces"}[what]
        return http.get(path)


def unpack(commit: str, folder: Path) -> None:
    """A commit's files over what is there, as a checkout would leave them."""
    folder.mkdir(exist_ok=True)
    listed = subprocess.run(["git", "ls-tree", "-r", "--name-only", commit], cwd=ROOT, capture_output=True, check=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive, check=True)
    kept = set(listed.stdout.decode().splitlines())
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.is_file() and "__pycache__" not in inside.parts and str(inside) not in kept:
            path.unlink()


def run_tests(report: Report) -> None:
    """The states that are kept, and what is refused: by the tests that hold them."""
    with tempfile.TemporaryDirectory() as name:
        junit = Path(name) / "junit.xml"
        files = [f"tests/{one}.py" for one in TESTS]
        subprocess.run([sys.executable, "-m", "pytest", "-q", f"--junitxml={junit}", *files], cwd=ROOT, check=False)
        suites = ElementTree.parse(junit).getroot().iter("testsuite") if junit.exists() else []
        counts = Counter[str]()
        for suite in suites:
            for key in ("tests", "failures", "errors", "skipped"):
                counts[key] += int(suite.get(key, 0))
    whole = counts["tests"] > 0 and not counts["failures"] + counts["errors"] + counts["skipped"]
    kept = predecessors()
    report.figure("states kept, by their last migration", ", ".join(kept), goal=STATES, holds=len(kept) >= 2)
    failed = counts["failures"] + counts["errors"] if counts["tests"] else None
    report.figure("tests of upgrades failed", failed, reference=counts["tests"], goal=STATES, holds=whole)


def update_beside_users(report: Report, old: str) -> None:
    """The old version under load; its files are replaced, `aos up` migrates, and replicas are replaced by new ones."""
    with tempfile.TemporaryDirectory(prefix="aos-roll-") as name, receiving() as receiver:
        code = Path(name) / "code"
        unpack(old, code)
        hooks = f"127.0.0.1:{receiver.port}"
        with instance(PYTHONPATH=str(code), AOS_WEBHOOKS_HOSTS=hooks, AOS_WEBHOOKS_POLL_SECONDS="0.5") as made:
            made_hook = made.http.post(
                "/api/webhooks", json={"name": "ears", "url": receiver.url, "topics": ["job.*", "document.*"]}
            )
            made_hook.raise_for_status()
            receiver.secrets.append(made_hook.json()["secret"])
            users = Users(str(made.http.base_url), dict(made.http.headers))
            thread = threading.Thread(target=users.work)
            thread.start()
            try:
                roll(report, made, users, code)
            finally:
                users.over.set()
                thread.join()
            judge(report, made, users, receiver)


def roll(report: Report, made: Instance, users: Users, code: Path) -> None:
    """Update what runs, as README says."""
    time.sleep(BEFORE)
    before = replicas(made)
    applied = len(made.rows("select name from schema_migrations"))
    before_supervisor = supervised.find_supervisor(made.settings.state_dir)
    users.phase = "update"
    unpack("HEAD", code)
    began = time.monotonic()
    call = partial(subprocess.run, env=dict(made.env), cwd=code, capture_output=True, text=True, check=False)
    check = call([AOS, "upgrade", "--check"])
    report.figure("aos upgrade --check before it", check.returncode, reference=3)
    up = call([AOS, "up"], timeout=600)
    if up.returncode:
        raise RuntimeError(f"aos up failed: {up.stdout[-500:]} {up.stderr[-2000:]}")
    now = len(made.rows("select name from schema_migrations"))
    report.figure("migrations applied under the old version's replicas", now - applied)
    report.figure("files replaced until all replicas are new", time.monotonic() - began, unit="s")
    left = before & replicas(made)
    report.figure(
        "replicas of the old version that are left",
        len(left),
        reference=len(before),
        goal=BESIDE,
        holds=len(before) >= len(REPLICAS) and not left,
    )
    after = supervised.find_supervisor(made.settings.state_dir)
    new = after is not None and after != before_supervisor
    report.figure("the supervisor is of the new version", str(new), goal=BESIDE, holds=new)
    users.phase = "after"
    time.sleep(AFTER)


def replicas(made: Instance) -> set[int]:
    """Processes of the replicas that are always there."""
    found = set()
    for process in connect.ray_processes(made.settings.state_dir):
        try:
            title = " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            continue
        if any(one in title for one in REPLICAS):
            found.add(process.pid)
    return found


def judge(report: Report, made: Instance, users: Users, receiver: Receiver) -> None:
    """Every request has its answer, every event that was written has come."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        open_jobs = made.rows("select count(*) from jobs where state in ('queued', 'running') and kind = 'upload'")[0][
            0
        ]
        waiting = made.rows("select count(*) from webhook_deliveries where state = 'pending'")[0][0]
        if not open_jobs and not waiting:
            break
        time.sleep(1)
    sent = "select distinct o.event_id from outbox o join webhook_deliveries d on d.outbox_id = o.id"
    written = {f"evt_{id_}" for (id_,) in made.rows(sent)}
    lost, asked = len(written - set(receiver.ids)), sum(users.answered.values()) + len(users.failed)
    uploads = users.answered["upload"]
    ended = made.rows("select count(*) from jobs where state = 'completed' and kind = 'upload'")[0][0]
    for phase, number in Counter(line.partition(":")[0] for line in users.failed).items():
        report.figure(f"failed requests: {phase}", number, reference=users.by_phase[phase])
    for line, number in Counter(users.failed).most_common(5):
        report.figure(f"failed: {line}", number)
    report.figure(
        "failed requests", len(users.failed), reference=asked, goal=BESIDE, holds=not users.failed and asked > 0
    )
    report.figure("lost events", lost, reference=len(written), goal=BESIDE, holds=not lost and len(written) > 0)
    report.figure("events that came more than once", len(receiver.ids) - len(set(receiver.ids)))
    report.figure("uploads whose job completed", ended, reference=uploads, goal=BESIDE, holds=ended >= uploads > 0)
    report.figure("slowest answer", users.slowest, unit="s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write `.reports/test-upgrade.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("states", "beside"))
    parser.add_argument("--old", default=OLD, help="the commit that is updated from")
    chosen = parser.parse_args(arguments)
    report = Report("test-upgrade", part=chosen.only is not None)
    if chosen.only != "beside":
        run_tests(report)
    if chosen.only != "states":
        try:
            update_beside_users(report, chosen.old)
        except (RuntimeError, TimeoutError, AssertionError, httpx.HTTPError, subprocess.SubprocessError) as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            for name in ("failed requests", "lost events"):
                report.figure(name, None, unit="missing", goal=BESIDE)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
