"""Checks of what Redis remembers: of workspaces, conversations and documents that are gone."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis

from cluster.basics.redis_link import RedisLink
from cluster.state.db.postgres import load_queries
from serve_apps.integrity.examination import Examination
from serve_apps.integrity.integrity_finding import EXAMPLES, Family, IntegrityFinding, some

_SQL: Final = load_queries(Path(__file__).with_suffix(".sql"))
KEYS_AT_ONCE: Final = 500
_DOCUMENT: Final = re.compile(rb'"document_id": ?"([^"\\]{1,200})"')
_LRU: Final = "aos:memory:lru"


@dataclass(frozen=True, slots=True)
class CacheRule:
    """Keys by a pattern, and what each is about; `gone` is a query of cache_checks.sql that says which are not there.

    Attributes:
        about: the ids that a key names, of its parts between colons.
        reads: whether documents are named in the value instead.
    """

    name: str
    what: str
    pattern: str
    gone: str
    about: Callable[[list[str]], str | None] = lambda _: None
    reads: bool = False


def _part(number: int, parts: int) -> Callable[[list[str]], str | None]:
    return lambda key: key[number] if len(key) >= parts else None


RULES: Final = (
    CacheRule(
        "memory_of_gone_session",
        "messages of conversations that are gone",
        "aos:memory:*",
        "gone_sessions",
        _part(4, 5),
    ),
    *(
        CacheRule(
            f"{kind}_of_gone_workspace", f"{kind} of workspaces that are gone", pattern, "gone_workspaces", _part(*at)
        )
        for kind, pattern, at in (
            ("memory", "aos:memory:*", (3, 5)),
            ("vectors", "aos:vectors:*", (3, 4)),
            ("folders", "aos:folders:*", (3, 5)),
            ("places", "rag_cache:places:*", (2, 3)),
            ("counts", "rag_cache:counts:*", (2, 3)),
        )
    ),
    CacheRule(
        "answer_of_gone_document",
        "searches and answers that name documents which are gone",
        "rag_cache:*:????????????????????????????????:????????????????",
        "gone_documents",
        reads=True,
    ),
)


@dataclass(frozen=True, slots=True)
class CacheKeys:
    """The keys of one rule, some hundred at a time; what was remembered is worked out again where it is asked for."""

    rule: CacheRule
    redis: Redis
    family: Family = Family.CACHE

    @property
    def name(self) -> str:
        """As the rule's."""
        return self.rule.name

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """Raises RedisAway."""
        count, mended, names = 0, 0, list[str]()
        async for keys in self._batches():
            gone = await self._gone(work, keys)
            count += len(gone)
            names += gone[: max(EXAMPLES - len(names), 0)]
            if gone and work.apply:
                async with work.mending(None):
                    await work.record(self.name, "redis", {"keys": gone})
                    mended += await self._call(partial(_forget, keys=gone))
        if not count:
            return []
        return [IntegrityFinding(self.family, self.name, self.rule.what, "redis", count, some(names), True, mended)]

    async def _batches(self) -> AsyncIterator[list[str]]:
        cursor = 0
        while True:
            cursor, found = await self._call(partial(_scan, cursor=cursor, pattern=self.rule.pattern))
            keys = [key.decode("utf-8", "replace") for key in found]
            if keys := [key for key in keys if key != _LRU]:
                yield keys
            if cursor == 0:
                return

    async def _gone(self, work: Examination, keys: list[str]) -> list[str]:
        """Keys of which something is not there any more."""
        about = await self._named_documents(keys) if self.rule.reads else self._named_in_keys(keys)
        ids = sorted({id_ for some_ids in about.values() for id_ in some_ids})
        if not ids:
            return []
        gone = {row["id"] for row in await work.rows(_SQL[self.rule.gone], ids=ids)}
        return [key for key, some_ids in about.items() if gone & some_ids]

    def _named_in_keys(self, keys: list[str]) -> dict[str, set[str]]:
        named = {key: self.rule.about(key.split(":")) for key in keys}
        return {key: {id_} for key, id_ in named.items() if id_ is not None}

    async def _named_documents(self, keys: list[str]) -> dict[str, set[str]]:
        values = await self._call(lambda redis: redis.mget(keys))
        return {
            key: {id_.decode("utf-8", "replace") for id_ in _DOCUMENT.findall(value or b"")}
            for key, value in zip(keys, values, strict=True)
        }

    async def _call(self, work: Callable[[Redis], Any]) -> Any:
        return await RedisLink(self.redis).call(work)


async def _scan(redis: Redis, cursor: int, pattern: str) -> Any:
    return await redis.scan(cursor, match=pattern, count=KEYS_AT_ONCE)


async def _forget(redis: Redis, keys: list[str]) -> int:
    """The keys, and what else is known of a place."""
    await redis.zrem(_LRU, *keys)
    for key in (key for key in keys if key.startswith("rag_cache:places:")):
        members: Any = await redis.smembers(key)
        for place in (member.decode("utf-8", "replace") for member in members):
            full = place if place.startswith("rag_cache:") else f"rag_cache:{place}"
            async for other in redis.scan_iter(match=f"{full}*", count=KEYS_AT_ONCE):
                await redis.unlink(other)
    return int(await redis.unlink(*keys))
