"""Guessing passwords gets slow: failures in a row are counted in Redis for all replicas, here while Redis is away."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Protocol

from redis.asyncio import Redis

from cluster.basics.errors import Transient
from cluster.basics.redis_link import RedisAway, RedisLink

log = logging.getLogger(__name__)

FREE = 5
# Times as many are free for an address over all accounts of a directory or a provider: an office may have only one.
SPRAYED = 20
ANYWHERE = 10  # times as many are free for an account from all addresses together, of which a caller can name many
LONGEST_SECONDS = 60.0
REMEMBERED_SECONDS = 3600
LOOPBACK = "127.0.0.1"
GOOD_SECONDS = 30 * 24 * 3600  # for so long an address is known as one from which somebody has signed in


class TooManyAttempts(Transient):
    """Too many failed attempts; wait before the next one."""

    code, status = "too_many_attempts", 429

    def __init__(self, seconds: float) -> None:
        self.retry_after = max(1, round(seconds))
        super().__init__(f"wait {self.retry_after} seconds")


class LoginThrottle(Protocol):
    """After some free failures in a row each further one doubles the wait."""

    async def check(self, who: str) -> None:
        """Refuse while there is something to wait for. Raises TooManyAttempts: with the seconds."""
        ...

    async def failed(self, who: str, room: int = 1) -> None:
        """Count a failure; `room` times the usual number of them are free."""
        ...

    async def succeeded(self, who: str) -> None:
        """Forget the failures."""
        ...

    async def known(self, who: str) -> bool:
        """True if this caller has a good record."""
        ...

    async def remember(self, who: str) -> None:
        """Give this caller a good record, for a month."""
        ...

    def turn(self, who: str) -> AbstractAsyncContextManager[None]:
        """One guess at a time in this process: those that come together would all be let in before one has failed."""
        ...


class GuessLimiter:
    """Counts failed logins by account and address together, and by account from any address.

    Whoever guesses from a thousand addresses makes others wait who try the account from a new one, but not its owner,
    who has signed in from theirs before, nor whoever sits at the machine itself.
    """

    def __init__(self, throttle: LoginThrottle, account: str, address: str, *, among: str = "") -> None:
        """`address` is that of whoever is connected, or what a trusted proxy says of them.

        `among`: a directory, over all of whose accounts an address is counted, too: one password tried on each of a
        thousand is few failures of any.
        """
        place = network_of(address)
        self._throttle, self._here, self._account = throttle, f"{account} {place}", account
        self._sprayer = f"{among} {place}" if among else ""
        self._on_machine = place == LOOPBACK

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Guess inside of it, and tell how that ended. Raises TooManyAttempts: as `check`."""
        async with self._throttle.turn(self._account):
            await self.check()
            yield

    async def check(self) -> None:
        """As in Throttle."""
        await self._throttle.check(self._here)
        if await self._throttle.known(self._here):
            return
        # On the machine itself an owner is let in while others guess without end from everywhere else.
        if not self._on_machine:
            await self._throttle.check(self._account)
        if self._sprayer:  # also there: behind a proxy that nobody has told of everybody's address is the machine's
            await self._throttle.check(self._sprayer)

    async def failed(self) -> None:
        """As in Throttle."""
        if self._sprayer:  # never forgotten for a success: whoever sprays may have an account
            await self._throttle.failed(self._sprayer, SPRAYED)
        await self._throttle.failed(self._account, ANYWHERE)
        await self._throttle.failed(self._here)

    async def succeeded(self) -> None:
        """As in Throttle."""
        await self._throttle.succeeded(self._account)
        await self._throttle.succeeded(self._here)
        await self._throttle.remember(self._here)


def network_of(address: str) -> str:
    """The address itself; of IPv6 the network of 64 bits that one line has (RFC 6177): its addresses are countless.

    Those of this machine are one.
    """
    try:
        found: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return LOOPBACK
    return str(found if found.version == 4 else ip_network((int(found) >> 64 << 64, 64)))


def wait_after(failures: int, free: int = FREE, longest: float = LONGEST_SECONDS) -> float:
    """Seconds to wait after so many failures in a row."""
    return 0.0 if failures < free else min(longest, 2.0 ** min(failures - free, 30))


@dataclass(frozen=True, slots=True)
class _Failures:
    count: int
    until: float


