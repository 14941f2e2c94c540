"""`make test-kill`: kill things on purpose while a real product works, and prove that nothing was lost or doubled."""

import argparse
import contextlib
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from cluster import connect
from cluster.basics.errors import Unavailable
from cluster.state import supervised
from cluster.watch.memory import use_now
from pipelines.documents.ingest.page_batches import SLICE_PAGES
from tests.evals.report import Report
from tests.fakes.kills import kill_servers
from tests.instance import Instance, instance
from tests.kill import parts, two_nodes
from tests.kill.scans import make_scans
from tests.kill.uploaded_scans import UploadingInstance, bucket_settings

KILLS = "`kill -9` of a random OCR worker, five times in one 100-page job, and of the whole Ray cluster once"
SAME = "the job ends complete, pages = expected, no duplicate page or chunk, the same set of chunk ids"
REDONE = "work redone ≤ units in flight"
ASLEEP = "a job worker that is SIGSTOPped past its lease and woken: its write is refused"
AGAIN = "The same folder ingested again: 0 pages read, reported as unchanged."
REINDEX = "reindex-all of the samples reads 0 images and survives a worker kill"
SERVERS = "`kill -9` of all of Postgres, then of Valkey, in one job: it ends complete, with the same set of chunk ids"
INDEXES = "after Postgres was killed both indexes are asked again, and find what they found before"
READERS = 2
PARTS = ("servers", "readers", "asleep", "reindex", "parts", "two_nodes")
ROOM = 6 * 2**30  # bytes that the product gets before readers are ended

COUNTED = """import importlib, os, sys
here = os.path.dirname(__file__)
sys.path.remove(here)
del sys.modules["tesserocr"]
real = importlib.import_module("tesserocr")

class Counted(real.PyTessBaseAPI):
    def Recognize(self, timeout=0):
        with open(os.path.join(here, "runs"), "a") as runs:
            runs.write("read\\n")
        return super().Recognize(timeout)

real.PyTessBaseAPI = Counted
"""


@dataclass
class Counter:
    """Counts how often the OCR engine really read: its library earlier on the path leaves a mark, then reads."""

    folder: Path

    def install(self) -> str:
        """Write the stand-in and return the PYTHONPATH that finds it first."""
        (self.folder / "tesserocr.py").write_text(COUNTED)
        return str(self.folder)

    def runs(self) -> int:
        """Readings so far."""
        path = self.folder / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0


def readers(made: Instance) -> list[psutil.Process]:
    """The actors that read pages now."""
    return [p for p in connect.ray_processes(made.settings.state_dir) if "MapWorker(MapBatches(_Read))" in _title(p)]


def workers(made: Instance) -> list[psutil.Process]:
    """The replicas that run jobs."""
    return [p for p in connect.ray_processes(made.settings.state_dir) if "ServeReplica:worker" in _title(p)]


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def chunk_ids(made: Instance) -> list[str]:
    return sorted(row[0] for row in made.rows("select id from document_chunks"))


def pages(made: Instance) -> tuple[int, int]:
    """Rows, and distinct pages by document and number; an archive that scans came in is none of them."""
    ((rows, distinct),) = made.rows(
        "select count(*), count(distinct (p.document_id, p.number)) from pages p"
        " join documents d on d.id = p.document_id where starts_with(d.filename, 'scan-')"
    )
    return rows, distinct


def done_pages(made: Instance) -> int:
    """Of a server that is away none are known."""
    try:
        ((done,),) = made.rows("select count(*) from units where stage = 'read' and status <> 'pending'")
    except (Unavailable, psycopg.OperationalError):
        return 0
    return int(done)


def question_for(strategy: str, document: int, page: int) -> str:
    """Words for vectors; for BM25 numbers that only three pages have: of pages that score alike any may be cut off."""
    if strategy == "vector":
        return f"harbour bridge of document {document} page {page}"
    return " ".join(str(other % 25 * 1000 + page * 10 + 2) for other in range(document, document + 3))


def found(made: Instance, strategy: str) -> tuple[list[tuple[Any, ...]], bool]:
    """What questions lead to by one leg, and whether the leg asked its index and nothing was left out."""
    lists, asked = [], []
    for document, page in ((0, 1), (7, 3), (13, 2), (24, 4)):
        question = question_for(strategy, document, page)
        reply = made.http.post(
            "/api/documents/search", json={"query": question, "strategy": strategy, "rerank": False, "cache": False}
        )
        reply.raise_for_status()
        shown = reply.json()
        ids = [hit["chunk_id"] for hit in shown["results"]]
        lists.append(tuple(ids if strategy == "vector" else sorted(ids)))
        engines = {"keyword": shown["keyword_engine"] == "bm25", "vector": shown["vector"] == "hnsw"}
        asked.append(engines[strategy] and shown["fallback"] is None)
    return lists, all(asked)


