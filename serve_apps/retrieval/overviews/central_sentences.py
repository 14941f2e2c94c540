"""Sentences that stand for a text: nearest to its centre (Radev and others 2004), no two alike (Carbonell 1998)."""

import numpy as np
from numpy.typing import NDArray

NOVELTY = 0.3  # weight of how little a sentence repeats those that were chosen before


def choose_central(vectors: NDArray[np.float32], most: int) -> list[int]:
    """Rows of the sentences that say most of the whole, in the order of the text.

    `vectors`: of length 1, shape (sentences, dimension); `most`: rows chosen at most.
    """
    if not len(vectors):
        return []
    centre = vectors.mean(axis=0)
    length = float(np.linalg.norm(centre))
    near = vectors @ (centre / length) if length else np.zeros(len(vectors), dtype=np.float32)
    alike = vectors @ vectors.T
    chosen: list[int] = []
    while len(chosen) < min(most, len(vectors)):
        repeats = alike[:, chosen].max(axis=1) if chosen else np.zeros(len(vectors), dtype=np.float32)
        worth = (1 - NOVELTY) * near - NOVELTY * repeats
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
    return sorted(chosen)
