"""Cutting text finer: into sentences, then lines, then words, and where nothing else helps, by length."""

import re
from collections.abc import Iterator

# A terminator with its closing quotes and the white space behind it, Arabic, Urdu and Hindi ones among them; CJK full
# stops need no space. Possessive, and
# tried only where a run of terminators begins: a page of dots would cost quadratic time otherwise.
_END = re.compile(r"(?<![.!?…؟۔।॥])[.!?…؟۔।॥]++[\"'’”»)\]]*+\s++|[。！？]+[」』”）]*\s*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:mr|mrs|ms|dr|prof|st|sr|jr|rev|gen|col|capt|lt|hon|vs|nos|fig|figs|eq|vol|pp?|ed|eds"
    r"|art|sec|ch|cf|al|approx|dept|inc|ltd|co|corp|e\.g|i\.e|u\.s|[a-z])\.$",
    re.I,
)


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Sentence spans that together cover text[start:end]; white space goes with the sentence before it."""
    begin = start
    for match in _END.finditer(text, start, end):
        stop = match.end()
        if stop >= end or not _continues_sentence(text, match):
            yield begin, stop
            begin = stop
    if begin < end:
        yield begin, end


def line_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Lines that together cover text[start:end], each with its break."""
    while start < end:
        stop = text.find("\n", start, end) + 1 or end
        yield start, stop
        start = stop


def cut_to_length(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """Cut text[start:end] into pieces of at most `limit` characters: after a line, else after a word, else anywhere.

    Pieces are as long as they can be, but a cut in the first half of the room is not worth its fragment.
    """
    while end - start > limit:
        cut = best_cut(text, start + limit // 2, start + limit)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def best_cut(text: str, floor: int, roof: int) -> int:
    """The last offset in (floor, roof] after a line, else after a word, else `roof`."""
    return text.rfind("\n", floor, roof) + 1 or _after_word(text, floor, roof) or roof


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the white space around; empty where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _after_word(text: str, floor: int, roof: int) -> int:
    """The offset after the last white space in [floor, roof), or 0."""
    return next((at for at in range(roof, floor, -1) if text[at - 1].isspace()), 0)


def _continues_sentence(text: str, match: re.Match[str]) -> bool:
    """The full stop belongs to an abbreviation or an initial, or the next word goes on in lower case."""
    if text[match.start()] != ".":
        return False
    if text[match.end()].islower():
        return True
    stop = match.start() + 1
    return match[0][0] == "." and _ABBREVIATION.search(text, max(0, stop - 10), stop) is not None
