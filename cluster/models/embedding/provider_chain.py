"""The embedding chain: a named server, Ollama on this machine, the language model's server, a model in this process."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import httpx2

from cluster.basics.bounded_answers import AnswerRefused, read_bounded
from cluster.basics.errors import InvalidSettings
from cluster.models.embedding import weights
from cluster.models.embedding.plain_bert import is_plain
from configs.sections import LlmSettings, Settings
from configs.sections_retrieval import EmbeddingSettings

OLLAMA: Final = "http://127.0.0.1:11434"
OLLAMA_MODEL: Final = "qwen3-embedding:0.6b"
PACKAGED: Final = "packaged"
PROBE_SECONDS: Final = 2.0
_MOST_BYTES: Final = 2**20

Source = Literal["explicit", "ollama", "llm", "local"]


@dataclass(frozen=True, slots=True)
class EmbeddingProvider:
    """Who embeds, and how that came about."""

    source: Source
    base_url: str | None  # None where the model is in this process
    model: str


async def choose_provider(
    settings: EmbeddingSettings, llm: LlmSettings, client: httpx2.AsyncClient, *, indexed: bool, ollama: str = OLLAMA
) -> EmbeddingProvider:
    """The first of the chain that there is; nothing is sent to a server but a question for its models.

    A server that the settings name is taken without asking. So is a model that is on this machine, and one that is
    named as a path. A model that is not is looked for at Ollama, else expected at the language model's server. Where no
    model is named, Ollama's is taken if it has `qwen3-embedding:0.6b`. Where something is `indexed` nothing is looked
    for: it was by the embedder that the settings say, and another would find nothing.
    """
    if settings.base_url is not None or not settings.detect:
        return EmbeddingProvider("explicit" if settings.base_url else "local", settings.base_url, settings.model)
    if indexed:
        return EmbeddingProvider("local", None, settings.model)
    if settings.model == PACKAGED and "model" not in settings.model_fields_set:
        if found := await _find_model(client, ollama, OLLAMA_MODEL):
            return EmbeddingProvider("ollama", ollama, found)
        return EmbeddingProvider("local", None, PACKAGED)
    if _is_path(settings.model) or _is_here(settings.model):
        return EmbeddingProvider("local", None, settings.model)
    if found := await _find_model(client, ollama, settings.model):
        return EmbeddingProvider("ollama", ollama, found)
    if llm.base_url is not None:
        return EmbeddingProvider("llm", llm.base_url, settings.model)
    return EmbeddingProvider("local", None, settings.model)


def embedding_settings(settings: Settings) -> EmbeddingSettings:
    """The embedder's settings, `runtime: auto` decided; with the key of the language model's server where that embeds.

    Never with it for another server: either URL may have been changed since one was detected.
    """
    own = settings.embedding.model_copy(update={"runtime": choose_runtime(settings)})
    if own.detected != "llm" or own.api_key is not None or own.base_url != settings.llm.base_url:
        return own
    return own.model_copy(update={"api_key": settings.llm.api_key})


def choose_runtime(settings: Settings) -> Literal["both", "torch", "numpy"]:
    """What `embedding.runtime: auto` means here.

    In a cluster replicas follow the work, down to `embedding.min_replicas`: one computes all the time unless that is 0.
    A model inside another part's process has no helper beside it.
    """
    own = settings.embedding
    if own.runtime != "auto":
        return own.runtime
    is_laptop = settings.ray.address is None and not settings.ray.num_gpus and own.gpu is not True
    if is_laptop and own.placement == "serve" and own.base_url is None and is_plain(own.model):
        return "both"
    return "torch"


async def _find_model(client: httpx2.AsyncClient, url: str, model: str) -> str | None:
    """Ollama's name of a model, which has a tag; None where nobody answers, or does not have it."""
    try:
        async with asyncio.timeout(PROBE_SECONDS), client.stream("GET", f"{url}/api/tags") as response:
            if response.status_code != 200:
                return None
            content = await read_bounded(response, "what listens there", _MOST_BYTES)
        names = [one["name"] for one in json.loads(content)["models"]]
    except (AnswerRefused, httpx2.HTTPError, TimeoutError, ValueError, KeyError, TypeError, RecursionError):
        return None  # whatever listens there, it is no Ollama
    return next((name for name in names if name in (model, f"{model}:latest")), None)


def _is_path(model: str) -> bool:
    """True for what can only be a folder's name, there or not: a hub id and Ollama's names begin otherwise."""
    return model.startswith(("/", ".", "~")) or Path(model).is_absolute()


def _is_here(model: str) -> bool:
    """True for a folder, or a hub id whose weights are in the local cache."""
    try:
        weights.locate_weights(model)
    except InvalidSettings:
        return False
    return True
