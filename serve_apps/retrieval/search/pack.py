"""Context packing: an exact 0/1 knapsack over tokens and count, a document's further chunks counting less."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serve_apps.retrieval.search.query import ContextBudget

DIVERSITY_FACTOR = 0.3  # by so much less counts each further chunk of a document that is in the context already
TIE = 1e-6  # values that differ by less are equal: they are added up in single precision
# Larger budgets are counted in steps of several tokens, rounded up: never too much is packed, and memory is bounded.
EXACT_TOKENS = 4_000
EXACT_STATES = 60_000  # tokens times chunks


@dataclass(frozen=True, slots=True)
class PackItem:
    """A chunk as the knapsack sees it."""

    document: str  # whose chunk it is
    tokens: int  # what it takes of the budget, 1 or more
    value: float  # relevance times quality, 0 or more


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The items of one document, best first, and what was decided about them at every state."""

    items: tuple[int, ...]
    # for each item, whether it is the last of the best choice: shape (chosen of the document, count, tokens)
    taken: tuple[NDArray[np.bool_], ...]
    most: NDArray[np.int8]  # how many items of the document the best choice has: shape (count, tokens)


def choose_chunks(
    items: Sequence[PackItem], budget: ContextBudget, diversity_factor: float = DIVERSITY_FACTOR
) -> list[int]:
    """The set of items with the greatest `choice_worth` within the budget, as indices in ascending order.

    Exact, but for ties, for budgets up to 4,000 tokens and 15 chunks: the best n items of a document count value times
    (1 - diversity_factor) ^ (n - 1) by their rank among the chosen, so within a document items are offered best first
    and the state of the dynamic programme is (tokens, count, chosen of this document); from document to document it is
    (tokens, count). Kellerer, Pferschy and Pisinger 2004, chapters 5 and 9, with a bounded count. A factor of 0 counts
    every chunk of a document fully, 1 only its best.
    """
    most = min(budget.max_chunks, len(items))
    step = max(1, -(-budget.max_tokens // min(EXACT_TOKENS, EXACT_STATES // max(most, 1))))
    room = budget.max_tokens // step
    weights = [-(-item.tokens // step) for item in items]
    factors = ((1 - diversity_factor) ** np.arange(most)).astype(np.float32)
    groups = _group_by_document(items, weights, room, most)
    groups = _prune_items(groups, items, weights, room, factors, diversity_factor)
    best: NDArray[np.float32] = np.zeros((most + 1, room + 1), dtype=np.float32)
    shelves = []
    for group in groups:
        shelf, best = _shelve_document(group, items, weights, best, factors)
        shelves.append(shelf)
    return sorted(_walk_back(shelves, weights, most, room))


def choice_worth(items: Sequence[PackItem], chosen: Sequence[int], diversity_factor: float = DIVERSITY_FACTOR) -> float:
    """Worth of a choice: each document's values, best first, each counted less than the one before."""
    of: dict[str, list[float]] = defaultdict(list)
    for at in chosen:
        of[items[at].document].append(items[at].value)
    ranked = [enumerate(sorted(values, reverse=True)) for values in of.values()]
    return sum(value * (1 - diversity_factor) ** place for values in ranked for place, value in values)


def _group_by_document(items: Sequence[PackItem], weights: Sequence[int], room: int, most: int) -> list[list[int]]:
    """The items of each document, best first, without those that no best choice needs.

    That is what does not fit, and what has `most` others of its document beside it that are no worse and no longer.
    """
    of: dict[str, list[int]] = defaultdict(list)
    for at in sorted(range(len(items)), key=lambda at: (-items[at].value, weights[at], at)):
        own = of[items[at].document]
        better = sum(weights[other] <= weights[at] for other in own)
        if weights[at] <= room and items[at].value > 0 and better < most:
            own.append(at)
    return sorted((own for own in of.values() if own), key=lambda own: (-len(own), own))


def _prune_items(
    groups: list[list[int]],
    items: Sequence[PackItem],
    weights: Sequence[int],
    room: int,
    factors: NDArray[np.float32],
    diversity_factor: float,
) -> list[list[int]]:
    """Without the items that are in no best choice: no set with them is worth what a quick guess already has.

    Two bounds hold for every set with an item: the `most` best values with it, the largest factors given to the
    largest; and its value with what fits beside it when items may be cut (Dantzig 1957).
    """
    left = [at for group in groups for at in group]
    if not left:
        return groups
    guess = max(
        choice_worth(
            items, _greedy_choice(order, items, weights, room, len(factors), diversity_factor), diversity_factor
        )
        for order in (lambda at: -items[at].value, lambda at: -items[at].value / weights[at])
    )
    value = np.array([items[at].value for at in left])
    weight = np.array([weights[at] for at in left], dtype=np.float64)
    shared = np.repeat(factors.astype(np.float64), len(groups))[: len(factors)]
    highest = np.sort(value)[::-1][: len(factors)]
    whole = float((highest * shared[: len(highest)]).sum())
    last, lowest = (shared[-1], highest[-1]) if len(highest) == len(shared) else (0.0, 0.0)
    by_count = np.where(value >= lowest, whole, whole - last * (lowest - value))
    dense = np.argsort(-value / weight)
    cut = np.interp(room - weight, np.cumsum([0.0, *weight[dense]]), np.cumsum([0.0, *value[dense]]))
    kept = {at for at, bound in zip(left, np.minimum(by_count, value + cut), strict=True) if bound >= guess - TIE}
    found = [[at for at in group if at in kept] for group in groups]
    return sorted((group for group in found if group), key=lambda group: -len(group))


def _greedy_choice(
    order: Callable[[int], float],
    items: Sequence[PackItem],
    weights: Sequence[int],
    room: int,
    most: int,
    diversity_factor: float,
) -> list[int]:
    """Take what is best by an order, again and again, a document's next item counting less."""
    chosen: list[int] = []
    taken: dict[str, int] = defaultdict(int)
    left = [at for at in range(len(items)) if items[at].value > 0]
    while len(chosen) < most:
        left = [at for at in left if weights[at] <= room]
        if not left:
            break
        at = min(left, key=lambda at: order(at) * (1 - diversity_factor) ** taken[items[at].document])
        left.remove(at)
        chosen.append(at)
        taken[items[at].document] += 1
        room -= weights[at]
    return chosen


def _shelve_document(
    group: Sequence[int],
    items: Sequence[PackItem],
    weights: Sequence[int],
    best: NDArray[np.float32],
    factors: NDArray[np.float32],
) -> tuple[_Shelf, NDArray[np.float32]]:
    """Offer a document's items; `best` is the value by (count, tokens) before and, returned, after."""
    deep = min(len(group), len(factors))
    state = np.full((deep + 1, *best.shape), -np.inf, dtype=np.float32)  # by (chosen of this document, count, tokens)
    state[0] = best
    taken = []
    for place, at in enumerate(group, 1):
        top, weight = min(place, deep), weights[at]
        gains = (np.float32(items[at].value) * factors[:top])[:, None, None]
        with_it = state[:top, :-1, : best.shape[1] - weight] + gains
        without = state[1 : top + 1, 1:, weight:]
        taken.append(with_it > without)
        np.maximum(without, with_it, out=without)
    best, most = state[0], np.zeros(best.shape, dtype=np.int8)
    for n in range(1, deep + 1):
        np.putmask(most, state[n] > best, n)
        best = np.maximum(best, state[n])
    return _Shelf(tuple(group), tuple(taken), most), best


def _walk_back(shelves: Sequence[_Shelf], weights: Sequence[int], most: int, room: int) -> list[int]:
    chosen = []
    for shelf in reversed(shelves):
        left = int(shelf.most[most, room])
        for at, taken in zip(reversed(shelf.items), reversed(shelf.taken), strict=True):
            weight = weights[at]
            if 0 < left <= len(taken) and weight <= room and taken[left - 1, most - 1, room - weight]:
                chosen.append(at)
                left, most, room = left - 1, most - 1, room - weight
    return chosen
