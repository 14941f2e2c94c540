"""The embedder of now, and the one before it for as long as an index of its is asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import AosError, Permanent, Unavailable
from cluster.models.ports import Embedder, EmbedderFacts, EmbeddingLane


class OtherEmbedder(Permanent):
    """The index was made with an embedder that is not there: what others make cannot be compared with its vectors."""

    code = "other_embedder"
    fix = "re-index, or set EMBEDDING_FORMER_MODEL to the model that made it"


class EmbedderMoved(Unavailable):
    """The replicas have another model by now than the one that was asked for."""

    code = "embedder_moved"


@runtime_checkable
class ReplaceableEmbedder(Protocol):
    """An `Embedder` whose model may be another one at the next call: its replicas are updated beside their callers."""

    def pinned(self, facts: EmbedderFacts) -> Embedder:
        """The same for as long as its model is this one; from then on every call raises EmbedderMoved."""

    def forget(self) -> None:
        """Ask the replicas anew what they are, the next time somebody wants to know."""


def pin_embedder(embedder: Embedder, facts: EmbedderFacts) -> Embedder:
    """The embedder, which will make no vectors with another model than these facts tell of."""
    return embedder.pinned(facts) if isinstance(embedder, ReplaceableEmbedder) else embedder


def forget_facts(embedder: Embedder) -> None:
    """Drop the facts remembered of its model: it may be another one by now."""
    if isinstance(embedder, ReplaceableEmbedder):
        embedder.forget()


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The vector space of an index: the embedder that its vectors were made with."""

    name: str  # the embedder, for people
    dimension: int  # length of a vector
    fingerprint: str  # the embedder's; empty for an index from before this was noted, of which the name has to tell

    def is_of(self, facts: EmbedderFacts) -> bool:
        """True where this embedder's vectors can be compared with the index's."""
        told = facts.fingerprint if self.fingerprint else facts.name
        return (self.fingerprint or self.name, self.dimension) == (told, facts.dimension)


def vector_space_of(generation: Mapping[str, Any]) -> VectorSpace:
    """The vector space of an index generation; the row has its embedder, embedder_fingerprint and dimension."""
    return VectorSpace(generation["embedder"], generation["dimension"], generation["embedder_fingerprint"])


class EmbedderPair:
    """An `Embedder`, and `ReplaceableEmbedder`: what is new is made with `now`; `before` serves `select_embedder`."""

    def __init__(self, now: Embedder, before: Embedder) -> None:
        """`before` made an index that readers still use, or may go back to."""
        self.now, self.before = now, before

    async def facts(self) -> EmbedderFacts:
        """The facts of the current embedder, which makes new vectors."""
        return await self.now.facts()

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """As `Embedder.embed`, with the embedder of now."""
        return await self.now.embed(texts, lane)

    def pinned(self, facts: EmbedderFacts) -> Embedder:
        """The embedder of now, see `ReplaceableEmbedder`."""
        return pin_embedder(self.now, facts)

    def forget(self) -> None:
        """Both, see `ReplaceableEmbedder`."""
        forget_facts(self.now)
        forget_facts(self.before)


def pair_embedders(now: Embedder, before: Embedder | None = None) -> Embedder:
    """The embedder, or both."""
    return now if before is None else EmbedderPair(now, before)


def map_embedders(embedder: Embedder, change: Callable[[Embedder], Embedder]) -> Embedder:
    """The same succession of changed embedders."""
    if isinstance(embedder, EmbedderPair):
        return EmbedderPair(change(embedder.now), change(embedder.before))
    return change(embedder)


async def select_embedder(embedder: Embedder, made: VectorSpace) -> Embedder:
    """The one of them whose vectors can be compared with an index, pinned to what it is now.

    What does not fit is asked anew: who was told of a model before an update would refuse its index for ever.

    Raises OtherEmbedder: neither made it; AosError: one does not answer or refuses, and the other did not make it.
    """
    try:
        return await _match_embedder(embedder, made)
    except OtherEmbedder:
        forget_facts(embedder)
        return await _match_embedder(embedder, made)


async def _match_embedder(embedder: Embedder, made: VectorSpace) -> Embedder:
    away: AosError | None = None
    names = []
    for one in (embedder.now, embedder.before) if isinstance(embedder, EmbedderPair) else (embedder,):
        try:
            facts = await one.facts()
        except AosError as error:  # of whatever kind: it is of no interest where the other one made it
            away = error
            continue
        if made.is_of(facts):
            return pin_embedder(one, facts)
        names.append(facts.name)
    if away is not None:
        raise away
    raise OtherEmbedder(f"the index was made with {made.name}, not with {' or '.join(names)}")
