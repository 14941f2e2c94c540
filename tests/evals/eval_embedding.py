"""Ways to compute the packaged model on this processor: how quick each is, and what it costs in retrieval quality."""

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from cluster.models.embedding.encoder import SentenceEncoder, WindowEncoder
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.weights import packaged_folder
from cluster.models.ports import EmbeddingLane
from configs.sections import ChunkSettings
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.document import Page
from pipelines.documents.store.page_codec import search_text
from tests.evals import irdata
from tests.evals.exported import Absent, onnx_runtime, openvino, padded
from tests.evals.report import Report

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

DEFAULTS = "SentenceTransformer.encode, defaults"
EXACT = "torch float32"
SPEED_GOAL = "Embedding throughput ≥ 2× `SentenceTransformer.encode` defaults in one run"
QUALITY_GOAL = "keep the winner with nDCG within 0.005 of fp32"
BUDGETS = (512, 1024, 2048, 4096, 8192)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to make vectors; `make` raises Absent where a library or an instruction is missing."""

    name: str
    make: Callable[[], Embed]


def ours(encoder: Callable[[], WindowEncoder] | None = None, **settings: object) -> Callable[[], Embed]:
    """The product's embedder, with another encoder or other settings."""

    def make() -> Embed:
        made = LocalEmbedder(EmbeddingSettings(**settings), encoder() if encoder else None)  # type: ignore[arg-type]
        return lambda texts: asyncio.run(made.embed(texts, EmbeddingLane.BULK))

    return make


def reference() -> Embed:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(packaged_folder()), local_files_only=True)
    return lambda texts: np.asarray(model.encode(list(texts)))


def ways() -> list[Way]:
    exact = EmbeddingSettings(dtype="float32")
    return [
        Way(DEFAULTS, reference),
        Way(EXACT, ours(dtype="float32")),
        Way("torch bfloat16", ours(dtype="bfloat16")),
        Way("numpy float32", ours(runtime="numpy")),
        Way("torch float32, padded", ours(lambda: padded(SentenceEncoder(exact), "float32"))),
        Way("torch bfloat16, padded", ours(lambda: padded(SentenceEncoder(exact), "bfloat16"))),
        Way("ONNX Runtime float32", ours(lambda: onnx_runtime(SentenceEncoder(exact), "float32"))),
        Way("ONNX Runtime int8, per channel", ours(lambda: onnx_runtime(SentenceEncoder(exact), "int8"))),
        Way("OpenVINO float32", ours(lambda: openvino(SentenceEncoder(exact), "f32"))),
        Way("OpenVINO bfloat16", ours(lambda: openvino(SentenceEncoder(exact), "bf16"))),
        Way("OpenVINO int8 (NNCF)", ours(lambda: openvino(SentenceEncoder(exact), "int8"))),
    ]


@dataclass(frozen=True, slots=True)
class Sample:
    """A part of a test set, cut into the product's chunks; `owners` are the documents of the chunks."""

    name: str
    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, int]]
    chunks: Sequence[str]
    owners: Sequence[str]


def sample(data: irdata.Set, documents: int, questions: int) -> Sample:
    """The same every time: some questions, the documents that answer them, and others beside these."""
    draw = random.Random(5)
    chosen = sorted(data.questions)
    draw.shuffle(chosen)
    chosen = chosen[:questions]
    wanted = {document for question in chosen for document in data.answers[question]}
    others = [text for text in data.documents if text.id not in wanted]
    draw.shuffle(others)
    kept = [text for text in data.documents if text.id in wanted] + others[: max(0, documents - len(wanted))]
    pairs = [
        (search_text(chunk), text.id)
        for text in kept
        for chunk in split_pages(
            [Page(1, f"# {text.title}\n\n{text.text}" if text.title else text.text)], ChunkSettings()
        )
    ]
    return Sample(
        data.name,
        {question: data.questions[question] for question in chosen},
        data.answers,
        [chunk for chunk, _ in pairs],
        [owner for _, owner in pairs],
    )


