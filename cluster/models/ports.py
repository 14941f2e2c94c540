"""Ports of the models: chat, embedding and reranking as the rest of the system sees them, whoever runs them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.models.messages import ChatRequest, ModelReply, ReplyDelta

ENGLISH_MODEL = "all-MiniLM-L6-v2"


class EmbeddingLane(StrEnum):
    """The queue that a text is embedded in: a question somebody waits for, or a bulk job. Questions overtake."""

    QUESTION = "question"
    BULK = "bulk"


@dataclass(frozen=True, slots=True)
class EmbedderFacts:
    """The facts of an embedder that an index generation records."""

    name: str  # the model, for people
    dimension: int  # length of a vector
    window: int  # tokens the model reads at once, its special tokens included; longer texts are read window by window
    fingerprint: str  # vectors of embedders with the same one can be compared; whatever number format computes them
    query_prefix: str = ""  # what the model wants in front of a question
    passage_prefix: str = ""  # and of a passage

    @property
    def is_english(self) -> bool:
        """True for the packaged model, which has learnt English only."""
        return self.name == ENGLISH_MODEL


class Embedder(Protocol):
    """Turns texts into vectors that can be compared by their inner product."""

    async def facts(self) -> EmbedderFacts:
        """The model, dimension, window and fingerprint of its vectors."""

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """One unit row a text: (len(texts), dimension). Raises Overloaded: too much waits; Unavailable: no model."""


class Reranker(Protocol):
    """Judges how well texts answer a question, reading both together."""

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One score for each text, in order: shape (len(texts),); higher is better, only the order has a meaning.

        Raises Overloaded: too much work is waiting; Unavailable: the model cannot be reached.
        """


class ChatModel(Protocol):
    """One model behind one connection."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """The reply's pieces as they arrive, then the whole `ModelReply` as the last item.

        Closing the iterator ends the call at the provider.

        Raises:
            Unavailable: no connection, too slow, a 5xx, or a body that is no chat completion.
            Overloaded: 429; `retry_after` in seconds where the provider said.
            Unusable: 401, 403, 404: this connection's key, address or model's name is wrong; another may do.
            Invalid: any other refusal; trying again will not help.
        """
