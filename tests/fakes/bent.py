"""An embedder of hashed words that can be bent: each way of being bad that a re-index should keep from readers."""

from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cluster.models.ports import EmbedderFacts, EmbeddingLane
from tests.fakes.models import DIMENSION, FakeEncoder

Vectors = NDArray[np.float32]


class WordEmbedder:
    """Texts that share words are near; `bend` changes what comes out, `before` is called before each call."""

    def __init__(
        self,
        name: str = "words",
        bend: Callable[[Sequence[str], Vectors], Vectors] | None = None,
        before: Callable[[], None] = lambda: None,
        fingerprint: str | None = None,
    ) -> None:
        self.name, self.bend, self.before = name, bend, before
        self.fingerprint = fingerprint or name
        self.calls = 0

    async def facts(self) -> EmbedderFacts:
        return EmbedderFacts(self.name, DIMENSION, 1_000_000, self.fingerprint)

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> Vectors:
        self.calls += 1
        self.before()
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        encoder = FakeEncoder(window=1_000_000)
        vectors = encoder.encode([found[0] for found in encoder.windows(texts)])
        return vectors if self.bend is None else self.bend(texts, vectors)


def mirrored(texts: Sequence[str], vectors: Vectors) -> Vectors:
    """As good as before, and of no use beside what is not mirrored."""
    return np.ascontiguousarray(vectors[:, ::-1])


def constant(texts: Sequence[str], vectors: Vectors) -> Vectors:
    """Every text is the same."""
    return np.full_like(vectors, DIMENSION**-0.5)


def random_by_text(texts: Sequence[str], vectors: Vectors) -> Vectors:
    """Each text has a vector of its own that means nothing; the same text always the same."""
    rows = [np.random.default_rng(crc32(text.encode())).standard_normal(vectors.shape[1]) for text in texts]
    found = np.array(rows, np.float32)
    normed: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
    return normed


def mixed_up(texts: Sequence[str], vectors: Vectors) -> Vectors:
    """Right vectors, each at another text: a batch that was put together wrongly."""
    return np.roll(vectors, 1, axis=0)


def nearly_none(texts: Sequence[str], vectors: Vectors) -> Vectors:
    """Only two of the dimensions are left."""
    kept = np.zeros_like(vectors)
    kept[:, :2] = vectors[:, :2]
    return kept


def not_numbers(texts: Sequence[str], vectors: Vectors) -> Vectors:
    """What a model with broken weights computes."""
    return np.full_like(vectors, np.nan)
