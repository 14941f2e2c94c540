"""Detects rewordings of a question: a near miss differs in one place, a paraphrase in many."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from serve_apps.retrieval.cache.roles import same_roles
from serve_apps.retrieval.text.lexicon import BE, DO, GENERIC
from serve_apps.retrieval.text.question_terms import QuestionTerm, QuestionWording, TermKind

FEWEST = 2  # ways in which wordings differ before the one is a rewording of the other
SHARED = 2 / 3  # of the words that count
SHORTEST = 4  # words that count; below, each of them is too much of the question
ONE_PLACE = 4  # words; where texts differ in no other place, what differs there is what they ask

# What must be on both sides. Other words may be missing where many are worded differently.
_HARD = frozenset({TermKind.NUMBER, TermKind.DATE, TermKind.NEGATION, TermKind.COMPARISON, TermKind.NAME})
_DIRECTIONS = frozenset({"from", "against", "until", "since", "out", "off"})


@dataclass(frozen=True, slots=True)
class _Alignment:
    one: Sequence[QuestionTerm]
    other: Sequence[QuestionTerm]
    pairs: Sequence[tuple[int, int]]  # positions in the one and in the other text, in the order of the one
    left: Sequence[int]  # words of the one without a counterpart, by position
    right: Sequence[int]  # words of the other


def is_rewording(one: QuestionWording, other: QuestionWording) -> bool:
    """True where the words differ in several ways, those that matter agree, and none were exchanged."""
    if one.asks != other.asks or _exact_terms(one) != _exact_terms(other):
        return False
    aligned = _align_terms(*([term for term in side.terms if not _is_generic(term)] for side in (one, other)))
    words = len(aligned.one) + len(aligned.other)
    if min(len(aligned.one), len(aligned.other)) < SHORTEST or 2 * len(aligned.pairs) < SHARED * words:
        return False
    if not same_roles([(aligned.one[a], aligned.other[b]) for a, b in aligned.pairs]):
        return False
    if _neighbours_swapped(aligned) or swapped_as_written(one, other):
        return False
    if _count_differences(aligned) + _small_words_differ(one, other) < FEWEST:
        return False
    left, right = [aligned.one[at] for at in aligned.left], [aligned.other[at] for at in aligned.right]
    if any(term.kind in _HARD or term.text in _DIRECTIONS for term in (*left, *right)):
        return False
    return not (_differ_in_one_place(one, other) or _other_compound(left, right))


def _exact_terms(side: QuestionWording) -> list[str]:
    """Terms that have neither inflections nor synonyms and stand for themselves."""
    exact = (TermKind.NUMBER, TermKind.NEGATION)
    return sorted(term.text for term in side.terms if term.kind in exact or term.text == "or")


def _is_generic(term: QuestionTerm) -> bool:
    return term.kind not in _HARD and not term.forms.isdisjoint(GENERIC)


def _align_terms(one: Sequence[QuestionTerm], other: Sequence[QuestionTerm]) -> _Alignment:
    """As many of the same words in the same order as there are; then what is left, inflections before synonyms."""
    taken = _in_order(one, other)
    free = set(range(len(other))) - set(taken.values())
    for same in (True, False):
        last = -1
        for at, term in enumerate(one):
            if at in taken:
                last = taken[at]
                continue
            fits = [there for there in free if _terms_match(term, other[there], same)]
            if fits:
                last = taken[at] = _next_place(fits, last)
                free.discard(last)
    left = [at for at in range(len(one)) if at not in taken]
    return _Alignment(one, other, sorted(taken.items()), left, sorted(free))


def _in_order(one: Sequence[QuestionTerm], other: Sequence[QuestionTerm]) -> dict[int, int]:
    """A longest common subsequence of words."""
    left, right = [term.text for term in one], [term.text for term in other]
    lengths = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for a in range(len(left) - 1, -1, -1):
        row, below, word = lengths[a], lengths[a + 1], left[a]
        for b in range(len(right) - 1, -1, -1):
            row[b] = below[b + 1] + 1 if word == right[b] else max(below[b], row[b + 1])
    found: dict[int, int] = {}
    a = b = 0
    while a < len(left) and b < len(right):
        if left[a] == right[b]:
            found[a] = b
            a, b = a + 1, b + 1
        elif lengths[a + 1][b] >= lengths[a][b + 1]:
            a += 1
        else:
            b += 1
    return found


def _terms_match(term: QuestionTerm, other: QuestionTerm, same: bool) -> bool:
    return not term.forms.isdisjoint(other.forms) if same else term.agrees(other)


def _next_place(places: Sequence[int], last: int) -> int:
    return min(places, key=lambda place: (place < last, abs(place - last)))


def _count_differences(aligned: _Alignment) -> int:
    """In how many ways the wordings differ: synonyms, words that one side lacks, and whether anything was moved."""
    synonyms = sum(aligned.one[a].forms.isdisjoint(aligned.other[b].forms) for a, b in aligned.pairs)
    lone = max(_count_runs(aligned.left), _count_runs(aligned.right))
    there = [b for _, b in aligned.pairs]
    return synonyms + lone + (there != sorted(there))


def _count_runs(positions: Sequence[int]) -> int:
    return sum(at == 0 or position != positions[at - 1] + 1 for at, position in enumerate(positions))


def _small_words_differ(one: QuestionWording, other: QuestionWording) -> bool:
    """True where at least two of the small and general words differ."""
    left, right = Counter(one.small), Counter(other.small)
    return max((left - right).total(), (right - left).total()) >= 2


def _differ_in_one_place(one: QuestionWording, other: QuestionWording) -> bool:
    """True where the words before and after one place are the same, and in it stands a word that the other lacks."""
    left, right = one.plain, other.plain
    most = min(len(left), len(right))
    before = next((at for at in range(most) if left[at] != right[at]), most)
    after = next((at for at in range(most - before) if left[-1 - at] != right[-1 - at]), most - before)
    places = left[before : len(left) - after], right[before : len(right) - after]
    said = [{term.text for term in side.terms} & set(place) for side, place in zip((one, other), places, strict=True)]
    return max(map(len, places)) <= ONE_PLACE and said[0] != said[1]


def _other_compound(left: Sequence[QuestionTerm], right: Sequence[QuestionTerm]) -> bool:
    """True where words joined by hyphens have a part in common: `steam-driven` and `wind-driven`."""
    parts = [{part for term in side if "-" in term.text for part in term.text.split("-")} for side in (left, right)]
    return not parts[0].isdisjoint(parts[1])


def swapped_as_written(one: QuestionWording, other: QuestionWording) -> bool:
    """True where neither can be the passive of the other, and words side by side stand the other way round."""
    return _same_auxiliaries(one, other) and _neighbours_swapped(_as_written(one, other))


def _neighbours_swapped(aligned: _Alignment) -> bool:
    """True where a word and a word or name beside it stand the other way round: `who met Ann`, `whom Ann met`."""
    runs = _name_runs(aligned)
    return any(
        after[0][0] == before[-1][0] + 1
        and after[-1][1] + 1 == before[0][1]
        and not _same_marker(aligned, *before[0])
        and not _same_marker(aligned, *after[0])
        for before, after in pairwise(runs)
    )


def _as_written(one: QuestionWording, other: QuestionWording) -> _Alignment:
    """The alignment of the words in the order in which they were written, whatever was taken for a passive."""
    return _align_terms(_sort_as_written(one), _sort_as_written(other))


def _sort_as_written(side: QuestionWording) -> list[QuestionTerm]:
    places = {word: at for at, word in reversed(list(enumerate(side.plain)))}
    known = [term for term in side.terms if term.text in places and not _is_generic(term)]
    return sorted(known, key=lambda term: places[term.text])


def _same_auxiliaries(one: QuestionWording, other: QuestionWording) -> bool:
    left, right = (sorted(word for word in side.plain if word in BE or word in DO) for side in (one, other))
    return left == right


def _name_runs(aligned: _Alignment) -> list[list[tuple[int, int]]]:
    """The pairs in their order, each alone but for the words of one name."""
    runs: list[list[tuple[int, int]]] = []
    for a, b in aligned.pairs:
        if runs and runs[-1][-1] == (a - 1, b - 1) and aligned.one[a].kind is aligned.one[a - 1].kind is TermKind.NAME:
            runs[-1].append((a, b))
        else:
            runs.append([(a, b)])
    return runs


def _same_marker(aligned: _Alignment, a: int, b: int) -> bool:
    return aligned.one[a].marker == aligned.other[b].marker != ""
