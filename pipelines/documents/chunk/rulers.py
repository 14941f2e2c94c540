"""Lengths of text in characters, words or a model's tokens, and cuts of at most such a length."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol

from pipelines.documents.chunk.sentences import best_cut, cut_to_length
from pipelines.documents.chunk.unspaced import UNSPACED

LONGEST = 24
"""Characters that count as one word or token at most, blanks too: what nobody can count has no end otherwise."""

TokenEnds = Callable[[str], Sequence[int]]
"""Offsets in a text after each of its tokens, ascending."""

_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")


class TextRuler(Protocol):
    """Measures one text; lengths of spans that follow each other add up."""

    def measure(self, start: int, end: int) -> int:
        """Length of text[start:end]."""

    def cut(self, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
        """Spans of at most `limit` that together cover text[start:end]: after a line, a word, else anywhere."""


class CharacterRuler:
    """Counts characters."""

    def __init__(self, text: str) -> None:
        self._text = text

    def measure(self, start: int, end: int) -> int:
        """Length of text[start:end]."""
        return end - start

    def cut(self, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
        """Spans of at most `limit` characters."""
        return cut_to_length(self._text, start, end, limit)


class TokenRuler:
    """Counts the ends of tokens; a text is taken apart once."""

    def __init__(self, text: str, ends: Sequence[int]) -> None:
        """`ends` as `TokenEnds` gives them."""
        self._text, self._ends = text, _filled_ends(ends, len(text))

    def measure(self, start: int, end: int) -> int:
        """Tokens that end in text[start:end]."""
        return bisect_right(self._ends, end) - bisect_right(self._ends, start)

    def cut(self, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
        """Spans of at most `limit` tokens, at least 1."""
        while self.measure(start, end) > limit:
            at = bisect_right(self._ends, start)
            roof = self._ends[at + limit - 1]
            floor = self._ends[at + limit // 2 - 1] if limit > 1 else roof
            cut = best_cut(self._text, min(floor, roof), roof)
            yield start, cut
            start = cut
        if start < end:
            yield start, end


def word_ends(text: str) -> list[int]:
    """Offsets after each word; a letter of a script without spaces counts as one."""
    return [match.end() for match in _WORD.finditer(text)]


def choose_ruler(
    unit: Literal["characters", "words", "tokens"], tokens: TokenEnds | None = None
) -> Callable[[str], TextRuler]:
    """The ruler of a unit, for a text. Raises ValueError: tokens are wanted, and nobody cuts them."""
    if unit == "characters":
        return CharacterRuler
    if unit == "words":
        return lambda text: TokenRuler(text, word_ends(text))
    if tokens is None:
        raise ValueError("sizes are in tokens, and there is no tokenizer")
    return lambda text: TokenRuler(text, tokens(text))


def _filled_ends(ends: Sequence[int], length: int) -> list[int]:
    """The same, with one more every `LONGEST` characters where none ends."""
    filled: list[int] = []
    last = 0
    for end in (*(min(end, length) for end in ends), length):
        filled += range(last + LONGEST, end, LONGEST)
        if end > last:
            filled.append(end)
            last = end
    return filled
