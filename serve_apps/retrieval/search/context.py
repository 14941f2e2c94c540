"""Passages as a context for a model: their value, the Markdown they stand in, and what the choice is worth."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from serve_apps.retrieval.search.pack import DIVERSITY_FACTOR, PackItem, choice_worth, choose_chunks
from serve_apps.retrieval.search.query import ContextBudget, RAGResult, SearchHit
from serve_apps.retrieval.text.token_count import TokenCounter

K = 60  # as in the fusion: how little the first ranks stand out
LEAST_SHARE = 0.6  # of the best candidate's relevance; below, little of the answer is lost and much of the rest
EMPTY = 0.1
# Share of box-drawing characters above which a passage is a picture of a table or a diagram, and what it is then worth.
BOXED = ((0.15, 0.2), (0.05, 0.5))
SHORT = ((5, 0.5), (20, 0.7), (50, 0.85))  # words below which a passage says little, and what it is then worth

_BOX = re.compile(r"[\u2500-\u259f]")
_SOURCE = re.compile(r"^(?=\s*#+\s*source\b)", re.IGNORECASE | re.MULTILINE)


def pack_context(
    question: str,
    hits: Sequence[SearchHit],
    budget: ContextBudget,
    counter: TokenCounter,
    diversity_factor: float = DIVERSITY_FACTOR,
    least_share: float = LEAST_SHARE,
    importance: float = 0.0,
) -> RAGResult:
    """The best context within the budget, from hits in the order of their ranking.

    Every chunk is counted with the heading it stands under, so the formatted context keeps to the budget. A chunk that
    is less relevant than `least_share` of the best one is left out, however much room there is: a context that is
    filled for its own sake says less with every token. By at most the share `importance`, what its metrics call
    unimportant counts less. Takes some milliseconds of the processor.
    """
    shares = candidate_relevances([hit.scores for hit in hits])
    blocks = [_source_block(n, hit, share) for n, (hit, share) in enumerate(zip(hits, shares, strict=True), 1)]
    items = [
        PackItem(hit.document_id, max(1, tokens), share * prose_quality(hit.text) * _importance_factor(hit, importance))
        for hit, share, tokens in zip(hits, shares, counter.count(blocks), strict=True)
    ]
    least = least_share * max(shares, default=0.0)
    offered = [one if share >= least else replace(one, value=0.0) for one, share in zip(items, shares, strict=True)]
    chosen = choose_chunks(offered, budget, diversity_factor)
    chunks = tuple(hits[at] for at in chosen)
    context = "".join(_source_block(n, hits[at], shares[at]) for n, at in enumerate(chosen, 1))
    whole = choice_worth(items, range(len(items)), diversity_factor)
    return RAGResult(
        chunks=chunks,
        formatted_context=context.strip(),
        total_tokens=sum(counter.count([context])) if context else 0,
        sources=tuple(dict.fromkeys(hit.filename for hit in chunks)),
        query=question,
        diversity_score=len({hit.document_id for hit in chunks}) / len(chunks) if chunks else 0.0,
        information_gain=choice_worth(items, chosen, diversity_factor) / whole if whole else 0.0,
        counted_with=counter.name,
    )


def prose_quality(text: str) -> float:
    """Share of prose in a passage, 0.1 to 1: drawings of boxes and a handful of words say little."""
    words = len(text.split())
    if not words:
        return EMPTY
    boxes = len(_BOX.findall(text)) / sum(not char.isspace() for char in text)
    drawn = next((worth for share, worth in BOXED if boxes > share), 1.0)
    return drawn * next((worth for least, worth in SHORT if words < least), 1.0)


def _importance_factor(hit: SearchHit, weight: float) -> float:
    """1 for what is wholly important or has no metrics, 1 - `weight` for what is not important at all."""
    return 1.0 if hit.metrics is None else 1 - weight * (1 - hit.metrics.importance)


def candidate_relevances(scores: Sequence[Mapping[str, float | int]]) -> list[float]:
    """Relevance of each candidate, 0 to 1.

    As the judge has it, where there was one; else its reciprocal ranks in all lists, against the best, times the mean
    of what words and meaning said of it, each against its best: ranks alone hardly tell the first from the twentieth,
    and scores alone do not know that two retrievers agree. What holds an identifier of the question literally is
    relevant.
    """
    if any("rerank" in one for one in scores):
        return [one.get("rerank", 0.0) for one in scores]
    said = [_share_of_best([_best_of(leg, one) for one in scores]) for leg in ("keyword", "vector")]
    by_retriever = [shares for shares in said if any(shares)]
    ranked = [[rank for name, rank in one.items() if name.endswith("_rank")] for one in scores]
    ranks = _share_of_best([sum(1 / (K + rank) for rank in one) for one in ranked])
    means = [fmean(shares) for shares in zip(*by_retriever, strict=True)] if by_retriever else [1.0] * len(scores)
    return [1.0 if one.get("literal") else rank * mean for one, rank, mean in zip(scores, ranks, means, strict=True)]


def _best_of(leg: str, scores: Mapping[str, float | int]) -> float | None:
    """Its best score in a leg, over the question and its variations; None where the leg did not find it."""
    found = (score for name, score in scores.items() if name.startswith(leg) and name.endswith("_score"))
    return max(found, default=None)


def _share_of_best(values: Sequence[float | None]) -> list[float]:
    """Each value against the best; where there is none, it is as good as the least of the others."""
    known = [max(value, 0.0) for value in values if value is not None]
    least, best = min(known, default=0.0), max(known, default=0.0) or 1.0
    return [(least if value is None else max(value, 0.0)) / best for value in values]


def _source_block(n: int, hit: SearchHit, share: float) -> str:
    """A source under its heading; its text cannot begin another one."""
    name = " ".join(hit.filename.split())
    text = _SOURCE.sub("\u200b", hit.text.strip())
    return f"### Source {n}: {name} (relevance: {share:.0%})\n\n{text}\n\n"
