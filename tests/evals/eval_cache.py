"""The semantic cache: near misses, paraphrases, and a random walk in which nothing stale or foreign may be served."""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from redis.asyncio import Redis

from cluster.models.embedding.local import LocalEmbedder
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.sections_retrieval import CacheSettings, EmbeddingSettings
from configs.settings import load_settings
from serve_apps.retrieval.cache.near_miss import same_question
from serve_apps.retrieval.text.lexicon import SynonymLexicon
from tests.evals import irdata, near_misses
from tests.evals.cache_walk import Walk
from tests.evals.report import Report
from tests.fakes import corpus

NEAR_GOAL = (
    "on near-miss pairs that you generate from the questions there (numbers, dates, units, negation, swapped entities, "
    "word order; ≥ 1,000) false hits ≤ 1 %"
)
HIT_GOAL = (
    "at a hit rate on `../shared/evals/cache/gptcache_mock_similar.jsonl` ≥ 0.5 of plain cosine 0.95's, both printed"
)
WALK_GOAL = "10,000 random operations (ask, write, delete, grant, revoke): 0 stale, 0 foreign"
P50_GOAL = "hit p50 printed, the query's vector given"
EACH = 250  # pairs of every change
BATCH = 512


class Judge:
    """Both rules over pairs: plain cosine, and cosine with the comparison of words."""

    def __init__(self, embedder: Embedder) -> None:
        """Texts are embedded once."""
        self._embedder, self._lexicon = embedder, SynonymLexicon.read()
        self._threshold = CacheSettings().similarity_threshold
        self._known: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {}

    async def learn(self, texts: Iterable[str]) -> None:
        """Embed what is not known yet."""
        wanted = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            self._known.update(zip(batch, await self._embedder.embed(batch, EmbeddingLane.BULK), strict=True))

    def near(self, one: str, other: str) -> bool:
        """What a cache of cosine alone would serve."""
        return float(self._known[one] @ self._known[other]) >= self._threshold

    def same(self, one: str, other: str) -> bool:
        """What ours serves."""
        return self.near(one, other) and same_question(one, other, self._lexicon).same

    def worded(self, one: str, other: str) -> bool:
        """The comparison of words alone."""
        return same_question(one, other, self._lexicon).same


async def measure_near(report: Report, judge: Judge, evals: Path) -> None:
    """Pairs that must not be taken for each other."""
    questions = [text for path in sorted((evals / "ir").iterdir()) for text in irdata.load(path).questions.values()]
    questions += [row["question"] for row in _lines(evals / "qa" / "squad2_dev" / "qa.jsonl")]
    questions += [row["origin"] for row in _lines(evals / "cache" / "gptcache_mock_similar.jsonl")]
    pairs = near_misses.make([" ".join(question.split()) for question in questions], EACH)
    await judge.learn(text for pair in pairs for text in (pair.one, pair.other))
    report.figure("near-miss pairs", len(pairs), goal="≥ 1,000", holds=len(pairs) >= 1_000)
    for change in dict.fromkeys(pair.change for pair in pairs):
        chosen = [pair for pair in pairs if pair.change == change]
        plain = np.mean([judge.near(pair.one, pair.other) for pair in chosen])
        ours = np.mean([judge.same(pair.one, pair.other) for pair in chosen])
        report.figure(
            f"false hits, {change} ({len(chosen)})", float(ours) * 100, unit="%", reference=float(plain) * 100
        )
    plain = float(np.mean([judge.near(pair.one, pair.other) for pair in pairs]))
    ours = float(np.mean([judge.same(pair.one, pair.other) for pair in pairs]))
    words = float(np.mean([judge.worded(pair.one, pair.other) for pair in pairs]))
    report.figure("false hits of plain cosine 0.95", plain * 100, unit="%")
    report.figure("pairs that the comparison of words alone takes for the same", words * 100, unit="%")
    report.figure("false hits", ours * 100, unit="%", reference=plain * 100, goal=NEAR_GOAL, holds=ours <= 0.01)


