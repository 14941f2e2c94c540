"""Opens the embedders that the settings mean: for each a server that they name, else a model on this machine."""

import asyncio
import random
from collections.abc import Callable, Mapping

import httpx2

from cluster.basics.priority import ProcessPriority
from cluster.models.embedding.assisted_encoder import AssistedEncoder, EncoderProcess
from cluster.models.embedding.encoder import SentenceEncoder, WindowEncoder
from cluster.models.embedding.endpoint import ApiEmbedder
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.embedding.numpy_bert import NumpyEncoder
from cluster.models.embedding.plain_bert import is_plain
from cluster.models.ports import Embedder
from configs.sections_retrieval import EmbeddingSettings

Helpers = Callable[[EmbeddingSettings], Mapping[ProcessPriority, EncoderProcess]]


def open_embedders(
    settings: EmbeddingSettings, *, idle: bool = True, helpers: Helpers | None = None
) -> tuple[Embedder, ...]:
    """The embedder, and the one before it where the settings name one; otherwise as `open_embedder`."""
    both = (settings, settings.of_former())
    return tuple(open_embedder(one, idle=idle, helpers=helpers) for one in both if one is not None)


def open_embedder(settings: EmbeddingSettings, *, idle: bool = True, helpers: Helpers | None = None) -> Embedder:
    """The embedder; loading a model takes seconds. One that is away later is an error, never a reason for the other.

    With `idle`, a model's bulk work gives way to everything else on this machine. `helpers`: makes the processes of an
    `AssistedEncoder`, for the runtime `both`; without it numpy is alone.

    A server is used only where it is named, by a person or by the first start (see `provider_chain`).

    Raises InvalidSettings: no such model, no GPU where one is asked for, or a server without the name of a model.
    """
    if settings.base_url is None:
        return LocalEmbedder(settings, _assisted_encoder(settings, helpers), idle=idle)
    client = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=32, keepalive_expiry=30), follow_redirects=False)
    return ApiEmbedder(settings, client, asyncio.sleep, random.random)


def _assisted_encoder(settings: EmbeddingSettings, helpers: Helpers | None) -> WindowEncoder | None:
    """None where the settings alone say which; a model before this one may be none for numpy."""
    if settings.runtime != "both":
        return None
    if not is_plain(settings.model):
        return SentenceEncoder(settings)
    own = NumpyEncoder(settings)
    return own if helpers is None else AssistedEncoder(own, helpers(settings))
