"""Tells who does it to whom: prepositions, voice and arithmetic signs that must agree whatever the words are."""

import re
from collections.abc import Sequence
from itertools import combinations

from serve_apps.retrieval.text.lexicon import BE, DO, is_participle
from serve_apps.retrieval.text.question_terms import QuestionTerm, QuestionWording, TermKind
from serve_apps.retrieval.text.question_tokens import unify_characters

# What follows one of these has a part in what happens; elsewhere (`in`, `on`, `at`, `along`) it tells where or when.
_ROLES = frozenset(["to", "from", "by", "of", "for", "about", "with", "against"])
# This one may be left out beside a name: `the Acme report`, `the report of Acme`.
_OMITTED = "of"
_NAMED = frozenset({TermKind.NAME, TermKind.NUMBER, TermKind.DATE})
# Punctuation and brackets say nothing by themselves, and what money and shares are measured in is compared as words.
_SIGNS = re.compile(
    r"""[^\w\s.,;:!?"'`“”‘’()\[\]{}…%$€£°_\-–—]|(?<!\w)[-–−](?=\d)|(?<=\s)[-–—](?=\s)"""
    r"""|(?<!\d)\d{1,20}'{1,2}(?![^\W\d_])"""
)
# A quote behind a digit is a prime (feet, minutes; inches, seconds), unless it ends what one before it began.
_QUOTED = re.compile(r"""(?<!\w)(["'])((?:(?!\1).)*)\1(?!\w)""", re.DOTALL)
_PRIMES = str.maketrans({"‘": "'", "’": "'", "′": "'", "“": '"', "”": '"'})


def signs_of(text: str) -> tuple[str, ...]:
    """Signs that mean something in a text, in their order: of arithmetic, primes, and marks that belong to letters."""
    plain = _QUOTED.sub(r" \2 ", unify_characters(text).translate(_PRIMES))
    return tuple(_SIGNS.findall(plain.replace('"', "''")))


def same_roles(pairs: Sequence[tuple[QuestionTerm, QuestionTerm]]) -> bool:
    """True where words that stand for each other are governed by prepositions of the same role, and none swapped."""
    unlike = [(one, other) for one, other in pairs if one.text != other.text]
    return all(_same_role(one, other) for one, other in pairs) and not any(
        min(_likeness(one, elsewhere), _likeness(there, other))
        > max(_likeness(one, other), _likeness(there, elsewhere))
        for (one, other), (there, elsewhere) in combinations(unlike, 2)
    )


def _likeness(one: QuestionTerm, other: QuestionTerm) -> int:
    return 2 if one.text == other.text else int(not one.forms.isdisjoint(other.forms))


def _same_role(one: QuestionTerm, other: QuestionTerm) -> bool:
    markers = {one.marker, other.marker}
    if len(markers) == 1 or not markers & _ROLES:
        return True
    if "" in markers:  # `to save` and `save`: only of a name it is sure that `to` is no part of a verb
        return _OMITTED in markers or not {one.kind, other.kind} & _NAMED
    return any(term.text.endswith("ing") for term in (one, other))  # `for saving` and `to save`


def same_voice(one: QuestionWording, other: QuestionWording) -> bool:
    """False where one is in the passive without saying by whom, and the other is not, or other prepositions end them.

    `Who was paid?` and `Who did pay?`; `Who did Ann write?` and `Who did Ann write to?`.
    """
    if {_passive(one), _active(other)} == {True} or {_passive(other), _active(one)} == {True}:
        return False
    return _last_role(one) == _last_role(other)


def _passive(side: QuestionWording) -> bool:
    words = side.plain
    return not BE.isdisjoint(words) and DO.isdisjoint(words) and "by" not in words and any(map(is_participle, words))


def _active(side: QuestionWording) -> bool:
    return not DO.isdisjoint(side.plain) and BE.isdisjoint(side.plain)


def _last_role(side: QuestionWording) -> str:
    return side.plain[-1] if side.plain and side.plain[-1] in _ROLES else ""
