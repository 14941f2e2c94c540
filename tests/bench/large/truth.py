"""True neighbours by measuring every vector (brute force), filter by filter, and what an answer finds of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.bench.large.synthetic import CHUNKS, DocumentBlock, Mask, Vectors

# Numbers of chunks, best first, question by question: shape (questions, at most k).
Nearest = NDArray[np.int64]
NEIGHBOURS = 100  # that the intrinsic dimension is estimated from


class NearestChunks:
    """The best of each question so far; blocks may come in any order."""

    def __init__(self, questions: int, most: int) -> None:
        """Nothing was measured yet."""
        self._most = most
        self._scores = np.full((questions, 0), -np.inf, dtype=np.float32)
        self._ids = np.zeros((questions, 0), dtype=np.int64)

    def add(self, scores: Vectors, ids: NDArray[np.int64]) -> None:
        """Scores of shape (questions, chunks) of the chunks with these numbers."""
        if scores.shape[1] > self._most:
            best = np.argpartition(-scores, self._most - 1, axis=1)[:, : self._most]
            scores, names = np.take_along_axis(scores, best, axis=1), ids[best]
        else:
            names = np.broadcast_to(ids, scores.shape)
        both, named = np.hstack([self._scores, scores]), np.hstack([self._ids, names])
        order = np.argsort(-both, axis=1, kind="stable")[:, : self._most]
        self._scores = np.take_along_axis(both, order, axis=1)
        self._ids = np.take_along_axis(named, order, axis=1)

    @property
    def ids(self) -> Nearest:
        """Numbers of chunks, best first."""
        return self._ids

    @property
    def distances(self) -> Vectors:
        """Cosine distances of the same, smallest first."""
        found: Vectors = 1 - self._scores
        return found


def find_nearest(
    questions: Vectors,
    blocks: Iterable[DocumentBlock],
    filters: Mapping[str, Callable[[DocumentBlock], Mask]],
    most: Mapping[str, int],
) -> dict[str, NearestChunks]:
    """The best chunks of each question in each filter; a filter tells which documents of a block are in it.

    A chunk's number is its document's times ten and its place there.
    """
    found = {name: NearestChunks(len(questions), most[name]) for name in filters}
    for block in blocks:
        scores = questions @ block.vectors.T
        ids = (block.numbers[:, None] * CHUNKS + np.arange(CHUNKS)).ravel()
        for name, contains in filters.items():
            mask = np.repeat(contains(block), CHUNKS)
            if mask.any():
                found[name].add(scores[:, mask], ids[mask])
    return found


def recall(found: Sequence[Sequence[int]], truth: Nearest, at: int = 10) -> float:
    """Mean share of the true `at` nearest (of as many as there are) among the first `at` that were found."""
    shares = [
        len(set(row[:at]) & set(true[:at].tolist())) / min(at, len(true))
        for row, true in zip(found, truth, strict=True)
    ]
    return float(np.mean(shares))


def intrinsic_dimension(distances: Vectors) -> float:
    """Local intrinsic dimension by maximum likelihood (Levina and Bickel 2004), the median over questions.

    `distances` are cosine distances of shape (questions, neighbours), smallest first; of unit vectors their roots are
    in proportion to euclidean ones.
    """
    near = np.sqrt(np.maximum(distances, 1e-12))
    logs = np.log(near[:, -1:] / near[:, :-1])
    return float(np.median(1 / np.maximum(logs.mean(axis=1), 1e-12)))
