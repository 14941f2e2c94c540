"""The Serve application `reranker`: the cross-encoder, deployed where one is configured."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ray import serve

from cluster import connect, logs
from cluster.models.embedding.weights import use_cores
from cluster.models.reranking.cross_encoder import CrossEncoderReranker
from cluster.state.settings.settings_rows import load_with_rows
from cluster.watch.answering import answer_from_here


@serve.deployment(name="Reranker")
class RerankerReplica:
    """A `CrossEncoderReranker` behind a handle; without weights the replica does not start and says why."""

    def __init__(self) -> None:
        settings = load_with_rows()
        logs.set_up(settings)
        use_cores()
        self._reranker = CrossEncoderReranker(settings.rerank)
        answer_from_here(connect.liveness_folder(settings.state_dir), "reranker")

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One score for each text: shape (len(texts),)."""
        return await self._reranker.score(query, texts)


def build(args: dict[str, Any]) -> serve.Application:
    """The application; `args` are options of the deployment, replicas and resources come from serve.yaml."""
    return RerankerReplica.options(**args).bind()  # type: ignore[attr-defined]
