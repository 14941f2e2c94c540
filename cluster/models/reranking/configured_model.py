"""The cross-encoder to serve: the configured one, else the default wherever its weights are at hand."""

from pathlib import Path

from configs.sections_retrieval import RerankSettings

DEFAULT = "cross-encoder/ms-marco-MiniLM-L-6-v2"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def model_of(settings: RerankSettings, *, alone: bool, cache: Path | None = None) -> str | None:
    """The cross-encoder to serve: the one that is configured, else the default where its weights are at hand.

    `alone`: this machine is the whole cluster; on others' nodes nobody knows what is in their caches. `cache`: the
    hub's on this machine, unless it is in its usual place.
    """
    if settings.model is not None:
        return settings.model
    return DEFAULT if settings.download or (alone and is_cached(DEFAULT, cache)) else None


def is_cached(model: str, cache: Path | None = None) -> bool:
    """True where a hub id's configuration and weights are in the local cache; nothing is asked of the network."""
    from huggingface_hub import try_to_load_from_cache

    held = [isinstance(try_to_load_from_cache(model, name, cache), str) for name in ("config.json", *_WEIGHTS)]
    return held[0] and any(held[1:])
