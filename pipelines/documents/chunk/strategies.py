"""Chunking strategies by name: each groups the pieces of a document into chunks, as a pure function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import fmean, pstdev

import numpy as np
from numpy.typing import NDArray

from configs.sections import ChunkSettings, ChunkStrategy
from pipelines.documents.chunk.border_rules import EntropyBorders, KeywordBorders, SimilarityBorders
from pipelines.documents.chunk.bounds import SizeBounds
from pipelines.documents.chunk.keywords import find_keywords, jaccard_similarity
from pipelines.documents.chunk.packing import ChunkDraft, chunk_length, pack_by_rule, pack_pieces
from pipelines.documents.chunk.pieces import TextPiece

SIZE_SHARE, COHERENCE_SHARE, COVERAGE_SHARE = 0.3, 0.4, 0.3  # of the quality by which `adaptive` chooses


@dataclass(frozen=True, slots=True)
class ChunkingInput:
    """A document as a strategy sees it."""

    pieces: Sequence[TextPiece]
    texts: Sequence[str]  # of the pieces
    bounds: SizeBounds
    settings: ChunkSettings
    vectors: NDArray[np.float32] | None  # of the texts, one unit row each; None where the embedder stays away


@dataclass(frozen=True, slots=True)
class Chunking:
    """Chunks of a document, and the parents of a hierarchical strategy."""

    drafts: Sequence[ChunkDraft]
    method: str  # the strategy that cut them
    parents: Sequence[ChunkDraft] = ()


def cut_semantic(given: ChunkingInput) -> Chunking:
    """As full as allowed, at titles, paragraphs and sentences."""
    return Chunking(pack_pieces(given.pieces, given.bounds), "semantic")


def cut_by_similarity(given: ChunkingInput) -> Chunking:
    """Between sentences whose vectors are far apart; by keywords where there are no vectors, which `method` tells."""
    if given.vectors is None:
        return cut_by_topic(given)
    rule = SimilarityBorders(given.vectors, given.settings.similarity)
    return Chunking(pack_by_rule(given.pieces, given.bounds, rule), "semantic_similarity")


def cut_by_density(given: ChunkingInput) -> Chunking:
    """At the target, or where much is said in few words."""
    rule = EntropyBorders(given.texts, given.settings.entropy_factor, given.bounds.target)
    return Chunking(pack_by_rule(given.pieces, given.bounds, rule), "information_density")


def cut_by_topic(given: ChunkingInput) -> Chunking:
    """Between sentences that share few keywords."""
    rule = KeywordBorders(given.texts, given.settings.coherence)
    return Chunking(pack_by_rule(given.pieces, given.bounds, rule), "topic_coherence")


def cut_hierarchically(given: ChunkingInput) -> Chunking:
    """Parents of twice the target, and in each of them chunks of half the target."""
    bounds = given.bounds
    parents = pack_pieces(given.pieces, replace(bounds, size=min(2 * bounds.target, bounds.size)))
    own = replace(bounds, size=max(1, bounds.target // 2))
    drafts = [
        draft
        for parent in parents
        for draft in pack_pieces(given.pieces, own, range(parent.first, parent.end), merged_size=bounds.target)
    ]
    return Chunking(drafts, "hierarchical", parents)


def cut_adaptively(given: ChunkingInput) -> Chunking:
    """The best of three strategies by `measure_quality`; of two where there are no vectors. The first of equals."""
    tried = [cut_by_topic(given), cut_by_density(given)]
    if given.vectors is not None:
        tried.append(cut_by_similarity(given))
    best = max(tried, key=partial(measure_quality, given))
    return replace(best, method=f"adaptive:{best.method}")


STRATEGIES: Mapping[ChunkStrategy, Callable[[ChunkingInput], Chunking]] = {
    "semantic": cut_semantic,
    "semantic_similarity": cut_by_similarity,
    "information_density": cut_by_density,
    "topic_coherence": cut_by_topic,
    "hierarchical": cut_hierarchically,
    "adaptive": cut_adaptively,
}
NEEDING_VECTORS: frozenset[ChunkStrategy] = frozenset({"semantic_similarity", "adaptive"})


def measure_quality(given: ChunkingInput, made: Chunking) -> float:
    """0.3 size consistency + 0.4 mean coherence + 0.3 coverage, 0 to 1.

    Consistency is 1 less the coefficient of variation of the sizes, 0 at least; coherence the mean Jaccard similarity
    of neighbours' keywords; coverage the share of the text, in pieces' lengths, that stands in a chunk.
    """
    if not made.drafts:
        return 0.0
    sizes = [chunk_length(given.pieces, draft.lead, draft.end) for draft in made.drafts]
    mean = fmean(sizes)
    consistency = max(0.0, 1 - pstdev(sizes) / mean) if mean else 0.0
    keywords = [find_keywords("\n".join(given.texts[draft.lead : draft.end])) for draft in made.drafts]
    coherence = fmean(neighbour_coherence(keywords))
    covered = {at for draft in made.drafts for at in range(draft.lead, draft.end)}
    whole = sum(map(len, given.texts))
    coverage = sum(len(given.texts[at]) for at in covered) / whole if whole else 1.0
    return SIZE_SHARE * consistency + COHERENCE_SHARE * coherence + COVERAGE_SHARE * coverage


def neighbour_coherence(keywords: Sequence[frozenset[str]]) -> list[float]:
    """Mean Jaccard similarity of each chunk's keywords with those of its neighbours; 1 where it is alone."""
    beside = [jaccard_similarity(one, other) for one, other in pairwise(keywords)]
    if not beside:
        return [1.0] * len(keywords)
    return [fmean(beside[max(at - 1, 0) : at + 1]) for at in range(len(keywords))]
