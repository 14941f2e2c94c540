"""Rows of vectors: brought to length 1, averaged over the windows of a text; and the name of a way to make them."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray


def weighted_means(vectors: NDArray[np.float32], of: Sequence[int], weights: Sequence[int]) -> NDArray[np.float32]:
    """A row of length 1 for each text, from 0 on: the mean of the vectors that are `of` it, by their weights."""
    totals = np.zeros((max(of) + 1, vectors.shape[1]), dtype=np.float32)
    np.add.at(totals, list(of), vectors * np.array(weights, dtype=np.float32)[:, None])
    return normalize_rows(totals)


def normalize_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row, brought to length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


def encoder_fingerprint(*parts: object) -> str:
    """16 hex digits that name a way to make vectors."""
    return sha256(repr(parts).encode()).hexdigest()[:16]
