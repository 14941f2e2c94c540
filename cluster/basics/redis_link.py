"""Redis where it may be away: a longest wait, a rest after a failure, and a line in the log when it goes or is back."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from cluster.basics.errors import Unavailable

log = logging.getLogger("aos.redis")

# Its own errors, a broken connection, and what its client raises over replies that are none of Redis.
_FAILURES = (RedisError, OSError, TypeError, ValueError, LookupError, AttributeError)


class RedisAway(Unavailable):
    """Redis is away."""

    code = "redis_away"


class RedisLink:
    """Calls Redis for somebody who can do without; `why` is the kind of the last failure."""

    def __init__(
        self,
        redis: Redis | None,  # None where none is configured, as if it were always away
        clock: Callable[[], float] = time.monotonic,  # seconds
        *,
        wait: float | None = None,  # longest for an answer, in seconds; None as long as the client does
        rest: float = 0.0,  # seconds for which Redis is left alone after a failure: nobody waits for it again and again
        fallback: str = "",  # whose and which, `parts: fallback what`; named in the log, once each time it begins
        passes: tuple[type[RedisError], ...] = (),  # answers that are the caller's to understand
    ) -> None:
        self._redis, self._clock, self._wait, self._rest = redis, clock, wait, rest
        self._fallback, self._passes = fallback, passes
        self._rests_until, self._is_away, self.why = 0.0, False, ""

    @property
    def resting(self) -> bool:
        """True where a call would not ask."""
        return self._redis is None or self._clock() < self._rests_until

    async def call(self, work: Callable[[Redis], Any]) -> Any:
        """The awaited result of `work`. Raises RedisAway: it could not be asked, was too slow, or answered nonsense."""
        if self._redis is None:
            raise RedisAway("no Redis is configured")
        if self.resting:
            raise RedisAway(f"Redis is away ({self.why})")
        try:
            async with asyncio.timeout(self._wait):
                found = await work(self._redis)
        except self._passes:
            raise
        except _FAILURES as error:
            raise self.failed(error) from error
        if self._is_away and self._fallback:
            log.warning("%s: Redis is back", self._fallback.partition(":")[0])
        self._is_away = False
        return found

    def failed(self, error: Exception) -> RedisAway:
        """Let Redis rest, for what it answered is none; the error to raise."""
        if self._fallback and not self._is_away:
            log.warning("%s, as Redis is away: %s: %s", self._fallback, type(error).__name__, error)
        self._is_away, self._rests_until, self.why = True, self._clock() + self._rest, type(error).__name__
        return RedisAway(f"Redis is away ({self.why})")
