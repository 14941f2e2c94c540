"""Compares two questions that look alike: a word that only one of them has tells them apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from serve_apps.retrieval.cache.english import is_english
from serve_apps.retrieval.cache.paraphrase import is_rewording, swapped_as_written
from serve_apps.retrieval.cache.roles import same_roles, same_voice, signs_of
from serve_apps.retrieval.text.lexicon import SynonymLexicon
from serve_apps.retrieval.text.question_terms import QuestionTerm, QuestionWording, TermKind, plain_words, take_apart

LONGEST = 80  # words that count; beyond them only the same words in the same order are the same

# Which difference is told where there are several: what is most surely one comes first.
_TOLD = (
    *(TermKind.NEGATION, TermKind.NUMBER, TermKind.DATE, TermKind.COMPARISON, TermKind.NAME),
    *(TermKind.ASKS, TermKind.RELATION, TermKind.QUANTIFIER, TermKind.WORD),
)


@dataclass(frozen=True, slots=True)
class MatchDecision:
    """Decision whether two questions ask the same, and why."""

    same: bool
    reason: str


def same_question(one: str, other: str, lexicon: SynonymLexicon) -> MatchDecision:
    """Compare two questions by their words, without a model; the same for the same pair, in whichever order.

    Numbers, dates, negations, comparisons, names, question words, and all other words that count must agree in the
    same order. Articles, politeness, contractions, inflection, case, punctuation, synonyms, the voice and what stands
    at the front may differ.
    """
    if signs_of(one) != signs_of(other):
        return MatchDecision(False, "another sign")
    return compare_wordings(take_apart(one, lexicon), take_apart(other, lexicon))


def same_words(one: str, other: str) -> bool:
    """True where two questions differ in case, punctuation, contractions and politeness at most, in any language."""
    return signs_of(one) == signs_of(other) and plain_words(one) == plain_words(other)


def compare_wordings(one: QuestionWording, other: QuestionWording) -> MatchDecision:
    """As `same_question`, for questions that were taken apart before."""
    if one.plain == other.plain:
        return MatchDecision(True, "the same words")
    if not is_english(one.plain) or not is_english(other.plain):
        return MatchDecision(False, "not surely English: only the same words count")
    if any(all(term.kind is TermKind.ASKS for term in side.terms) for side in (one, other)):
        return MatchDecision(False, "there is too little to compare")
    if max(len(one.terms), len(other.terms)) > LONGEST:
        return MatchDecision(False, "too long to compare")
    if {one.tense, other.tense} == {"past", "present"}:
        return MatchDecision(False, "another tense")
    if one.persons != other.persons and (one.persons and other.persons):
        return MatchDecision(False, "another person")
    if not same_voice(one, other):
        return MatchDecision(False, "another voice")
    if len(one.terms) == len(other.terms) and all(map(QuestionTerm.agrees, one.terms, other.terms)):
        if same_roles(tuple(zip(one.terms, other.terms, strict=True))) and not swapped_as_written(one, other):
            return MatchDecision(True, "the same in other words")
        return MatchDecision(False, "another role")
    # Which of both comes first must not matter.
    if is_rewording(one, other) if one.plain < other.plain else is_rewording(other, one):
        return MatchDecision(True, "worded differently throughout")
    left, right = _unmatched_terms(one.terms, other.terms)
    if not left and not right:
        return MatchDecision(False, "another order of words")
    return MatchDecision(False, _describe_difference(left, right))


def _unmatched_terms(
    one: Sequence[QuestionTerm], other: Sequence[QuestionTerm]
) -> tuple[list[QuestionTerm], list[QuestionTerm]]:
    """Terms of either side without a counterpart, wherever they stand."""
    rest = list(other)
    left = []
    for term in one:
        found = next((at for at, candidate in enumerate(rest) if term.agrees(candidate)), None)
        if found is None:
            left.append(term)
        else:
            del rest[found]
    return left, rest


def _describe_difference(left: Sequence[QuestionTerm], right: Sequence[QuestionTerm]) -> str:
    kind = next(kind for kind in _TOLD if any(term.kind is kind for term in (*left, *right)))
    said = [", ".join(term.text for term in side if term.kind is kind)[:80] or "–" for side in (left, right)]
    return f"another {kind}: {said[0]} / {said[1]}"
