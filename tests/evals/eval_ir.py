"""Retrieval quality on public test sets, through the product's chunker, embedder, schema, role and search."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
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
from pipelines.documents.chunk.split import chunker_fingerprint, needs_vectors, sentence_texts, split_pages
from pipelines.documents.document import Chunk, Page
from pipelines.documents.index.chunk_and_embed import chunk_token_ends
from pipelines.documents.store.page_codec import search_text
from serve_apps.retrieval.search.fuse import PRESETS, FuseBy, RankedChunk
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import Candidate, SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from serve_apps.retrieval.search.statements import LEAST_FOUND
from tests.evals import irdata, irfusion, irlong, irpeers
from tests.evals.irfusion import GRID, LEEWAY, Fusion
from tests.evals.remembered import RememberingEmbedder, remember
from tests.evals.report import Report
from tests.fakes import corpus
from tests.fakes.ranking import fuse_rankings

BATCH = 512  # texts embedded in one call
INDEXED_FROM = 5_000  # chunks; larger sets are also measured through the BM25 and HNSW indexes
# Chunks that a walk of a graph ends with under a narrow filter, and elsewhere.
WALKED = (LEAST_FOUND, SearchSettings().fetch)
DEPTH = 200  # chunks of each leg, so that 100 documents come out where documents have several

# nDCG@10 and recall@100 of the README of the evaluation data: bm25s (k1 .9, b .4), MiniLM (int8), RRF (equal weights).
REFERENCE: dict[str, dict[str, tuple[float, float | None]]] = {
    "scifact": {"bm25": (0.676, 0.913), "vector": (0.647, None), "fused": (0.717, 0.948)},
    "nq-utd": {"bm25": (0.801, 0.975), "vector": (0.779, None), "fused": (0.821, 0.996)},
    "squad2-paragraphs": {"bm25": (0.886, 0.996)},
    "rag-multi-corpus": {"bm25": (0.835, 1.00)},
}
BM25_GOAL = (
    "BM25 leg ≥ bm25s − .02 on every set by both paths (the index path with pg_textsearch for large corpora and the "
    "exact path for small ones); a set of long questions (abstracts) of our own making among them"
)
FUSED_GOAL = (
    "on each set fused ≥ max(legs) − .005 and the mean ≥ equal-weight RRF (of bm25s and fp32 MiniLM, in the same run) "
    "+ .01, each choice made without the set it is judged on"
)
SHIPPED_GOAL = "the shipped fusion is the one that is chosen over all sets"
JUDGED_GOAL = "mean over sets ≥ equal-weight RRF of bm25s and fp32 MiniLM + 0.03 where cross-encoder weights are given"


@dataclass(frozen=True, slots=True)
class Home:
    """A set that has been indexed: where, and which product document is which of the set's."""

    scope: Scope
    generation: int
    names: Mapping[str, str]
    chunks: int

    def documents_of(self, ranked: Sequence[RankedChunk] | Sequence[Candidate]) -> list[str]:
        """The set's documents, each where its best chunk stands."""
        return list(dict.fromkeys(self.names[one.document_id] for one in ranked))


@dataclass(slots=True)
class Scores:
    """A set's mean nDCG@10 and recall@100, way by way."""

    ndcg: dict[str, list[float]] = field(default_factory=dict)
    fused: dict[Fusion, list[float]] = field(default_factory=dict)  # nDCG@10 alone
    recall: dict[str, list[float]] = field(default_factory=dict)

    def add(self, way: str, ranked: Sequence[str], grades: Mapping[str, int]) -> None:
        """Score one question."""
        self.ndcg.setdefault(way, []).append(irdata.ndcg(ranked, grades))
        self.recall.setdefault(way, []).append(irdata.recall(ranked, grades))


@dataclass(frozen=True, slots=True)
class Measured:
    """A set's scores, those of the peers, and nDCG@10 by words alone on both paths."""

    scores: Scores
    peers: irpeers.Peers
    exact: float
    indexed: float
    alike: float  # mean share of the top ten by words that both paths have

    @property
    def better(self) -> float:
        """Mean nDCG@10 of the better retriever."""
        return max(fmean(self.scores.ndcg["bm25"]), fmean(self.scores.ndcg["vector"]))

    @property
    def fusions(self) -> Mapping[Fusion, float]:
        """Mean nDCG@10 of each fusion."""
        return {one: fmean(values) for one, values in self.scores.fused.items()}


