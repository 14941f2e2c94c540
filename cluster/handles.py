"""Serve handles that satisfy ports: the caller does not know where a model or a component runs."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ray import serve
from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import BackPressureError, RayServeException
from ray.serve.handle import DeploymentHandle

from cluster.basics.errors import AosError, Overloaded, Unavailable
from cluster.models.embedding.embedders import open_embedders
from cluster.models.embedding.migration import EmbedderMoved, pair_embedders
from cluster.models.embedding.provider_chain import embedding_settings
from cluster.models.ports import Embedder, EmbedderFacts, EmbeddingLane, Reranker
from cluster.models.reranking.configured_model import model_of
from cluster.models.reranking.cross_encoder import load_reranker
from configs.sections import Settings

EMBEDDING = ("embedding", "Embedder")
RERANKER = ("reranker", "Reranker")
ORCHESTRATOR = ("orchestrator", "Orchestrator")
EXECUTOR = ("executor", "Executor")

# A Serve message may have 4 MiB; half of it leaves room for the envelope and for the vectors of the answer.
MESSAGE_BYTES = 2 * 2**20
MESSAGE_TEXTS = 512


class HandleEmbedder:
    """An `Embedder`, and `ReplaceableEmbedder`, whose model lives in Serve replicas."""

    def __init__(self, handle: DeploymentHandle[Any], place: int = 0) -> None:
        """`place`: 0 for the embedder of now, 1 for the one before it."""
        self._handle, self._place = handle, place
        self._facts: EmbedderFacts | None = None

    async def facts(self) -> EmbedderFacts:
        """The embedder's facts; asked once, until the replicas have another model.

        Raises Unavailable where the replica died, twice, or has no such embedder.
        """
        if self._facts is None:
            self._facts = EmbedderFacts(**await _call_with_retry(self._handle.facts, self._place))
        return self._facts

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """One row of length 1 for each text, in order: shape (len(texts), dimension); lists travel in one message.

        Raises:
            Overloaded: every replica's queue is full.
            Unavailable: the replica died, twice.
            EmbedderMoved: the replicas have another model since `facts` was asked.
        """
        return await self.embed_as(await self.facts(), texts, lane)

    async def embed_as(self, facts: EmbedderFacts, texts: Sequence[str], lane: EmbeddingLane) -> NDArray[np.float32]:
        """As `embed`, with the model of these facts and no other."""
        if not texts:
            return np.empty((0, facts.dimension), dtype=np.float32)
        told = lane.value, self._place, facts.fingerprint
        try:
            parts = [await _call_with_retry(self._handle.embed, part, *told) for part in split_messages(texts)]
        except EmbedderMoved:
            if self._facts == facts:
                self._facts = None
            raise
        return np.concatenate(parts)

    def pinned(self, facts: EmbedderFacts) -> Embedder:
        """See `ReplaceableEmbedder`."""
        return _Pinned(self, facts)

    def forget(self) -> None:
        """See `ReplaceableEmbedder`."""
        self._facts = None


@dataclass(frozen=True, slots=True)
class _Pinned:
    """An `Embedder` that stays what it was."""

    embedder: HandleEmbedder
    known: EmbedderFacts

    async def facts(self) -> EmbedderFacts:
        """The facts that the embedder is pinned to."""
        return self.known

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        """As `HandleEmbedder.embed`."""
        return await self.embedder.embed_as(self.known, texts, lane)


class HandleReranker:
    """A `Reranker` whose model lives in Serve replicas."""

    def __init__(self, handle: DeploymentHandle[Any]) -> None:
        self._handle = handle

    async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One score for each text, in order: shape (len(texts),). Raises Overloaded and Unavailable as `embed`."""
        parts = [await _call_with_retry(self._handle.score, query, part) for part in split_messages(texts)]
        return np.concatenate([np.empty(0, dtype=np.float32), *parts])


class RemoteDeployment:
    """A deployment whose methods take and give JSON; streams come item by item, and end there when closed here."""

    def __init__(self, application: str, deployment: str) -> None:
        """Nothing is asked yet: the application may be deployed later."""
        self._names = application, deployment

    async def call(self, method: str, *arguments: Any) -> Any:
        """One answer.

        Raises:
            AosError: what the replica raised, by its name.
            Overloaded, Unavailable: every queue is full; the replica died.
        """
        return await _call_once(getattr(_deployment_handle(*self._names), method), *arguments)

    async def stream(self, method: str, *arguments: Any) -> AsyncIterator[Any]:
        """Items as they come; errors as for `call`."""
        found = getattr(_deployment_handle(*self._names).options(stream=True), method).remote(*arguments)
        try:
            with _translate_errors():
                async for item in found:
                    yield item
        finally:
            found.cancel()  # harmless once it has ended


def build_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings place, with the one before it where they name one.

    It is in this process, or in the Serve application `embedding`. Raises InvalidSettings as `open_embedder`,
    Unavailable where the application is not deployed.
    """
    if settings.embedding.placement == "inproc":
        return pair_embedders(*open_embedders(embedding_settings(settings), idle=settings.read.idle))
    handle = _deployment_handle(*EMBEDDING)
    count = 1 if settings.embedding.former_model is None else 2
    return pair_embedders(*(HandleEmbedder(handle, place) for place in range(count)))


def build_reranker(settings: Settings) -> Reranker | None:
    """The cross-encoder, placed as the embedder is; None where its weights are absent.

    Raises Unavailable where a model is configured, but the application is not deployed.
    """
    if model_of(settings.rerank, alone=settings.ray.address is None) is None:
        return None
    if settings.embedding.placement == "inproc":
        return load_reranker(settings.rerank)
    try:
        return HandleReranker(_deployment_handle(*RERANKER))
    except Unavailable:
        if settings.rerank.model is None:
            return None  # the default's weights came to this machine after the applications did
        raise


def split_messages(texts: Sequence[str], limit: int = MESSAGE_BYTES, count: int = MESSAGE_TEXTS) -> Iterator[list[str]]:
    """Lists that stay below the size of a message; a single text above it goes alone."""
    part: list[str] = []
    size = 0
    for text in texts:
        weight = len(text.encode("utf-8", "surrogatepass")) + 16
        if part and (size + weight > limit or len(part) == count):
            yield part
            part, size = [], 0
        part.append(text)
        size += weight
    if part:
        yield part


def _deployment_handle(application: str, deployment: str) -> DeploymentHandle[Any]:
    try:
        return serve.get_deployment_handle(deployment, app_name=application)
    except (KeyError, RayError, RayServeException) as error:
        raise Unavailable(f"the Serve application {application} is not there", fix="run `aos up`") from error


async def _call_with_retry(method: Any, *arguments: object) -> Any:
    """Call a replica; one that died is replaced by another once, everything here being safe to repeat.

    What the replica itself could not reach, and has tried again to, is not asked for once more.
    """
    try:
        return await _call_once(method, *arguments)
    except Unavailable as error:
        if error.tried_again:
            raise
        return await _call_once(method, *arguments)


async def _call_once(method: Any, *arguments: object) -> Any:
    with _translate_errors():
        return await method.remote(*arguments)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Errors of Ray and of what runs on it, by our names."""
    try:
        yield
    except BackPressureError as error:
        raise Overloaded("every replica has too much to do") from error
    except RayTaskError as error:
        # What the replica's own code raised: ours by its name, a defect as it is; neither gets better by repeating.
        if isinstance(error.cause, AosError):
            raise error.cause from error
        raise
    except (RayError, RayServeException) as error:
        raise Unavailable(f"a replica failed: {str(error).strip().splitlines()[-1]}") from error
