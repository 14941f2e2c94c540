"""Cache decision for a question: a value that results carry, so that nobody wonders where they come from."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["hit", "miss", "bypass"]


@dataclass(frozen=True, slots=True)
class CacheDecision:
    """Origin of results: cache hit, miss or bypass, and why.

    Attributes:
        outcome: `hit`: remembered; `miss`: worked out now; `bypass`: the cache was not asked, or could not be.
        reason: in a few words, for people.
        similarity: cosine of the question to the remembered one that was nearest; None where none was compared.
        age_seconds: since a hit was worked out.
        question: the remembered question of a hit, or the nearest one that was refused.
        shared: somebody else asked the same at the same moment, and it was worked out once.
    """

    outcome: Outcome
    reason: str
    similarity: float | None = None
    age_seconds: float | None = None
    question: str | None = None
    shared: bool = False
