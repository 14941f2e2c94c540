"""Questions while a folder of scans is read: what people wait, and what the bulk work loses by them."""

import json
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.evals.report import Report
from tests.instance import Instance, instance

GOAL = (
    "Extractive answers' p95 under a saturating bulk ingest ≤ 1.2× its idle value while bulk keeps ≥ 0.7 of its solo"
    " pages/s"
)
EVERY_SECONDS = 0.5  # one question; somebody is always asking, and nobody waits for the answer to the one before
SETTLE_SECONDS = 10.0
LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: when it was due (seconds of the monotonic clock), and how long its answer took from then."""

    at: float
    seconds: float


def measure(report: Report, evals: Path, pages: int = 69, copies: int = 2) -> None:
    """One instance: questions alone, the scans alone, then both.

    Args:
        report: gets the figures.
        evals: where documents, questions and page images are.
        pages: most different images.
        copies: how often each is read, under another name.
    """
    questions = _questions(evals)
    with tempfile.TemporaryDirectory(prefix="aos-mixed-") as place, instance(OCR_STRATEGY="tesseract") as made:
        made.ingest(_documents(evals, Path(place) / "documents"))
        _ask_all(made, questions[:20])
        time.sleep(SETTLE_SECONDS)
        idle = [one.seconds for one in _ask_until(made, questions[20:140], threading.Event())]
        alone = _pages_a_second(made, made.ingest(_scans(evals, Path(place) / "alone", pages, copies))["id"])[0]
        time.sleep(SETTLE_SECONDS)
        job = made.ingest(_scans(evals, Path(place) / "mixed", pages, copies), wait=None)["job_id"]
        done = threading.Event()
        ending = threading.Thread(target=lambda: (made.wait(job, every=LOOK_SECONDS), done.set()))
        ending.start()
        began = time.monotonic()
        asked = _ask_until(made, questions[140:], done)
        ending.join()
        mixed, first, last = _pages_a_second(made, job)
    # The job's start is no bulk work yet.
    busy = [one.seconds for one in asked if first <= one.at - began <= last]
    _tell(report, idle, busy, alone, mixed)


def _tell(report: Report, idle: list[float], busy: list[float], alone: float, mixed: float) -> None:
    for name, seconds in (("idle", idle), ("under bulk", busy)):
        report.figure(f"answers {name}", len(seconds), reference=f"one every {EVERY_SECONDS:g} s")
        report.figure(f"answers {name}, p50", round(statistics.median(seconds) * 1000, 1), unit="ms")
        report.figure(f"answers {name}, p95", round(_p95(seconds) * 1000, 1), unit="ms")
    report.figure("bulk alone", round(alone, 3), unit="pages/s")
    report.figure("bulk beside questions", round(mixed, 3), unit="pages/s")
    slower, kept = _p95(busy) / _p95(idle), mixed / alone
    report.figure("answers under bulk, p95 ratio", round(slower, 2), goal=GOAL, holds=slower <= 1.2)
    report.figure("bulk beside questions, ratio", round(kept, 2), goal=GOAL, holds=kept >= 0.7)


def _ask_until(made: Instance, questions: Sequence[str], done: threading.Event) -> list[Asked]:
    """Questions at fixed moments, each in a thread of its own, until `done` or there are no more."""
    asked: list[Asked] = []
    threads = []
    begun = time.monotonic()
    for number, question in enumerate(questions):
        due = begun + number * EVERY_SECONDS
        if done.wait(max(0.0, due - time.monotonic())):
            break
        threads.append(threading.Thread(target=_ask, args=(made, question, due, asked)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    if len(asked) < len(threads):
        raise RuntimeError(f"{len(threads) - len(asked)} of {len(threads)} questions got no answer")
    return asked


def _ask(made: Instance, question: str, due: float, asked: list[Asked]) -> None:
    made.http.post("/api/ask", json={"question": question}).raise_for_status()
    asked.append(Asked(due, time.monotonic() - due))


def _ask_all(made: Instance, questions: Sequence[str]) -> None:
    for question in questions:
        made.http.post("/api/ask", json={"question": question}).raise_for_status()


def _pages_a_second(made: Instance, job: str) -> tuple[float, float, float]:
    """Pages a second from the claim of the job to its end, when its vectors are indexed too.

    Behind it two moments, in seconds since the submission: when its first page had been read, and its end.
    """
    ((count, whole, first, last),) = made.rows(
        "select count(*), extract(epoch from max(j.finished_at) - min(j.started_at)),"
        " extract(epoch from min(p.read_at) - min(j.created_at)),"
        " extract(epoch from max(j.finished_at) - min(j.created_at))"
        " from jobs j, pages p where j.id = %s and p.failure is null"
        " and p.version_id in (select subject from units where job_id = j.id)",
        job,
    )
    return int(count) / float(whole), float(first), float(last)


def _documents(evals: Path, folder: Path, count: int = 120) -> Path:
    """Text to ask about."""
    folder.mkdir()
    lines = (evals / "ir" / "rag-multi-corpus" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines[:count]):
        (folder / f"{number}.md").write_text(json.loads(line)["text"], encoding="utf-8")
    return folder


def _questions(evals: Path) -> list[str]:
    """Each one different, so that no cache answers."""
    lines = (evals / "ir" / "rag-multi-corpus" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    found = list(dict.fromkeys(json.loads(line)["text"] for line in lines))
    random.Random(3).shuffle(found)
    return found


def _scans(evals: Path, folder: Path, pages: int, copies: int) -> Path:
    folder.mkdir()
    for source in sorted((evals / "ocr" / "old_books").glob("*.png"))[:pages]:
        for copy in range(copies):
            shutil.copy(source, folder / f"{source.stem}-{copy}.png")
    return folder


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(0.95 * len(seconds))]
