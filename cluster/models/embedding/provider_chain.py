"""The embedding chain: a named server, Ollama on this machine, the language model's server, a model in this process."""

from dataclasses import dataclass
from typing import Final, Literal

import httpx2

from cluster.basics.errors import InvalidSettings
from cluster.models.embedding import weights
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

    A server that the settings name is taken without asking. So is a model that is on this machine. A model that is not
    is looked for at Ollama, else expected at the language model's server. Where no model is named, Ollama's is taken if
    it has `qwen3-embedding:0.6b`, unless something is `indexed`: by the packaged model, which would find nothing then.
    """
    if settings.base_url is not None or not settings.detect:
        return EmbeddingProvider("explicit" if settings.base_url else "local", settings.base_url, settings.model)
    if settings.model == PACKAGED:
        if not indexed and (found := await _find_model(client, ollama, OLLAMA_MODEL)):
            return EmbeddingProvider("ollama", ollama, found)
        return EmbeddingProvider("local", None, PACKAGED)
    if _is_here(settings.model):
        return EmbeddingProvider("local", None, settings.model)
    if found := await _find_model(client, ollama, settings.model):
        return EmbeddingProvider("ollama", ollama, found)
    if llm.base_url is not None:
        return EmbeddingProvider("llm", llm.base_url, settings.model)
    return EmbeddingProvider("local", None, settings.model)


def embedding_settings(settings: Settings) -> EmbeddingSettings:
    """The embedder's settings; with the language model's key where its server embeds and has no other."""
    own = settings.embedding
    if own.detected != "llm" or own.api_key is not None:
        return own
    return own.model_copy(update={"api_key": settings.llm.api_key})


async def _find_model(client: httpx2.AsyncClient, url: str, model: str) -> str | None:
    """Ollama's name of a model, which has a tag; None where nobody answers, or does not have it."""
    try:
        response = await client.get(f"{url}/api/tags", timeout=PROBE_SECONDS, follow_redirects=False)
        if response.status_code != 200 or len(response.content) > _MOST_BYTES:
            return None
        names = [one["name"] for one in response.json()["models"]]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError, RecursionError):
        return None  # whatever listens there, it is no Ollama
    return next((name for name in names if name in (model, f"{model}:latest")), None)


def _is_here(model: str) -> bool:
    """True for a folder, or a hub id whose weights are in the local cache."""
    try:
        weights.locate_weights(model)
    except InvalidSettings:
        return False
    return True
