"""A passage that an address points at: rectangles on a page, a piece of its text, or both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

MOST_BOXES: Final = 200
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PageWord:
    """A word of a page as the API gives it: where it begins in the text, its box in fractions, and the confidence."""

    start: int
    text: str
    box: Box
    confidence: float


@dataclass(frozen=True, slots=True)
class LinkedPassage:
    """`boxes` in fractions of the page; `spans` are [start, end) in its text."""

    boxes: tuple[Box, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()

    def marks(self, start: int, end: int) -> bool:
        """True if any of these characters are the passage's."""
        return any(start < last and end > first for first, last in self.spans)

    def cuts(self, start: int, end: int) -> list[int]:
        """Offsets between these two where the passage begins and ends."""
        return sorted({at for pair in self.spans for at in pair if start < at < end})


def parse_passage(query: Mapping[str, str]) -> LinkedPassage:
    """From `boxes=x0,y0,x1,y1;…`, `start` and `end` of an address; what is not well formed is left out."""
    boxes = [box for part in query.get("boxes", "").split(";")[:MOST_BOXES] if (box := _parse_box(part)) is not None]
    start, end = _parse_offset(query.get("start", "")), _parse_offset(query.get("end", ""))
    known = start is not None and end is not None and start < end
    return LinkedPassage(tuple(boxes), ((start, end),) if known and start is not None and end is not None else ())


def complete_passage(passage: LinkedPassage, words: Sequence[PageWord]) -> LinkedPassage:
    """With the part that the address left out: text from boxes, or boxes from text, by the page's own words."""
    if passage.boxes and not passage.spans:
        inside = [any(_contains_center(box, word.box) for box in passage.boxes) for word in words]
        return LinkedPassage(passage.boxes, tuple(_word_spans(words, inside)))
    if passage.spans and not passage.boxes:
        meant = [word for word in words if passage.marks(word.start, word.start + len(word.text))]
        return LinkedPassage(tuple(_line_boxes(meant)), passage.spans)
    return passage


def _word_spans(words: Sequence[PageWord], inside: Sequence[bool]) -> list[tuple[int, int]]:
    """The text of words that follow each other, in one piece each."""
    runs: list[tuple[int, int]] = []
    before = False
    for word, now in zip(words, inside, strict=True):
        if now:
            end = word.start + len(word.text)
            runs[-1:] = [(runs[-1][0], end)] if before else [*runs[-1:], (word.start, end)]
        before = now
    return runs


def words_of(rows: Sequence[Sequence[float | str]]) -> list[PageWord]:
    """From the API's rows: [start in text, text, x0, y0, x1, y1, confidence]."""
    return [
        PageWord(int(start), str(text), (float(x0), float(y0), float(x1), float(y1)), float(confidence))
        for start, text, x0, y0, x1, y1, confidence in rows
    ]


def _line_boxes(words: Sequence[PageWord]) -> list[Box]:
    """One box a line: words follow each other on it while they overlap in height."""
    lines: list[Box] = []
    for word in words:
        x0, y0, x1, y1 = word.box
        if lines:
            left, top, right, bottom = lines[-1]
            if min(bottom, y1) - max(top, y0) > 0.5 * min(bottom - top, y1 - y0) and x0 >= left:
                lines[-1] = (left, min(top, y0), max(right, x1), max(bottom, y1))
                continue
        lines.append(word.box)
    return lines


def _contains_center(box: Box, inner: Box) -> bool:
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _parse_box(part: str) -> Box | None:
    try:
        values = [float(one) for one in part.split(",")]
    except ValueError:
        return None
    if len(values) != 4 or not all(isfinite(one) for one in values):
        return None
    x0, y0, x1, y1 = (min(1.0, max(0.0, one)) for one in values)
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None


def _parse_offset(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
