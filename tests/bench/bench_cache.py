"""The cache's lookup: a thousand remembered questions beside the search that they save, and a hundred equal at once."""

import asyncio
import random
import shutil
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import psycopg
from redis.asyncio import Redis

from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.sections_retrieval import CacheSettings
from configs.settings import load_settings
from serve_apps.retrieval.cache.cache_scope import name_of
from serve_apps.retrieval.cache.mirror import EntryHead, PartitionMirror
from serve_apps.retrieval.cache.near_miss import same_question
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.text.lexicon import SynonymLexicon
from tests.bench.bench_search import DIMENSION, Maker
from tests.evals import irdata
from tests.evals.report import Report
from tests.fakes import corpus
from tests.fakes.cached import plain_search, replica
from tests.fakes.corpus import hash_vector

CHUNKS = 5_000
ROUNDS = 200
ONE_GOAL = "single-flight so that a hundred equal questions cost one"


def _product(report: Report, questions: list[str]) -> None:
    """What a lookup costs without any journey: one product over a full matrix, and one comparison of words."""
    rng = np.random.default_rng(5)
    mirror, vectors = PartitionMirror(1, 1_000), rng.standard_normal((1_000, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for n, vector in enumerate(vectors):
        mirror.learn(EntryHead(name_of(str(n)), 1, float(n), str(n), vector))
    took = []
    for n in range(1_000):
        began = time.perf_counter()
        mirror.near(vectors[n], 8)
        took.append((time.perf_counter() - began) * 1000)
    report.figure("cache: one product over 1,000 questions, p50", float(np.median(took)), unit="ms")
    lexicon, took = SynonymLexicon.read(), []
    for one, other in pairwise(questions):
        began = time.perf_counter()
        same_question(one, other, lexicon)
        took.append((time.perf_counter() - began) * 1000)
    report.figure("cache: a comparison of two questions' words, p50", float(np.median(took)), unit="ms")


async def _served(report: Report, state: Path, texts: list[str], questions: list[str]) -> None:
    """Hits beside the searches that they save, question by question, so that both meet the same load."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    await apply_migrations(found.postgres_admin or "")
    with psycopg.connect(found.postgres_admin or "", autocommit=True) as admin:
        scope = corpus.open_home(admin)
        generation = corpus.open_generation(admin, scope)
        books = [
            replace(book, passages=[replace(one, vector=hash_vector(one.text)) for one in book.passages])
            for book in Maker(texts).books(CHUNKS)
        ]
        corpus.load(admin, scope, generation, books)
        admin.execute("analyze")
    database, redis = Database(found.postgres), Redis.from_url(found.redis)
    await database.open()
    try:
        made, bare = replica(database, redis, CacheSettings()), plain_search(database)
        vectors = {question: hash_vector(question) for question in questions}
        for question in questions:
            await made.search.run(scope, SearchQuery(question), vectors[question])
        hits, searches = [], []
        for question in questions[:ROUNDS]:
            for run, times in ((made.search.run, hits), (bare.run, searches)):
                began = time.perf_counter()
                await run(scope, SearchQuery(question), vectors[question])
                times.append((time.perf_counter() - began) * 1000)
        for share in (50, 95):
            at = (float(np.percentile(hits, share)), float(np.percentile(searches, share)))
            report.figure(f"cache: a hit of {len(questions)} questions, vector given, p{share}", at[0], unit="ms")
            report.figure(f"cache: the search that it saves ({CHUNKS} chunks), p{share}", at[1], unit="ms")
            report.figure(f"cache: hit / search, p{share}", at[0] / at[1], unit="×")
        before, new = len(made.inner.asked), SearchQuery("Which of these questions was never asked before?")
        await asyncio.gather(*(made.search.run(scope, new) for _ in range(100)))
        cost = len(made.inner.asked) - before
        report.figure("cache: searches for a hundred equal questions at once", cost, goal=ONE_GOAL, holds=cost == 1)
    finally:
        await redis.aclose()
        await database.close()


def measure(report: Report, evals: Path) -> None:
    """On a server of its own, which leaves nothing."""
    sets = [irdata.load(path) for path in sorted((evals / "ir").iterdir()) if path.is_dir()]
    texts = [f"{text.title}\n{text.text}" for data in sets for text in data.documents]
    pool = sorted({text for data in sets for text in data.questions.values()})
    questions = random.Random(11).sample(pool, 500)
    _product(report, questions)
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        asyncio.run(_served(report, state, texts, questions))
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
