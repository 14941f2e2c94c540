"""Diversification: keeps the passages of one document from hiding all others."""

from collections.abc import Sequence

from serve_apps.retrieval.search.query import Candidate

DEPTH = 4  # times the limit: as many of the best candidates take part, the rest stays behind
LEAST = 0.7  # of its score counts, however many of its document stand before it


def round_robin(candidates: Sequence[Candidate], depth: int) -> list[Candidate]:
    """Each document's best of the first `depth` before any document's second, else as they were; the rest behind."""
    seen: dict[str, int] = {}
    turns = []
    for one in candidates[:depth]:
        seen[one.document_id] = turn = seen.get(one.document_id, 0) + 1
        turns.append((turn, one))
    return [one for _, one in sorted(turns, key=lambda turn: turn[0])] + list(candidates[depth:])


def spread_out(candidates: Sequence[Candidate], share: float, depth: int) -> list[Candidate]:
    """Another document's passage that is nearly as good before a document's further ones; the rest behind.

    A document's second passage counts by `share` less, its third by that share less again, down to `LEAST`; what
    counts is noted as `spread`. What holds more of its identifiers stays before the rest, and what a judge has
    seen before what none has.
    """
    head = candidates[:depth]
    if len({one.document_id for one in head}) == len(head):
        return list(candidates)
    counts: dict[str, float] = {}
    counted = []
    for at, one in enumerate(head):
        count, worth, scores = counts.get(one.document_id, 1.0), one.score, one.scores
        counts[one.document_id] = max(count * (1 - share), LEAST)
        if count < 1:
            worth *= count
            one = one._replace(scores={**scores, "spread": worth})
        counted.append((-scores.get("literal", 0), "rerank" not in scores, -worth, at, one))
    return [one for *_, one in sorted(counted)] + list(candidates[depth:])
