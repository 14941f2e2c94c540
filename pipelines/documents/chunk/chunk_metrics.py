"""Quality metrics of a document's chunks: entropy, topic coherence, semantic density, importance."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipelines.documents.chunk.entropy import shannon_entropy
from pipelines.documents.chunk.keywords import find_keywords
from pipelines.documents.chunk.packing import ChunkDraft
from pipelines.documents.chunk.strategies import neighbour_coherence
from pipelines.documents.document import ChunkMetrics

# No source gives the weights of importance: what a chunk says and how it hangs together count alike, its place half.
ENTROPY_SHARE, COHERENCE_SHARE, PLACE_SHARE = 0.4, 0.4, 0.2
DIGITS = 4


def measure_chunks(
    texts: Sequence[str], drafts: Sequence[ChunkDraft], vectors: NDArray[np.float32] | None
) -> list[ChunkMetrics]:
    """Metrics of all chunks of a document, to four digits; `vectors` are those of its pieces, unit rows.

    Importance is 0.4 of the entropy against the document's highest, 0.4 of the coherence and 0.2 of the place, which is
    1 for the first chunk and falls evenly towards the end.
    """
    entropies = [shannon_entropy(text) for text in texts]
    highest = max(entropies, default=0.0) or 1.0
    coherences = neighbour_coherence([find_keywords(text) for text in texts])
    densities = [None if vectors is None else _cluster_tightness(vectors[draft.lead : draft.end]) for draft in drafts]
    found = []
    for at, (bits, coherence, density) in enumerate(zip(entropies, coherences, densities, strict=True)):
        importance = ENTROPY_SHARE * bits / highest + COHERENCE_SHARE * coherence + PLACE_SHARE * (1 - at / len(texts))
        close = None if density is None else round(density, DIGITS)
        found.append(ChunkMetrics(round(bits, DIGITS), round(coherence, DIGITS), close, round(importance, DIGITS)))
    return found


def _cluster_tightness(vectors: NDArray[np.float32]) -> float:
    """Mean cosine of unit vectors to their centre, which is the length of their mean."""
    return min(1.0, float(np.linalg.norm(vectors.mean(axis=0, dtype=np.float64))))
