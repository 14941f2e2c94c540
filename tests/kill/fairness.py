"""Lanes shared by those who wait: a tenant behind another's bulk, small uploads behind scans, bulk beside busy cores.

`make bench-fairness`; of its own accord only: it wants a calm machine, and says so by how long things took.
"""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from cluster import connect
from cluster.basics.scope import Role
from cluster.state.db import embedded
from tests.evals.report import Report
from tests.fakes.files import pdf
from tests.fakes.http import PASSWORD, open_office
from tests.instance import Instance, instance
from tests.kill.scans import WORDS, make_scans

SHARE = "tenant B's 20 pages behind A's 2,000: ≤ 2 × solo"
SMALL = "100 small uploads behind a 28-page report and a 300-page scan: p95 until found ≤ 3 × alone"
FLOOR = "beside a process that keeps both cores busy the bulk job still gets ≥ 8 % of them"
PARTS = ("share", "small", "floor")
READERS = ("ServeReplica:worker", "MapWorker(")
BURN = "while True: pass"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything."""

    many: int = 2000  # pages of A
    few: int = 20  # pages of B
    times: int = 3
    uploads: int = 100
    report: int = 28
    scan: int = 300
    floor_pages: int = 60
    floor_seconds: float = 60


QUICK = Size(many=400, times=1, uploads=30, scan=60, floor_pages=30, floor_seconds=30)


def text_pdf(path: Path, pages: int, mark: str) -> Path:
    """Born-digital, each page another."""

    def draw(number: int) -> Callable[..., None]:
        def page(canvas: object, *_: object) -> None:
            for line in range(30):
                words = " ".join(WORDS[(number * 7 + line * 3 + n) % len(WORDS)] for n in range(9))
                canvas.drawString(20, 570 - 18 * line, f"{mark} {number} {line}: {words}")  # type: ignore[attr-defined]

        return page

    return pdf(path, *(draw(number) for number in range(pages)))


def scan_pdf(folder: Path, pages: int) -> Path:
    make_scans(folder, 1, pages)
    return next(folder.glob("*.pdf"))


@contextlib.contextmanager
def second_tenant(made: Instance) -> Iterator[httpx.Client]:
    """An operator of another tenant, signed in."""
    office = open_office(embedded.resolve_endpoints(made.settings).postgres_admin or "", "fairness")
    login = made.http.post("/api/auth/login", json={"email": office.emails[Role.OPERATOR], "password": PASSWORD})
    login.raise_for_status()
    headers = {"Authorization": f"Bearer {login.json()['access_token']}"}
    with httpx.Client(base_url=made.http.base_url, headers=headers, timeout=120) as client:
        yield client


def upload(http: httpx.Client, path: Path, name: str) -> str:
    """The job."""
    with path.open("rb") as file:
        answer = http.post("/api/documents/upload", files={"file": (name, file)})
    answer.raise_for_status()
    return str(answer.json()["job_id"])


def seconds_until_found(made: Instance, jobs: Sequence[str], wait: float = 400) -> list[float]:
    """Of each job from when it was asked for to its end, as the ledger has it; the last look is all that it costs."""
    query = "select extract(epoch from finished_at - created_at)::float, state from jobs where id = any(%s::uuid[])"
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        rows = made.rows(query, list(jobs))
        if all(seconds is not None for seconds, _ in rows):
            assert {state for _, state in rows} == {"completed"}, rows
            return [float(seconds) for seconds, _ in rows]
        time.sleep(0.5)
    raise TimeoutError(f"{jobs} did not end in {wait} s")


def cancel_all(made: Instance) -> None:
    """And wait until none is at work."""
    made.execute(
        "update jobs set cancel_requested = (state = 'running'), state = case when state = 'queued' then 'cancelled'"
        " else state end, finished_at = case when state = 'queued' then now() end where state in ('queued', 'running')"
    )
    until(lambda: made.rows("select count(*) from jobs where state in ('queued', 'running')") == [(0,)])


def until(holds: Callable[[], bool], wait: float = 240) -> None:
    deadline = time.monotonic() + wait
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.2)


def pages_done(made: Instance, job: str) -> int:
    ((done,),) = made.rows("select coalesce(sum(done), 0) from job_progress where job_id = %s and stage = 'read'", job)
    return int(done)


def share(made: Instance, folder: Path, size: Size, report: Report) -> None:
    """B alone, behind one file of A, and behind as many pages in files of 20."""
    files = {"text": text_pdf(folder / "b.pdf", size.few, "quay"), "scan": scan_pdf(folder / "b", size.few)}
    big = text_pdf(folder / "a.pdf", size.many, "lock")
    little = text_pdf(folder / "a20.pdf", 20, "weir")
    with second_tenant(made) as other:

        def of_b(kind: str, when: str) -> float:
            taken = []
            for n in range(size.times):
                job = upload(other, copy_of(files[kind], f"{when}-{n}"), f"{kind}-{when}-{n}.pdf")
                taken += seconds_until_found(made, [job])
            return statistics.median(taken)

        of_b("text", "warm")
        solo = {kind: of_b(kind, "solo") for kind in files}

        def tell(when: str) -> None:
            for kind, alone in solo.items():
                took = of_b(kind, when.replace(" ", "-"))
                name = f"{size.few} pages of B ({kind}) behind {size.many:,} of A, {when}"
                report.figure(name, took / alone, unit="x solo", reference=alone, goal=SHARE, holds=took <= 2 * alone)

        job = upload(made.http, big, "a.pdf")
        until(lambda: pages_done(made, job) >= 20)
        tell("one file")
        cancel_all(made)
        for n in range(size.many // 20):
            upload(made.http, copy_of(little, str(n)), f"a20-{n}.pdf")
        tell("files of 20")
        cancel_all(made)


def copy_of(path: Path, mark: str) -> Path:
    """Other bytes, the same pages."""
    made = path.with_name(f"{path.stem}-{mark}.pdf")
    made.write_bytes(path.read_bytes() + f"\n% {mark}\n".encode())
    return made


def small(made: Instance, folder: Path, size: Size, report: Report) -> None:
    """The uploads of one person, all at once, alone and behind two large ones of the same."""

    def p95(mark: str) -> float:
        def send(n: int) -> str:
            path = folder / f"{mark}-{n}.txt"
            path.write_text(f"{mark} number {n}: the ferry leaves quay {n} at noon.")
            return upload(made.http, path, path.name)

        with ThreadPoolExecutor(4) as threads:
            jobs = list(threads.map(send, range(size.uploads)))
        return statistics.quantiles(seconds_until_found(made, jobs), n=20)[-1]

    p95("warm")
    alone = p95("alone")
    paper, scan = text_pdf(folder / "report.pdf", size.report, "report"), scan_pdf(folder / "s", size.scan)
    upload(made.http, paper, "report.pdf")
    upload(made.http, scan, "scan.pdf")
    behind = p95("behind")
    name = f"p95 until found of {size.uploads} small uploads behind {size.report} pages and a scan of {size.scan}"
    report.figure(name, behind / alone, unit="x alone", reference=alone, goal=SMALL, holds=behind <= 3 * alone)
    cancel_all(made)


def reader_seconds(made: Instance) -> dict[int, float]:
    """CPU seconds so far of every process that reads or indexes, by its id."""
    found: dict[int, float] = {}
    for process in connect.ray_processes(made.settings.state_dir):
        with contextlib.suppress(psutil.Error):
            if any(title in " ".join(process.cmdline()) for title in READERS):
                for one in [process, *process.children(recursive=True)]:
                    times = one.cpu_times()
                    found[one.pid] = times.user + times.system
    return found


def floor(made: Instance, folder: Path, size: Size, report: Report) -> None:
    """The share of this machine that a bulk job has beside as many busy processes as it has cores."""
    make_scans(folder / "f", 3, size.floor_pages // 3)
    cores = os.cpu_count() or 1
    burning = [subprocess.Popen([sys.executable, "-c", BURN], start_new_session=True) for _ in range(cores)]
    try:
        time.sleep(5)
        job = str(made.ingest(folder / "f", wait=None)["job_id"])
        until(lambda: pages_done(made, job) >= 1)
        before, began = reader_seconds(made), time.monotonic()
        last, first = dict(before), pages_done(made, job)
        while time.monotonic() - began < size.floor_seconds and made.job(job)["state"] == "running":
            time.sleep(0.5)
            last |= reader_seconds(made)
        took, pages = time.monotonic() - began, pages_done(made, job) - first
        used = sum(seconds - before.get(pid, 0.0) for pid, seconds in last.items())
        waits = [one["reason"] for one in made.job(job)["waits"]]
    finally:
        for one in burning:
            one.send_signal(signal.SIGKILL)
            one.wait()
    got = 100 * used / (took * cores)
    report.figure("share of the cores of a bulk job beside busy ones", got, unit="%", goal=FLOOR, holds=got >= 8)
    report.figure("pages a minute of it meanwhile", pages / took * 60, reference=", ".join(waits))
    cancel_all(made)


def main() -> int:
    """Some parts, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true", help="a fraction of the pages: says less")
    given = parser.parse_args()
    size = QUICK if given.quick else Size()
    report = Report("bench-fairness", part=given.quick or len(given.parts) < len(PARTS))
    with tempfile.TemporaryDirectory() as place, instance() as made:
        report.figure("uploads at once", len(made.rows("select from lane_workers where lane = 'small'")))
        for part in given.parts:
            (folder := Path(place) / part).mkdir()
            {"share": share, "small": small, "floor": floor}[part](made, folder, size, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