async def measure_paraphrases(report: Report, judge: Judge, evals: Path) -> None:
    """Pairs that mean the same, and pairs of graded similarity."""
    pairs = [(row["origin"], row["similar"]) for row in _lines(evals / "cache" / "gptcache_mock_similar.jsonl")]
    await judge.learn(text for pair in pairs for text in pair)
    plain = float(np.mean([judge.near(*pair) for pair in pairs]))
    ours = float(np.mean([judge.same(*pair) for pair in pairs]))
    report.figure("paraphrases hit by plain cosine 0.95", plain * 100, unit="%")
    report.figure("paraphrases hit", ours * 100, unit="%", reference=plain * 100)
    ratio = ours / plain if plain else 0.0
    report.figure("hit rate / plain cosine 0.95's", ratio, unit="×", goal=HIT_GOAL, holds=ratio >= 0.5)
    graded = list(_lines(evals / "cache" / "stsb_dev.jsonl"))
    await judge.learn(text for row in graded for text in (row["a"], row["b"]))
    for name, low, high in (("≥ 4.5", 4.5, 5.1), ("3.5 to 4.5", 3.5, 4.5), ("below 3.5", -1.0, 3.5)):
        chosen = [(row["a"], row["b"]) for row in graded if low <= row["score"] < high]
        ours = float(np.mean([judge.same(*pair) for pair in chosen])) * 100
        plain = float(np.mean([judge.near(*pair) for pair in chosen])) * 100
        report.figure(f"stsb_dev hits, similarity {name} ({len(chosen)})", ours, unit="%", reference=plain)


async def measure_walk(report: Report, evals: Path, state: Path, operations: int) -> None:
    """Random operations, each answer compared with what is there."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    await apply_migrations(found.postgres_admin or "")
    data = irdata.load(evals / "ir" / "rag-multi-corpus")
    texts = [f"{text.title}\n{text.text}" for text in data.documents]
    questions = sorted(data.questions.values())[:: len(data.questions) // 4]
    database, redis = Database(found.postgres), Redis.from_url(found.redis)
    await database.open()
    try:
        with psycopg.connect(found.postgres_admin or "", autocommit=True) as admin:
            corpus.own_bm25(admin)
            walk = Walk(admin, database, redis, texts, questions, seed=11)
            await walk.open()
            began = time.perf_counter()
            for done in range(operations):
                await walk.step()
                if done % 500 == 499:
                    wrong = f"{walk.tally.stale} stale, {walk.tally.foreign} foreign"
                    print(f"{done + 1} operations, {dict(walk.tally.outcomes)}, {wrong}", file=sys.stderr)
            tally = walk.tally
            report.figure(
                "random operations", sum(tally.operations.values()), unit=f"in {time.perf_counter() - began:.0f} s"
            )
            for name, count in sorted(tally.operations.items()):
                report.figure(f"of them {name}", count)
            for name, count in sorted(tally.outcomes.items()):
                report.figure(f"questions: {name}", count)
            enough = sum(tally.operations.values()) >= 10_000 and tally.outcomes["hit"] >= 1_000
            report.figure("stale", tally.stale, goal=WALK_GOAL, holds=tally.stale == 0 and enough)
            report.figure("foreign", tally.foreign, goal=WALK_GOAL, holds=tally.foreign == 0 and enough)
            report.figure("a hit on the walk, p50", float(np.median(tally.hit_ms)), unit="ms")
            report.figure("a miss on the walk, p50", float(np.median(tally.made_ms)), unit="ms")
            took = await walk.hits(1_000)
            report.figure("hit, p50", float(np.median(took)), unit="ms", goal=P50_GOAL, holds=True)
            report.figure("hit, p95", float(np.percentile(took, 95)), unit="ms")
    finally:
        await redis.aclose()
        await database.close()


async def measure(report: Report, options: argparse.Namespace, state: Path) -> None:
    """All of it, or what is asked for."""
    if options.only != "walk":
        judge = Judge(LocalEmbedder(EmbeddingSettings()))
        await measure_paraphrases(report, judge, options.evals)
        await measure_near(report, judge, options.evals)
    if options.only != "words":
        await measure_walk(report, options.evals, state, options.operations)


def main() -> int:
    """Measure, print, and fail where a goal does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=irdata.DEFAULT)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--only", choices=("words", "walk"), help="leave the other out")
    options = parser.parse_args()
    if not (options.evals / "cache").is_dir():
        sys.exit(f"{options.evals}: no such data; give --evals the folder with the data to measure on")
    report = Report("eval-cache")
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        asyncio.run(measure(report, options, state))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
    return report.finish()


def _lines(path: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
