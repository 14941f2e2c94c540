"""The newest messages of conversations at hand in Redis; Postgres has them all and is right where the two differ."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from redis.asyncio import Redis

from cluster.basics.redis_link import RedisAway, RedisLink
from cluster.basics.scope import Scope
from cluster.state.conversations import ConversationStore, StoredMessage
from cluster.state.db.postgres import Database
from configs.sections import MemorySettings

LRU = "aos:memory:lru"
SECONDS = 0.3  # longest wait for Redis: Postgres answers in less
REST_SECONDS = 5.0  # after a failure Redis is left alone for so long: no turn waits for it again and again


class RecentMessages:
    """Cache-aside reading, write-through writing.

    A conversation is a sorted set of its newest messages by number. Whoever reads knows from Postgres how many messages
    there are, so a set with a gap, an old end or anything else in it is a miss: Redis can be flushed, miss writes or
    hold garbage at any time, and nobody reads anything wrong. A second sorted set holds when each conversation was
    last used; beyond `sessions` of them the least recent leave Redis.
    """

    def __init__(
        self,
        database: Database,
        conversations: ConversationStore,
        redis: Redis | None,
        settings: MemorySettings,
        clock: Callable[[], float],
    ) -> None:
        """Without `redis` everything is read from Postgres; `clock` gives seconds since 1970, alike on all replicas."""
        self._db, self._conversations, self._settings, self._clock = database, conversations, settings, clock
        told = "conversations: fallback postgres"
        self._redis = RedisLink(redis, clock, wait=SECONDS, rest=REST_SECONDS, fallback=told)

    async def load(self, scope: Scope, session: str, upto: int) -> list[StoredMessage]:
        """The newest `prompt_messages` up to `upto`, Postgres' number, oldest first; its owner was checked."""
        if upto < 1:
            return []
        first = max(1, upto - self._settings.prompt_messages + 1)
        found = await self._read_cache(scope, session, first, upto)
        if found is not None:
            return found
        async with self._db.transaction(scope) as tx:
            stored = await self._conversations.last(tx, scope, session, upto=upto, limit=upto - first + 1)
        await self._write_cache(scope, session, stored, afresh=True)
        return stored

    async def refresh(self, scope: Scope, session: str, stored: Sequence[StoredMessage]) -> None:
        """Add what was just committed to Postgres; a failure is logged, and heals with the next reading."""
        if stored:
            await self._write_cache(scope, session, stored, afresh=False)

    async def forget(self, scope: Scope, session: str) -> None:
        """Take a conversation out of Redis."""
        key = _session_key(scope, session)

        async def forget(redis: Redis) -> None:
            async with redis.pipeline(transaction=True) as pipe:
                pipe.delete(key)
                pipe.zrem(LRU, key)
                await pipe.execute()

        with suppress(RedisAway):
            await self._redis.call(forget)

    async def _read_cache(self, scope: Scope, session: str, first: int, upto: int) -> list[StoredMessage] | None:
        """The messages in Redis if exactly those wanted are there."""
        key = _session_key(scope, session)

        async def read(redis: Redis) -> Any:
            async with redis.pipeline(transaction=False) as pipe:
                pipe.zrangebyscore(key, first, upto)
                pipe.expire(key, self._settings.ttl_seconds)
                pipe.zadd(LRU, {key: self._clock()}, xx=True)
                members, *_ = await pipe.execute()
            return members

        try:
            members = await self._redis.call(read)
        except RedisAway:
            return None
        try:
            stored = [_decode_message(member) for member in members]
        except (ValueError, TypeError, LookupError):
            return None
        return stored if [one.seq for one in stored] == list(range(first, upto + 1)) else None

    async def _write_cache(self, scope: Scope, session: str, stored: Sequence[StoredMessage], *, afresh: bool) -> None:
        key, settings = _session_key(scope, session), self._settings
        members = {_encode_message(one): one.seq for one in stored}
        if not members:
            return

        async def write(redis: Redis) -> None:
            async with redis.pipeline(transaction=True) as pipe:
                if afresh:
                    pipe.delete(key)
                pipe.zadd(key, members)
                pipe.zremrangebyrank(key, 0, -settings.prompt_messages - 1)
                pipe.expire(key, settings.ttl_seconds)
                pipe.zadd(LRU, {key: self._clock()})
                # Its entries older than the lifetime of what they stand for say nothing.
                pipe.expire(LRU, settings.ttl_seconds)
                pipe.zcard(LRU)
                *_, known = await pipe.execute()
            if (many := int(known) - settings.sessions) > 0:
                popped: Any = await redis.zpopmin(LRU, many)
                if popped:
                    await redis.delete(*(member for member, _ in popped))

        with suppress(RedisAway):
            await self._redis.call(write)


def _session_key(scope: Scope, session: str) -> str:
    """Nothing crosses a tenant or a workspace, even where ids were alike."""
    return f"aos:memory:{scope.tenant}:{scope.workspace}:{session}"


def _encode_message(stored: StoredMessage) -> str:
    """The number is part of it: a member of a sorted set stands there once."""
    return json.dumps(
        [stored.seq, stored.role, stored.text, stored.run, dict(stored.findings), stored.at.isoformat()],
        ensure_ascii=False,
    )


def _decode_message(member: Any) -> StoredMessage:
    """As `_encode_message` made it; raises ValueError, TypeError or LookupError where somebody else made it."""
    seq, role, text, run, findings, at = json.loads(member)
    if role not in ("user", "assistant") or not isinstance(text, str) or not isinstance(seq, int):
        raise ValueError("no message")
    if not isinstance(findings, dict) or not (run is None or isinstance(run, str)):
        raise ValueError("no message")
    return StoredMessage(seq, role, text, run, findings, datetime.fromisoformat(at))
