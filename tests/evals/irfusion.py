"""Ways to fuse two rankings, and which of them is chosen for a set that takes no part in the choice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from configs.sections_retrieval import SearchSettings
from serve_apps.retrieval.search.fuse import FuseBy, RankedChunk, RankFusion, is_long, weigh_retrievers
from serve_apps.retrieval.search.query import Candidate
from serve_apps.retrieval.text.literals import rank_by_phrases

LEEWAY = 0.005  # by so much the fused list of a set may be worse than its better retriever


@dataclass(frozen=True, slots=True)
class Fusion:
    """Parameters of a fusion; what the keyword retriever does not weigh, the vector retriever does."""

    by: FuseBy
    short: float  # weight of the keyword retriever for a question of few words
    long: float  # and for one of many

    def __str__(self) -> str:
        return f"by {self.by}, keyword {self.short:g}, for long questions {self.long:g}"

    def weight_for(self, question: str) -> float:
        """Weight of the keyword retriever, 0 to 1."""
        return self.long if is_long(SearchSettings(), question) else self.short


def fuse_weighted(
    by: FuseBy, weight: float, keyword: Sequence[RankedChunk], vector: Sequence[RankedChunk]
) -> list[Candidate]:
    """Both rankings as one, as the search fuses them; `weight` is the keyword retriever's, the other has the rest."""
    fusion = RankFusion(SearchSettings().rrf_k, by)
    fusion.add("keyword", weight, keyword)
    if quoting := rank_by_phrases(keyword):
        fusion.add("quoted", weight, quoting)
    fusion.add("vector", 1 - weight, vector)
    return fusion.ranked()


_WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7)
GRID = (
    *(Fusion("score", short, long) for short in _WEIGHTS for long in _WEIGHTS),
    *(Fusion("rank", weight, weight) for weight in _WEIGHTS),
)

Quality = Mapping[str, Mapping[Fusion, float]]  # set to fusion to mean nDCG@10


def shipped_fusion() -> Fusion:
    """What the settings ship, in the same terms."""
    settings = SearchSettings()
    shares = []
    for question in ("short", "long " * settings.long_words):
        weights = weigh_retrievers(settings, question)
        shares.append(round(weights["keyword"] / sum(weights.values()), 6))
    return Fusion(settings.fuse_by, *shares)


def choose(sets: Sequence[str], quality: Quality, better: Mapping[str, float]) -> Fusion:
    """The best mean among those that fall short of a set's better retriever the least, `LEEWAY` being none.

    `better`: set to the mean nDCG@10 of its better retriever.
    """

    def judge(one: Fusion) -> tuple[float, float]:
        short = max(better[name] - LEEWAY - quality[name][one] for name in sets)
        return -max(short, 0.0), fmean(quality[name][one] for name in sets)

    return max(GRID, key=judge)


def choose_without(judged: str, quality: Quality, better: Mapping[str, float]) -> Fusion | None:
    """The choice by the other sets, those made of the same documents left out, too; None where there are no others."""
    others = [name for name in quality if source_of(name) != source_of(judged)]
    return choose(others, quality, better) if others else None


def source_of(name: str) -> str:
    """The set that a set was made of: of `letters of x` and of `x` it is `x`."""
    return name.rpartition(" of ")[2]
