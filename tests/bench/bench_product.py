"""The product as a whole against named peers in the same run: bulk OCR, upload to searchable, HTTP search, memory."""

import asyncio
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from cluster.models.embedding.local import LocalEmbedder
from cluster.state.db import embedded
from cluster.state.db.postgres import Database
from configs.sections_retrieval import EmbeddingSettings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.evals.report import ROOT, Report
from tests.fakes.ledger import worker_scope
from tests.instance import Instance, instance

BULK = (
    "bulk OCR pages/s with `OCR_STRATEGY=tesseract` against `tesseract` run directly by `xargs -P2` on the same page"
    " images (aim ≥ 0.85)"
)
UPLOAD = "time from upload to searchable for a one-page text file, aim p50 ≤ 2 s"
HTTP = "HTTP search against the same call inside the process"
MEMORY = "Idle memory of `make up` is printed and explained in README (aim ≤ 3 GiB)"


def measure(report: Report, evals: Path, pages: int = 69, copies: int = 2) -> None:
    """Start one instance and measure everything on it.

    Args:
        report: gets the figures.
        evals: where the page images are.
        pages: most different images.
        copies: how often each is read, under another name: a bulk job's start is paid once, however long it is.
    """
    with tempfile.TemporaryDirectory(prefix="aos-bench-") as place:
        images = Path(place) / "images"
        images.mkdir()
        for source in sorted((evals / "ocr" / "old_books").glob("*.png"))[:pages]:
            for copy in range(copies):
                shutil.copy(source, images / f"{source.stem}-{copy}.png")
        with instance(OCR_STRATEGY="tesseract") as made:
            time.sleep(10)
            idle_memory(report, made)
            upload(report, made)
            bulk(report, made, images)
            http_search(report, made)


def idle_memory(report: Report, made: Instance) -> None:
    """Proportional memory of every process that `aos up` started."""
    from cluster.doctor import memory_bytes

    gib = memory_bytes(made.settings) / 2**30
    report.figure("idle memory", round(gib, 2), unit="GiB", goal=MEMORY, holds=gib <= 3)


def bulk(report: Report, made: Instance, images: Path) -> None:
    """Pages a second from the claim of the job to its last page, beside plain tesseract on the same files."""
    count = len(list(images.iterdir()))
    job = made.ingest(images)
    ours = count / seconds_of_reading(made, job["id"])
    whole = _searchable(made, job["id"])
    report.figure("bulk OCR pages searchable", whole, reference=count, goal=BULK, holds=whole == count)
    plain = count / run_tesseract(images, images.with_name("texts"))
    report.figure("bulk OCR", round(ours, 3), unit="pages/s", reference=round(plain, 3))
    report.figure("bulk OCR ratio", round(ours / plain, 3), goal=BULK, holds=ours / plain >= 0.85)


def seconds_of_reading(made: Instance, job: str) -> float:
    """From the claim of a job of pictures to its last page."""
    ((seconds,),) = made.rows(
        "select extract(epoch from max(p.read_at) - min(j.started_at))::float from jobs j, pages p where j.id = %s"
        " and p.number = 1 and p.version_id in (select subject from units where job_id = j.id)",
        job,
    )
    return float(seconds)


def run_tesseract(images: Path, texts: Path) -> float:
    """Seconds that plain tesseract, two at a time, takes for the pictures of a folder; `texts` gets NAME.png.txt."""
    texts.mkdir()
    command = f"ls {images} | xargs -P2 -I{{}} tesseract {images}/{{}} {texts}/{{}} --psm 3"
    line = ["env", "OMP_THREAD_LIMIT=1", "bash", "-c", command]
    began = time.monotonic()
    subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def _searchable(made: Instance, job: str) -> int:
    """Pages of the job that were read without a failure, settled in the ledger, and whose document has vectors."""
    ((pages,),) = made.rows(
        "select count(distinct p.id) from pages p join units u on u.job_id = %s and u.stage = 'read' and u.key = p.id"
        " where u.status = 'done' and p.failure is null and exists (select from document_chunks c join embeddings e"
        " on e.chunk_id = c.id where c.document_id = p.document_id)",
        job,
    )
    return int(pages)


def upload(report: Report, made: Instance, times: int = 12) -> None:
    """From the first byte sent to the first search that finds the file."""
    seconds = []
    for number in range(times):
        word = f"quokka{number}x"
        began = time.monotonic()
        reply = made.http.post(
            "/api/documents/upload",
            files={"file": (f"{word}.txt", f"The code word is {word}.\n".encode(), "text/plain")},
        )
        reply.raise_for_status()
        while not _finds(made.http, word):
            time.sleep(0.02)
        seconds.append(time.monotonic() - began)
    p50 = statistics.median(seconds[2:])
    report.figure("upload to searchable p50", round(p50, 3), unit="s", goal=UPLOAD, holds=p50 <= 2)


def http_search(report: Report, made: Instance, times: int = 60) -> None:
    """The same question over HTTP and by a call in this process, worked out anew each time."""
    body = {"query": "the history of the harbour", "limit": 10, "cache": False}
    over_http = _p50(lambda: made.http.post("/api/documents/search", json=body).raise_for_status(), times)
    inside = asyncio.run(_inside(made, body["query"], times))
    report.figure("search inside the process p50", round(inside * 1000, 1), unit="ms")
    report.figure("HTTP search p50", round(over_http * 1000, 1), unit="ms", reference=round(inside * 1000, 1))
    report.figure("HTTP search ratio", round(over_http / inside, 2), goal=HTTP, holds=True)


async def _inside(made: Instance, text: object, times: int) -> float:
    ((tenant, workspace),) = made.rows("select tenant_id, id from workspaces order by created_at limit 1")
    scope = worker_scope(str(tenant), str(workspace))
    database = Database(embedded.resolve_endpoints(made.settings).postgres, size=4)
    await database.open()
    try:
        embedder = LocalEmbedder(EmbeddingSettings())
        search = SearchPipeline(database, embedder, None, made.settings.search, made.settings.rerank)
        seconds = []
        for _ in range(times):
            began = time.monotonic()
            await search.run(scope, SearchQuery(str(text)))
            seconds.append(time.monotonic() - began)
        return statistics.median(seconds[5:])
    finally:
        await database.close()


def _finds(http: httpx.Client, word: str) -> bool:
    reply = http.post("/api/documents/search", json={"query": word, "limit": 1})
    reply.raise_for_status()
    return any(word in result["text"] for result in reply.json()["results"])


def _p50(call: Callable[[], object], times: int) -> float:
    seconds = []
    for _ in range(times):
        began = time.monotonic()
        call()
        seconds.append(time.monotonic() - began)
    return statistics.median(seconds[5:])


def default_evals() -> Path:
    """Where the data to measure on lies."""
    return ROOT.parent / "shared" / "evals"
