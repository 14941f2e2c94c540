"""`make bench-gpu`: what a GPU gives the embedder, the cross-encoder and EasyOCR, each against a peer in the same run.

Needs torch with a GPU and the packages that carry the models; no server, no Ray.
"""

import argparse
import asyncio
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.weights import packaged_folder
from cluster.models.ports import EmbeddingLane
from cluster.models.reranking.cross_encoder import CrossEncoderReranker
from configs.sections_retrieval import EmbeddingSettings, RerankSettings
from pipelines.documents.ocr.easyocr import EasyOcr
from tests.evals.report import Report

WORDS = re.findall(
    r"\w+",
    "pump inspection contract pressure engineer invoice delivery quarter report certificate valve schedule owner "
    "site maintenance temperature record measured before after between limit approved supplier warranty replaced",
)
ROUNDS = 3


def passages(count: int, words: int) -> list[str]:
    """Texts of about so many words, no two alike."""
    draw = np.random.default_rng(7)
    return [" ".join([*draw.choice(WORDS, words - 1), str(number)]) for number in range(count)]


def rate(work: Callable[[], Any], count: int) -> float:
    """Items a second, the median of some rounds."""
    speeds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        speeds.append(count / (time.perf_counter() - begun))
    return statistics.median(speeds)


def measure_embedder(report: Report, model: str, count: int) -> None:
    """Chunks of 170 words; the CPU gets a tenth of them."""
    from sentence_transformers import SentenceTransformer

    texts = passages(count, 170)
    on_gpu = LocalEmbedder(EmbeddingSettings(model=model, gpu=True))
    exact = LocalEmbedder(EmbeddingSettings(model=model, gpu=False, dtype="float32"))
    peer = SentenceTransformer(str(packaged_folder() if model == "packaged" else model), device="cuda")

    def embed(embedder: LocalEmbedder, some: Sequence[str]) -> Any:
        return asyncio.run(embedder.embed(some, EmbeddingLane.BULK))

    few = texts[: count // 10]
    vectors, truth = embed(on_gpu, few), embed(exact, few)
    peer.encode(few)
    least = float(np.min(np.sum(vectors * truth, axis=1)))
    report.figure(
        "embedder on the GPU: least cosine to float32 on the CPU", least, goal="≥ 0.999", holds=least >= 0.999
    )
    fast, cpu = rate(lambda: embed(on_gpu, texts), count), rate(lambda: embed(exact, few), len(few))
    plain = rate(lambda: peer.encode(texts), count)
    report.figure("embedder: chunks/s, the batches of the settings", fast, reference=plain)
    for size in (2_048, 8_192, 65_536):
        other = LocalEmbedder(EmbeddingSettings(model=model, gpu=True, batch_tokens=size))
        embed(other, few)
        report.figure(f"embedder: chunks/s, batches of {size:,} tokens", rate(partial(embed, other, texts), count))
    report.figure("embedder: GPU against CPU (float32)", fast / cpu, unit="×", goal="> 1", holds=fast > cpu)
    report.figure(
        "embedder against SentenceTransformer.encode on the same GPU",
        fast / plain,
        unit="×",
        goal="≥ 1",
        holds=fast >= plain,
    )


def make_cross_encoder(folder: Path, model: str) -> str:
    """A cross-encoder of MiniLM-L-6's size with random weights: as fast as a trained one."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(7)
    tokenizer = AutoTokenizer.from_pretrained(packaged_folder() if model == "packaged" else model)
    shape = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        id2label={0: "score"},
    )
    BertForSequenceClassification(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def measure_reranker(report: Report, model: str, count: int) -> None:
    """Pairs of 120 words, of which the CPU gets a tenth."""
    texts = passages(count, 120)
    with TemporaryDirectory() as folder:
        made = make_cross_encoder(Path(folder), model)
        on_gpu = CrossEncoderReranker(RerankSettings(model=made, gpu=True))
        on_cpu = CrossEncoderReranker(RerankSettings(model=made, gpu=False))

        def score(reranker: CrossEncoderReranker, some: Sequence[str]) -> Any:
            return asyncio.run(reranker.score("when was the pump inspected", some))

        few = texts[: count // 10]
        both = score(on_gpu, few), score(on_cpu, few)
        apart = float(np.max(np.abs(both[0] - both[1])))
        report.figure(
            "cross-encoder: largest difference of a logit, GPU to CPU", apart, goal="≤ 0.05", holds=apart <= 0.05
        )
        fast, slow = rate(lambda: score(on_gpu, texts), count), rate(lambda: score(on_cpu, few), len(few))
        twelve = 1000 * 12 / rate(lambda: score(on_gpu, texts[:12]), 12)
        report.figure("cross-encoder: pairs/s on the GPU", fast, reference=slow)
        report.figure("cross-encoder: a question's 12 candidates on the GPU", twelve, unit="ms")
        report.figure("cross-encoder: GPU against CPU", fast / slow, unit="×", goal="> 1", holds=fast > slow)


def draw_page(lines: Sequence[str]) -> Any:
    """A page at 300 dpi with these lines, as grey pixels, and where the lines are."""
    page = Image.new("L", (2480, 3508), 255)
    pen = ImageDraw.Draw(page)
    font = ImageFont.load_default(44)
    for row, line in enumerate(lines):
        pen.text((180, 180 + 66 * row), line, fill=0, font=font)
    return np.asarray(page)


def measure_easyocr(report: Report, models: str | None) -> None:
    """A page of 40 lines: detector and recogniser."""
    lines = [text[:80] for text in passages(40, 20)]
    page = draw_page(lines)
    read: dict[bool, tuple[str, float]] = {}
    for gpu in (True, False):
        engine = EasyOcr(models=models, gpu=gpu)
        areas = engine.detect(page)
        engine.recognise(page, areas[:1])
        begun = time.perf_counter()
        found = engine.recognise(page, engine.detect(page))
        read[gpu] = " ".join(one.text for one in found), time.perf_counter() - begun
    alike = float(read[True][0] == read[False][0])
    same = set(read[True][0].split()) ^ set(read[False][0].split())
    report.figure(
        "EasyOCR: words read otherwise on GPU and CPU", len(same), goal="≤ 2", holds=len(same) <= 2, reference=alike
    )
    report.figure("EasyOCR: seconds a page on the GPU", read[True][1], unit="s", reference=read[False][1])
    ratio = read[False][1] / read[True][1]
    report.figure("EasyOCR: GPU against CPU", ratio, unit="×", goal="> 1", holds=ratio > 1)


def main() -> int:
    """Measure all three, or those that `--only` names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("embedder", "reranker", "easyocr"), action="append")
    parser.add_argument("--model", default="packaged", help="a folder in the layout of sentence-transformers")
    parser.add_argument("--easyocr-models", help="folder of the .pth files; the packaged ones unless given")
    parser.add_argument("--count", type=int, default=4_000, help="texts")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        sys.exit("torch sees no GPU here; run this on a machine that has one")
    report = Report("bench-gpu", part=options.only is not None)
    report.figure("card", torch.cuda.get_device_name())
    parts = options.only or ("embedder", "reranker", "easyocr")
    if "embedder" in parts:
        measure_embedder(report, options.model, options.count)
    if "reranker" in parts:
        measure_reranker(report, options.model, options.count)
    if "easyocr" in parts:
        measure_easyocr(report, options.easyocr_models)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
