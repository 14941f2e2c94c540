"""The Serve application `embedding`: one pool of weights for questions and for bulk work."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ray import serve

from cluster import connect, logs
from cluster.basics.errors import Unavailable
from cluster.basics.priority import lower_thread_priority
from cluster.models.embedding.embedders import open_embedders
from cluster.models.embedding.migration import EmbedderMoved
from cluster.models.embedding.provider_chain import embedding_settings
from cluster.models.embedding.weights import use_cores
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.state.settings.settings_rows import load_with_rows
from cluster.watch.answering import answer_from_here
from configs.sections import Settings
from serve_apps.wiring.encoder_process import encoder_processes


@serve.deployment(name="Embedder")
class EmbedderReplica:
    """The embedder of the settings behind a handle, and the one before it where they name one."""

    def __init__(self) -> None:
        settings = load_with_rows()
        logs.set_up(settings)
        # Bulk work may have asked for one replica more: loading it gives way to the questions that others answer.
        with ThreadPoolExecutor(1, initializer=lower_thread_priority) as thread:
            self._embedders = thread.submit(_load_embedders, settings).result()
        answer_from_here(connect.liveness_folder(settings.state_dir), "embedder")

    async def facts(self, place: int) -> dict[str, object]:
        """`EmbedderFacts` as a mapping; `place` is 0 for the embedder of now, 1 for the one before it."""
        return asdict(await self._embedder_at(place).facts())

    async def embed(self, texts: Sequence[str], lane: str, place: int, fingerprint: str) -> NDArray[np.float32]:
        """One row of length 1 for each text: shape (len(texts), dimension).

        Raises EmbedderMoved: the one there has another fingerprint; the caller remembers a model from before an update.
        """
        embedder = self._embedder_at(place)
        if (await embedder.facts()).fingerprint != fingerprint:
            raise EmbedderMoved
        return await embedder.embed(texts, EmbeddingLane(lane))

    def _embedder_at(self, place: int) -> Embedder:
        if place >= len(self._embedders):
            raise Unavailable("the replica has no embedder before this one", fix="run `aos up`")
        return self._embedders[place]

    async def check_health(self) -> None:
        """The event loop still turns."""
        await asyncio.sleep(0)


def _load_embedders(settings: Settings) -> tuple[Embedder, ...]:
    own = embedding_settings(settings)
    if own.runtime == "torch" and own.base_url is None:
        use_cores()
    return open_embedders(own, idle=settings.read.idle, helpers=encoder_processes)


def build(args: dict[str, Any]) -> serve.Application:
    """The application; `args` are options of the deployment, replicas and resources come from serve.yaml."""
    return EmbedderReplica.options(**args).bind()  # type: ignore[attr-defined]
