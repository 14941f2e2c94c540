"""Failed logins are counted for all replicas together, in a real Valkey."""

import logging
from pathlib import Path
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from cluster.state.db.embedded import StateEndpoints
from serve_apps.http.auth.throttle import (
    ANYWHERE,
    FREE,
    SPRAYED,
    GuessLimiter,
    ProcessThrottle,
    SharedThrottle,
    TooManyAttempts,
)


def replica(url: str) -> tuple[SharedThrottle, Redis]:
    redis = Redis.from_url(url, socket_timeout=1)
    return SharedThrottle(redis, ProcessThrottle(lambda: 0.0)), redis


async def test_two_replicas_count_together(endpoints: StateEndpoints) -> None:
    (one, first), (other, second) = replica(endpoints.redis), replica(endpoints.redis)
    who = uuid4().hex
    async with first, second:
        for _ in range(FREE - 1):
            await one.failed(who)
        await other.check(who)
        await other.failed(who)
        for throttle in (one, other):
            with pytest.raises(TooManyAttempts) as refused:
                await throttle.check(who)
            assert refused.value.retry_after == 1
        await one.check("somebody else")
        await one.succeeded(who)
        await other.check(who)
        await other.failed(who)
        await other.check(who)
        keys = [key async for key in first.scan_iter("aos:login:*")]
        lives = [await first.ttl(key) for key in keys]
        assert lives and min(lives) > 0, "nothing is kept for ever"
        assert not any(who.encode() in key for key in keys)


async def test_without_redis_each_process_counts_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    throttle, redis = replica(f"unix://{tmp_path}/none.sock")
    async with redis:
        with caplog.at_level(logging.WARNING):
            for _ in range(FREE):
                await throttle.check("me")
                await throttle.failed("me")
            with pytest.raises(TooManyAttempts):
                await throttle.check("me")
            await throttle.succeeded("me")
            await throttle.check("me")
    said = [record.message for record in caplog.records if "process_counts" in record.message]
    assert len(said) == 1, "said once, not with every login"


async def test_a_good_record_is_every_replicas(endpoints: StateEndpoints) -> None:
    """Whoever has signed in at one replica gets through at another while a thousand addresses guess."""
    (one, first), (other, second) = replica(endpoints.redis), replica(endpoints.redis)
    account = uuid4().hex
    async with first, second:
        await GuessLimiter(one, account, "192.0.2.7").succeeded()
        for number in range(FREE * ANYWHERE):
            await GuessLimiter(other, account, f"10.0.0.{number}").failed()
        await GuessLimiter(other, account, "192.0.2.7").check()
        with pytest.raises(TooManyAttempts):
            await GuessLimiter(other, account, "192.0.2.8").check()


async def test_who_sprays_passwords_over_a_directory_is_slowed_on_the_machine_itself_too(
    endpoints: StateEndpoints,
) -> None:
    """Behind a proxy that nobody has told of, everybody has the machine's address; an owner there waits for no one."""
    throttle, going = replica(endpoints.redis)
    among, account = uuid4().hex, uuid4().hex
    async with going:
        for number in range(FREE * ANYWHERE):
            await GuessLimiter(throttle, account, f"10.0.0.{number}", among=among).failed()
        await GuessLimiter(throttle, account, "127.0.0.1", among=among).check()
        for _ in range(FREE * SPRAYED):
            await GuessLimiter(throttle, uuid4().hex, "127.0.0.1", among=among).failed()
        with pytest.raises(TooManyAttempts):
            await GuessLimiter(throttle, uuid4().hex, "127.0.0.1", among=among).check()
