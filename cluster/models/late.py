"""Late interaction: every word of the question looks for its best match among the words of a text."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.models.embedding.encoder import Window
from cluster.models.embedding.local import LocalEmbedder

BATCH = 4  # windows in one turn at the model, so that whoever else asks waits for these only


class LateInteraction:
    """A `Reranker` over the token vectors of the embedder that is loaded anyway.

    The score is the mean over the question's tokens of the best cosine similarity with any token of the text: MaxSim
    of Khattab and Zaharia (ColBERT, 2020) over the length of the question, -1 to 1.
    """

    def __init__(self, embedder: LocalEmbedder) -> None:
        """`embedder` lends its model, and its turns."""
        self._encoder, self._turns = embedder.encoder, embedder.turns

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One score for each text, in order: shape (len(texts),); 0 where either has no token.

        A question longer than the model's window is read in several, and so is a text.

        Raises:
            Overloaded: too much work is waiting.
        """
        parts = await asyncio.to_thread(self._encoder.windows, [query, *texts])
        read = iter(await self._encode_tokens([window for part in parts for window in part]))
        asked, *said = [np.concatenate([next(read) for _ in part]) for part in parts]
        return np.array([_max_sim(asked, rows) for rows in said], dtype=np.float32)

    async def _encode_tokens(self, windows: Sequence[Window]) -> list[NDArray[np.float32]]:
        """Windows of like length share a turn, so that little of it is padding."""
        order = sorted(range(len(windows)), key=lambda at: len(windows[at]))
        found: dict[int, NDArray[np.float32]] = {}
        for start in range(0, len(order), BATCH):
            turn = order[start : start + BATCH]
            chosen = [windows[at] for at in turn]
            rows = await self._turns.run(lambda chosen=chosen: self._encoder.token_vectors(chosen))  # type: ignore[misc]
            found.update(zip(turn, rows, strict=True))
        return [found[at] for at in range(len(windows))]


def _max_sim(asked: NDArray[np.float32], said: NDArray[np.float32]) -> float:
    return float((asked @ said.T).max(axis=1).mean()) if len(asked) and len(said) else 0.0
