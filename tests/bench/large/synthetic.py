"""Synthetic corpus of any size: vectors with the structure of embeddings, and which document is whose.

Everything follows from the number of a document and one seed, so nothing has to be kept to know the truth, a run that
was cut off goes on with the same rows, and a smaller corpus is the beginning of a larger one.

Vectors: a mixture of 512 Gaussians whose sizes differ (weights 1 / (rank + 10)), in 384 dimensions. The centres lie in
a space of 32 directions, so that topics are related to topics; a document stands beside its topic's centre and its ten
chunks around it, both within 24 directions of the topic's, and a part of every vector is noise in all directions.
Random unit vectors would all be equally far apart, which no embedder makes and no index can order; a mixture without
noise would be easier than texts are. Each run prints the local intrinsic dimension (maximum likelihood over 100
neighbours): 12 at 30,000 chunks, where sentence embeddings have 10 to 25. Cosine similarities there: .72 to the nearest
chunk, .62 to the tenth, 0 between any two.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

DIMENSION = 384
CHUNKS = 10  # of a document
BLOCK = 500  # documents that are made and loaded together
TOPICS, WORLD, DIRECTIONS, BASES = 512, 32, 24, 64
BESIDE, AROUND, NOISE = 0.6, 0.8, 0.3  # lengths beside that of a centre, which is 1
QUESTIONS = 1 << 40  # the stream of random numbers that questions are of, which no block is

# A document of so many is in the filter: shares of 10 %, 1 %, 0.1 %, 0.01 % and 0.001 %.
EVERY = (10, 100, 1_000, 10_000, 100_000)
TENANTS = dict(zip(EVERY, (3, 5, 7, 9, 11), strict=True))  # the remainder of the documents that a small tenant has
LEAST_DOCUMENTS = 12  # with so many every filter holds one
TOPIC_SHARE = 0.01  # of the documents, about, that the agent of some topics is linked to
LANGUAGES = {6: "de", 8: "es", 4: "ru"}  # by the last digit of a document's number; all others are English


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """Some documents in a row: `numbers` and `topics` of shape (documents,), `vectors` (documents * 10, 384)."""

    numbers: Numbers
    topics: Numbers
    vectors: Vectors


class VectorMixture:
    """The mixture; the same for the same seed."""

    def __init__(self, seed: int = 26) -> None:
        """`seed` makes topics, documents and questions."""
        rng = np.random.default_rng(seed)
        self._seed = seed
        world = rng.standard_normal((WORLD, DIMENSION), dtype=np.float32)
        self._centres = unit(rng.standard_normal((TOPICS, WORLD), dtype=np.float32) @ world)
        directions = rng.standard_normal((BASES, DIMENSION, DIRECTIONS))
        self._bases = np.linalg.qr(directions)[0].transpose(0, 2, 1).astype(np.float32)
        weights = 1 / (np.arange(TOPICS) + 10)
        self._weights = weights / weights.sum()

    def block(self, number: int) -> DocumentBlock:
        """The documents from `number` times 500 on."""
        rng = np.random.default_rng((self._seed, number))
        topics = rng.choice(TOPICS, BLOCK, p=self._weights)
        return DocumentBlock(block_numbers(number), topics, self._around(rng, topics, CHUNKS))

    def questions(self, count: int) -> tuple[Numbers, Vectors]:
        """Topics and vectors, of shape (count, 384), of questions to the same corpus that are in none of its chunks."""
        rng = np.random.default_rng((self._seed, QUESTIONS))
        topics = rng.choice(TOPICS, count, p=self._weights)
        return topics, self._around(rng, topics, 1)

    def narrow_topics(self) -> int:
        """How many of the least topics hold about a hundredth of the documents: those from `TOPICS` minus that on."""
        return int(np.searchsorted(np.cumsum(self._weights[::-1]), TOPIC_SHARE)) + 1

    def _around(self, rng: np.random.Generator, topics: Numbers, chunks: int) -> Vectors:
        documents = BESIDE * rng.standard_normal((len(topics), 1, DIRECTIONS), dtype=np.float32)
        places = documents + AROUND * rng.standard_normal((len(topics), chunks, DIRECTIONS), dtype=np.float32)
        near = np.matmul(places / math.sqrt(DIRECTIONS), self._bases[topics % BASES])
        noise = NOISE / math.sqrt(DIMENSION) * rng.standard_normal((len(topics), chunks, DIMENSION), dtype=np.float32)
        return unit((self._centres[topics][:, None, :] + near + noise).reshape(-1, DIMENSION))


def unit(vectors: Vectors) -> Vectors:
    """Rows of length 1."""
    found: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def blocks_of(chunks: int) -> range:
    """The blocks that a corpus of at least so many chunks consists of."""
    return range(math.ceil(chunks / (BLOCK * CHUNKS)))


def block_numbers(number: int) -> Numbers:
    """The numbers of a block's documents."""
    return np.arange(number * BLOCK, (number + 1) * BLOCK, dtype=np.int64)


def tenant_of(number: int) -> int | None:
    """The tenant that has a document, named by its entry of EVERY; None for the large one, which has most."""
    return next((every for every, rest in TENANTS.items() if number % every == rest), None)


def is_deleted(numbers: Numbers) -> Mask:
    """Which documents go when 5 % are deleted: spread over all, but for the first ones, which narrow filters hold."""
    mixed = (numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    found: Mask = (mixed % np.uint64(20) == 0) & (numbers >= LEAST_DOCUMENTS)
    return found


def language_of(number: int) -> str:
    """The language of a document's text."""
    return LANGUAGES.get(number % 10, "en")


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """A share of the corpus that somebody may search.

    Attributes:
        kind: by what the product filters: `tenant`, `agent` (documents linked to it), `readers`, `topics` (an agent
            again, whose documents are alike) or `all` (everything that the large tenant has).
        every: a document of so many is in it; for `topics` and `all` 0.
    """

    kind: str
    every: int = 0

    @property
    def name(self) -> str:
        """As the report has it."""
        if self.kind == "all":
            return "everything"
        return "agent of 1 % by topic" if self.kind == "topics" else f"{self.kind} {100 / self.every:g} %"

    def contains(self, block: DocumentBlock, narrow: int) -> Mask:
        """Which documents of a block are in it; `narrow` is `narrow_topics` of the mixture."""
        if self.kind == "tenant":
            mine: Mask = block.numbers % self.every == TENANTS[self.every]
            return mine
        large = np.ones(len(block.numbers), dtype=np.bool_)
        for every, rest in TENANTS.items():
            large &= block.numbers % every != rest
        if self.kind == "all":
            return large
        if self.kind == "topics":
            return large & (block.topics >= TOPICS - narrow)
        return large & (block.numbers % self.every == 0)


def all_filters() -> Iterator[ScopeFilter]:
    """Everything, and each kind at each share."""
    yield ScopeFilter("all")
    for kind in ("tenant", "agent", "readers"):
        yield from (ScopeFilter(kind, every) for every in EVERY)
    yield ScopeFilter("topics")
