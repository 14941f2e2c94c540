"""Cache entries in Redis, their heads mirrored in memory: one journey there tells what is new and brings entries."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError, ResponseError

from cluster.basics.cleanup import cleanup_on_error
from cluster.basics.errors import Unavailable
from cluster.basics.redis_link import RedisAway, RedisLink
from configs.sections_retrieval import CacheSettings
from serve_apps.retrieval.cache.cache_scope import CachePartition, registry_of
from serve_apps.retrieval.cache.mirror import EntryHead, PartitionMirror, unpack_head

SECONDS = 0.25  # longest wait for Redis: what is remembered must not cost more than finding it again
REST_SECONDS = 5.0  # after a failure Redis is left alone for so long
HEADS_AT_ONCE = 1_000

# KEYS: the place's index, the entry, the workspace's registry. ARGV: version of the corpus, head, entry, seconds to
# live, most entries, the place's name in the registry. What rests on an older version of the corpus is dropped; what
# comes late for an older version is not kept. The moment is the server's, so that all replicas read on from it.
_PUT = """
local known = redis.call('GET', KEYS[1] .. ':version')
if known and tonumber(known) > tonumber(ARGV[1]) then return 0 end
if known and known ~= ARGV[1] then
  for _, head in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    redis.call('UNLINK', KEYS[1] .. ':' .. string.sub(head, 1, 16))
  end
  redis.call('DEL', KEYS[1])
end
redis.call('SET', KEYS[1] .. ':version', ARGV[1], 'EX', ARGV[4])
local now = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%.0f', now[1] * 1000000 + now[2]), ARGV[2])
redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('SADD', KEYS[3], ARGV[6])
redis.call('EXPIRE', KEYS[3], ARGV[4])
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[5])
if over > 0 then
  for _, head in ipairs(redis.call('ZRANGE', KEYS[1], 0, over - 1)) do
    local old = KEYS[1] .. ':' .. string.sub(head, 1, 16)
    if old ~= KEYS[2] then redis.call('UNLINK', old) end
  end
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1)
end
return 1
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
# KEYS: the index of a place. Its entries go with it; their number is returned.
_CLEAR = """
local gone = 0
for _, head in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  gone = gone + redis.call('UNLINK', KEYS[1] .. ':' .. string.sub(head, 1, 16))
end
redis.call('DEL', KEYS[1], KEYS[1] .. ':version')
return gone
"""


class CacheAway(Unavailable):
    """The cache cannot be reached."""

    code = "cache_away"


class NotUnderstood(CacheAway):
    """The cache refused a command."""

    code = "cache_refused"


