"""Two runs over the same questions: how much better or worse one is, and whether that may be chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 5_000
SEED = 20260101  # the same two runs always give the same interval
SAME = 1e-9


@dataclass(frozen=True, slots=True)
class MeasureDifference:
    """Means of one measure in both runs, over the questions that have it in both."""

    measure: str
    n: int  # questions
    baseline: float
    candidate: float
    delta: float  # candidate - baseline
    low: float  # to `high`: 95 % interval of `delta` by paired bootstrap (Efron and Tibshirani 1993)
    high: float
    p: float  # two-sided sign test over the questions that differ; 1 where none does
    better: int  # questions, as the candidate did on them; so `worse` and `equal`
    worse: int
    equal: int


def compare_measures(
    baseline: Mapping[str, Mapping[str, float]], candidate: Mapping[str, Mapping[str, float]]
) -> list[MeasureDifference]:
    """Every measure that both runs have, times excepted; both by question key."""
    shared = [key for key in baseline if key in candidate]
    names = dict.fromkeys(name for key in shared for name in baseline[key] if not name.endswith("_ms"))
    found = []
    for name in names:
        keys = [key for key in shared if name in baseline[key] and name in candidate[key]]
        if keys:
            before = np.array([baseline[key][name] for key in keys])
            after = np.array([candidate[key][name] for key in keys])
            found.append(_measure_difference(name, before, after))
    return found


def _measure_difference(name: str, before: NDArray[np.float64], after: NDArray[np.float64]) -> MeasureDifference:
    delta = after - before
    low, high = bootstrap_interval(delta)
    better, worse = int((delta > SAME).sum()), int((delta < -SAME).sum())
    means = (float(before.mean()), float(after.mean()), float(delta.mean()))
    equal, chance = len(delta) - better - worse, sign_test(better, worse)
    return MeasureDifference(name, len(delta), *means, low, high, chance, better, worse, equal)


def bootstrap_interval(delta: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of the mean of paired differences."""
    rng, means = np.random.default_rng(SEED), np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, 500):  # a few at a time: 5,000 questions a resample would be 200 MB
        picked = rng.integers(0, len(delta), (min(500, RESAMPLES - start), len(delta)))
        means[start : start + len(picked)] = delta[picked].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def sign_test(better: int, worse: int) -> float:
    """P-value of the two-sided sign test: so lopsided a split by chance, by the binomial test at one half."""
    total, few = better + worse, min(better, worse)
    if not total:
        return 1.0
    if total > 1_000:  # the normal approximation, with its correction for continuity
        return math.erfc(max(0.0, abs(better - worse) - 1) / math.sqrt(2 * total))
    return min(1.0, 2 * sum(math.comb(total, k) for k in range(few + 1)) / 2**total)


def largest_changes(
    baseline: Mapping[str, Mapping[str, float]], candidate: Mapping[str, Mapping[str, float]], measure: str
) -> Sequence[tuple[str, float, float]]:
    """(key, baseline, candidate) of every question on which they differ in a measure, largest loss first."""
    both = [(key, baseline[key], candidate[key]) for key in baseline if key in candidate]
    pairs = [(key, one[measure], two[measure]) for key, one, two in both if measure in one and measure in two]
    changed = [pair for pair in pairs if abs(pair[2] - pair[1]) > SAME]
    return sorted(changed, key=lambda pair: (pair[2] - pair[1], pair[0]))
