"""A page as sentences and words with their places; time is linear in the text, whatever it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from pipelines.documents.chunk import blocks
from pipelines.documents.chunk.sentences import cut_to_length, line_spans, trim_span
from pipelines.documents.chunk.sentences import sentences as cut
from pipelines.documents.graph.model import EVIDENCE

LONGEST_WORD = 60  # longer ones are no words: encoded data, paths, rules of dots
MOST_WORDS = 160  # of one sentence

# Possessive: each character is looked at once.
_WORD = re.compile(r"[^\W_]++(?:(?:[-.&/+]|['’](?!s\b))[^\W_]++)*+(?:\+\+|#)?+")  # a possessive's s stands apart
_ITEM = re.compile(r"[ \t]*+(?:[-*+•▪◦‣–—]|\d{1,3}[.)]|[a-zA-Z][.)])[ \t]")


class WordSpan(NamedTuple):
    """A word: characters [start, end) of its page."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """A sentence, a title or a row of a table."""

    start: int
    end: int
    words: tuple[WordSpan, ...]
    titled: bool  # most of its words are written large, so that a capital says nothing
    row: bool = False  # it is a row of a table


def split_words(name: str) -> tuple[str, ...]:
    """A name in words, as they are found in a page."""
    return tuple(match[0] for match in _WORD.finditer(name))


def are_adjacent(text: str, one: WordSpan, two: WordSpan) -> bool:
    """True where only white space or an ampersand separates two words."""
    gap = text[one.end : two.start]
    return gap.isspace() or gap == " & "


def split_sentences(text: str) -> Iterator[SentenceSpan]:
    """The sentences of a page that have words; code is left out."""
    for block in blocks.find_blocks(text):
        if block.kind is blocks.BlockKind.CODE:
            continue
        cut_block = _prose_spans if block.kind is blocks.BlockKind.PROSE else line_spans
        for start, end in cut_block(text, block.start, block.end):
            for begin, stop in cut_to_length(text, start, end, EVIDENCE):
                if (sentence := _parse_sentence(text, begin, stop, block.kind)) is not None:
                    yield sentence


def _parse_sentence(text: str, start: int, end: int, kind: blocks.BlockKind) -> SentenceSpan | None:
    start, end = trim_span(text, start, end)
    found = (match for match in _WORD.finditer(text, start, end) if len(match[0]) <= LONGEST_WORD)
    words = tuple(WordSpan(match[0], *match.span()) for match in islice(found, MOST_WORDS))
    if not words:
        return None
    long = [word.text for word in words if len(word.text) > 3 and word.text[0].isalpha()]
    large = sum(word[0].isupper() for word in long)
    titled = kind is blocks.BlockKind.TITLE or (len(long) > 3 and large * 5 > 4 * len(long))
    return SentenceSpan(start, end, words, titled, kind is blocks.BlockKind.TABLE)


def _prose_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Sentences, where items of a list and lines behind a colon begin anew."""
    begin = start
    for line_start, line_end in line_spans(text, start, end):
        before = text[max(begin, line_start - 4) : line_start].rstrip()[-1:]
        if line_start > begin and (before == ":" or _ITEM.match(text, line_start, line_end)):
            yield from cut(text, begin, line_start)
            begin = line_start
    yield from cut(text, begin, end)
