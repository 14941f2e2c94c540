"""`make test-reembed`: the embedder changed by settings, twice in a row, on a filled product that people ask."""

import random
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from safetensors.numpy import load_file, save_file

from cluster.models.embedding.encoder import SentenceEncoder
from cluster.models.embedding.weights import packaged_folder
from configs.sections_retrieval import EmbeddingSettings
from tests.evals.report import Report
from tests.instance import Instance, instance

GOAL = (
    "Embedder changed by settings twice in a row on a filled state: done in ≤ 1.5 × a fresh re-index, readers never "
    "without an answer."
)
SLOWEST = 1.5
DOCUMENTS, PARAGRAPHS = 64, 60
WORDS = ("harbour", "ledger", "signal", "window", "copper", "orchard", "letter", "bridge", "valley", "engine")


def other_model(folder: Path) -> Path:
    """The packaged model with other weights: of one speed, and no vector of the one fits the other."""
    shutil.copytree(packaged_folder(), folder)
    (weights,) = folder.glob("*.safetensors")
    save_file({name: -value for name, value in load_file(weights).items()}, weights, metadata={"format": "pt"})
    return folder


def write_library(folder: Path) -> None:
    """Texts of words of their own, each about forty chunks."""
    folder.mkdir()
    for number in range(DOCUMENTS):
        rng = random.Random(number)
        lines = []
        for _ in range(PARAGRAPHS):
            words = [f"w{rng.randrange(9000)}" if rng.random() < 0.4 else rng.choice(WORDS) for _ in range(110)]
            lines.append(" ".join(words) + ".")
        (folder / f"{number}.txt").write_text(f"Report {number} of the harbour.\n\n" + "\n\n".join(lines))


@dataclass
class Readers:
    """Somebody who asks twice a second, whatever else goes on."""

    made: Instance
    over: threading.Event = field(default_factory=threading.Event)
    answered: int = 0
    by_words: int = 0
    failed: list[str] = field(default_factory=list)

    def ask(self) -> None:
        """Until it is over; runs in a thread of its own."""
        url, headers = str(self.made.http.base_url), dict(self.made.http.headers)
        number = 0
        with httpx.Client(base_url=url, headers=headers, timeout=30) as http:
            while not self.over.wait(0.5):
                number += 1
                body = {"query": f"Report {number % DOCUMENTS} of the harbour", "limit": 5, "cache": False}
                try:
                    reply = http.post("/api/documents/search", json=body)
                except httpx.HTTPError as error:
                    self.failed.append(type(error).__name__)
                    continue
                if reply.status_code != 200 or not reply.json()["results"]:
                    self.failed.append(f"{reply.status_code} {reply.text[:80]}")
                    continue
                self.answered += 1
                self.by_words += reply.json()["fallback"] is not None


def change(made: Instance, model: str) -> float:
    """Set the embedder, ask for the restart that it needs; seconds until it is carried out."""
    began = time.monotonic()
    shown = made.http.get("/api/admin/config").json()
    body = {"version": shown["version"], "values": {"embedding.model": model}}
    put = made.http.put("/api/admin/config", json=body)
    assert put.status_code == httpx.codes.OK, put.text
    hint = made.http.post("/api/admin/restart-hint")
    hint.raise_for_status()
    assert set(hint.json()["restart"]["parts"]) >= {"embedding", "gateway", "worker"}
    return time.monotonic() - began


def reindex(made: Instance) -> str:
    """The job."""
    reply = made.http.post("/api/documents/reindex-all")
    reply.raise_for_status()
    return str(reply.json()["job_id"])


def seconds_of(made: Instance, job: str) -> tuple[dict[str, Any], float]:
    """The job as it ended, and how long that took from now on."""
    began = time.monotonic()
    return made.wait(job, 900), time.monotonic() - began


def rolled(made: Instance) -> float:
    """Seconds until every restart that was asked for is carried out."""
    began = time.monotonic()
    while time.monotonic() - began < 300:
        items = made.http.get("/api/admin/restarts").json()["items"]
        if all(item["done_at"] for item in items):
            assert not any(item["error"] for item in items), items
            return time.monotonic() - began
        time.sleep(0.5)
    raise TimeoutError("the restart is not carried out")


def live_embedder(made: Instance) -> str:
    """Fingerprint of what made the index that readers use."""
    query = "select g.embedder_fingerprint from workspaces w join generations g on g.id = w.generation_id"
    return str(made.rows(query)[0][0])


def fingerprint_of(model: str) -> str:
    """Fingerprint of a model."""
    return SentenceEncoder(EmbeddingSettings(model=model)).facts.fingerprint


def measure(report: Report, made: Instance, folder: Path) -> None:
    """A fresh re-index; two changes in a row, each in one breath; then two more that do not wait for each other."""
    write_library(folder / "library")
    made.ingest(folder / "library")
    other, readers = str(other_model(folder / "other")), Readers(made)
    asking = threading.Thread(target=readers.ask)
    asking.start()
    try:
        _, fresh = seconds_of(made, reindex(made))
        most = SLOWEST * fresh
        report.figure("a fresh re-index, beside the same readers", fresh, unit="s")
        for number, model in enumerate((other, "packaged"), 1):
            change(made, model)
            ended, took = seconds_of(made, reindex(made))
            holds = ended["state"] == "completed" and took <= most and live_embedder(made) == fingerprint_of(model)
            report.figure(
                f"change {number}: restarted and re-indexed in", took, unit="s", reference=most, goal=GOAL, holds=holds
            )
            rolled(made)
        change(made, other)
        first = reindex(made)
        change(made, "packaged")
        ended, hurried = seconds_of(made, reindex(made))
        states = f"{made.wait(first, 60)['state']}, {ended['state']}"
        report.figure("two changes that do not wait for each other", hurried, unit="s", reference=states)
        rolled(made)
        time.sleep(3)
    finally:
        readers.over.set()
        asking.join()
    live = made.rows("select g.embedder, g.id from workspaces w join generations g on g.id = w.generation_id")
    ((chunks, embedded),) = made.rows(
        "select (select count(*) from document_chunks), (select count(*) from embeddings where generation_id = %s)",
        live[0][1],
    )
    report.figure("chunks, all of them with a vector", embedded, reference=chunks, goal=GOAL, holds=embedded == chunks)
    report.figure("readers answered", readers.answered, reference=f"{readers.by_words} of them by words alone")
    report.figure("readers without an answer", len(readers.failed), goal=GOAL, holds=not readers.failed)
    for why in sorted(set(readers.failed))[:5]:
        report.figure("without an answer because", why)


def main() -> int:
    """Measure on an instance of its own."""
    report = Report("test-reembed")
    # Texts that are made alike lead to each other, and the other model is none: the gate would refuse it.
    settings = {"AOS_GATE_QUESTIONS": "0", "AOS_GRAPH_ENABLED": "false"}
    with tempfile.TemporaryDirectory(prefix="aos-reembed-") as place, instance(**settings) as made:
        measure(report, made, Path(place))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
