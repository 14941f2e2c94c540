"""Prefixes of questions and passages, as E5 and its like were trained with: `query: ` and `passage: `."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.models.ports import Embedder, EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings


async def embed_queries(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """As `Embedder.embed`, of texts that passages are looked for with."""
    prefix = (await embedder.facts()).query_prefix
    return await embedder.embed([prefix + text for text in texts])


async def embed_passages(embedder: Embedder, texts: Sequence[str], lane: EmbeddingLane) -> NDArray[np.float32]:
    """As `Embedder.embed`, of texts that are looked for. Of a text of several windows the first has the prefix."""
    prefix = (await embedder.facts()).passage_prefix
    return await embedder.embed([prefix + text for text in texts], lane)


def prefix_parts(settings: EmbeddingSettings) -> tuple[str, ...]:
    """What a fingerprint takes of the prefixes: that of passages. Without one it is what it was before there were any.

    Vectors of questions are not kept with an index, so theirs may change.
    """
    return (settings.passage_prefix,) if settings.passage_prefix else ()
