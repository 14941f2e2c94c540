"""Models that need no weights: deterministic, quick, and as slow or broken as a test wants them."""

import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import AosError, Unavailable
from cluster.models.embedding.migration import EmbedderMoved
from cluster.models.embedding.sentence_tokens import Window, cut_windows
from cluster.models.ports import Embedder, EmbedderFacts, EmbeddingLane

DIMENSION = 512


def words(text: str) -> list[int]:
    return [crc32(word.encode()) % DIMENSION for word in re.findall(r"\w+", text.lower())]


class FakeEncoder:
    """Bags of hashed words; `gate` holds every call until it is set, `calls` records the batches."""

    def __init__(self, window: int = 8, gate: threading.Event | None = None, device: str = "cpu") -> None:
        self.device = device
        self.facts = EmbedderFacts("fake", DIMENSION, window, "fake-1")
        self.calls: list[list[list[int]]] = []
        self.begun = threading.Event()
        self._gate = gate

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return [cut_windows(words(text), self.facts.window, 2) for text in texts]

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        self.calls.append([list(window) for window in windows])
        self.begun.set()
        if self._gate is not None:
            assert self._gate.wait(10), "nobody opened the gate"
        vectors = np.full((len(windows), DIMENSION), 1e-3, dtype=np.float32)
        for row, window in enumerate(windows):
            np.add.at(vectors[row], list(window), 1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class HeldEncoder(FakeEncoder):
    """Holds what is long until `held` is set; `niceness` has that of the thread of each call, by its longest window."""

    def __init__(self) -> None:
        super().__init__(window=200)
        self.held, self.niceness = threading.Event(), dict[int, int]()

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        length = max(map(len, windows))
        self.niceness[length] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        vectors = super().encode(windows)
        assert length < 50 or self.held.wait(10), "nobody let it go"
        return vectors


class FakeEmbedder:
    """An `Embedder` of hashed words: texts that share words are near. `failing` is raised by every call.

    `prefixes`: what it wants in front of a question and of a passage.
    """

    def __init__(
        self, failing: AosError | None = None, fingerprint: str = "fake-1", prefixes: tuple[str, str] = ("", "")
    ) -> None:
        self.failing, self.fingerprint, self.prefixes = failing, fingerprint, prefixes
        self.asked: list[tuple[EmbeddingLane, list[str]]] = []

    async def facts(self) -> EmbedderFacts:
        return EmbedderFacts("fake", DIMENSION, 1_000_000, self.fingerprint, *self.prefixes)

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        self.asked.append((lane, list(texts)))
        if self.failing is not None:
            raise self.failing
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        encoder = FakeEncoder(window=1_000_000)
        return encoder.encode([found[0] for found in encoder.windows(texts)])


class MovingEmbedder:
    """An `Embedder`, and `ReplaceableEmbedder`, that is `after` once it has moved: by `move`, or asked for its facts.

    One that `remembers` tells what it was when it was asked first, as handles do, until it is made to forget.
    """

    def __init__(self, before: Embedder, after: Embedder, *, at_once: bool = False, remembers: bool = False) -> None:
        self.now, self._after, self._at_once, self._remembers = before, after, at_once, remembers
        self._told: EmbedderFacts | None = None

    def move(self) -> None:
        self.now = self._after

    async def facts(self) -> EmbedderFacts:
        facts = self._told or await self.now.facts()
        if self._at_once:
            self.move()
        self._told = facts if self._remembers else None
        return facts

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        return await self.now.embed(texts, lane)

    def pinned(self, facts: EmbedderFacts) -> Embedder:
        return _Still(self, facts)

    def forget(self) -> None:
        self._told = None


@dataclass(frozen=True)
class _Still:
    """Refuses once the other has moved."""

    moving: MovingEmbedder
    known: EmbedderFacts

    async def facts(self) -> EmbedderFacts:
        return self.known

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        if await self.moving.now.facts() != self.known:
            raise EmbedderMoved
        return await self.moving.now.embed(texts, lane)


class TiredEmbedder(FakeEmbedder):
    """Answers once, and is away from then on."""

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        if self.asked:
            self.failing = Unavailable("no weights")
        return await super().embed(texts, lane)


class FakeReranker:
    """A `Reranker` that counts the question's words in each text. `failing` is raised by every call."""

    def __init__(self, failing: AosError | None = None) -> None:
        self.failing = failing

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.failing is not None:
            raise self.failing
        asked = set(words(query))
        return np.array([len(asked & set(words(text))) for text in texts], dtype=np.float32)
