"""Retrieval quality on public test sets, through the product's chunker, embedder, schema, role and search."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import psycopg

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.models.reranking.cross_encoder import CrossEncoderReranker
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.sections import ChunkSettings
from configs.sections_retrieval import EmbeddingSettings, RerankSettings, SearchSettings
from configs.settings import load_settings
from pipelines.documents.chunk.split import chunker_fingerprint, split_pages
from pipelines.documents.document import Page
from pipelines.documents.store.page_codec import search_text
from serve_apps.retrieval.search.fuse import PRESETS, FusionWeights, RankedChunk
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import Candidate, SearchQuery
from tests.evals import irdata, irpeers
from tests.evals.report import Report
from tests.fakes import corpus
from tests.fakes.ranking import fuse_rankings

BATCH = 512  # texts embedded in one call
INDEXED_FROM = 5_000  # chunks; larger sets are also measured through the BM25 and HNSW indexes
DEPTH = 200  # chunks of each leg, so that 100 documents come out where documents have several

# nDCG@10 and recall@100 of the README of the evaluation data: bm25s (k1 .9, b .4), MiniLM (int8), RRF (equal weights).
REFERENCE: dict[str, dict[str, tuple[float, float | None]]] = {
    "scifact": {"bm25": (0.676, 0.913), "vector": (0.647, None), "fused": (0.717, 0.948)},
    "nq-utd": {"bm25": (0.801, 0.975), "vector": (0.779, None), "fused": (0.821, 0.996)},
    "squad2-paragraphs": {"bm25": (0.886, 0.996)},
    "rag-multi-corpus": {"bm25": (0.835, 1.00)},
}
BM25_GOAL = "BM25 leg ≥ reference − 0.02 on every set"
FUSED_GOAL = "fused ≥ max(legs) with one set of weights for all (X-38)"
LEGS_GOAL = "fused ≥ the better leg on average over the sets (weights: X-38)"
MEAN_GOAL = "mean over sets ≥ equal-weight RRF of bm25s and fp32 MiniLM computed in the same run (aim +0.01)"
JUDGED_GOAL = "mean over sets ≥ equal-weight RRF of bm25s and fp32 MiniLM + 0.03 where cross-encoder weights are given"


@dataclass(frozen=True, slots=True)
class Home:
    """A set that has been indexed: where, and which product document is which of the set's."""

    scope: Scope
    generation: int
    names: Mapping[str, str]
    chunks: int


@dataclass(slots=True)
class Scores:
    """A set's mean nDCG@10 and recall@100, way by way."""

    ndcg: dict[str, list[float]] = field(default_factory=dict)
    recall: dict[str, list[float]] = field(default_factory=dict)

    def add(self, way: str, ranked: Sequence[str], grades: Mapping[str, int]) -> None:
        """Score one question."""
        self.ndcg.setdefault(way, []).append(irdata.ndcg(ranked, grades))
        self.recall.setdefault(way, []).append(irdata.recall(ranked, grades))


async def index(connection: psycopg.Connection[Any], embedder: Embedder, data: irdata.Set) -> Home:
    """Chunk, embed and store a set in a workspace of its own."""
    settings = ChunkSettings()
    facts = await embedder.facts()
    chunker = chunker_fingerprint(settings)
    scope = corpus.open_home(connection, data.name)
    generation = corpus.open_generation(
        connection, scope, chunker=chunker, embedder=facts.name, dimension=facts.dimension
    )
    pages = [Page(1, f"# {text.title}\n\n{text.text}" if text.title else text.text) for text in data.documents]
    cut = [split_pages([page], settings) for page in pages]
    texts = [search_text(chunk) for chunks in cut for chunk in chunks]
    vectors: list[corpus.Vectors] = []
    for start in range(0, len(texts), BATCH):
        vectors.extend(await embedder.embed(texts[start : start + BATCH], EmbeddingLane.BULK))
        print(f"{data.name}: {min(start + BATCH, len(texts))}/{len(texts)} chunks embedded", file=sys.stderr)
    rest = iter(vectors)
    books = [
        corpus.Book(
            text.id,
            [
                corpus.Passage(
                    chunk.text,
                    search_text=search_text(chunk),
                    headings=chunk.headings,
                    spans=tuple((span.page, span.start, span.end) for span in chunk.spans),
                    vector=next(rest),
                )
                for chunk in chunks
            ],
            [corpus.Sheet(page.text)],
        )
        for text, page, chunks in zip(data.documents, pages, cut, strict=True)
    ]
    ids = corpus.load(connection, scope, generation, books, chunker=chunker)
    connection.execute("analyze")
    names = dict(zip(ids, (text.id for text in data.documents), strict=True))
    return Home(scope, generation, names, len(texts))


