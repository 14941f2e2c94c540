"""The shape of a question: what it asks for, and the words under which a form or a table states it.

A question says `how old` where a form says `age`, and `where … going` where it says `destination`. The pairs are in
attributes.txt; they are our own, after the attribute relation of WordNet (Fellbaum 1998).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from serve_apps.retrieval.text.identifiers import Identifier
from serve_apps.retrieval.text.words import content_words, fold_word, word_tokens

_MEASURE = re.compile(
    r"\bhow (?:many|much|old|young|warm|hot|cold|long|far|high|tall|heavy|fast|wide|thick|deep|big|large)\b"
)
_CHOICE = re.compile(r"^\W*(?:is|was|are|were|did|does|do|has|had)\b.*?\b(\w+) or (\w+)\b")


@dataclass(frozen=True, slots=True)
class AskedShape:
    """A question without what names its document."""

    text: str  # as it is written
    words: frozenset[str]  # folded content words
    attributes: frozenset[str]  # folded nouns that a form may write for the question word
    measures: bool  # a number or a size answers it
    choices: frozenset[str]  # folded words of which one is the answer: `day or night`
    said: frozenset[str]  # folded content words of all of the question: to repeat them is no answer


def question_shape(question: str, named: Sequence[Identifier] = ()) -> AskedShape:
    """The shape of a question; `named` are the identifiers that its document is known by.

    A word that stands before such a name or number goes with it, as in `aircraft N5921D` and `invoice 4711`.
    """
    tokens = list(word_tokens(question))
    gone = {at for at, one in enumerate(tokens) if any(name.start <= one.start < name.end for name in named)}
    codes = {name.start for name in named if name.is_code}
    coded = {at for at in gone if tokens[at].start in codes}
    gone |= {at - 1 for at in coded if at and question[tokens[at - 1].end : tokens[at].start] == " "}
    left = " ".join(one.text for at, one in enumerate(tokens) if at not in gone) if gone else question
    lower, words = question.casefold(), [one.text.casefold() for one in tokens]
    choice = _CHOICE.search(lower)
    return AskedShape(
        left,
        frozenset(content_words(left)),
        _attributes(words),
        _MEASURE.search(lower) is not None,
        frozenset(map(fold_word, choice.groups())) if choice else frozenset(),
        frozenset(content_words(question)),
    )


def comparison_attributes(question: str) -> frozenset[str]:
    """The folded nouns that comparisons of a question are about: `age` for `older` and `length` for `longest`."""
    words = [one.text.casefold() for one in word_tokens(question)]
    bases = {
        fold_word(word.removesuffix(ending)) for word in words for ending in ("est", "er") if word.endswith(ending)
    }
    return frozenset(noun for second, nouns in _table()["how"] if second in bases for noun in nouns)


def measure_words() -> frozenset[str]:
    """The folded words behind `how` that ask for a measure: `old`, `long`; no thing is called so."""
    return frozenset(second for second, _ in _table()["how"])


def _attributes(words: Sequence[str]) -> frozenset[str]:
    """The nouns for a question word and the word it goes with; for the question word alone where it has none."""
    for asking in ("how", "where", "when", "who"):
        if asking in words:
            behind = {fold_word(word) for word in words[words.index(asking) + 1 :]}
            nouns = [noun for second, noun in _table()[asking] if second and second in behind]
            alone = [noun for second, noun in _table()[asking] if not second]
            return frozenset(noun for row in nouns or alone for noun in row)
    return frozenset()


@cache
def _table() -> dict[str, list[tuple[str, frozenset[str]]]]:
    table: dict[str, list[tuple[str, frozenset[str]]]] = {"how": [], "where": [], "when": [], "who": []}
    for line in Path(__file__).with_name("attributes.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            asked, _, nouns = line.partition(":")
            asking, _, second = asked.partition(" ")
            table[asking].append((fold_word(second) if second else "", frozenset(map(fold_word, nouns.split()))))
    return table