def clean(made: Instance) -> None:
    """Forget every document and job; ids are derived, so the next run must find the same ones."""
    made.execute("delete from jobs")
    made.execute("delete from documents")


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def undisturbed(made: Instance, folder: Path, counter: Counter, report: Report) -> tuple[list[str], int]:
    before = counter.runs()
    job = made.ingest(folder)
    report.figure("undisturbed: pages done", job["pages"]["done"], reference=job["pages"]["expected"])
    ids, runs = chunk_ids(made), counter.runs() - before
    again = made.ingest(folder)
    reads = counter.runs() - before - runs
    if again.get("known"):
        report.figure("uploaded again: pages read", reads, reference=0, goal=AGAIN, holds=reads == 0)
        return ids, runs
    kept = again["documents"]["unchanged"]
    report.figure("ingested again: pages read", reads, reference=0, goal=AGAIN, holds=reads == 0)
    report.figure("ingested again: documents unchanged", kept, reference=25, goal=AGAIN, holds=kept == 25)
    return ids, runs


def kills(made: Instance, folder: Path, counter: Counter, report: Report, expected: list[str], runs: int) -> None:
    """Five readers and the whole of Ray, in one job."""
    clean(made)
    rng = random.Random(7)
    before = counter.runs()
    job = made.ingest(folder, wait=None)["job_id"]
    killed = 0
    for turn in range(6):
        goal = 12 + turn * 13
        if not until(lambda goal=goal: done_pages(made) >= goal and bool(readers(made)), 300):
            break
        if turn == 3:
            for process in connect.ray_processes(made.settings.state_dir):
                _kill(process)
        else:
            _kill(rng.choice(readers(made)))
            killed += 1
    ended = made.wait(job)
    total, distinct = pages(made)
    ids = chunk_ids(made)
    redone = counter.runs() - before - runs
    # A killed reader had one slice in hand; a killed cluster had two for each reader.
    in_flight = (5 + 2 * READERS) * SLICE_PAGES
    report.figure("OCR workers killed", killed, goal=KILLS, holds=killed == 5)
    report.figure("job after six kills", ended["state"], goal=SAME, holds=ended["state"] == "completed")
    report.figure("pages", total, reference=ended["pages"]["expected"], goal=SAME, holds=total == distinct == 100)
    report.figure("chunks", len(ids), reference=len(expected), goal=SAME, holds=ids == expected)
    report.figure(
        "readings redone", redone, reference=in_flight, goal=REDONE, holds=runs >= 100 and redone <= in_flight
    )


def asleep(made: Instance, folder: Path, report: Report, expected: list[str]) -> None:
    """Stop a worker past its lease; another takes over; the sleeper wakes and is refused."""
    clean(made)
    job = made.ingest(folder, wait=None)["job_id"]
    until(lambda: done_pages(made) >= 8, 300)
    ((owner, fence),) = made.rows("select owner, fence from jobs where id = %s", job)
    sleeper = next((p for p in workers(made) if f":{p.pid}:" in (owner or "")), None)
    if sleeper is None:
        report.figure("sleeper refused", None, goal=ASLEEP)
        return
    watch = supervised.find_supervisor(made.settings.state_dir)  # else it ends what gives no answer, and nobody wakes
    stopped = [one for one in (watch, sleeper) if one is not None]
    try:
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        taken = until(lambda: made.rows("select fence from jobs where id = %s", job)[0][0] > fence, 120)
    finally:
        for process in reversed(stopped):
            process.send_signal(signal.SIGCONT)
    ended = made.wait(job)
    total, distinct = pages(made)
    ((refused,),) = made.rows("select count(*) from events where type = 'write_refused' and stream = %s", f"job:{job}")
    report.figure("taken over after the lease", str(taken), goal=ASLEEP, holds=taken)
    report.figure("writes of the sleeper refused", refused, goal=ASLEEP, holds=refused > 0)
    whole = ended["state"] == "completed" and total == distinct == 100 and chunk_ids(made) == expected
    report.figure("pages after the sleeper", total, goal=SAME, holds=whole)


