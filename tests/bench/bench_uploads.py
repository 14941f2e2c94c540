"""Small uploads behind a long scan and hostile files: how long people wait until a search finds what they sent."""

import io
import random
import statistics
import tempfile
import threading
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from tests.evals.report import Report
from tests.fakes import files
from tests.instance import Instance, instance
from tests.kill.scans import make_scans

GOAL = "100 small uploads behind a 300-page scan and three hostile files: p95 until found ≤ 3 × alone."
UPLOADS, SCAN_PAGES = 100, 300
EVERY_SECONDS = 1.0  # somebody uploads, and nobody waits for the one before
MOST = 3.0
SHOWN = 8
FOUND_SECONDS = 300.0  # after it an upload counts as never found
PATIENCE = "60"  # seconds that one request waits for its job


def measure(report: Report) -> None:
    """On one instance: the uploads alone, then behind what is large and what is hostile, all in one workspace."""
    with tempfile.TemporaryDirectory(prefix="aos-uploads-") as place, instance(OCR_STRATEGY="tesseract") as made:
        for number in range(3):  # models and readers are started by the first
            _until_found(made, f"warm{number}", number, {})
        alone = _all(made, "alone")
        folder = Path(place)
        make_scans(folder, 1, SCAN_PAGES)
        sent = [("scan.pdf", (folder / "scan-000.pdf").read_bytes()), *hostile_files()]
        jobs = [_send(made, name, data) for name, data in sent]
        behind = _all(made, "behind")
        states = [made.job(job)["state"] for job in jobs]
        report.figure("the scan and the hostile files when all was found", ", ".join(states))
        ended = [made.wait(job)["state"] for job in jobs]
        report.figure("how these ended", ", ".join(ended))
    for name, waited in (("alone", alone), ("behind", behind)):
        seconds = list(waited.values())
        report.figure(
            f"uploads found, {name}", len(seconds), reference=UPLOADS, goal=GOAL, holds=len(seconds) == UPLOADS
        )
        report.figure(f"until found {name}, p50", round(statistics.median(seconds), 2), unit="s")
        report.figure(f"until found {name}, p95", round(_p95(seconds), 2), unit="s")
        slowest = sorted(waited.items(), key=lambda one: -one[1])[:SHOWN]
        report.figure(f"slowest {name}", ", ".join(f"the {sent + 1}th {took:.1f} s" for sent, took in slowest))
    ratio = _p95(list(behind.values())) / _p95(list(alone.values()))
    report.figure("until found, p95 behind by alone", round(ratio, 2), goal=GOAL, holds=ratio <= MOST)


def hostile_files() -> list[tuple[str, bytes]]:
    """A page that unpacks to 640 MB, one whose drawing takes minutes, and an office file that is mostly zeros."""
    return [
        ("bomb.pdf", files.pdf_of_content(b"0 0 m 1 1 l S\n" * 4096, 640 * 2**20 // (14 * 4096))),
        ("slow.pdf", files.pdf_of_content(b"0 0 m 600 790 0 790 600 0 c f*\n", 60_000)),
        ("zeros.docx", _zeros()),
    ]


def _zeros() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/document.xml", b"<w>" + bytes(2**30))
    return held.getvalue()


def _all(made: Instance, round_name: str) -> Mapping[int, float]:
    """Seconds until each was found, by its number; one that was not within `FOUND_SECONDS` is left out."""
    waited: dict[int, float] = {}
    threads = []
    begun = time.monotonic()
    for number in range(UPLOADS):
        time.sleep(max(0.0, begun + number * EVERY_SECONDS - time.monotonic()))
        threads.append(threading.Thread(target=_until_found, args=(made, f"{round_name}{number}", number, waited)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return waited


def _until_found(made: Instance, word: str, number: int, waited: dict[int, float]) -> None:
    """Upload a text about a word of its own, and search for it until it is there."""
    rng = random.Random(word)
    lines = [f"The {rng.choice(('pump', 'valve', 'gate', 'winch'))} {word} was seen {rng.randrange(99)} times."]
    lines += [f"Line {rng.randrange(10**6)} of its log is kept for {rng.randrange(90)} days." for _ in range(20)]
    began = time.monotonic()
    _send(made, f"{word}.txt", "\n".join(lines).encode(), wait=PATIENCE)
    body = {"query": word, "limit": 3, "cache": False, "rerank": False}
    while time.monotonic() - began < FOUND_SECONDS:
        reply = made.http.post("/api/documents/search", json=body)
        if reply.status_code == httpx.codes.OK and any(word in str(hit) for hit in reply.json()["results"]):
            waited[number] = time.monotonic() - began
            return
        time.sleep(0.2)


def _send(made: Instance, name: str, data: bytes, wait: str | None = None) -> str:
    params = {"wait": wait} if wait else {}
    reply = made.http.post("/api/documents/upload", files={"file": (name, data)}, params=params, timeout=120)
    reply.raise_for_status()
    return str(reply.json()["job_id"])


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(0.95 * (len(seconds) - 1))]
