"""Stored pages of versions to chunks and vectors: the same function on a laptop and inside a Dataset."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Transient
from cluster.basics.retry import MODEL_WAITS, call_with_retries
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import pin_embedder
from cluster.models.embedding.prefixes import embed_passages
from cluster.models.ports import Embedder, EmbeddingLane
from configs.sections import ChunkSettings
from pipelines.documents.chunk.language import detect_stemmers
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.document import Chunk, Page, VersionId
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import PageTable
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.documents.store.page_codec import search_text


class VersionIndexer:
    """Splits what was read and embeds it; text is never read from the file again."""

    def __init__(
        self,
        store: DocumentStore,
        embedder: Embedder,
        chunk: ChunkSettings,
        lane: EmbeddingLane,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`lane` decides who waits for whom at the embedder."""
        self._store, self._embedder, self._chunk, self._lane, self._sleep = store, embedder, chunk, lane, sleep

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> list[IndexedVersion]:
        """Chunks and vectors of each version, embedded in one call.

        An embedder that stays away is not an error here: the chunks come without vectors, are found by their words,
        and their document is `embedding_pending`.
        """
        split_up: list[tuple[VersionId, tuple[Chunk, ...], tuple[PageTable, ...], tuple[str, ...], int]] = []
        for version in versions:
            pages, reads = await self._store.load_pages(scope, version)
            split_up.append((version, *await asyncio.to_thread(_split_version, pages, self._chunk), reads))
        texts = [search_text(chunk) for _, chunks, *_ in split_up for chunk in chunks]
        vectors, made = await self._embed_texts(texts)
        indexed, start = [], 0
        for version, chunks, tables, stemmers, reads in split_up:
            own = None if vectors is None else vectors[start : start + len(chunks)]
            indexed.append(IndexedVersion(version, chunks, own, reads, made, tables, stemmers))
            start += len(chunks)
        return indexed

    async def _embed_texts(self, texts: Sequence[str]) -> tuple[NDArray[np.float32] | None, str]:
        """The vectors, and the fingerprint of what made them all; none where the embedder stays away."""
        if not texts:
            return np.empty((0, 0), np.float32), ""
        try:
            return await call_with_retries(lambda: self._embed_once(texts), waits=MODEL_WAITS, sleep=self._sleep)
        except Transient:
            return None, ""

    async def _embed_once(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], str]:
        facts = await self._embedder.facts()
        return await embed_passages(pin_embedder(self._embedder, facts), texts, self._lane), facts.fingerprint


def _split_version(
    pages: Sequence[Page], chunk: ChunkSettings
) -> tuple[tuple[Chunk, ...], tuple[PageTable, ...], tuple[str, ...]]:
    """Chunks and tables of a version, and the stemmer of each chunk."""
    chunks = tuple(split_pages(pages, chunk))
    tables = tuple(table for page in pages for table in find_tables(page))
    return chunks, tables, tuple(detect_stemmers([one.text for one in chunks]))