async def measure(search: SearchPipeline, embedder: Embedder, home: Home, data: irdata.Set) -> Scores:
    """Ask every question."""
    scores = Scores()
    vectors = await embedder.embed(list(data.questions.values()))
    for (question, text), vector in zip(data.questions.items(), vectors, strict=True):
        ranking = await search.rank(home.scope, SearchQuery(text, limit=DEPTH), vector)
        keyword, near = _leg(ranking.candidates, "keyword"), _leg(ranking.candidates, "vector")
        grades = data.answers[question]
        ways: dict[str, Sequence[RankedChunk] | Sequence[Candidate]] = {
            "bm25": keyword,
            "vector": near,
            "fused": ranking.candidates,
            "fused by rank 0.5/0.5": fuse_rankings(keyword, near, FusionWeights(0.5, 0.5)),
            "fused by rank 0.7/0.3": fuse_rankings(keyword, near, FusionWeights(0.7, 0.3)),
            "fused by score 0.7/0.3": fuse_rankings(keyword, near, FusionWeights(0.7, 0.3), by="score"),
            "fused rrf.seed 0.3/0.7": fuse_rankings(keyword, near, PRESETS["rrf.seed"]),
        }
        for way, ranked in ways.items():
            scores.add(way, list(dict.fromkeys(home.names[one.document_id] for one in ranked)), grades)
    return scores


