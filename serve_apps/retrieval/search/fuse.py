"""Weighted reciprocal rank fusion: ranked lists become one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from configs.sections_retrieval import SearchSettings
from serve_apps.retrieval.search.query import Candidate
from serve_apps.retrieval.text.words import word_tokens

FuseBy = Literal["rank", "score"]
RetrieverName = Literal["keyword", "vector"]
PLACES = 100


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """Weights of the lexical and the vector retriever in the fusion."""

    keyword: float
    vector: float


# `rrf.seed` is the pair the product was specified with; the settings ship the pair that public test sets favour.
PRESETS = {"rrf.seed": FusionWeights(keyword=0.3, vector=0.7)}


def weigh_retrievers(settings: SearchSettings, question: str) -> dict[RetrieverName, float]:
    """Weights of the retrievers for a question.

    A mail or a ticket says many words that are not what it asks for, so by score the words of a long one count less;
    ranks weigh as they are set, whatever the length.
    """
    share = settings.long_keyword_share if settings.fuse_by == "score" and is_long(settings, question) else 1.0
    return {"keyword": settings.weight_keyword * share, "vector": settings.weight_vector}


def is_long(settings: SearchSettings, question: str) -> bool:
    """True from `long_words` words on; of scripts without spaces each pair of letters is one."""
    return next(islice(word_tokens(question), settings.long_words - 1, None), None) is not None


class RankedChunk(NamedTuple):
    """One line of a leg's answer, in the leg's own measure; higher is better.

    Two hundred are made for every question: a tuple takes a third of the time that a dataclass does.
    """

    chunk_id: str
    document_id: str
    score: float
    literal: int = 0  # how many of a short question's identifiers stand in it as they are written
    quoted: int = 0  # how many of the phrases that a question puts in quotes do, and of a long one's identifiers


class RankFusion:
    """Orders by the sum of weight / (k + place), places from 1 (Cormack, Clarke and Buettcher 2009).

    By rank, the place is the rank. By score, it is where the score stands between the leg's best (1) and nothing
    (`PLACES`), so that a leg which sees a wide gap says more than one which hardly tells its first from its last; a
    chunk that a leg lacks stands there at nothing. Bruch, Gai and Ingber (2023) have why scores say more than ranks.

    A leg is counted when it is there, while others are still under way.
    """

    def __init__(self, k: int = 60, by: FuseBy = "rank") -> None:
        """`k`: how little the first places stand out; `by`: what makes a place."""
        self._k, self._by = k, by
        self.lists = 0  # that were counted
        self._scores: dict[str, dict[str, float | int]] = {}
        self._documents: dict[str, str] = {}
        self._best: dict[str, int] = {}
        self._literal = False

    def add(self, name: str, weight: float, leg: Sequence[RankedChunk]) -> None:
        """Count a ranked list, best first; a chunk that it has twice counts at its better place.

        `name`: prefixes the leg's `_rank` and `_score` in `Candidate.scores`; another for every list of a question's
        variations (`keyword:2`, …). `weight`: what the leg is worth beside others.
        """
        self.lists += 1
        scores, documents, best = self._scores, self._documents, self._best
        rank_name, score_name, rank, k = f"{name}_rank", f"{name}_score", 0, self._k
        worths = _score_gains([one.score for one in leg], k) if self._by == "score" else ()
        for at, (chunk, document, score, held, _) in enumerate(leg):
            of = scores.get(chunk)
            if of is None:
                scores[chunk] = of = {"fused": 0.0}
                documents[chunk], best[chunk] = document, rank + 1
            elif rank_name in of:
                continue  # listed twice: the better place counts
            rank += 1
            if rank < best[chunk]:
                best[chunk] = rank
            of[rank_name], of[score_name] = rank, score
            of["fused"] += weight * (worths[at] if worths else 1 / (k + rank))
            if held:
                self._literal, of["literal"] = True, max(held, of.get("literal", 0))

    def ranked(self) -> list[Candidate]:
        """Candidates of all lists, best first.

        Equal sums are ordered by the better rank in any leg, then by chunk id, so the same lists always give the same
        order. What holds more of the question's identifiers comes first, whatever its sum.
        """
        scores, documents, best = self._scores, self._documents, self._best
        kept = sorted((-of["fused"], best[c], c) for c, of in scores.items())
        if self._literal:
            kept.sort(key=lambda one: -scores[one[2]].get("literal", 0))
        return [Candidate(chunk, documents[chunk], scores[chunk]) for _, _, chunk in kept]


def _score_gains(scores: Sequence[float], k: int) -> list[float]:
    """Reciprocal-rank gain of each score: 1 / (k + place) above the last place's."""
    highest, last = max((score for score in scores if score > 0), default=0.0), k + PLACES
    each = (PLACES - 1) / highest if highest > 0 else 0.0  # places that a score of one stands above nothing
    return [1 / (last - each * score) - 1 / last if score > 0 else 0.0 for score in scores]
