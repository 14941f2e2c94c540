"""Routing decisions in a real Redis, and without one."""

from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from serve_apps.agents.intake.path_router import read_rules
from serve_apps.agents.intake.route_cache import TTL_SECONDS, CachedRouter
from serve_apps.agents.turn_ports import TurnPath as Way

RULES = read_rules(Path(__file__).resolve().parents[2] / "configs" / "routing.yaml")


async def test_replicas_share_decisions(redis_url: str) -> None:
    """OR-05: what one replica decided, another finds; flushing loses nothing but time."""
    redis = Redis.from_url(redis_url)
    try:
        await redis.flushdb()
        one, other = (CachedRouter(RULES, redis, lambda: 0.0) for _ in range(2))
        first, second = await one.route("Show the dashboard"), await other.route("show the dashboard")
        assert (first.cached, second.cached) == ("miss", "hit")
        assert first.routed == second.routed
        (key,) = await redis.keys("aos:route:*")
        assert 0 < await redis.ttl(key) <= TTL_SECONDS
        await redis.flushdb()
        assert (await other.route("Show the dashboard")).cached == "miss"
        await redis.set(key, b"\xff\x00 no json")
        assert (await other.route("Show the dashboard")).routed.path is Way.ANALYTICS
    finally:
        await redis.aclose()


async def test_a_port_where_nobody_listens_is_shown_in_the_trace() -> None:
    """OR-05, OB-04."""
    redis = Redis.from_url("redis://127.0.0.1:9", retry=Retry(NoBackoff(), 0))
    try:
        traced = await CachedRouter(RULES, redis, lambda: 0.0).route("Show the dashboard")
    finally:
        await redis.aclose()
    assert traced.routed.path is Way.ANALYTICS
    assert traced.data["cached"] == "off: Redis is away (ConnectionError)"