async def index(
    connection: psycopg.Connection[Any], embedder: Embedder, data: irdata.Set, settings: ChunkSettings = ChunkSettings()
) -> Home:
    """Chunk, embed and store a set in a workspace of its own."""
    facts = await embedder.facts()
    chunker = chunker_fingerprint(settings)
    scope = corpus.open_home(connection, data.name)
    generation = corpus.open_generation(
        connection, scope, chunker=chunker, embedder=facts.name, dimension=facts.dimension
    )
    pages = [Page(1, f"# {text.title}\n\n{text.text}" if text.title else text.text) for text in data.documents]
    cut = await cut_pages(pages, settings, embedder)
    texts = [search_text(chunk) for chunks in cut for chunk in chunks]
    rest = iter(await _embed_texts(embedder, texts, f"{data.name}: chunks"))
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


async def cut_pages(pages: Sequence[Page], settings: ChunkSettings, embedder: Embedder) -> list[list[Chunk]]:
    """Chunks of documents of one page each; their sentences are embedded where the strategy compares them."""
    tokens = chunk_token_ends(settings, EmbeddingSettings())
    if not needs_vectors(settings):
        return [split_pages([page], settings, None, tokens) for page in pages]
    texts = [sentence_texts([page], settings, tokens) for page in pages]
    vectors = await _embed_texts(embedder, [text for some in texts for text in some], "sentences")
    ends = list(accumulate(map(len, texts)))
    return [
        split_pages([page], settings, np.array(vectors[end - len(some) : end], np.float32), tokens)
        for page, some, end in zip(pages, texts, ends, strict=True)
    ]


async def _embed_texts(embedder: Embedder, texts: Sequence[str], of: str) -> list[corpus.Vectors]:
    vectors: list[corpus.Vectors] = []
    for start in range(0, len(texts), BATCH):
        vectors.extend(await embedder.embed(texts[start : start + BATCH], EmbeddingLane.BULK))
        print(f"{of}, {min(start + BATCH, len(texts))}/{len(texts)} embedded", file=sys.stderr)
    return vectors


async def measure(search: SearchPipeline, embedder: Embedder, home: Home, data: irdata.Set) -> Scores:
    """Ask every question."""
    scores, shipped, fetch = Scores(), irfusion.shipped_fusion(), SearchSettings().fetch
    vectors = await embedder.embed(list(data.questions.values()))
    for (question, text), vector in zip(data.questions.items(), vectors, strict=True):
        ranking = await search.rank(home.scope, SearchQuery(text, limit=DEPTH), vector)
        keyword, near = _leg(ranking.candidates, "keyword"), _leg(ranking.candidates, "vector")
        grades = data.answers[question]
        ways: dict[str, Sequence[RankedChunk] | Sequence[Candidate]] = {
            "bm25": keyword,
            "vector": near,
            "fused": ranking.candidates,
            "fused rrf.seed 0.3/0.7": fuse_rankings(keyword, near, PRESETS["rrf.seed"]),
        }
        for count in WALKED:
            how = shipped.by, shipped.weight_for(text)
            ways[f"fused with the nearest {count}"] = irfusion.fuse_weighted(*how, keyword[:fetch], near[:count])
        for way, ranked in ways.items():
            scores.add(way, home.documents_of(ranked), grades)
        known: dict[tuple[FuseBy, float], float] = {}
        for one in GRID:
            how = one.by, one.weight_for(text)
            if how not in known:
                known[how] = irdata.ndcg(home.documents_of(irfusion.fuse_weighted(*how, keyword, near)), grades)
            scores.fused.setdefault(one, []).append(known[how])
    return scores


