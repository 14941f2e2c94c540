"""Identifiers of a question: the names, dates and numbers by which it says what it is about."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from serve_apps.retrieval.text.abbreviations import known_with_meanings
from serve_apps.retrieval.text.values import date_readings, find_dates, find_values
from serve_apps.retrieval.text.words import WordToken, find_names, is_unknown_name, word_tokens

LEAST_DIGITS = 3  # of a number that names something by itself


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name, a date or a number at characters [start, end) of a question."""

    shown: str
    start: int
    end: int
    words: tuple[str, ...] = ()  # folded, of a name or a number
    dates: frozenset[str] = frozenset()  # of a date, as `2024-05-01`, in each way to read it

    @property
    def is_code(self) -> bool:
        """True for a name with figures in it: its words have to stand side by side."""
        return any(char.isdigit() for word in self.words for char in word)


@dataclass(frozen=True, slots=True)
class KnownTerms:
    """The words and dates of a text, abbreviations by their meaning."""

    words: Set[str]
    dates: Set[str]
    text: str  # its folded words in their order

    @classmethod
    def of(cls, texts: Sequence[str], *, dated: bool = True) -> "KnownTerms":
        """Those of all texts together; without `dated`, dates are not looked for."""
        dates = {day for text in texts if dated for one in find_dates(text) for day in date_readings(one)}
        # The year of a date, and its month with the year, are said with it.
        said = dates | {one[:length] for one in dates for length in (4, 7)}
        folded = " ".join(one.word for text in texts for one in word_tokens(text))
        return cls(known_with_meanings(texts), said, f" {folded} ")

    def has(self, one: Identifier) -> bool:
        """True where the text speaks of it."""
        if one.dates:
            return bool(one.dates & self.dates)
        if one.is_code:
            return f" {' '.join(one.words)} " in self.text
        return all(not is_unknown_name((word,), self.words) for word in one.words)


def find_identifiers(question: str) -> list[Identifier]:
    """The identifiers of a question, each place once; a number before a name is part of it, as in `7 Mill Lane`."""
    found: list[Identifier] = []
    for value in find_values(question):
        if value.kind in ("date", "year"):
            found.append(Identifier(value.shown, value.start, value.end, dates=frozenset(date_readings(value))))
    tokens = [one for one in word_tokens(question) if not any(day.start <= one.start < day.end for day in found)]
    named = {name.words: None for name in find_names(question)}
    at = 0
    while at < len(tokens):
        length = next((len(words) for words in named if _stands_at(tokens, at, words)), 0)
        row = tokens[at : at + length]
        if row and at and tokens[at - 1].text.isdigit() and question[tokens[at - 1].end : row[0].start] == " ":
            row = tokens[at - 1 : at + length]
            found = [one for one in found if one.start != row[0].start]
        elif not row and tokens[at].text.isdigit() and len(tokens[at].text) >= LEAST_DIGITS:
            row = tokens[at : at + 1]
        if row:
            words = tuple(one.word for one in row)
            found.append(Identifier(question[row[0].start : row[-1].end], row[0].start, row[-1].end, words))
        at += max(1, length)
    return sorted(found, key=lambda one: one.start)


def _stands_at(tokens: Sequence[WordToken], at: int, words: Sequence[str]) -> bool:
    return [one.word for one in tokens[at : at + len(words)]] == list(words)
