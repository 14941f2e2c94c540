"""A knapsack by brute force, and small random cases for it: what the real one has to equal."""

import random
from collections.abc import Sequence
from itertools import combinations

from serve_apps.retrieval.search.pack import PackItem
from serve_apps.retrieval.search.query import ContextBudget

SMALL_CASES = 10_000


def by_every_subset(items: Sequence[PackItem], budget: ContextBudget, factor: float) -> float:
    """The greatest value of any subset that keeps to the budget; written without a word of the real one."""
    best, falling = 0.0, sorted(items, key=lambda one: -one.value)  # and so is every subset
    for size in range(1, min(budget.max_chunks, len(items)) + 1):
        for subset in combinations(falling, size):
            if sum(one.tokens for one in subset) <= budget.max_tokens:
                taken: dict[str, int] = {}
                value = 0.0
                for one in subset:
                    value += one.value * (1 - factor) ** taken.get(one.document, 0)
                    taken[one.document] = taken.get(one.document, 0) + 1
                best = max(best, value)
    return best


def cases(count: int) -> list[tuple[list[PackItem], ContextBudget, float]]:
    rng = random.Random(1503)
    found = []
    for _ in range(count):
        documents = rng.choice(["a", "ab", "abc", "abcdefg"])
        grain = rng.choice([1, 3, 1000])  # few different values make ties
        items = [
            PackItem(rng.choice(documents), rng.randint(1, 12), rng.randint(0, 4 * grain) / (4 * grain))
            for _ in range(rng.randint(1, 7))
        ]
        found.append(
            (items, ContextBudget(rng.randint(1, 30), rng.randint(1, 7)), rng.choice([0.3, 0.3, 0.0, 0.6, 1.0]))
        )
    return found