class ProcessThrottle:
    """A `LoginThrottle` that counts in this process; over n replicas a caller has n times as many guesses."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        free: int = FREE,
        longest: float = LONGEST_SECONDS,
        remembered: int = 10_000,
    ):
        """`clock` gives seconds that only grow; `remembered` bounds the memory."""
        self._clock, self._free, self._longest, self._remembered = clock, free, longest, remembered
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._good: OrderedDict[str, float] = OrderedDict()  # until when
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}  # with how many have one or wait for it

    def __len__(self) -> int:
        """Number of callers with counted failures."""
        return len(self._failures)

    async def check(self, who: str) -> None:
        """As in Throttle."""
        known = self._failures.get(who)
        left = 0 if known is None else known.until - self._clock()
        if left > 0:
            raise TooManyAttempts(left)

    async def failed(self, who: str, room: int = 1) -> None:
        """As in Throttle."""
        known = self._failures.pop(who, None)
        count = 1 if known is None else known.count + 1
        wait = wait_after(count, self._free * room, self._longest)
        self._failures[who] = _Failures(count, self._clock() + wait)
        while len(self._failures) > self._remembered:
            self._failures.popitem(last=False)

    async def succeeded(self, who: str) -> None:
        """As in Throttle."""
        self._failures.pop(who, None)

    async def known(self, who: str) -> bool:
        """As in Throttle."""
        return self._good.get(who, self._clock()) > self._clock()

    async def remember(self, who: str) -> None:
        """As in Throttle."""
        self._good.pop(who, None)
        self._good[who] = self._clock() + GOOD_SECONDS
        while len(self._good) > self._remembered:
            self._good.popitem(last=False)

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """As in Throttle."""
        lock, waiting = self._turns.get(who, (asyncio.Lock(), 0))
        self._turns[who] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            _, waiting = self._turns[who]
            if waiting > 1:
                self._turns[who] = (lock, waiting - 1)
            else:
                del self._turns[who]


class SharedThrottle:
    """A `LoginThrottle` whose counts every replica sees.

    Without Redis nobody is locked out: until it is back, this process counts for itself, and the log says so.
    """

    def __init__(self, redis: Redis, process: ProcessThrottle) -> None:
        self._process, self._redis = process, RedisLink(redis, fallback="login throttle: fallback process_counts")

    async def check(self, who: str) -> None:
        """As in Throttle."""
        await self._process.check(who)
        with suppress(RedisAway):
            left = await self._redis.call(lambda redis: redis.pttl(_throttle_key("wait", who)))
            if left > 0:
                raise TooManyAttempts(left / 1000)

    async def failed(self, who: str, room: int = 1) -> None:
        """As in Throttle."""
        key = _throttle_key("failures", who)

        async def count(redis: Redis) -> None:
            async with redis.pipeline(transaction=True) as pipe:
                pipe.incr(key)
                pipe.expire(key, REMEMBERED_SECONDS)
                count, _ = await pipe.execute()
            if wait := wait_after(int(count), FREE * room):
                await redis.set(_throttle_key("wait", who), 1, px=round(wait * 1000))

        try:
            await self._redis.call(count)
        except RedisAway:
            await self._process.failed(who, room)

    async def succeeded(self, who: str) -> None:
        """As in Throttle."""
        await self._process.succeeded(who)
        with suppress(RedisAway):
            await self._redis.call(
                lambda redis: redis.delete(_throttle_key("failures", who), _throttle_key("wait", who))
            )

    async def known(self, who: str) -> bool:
        """As in Throttle."""
        if await self._process.known(who):
            return True
        with suppress(RedisAway):
            return bool(await self._redis.call(lambda redis: redis.exists(_throttle_key("good", who))))
        return False

    async def remember(self, who: str) -> None:
        """As in Throttle."""
        await self._process.remember(who)
        with suppress(RedisAway):
            await self._redis.call(lambda redis: redis.set(_throttle_key("good", who), 1, ex=GOOD_SECONDS))

    def turn(self, who: str) -> AbstractAsyncContextManager[None]:
        """As in Throttle."""
        return self._process.turn(who)


def _throttle_key(kind: str, who: str) -> str:
    """Addresses are not kept in plain text."""
    return f"aos:login:{kind}:{sha256(who.encode('utf-8', 'surrogatepass')).hexdigest()}"
