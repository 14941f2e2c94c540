"""Memory of the product while thousands of pages are read: a line through what it holds, in bytes a page."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
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
MOST_SLOPE = 8 * 1024  # bytes a page: 40 MiB in 5,000 pages
SHOWN = 5  # programs that are told of by themselves
EVERY = 4.0  # seconds; each look costs the machine a while, too
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


def held_bytes(processes: Iterable[psutil.Process]) -> Counter[str]:
    """Proportional memory by program: what several share is counted once."""
    held = Counter[str]()
    for process in processes:
        with suppress(psutil.Error):
            held[_program(process.cmdline())] += process.memory_full_info().pss
    return held


def _program(words: Sequence[str]) -> str:
    """What stands for a command line: a title's first word without what follows a `#`, or a program's module."""
    if not words:
        return ""
    if words[0].startswith("ray::"):
        return words[0].partition("#")[0].partition(".")[0]
    return " ".join(Path(word).name[:40] for word in words[:4] if not word.startswith("-"))


@dataclass
class MemorySamples:
    """Pages done, and bytes held then by our programs (Ray's, ours) and by the servers."""

    made: Instance
    job: str
    over: threading.Event = field(default_factory=threading.Event)
    ours: list[tuple[float, Counter[str]]] = field(default_factory=list)
    servers: list[tuple[float, Counter[str]]] = field(default_factory=list)

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
    for name, found_held in (("our programs", samples.ours), ("Postgres and Valkey", samples.servers)):
        points = [(pages_done, float(held.total())) for pages_done, held in found_held]
        warm = [point for point in points if WARM * pages <= point[0] < pages]
        found = slope(warm) if len(warm) > 4 else None
        held = max((point[1] for point in points), default=0) / 2**20
        report.figure(f"soak: {name}, most memory", held, unit="MiB")
        is_ours = name == "our programs"
        report.figure(
            f"soak: {name}, memory slope after {WARM:.0%} of the pages",
            None if found is None else found / 1024,
            unit="KiB a page",
            reference=MOST_SLOPE / 1024 if is_ours else None,
            goal=SOAK if is_ours else "",
            holds=(found is not None and found <= MOST_SLOPE) if is_ours else None,
        )
    report.figure(
        "soak: programs that grow most, KiB a page", growing([one for one in samples.ours if one[0] < pages], pages)
    )


def growing(samples: Sequence[tuple[float, Counter[str]]], pages: int) -> str:
    """The programs with the steepest lines, once warm, and what each held at most."""
    warm = [(done, held) for done, held in samples if done >= WARM * pages]
    names = {name for _, held in warm for name in held}
    lines = {name: slope([(done, float(held[name])) for done, held in warm]) / 1024 for name in names}
    most = sorted(lines.items(), key=lambda one: -one[1])[:SHOWN]
    return ", ".join(f"{name} {line:.1f} (≤ {max(h[name] for _, h in warm) / 2**20:.0f} MiB)" for name, line in most)
