"""Embedders that compute no text twice: sets of long questions share their documents with the sets they are made of."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.models.ports import Embedder, EmbedderFacts, EmbeddingLane
from tests.evals.irpeers import Encode

Vectors = NDArray[np.float32]


class RememberingEmbedder:
    """An embedder that keeps every vector it has made."""

    def __init__(self, inner: Embedder) -> None:
        """`inner` computes what is new."""
        self._inner = inner
        self._known: dict[str, Vectors] = {}

    async def facts(self) -> EmbedderFacts:
        """Those of the inner one."""
        return await self._inner.facts()

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> Vectors:
        """A vector of each text, in their order."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, await self._inner.embed(new, lane), strict=True))
        return np.stack([self._known[text] for text in texts])


def remember(encode: Encode) -> Encode:
    """The same encoder, which keeps every vector it has made."""
    known: dict[str, Vectors] = {}

    def encode_new(texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, encode(new), strict=True))
        return np.stack([known[text] for text in texts])

    return encode_new
