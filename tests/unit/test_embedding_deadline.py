"""Questions do not wait for an embedder that hangs."""

import asyncio
import time
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cluster.basics.errors import Unavailable
from cluster.models.embedding.deadline import REST_SECONDS, DeadlineEmbedder
from cluster.models.ports import EmbedderFacts, EmbeddingLane
from configs.sections_retrieval import SearchSettings
from tests.fakes.models import FakeEmbedder, MovingEmbedder


class Hanging(FakeEmbedder):
    """Never answers, until it is told to; `hangs` names what does."""

    def __init__(self, *hangs: str) -> None:
        super().__init__()
        self.hangs, self.calls = set(hangs), 0

    async def facts(self) -> EmbedderFacts:
        await self._hang("facts")
        return await super().facts()

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        await self._hang("embed")
        return await super().embed(texts, lane)

    async def _hang(self, what: str) -> None:
        self.calls += 1
        if what in self.hangs:
            await asyncio.sleep(30)


SHORT = SearchSettings(embed_seconds=0.05)


@pytest.mark.parametrize("what", ["facts", "embed"])
async def test_a_question_is_given_up_at_its_deadline_and_the_next_at_once(what: str) -> None:
    now, inner = [100.0], Hanging(what)
    embedder = DeadlineEmbedder(inner, SHORT, lambda: now[0])
    ask = embedder.facts if what == "facts" else lambda: embedder.embed(["a"])
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"within 0\.05 s"):
        await ask()
    with pytest.raises(Unavailable, match="a moment ago"):
        await ask()
    assert inner.calls == 1 and time.monotonic() - began < 2
    inner.hangs.clear()
    now[0] += REST_SECONDS
    await ask()
    assert inner.calls == 2


async def test_who_is_pinned_rests_with_the_others() -> None:
    inner = Hanging("embed")
    embedder = DeadlineEmbedder(MovingEmbedder(inner, inner), SHORT, lambda: 0.0)
    pinned = embedder.pinned(await embedder.facts())
    with pytest.raises(Unavailable, match="within"):
        await pinned.embed(["a"])
    with pytest.raises(Unavailable, match="a moment ago"):
        await embedder.facts()


async def test_bulk_work_waits_for_as_long_as_it_takes() -> None:
    class Slow(FakeEmbedder):
        async def embed(
            self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION
        ) -> NDArray[np.float32]:
            await asyncio.sleep(0.2)
            return await super().embed(texts, lane)

    embedder = DeadlineEmbedder(Slow(), SHORT, time.monotonic)
    assert len(await embedder.embed(["a"], EmbeddingLane.BULK)) == 1
    with pytest.raises(Unavailable):
        await embedder.embed(["a"])


async def test_a_list_has_the_time_of_its_length() -> None:
    class Slow(FakeEmbedder):
        async def embed(
            self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION
        ) -> NDArray[np.float32]:
            await asyncio.sleep(0.15)
            return await super().embed(texts, lane)

    embedder = DeadlineEmbedder(Slow(), SearchSettings(embed_seconds=0.1), time.monotonic)
    assert len(await embedder.embed(["a"] * 21)) == 21
