"""Cache of computed JSON values in Redis; without Redis they are computed, and the caller is informed."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

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
        self._redis, self._prefix, self._ttl, self._clock = redis, prefix, ttl_seconds, clock
        self._rests_until, self._why = 0.0, "no Redis is configured"

    async def get(self, key: str) -> MemoLookup:
        """Cached value of the key; what is no JSON counts as a miss."""
        if self._redis is None or self._clock() < self._rests_until:
            return MemoLookup(None, f"off: {self._why}")
        try:
            async with asyncio.timeout(SECONDS):
                raw = await self._redis.get(self._prefix + key)
        except (RedisError, OSError) as error:
            return MemoLookup(None, self._pause_redis(error))
        if raw is None:
            return MemoLookup(None, "miss")
        try:
            return MemoLookup(json.loads(raw), "hit")
        except ValueError:
            return MemoLookup(None, "miss")

    async def put(self, key: str, value: Any) -> None:
        """Remember, where Redis is there."""
        if self._redis is None or self._clock() < self._rests_until:
            return
        try:
            async with asyncio.timeout(SECONDS):
                await self._redis.set(self._prefix + key, json.dumps(value), ex=self._ttl)
        except (RedisError, OSError) as error:
            self._pause_redis(error)

    def _pause_redis(self, error: Exception) -> str:
        self._rests_until = self._clock() + REST_SECONDS
        self._why = f"Redis is away ({type(error).__name__})"
        return f"off: {self._why}"