async def measure_words(database: Database, home: Home, data: irdata.Set) -> tuple[float, float, float]:
    """Mean nDCG@10 by words alone, exactly and by the index, and the mean share of the top ten that both have."""
    paths = [ChunkRetriever(database, SearchSettings(exact_scope=scope)) for scope in (sys.maxsize, 0)]
    indexes = [await path.resolve(home.scope, SearchQuery("x")) for path in paths]
    quality: tuple[list[float], list[float]] = ([], [])
    shared = []
    for question, text in data.questions.items():
        tops = []
        for path, index, found in zip(paths, indexes, quality, strict=True):
            if index is None or not index.bm25 or index.small is not (path is paths[0]):
                raise Unavailable("the two ways to rank by words cannot be told apart")
            ranked = await path.keyword(home.scope, SearchQuery(text, limit=DEPTH), index)
            found.append(irdata.ndcg(home.documents_of(ranked), data.answers[question]))
            tops.append({one.chunk_id for one in ranked[:10]})
        shared.append(len(tops[0] & tops[1]) / max(len(tops[0]), 1))
    return fmean(quality[0]), fmean(quality[1]), fmean(shared)


async def evaluate(
    sets: Sequence[irdata.Set],
    state: Path,
    report: Report,
    cross_encoder: str | None,
    embedder: Embedder,
    encode: irpeers.Encode,
) -> None:
    """Index and measure every set, then judge."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    await apply_migrations(found.postgres_admin or "")
    database = Database(found.postgres)
    await database.open()
    measured: dict[str, Measured] = {}
    homes: dict[int, Home] = {}
    try:
        plain = SearchPipeline(database, embedder, None, SearchSettings(), RerankSettings())
        for data in sets:
            with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
                if id(data.documents) not in homes:
                    homes[id(data.documents)] = await index(connection, embedder, data)
                home = homes[id(data.documents)]
                scores = await measure(plain, embedder, home, data)
                if cross_encoder:
                    reranking = RerankSettings(model=cross_encoder)
                    judge = CrossEncoderReranker(reranking)
                    judged = SearchPipeline(database, embedder, judge, SearchSettings(), reranking)
                    scores.ndcg["reranked"] = await measure_judged(judged, embedder, home, data)
                one = Measured(scores, irpeers.measure(data, encode), *await measure_words(database, home, data))
                measured[data.name] = one
                _tell(report, data, home, one)
                if home.chunks > INDEXED_FROM:
                    connection.execute("select index_generation(%s, 1)", (home.generation,))
                    by_index = SearchPipeline(database, embedder, None, SearchSettings(exact_scope=0), RerankSettings())
                    _tell_indexed(report, data, await measure(by_index, embedder, home, data))
    finally:
        await database.close()
    _judge_fusion(report, measured)
    _judge_means(report, measured, cross_encoder)


async def measure_judged(search: SearchPipeline, embedder: Embedder, home: Home, data: irdata.Set) -> list[float]:
    """Ask every question once more, with a judge: nDCG@10 of each."""
    vectors = await embedder.embed(list(data.questions.values()))
    found = []
    for (question, text), vector in zip(data.questions.items(), vectors, strict=True):
        ranking = await search.rank(home.scope, SearchQuery(text, limit=DEPTH), vector)
        if not ranking.rerank.startswith("on"):
            raise Unavailable(f"the judge did not take part: {ranking.rerank}")
        found.append(irdata.ndcg(home.documents_of(ranking.candidates), data.answers[question]))
    return found


def _tell(report: Report, data: irdata.Set, home: Home, one: Measured) -> None:
    size = f"{len(data.documents)} documents, {home.chunks} chunks, {len(data.questions)} questions"
    report.figure(f"{data.name} size", size)
    for way, values in one.scores.ndcg.items():
        quality, found = REFERENCE.get(data.name, {}).get(way, (None, None))
        report.figure(f"{data.name} {way} nDCG@10", fmean(values), reference=quality)
        if way in one.scores.recall:
            report.figure(f"{data.name} {way} recall@100", fmean(one.scores.recall[way]), reference=found)
    for path, value in (("exactly", one.exact), ("by the index", one.indexed)):
        least = one.peers.bm25s - 0.02
        name = f"{data.name} bm25 {path} nDCG@10"
        report.figure(name, value, reference=one.peers.bm25s, goal=BM25_GOAL, holds=value >= least)
    report.figure(f"{data.name} share of the top ten by words that both paths have", one.alike)
    report.figure(f"{data.name} bm25s in this run nDCG@10", one.peers.bm25s)
    report.figure(f"{data.name} fp32 MiniLM in this run nDCG@10", one.peers.minilm)
    report.figure(f"{data.name} equal-weight RRF of both nDCG@10", one.peers.fused)


def _tell_indexed(report: Report, data: irdata.Set, scores: Scores) -> None:
    for way in ("bm25", "vector", "fused"):
        quality, _ = REFERENCE.get(data.name, {}).get(way, (None, None))
        report.figure(f"{data.name} {way} by the indexes nDCG@10", fmean(scores.ndcg[way]), reference=quality)


def _judge_fusion(report: Report, measured: Mapping[str, Measured]) -> None:
    """Each set by the fusion that the other sets choose."""
    quality = {name: one.fusions for name, one in measured.items()}
    better = {name: one.better for name, one in measured.items()}
    found = []
    for name, leg in better.items():
        chosen = irfusion.choose_without(name, quality, better)
        if chosen is None:
            report.figure(f"{name} fused, chosen without it", "there is no other set to choose by")
            continue
        value = quality[name][chosen]
        found.append(value)
        figure = f"{name} fused, chosen without it ({chosen}) nDCG@10"
        report.figure(figure, value, reference=leg, goal=FUSED_GOAL, holds=value >= leg - LEEWAY)
    if len(found) == len(measured):
        peer = fmean(one.peers.fused for one in measured.values())
        figure = "mean fused, each chosen without its set, nDCG@10"
        report.figure(figure, fmean(found), reference=peer, goal=FUSED_GOAL, holds=fmean(found) >= peer + 0.01)
    for fusion in GRID:
        report.figure(f"mean fused {fusion} nDCG@10", fmean(quality[name][fusion] for name in measured))
    over_all, shipped = irfusion.choose(list(measured), quality, better), irfusion.shipped_fusion()
    told, figure = str(over_all), "fusion chosen over all sets"
    if report.part:
        report.figure(figure, told, reference=str(shipped))
    else:
        report.figure(figure, told, reference=str(shipped), goal=SHIPPED_GOAL, holds=over_all == shipped)


def _judge_means(report: Report, measured: Mapping[str, Measured], cross_encoder: str | None) -> None:
    means: dict[str, float] = {}
    for way in next(iter(measured.values())).scores.ndcg:
        means[way] = fmean(fmean(one.scores.ndcg[way]) for one in measured.values())
    means["bm25s"] = fmean(one.peers.bm25s for one in measured.values())
    means["fp32 MiniLM"] = fmean(one.peers.minilm for one in measured.values())
    means["their RRF"] = fmean(one.peers.fused for one in measured.values())
    least = means["their RRF"] + 0.03
    for way, value in means.items():
        if way == "reranked":
            report.figure(f"mean {way} nDCG@10", value, reference=least, goal=JUDGED_GOAL, holds=value >= least)
        else:
            report.figure(f"mean {way} nDCG@10", value)
    if cross_encoder is None:
        report.figure("cross-encoder", "off: no weights were given (--cross-encoder)")


def _leg(candidates: Sequence[Candidate], name: str) -> list[RankedChunk]:
    """What one leg found, in its order."""
    rank, score = f"{name}_rank", f"{name}_score"
    seen = sorted((one for one in candidates if rank in one.scores), key=lambda one: one.scores[rank])
    held = [(int(one.scores.get("literal", 0)), int(one.scores.get("quoted_score", 0))) for one in seen]
    if name != "keyword":
        held = [(0, 0)] * len(seen)
    return [
        RankedChunk(one.chunk_id, one.document_id, one.scores[score], *marks)
        for one, marks in zip(seen, held, strict=True)
    ]


def with_long_questions(base: irdata.Set) -> list[irdata.Set]:
    """A set and those of long questions that are made of it: letters of many questions, or halves of abstracts."""
    several = sum(len(grades) for grades in base.answers.values()) >= irlong.ASKED * len(base.documents)
    if several:
        return [base, irlong.letters_of(base)]
    return [base, irlong.halves_of(base)] if irlong.has_abstracts(base) else [base]


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
    sets = [
        made for path in sorted(folder.iterdir()) if path.is_dir() for made in with_long_questions(irdata.load(path))
    ]
    chosen = [data for data in sets if not arguments.set or data.name in arguments.set]
    report = Report("eval-ir", part=bool(arguments.set))
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        embedder = RememberingEmbedder(LocalEmbedder(EmbeddingSettings()))
        encode = remember(irpeers.full_precision())
        asyncio.run(evaluate(chosen, state, report, arguments.cross_encoder, embedder, encode))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
