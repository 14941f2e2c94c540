"""Borders of meaning: by vectors of sentences, by their keywords, by the entropy of their characters."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipelines.documents.chunk.entropy import EntropySum, shannon_entropy
from pipelines.documents.chunk.keywords import find_keywords, jaccard_similarity


class SimilarityBorders:
    """Closes a chunk before a sentence whose cosine to the chunk's mean is below a threshold."""

    def __init__(self, vectors: NDArray[np.float32], least: float) -> None:
        """`vectors`: one unit row a piece."""
        self._vectors, self._least = vectors, least
        self._sum = np.zeros(vectors.shape[1], dtype=np.float64)

    def open_chunk(self, at: int) -> None:
        """Its first sentence is its mean."""
        self._sum = self._vectors[at].astype(np.float64)

    def grow_chunk(self, at: int) -> None:
        """Take a sentence into the mean."""
        self._sum += self._vectors[at]

    def closes_before(self, at: int, length: int) -> bool:
        """The sentence is about something else."""
        length_of_sum = float(np.linalg.norm(self._sum))
        return length_of_sum > 0 and float(self._sum @ self._vectors[at]) / length_of_sum < self._least


class KeywordBorders:
    """Closes a chunk before a sentence that shares too few keywords with it; one without keywords says nothing."""

    def __init__(self, texts: Sequence[str], least: float) -> None:
        """`texts` of the pieces; `least` Jaccard similarity."""
        self._keywords, self._least = [find_keywords(text) for text in texts], least
        self._own: set[str] = set()

    def open_chunk(self, at: int) -> None:
        """Its keywords so far."""
        self._own = set(self._keywords[at])

    def grow_chunk(self, at: int) -> None:
        """Take a sentence's keywords."""
        self._own |= self._keywords[at]

    def closes_before(self, at: int, length: int) -> bool:
        """The sentence is of another topic."""
        own, new = self._own, self._keywords[at]
        return bool(own and new) and jaccard_similarity(own, new) < self._least


class EntropyBorders:
    """Closes a chunk at its target, or where its entropy exceeds a multiple of the mean entropy of sentences."""

    def __init__(self, texts: Sequence[str], factor: float, target: int) -> None:
        """`texts` of the pieces."""
        self._texts, self._target, self._chunk = texts, target, EntropySum()
        self._most = factor * sum(map(shannon_entropy, texts)) / max(len(texts), 1)

    def open_chunk(self, at: int) -> None:
        """Count its first sentence."""
        self._chunk = EntropySum()
        self._chunk.add(self._texts[at])

    def grow_chunk(self, at: int) -> None:
        """Count a sentence."""
        self._chunk.add(self._texts[at])

    def closes_before(self, at: int, length: int) -> bool:
        """It says enough."""
        return length >= self._target or self._chunk.bits > self._most
