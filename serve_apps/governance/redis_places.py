"""Keys of Redis that remember a workspace or a login: forgotten, and searched for marks."""

from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import Any, Final

from redis.asyncio import Redis

from cluster.basics.redis_link import RedisLink
from cluster.basics.scope import Scope
from serve_apps.governance.marks import ErasureMarks, MarkFinder
from serve_apps.retrieval.cache.cache_scope import registry_of

REDIS_SECONDS: Final = 10.0
_LRU: Final = "aos:memory:lru"
_OF_WORKSPACES: Final = ("aos:memory:", "aos:vectors:", "aos:folders:", "rag_cache:")
_KINDS: Final = ("memory", "vectors", "folders")
_PATTERNS: Final = ("aos:*", "rag_cache:*")


class RedisPlaces:
    """Every method raises RedisAway where one is configured and cannot be reached; without one there is nothing."""

    def __init__(self, redis: Redis | None) -> None:
        self._redis = redis

    async def forget(self, tenant: str, workspace: str) -> int:
        """Delete what is remembered of a workspace: messages, vectors, folders, searches, answers. How many keys."""

        async def forget(redis: Redis) -> int:
            home = f"aos:memory:{tenant}:{workspace}:"
            others = (f"aos:{kind}:{tenant}:{workspace}*" for kind in ("vectors", "folders"))
            went = await _unlink_keys(redis, f"{home}*", *others)
            places: Any = await redis.smembers(registry_of(workspace))
            for place in places:
                went += await _unlink_keys(redis, f"{_text(place)}*")
            await redis.unlink(registry_of(workspace))
            known = [name async for name, _ in redis.zscan_iter(_LRU, match=f"{home}*")]
            if known:
                await redis.zrem(_LRU, *known)
            return went

        return await self._call(forget)

    async def forget_login(self, email: str) -> int:
        """Delete the counts of wrong passwords of an address, which stand under its hash."""
        hashed = sha256(email.encode("utf-8", "surrogatepass")).hexdigest()
        return await self._call(lambda redis: _unlink_keys(redis, f"aos:login:*:{hashed}"))

    async def find(self, finder: MarkFinder, marks: ErasureMarks, homes: Sequence[Scope]) -> int:
        """How many keys of some workspaces, or that all share, have a mark, in their name or in what they hold."""
        own = [f"aos:{kind}:{home.tenant}:{home.workspace}" for home in homes for kind in _KINDS]

        async def find(redis: Redis) -> int:
            found, places = 0, [registry_of(home.workspace) for home in homes]
            for home in homes:
                members: Any = await redis.smembers(registry_of(home.workspace))
                places += [_text(place) for place in members]
            for pattern in _PATTERNS:
                async for key in redis.scan_iter(match=pattern, count=1000):
                    if _text(key).startswith(_OF_WORKSPACES) and not _text(key).startswith((*own, _LRU, *places)):
                        continue
                    texts = [_text(key), *[one async for one in _values(redis, key)]]
                    found += finder.is_in(marks, texts)
            return found

        return await self._call(find, wait=None)

    async def _call(self, work: Any, wait: float | None = REDIS_SECONDS) -> int:
        return 0 if self._redis is None else int(await RedisLink(self._redis, wait=wait).call(work))


async def _values(redis: Redis, key: bytes) -> AsyncIterator[str]:
    match _text(await redis.type(key)):
        case "string":
            yield _text(await redis.get(key) or b"")
        case "set":
            async for member in redis.sscan_iter(key):
                yield _text(member)
        case "zset":
            async for member, _ in redis.zscan_iter(key):
                yield _text(member)
        case "hash":
            async for name, value in redis.hscan_iter(key):
                yield _text(name)
                yield _text(value)
        case "list":
            held: Any = await redis.lrange(key, 0, -1)
            for member in held:
                yield _text(member)


async def _unlink_keys(redis: Redis, *patterns: str) -> int:
    went = 0
    for pattern in patterns:
        async for key in redis.scan_iter(match=pattern, count=1000):
            went += int(await redis.unlink(key))
    return went


def _text(raw: Any) -> str:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
