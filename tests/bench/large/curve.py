"""Curves through figures of some sizes, and what they say of a larger one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GrowthCurve:
    """`factor` times the size to the power of `exponent`.

    Attributes:
        error: the largest deviation of a measured figure from the curve, as a share of it.
        largest: the largest size that was measured.
    """

    factor: float
    exponent: float
    error: float
    largest: float

    def at(self, size: float) -> float:
        """The figure at a size; beyond `largest` it is extrapolated."""
        return float(self.factor * size**self.exponent)

    def told(self, size: float) -> str:
        """How it was come by, for the report."""
        return (
            f"extrapolated {size / self.largest:.0f}-fold from {self.largest:,.0f} as size^{self.exponent:.2f},"
            f" off by {self.error:.0%} at most where it was measured"
        )


def fit_growth(figures: Mapping[int, float]) -> GrowthCurve | None:
    """Least squares through the logarithms of figures by size; None with fewer than three or with none above 0."""
    if len(figures) < 3 or any(value <= 0 or size <= 0 for size, value in figures.items()):
        return None
    points = [(math.log(size), math.log(value)) for size, value in figures.items()]
    middle = sum(x for x, _ in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    exponent = sum((x - middle) * y for x, y in points) / spread
    level = sum(y for _, y in points) / len(points) - exponent * middle
    error = max(abs(math.exp(level + exponent * x - y) - 1) for x, y in points)
    return GrowthCurve(math.exp(level), exponent, error, max(figures))


def seconds_left(done: int, total: int, seconds: float) -> float | None:
    """How long the rest takes at the pace so far; None before anything was done."""
    return None if done <= 0 else (total - done) * seconds / done


def told_duration(seconds: float | None) -> str:
    """For a line of progress: `40 s`, `12 min`, `3.5 h`."""
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"
