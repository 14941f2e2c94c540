"""An embedder that questions do not wait for: after its deadline it counts as away, for a moment for everybody."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Unavailable
from cluster.models.embedding.migration import pin_embedder
from cluster.models.ports import Embedder, EmbedderFacts, EmbeddingLane

REST_SECONDS = 5.0  # nobody asks for so long after a deadline: a question has several things embedded in turn
AT_ONCE = 8  # texts that have the deadline of one; a list of more has as many times as long


class DeadlineSettings(Protocol):
    """The settings that hold the deadline; `SearchSettings` is one."""

    @property
    def embed_seconds(self) -> float:
        """Longest wait for a question's vector."""


@dataclass(slots=True)
class _Rest:
    """Until when nobody asks, in seconds of the clock."""

    until: float = 0.0


class DeadlineEmbedder:
    """An `Embedder`, and `ReplaceableEmbedder`, around another; bulk work waits for as long as it takes."""

    def __init__(
        self, embedder: Embedder, settings: DeadlineSettings, clock: Callable[[], float], rest: _Rest | None = None
    ) -> None:
        """`clock` gives seconds that only grow; `rest` is shared by all that are pinned."""
        self._embedder, self._settings, self._clock = embedder, settings, clock
        self._rest = rest or _Rest()

    async def facts(self) -> EmbedderFacts:
        """The facts of the embedder behind it. Raises Unavailable: it was too slow to say, or silent a moment ago."""
        async with self._in_time(1):
            return await self._embedder.facts()

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """As `Embedder.embed`. Raises Unavailable: also where a question's vectors are late, or were a moment ago."""
        if lane is EmbeddingLane.BULK:
            return await self._embedder.embed(texts, lane)
        async with self._in_time(len(texts)):
            return await self._embedder.embed(texts, lane)

    def pinned(self, facts: EmbedderFacts) -> Embedder:
        """See `ReplaceableEmbedder`."""
        return DeadlineEmbedder(pin_embedder(self._embedder, facts), self._settings, self._clock, self._rest)

    @asynccontextmanager
    async def _in_time(self, texts: int) -> AsyncIterator[None]:
        if self._clock() < self._rest.until:
            raise Unavailable("the embedder did not answer in time a moment ago")
        seconds = self._settings.embed_seconds * max(1, -(-texts // AT_ONCE))
        try:
            async with asyncio.timeout(seconds) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            self._rest.until = self._clock() + REST_SECONDS
            raise Unavailable(f"the embedder did not answer within {seconds:g} s") from None
