"""Bulk reading beside a program that keeps every core busy: pages a minute in the idle class and at its floor, and what
the second costs those who ask. `python -m tests.bench.bench_floor`; of its own accord only: it wants a calm machine."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from cluster.basics.priority import ProcessPriority, lower_process_priority
from configs.settings import load_settings
from pipelines.documents.cpu_pulses import tree
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.ingest.backpressure import share_of_a_core
from pipelines.documents.sources.sniff import Kind
from tests.evals.report import Report

SCAN = Path(__file__).parents[1] / "samples" / "board-minutes-scan.pdf"
TURNS, SECONDS = 24, 3.0
HOPS, HOP_SECONDS = 10, 0.002  # a question wakes processes so often, and they work so long each time
NONE, BEHIND, FLOOR = "none", "behind", "floor"
READERS = {NONE: 0, BEHIND: 2, FLOOR: 1}
MOST_SLOWER = 1.1
GOAL = "At its floor bulk reading has several times the pages of the idle class, and p95 of questions stays within 10%"


def work(seconds: float) -> None:
    """Of CPU."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))


def answer(path: str) -> None:
    """The other side of a question."""
    with socket.socket(socket.AF_UNIX) as side:
        side.connect(path)
        while side.recv(1):
            work(HOP_SECONDS)
            side.send(b"x")


def read_on(how: str) -> None:
    """Read a scanned page again and again, and say so each time."""
    settings = load_settings()
    if how == BEHIND:
        lower_process_priority()
    share = 1.0 if how == BEHIND else share_of_a_core(settings.read, os.cpu_count() or 1)
    priority = ProcessPriority.IDLE if how == BEHIND else ProcessPriority.NORMAL
    with DocumentReader(settings.read, settings.ocr, priority=priority, share=share) as reader:
        kind, number = Kind.PDF, 1
        while True:
            (page,) = reader.read(SCAN, kind, [number])
            assert page.failure is None, page.failure
            print("page", flush=True)


def start(stack: ExitStack, *arguments: str) -> "subprocess.Popen[bytes]":
    """A program of this file in a session of its own, gone with the stack."""
    command = [sys.executable, "-m", "tests.bench.bench_floor", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    stack.callback(process.wait)
    stack.callback(os.killpg, process.pid, signal.SIGKILL)
    return process


def send_all(processes: Sequence["subprocess.Popen[bytes]"], number: signal.Signals) -> None:
    """To each and all that it started, the oldest first: who holds others in pulses is stopped before them."""
    for one in [pid for process in processes for pid in tree(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(one, number)


def counted(readers: Sequence["subprocess.Popen[bytes]"]) -> int:
    """Pages since the last time."""
    return sum((reader.stdout.read() or b"").count(b"page") for reader in readers if reader.stdout)


def ask(side: socket.socket, seconds: float) -> list[float]:
    """The milliseconds of each question."""
    asked, end = list[float](), time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        for _ in range(HOPS):
            side.send(b"x")
            side.recv(1)
        asked.append((time.perf_counter() - began) * 1000)
        time.sleep(0.02)
    return asked


def measure(report: Report) -> None:
    """In short turns, so that whatever else the machine does meets all of them alike."""
    with ExitStack() as stack:
        path = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "s")
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(path)
        listening.listen(1)
        start(stack, "--answer", path)
        side = stack.enter_context(listening.accept()[0])
        readers = {how: [start(stack, "--read", how) for _ in range(count)] for how, count in READERS.items()}
        for some in readers.values():
            for reader in some:
                assert reader.stdout is not None and reader.stdout.readline()  # its engines are loaded
                os.set_blocking(reader.stdout.fileno(), False)
            send_all(some, signal.SIGSTOP)
            counted(some)
        for _ in range(os.cpu_count() or 1):
            start(stack, "--burn")
        time.sleep(1)
        pages, asked = Counter[str](), dict[str, list[float]]()
        for _ in range(TURNS):
            for how, some in readers.items():
                send_all(some, signal.SIGCONT)
                asked.setdefault(how, []).extend(ask(side, SECONDS))
                send_all(some, signal.SIGSTOP)
                pages[how] += counted(some)
        for some in readers.values():
            send_all(some, signal.SIGCONT)
    tell(report, pages, asked)


def tell(report: Report, pages: Mapping[str, int], asked: Mapping[str, list[float]]) -> None:
    """Pages by the minute of their turns, and the questions beside them."""
    p95 = {how: sorted(spent)[int(0.95 * len(spent))] for how, spent in asked.items()}
    p50 = {how: sorted(spent)[len(spent) // 2] for how, spent in asked.items()}
    rate = {how: pages[how] / (TURNS * SECONDS) * 60 for how in asked}
    report.figure("pages a minute, idle class", rate[BEHIND])
    report.figure("pages a minute, floor", rate[FLOOR], goal=GOAL, holds=rate[FLOOR] > 2 * rate[BEHIND])
    for how in (NONE, BEHIND):
        report.figure(f"a question beside it, {how}", p95[how], unit="ms p95", reference=f"p50 {p50[how]:.0f}")
    holds = p95[FLOOR] <= MOST_SLOWER * p95[BEHIND]
    report.figure(
        f"a question beside it, {FLOOR}",
        p95[FLOOR],
        unit="ms p95",
        reference=f"p50 {p50[FLOOR]:.0f}",
        goal=GOAL,
        holds=holds,
    )


def main() -> int:
    """Also the programs that it measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answer")
    parser.add_argument("--read", choices=[BEHIND, FLOOR])
    parser.add_argument("--burn", action="store_true")
    given = parser.parse_args()
    if given.answer:
        answer(given.answer)
    elif given.read:
        read_on(given.read)
    elif given.burn:
        work(1e9)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # or what it has started would go on for ever
        report = Report("floor")
        measure(report)
        return report.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
