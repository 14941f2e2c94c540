"""Places of open streams, held as leases in Redis: what a killed process had is free again when they run out."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from redis.asyncio import Redis

from cluster.basics.redis_link import RedisAway, RedisLink
from cluster.state.limits.request_counts import PREFIX, REST_SECONDS
from cluster.state.limits.rules import LimitRule

# A set of leases by when they end. The server's own clock: replicas need not agree on the time.
_TAKE: Final = """
local t = redis.call('TIME')
local now = t[1] + t[2] / 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
local count = redis.call('ZCARD', KEYS[1])
if not held and count >= tonumber(ARGV[2]) then return {0, count} end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('EXPIRE', KEYS[1], math.ceil(tonumber(ARGV[3])) + 1)
return {1, held and count or count + 1}
"""


@dataclass(slots=True)
class StreamLeases:
    """Takes, renews and gives back places; while Redis is away those of this process are counted alone."""

    redis: Redis | None
    wait: float  # longest for an answer of Redis, in seconds
    seconds: float  # that a lease holds
    clock: Callable[[], float] = time.monotonic
    _mine: dict[str, set[str]] = field(default_factory=dict)  # rule's count to the leases of this process
    _link: RedisLink = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is asked yet."""
        fallback = "stream limits: fallback process_counts"
        self._link = RedisLink(self.redis, self.clock, wait=self.wait, rest=REST_SECONDS, fallback=fallback)

    async def take(self, rule: LimitRule) -> tuple[str | None, bool]:
        """A lease, None where all places are taken, and whether only this process counted."""
        lease = uuid4().hex
        taken, local = await self._hold(rule, lease)
        if taken:
            self._mine.setdefault(rule.counted_as, set()).add(lease)
        return (lease if taken else None), local

    async def renew(self, rule: LimitRule, lease: str) -> None:
        """Hold a place on; one that was lost with Redis is there again, and none is taken away from who has it."""
        await self._ask(rule, lease, most=2**31)

    async def give_back(self, rule: LimitRule, lease: str) -> None:
        """The place is free; where Redis is away, when the lease has run out there."""
        mine = self._mine.get(rule.counted_as, set())
        mine.discard(lease)
        if not mine:
            self._mine.pop(rule.counted_as, None)
        try:
            await self._link.call(lambda redis: redis.zrem(_leases_key(rule), lease))
        except RedisAway:
            return

    async def held(self, rule: LimitRule) -> int:
        """How many places are taken."""

        async def count(redis: Redis) -> int:
            now, _ = await redis.time()
            return int(await redis.zcount(_leases_key(rule), now, "+inf"))

        try:
            return int(await self._link.call(count))
        except RedisAway:
            return len(self._mine.get(rule.counted_as, ()))

    async def _hold(self, rule: LimitRule, lease: str) -> tuple[bool, bool]:
        answer = await self._ask(rule, lease, int(rule.amount))
        if answer is not None:
            return bool(answer[0]), False
        return len(self._mine.get(rule.counted_as, ())) < rule.amount, True

    async def _ask(self, rule: LimitRule, lease: str, most: int) -> Any | None:
        key = _leases_key(rule)
        try:
            return await self._link.call(lambda redis: redis.eval(_TAKE, 1, key, lease, most, self.seconds))
        except RedisAway:
            return None


def _leases_key(rule: LimitRule) -> str:
    return f"{PREFIX}:leases:{rule.counted_as}"
