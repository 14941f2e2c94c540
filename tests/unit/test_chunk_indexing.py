"""The index stage with strategies that compare sentences, and with sizes in the embedder's tokens."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.embedding.token_ends import load_token_ends
from cluster.models.ports import EmbeddingLane
from configs.sections import ChunkSettings
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.document import Page, VersionId
from pipelines.documents.index.chunk_and_embed import TEXTS_BETWEEN_PAUSES, VersionIndexer, chunk_token_ends
from pipelines.documents.index.generations import BrokenVectors, IndexedVersion
from pipelines.documents.store.chunk_strategies import ChosenStrategies
from tests.fakes.chunking import assert_no_text_lost
from tests.fakes.ledger import AwayEmbedder, LetterEmbedder

SCOPE = Scope.of_worker(TenantId("t"), WorkspaceId("w"))
PUMPS, TAXES = "Pumps pump pumped water up up. ", "Fees cease; leased sleds accede. "
PAGES = [Page(1, PUMPS * 4 + TAXES * 4)]
BY_SIMILARITY = ChunkSettings(strategy="semantic_similarity", similarity=0.9, minimum=60, overlap_ratio=0)


class OnePage:
    """A store whose every version is the same page."""

    async def chunk_strategies(self, scope: Scope, version: VersionId) -> ChosenStrategies:
        return ChosenStrategies()

    async def load_pages(self, scope: Scope, version: VersionId) -> tuple[list[Page], int]:
        return PAGES, 1


class CountingEmbedder(LetterEmbedder):
    """Tells what it was asked; the first `away` calls for vectors fail."""

    def __init__(self, away: int = 0) -> None:
        self.asked: list[Sequence[str]] = []
        self._away = away

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        self.asked.append(texts)
        if len(self.asked) <= self._away:
            raise Unavailable("away")
        return await super().embed(texts, lane)


class NanEmbedder(LetterEmbedder):
    """Gives numbers that are none."""

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        return np.full((len(texts), 26), np.nan, np.float32)


async def at_once(seconds: float) -> None: ...


async def index_with(embedder: LetterEmbedder, sizes: ChunkSettings, versions: int = 1) -> list[IndexedVersion]:
    tokens = chunk_token_ends(sizes, EmbeddingSettings())
    indexer = VersionIndexer(OnePage(), embedder, sizes, EmbeddingLane.BULK, tokens=tokens, sleep=at_once)  # type: ignore[arg-type]
    return await indexer.index(SCOPE, [VersionId(f"v{n}") for n in range(versions)])


async def test_texts_go_to_the_embedder_a_few_at_a_time_where_others_may_come_first() -> None:
    """And their vectors are those of all at once."""
    embedder, pauses = CountingEmbedder(), 0
    sizes = ChunkSettings()

    async def pause() -> None:
        nonlocal pauses
        pauses += 1
        assert len(embedder.asked) == pauses - 1, "before each few"

    indexer = VersionIndexer(OnePage(), embedder, sizes, EmbeddingLane.QUESTION, pause=pause)  # type: ignore[arg-type]
    found = await indexer.index(SCOPE, [VersionId(f"v{n}") for n in range(40)])
    together = await index_with(CountingEmbedder(), sizes, versions=40)
    assert pauses == len(embedder.asked) == 2
    assert all(len(texts) <= TEXTS_BETWEEN_PAUSES for texts in embedder.asked)
    for one, other in zip(found, together, strict=True):
        assert one.vectors is not None and other.vectors is not None
        assert np.array_equal(one.vectors, other.vectors)


async def test_sentences_are_embedded_to_be_compared() -> None:
    """CH-06: through the same embedder as the chunks, which come after."""
    embedder = CountingEmbedder()
    (indexed,) = await index_with(embedder, BY_SIMILARITY)
    assert [len(texts) for texts in embedder.asked] == [8, 2]
    assert [chunk.method for chunk in indexed.chunks] == ["semantic_similarity"] * 2
    assert all(chunk.metrics and chunk.metrics.density for chunk in indexed.chunks)
    assert indexed.vectors is not None and len(indexed.vectors) == 2
    plain = CountingEmbedder()
    await index_with(plain, ChunkSettings(strategy="topic_coherence"))
    assert len(plain.asked) == 1, "what compares no vectors asks for none"


async def test_without_an_embedder_keywords_decide_until_it_is_back() -> None:
    """CH-06, EM-08: such a document is `embedding_pending`, so it is cut as it should be once the embedder is there."""
    for away in (AwayEmbedder(), CountingEmbedder(away=20)):
        both = await index_with(away, BY_SIMILARITY, versions=2)
        for indexed in both:
            assert indexed.vectors is None and {chunk.method for chunk in indexed.chunks} == {"topic_coherence"}
            assert_no_text_lost(PAGES, indexed.chunks)


async def test_numbers_that_are_none_are_no_vectors_of_sentences() -> None:
    with pytest.raises(BrokenVectors):
        await index_with(NanEmbedder(), BY_SIMILARITY)


async def test_ch_03_sizes_are_counted_in_the_packaged_models_tokens() -> None:
    """CH-03: a word piece each, punctuation too; a server's model is counted with the packaged vocabulary."""
    ends = load_token_ends(EmbeddingSettings())
    assert ends("unaffable!") == load_token_ends(EmbeddingSettings(base_url="http://a/v1", model="m"))("unaffable!")
    assert 2 <= len(ends("unaffable!")) <= 6 and ends("unaffable!")[-1] == 10
    assert ends("") == []
    sizes = ChunkSettings(unit="tokens", size=100, overlap=20)
    (indexed,) = await index_with(LetterEmbedder(), sizes)
    assert_no_text_lost(PAGES, indexed.chunks)
    assert all(len(ends(chunk.text)) <= 100 for chunk in indexed.chunks)
    assert chunker_fingerprint(sizes) != chunker_fingerprint(ChunkSettings(size=100, overlap=20))
    assert chunk_token_ends(ChunkSettings(), EmbeddingSettings(model="nowhere")) is None


def test_a_model_without_a_vocabulary_says_what_to_do(tmp_path: object) -> None:
    with pytest.raises(InvalidSettings, match=r"tokenizer\.json"):
        load_token_ends(EmbeddingSettings(model=str(tmp_path)))
