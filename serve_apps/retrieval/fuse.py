"""Weighted reciprocal rank fusion: two ranked lists become one."""

from collections.abc import Sequence
from dataclasses import dataclass

from serve_apps.retrieval.query import Candidate


@dataclass(frozen=True, slots=True)
class Weights:
    """What a rank in each leg is worth."""

    keyword: float
    vector: float


# `rrf.seed` is the pair the product was specified with; the settings ship the pair that public test sets favour.
PRESETS = {"rrf.seed": Weights(keyword=0.3, vector=0.7)}


@dataclass(frozen=True, slots=True)
class Found:
    """One line of a leg's answer, in the leg's own measure; higher is better."""

    chunk_id: str
    document_id: str
    score: float


def fuse(keyword: Sequence[Found], vector: Sequence[Found], weights: Weights, k: int = 60) -> list[Candidate]:
    """Order by the sum of weight / (k + rank), ranks from 1 (Cormack, Clarke and Buettcher 2009).

    A chunk that a leg lists twice counts at its better place. Equal sums are ordered by the better rank in any leg,
    then by chunk id, so the same lists always give the same order.
    """
    scores: dict[str, dict[str, float | int]] = {}
    documents: dict[str, str] = {}
    best: dict[str, int] = {}
    for name, leg, weight in (("keyword", keyword, weights.keyword), ("vector", vector, weights.vector)):
        once = {found.chunk_id: found for found in reversed(leg)}
        ranked = [found for found in leg if once[found.chunk_id] is found]
        for rank, found in enumerate(ranked, 1):
            chunk = found.chunk_id
            documents[chunk] = found.document_id
            best[chunk] = min(rank, best.get(chunk, rank))
            of = scores.setdefault(chunk, {"fused": 0.0})
            of[f"{name}_rank"], of[f"{name}_score"] = rank, found.score
            of["fused"] += weight / (k + rank)
    order = sorted(scores, key=lambda chunk: (-scores[chunk]["fused"], best[chunk], chunk))
    return [Candidate(chunk, documents[chunk], scores[chunk]) for chunk in order]
