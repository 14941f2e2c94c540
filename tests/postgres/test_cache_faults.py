"""A Valkey that dies, comes back empty, says nothing or talks nonsense: search goes on, and says that it did."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from configs.sections_retrieval import CacheSettings
from serve_apps.retrieval.cache import redis_store
from serve_apps.retrieval.cache.cache_scope import CorpusReader
from serve_apps.retrieval.cache.cached_search import CachedSearch
from serve_apps.retrieval.cache.calibration import RiskCalibration
from serve_apps.retrieval.cache.codec import EntryCodec
from serve_apps.retrieval.cache.redis_store import CacheStore
from serve_apps.retrieval.cache.semantic_cache import SemanticCache
from serve_apps.retrieval.search.query import SearchQuery, SearchResults
from tests.fakes import corpus
from tests.fakes.cached import LEXICON, Counted, plain_search
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import FakeEmbedder
from tests.fakes.valkey import Valkey, babbler, client, valkey

TEXT = "The notice period of the lease is three months."
QUESTION = SearchQuery("How long is the notice period?")


@pytest.fixture
def scope(admin_dsn: str) -> Iterator[Scope]:
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        made = corpus.open_home(admin)
        generation = corpus.open_generation(admin, made)
        corpus.load(admin, made, generation, [Book("lease.txt", [Passage(TEXT, vector=hash_vector(TEXT))])])
        yield made


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    found = Database(app_dsn, size=4)
    await found.open()
    yield found
    await found.close()


@pytest.fixture
def away(tmp_path: Path) -> Iterator[Valkey]:
    with valkey(tmp_path) as made:
        yield made


def over(redis: Any, pool: Database, clock: list[float]) -> tuple[CachedSearch, Counted, SemanticCache[SearchResults]]:
    settings = CacheSettings()
    store = CacheStore(redis, settings, lambda: clock[0])
    codec, table = EntryCodec(SearchResults), RiskCalibration.read()
    cache = SemanticCache(store, codec, settings, LEXICON, table, time.time, lambda: "token")
    inner = Counted(plain_search(pool))
    return CachedSearch(inner, CorpusReader(pool, "assistant"), cache, FakeEmbedder(), lambda: "test"), inner, cache


async def ask(search: CachedSearch, scope: Scope, query: SearchQuery = QUESTION) -> str:
    found = await search.run(scope, query)
    assert len(found.hits) == 1 and found.cache is not None
    return f"{found.cache.outcome}: {found.cache.reason}"


async def test_a_valkey_that_is_killed_and_comes_back_empty_costs_only_time(
    scope: Scope, pool: Database, away: Valkey
) -> None:
    """SC-03: bypassed while it is away, and used again when it is back."""
    clock = [0.0]
    redis = client(away.url)
    search, inner, cache = over(redis, pool, clock)
    assert (await ask(search, scope)).startswith("miss")
    assert (await ask(search, scope)).startswith("hit")
    away.kill()
    assert (await ask(search, scope)).startswith("bypass: the cache cannot be reached")
    began = time.perf_counter()
    for _ in range(20):
        assert (await ask(search, scope)).startswith("bypass: the cache cannot be reached")
    assert time.perf_counter() - began < 4, "it is not waited for again and again"
    away.start()
    assert (await ask(search, scope)).startswith("bypass"), "it is left alone for a while"
    clock[0] += redis_store.REST_SECONDS + 1
    assert (await ask(search, scope)).startswith("miss")
    assert (await ask(search, scope)).startswith("hit")
    stats = await cache.get_stats(scope.workspace)
    assert stats.bypasses == 22 and stats.entries == 1
    assert len(inner.asked) == 24
    await redis.aclose()


async def test_a_valkey_that_is_flushed_while_it_is_used(scope: Scope, pool: Database, away: Valkey) -> None:
    redis = client(away.url)
    search, inner, _ = over(redis, pool, [0.0])
    for n in range(10):
        asked = SearchQuery(f"How long is notice period {n % 3}?")
        await ask(search, scope, asked)
        if n % 4 == 3:
            await redis.flushall()
    assert 3 <= len(inner.asked) < 10
    assert (await ask(search, scope, asked)).startswith("hit")
    await redis.aclose()


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.1 200 OK\r\n\r\n", b"\x00\xff" * 40, b":1\r\n" * 9, b"$-1\r\n", b"*-1\r\n", None]
)
async def test_a_server_that_is_no_valkey_costs_a_moment(scope: Scope, pool: Database, reply: bytes | None) -> None:
    async with babbler(reply) as url:
        redis = client(url)
        search, _, _ = over(redis, pool, [0.0])
        async with asyncio.timeout(10):
            for _ in range(3):
                assert not (await ask(search, scope)).startswith("hit")
        await redis.aclose()
