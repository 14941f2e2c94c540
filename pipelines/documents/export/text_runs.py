"""A page's words as runs of invisible text: each in its box, in the order in which letters stand on paper."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from bidi.algorithm import get_display

from pipelines.documents.document import Box, Word

_FLAT: Final = 0.6  # of the line's height: a dash or a comma, whose own box would put it on another line
_RIGHT_TO_LEFT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_LONG: Final = 3  # letters; signs and short words may be higher than wide on any page
_TALL: Final = 1.5
_ALIKE: Final = 1.6
_LAST_LATIN: Final = "\u2e7f"  # the scripts without spaces come behind it: CJK, kana, hangul
_JOINERS: Final = "\u200c\u200d"  # Persian and Indic words are spelled with them
_MARGIN: Final = 0.02  # of the page, around text whose place is not known


@dataclass(frozen=True, slots=True)
class InvisibleRun:
    """Letters from left to right as they stand on paper, and the box they fill; a space at the end juts out of it."""

    text: str
    box: Box


def page_runs(text: str, words: Sequence[Word]) -> list[InvisibleRun]:
    """The runs of a page, with a space between words of a line that have one in the text.

    Words that hold nothing that can be written, or whose box has no area, are left out. A text without any boxes is
    spread over the page line by line: it is found on the page, though not at its place.

    Args:
        text: of the page.
        words: those that are wanted, in the order of the text.
    """
    placed = [clean for word in words if (clean := _clean_word(word)) is not None]
    if not placed and not words:
        placed = list(_spread_lines(text))
    return [run for line in _word_lines(text, placed) for run in _line_runs(text, line)]


def reading_turn(text: str, words: Sequence[Word]) -> int:
    """Quarter turns, clockwise, of the writing on a page that lies on its side; 0 where it is upright.

    Words of some letters are higher than wide there, and follow each other down the page or up.
    """
    long = [word for word in words if len(word.text) >= _LONG]
    tall = sum(_edge(word.box.y0, word.box.y1) > _TALL * _edge(word.box.x0, word.box.x1) for word in long)
    if tall * 2 <= len(long):
        return 0
    pairs = [(one.box, other.box) for one, other in pairwise(words) if _gap_between(text, one, other) == " "]
    steps = [other.y0 - one.y0 for one, other in pairs]
    return 1 if sum(step > 0 for step in steps) * 2 >= len(steps) else 3


def turned_words(words: Sequence[Word], turn: int) -> list[Word]:
    """The words as they stand once the page is turned so that its writing is upright."""
    return [replace(word, box=_turned_box(word.box, turn)) for word in words]


def _turned_box(box: Box, turn: int) -> Box:
    match turn:
        case 1:
            return Box(box.y0, 1 - box.x1, box.y1, 1 - box.x0)
        case 3:
            return Box(1 - box.y1, box.x0, 1 - box.y0, box.x1)
        case _:
            return box


def _edge(low: float, high: float) -> float:
    return abs(high - low)


def clean_text(text: str) -> str:
    """The text without what no font can mean: control characters, lone surrogates, noncharacters, direction marks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if char in _JOINERS or _is_writable(char))


def _is_writable(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs") and ord(char) & 0xFFFE != 0xFFFE


def _clean_word(word: Word) -> Word | None:
    box = word.box
    edges = (box.x0, box.y0, box.x1, box.y1)
    if not all(map(math.isfinite, edges)):
        return None
    x0, y0, x1, y1 = (min(1.0, max(0.0, edge)) for edge in edges)
    text = clean_text(word.text)
    if x1 <= x0 or y1 <= y0 or not text.strip(f" {_JOINERS}"):
        return None
    return replace(word, text=text, box=Box(x0, y0, x1, y1))


def _spread_lines(text: str) -> Iterator[Word]:
    lines = [line for line in text.splitlines() if clean_text(line).strip()]
    at = 0
    for number, line in enumerate(lines):
        at = text.index(line, at)
        high = (1 - 2 * _MARGIN) / len(lines)
        top = _MARGIN + number * high
        yield Word(clean_text(line).strip(), at, Box(_MARGIN, top, 1 - _MARGIN, top + 0.9 * high))
        at += len(line)


def _word_lines(text: str, words: Sequence[Word]) -> Iterator[list[Word]]:
    line: list[Word] = []
    for word in words:
        if line and "\n" in _gap_between(text, line[-1], word):
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _gap_between(text: str, before: Word, after: Word) -> str:
    return text[before.start + len(before.text) : after.start]


def _line_runs(text: str, line: Sequence[Word]) -> Iterator[InvisibleRun]:
    spaced = {before.start for before, after in pairwise(line) if _gap_between(text, before, after)}
    level = list(_joined_signs(_level_words(line), spaced))
    if any(_RIGHT_TO_LEFT.search(word.text) for word in level):
        # Readers take a line from left to right and turn what is read the other way themselves (UAX #9).
        level = sorted(level, key=lambda word: word.box.x0)
        spaced = {word.start for word in level}
    for at, word in enumerate(level):
        shown = str(get_display(word.text, base_dir="R")) if _RIGHT_TO_LEFT.search(word.text) else word.text
        # The space is a letter of the word's run: as a run of its own, readers of turned pages take it for a line.
        is_spaced = word.start in spaced and at < len(level) - 1
        yield _with_space(shown, word.box) if is_spaced else InvisibleRun(shown, word.box)


def _joined_signs(line: Sequence[Word], spaced: Collection[int]) -> Iterator[Word]:
    """The words, those together that are signs of a script without spaces: alike in width, and side by side.

    Readers of turned pages take signs one by one for lines.
    """
    held: list[Word] = []
    for word in line:
        if held and (held[-1].start in spaced or not _touch(held[-1], word)):
            yield _as_one(held)
            held = []
        held.append(word)
    if held:
        yield _as_one(held)


def _touch(before: Word, after: Word) -> bool:
    letters = sorted((word.box.x1 - word.box.x0) / len(word.text) for word in (before, after))
    apart = abs(after.box.x0 - before.box.x1)
    return apart < letters[0] / 2 and letters[1] < _ALIKE * letters[0] and before.text[-1] > _LAST_LATIN


def _as_one(words: Sequence[Word]) -> Word:
    if len(words) == 1:
        return words[0]
    boxes = [word.box for word in words]
    box = Box(boxes[0].x0, min(box.y0 for box in boxes), boxes[-1].x1, max(box.y1 for box in boxes))
    # Its start is the last one's, which tells whether a space follows.
    return Word("".join(word.text for word in words), words[-1].start, box)


def _with_space(text: str, box: Box) -> InvisibleRun:
    letter = (box.x1 - box.x0) / len(text)
    return InvisibleRun(f"{text} ", replace(box, x1=box.x1 + letter))


def _level_words(line: Sequence[Word]) -> list[Word]:
    """The words, flat ones as high as the nearest that is not: else a dash would begin a line of its own."""
    least = _FLAT * median(word.box.y1 - word.box.y0 for word in line)
    high = [word for word in line if word.box.y1 - word.box.y0 >= least]

    def beside(word: Word) -> Box:
        return min((other.box for other in high), key=lambda box: abs(box.x0 - word.box.x0))

    return [
        word if word.box.y1 - word.box.y0 >= least else replace(word, box=_as_high(word.box, beside(word)))
        for word in line
    ]


def _as_high(box: Box, other: Box) -> Box:
    return Box(box.x0, other.y0, box.x1, other.y1)
