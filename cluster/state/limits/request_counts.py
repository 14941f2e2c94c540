"""Requests in sliding windows, counted in Redis for all replicas; in this process while Redis is away."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import Redis

from cluster.basics.redis_link import RedisAway, RedisLink
from cluster.state.limits.rules import LimitRule

REST_SECONDS: Final = 1.0
PREFIX: Final = "aos:limits"
KEPT_REFUSALS: Final = 20_000


@dataclass(frozen=True, slots=True)
class LimitState:
    """How a limit stands after a request was counted against it.

    Attributes:
        allowed: False where it is used up; what was refused is not counted.
        left: how much there is still, at the moment of the answer.
        reset: seconds until there is more.
        local: True where only this process counts, as Redis is away.
    """

    rule: LimitRule
    allowed: bool
    left: int
    reset: float
    local: bool = False


@dataclass(slots=True)
class RequestCounts:
    """A sliding-window counter for each rule's subject (`limits`): memory does not grow with the amount.

    Whoever is refused is refused from memory until there may be more, so that a flood costs Redis little.
    """

    redis: Redis | None
    wait: float  # longest for an answer of Redis, in seconds
    clock: Callable[[], float] = time.monotonic
    _refused: dict[str, tuple[float, LimitState]] = field(default_factory=dict)
    _link: RedisLink = field(init=False)
    _shared: SlidingWindowCounterRateLimiter | None = field(init=False)
    _local: SlidingWindowCounterRateLimiter = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is asked yet."""
        fallback = "rate limits: fallback process_counts"
        self._link = RedisLink(self.redis, self.clock, wait=self.wait, rest=REST_SECONDS, fallback=fallback)
        self._local = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared = None if self.redis is None else _shared_limiter(self.redis)

    async def hit(self, rule: LimitRule, cost: int = 1) -> LimitState:
        """Count a request, where there is room for it."""
        known = self._refused.get(rule.counted_as)
        if known is not None and known[1].rule == rule and self.clock() < known[0]:
            return known[1]
        state = await self._ask(rule, cost)
        if not state.allowed:
            self._remember(state)
        return state

    async def look(self, rule: LimitRule) -> LimitState:
        """How it stands, without counting anything."""
        return await self._ask(rule, 0)

    async def _ask(self, rule: LimitRule, cost: int) -> LimitState:
        item = RateLimitItemPerSecond(int(rule.amount), rule.seconds, namespace="")

        def asked(limiter: SlidingWindowCounterRateLimiter) -> Any:
            return _count_and_look(limiter, item, rule.counted_as, cost)

        try:
            if self._shared is None:
                raise RedisAway("no Redis is configured")
            shared, local = self._shared, False
            allowed, left, reset = await self._link.call(lambda _: asked(shared))
        except RedisAway:
            allowed, left, reset = await asked(self._local)
            local = True
        return LimitState(rule, allowed, left, reset, local)

    def _remember(self, state: LimitState) -> None:
        # A window slides: there may be room again sooner than was told, but not before the next part of a second.
        until = self.clock() + min(state.reset, REST_SECONDS)
        self._refused.pop(state.rule.counted_as, None)
        self._refused[state.rule.counted_as] = (until, state)
        while len(self._refused) > KEPT_REFUSALS:
            self._refused.pop(next(iter(self._refused)))


async def _count_and_look(
    limiter: SlidingWindowCounterRateLimiter, item: RateLimitItem, name: str, cost: int
) -> tuple[bool, int, float]:
    allowed = await limiter.hit(item, name, cost=cost) if cost else True
    stats = await limiter.get_window_stats(item, name)
    reset = max(0.0, stats.reset_time - time.time())
    return allowed, stats.remaining if allowed else 0, reset


def _shared_limiter(redis: Redis) -> SlidingWindowCounterRateLimiter:
    # The client that is there already, with its pool and its timeouts.
    options: dict[str, Any] = {"connection_pool": redis.connection_pool}
    storage = RedisStorage("async+redis://", implementation="redispy", key_prefix=PREFIX, **options)
    return SlidingWindowCounterRateLimiter(storage)
