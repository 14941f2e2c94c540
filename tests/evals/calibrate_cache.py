"""Measures which similarity keeps the cache's false hits below which share; the caller chooses the pairs."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from serve_apps.retrieval.cache.calibration import CalibrationRow, RiskCalibration
from tests.evals.near_misses import Pair

SIMILARITIES = tuple(round(0.8 + step / 100, 2) for step in range(20))

ONE_SIDED = 1.645  # standard deviations that one case of twenty exceeds


class PairJudge(Protocol):
    """Knows pairs of texts: how near they are, and whether the comparison of words takes them for the same."""

    def cosine(self, one: str, other: str) -> float:
        """Of their vectors."""

    def worded(self, one: str, other: str) -> bool:
        """The comparison of words alone."""


@dataclass(frozen=True, slots=True)
class LookAlikes:
    """Pairs that ask different things, by where they come from, each with its kind of change."""

    sources: Mapping[str, Sequence[Pair]]

    def without(self, change: str) -> "LookAlikes":
        """All but the pairs of one kind."""
        left = {name: [pair for pair in pairs if pair.change != change] for name, pairs in self.sources.items()}
        return LookAlikes({name: pairs for name, pairs in left.items() if pairs})


def measure_rows(judge: PairJudge, known: LookAlikes) -> tuple[CalibrationRow, ...]:
    """For each similarity the share of false hits of the source that has most, or what chance may hide of all of them.

    The latter is the upper end of the one-sided 95 % interval (Wilson 1927) over the pairs of all sources together.
    """
    cosines = {
        name: [judge.cosine(pair.one, pair.other) for pair in pairs if judge.worded(pair.one, pair.other)]
        for name, pairs in known.sources.items()
    }
    rows = []
    for similarity in SIMILARITIES:
        wrong = {name: sum(cosine >= similarity for cosine in some) for name, some in cosines.items()}
        worst = max(wrong[name] / len(pairs) for name, pairs in known.sources.items())
        chance = upper_share(sum(wrong.values()), sum(map(len, known.sources.values())))
        rows.append(CalibrationRow(similarity, max(worst, chance)))
    return tuple(rows)


def upper_share(count: int, total: int) -> float:
    """The share that is exceeded in one case of twenty where so many of all were seen."""
    share, square = count / total, ONE_SIDED**2
    spread = ONE_SIDED * math.sqrt(share * (1 - share) / total + square / (4 * total**2))
    return (share + square / (2 * total) + spread) / (1 + square / total)


def count_left_out(judge: PairJudge, known: LookAlikes, embedder: str, risk: float) -> tuple[int, int]:
    """False hits among all pairs, each kind judged at the similarity that follows without it; and how many pairs."""
    wrong = total = 0
    for change in dict.fromkeys(pair.change for pairs in known.sources.values() for pair in pairs):
        threshold = RiskCalibration(embedder, measure_rows(judge, known.without(change))).similarity_for(risk)
        own = [pair for pairs in known.sources.values() for pair in pairs if pair.change == change]
        total += len(own)
        if threshold is not None:
            wrong += sum(
                judge.worded(pair.one, pair.other) and judge.cosine(pair.one, pair.other) >= threshold for pair in own
            )
    return wrong, total


def write_table(path: Path, embedder: str, known: LookAlikes, rows: Sequence[CalibrationRow]) -> None:
    """Keep the table where the cache reads it."""
    told = {
        "embedder": embedder,
        "pairs": {name: len(pairs) for name, pairs in known.sources.items()},
        "rows": [{"similarity": row.similarity, "false_hits": row.false_hits} for row in rows],
    }
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