def quality(embed: Embed, data: Sample) -> tuple[float, Vectors]:
    """nDCG@10 of the vectors alone, each document by its best chunk; and the chunks' vectors."""
    passages = embed(data.chunks)
    asked = embed(list(data.questions.values()))
    scores = []
    for question, row in zip(data.questions, asked @ passages.T, strict=True):
        ranked = dict.fromkeys(data.owners[at] for at in np.argsort(-row, kind="stable"))
        scores.append(irdata.ndcg(list(ranked)[:10], data.answers[question]))
    return fmean(scores), passages


def speed(made: Mapping[str, Embed], texts: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Chunks a second of each way; in turns, so that other load on the machine meets all of them."""
    found: dict[str, list[float]] = {name: [] for name in made}
    for embed in made.values():
        embed(texts[:16])
    for _ in range(rounds):
        for name, embed in made.items():
            begun = time.perf_counter()
            embed(texts)
            found[name].append(len(texts) / (time.perf_counter() - begun))
    return found


def evaluate(report: Report, samples: Sequence[Sample], only: Sequence[str], count: int, rounds: int) -> None:
    made: dict[str, Embed] = {}
    for way in ways():
        if only and way.name not in (DEFAULTS, EXACT, *only):
            continue
        try:
            made[way.name] = way.make()
        except Absent as absent:
            report.figure(f"{way.name}: skipped", str(absent))
    default = EmbeddingSettings()
    chosen = "torch bfloat16" if _format(default) == "bfloat16" else EXACT
    report.figure("embedding.dtype `auto` on this processor", chosen)
    texts = [text for data in samples for text in data.chunks]
    random.Random(7).shuffle(texts)
    speeds = speed(made, texts[:count], rounds)
    exact: dict[str, tuple[float, Vectors]] = {}
    for name in sorted(made, key=lambda name: name != EXACT):
        ratio = median(a / b for a, b in zip(speeds[name], speeds[DEFAULTS], strict=True))
        ends = {data.name: quality(made[name], data) for data in samples}
        exact = exact or ends
        loss = fmean(exact[data.name][0] - ends[data.name][0] for data in samples)
        worst = max(abs(exact[data.name][0] - ends[data.name][0]) for data in samples)
        near = np.concatenate([np.sum(ends[one.name][1] * exact[one.name][1], axis=1) for one in samples])
        told = {"goal": SPEED_GOAL, "holds": ratio >= 2} if name == chosen else {}
        report.figure(f"{name}: speed ratio", round(ratio, 2), **told)  # type: ignore[arg-type]
        report.figure(f"{name}: speed", round(median(speeds[name]), 1), unit="chunks/s")
        told = {"goal": QUALITY_GOAL, "holds": worst <= 0.005} if name == chosen else {}
        report.figure(f"{name}: nDCG@10, mean of sets", fmean(n for n, _ in ends.values()), reference=round(loss, 4))
        report.figure(f"{name}: nDCG@10, largest change of a set", worst, **told)  # type: ignore[arg-type]
        report.figure(f"{name}: cosine to float32, lowest", float(near.min()))
    for budget in BUDGETS if not only else ():
        rates = speed({"": ours(batch_tokens=budget)()}, texts[:count], rounds)[""]
        report.figure(f"default, batches of {budget} tokens", round(median(rates), 1), unit="chunks/s")


def _format(settings: EmbeddingSettings) -> str:
    from cluster.models.embedding import weights

    return weights.choose_dtype(settings.dtype, weights.choose_device(settings.gpu))


def main() -> int:
    """Measure, print, write `.reports/eval-embedding.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=irdata.DEFAULT)
    parser.add_argument("--documents", type=int, default=300, help="of each set")
    parser.add_argument("--questions", type=int, default=150, help="of each set")
    parser.add_argument("--chunks", type=int, default=240, help="embedded in a round when speed is measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", help="this way, beside the two references")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    folder = arguments.evals / "ir"
    if not folder.is_dir():
        print(f"eval-embedding: there is no {folder}; give the folder of the data with --evals", file=sys.stderr)
        return 2
    sets = [irdata.load(path) for path in sorted(folder.iterdir()) if path.is_dir()]
    samples = [sample(data, arguments.documents, arguments.questions) for data in sets]
    report = Report("eval-embedding")
    evaluate(report, samples, arguments.only or [], arguments.chunks, arguments.rounds)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