async def evaluate(sets: Sequence[irdata.Set], state: Path, report: Report, cross_encoder: str | None) -> None:
    """Index and measure every set, then judge."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    await apply_migrations(found.postgres_admin or "")
    embedder = LocalEmbedder(EmbeddingSettings())
    reranking = RerankSettings(model=cross_encoder)
    judge = CrossEncoderReranker(reranking) if cross_encoder else None
    database = Database(found.postgres)
    await database.open()
    means: dict[str, list[float]] = {}
    try:
        plain = SearchPipeline(database, embedder, None, SearchSettings(), RerankSettings())
        for data in sets:
            with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
                home = await index(connection, embedder, data)
            scores = await measure(plain, embedder, home, data)
            if judge:
                judged = SearchPipeline(database, embedder, judge, SearchSettings(), reranking)
                scores.ndcg["reranked"] = await measure_judged(judged, embedder, home, data)
            peers = irpeers.measure(data, irpeers.full_precision())
            _tell(report, data, home, scores, peers)
            if home.chunks > INDEXED_FROM:
                with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
                    connection.execute("select index_generation(%s, 1)", (home.generation,))
                by_index = SearchPipeline(database, embedder, None, SearchSettings(exact_scope=0), RerankSettings())
                _tell_indexed(report, data, await measure(by_index, embedder, home, data))
            for way, values in scores.ndcg.items():
                means.setdefault(way, []).append(fmean(values))
            for way, value in (("bm25s", peers.bm25s), ("fp32 MiniLM", peers.minilm), ("their RRF", peers.fused)):
                means.setdefault(way, []).append(value)
    finally:
        await database.close()
    _judge(report, {way: fmean(values) for way, values in means.items()}, cross_encoder)


async def measure_judged(search: SearchPipeline, embedder: Embedder, home: Home, data: irdata.Set) -> list[float]:
    """Ask every question once more, with a judge: nDCG@10 of each."""
    vectors = await embedder.embed(list(data.questions.values()))
    found = []
    for (question, text), vector in zip(data.questions.items(), vectors, strict=True):
        ranking = await search.rank(home.scope, SearchQuery(text, limit=DEPTH), vector)
        if not ranking.rerank.startswith("on"):
            raise Unavailable(f"the judge did not take part: {ranking.rerank}")
        ranked = list(dict.fromkeys(home.names[one.document_id] for one in ranking.candidates))
        found.append(irdata.ndcg(ranked, data.answers[question]))
    return found


def _tell(report: Report, data: irdata.Set, home: Home, scores: Scores, peers: irpeers.Peers) -> None:
    size = f"{len(data.documents)} documents, {home.chunks} chunks, {len(data.questions)} questions"
    report.figure(f"{data.name} size", size)
    better = max(fmean(scores.ndcg["bm25"]), fmean(scores.ndcg["vector"]))
    for way, values in scores.ndcg.items():
        quality, found = REFERENCE.get(data.name, {}).get(way, (None, None))
        value, goal, holds = fmean(values), "", None
        if way == "bm25":
            goal, holds = BM25_GOAL, quality is not None and value >= quality - 0.02
        elif way == "fused":
            quality, goal, holds = better, FUSED_GOAL, value >= better
        report.figure(f"{data.name} {way} nDCG@10", value, reference=quality, goal=goal, holds=holds)
        report.figure(f"{data.name} {way} recall@100", fmean(scores.recall[way]), reference=found)
    report.figure(f"{data.name} bm25s in this run nDCG@10", peers.bm25s)
    report.figure(f"{data.name} fp32 MiniLM in this run nDCG@10", peers.minilm)
    report.figure(f"{data.name} equal-weight RRF of both nDCG@10", peers.fused)


def _tell_indexed(report: Report, data: irdata.Set, scores: Scores) -> None:
    for way in ("bm25", "vector", "fused"):
        value, (quality, _) = fmean(scores.ndcg[way]), REFERENCE.get(data.name, {}).get(way, (None, None))
        goal, holds = (BM25_GOAL, quality is not None and value >= quality - 0.02) if way == "bm25" else ("", None)
        report.figure(f"{data.name} {way} by the indexes nDCG@10", value, reference=quality, goal=goal, holds=holds)


def _judge(report: Report, means: Mapping[str, float], cross_encoder: str | None) -> None:
    peer = means["their RRF"]
    for way, value in means.items():
        if way == "fused":
            report.figure("mean fused nDCG@10", value, reference=peer, goal=MEAN_GOAL, holds=value >= peer)
            leg = max(means["bm25"], means["vector"])
            report.figure("mean fused nDCG@10", value, reference=leg, goal=LEGS_GOAL, holds=value >= leg)
        elif way == "reranked":
            name, holds = "mean reranked nDCG@10", value >= peer + 0.03
            report.figure(name, value, reference=peer + 0.03, goal=JUDGED_GOAL, holds=holds)
        else:
            report.figure(f"mean {way} nDCG@10", value)
    if cross_encoder is None:
        report.figure("cross-encoder", "off: no weights were given (--cross-encoder)")


def _leg(candidates: Sequence[Candidate], name: str) -> list[RankedChunk]:
    """What one leg found, in its order."""
    rank, score = f"{name}_rank", f"{name}_score"
    seen = sorted((one for one in candidates if rank in one.scores), key=lambda one: one.scores[rank])
    return [RankedChunk(one.chunk_id, one.document_id, one.scores[score]) for one in seen]


def main() -> int:
    """Measure, print, write `.reports/eval-ir.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=irdata.DEFAULT)
    parser.add_argument("--cross-encoder", help="a folder or hub id; without it the reranked figures are left out")
    parser.add_argument("--set", action="append", help="only this one; may be given several times")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    folder = arguments.evals / "ir"
    if not folder.is_dir():
        print(f"eval-ir: there is no {folder}; give the folder of the evaluation data with --evals", file=sys.stderr)
        return 2
    sets = [irdata.load(path) for path in sorted(folder.iterdir()) if path.is_dir()]
    chosen = [data for data in sets if not arguments.set or data.name in arguments.set]
    report = Report("eval-ir", part=bool(arguments.set))
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        asyncio.run(evaluate(chosen, state, report, arguments.cross_encoder))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
