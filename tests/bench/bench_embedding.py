"""Embedding speed on realistic chunks: ours against `SentenceTransformer.encode` at its defaults, in the same run."""

import asyncio
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.weights import packaged_folder
from cluster.models.ports import EmbeddingLane
from configs.settings import load_settings
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.document import Page
from tests.evals.report import Report

GOALS = {
    1.5: "embedding chunks/s against `SentenceTransformer.encode` at its defaults (aim ≥ 1.5)",
    2: "Embedding throughput ≥ 2× `SentenceTransformer.encode` defaults in one run",
}
QUESTION = "what does the contract say about the inspection of pump {}?"
CORPORA = ("nq-utd/corpus.jsonl", "rag-multi-corpus/corpus.jsonl", "scifact/corpus.02.jsonl")


def chunks(evals: Path, count: int) -> list[str]:
    """A fixed sample of what our own chunker makes of three public collections."""
    found: list[str] = []
    for name in CORPORA:
        for line in (evals / "ir" / name).read_text(encoding="utf-8").splitlines():
            document = json.loads(line)
            pages = [Page(1, f"{document['title']}\n\n{document['text']}")]
            found += [chunk.text for chunk in split_pages(pages, load_settings().chunk)]
    random.Random(7).shuffle(found)
    return found[:count]


def timed(work: Callable[[], Any], count: int) -> tuple[float, Any]:
    """Items a second, and what the work gave."""
    begun = time.perf_counter()
    result = work()
    return count / (time.perf_counter() - begun), result


def measure(report: Report, evals: Path, count: int = 240, rounds: int = 3) -> None:
    """Both in turns over the same texts."""
    texts = chunks(evals, count)

    from sentence_transformers import SentenceTransformer

    settings = load_settings().embedding
    ours = LocalEmbedder(settings)
    plain = SentenceTransformer(str(packaged_folder()), local_files_only=True)
    asyncio.run(ours.embed(texts[:16]))
    plain.encode(texts[:16])
    quick, slow = [], []
    for _ in range(rounds):  # in turns, so that other load on the machine meets both
        speed, _ = timed(lambda: plain.encode(texts), len(texts))
        slow.append(speed)
        speed, vectors = timed(lambda: asyncio.run(ours.embed(texts, EmbeddingLane.BULK)), len(texts))
        quick.append(speed)
    exact = asyncio.run(
        LocalEmbedder(settings.model_copy(update={"dtype": "float32"})).embed(texts, EmbeddingLane.BULK)
    )
    cosine = np.sum(vectors * exact, axis=1)
    ratio = statistics.median(a / b for a, b in zip(quick, slow, strict=True))

    for aim, goal in GOALS.items():
        report.figure("embedding ratio", ratio, reference=aim, goal=goal, holds=ratio >= aim)
    report.figure("embedding, ours", statistics.median(quick), unit="chunks/s", reference=statistics.median(slow))
    report.figure("chunks", len(texts), reference=f"mean {statistics.mean(map(len, texts)):.0f} characters")
    report.figure("cosine to float32, lowest", float(cosine.min()), goal="≥ 0.998", holds=bool(cosine.min() >= 0.998))
    report.figure("cosine to float32, mean", float(cosine.mean()), goal="≥ 0.999", holds=bool(cosine.mean() >= 0.999))
    idle, busy = asyncio.run(overtaking(ours, texts))
    for name, value in (("idle", idle), ("while bulk work is embedded", busy)):
        report.figure(f"embedding a question, {name}, p50", round(statistics.median(value) * 1000, 1), unit="ms")
        report.figure(f"embedding a question, {name}, p95", round(p95(value) * 1000, 1), unit="ms")


async def overtaking(ours: LocalEmbedder, texts: list[str], times: int = 60) -> tuple[list[float], list[float]]:
    """Seconds for one question at a time: alone, and while another caller has all the texts embedded."""

    async def ask(numbers: range) -> list[float]:
        seconds = []
        for number in numbers:
            await asyncio.sleep(0.05)
            begun = time.perf_counter()
            await ours.embed([QUESTION.format(number)])
            seconds.append(time.perf_counter() - begun)
        return seconds

    async def work() -> None:
        while True:
            await ours.embed(texts, EmbeddingLane.BULK)

    idle = await ask(range(times))
    bulk = asyncio.create_task(work())
    busy = await ask(range(times, 2 * times))
    bulk.cancel()
    await asyncio.gather(bulk, return_exceptions=True)
    return idle, busy


def p95(seconds: list[float]) -> float:
    """The time that one in twenty exceeds."""
    return sorted(seconds)[int(0.95 * len(seconds))]
