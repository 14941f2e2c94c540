"""Texts to vectors on this machine: nothing beyond the model's window is lost, and questions overtake bulk work."""

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.basics.single_flight import SingleFlight
from cluster.models.embedding.batching import EmbeddingBatcher
from cluster.models.embedding.encoder import SentenceEncoder, WindowEncoder
from cluster.models.embedding.numpy_bert import NumpyEncoder
from cluster.models.embedding.vector_rows import weighted_means
from cluster.models.ports import EmbedderFacts, EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings

SHORT = 2_000  # characters that are cut into tokens on the event loop
# Tokens of a batch by device. An H100 makes 1,400 chunks/s of 2,048, 4,500 of 32,768 and 5,000 of 65,536.
BATCH_TOKENS = {"cpu": 2_048, "cuda": 32_768}


class LocalEmbedder:
    """An `Embedder` whose model lives in this process.

    A text longer than the model's window is read in overlapping windows; its vector is their mean, weighted by their
    tokens, and brought back to length 1.
    """

    def __init__(self, settings: EmbeddingSettings, encoder: WindowEncoder | None = None, *, idle: bool = True) -> None:
        """Load the model that the settings name, which takes seconds, or use the given one.

        With `idle`, bulk work gives way to everything else on the machine.

        Raises InvalidSettings: no such model, or no GPU where one is asked for.
        """
        made = NumpyEncoder if settings.runtime in ("numpy", "both") else SentenceEncoder
        self.encoder = encoder or made(settings)  # for who needs more of it than vectors of texts, too
        budget = settings.batch_tokens or BATCH_TOKENS.get(self.encoder.device, BATCH_TOKENS["cpu"])
        self._batching = EmbeddingBatcher(self.encoder.encode, budget, settings.queue_tokens, idle=idle)
        questions: SingleFlight[str, NDArray[np.float32]] = SingleFlight()
        # A question never waits for bulk work, which may take its time; bulk work joins both.
        self._flights = {EmbeddingLane.QUESTION: questions, EmbeddingLane.BULK: SingleFlight(questions)}

    async def facts(self) -> EmbedderFacts:
        """The facts of the model in this process."""
        return self.encoder.facts

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """One row of length 1 for each text, in order: shape (len(texts), dimension).

        Equal texts are embedded once, also those of callers who ask at the same moment. Windows of like length share a
        batch of at most `batch_tokens` tokens, padding included; on a CPU a question waits for no bulk batch.

        Raises Overloaded: `queue_tokens` tokens wait in this lane.
        """
        if not texts:
            return np.empty((0, self.encoder.facts.dimension), dtype=np.float32)

        async def compute(fresh: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
            return dict(zip(fresh, await self._compute_vectors(fresh, lane), strict=True))

        found = await self._flights[lane].join_all(list(dict.fromkeys(texts)), compute)
        return np.stack([found[text] for text in texts])

    async def _compute_vectors(self, texts: Sequence[str], lane: EmbeddingLane) -> NDArray[np.float32]:
        if sum(map(len, texts)) <= SHORT:  # as quick as handing it to a thread
            parts = self.encoder.windows(texts)
        else:
            parts = await asyncio.to_thread(self.encoder.windows, texts)
        windows = [window for part in parts for window in part]
        owners = [row for row, part in enumerate(parts) for _ in part]
        return weighted_means(await self._batching.vectors(windows, lane), owners, list(map(len, windows)))
