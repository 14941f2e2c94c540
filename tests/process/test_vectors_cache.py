"""Vectors of questions in a real Valkey: shared by replicas, apart by workspace, and never the reason for an error."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest
from redis.asyncio import Redis

from cluster.basics.errors import Overloaded
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.embedding.migration import EmbedderMoved, VectorSpace, select_embedder
from cluster.models.embedding.vectors_cache import MOST_TEXTS, REST_SECONDS, VectorCache, with_workspace_cache
from cluster.models.ports import EmbedderFacts, EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings
from tests.fakes.models import FakeEmbedder, MovingEmbedder
from tests.fakes.valkey import Valkey, babbler, client, valkey

HOME = Scope(TenantId("t"), WorkspaceId("w"))
OTHER = Scope(TenantId("t"), WorkspaceId("other"))
SETTINGS = EmbeddingSettings(cache_entries=3)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with valkey(tmp_path_factory.mktemp("valkey")) as made:
        yield made


@pytest.fixture
async def redis(server: Valkey) -> AsyncIterator[Redis]:
    async with client(server.url) as made:
        await made.flushall()
        yield made


async def test_a_question_is_embedded_once_for_all_replicas(redis: Redis) -> None:
    """EM-08: by content hash and model; the vector is the same to the last bit."""
    inner = FakeEmbedder()
    one, two = (VectorCache(inner, redis, SETTINGS, Clock()) for _ in range(2))
    first = await one.of(HOME).embed(["oil pump", "cats", "oil pump"])
    second = await two.of(HOME).embed(["cats", "dogs", "oil pump"])
    assert inner.asked == [(EmbeddingLane.QUESTION, ["oil pump", "cats"]), (EmbeddingLane.QUESTION, ["dogs"])]
    assert np.array_equal(first[[1, 0]], second[[0, 2]]) and second.dtype == np.float32
    assert two.stats() == {"hits": 2, "misses": 1, "broken": 0, "away": 0}
    assert await one.of(HOME).facts() == await one.facts() == await inner.facts()
    await with_workspace_cache(two, HOME).embed(["dogs"])
    await with_workspace_cache(inner, HOME).embed(["dogs"])
    assert len(inner.asked) == 3, "an embedder without a memory stays what it is"


async def test_no_vector_is_kept_under_the_name_of_a_model_that_did_not_make_it(redis: Redis) -> None:
    """X-04: the replicas may be updated while Redis is asked."""
    now, after = FakeEmbedder(), FakeEmbedder(fingerprint="after")
    moving = MovingEmbedder(now, after, at_once=True)
    with pytest.raises(EmbedderMoved):
        await VectorCache(moving, redis, SETTINGS, Clock()).of(HOME).embed(["oil pump"])
    assert not await redis.keys("*") and not now.asked and not after.asked
    facts = await now.facts()
    chosen = await select_embedder(
        with_workspace_cache(VectorCache(now, redis, SETTINGS, Clock()), HOME), VectorSpace("fake", facts.dimension, "")
    )
    await chosen.embed(["oil pump"])
    assert await redis.keys("*"), "what was chosen for an index has the memory of its workspace"


async def test_one_workspace_has_nothing_of_another_and_the_text_is_not_kept(redis: Redis) -> None:
    """EM-08: whether somebody else asked the same cannot be told, not even from the time it takes."""
    inner = FakeEmbedder()
    cache = VectorCache(inner, redis, SETTINGS, Clock())
    await cache.of(HOME).embed(["is the merger cancelled"])
    await cache.of(OTHER).embed(["is the merger cancelled"])
    assert len(inner.asked) == 2 and cache.stats()["hits"] == 0
    keys = [key.decode() for key in await redis.keys("*")]
    assert len({key.rpartition(":")[2] for key in keys if key.count(":") == 5}) == 2, "nor by their hashes"
    assert not any("merger" in key for key in keys)


async def test_another_model_or_dimension_is_another_vector(redis: Redis) -> None:
    """X-04: after a change of the model nothing of the old one is found; a wrong length is refused, not stretched."""

    class Changed(FakeEmbedder):
        async def facts(self) -> EmbedderFacts:
            return EmbedderFacts("other", 512, 1_000_000, "fake-2")

    class Shrunk(FakeEmbedder):
        async def facts(self) -> EmbedderFacts:
            return EmbedderFacts("fake", 100, 1_000_000, "fake-1")

    await VectorCache(FakeEmbedder(), redis, SETTINGS, Clock()).of(HOME).embed(["pump"])
    for inner in (Changed(), Shrunk()):
        cache = VectorCache(inner, redis, SETTINGS, Clock())
        await cache.of(HOME).embed(["pump"])
        assert len(inner.asked) == 1 and cache.stats()["hits"] == 0


async def test_each_workspace_has_so_many_places_and_what_is_asked_again_stays(redis: Redis) -> None:
    """EM-08: bounded, the one asked for least recently goes; nothing stays for ever."""
    inner, clock = FakeEmbedder(), Clock()
    cache = VectorCache(inner, redis, SETTINGS, clock)
    await cache.of(OTHER).embed(["elsewhere"])
    for text in ("a", "b", "c", "a", "d"):
        await cache.of(HOME).embed([text])
    assert len(await redis.keys("aos:vectors:t:w:*")) == 3
    asked = len(inner.asked)
    for text in ("a", "c", "d"):
        await cache.of(HOME).embed([text])
    await cache.of(OTHER).embed(["elsewhere"])
    assert len(inner.asked) == asked
    await cache.of(HOME).embed(["b"])
    assert len(inner.asked) == asked + 1
    assert all([0 < await redis.ttl(key) <= 86_400 for key in await redis.keys("*")])


async def test_garbage_is_embedded_again_and_mended(redis: Redis) -> None:
    inner = FakeEmbedder()
    cache = VectorCache(inner, redis, SETTINGS, Clock())
    home = cache.of(HOME)
    vector = await home.embed(["pump"])
    (key,) = await redis.keys("aos:vectors:t:w:*")
    kept = await redis.get(key)
    turned = kept[:100] + bytes([kept[100] ^ 1]) + kept[101:]
    other = np.ones(512, dtype=np.float32).tobytes()
    for garbage in (b"", b"no vector", turned, kept[:-4], kept[:8] + other, kept + b"\x00\x00\x00\x00"):
        await redis.set(key, garbage)
        assert np.array_equal(await home.embed(["pump"]), vector)
        assert await redis.get(key) == kept
    assert cache.stats()["broken"] == 6
    await redis.delete(key)
    await redis.lpush(key, "a list")  # type: ignore[misc]
    assert np.array_equal(await home.embed(["pump"]), vector)


async def test_without_redis_questions_are_embedded_and_redis_is_left_alone_for_a_while(tmp_path: Path) -> None:
    """EM-08: killed between two questions, and back."""
    inner, clock = FakeEmbedder(), Clock()
    with valkey(tmp_path) as server:
        async with client(server.url) as redis:
            cache = VectorCache(inner, redis, SETTINGS, clock)
            await cache.of(HOME).embed(["pump"])
            server.kill()
            for _ in range(3):
                assert (await cache.of(HOME).embed(["pump"])).shape == (1, 512)
            assert cache.stats()["away"] == 3 and len(inner.asked) == 4
            server.start()
            clock.now += REST_SECONDS + 1
            await cache.of(HOME).embed(["pump"])
            await cache.of(HOME).embed(["pump"])
            assert cache.stats()["hits"] == 1 and len(inner.asked) == 5


@pytest.mark.parametrize("reply", [b"+OK\r\n", b"*1\r\n$1\r\nx\r\n", b"-ERR no\r\n", b"\x00\xff\r\n", None])
async def test_whatever_answers_instead_of_redis_a_question_is_embedded(reply: bytes | None) -> None:
    async with babbler(reply) as url, client(url) as redis:
        inner = FakeEmbedder()
        cache = VectorCache(inner, redis, SETTINGS, Clock())
        assert (await cache.of(HOME).embed(["pump"])).shape == (1, 512)
        assert len(inner.asked) == 1 and cache.stats()["away"] == 1


async def test_bulk_work_and_long_lists_pass_by(redis: Redis) -> None:
    """They would drive out what is asked again and again."""
    cache = VectorCache(FakeEmbedder(), redis, SETTINGS, Clock())
    await cache.of(HOME).embed(["pump"], EmbeddingLane.BULK)
    await cache.of(HOME).embed([f"pump {n}" for n in range(MOST_TEXTS + 1)])
    assert (await cache.of(HOME).embed([])).shape == (0, 512)
    await cache.embed(["nobody in particular"])
    assert await redis.dbsize() == 0
    off = VectorCache(FakeEmbedder(), redis, EmbeddingSettings(cache_entries=0), Clock())
    await off.of(HOME).embed(["pump"])
    assert await redis.dbsize() == 0


async def test_an_error_of_the_embedder_is_the_callers_and_nothing_is_kept(redis: Redis) -> None:
    cache = VectorCache(FakeEmbedder(Overloaded("too much")), redis, SETTINGS, Clock())
    with pytest.raises(Overloaded):
        await cache.of(HOME).embed(["pump"])
    assert await redis.dbsize() == 0
