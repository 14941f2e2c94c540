"""Chunking strategies against each other: retrieval quality and index size of each on public test sets."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, get_args

import numpy as np
import psycopg
import yaml
from numpy.typing import NDArray

from cluster.models.embedding.local import LocalEmbedder
from cluster.models.ports import Embedder
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.sections import ChunkSettings, ChunkStrategy
from configs.sections_retrieval import EmbeddingSettings, RerankSettings, SearchSettings
from configs.settings import load_settings
from serve_apps.retrieval.golden.compare import bootstrap_interval
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.evals import irdata
from tests.evals.eval_ir import Home, index, measure
from tests.evals.remembered import RememberingEmbedder
from tests.evals.report import Report

WAYS = ("fused", "bm25", "vector")
WINS = "default = what wins"
"""The best mean nDCG@10 of the fused search wins; of those that chance cannot tell from it, the smallest index."""


@dataclass(frozen=True, slots=True)
class ChunkerResult:
    """A strategy's quality and cost on one set."""

    ndcg: Mapping[str, float]  # mean nDCG@10 by `WAYS`
    fused: Sequence[float]  # nDCG@10 of the fused search, question by question
    recall: float  # mean recall@100 of the fused search
    chunks: int
    characters: float  # mean length of a chunk
    megabytes: float  # of chunks and vectors with their indexes
    seconds: float  # to cut, embed and store; what was embedded for another strategy before is not embedded again


def parse_chunker(text: str) -> ChunkSettings:
    """`topic_coherence`, or with other settings `semantic:unit=tokens,size=1000,overlap=200`. Raises ValueError."""
    strategy, _, rest = text.partition(":")
    given = dict(one.split("=", 1) for one in rest.split(",") if one)
    return ChunkSettings.model_validate({"strategy": strategy} | {key: yaml.safe_load(v) for key, v in given.items()})


def first_documents(data: irdata.Set, most: int) -> irdata.Set:
    """The first documents that answer a question, and the questions that they answer, for a look at the command."""
    wanted = {document for grades in data.answers.values() for document in grades}
    documents = [text for text in data.documents if text.id in wanted][:most]
    there = {text.id for text in documents}
    answers = {question: {d: g for d, g in grades.items() if d in there} for question, grades in data.answers.items()}
    answers = {question: grades for question, grades in answers.items() if grades}
    questions = {question: text for question, text in data.questions.items() if question in answers}
    return replace(data, documents=documents, questions=questions, answers=answers)


async def measure_chunker(
    connection: psycopg.Connection[Any],
    search: SearchPipeline,
    embedder: Embedder,
    data: irdata.Set,
    settings: ChunkSettings,
) -> ChunkerResult:
    """Index a set by a strategy and ask every question."""
    begun = perf_counter()
    home = await index(connection, embedder, data, settings)
    seconds = perf_counter() - begun
    scores = await measure(search, embedder, home, data)
    characters, megabytes = _index_size(connection, home)
    quality = {way: fmean(scores.ndcg[way]) for way in WAYS}
    return ChunkerResult(
        quality, scores.ndcg["fused"], fmean(scores.recall["fused"]), home.chunks, characters, megabytes, seconds
    )


def _index_size(connection: psycopg.Connection[Any], home: Home) -> tuple[float, float]:
    """Mean characters of a chunk, and megabytes: the set's share of the chunks' table, and its partition of vectors."""
    row = connection.execute(
        "select avg(length(text)), sum(pg_column_size(c.*))::float8 / 1e6 from document_chunks c"
        " where workspace_id = %s",
        (home.scope.workspace,),
    ).fetchone()
    part = connection.execute("select pg_total_relation_size(%s)", (f"embeddings_{home.generation}",)).fetchone()
    assert row is not None and part is not None
    return float(row[0]), float(row[1]) + part[0] / 1e6