def servers(made: Instance, folder: Path, counter: Counter, report: Report, expected: list[str], runs: int) -> None:
    """Postgres, then Valkey, with all that they have begun; then search, which no scope is too small to index here."""
    told = {leg: found(made, leg) for leg in ("keyword", "vector")}
    clean(made)
    reads = counter.runs()
    job = made.ingest(folder, wait=None)["job_id"]
    killed: list[str] = []
    for goal, program in ((30, "postgres"), (60, "valkey")):
        until(lambda goal=goal: done_pages(made) >= goal, 300)
        killed += kill_servers(made.settings.state_dir, program)
    ended = made.wait(job)
    total, distinct = pages(made)
    redone, in_flight = counter.runs() - reads - runs, 4 * READERS * SLICE_PAGES
    whole = ended["state"] == "completed" and total == distinct == 100 and chunk_ids(made) == expected
    report.figure("servers killed", ", ".join(killed), goal=SERVERS, holds=len(killed) == 2)
    report.figure("pages after the servers were killed", total, reference=100, goal=SERVERS, holds=whole)
    report.figure(
        "readings redone after the servers were killed",
        redone,
        reference=in_flight,
        goal=REDONE,
        holds=redone <= in_flight,
    )
    for leg, before in told.items():
        again = until(lambda leg=leg, before=before: found(made, leg) == before, 60)
        lists, by_index = before
        whole = again and by_index and all(lists)
        if not whole:
            print(f"{leg} found {before} before, and now {found(made, leg)}")
        report.figure(f"{leg} leg after the servers were killed", str(again), goal=INDEXES, holds=whole)


def reindex(made: Instance, counter: Counter, report: Report, expected: list[str]) -> None:
    """Re-embed everything while an indexing worker is killed."""
    before = counter.runs()
    reply = made.http.post("/api/documents/reindex-all")
    reply.raise_for_status()
    victims: list[psutil.Process] = []

    def met() -> bool:
        """Looked up once: the work is short, and a second look would come too late."""
        victims.extend(p for p in connect.ray_processes(made.settings.state_dir) if "_Index" in _title(p))
        return bool(victims)

    until(met, 60)
    for victim in victims[:1]:
        _kill(victim)
    ended = made.wait(reply.json()["job_id"])
    ((embedded,),) = made.rows(
        "select count(*) from embeddings e join workspaces w on w.generation_id = e.generation_id"
    )
    images = counter.runs() - before
    report.figure("images read by reindex-all", images, goal=REINDEX, holds=images == 0)
    whole = ended["state"] == "completed" and embedded == len(expected) and bool(victims)
    report.figure("vectors after reindex-all", embedded, reference=len(expected), goal=REINDEX, holds=whole)


def ingesting(made: Instance, folder: Path, expected: list[str]) -> parts.Ingesting:
    """The 100 pages of the scans again and again, each time as they were undisturbed."""
    return parts.Ingesting(
        made, folder, lambda: pages(made) == (100, 100) and chunk_ids(made) == expected, lambda: clean(made)
    )


def memory_high() -> str:
    """A share of the memory that the product alone does not reach, and that a hog may reach without harm to others."""
    use = use_now()
    return f"{min(0.93, use.share + ROOM / use.total):.3f}"


def _kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


def main() -> int:
    """Run every disturbance on one instance with two job workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="leave the others out")
    parser.add_argument("--blobs", choices=("folder", "s3"), default="folder", help="where bytes are kept: s3 is moto")
    options = parser.parse_args()
    chosen = options.only or PARTS
    report = Report("test-kill" if options.blobs == "folder" else "test-kill-s3", part=set(chosen) != set(PARTS))
    with tempfile.TemporaryDirectory(prefix="aos-kill-") as place:
        folder = Path(place)
        make_scans(folder / "scans", 25, 4)  # more documents than a worker indexes without a Dataset
        (folder / "counted").mkdir()
        counter = Counter(folder / "counted")
        path = counter.install()
        settings = {
            "AOS_WORKER_REPLICAS": "2",
            "AOS_WORKER_LEASE_SECONDS": "6",
            "AOS_WORKER_HEARTBEAT_SECONDS": "1",
            "AOS_READ_READERS": str(READERS),
            # No scope is small: both legs ask their indexes, as they do where there are many thousands of chunks.
            "AOS_SEARCH_EXACT_SCOPE": "0",
            "AOS_SEARCH_FETCH": "10",
            "AOS_RAY_MEMORY_HIGH": memory_high(),
            "AOS_GATE_QUESTIONS": "0",  # pages that are made alike lead to each other: the gate would refuse them
        }
        with (
            bucket_settings(options.blobs) as bucket,
            instance(PYTHONPATH=path, OCR_STRATEGY="tesseract", **settings, **bucket) as started,
        ):
            made = UploadingInstance.of(started) if bucket else started
            scans = folder / "scans"
            expected, runs = undisturbed(made, scans, counter, report)
            steps: dict[str, Callable[[], None]] = {
                "servers": lambda: servers(made, scans, counter, report, expected, runs),
                "readers": lambda: kills(made, scans, counter, report, expected, runs),
                "asleep": lambda: asleep(made, scans, report, expected),
                "reindex": lambda: reindex(made, counter, report, expected),
                "parts": lambda: parts.measure(made, report, ingesting(made, scans, expected)),
            }
            for name, step in steps.items():
                if name in chosen:
                    step()
        if "two_nodes" in chosen:
            two_nodes.measure(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
