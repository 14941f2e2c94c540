"""Texts to vectors on this machine: nothing beyond the model's window is lost, and questions overtake bulk work."""

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.models.encoder import Encoder, SentenceEncoder, Window
from cluster.models.lanes import Lanes
from cluster.models.ports import EmbedderFacts, Lane
from configs.sections import EmbeddingSettings


class LocalEmbedder:
    """An `Embedder` whose model lives in this process.

    A text longer than the model's window is read in overlapping windows; its vector is their mean, weighted by their
    tokens, and brought back to length 1.
    """

    def __init__(self, settings: EmbeddingSettings, encoder: Encoder | None = None) -> None:
        """Load the model that the settings name, which takes seconds, or use the given one.

        Raises:
            InvalidSettings: no such model, or no GPU where one is asked for.
        """
        self._encoder = encoder or SentenceEncoder(settings)
        self._budget = settings.batch_tokens
        self._lanes = Lanes()

    async def facts(self) -> EmbedderFacts:
        """What the vectors are made with."""
        return self._encoder.facts

    async def embed(self, texts: Sequence[str], lane: Lane = Lane.QUESTION) -> NDArray[np.float32]:
        """One row of length 1 for each text, in order: shape (len(texts), dimension).

        Equal texts are embedded once. Windows of like length share a batch of at most `batch_tokens` tokens, padding
        included; between two batches, whoever waits in the question lane goes first.
        """
        if not texts:
            return np.empty((0, self._encoder.facts.dimension), dtype=np.float32)
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        parts = await asyncio.to_thread(self._encoder.windows, list(rows))
        windows = [window for part in parts for window in part]
        owners = np.array([row for row, part in enumerate(parts) for _ in part])
        totals = np.zeros((len(rows), self._encoder.facts.dimension), dtype=np.float32)
        for batch in _batches(windows, self._budget):
            chosen = [windows[at] for at in batch]
            vectors = await self._lanes.run(lane, lambda chosen=chosen: self._encoder.encode(chosen))  # type: ignore[misc]
            weight = np.array([[len(window)] for window in chosen], dtype=np.float32)
            np.add.at(totals, owners[batch], vectors * weight)
        totals /= np.maximum(np.linalg.norm(totals, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return totals[[rows[text] for text in texts]]


def _batches(windows: Sequence[Window], budget: int) -> Iterator[list[int]]:
    """Indices of windows, longest first, so that padding is small and a lack of memory shows at once."""
    batch: list[int] = []
    for at in sorted(range(len(windows)), key=lambda at: len(windows[at]), reverse=True):
        if batch and len(windows[batch[0]]) * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
