"""Opens the embedders that the settings mean: for each a server that they name, else a model on this machine."""

import asyncio
import random

import httpx2

from cluster.models.embedding.endpoint import ApiEmbedder
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.ports import Embedder
from configs.sections_retrieval import EmbeddingSettings


def open_embedders(settings: EmbeddingSettings, *, idle: bool = True) -> tuple[Embedder, ...]:
    """The embedder, and the one before it where the settings name one; otherwise as `open_embedder`."""
    return tuple(open_embedder(one, idle=idle) for one in (settings, settings.of_former()) if one is not None)


def open_embedder(settings: EmbeddingSettings, *, idle: bool = True) -> Embedder:
    """The embedder; loading a model takes seconds. One that is away later is an error, never a reason for the other.

    With `idle`, a model's bulk work gives way to everything else on this machine.

    A server is used only where it is named, by a person or by the first start (see `provider_chain`).

    Raises InvalidSettings: no such model, no GPU where one is asked for, or a server without the name of a model.
    """
    if settings.base_url is None:
        return LocalEmbedder(settings, idle=idle)
    client = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=32, keepalive_expiry=30), follow_redirects=False)
    return ApiEmbedder(settings, client, asyncio.sleep, random.random)