async def evaluate(
    sets: Sequence[irdata.Set], chunkers: Mapping[str, ChunkSettings], state: Path, report: Report, embedder: Embedder
) -> None:
    """Measure every strategy on every set."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    await apply_migrations(found.postgres_admin or "")
    database = Database(found.postgres)
    await database.open()
    results: dict[str, dict[str, ChunkerResult]] = {name: {} for name in chunkers}
    try:
        search = SearchPipeline(database, embedder, None, SearchSettings(), RerankSettings())
        for data in sets:
            for name, settings in chunkers.items():
                with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
                    one = await measure_chunker(connection, search, embedder, data, settings)
                results[name][data.name] = one
                _tell(report, f"{data.name} {name}", one)
                print(f"{data.name} {name}: {one.ndcg['fused']:.4f}, {one.chunks} chunks", file=sys.stderr)
    finally:
        await database.close()
    _tell_means(report, results)


def _tell(report: Report, name: str, one: ChunkerResult) -> None:
    for way, value in one.ndcg.items():
        report.figure(f"{name}: {way} nDCG@10", value)
    report.figure(f"{name}: fused recall@100", one.recall)
    report.figure(f"{name}: chunks", one.chunks, reference=f"{one.characters:.0f} characters each")
    report.figure(f"{name}: index", round(one.megabytes, 2), unit="MB")
    report.figure(f"{name}: cut, embedded and stored", round(one.seconds, 1), unit="s")


def _tell_means(report: Report, results: Mapping[str, Mapping[str, ChunkerResult]]) -> None:
    means = {name: fmean(one.ndcg["fused"] for one in by_set.values()) for name, by_set in results.items()}
    sizes = {name: fmean(one.megabytes for one in by_set.values()) for name, by_set in results.items()}
    best, default = max(means, key=lambda name: means[name]), ChunkSettings().strategy
    level = [best]
    for name in results:
        report.figure(f"mean {name}: fused nDCG@10", means[name])
        report.figure(f"mean {name}: index", round(sizes[name], 2), unit="MB")
        if name != best:
            low, high = bootstrap_interval(paired_differences(results[best], results[name]))
            report.figure(f"{best} over {name}: nDCG@10, 95 % interval", f"{low:+.4f} to {high:+.4f}")
            level += [name] if low <= 0 else []
    winner = min(level, key=lambda name: sizes[name])
    report.figure("best mean", best)
    if report.part:
        report.figure("strategy that wins", winner, reference=default)
    else:
        report.figure("strategy that wins", winner, reference=default, goal=WINS, holds=winner == default)


def paired_differences(one: Mapping[str, ChunkerResult], other: Mapping[str, ChunkerResult]) -> NDArray[np.float64]:
    """Differences in nDCG@10 question by question, weighed so that their mean is that of the sets' means."""
    parts = [np.array(one[name].fused) - np.array(other[name].fused) for name in one]
    questions = sum(map(len, parts))
    return np.concatenate([part * questions / (len(parts) * len(part)) for part in parts])


def main() -> int:
    """Measure, print, write `.reports/eval-chunkers.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=irdata.DEFAULT)
    parser.add_argument("--chunker", action="append", help=f"{parse_chunker.__doc__} May be given several times")
    parser.add_argument("--set", action="append", help="only this one; may be given several times")
    parser.add_argument("--documents", type=int, help="only so many of each set, to try the command")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    folder = arguments.evals / "ir"
    if not folder.is_dir():
        print(f"eval-chunkers: there is no {folder}; give the data's folder with --evals", file=sys.stderr)
        return 2
    chunkers = {name: parse_chunker(name) for name in arguments.chunker or get_args(ChunkStrategy)}
    names = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    sets = [irdata.load(path) for path in names if not arguments.set or path.name in arguments.set]
    if arguments.documents:
        sets = [first_documents(data, arguments.documents) for data in sets]
    report = Report("eval-chunkers", part=bool(arguments.set or arguments.chunker or arguments.documents))
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        embedder = RememberingEmbedder(LocalEmbedder(EmbeddingSettings()))
        asyncio.run(evaluate(sets, chunkers, state, report, embedder))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