class CacheStore:
    """Entries as bytes. Every method may raise CacheAway; after a failure all do for a while, without asking Redis."""

    def __init__(self, redis: Redis, settings: CacheSettings, monotonic: Callable[[], float]) -> None:
        """`monotonic` gives seconds that only grow."""
        self._redis, self._settings = redis, settings
        self._link = RedisLink(redis, monotonic, wait=SECONDS, rest=REST_SECONDS, passes=(ResponseError,))
        self._mirrors: OrderedDict[str, PartitionMirror] = OrderedDict()
        self._counts: dict[str, Counter[str]] = {}

    def mirror(self, place: CachePartition) -> PartitionMirror:
        """In-memory mirror of a place; a new version of the corpus begins with an empty one."""
        mirror = self._mirrors.get(place.index)
        if mirror is None or mirror.version < place.version:
            mirror = self._mirrors[place.index] = PartitionMirror(place.version, self._settings.entries)
        self._mirrors.move_to_end(place.index)
        while len(self._mirrors) > self._settings.mirrors:
            self._mirrors.popitem(last=False)
        return mirror

    def count(self, workspace: str, what: str) -> None:
        """One more of `what`; told to Redis with the next journey there."""
        self._counts.setdefault(workspace, Counter())[what] += 1

    async def fetch(self, place: CachePartition, names: Sequence[str]) -> list[bytes | None]:
        """Entries by name, None where there is none; and the mirror learns which are new."""
        mirror = self.mirror(place)
        pipe = self._open_pipeline()
        pipe.zrangebyscore(place.index, mirror.read_to, "+inf", start=0, num=HEADS_AT_ONCE, withscores=True)
        pipe.mget([place.entry(name) for name in names] or [place.entry("none")])
        heads, found = await self._run_pipeline(pipe)
        if isinstance(found, ResponseError):
            raise NotUnderstood(str(found)[:200])
        if isinstance(heads, ResponseError):  # somebody wrote another type there
            self.count(place.workspace, "garbage")
            await self._call_redis(lambda: self._redis.unlink(place.index))
            heads = []
        if not (isinstance(heads, list) and isinstance(found, list)):
            raise self._note_failure(TypeError("no lists"))
        for raw, score in heads:
            head = unpack_head(raw)
            if head is None:
                self.count(place.workspace, "garbage")
            else:
                mirror.learn(head)
            mirror.read_to = max(mirror.read_to, score)
        return found[: len(names)]

    async def put(self, place: CachePartition, head: EntryHead, entry: bytes) -> bool:
        """Keep an entry; False where the corpus has moved on."""
        keys = (place.index, place.entry(head.name), place.registry)
        limits = (str(self._settings.ttl_seconds), str(self._settings.entries))
        version, member = str(place.version), place.index.partition(":")[2]
        try:
            kept = await self._call_redis(
                lambda: self._redis.eval(_PUT, 3, *keys, version, head.packed(), entry, *limits, member)
            )
        except NotUnderstood:
            self.count(place.workspace, "garbage")
            await self._call_redis(lambda: self._redis.unlink(place.index, f"{place.index}:version", place.registry))
            return False
        if kept:
            self.mirror(place).learn(head)
        return bool(kept)

    async def drop(self, place: CachePartition, name: str) -> None:
        """Remove an entry that cannot be read."""
        self.mirror(place).forget(name)
        await self._call_redis(lambda: self._redis.unlink(place.entry(name)))

    async def claim(self, place: CachePartition, name: str, token: str, seconds: float) -> bool:
        """Take the lock of a computation; True where this process has it, and others may wait for it as long."""
        lock, ms = place.entry(name) + ":lock", max(int(seconds * 1000), 1)
        return bool(await self._call_redis(lambda: self._redis.set(lock, token, nx=True, px=ms)))

    async def claimed(self, place: CachePartition, name: str) -> tuple[bytes | None, bool]:
        """The entry, and whether somebody still works it out."""
        key = place.entry(name)
        found, lock = await self._call_redis(lambda: self._redis.mget([key, key + ":lock"]))
        return found, lock is not None

    async def release(self, place: CachePartition, name: str, token: str) -> None:
        """Nobody needs to wait any longer."""
        lock = place.entry(name) + ":lock"
        await self._call_redis(lambda: self._redis.eval(_RELEASE, 1, lock, token))

    async def clear(self, workspace: str, agent: str | None) -> int:
        """Forget a workspace's entries, or only those of one agent; returns how many there were."""
        registry, gone = registry_of(workspace), 0
        for member in await self._registry_members(registry):
            if agent is None or member.partition(":")[0] == agent:
                index = f"rag_cache:{member}"
                gone += int(await self._call_redis(partial(self._redis.eval, _CLEAR, 1, index)))
                await self._call_redis(partial(self._redis.srem, registry, member))
                self._mirrors.pop(index, None)
        return gone

    async def counts(self, workspace: str) -> tuple[Mapping[str, int], int, int]:
        """Counters of all processes, and how many entries in how many places there are."""
        await self._run_pipeline(self._open_pipeline())
        pipe = self._open_pipeline()
        pipe.hgetall(_counter_key(workspace))
        (counted,) = await self._run_pipeline(pipe)
        members = await self._registry_members(registry_of(workspace))
        pipe = self._open_pipeline()
        for member in members:
            pipe.zcard(f"rag_cache:{member}")
        sizes = [size for size in await self._run_pipeline(pipe) if isinstance(size, int) and size]
        known = {} if isinstance(counted, ResponseError) else counted
        return {key.decode(): int(value) for key, value in known.items()}, sum(sizes), len(sizes)

    async def _registry_members(self, registry: str) -> list[str]:
        found = await self._call_redis(lambda: self._redis.smembers(registry))
        return sorted(member.decode("utf-8", "replace") for member in found)

    def _open_pipeline(self) -> Pipeline:
        return self._redis.pipeline(transaction=False)

    async def _run_pipeline(self, pipe: Pipeline) -> list[Any]:
        """The answers to what is in the pipe; what was counted since the last time goes along."""
        asked = len(pipe)
        counts, self._counts = self._counts, {}
        for workspace, counted in counts.items():
            for what, number in counted.items():
                pipe.hincrby(_counter_key(workspace), what, number)
        if not len(pipe):
            return []
        with cleanup_on_error(partial(self._count_again, counts)):
            answers: list[Any] = await self._call_redis(lambda: pipe.execute(raise_on_error=False))
        for answer in answers:
            if isinstance(answer, RedisError) and not isinstance(answer, ResponseError):
                raise self._note_failure(answer)
        return answers[:asked]

    def _count_again(self, counts: Mapping[str, Counter[str]]) -> None:
        for workspace, counted in counts.items():
            self._counts.setdefault(workspace, Counter()).update(counted)

    async def _call_redis(self, call: Callable[[], Any]) -> Any:
        try:
            return await self._link.call(lambda _: call())
        except ResponseError as error:
            raise NotUnderstood(str(error)[:200]) from error
        except RedisAway as error:
            raise CacheAway(self._link.why) from error

    def _note_failure(self, error: Exception) -> CacheAway:
        self._link.failed(error)
        return CacheAway(self._link.why)


def _counter_key(workspace: str) -> str:
    return f"rag_cache:counts:{workspace}"
