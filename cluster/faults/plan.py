"""A plan of faults: the same seed gives the same faults in the same order, at the same shares of a job."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.faults.kinds import FaultKind

LAST_SHARE = 0.85  # of a job's pages: what comes back after the last fault still finds work


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault to come.

    Attributes:
        number: from 1.
        share: of the job's pages that are done when it is due, 0 to 1.
        pick: 0 to 1, the place of the process that is hit among those of its part.
    """

    number: int
    kind: FaultKind
    share: float
    pick: float


def plan_faults(seed: int, count: int, kinds: Sequence[FaultKind]) -> tuple[PlannedFault, ...]:
    """So many faults in the order of their shares: every kind as often as the others, give or take one."""
    rng = random.Random(seed)
    rounds = -(-count // len(kinds)) if kinds else 0
    chosen: list[FaultKind] = []
    for _ in range(rounds):
        chosen += rng.sample(kinds, len(kinds))
    return tuple(
        PlannedFault(number, kind, LAST_SHARE * number / (count + 1), rng.random())
        for number, kind in enumerate(chosen[:count], start=1)
    )
