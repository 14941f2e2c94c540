"""Cache of computed JSON values in Redis; without Redis they are computed, and the caller is informed."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from cluster.basics.redis_link import RedisAway, RedisLink

SECONDS = 0.2  # longest wait for Redis: what is remembered must not cost more than working it out
REST_SECONDS = 5.0  # after a failure Redis is left alone for so long: no turn waits for it again and again


@dataclass(frozen=True, slots=True)
class MemoLookup:
    """Cache lookup: a value and its `state`: `hit`, `miss`, or `off: ` and why."""

    value: Any
    state: str


class RedisMemo:
    """JSON values under a prefix, each for a time. No method raises because of Redis."""

    def __init__(self, redis: Redis | None, prefix: str, ttl_seconds: int, clock: Callable[[], float]) -> None:
        """`clock` gives seconds that only grow; without `redis` nothing is remembered."""
        self._prefix, self._ttl = prefix, ttl_seconds
        self._redis = RedisLink(redis, clock, wait=SECONDS, rest=REST_SECONDS)

    async def get(self, key: str) -> MemoLookup:
        """Cached value of the key; what is no JSON counts as a miss."""
        try:
            raw = await self._redis.call(lambda redis: redis.get(self._prefix + key))
        except RedisAway as away:
            return MemoLookup(None, f"off: {away}")
        if raw is None:
            return MemoLookup(None, "miss")
        try:
            return MemoLookup(json.loads(raw), "hit")
        except ValueError:
            return MemoLookup(None, "miss")

    async def put(self, key: str, value: Any) -> None:
        """Remember, where Redis is there."""
        text = json.dumps(value)
        with suppress(RedisAway):
            await self._redis.call(lambda redis: redis.set(self._prefix + key, text, ex=self._ttl))
