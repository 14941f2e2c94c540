"""Offsets of an embedding model's tokens in a text, by its vocabulary alone: no weights are read."""

from collections.abc import Callable, Sequence

from cluster.basics.errors import InvalidSettings
from cluster.models.embedding.weights import locate_weights, packaged_folder
from configs.sections_retrieval import EmbeddingSettings


def load_token_ends(settings: EmbeddingSettings) -> Callable[[str], Sequence[int]]:
    """The offsets after each token of a text, ascending.

    The vocabulary of a model that a server runs is not here: the packaged model's stands in for it.

    Raises InvalidSettings: no such model, or a folder without a `tokenizer.json`.
    """
    from tokenizers import Tokenizer

    path = (packaged_folder() if settings.base_url else locate_weights(settings.model)) / "tokenizer.json"
    if not path.is_file():
        raise InvalidSettings(f"{path} is missing", fix="set chunk.unit to words or characters")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def find_token_ends(text: str) -> list[int]:
        return sorted(end for _, end in tokenizer.encode(text, add_special_tokens=False).offsets)

    return find_token_ends
