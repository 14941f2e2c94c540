"""A cross-encoder that reads question and passage together; where its weights are absent each call says so."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.models.embedding import weights
from cluster.models.ports import Reranker
from cluster.models.reranking.configured_model import DEFAULT
from configs.sections_retrieval import RerankSettings

BATCH = 16


class CrossEncoderReranker:
    """A `Reranker` whose model lives in this process."""

    def __init__(self, settings: RerankSettings) -> None:
        """Load the weights; takes seconds. Raises InvalidSettings: no files, no cross-encoder in them, or no GPU."""
        import torch
        from sentence_transformers import CrossEncoder

        model = settings.model or DEFAULT
        folder = weights.locate_weights(model, download=settings.download)
        on = weights.choose_device(settings.gpu)
        try:
            how: Any = {"model_kwargs": {"dtype": getattr(torch, weights.choose_dtype("auto", on))}, "device": on}
            self._model = CrossEncoder(str(folder), max_length=settings.max_tokens, local_files_only=True, **how)
        except (OSError, ValueError, KeyError) as error:
            raise InvalidSettings(f"{model}: cannot be loaded as a cross-encoder: {error}") from error
        if self._model.num_labels != 1:
            raise InvalidSettings(f"{model}: gives {self._model.num_labels} scores for a pair, not one")
        self._as_it_is = torch.nn.Identity()
        # One thread is the queue: a caller that gives up loses its place, and what has begun is finished first.
        self._thread = ThreadPoolExecutor(1)

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One logit for each text, in order: shape (len(texts),). What exceeds `max_tokens` is cut from the text."""
        if not texts:
            return np.empty(0, dtype=np.float32)
        pairs = [(query, text) for text in texts]
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._predict_scores, pairs)

    def _predict_scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        # Logits: what a sigmoid has pressed against 1 is equal in bfloat16, and the order is lost.
        scores = self._model.predict(pairs, batch_size=BATCH, show_progress_bar=False, activation_fn=self._as_it_is)
        return np.asarray(scores, dtype=np.float32).reshape(len(pairs))


class MissingReranker:
    """Stands for a cross-encoder that could not be loaded: another judge is asked, and results tell why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Nothing. Raises Unavailable: always, with the reason."""
        raise Unavailable(self._reason)


def load_reranker(settings: RerankSettings) -> Reranker:
    """The configured cross-encoder, or one that says with each call why there is none."""
    try:
        return CrossEncoderReranker(settings)
    except InvalidSettings as error:
        return MissingReranker(f"{error.detail}. {error.hint}".strip())
