"""The Redis that keeps Ray's cluster over a restart of its head: does it answer, and keep what it is given."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cluster.basics.errors import InvalidSettings, Unavailable

# A broken connection, and what its client raises over replies that are none of Redis.
_NO_REDIS = (redis.RedisError, OSError, TypeError, ValueError, LookupError, AttributeError)


@dataclass(frozen=True, slots=True)
class StoreState:
    """One that answers.

    Attributes:
        name: `host:port`, without its password.
        version: as it tells itself; empty where it tells nothing.
        persistent: it has what it was given after a restart of its own, too.
        evicts: it throws away what it was given where its memory is full.
    """

    name: str
    version: str = ""
    persistent: bool = True
    evicts: bool = False


def look_at_store(url: str, seconds: float = 5) -> StoreState:
    """Ask it once. Ray itself ends with a native backtrace where it is refused, or waits for a minute in silence.

    Raises InvalidSettings: the password is refused, or the URL is none; Unavailable: nobody answers, or no Redis does.
    """
    limits = {"socket_timeout": seconds, "socket_connect_timeout": seconds, "retry": Retry(NoBackoff(), 0)}
    try:
        place, client = urlsplit(url), redis.from_url(url, **limits)
        name = f"{place.hostname}:{place.port or 6379}"
    except ValueError as error:
        raise _not_a_url() from error
    if not place.hostname:
        raise _not_a_url()
    try:
        with client:
            client.ping()
            return _read_state(name, client)
    except redis.AuthenticationError as error:
        raise InvalidSettings(
            f"the Redis of Ray's cluster at {name} refuses the password: {error}",
            fix="Correct it in AOS_RAY_STORE_URL and where the head is started (`ray start --head --redis-password`).",
        ) from error
    except _NO_REDIS as error:
        why = f"{type(error).__name__} {error}".strip()
        raise Unavailable(
            f"the Redis of Ray's cluster does not answer at {name}: {why}",
            fix="Start it, or correct AOS_RAY_STORE_URL: no head starts without it, and one that runs ends.",
        ) from error


def _not_a_url() -> InvalidSettings:
    return InvalidSettings("AOS_RAY_STORE_URL is no URL of a Redis", fix="It is redis://HOST:PORT, or rediss://.")


def _read_state(name: str, client: redis.Redis) -> StoreState:
    try:
        told = client.info()
    except redis.ResponseError:  # this user may not ask
        return StoreState(name)
    saves = bool(told.get("aof_enabled"))
    evicts = bool(told.get("maxmemory")) and told.get("maxmemory_policy") != "noeviction"
    return StoreState(name, str(told.get("valkey_version", told.get("redis_version", ""))), saves, evicts)
