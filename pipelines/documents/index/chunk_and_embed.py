"""Stored pages of versions to chunks and vectors: the same function on a laptop and inside a Dataset."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Transient
from cluster.basics.retry import MODEL_WAITS, call_with_retries
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import pin_embedder
from cluster.models.embedding.prefixes import embed_passages
from cluster.models.embedding.token_ends import load_token_ends
from cluster.models.ports import Embedder, EmbeddingLane
from configs.sections import ChunkSettings
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.chunk.language import detect_stemmers
from pipelines.documents.chunk.rulers import TokenEnds
from pipelines.documents.chunk.split import (
    chunker_fingerprint,
    follows_embedder,
    needs_vectors,
    sentence_texts,
    split_pages,
)
from pipelines.documents.document import Chunk, Page, VersionId
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import PageTable
from pipelines.documents.index.generations import BrokenVectors, IndexedVersion
from pipelines.documents.store.chunk_strategies import with_strategy
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.documents.store.page_codec import search_text

TEXTS_A_CALL = 4096  # sentences that are embedded in one call
TEXTS_BETWEEN_PAUSES = 32  # four batches of a CPU's, so that hardly one is not full


class VersionIndexer:
    """Splits what was read and embeds it; text is never read from the file again."""

    def __init__(
        self,
        store: DocumentStore,
        embedder: Embedder,
        chunk: ChunkSettings,
        lane: EmbeddingLane,
        *,
        tokens: TokenEnds | None = None,
        pause: Callable[[], Awaitable[None]] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Nothing is embedded yet.

        Args:
            lane: decides who waits for whom at the embedder.
            tokens: counts where sizes are in tokens.
            pause: awaited between a few texts and the next few, while others are to come first; without it they go to
                the embedder together.
        """
        self._store, self._embedder, self._chunk, self._lane, self._sleep = store, embedder, chunk, lane, sleep
        self._tokens, self._pause = tokens, pause

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> list[IndexedVersion]:
        """Chunks and vectors of each version, embedded together.

        An embedder that stays away is not an error here: the chunks come without vectors, are found by their words,
        and their document is `embedding_pending`. A strategy that compares sentences does without, too, until then.
        """
        cut: list[tuple[IndexedVersion, list[str]]] = []
        away = False
        for version in versions:
            one, away = await self._split_version(scope, version, away)
            cut.append((one, [search_text(chunk) for chunk in one.chunks]))
        texts = [text for _, some in cut for text in some]
        vectors, made = (None, "") if away else await self._embed_texts(texts)
        indexed, start = [], 0
        for one, some in cut:
            own = None if vectors is None else vectors[start : start + len(some)]
            indexed.append(replace(one, vectors=own, made=made))
            start += len(some)
        return indexed

    async def _split_version(self, scope: Scope, version: VersionId, away: bool) -> tuple[IndexedVersion, bool]:
        """A version without vectors, cut by its document's strategy, and whether the embedder stays `away` by now."""
        pages, reads = await self._store.load_pages(scope, version)
        chosen = await self._store.chunk_strategies(scope, version)
        common = with_strategy(self._chunk, chosen.workspace)
        settings = with_strategy(common, chosen.document)
        sentences = None
        if needs_vectors(settings):
            sentences = None if away else await self._embed_sentences(pages, settings)
            away = sentences is None
        chunks, tables, stemmers = await asyncio.to_thread(_cut_pages, pages, settings, sentences, self._tokens)
        chunker = await self._fingerprint_chunker(common)
        return IndexedVersion(version, chunks, None, reads, "", tables, stemmers, chunker), away

    async def _fingerprint_chunker(self, common: ChunkSettings) -> str:
        """Fingerprint of the workspace's chunker; empty where it goes by an embedder that stays away."""
        if not follows_embedder(common):
            return chunker_fingerprint(common, "")
        try:
            return chunker_fingerprint(common, (await self._embedder.facts()).fingerprint)
        except Transient:
            return ""

    async def _embed_sentences(self, pages: Sequence[Page], settings: ChunkSettings) -> NDArray[np.float32] | None:
        """Vectors of what the strategy compares; None where the embedder stays away."""
        texts = await asyncio.to_thread(sentence_texts, pages, settings, self._tokens)
        parts = [texts[at : at + TEXTS_A_CALL] for at in range(0, len(texts), TEXTS_A_CALL)]
        found = [(await self._embed_texts(part))[0] for part in parts]
        known = [part for part in found if part is not None]
        if len(known) < len(found):
            return None
        vectors = np.concatenate(known) if known else np.empty((0, 0), np.float32)
        if len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise BrokenVectors("vectors of sentences")
        return vectors

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
        pinned = pin_embedder(self._embedder, facts)
        if self._pause is None:
            return await embed_passages(pinned, texts, self._lane), facts.fingerprint
        parts = []
        for at in range(0, len(texts), TEXTS_BETWEEN_PAUSES):
            await self._pause()
            parts.append(await embed_passages(pinned, texts[at : at + TEXTS_BETWEEN_PAUSES], self._lane))
        return np.concatenate(parts), facts.fingerprint


def chunk_token_ends(chunk: ChunkSettings, embedding: EmbeddingSettings) -> TokenEnds | None:
    """What counts tokens where sizes are in tokens; reads a vocabulary."""
    return load_token_ends(embedding) if chunk.unit == "tokens" else None


def _cut_pages(
    pages: Sequence[Page], chunk: ChunkSettings, sentences: NDArray[np.float32] | None, tokens: TokenEnds | None
) -> tuple[tuple[Chunk, ...], tuple[PageTable, ...], tuple[str, ...]]:
    """Chunks and tables of a version, and the stemmer of each chunk."""
    chunks = tuple(split_pages(pages, chunk, sentences, tokens))
    tables = tuple(table for page in pages for table in find_tables(page))
    return chunks, tables, tuple(detect_stemmers([one.text for one in chunks]))
