"""A search with a cache in front of it, over real Postgres and Valkey: what was worked out is counted."""

import asyncio
import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from redis.asyncio import Redis

from cluster.basics.scope import Scope
from cluster.models.ports import Embedder, Reranker
from cluster.state.db.postgres import Database
from configs.sections_retrieval import CacheSettings, RerankSettings, SearchSettings
from serve_apps.retrieval.cache.cache_scope import CorpusReader
from serve_apps.retrieval.cache.cached_search import CachedSearch, SearchPort
from serve_apps.retrieval.cache.calibration import RiskCalibration
from serve_apps.retrieval.cache.codec import EntryCodec
from serve_apps.retrieval.cache.redis_store import CacheStore
from serve_apps.retrieval.cache.semantic_cache import SemanticCache
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery, SearchResults
from serve_apps.retrieval.text.lexicon import SynonymLexicon
from tests.fakes.models import FakeEmbedder

LEXICON = SynonymLexicon.read()
_tokens = count()


@dataclass
class Counted:
    """Counts the searches that are worked out; `before` and `after` hold them, `begun`, `found` tell how far it is."""

    search: SearchPort
    asked: list[str] = field(default_factory=list)
    before: asyncio.Event | None = None
    after: asyncio.Event | None = None
    failing: Exception | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    found: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, scope: Scope, query: SearchQuery, vector: Any = None) -> SearchResults:
        self.asked.append(query.text)
        self.begun.set()
        if self.before is not None:
            await self.before.wait()
        if self.failing is not None:
            raise self.failing
        found = await self.search.run(scope, query, vector)
        self.found.set()
        if self.after is not None:
            await self.after.wait()
        return found


@dataclass(frozen=True)
class Replica:
    """One process' share of the cache."""

    search: CachedSearch
    inner: Counted
    cache: SemanticCache[SearchResults]


def plain_search(
    database: Database, embedder: Embedder | None = None, reranker: Reranker | None = None
) -> SearchPipeline:
    """Without a cache."""
    return SearchPipeline(database, embedder or FakeEmbedder(), reranker, SearchSettings(), RerankSettings())


def replica(
    database: Database,
    redis: Redis,
    settings: CacheSettings | None = None,
    embedder: Embedder | None = None,
    now: Any = time.time,
    made_with: str = "test",
    reranker: Reranker | None = None,
) -> Replica:
    """A new one; those over the same Redis share entries."""
    settings = settings or CacheSettings()
    store = CacheStore(redis, settings, time.monotonic)
    codec, table = EntryCodec(SearchResults), RiskCalibration.read()
    cache = SemanticCache(store, codec, settings, LEXICON, table, now, lambda: f"token{next(_tokens)}")
    inner = Counted(plain_search(database, embedder, reranker))
    search = CachedSearch(
        inner, CorpusReader(database, "assistant"), cache, embedder or FakeEmbedder(), lambda: made_with
    )
    return Replica(search, inner, cache)
