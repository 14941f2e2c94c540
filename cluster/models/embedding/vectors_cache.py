"""Vectors of questions, kept in Redis by the hash of their text, for every workspace on its own."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b, sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from redis.asyncio import Redis

from cluster.basics.redis_link import RedisAway, RedisLink
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import forget_facts, map_embedders, pin_embedder
from cluster.models.ports import Embedder, EmbedderFacts, EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings

SECONDS = 0.2  # longest wait for Redis: what is remembered must not cost more than working it out
REST_SECONDS = 5.0  # after a failure Redis is left alone for so long: no question waits for it again and again
MOST_TEXTS = 64  # a question and the sentences it is compared with; longer lists would drive out what comes again
_CHECKSUM = 8
_FLOAT = np.dtype("<f4")


@dataclass(slots=True)
class CacheCounters:
    """Cache counters of the texts since the process began."""

    hits: int = 0  # known already
    misses: int = 0  # embedded, and kept
    broken: int = 0  # what Redis gave was not what had been kept: embedded again
    away: int = 0  # calls that went without Redis, because it could not be reached


class VectorCache:
    """An `Embedder` that keeps the vectors of what is asked, once it is told by whom: see `with_workspace_cache`.

    Bulk work passes by, its vectors rest in Postgres.

    One workspace never learns from the time an answer took what another has asked: the workspace is part of the key,
    beside the embedder's fingerprint and 256 bits of the text's hash. The text itself is not kept. Each workspace has
    `cache_entries` places of its own; the vector that was asked for least recently goes first, every one goes after
    `cache_seconds`. No method raises because of Redis.
    """

    def __init__(
        self, embedder: Embedder, redis: Redis | None, settings: EmbeddingSettings, clock: Callable[[], float]
    ) -> None:
        """`clock` gives seconds since 1970, alike on all replicas; without `redis` nothing is kept."""
        self._embedder, self._clock = embedder, clock
        self._redis = RedisLink(redis if settings.cache_entries else None, clock, wait=SECONDS, rest=REST_SECONDS)
        self._keeps = redis is not None and settings.cache_entries > 0
        self._most, self._ttl = settings.cache_entries, settings.cache_seconds
        self._tally = CacheCounters()

    def of(self, scope: Scope) -> Embedder:
        """The embedder, with the memory of one workspace."""
        return _Remembering(self, self._embedder, f"aos:vectors:{scope.tenant}:{scope.workspace}")

    def pinned(self, facts: EmbedderFacts) -> Embedder:
        """See `ReplaceableEmbedder`; for nobody in particular nothing is kept."""
        return pin_embedder(self._embedder, facts)

    def forget(self) -> None:
        """See `ReplaceableEmbedder`; vectors are kept under the name of their model, and stay."""
        forget_facts(self._embedder)

    def stats(self) -> dict[str, int]:
        """The `CacheCounters` as a mapping."""
        return asdict(self._tally)

    async def facts(self) -> EmbedderFacts:
        """The facts of the embedder behind the cache."""
        return await self._embedder.facts()

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """As `Embedder.embed`; for nobody in particular nothing is kept."""
        return await self._embedder.embed(texts, lane)

    async def remembered(
        self, embedder: Embedder, home: str, texts: Sequence[str], lane: EmbeddingLane
    ) -> NDArray[np.float32]:
        """As `embedder.embed`; `home` is the prefix of one workspace's keys."""
        if lane is EmbeddingLane.BULK or not 0 < len(texts) <= MOST_TEXTS or not self._keeps:
            return await embedder.embed(texts, lane)
        facts = await embedder.facts()
        names = {
            text: f"{facts.fingerprint}:{sha256(f'{home}:{text}'.encode(errors='surrogatepass')).hexdigest()}"
            for text in texts
        }
        found = await self._read_vectors(home, names, facts.dimension)
        missing = [text for text in names if text not in found]
        if missing:
            fresh = await pin_embedder(embedder, facts).embed(missing, lane)  # or it would be kept under another's name
            found |= dict(zip(missing, fresh, strict=True))
            await self._write_vectors(home, {names[text]: found[text] for text in missing})
        return np.stack([found[text] for text in texts])

    async def _read_vectors(self, home: str, names: dict[str, str], dimension: int) -> dict[str, NDArray[np.float32]]:
        async def read(redis: Redis) -> list[Any]:
            async with redis.pipeline(transaction=False) as pipe:
                pipe.mget([f"{home}:{name}" for name in names.values()])
                pipe.zadd(home, dict.fromkeys(names.values(), self._clock()), xx=True)
                kept, _ = await pipe.execute()
            if not isinstance(kept, list) or len(kept) != len(names):
                raise TypeError("whoever answers there is no Redis")
            return kept

        try:
            kept = await self._redis.call(read)
        except RedisAway:
            self._tally.away += 1
            return {}
        found = {}
        for (text, name), value in zip(names.items(), kept, strict=True):
            vector = unpack_vector(name, value, dimension)
            if vector is not None:
                found[text] = vector
            self._tally.hits += vector is not None
            self._tally.broken += vector is None and value is not None
        self._tally.misses += len(names) - len(found)
        return found

    async def _write_vectors(self, home: str, vectors: dict[str, NDArray[np.float32]]) -> None:
        async def write(redis: Redis) -> None:
            async with redis.pipeline(transaction=False) as pipe:
                for name, vector in vectors.items():
                    pipe.set(f"{home}:{name}", pack_vector(name, vector), ex=self._ttl)
                pipe.zadd(home, dict.fromkeys(vectors, self._clock()))
                pipe.expire(home, self._ttl)
                pipe.zcard(home)
                count = (await pipe.execute())[-1]
            if count > self._most:
                oldest: Any = await redis.zpopmin(home, count - self._most)
                await redis.delete(*(f"{home}:{_decode_name(name)}" for name, _ in oldest))

        if self._redis.resting:
            return
        try:
            await self._redis.call(write)
        except RedisAway:
            self._tally.away += 1


