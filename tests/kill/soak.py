"""Memory of the product while thousands of pages are read: a line through what it holds, in bytes a page."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from cluster import connect
from cluster.state import supervised
from cluster.state.db import embedded
from tests.evals.report import Report
from tests.instance import Instance

SOAK = "soak of 5,000 pages: memory slope ~ 0"
PAGES_EACH = 10
WARM = 0.3  # share of the pages until caches, pools and libraries have what they keep
MOST_SLOPE = 8  # KiB a page: 40 MiB in 5,000 pages
OURS = "our programs"
MORE = 3  # processes that may come late: a worker's own reader starts with the first page that it has to read
PARTS = 10  # of a run, in each of which all that works is seen once
SHOWN = 5  # programs that are told of by themselves
EVERY = 4.0  # seconds; each look costs the machine a while, too
HeldBytes = Mapping[str, Sequence[int]]  # of each process, by program
Sample = tuple[float, HeldBytes]  # pages done, and what is held then
WORDS = "harbour bridge winter ledger copper valley signal engine garden letter".split()  # noqa: SIM905


def write_texts(folder: Path, pages: int) -> None:
    """PDFs with a text, each page another one: no engine has to read them, so thousands fit into minutes."""
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, pages, PAGES_EACH):
        canvas = Canvas(str(folder / f"text-{first:05}.pdf"), pagesize=A4)
        for number in range(first, min(first + PAGES_EACH, pages)):
            canvas.drawString(60, 780, f"Sheet {number}")
            for line in range(24):
                words = " ".join(WORDS[(number + line * 7 + n * n) % len(WORDS)] for n in range(9))
                canvas.drawString(60, 750 - 24 * line, f"{words} {number * 31 + line}")
            canvas.showPage()
        canvas.save()


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the line with the least squares through (x, y); 0 where all have one x."""
    mean_x, mean_y = (sum(point[axis] for point in points) / len(points) for axis in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def held_bytes(processes: Iterable[psutil.Process]) -> HeldBytes:
    """Proportional memory of each process, by program: what several share is counted once."""
    held: dict[str, list[int]] = defaultdict(list)
    for process in processes:
        with suppress(psutil.Error):
            held[_program(process.cmdline())].append(process.memory_full_info().pss)
    return held


def _program(words: Sequence[str]) -> str:
    """What stands for a command line: a title's first word without what follows a `#`, or a program's module."""
    if not words:
        return ""
    if words[0].startswith("ray::"):
        return words[0].partition("#")[0].partition(".")[0]
    return " ".join(Path(word).name[:40] for word in words[:4] if not word.startswith("-"))


def program_slopes(samples: Sequence[Sample]) -> Mapping[str, float]:
    """Bytes that a program takes more with each page: of its largest process, times how many there are on average.

    How many are at work follows from where a job is, from batch to batch, and says nothing of what they keep. Programs
    that are there in less than half of the samples are workers that start.
    """
    shown: dict[str, list[tuple[float, Sequence[int]]]] = defaultdict(list)
    for done, held in samples:
        for name, each in held.items():
            shown[name].append((done, each))
    return {
        name: slope(_largest_by_part(found)) * sum(len(each) for _, each in found) / len(samples)
        for name, found in shown.items()
        if 2 * len(found) >= len(samples)
    }


def _largest_by_part(found: Sequence[tuple[float, Sequence[int]]]) -> list[tuple[float, float]]:
    """The largest process in each tenth of the pages, where it was: between two batches the large ones are away."""
    first, last = found[0][0], found[-1][0]
    largest: dict[int, tuple[int, float]] = {}
    for done, each in found:
        part = min(int((done - first) / (last - first or 1) * PARTS), PARTS - 1)
        largest[part] = max(largest.get(part, (0, done)), (max(each), done))
    return [(done, float(size)) for size, done in largest.values()]


def most_processes(samples: Sequence[Sample]) -> int:
    """At once."""
    return max((sum(map(len, held.values())) for _, held in samples), default=0)


@dataclass
class MemorySamples:
    """Pages done, and bytes held then by our programs (Ray's, ours) and by the servers."""

    made: Instance
    job: str
    over: threading.Event = field(default_factory=threading.Event)
    ours: list[Sample] = field(default_factory=list)
    servers: list[Sample] = field(default_factory=list)

    def sample(self) -> None:
        """Until it is over."""
        state = self.made.settings.state_dir
        while not self.over.wait(EVERY):
            try:
                done = float(self.made.job(self.job)["pages"]["done"])
            except (httpx.HTTPError, TypeError):
                continue
            supervisor = supervised.find_supervisor(state)
            self.ours.append((done, held_bytes([*connect.ray_processes(state), *([supervisor] if supervisor else [])])))
            family = [one for server in embedded.server_processes(state) for one in (server, *server.children())]
            self.servers.append((done, held_bytes(family)))


def measure(made: Instance, report: Report, folder: Path, pages: int) -> None:
    """Read so many pages in one job."""
    write_texts(folder, pages)
    job = str(made.ingest(folder, wait=None)["job_id"])
    samples = MemorySamples(made, job)
    sampling = threading.Thread(target=samples.sample, daemon=True)
    sampling.start()
    began = time.monotonic()
    try:
        ended = made.wait(job, 3600, every=2.0)
    finally:
        samples.over.set()
        sampling.join()
    done = int(ended["pages"]["done"])
    report.figure(
        "soak: pages", done, reference=pages, goal=SOAK, holds=done == pages and ended["state"] == "completed"
    )
    report.figure("soak: time", time.monotonic() - began, unit="s")
    for name, samples_of in ((OURS, samples.ours), ("Postgres and Valkey", samples.servers)):
        held = max((sum(map(sum, one.values())) for _, one in samples_of), default=0) / 2**20
        report.figure(f"soak: {name}, most memory", held, unit="MiB")
        report_slope(report, name, [one for one in samples_of if WARM * pages <= one[0] < pages], judged=name == OURS)


def report_slope(report: Report, name: str, warm: Sequence[Sample], *, judged: bool) -> None:
    """What each page adds once all is warm, and whether there are more processes in the second half than before."""
    slopes = program_slopes(warm) if len(warm) > 4 else {}
    total = sum(slopes.values()) / 1024 if slopes else None
    goal = {"reference": MOST_SLOPE, "goal": SOAK, "holds": total is not None and total <= MOST_SLOPE} if judged else {}
    figure = f"soak: {name}, memory slope after {WARM:.0%} of the pages"
    report.figure(figure, total, unit="KiB a page", **goal)
    steepest = sorted(slopes.items(), key=lambda one: -one[1])[:SHOWN]
    report.figure(f"{figure}, steepest", ", ".join(f"{one} {grows / 1024:.1f}" for one, grows in steepest))
    early, late = warm[: len(warm) // 2], warm[len(warm) // 2 :]
    before, after = most_processes(early), most_processes(late)
    more = {"goal": SOAK, "holds": 0 < after <= before + MORE} if judged else {}
    report.figure(f"soak: {name}, processes at once in the second half", after, reference=before, **more)