@dataclass(frozen=True, slots=True)
class _Remembering:
    """An `Embedder`, and `ReplaceableEmbedder`, for one workspace."""

    cache: VectorCache
    embedder: Embedder
    home: str

    async def facts(self) -> EmbedderFacts:
        return await self.embedder.facts()

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        return await self.cache.remembered(self.embedder, self.home, texts, lane)

    def pinned(self, facts: EmbedderFacts) -> Embedder:
        return _Remembering(self.cache, pin_embedder(self.embedder, facts), self.home)

    def forget(self) -> None:
        forget_facts(self.embedder)


def with_workspace_cache(embedder: Embedder, scope: Scope) -> Embedder:
    """The embedder with the memory of the scope's workspace, where it has a memory."""
    return map_embedders(embedder, lambda one: one.of(scope) if isinstance(one, VectorCache) else one)


def pack_vector(name: str, vector: NDArray[np.float32]) -> bytes:
    """A vector as it is kept: a checksum that also covers its name, then 32-bit floats."""
    body = vector.astype(_FLOAT).tobytes()
    return _vector_checksum(name, body) + body


def unpack_vector(name: str, value: bytes | None, dimension: int) -> NDArray[np.float32] | None:
    """Decode a packed vector; None for anything else, and for a vector of another dimension."""
    if not isinstance(value, bytes) or len(value) != _CHECKSUM + dimension * _FLOAT.itemsize:
        return None
    if value[:_CHECKSUM] != _vector_checksum(name, value[_CHECKSUM:]):
        return None
    return np.frombuffer(value, dtype=_FLOAT, offset=_CHECKSUM).astype(np.float32)


def _vector_checksum(name: str, body: bytes) -> bytes:
    return blake2b(body, digest_size=_CHECKSUM, key=blake2b(name.encode(), digest_size=16).digest()).digest()


def _decode_name(name: bytes | str) -> str:
    return name.decode() if isinstance(name, bytes) else name
