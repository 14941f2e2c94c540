"""Segments of a page's picture: words that stand together, and which stands right of or under which."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from pipelines.documents.document import Box, Page, Word, bounding_box
from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import TextPlace

GAP: Final = 1.1  # of a line's height; wider, and what follows is another segment
SAME_LINE: Final = 0.5  # share of the lower height by which words of one line overlap
LABEL_WORDS: Final = 6
FARTHEST_RIGHT: Final = 0.4  # of the page's width between a label and its value
FARTHEST_BELOW: Final = 2.5  # heights of the label
RIGHT: Final = 0.9  # how surely what stands there is the value of its label
UNDER: Final = 0.8
MOST_WORDS: Final = 5_000


@dataclass(frozen=True, slots=True)
class PageSegment:
    """Words in a row, of one line of the picture, that follow each other in the text, too."""

    text: str
    start: int
    end: int
    box: Box

    @property
    def height(self) -> float:
        """Of its line, as a share of the page's."""
        return self.box.y1 - self.box.y0

    @property
    def is_label(self) -> bool:
        """True where it ends as a label does."""
        return self.text.rstrip().endswith((":", "："))


def find_segment_candidates(page: Page) -> Iterator[FieldCandidate]:
    """What stands right of short segments and under them, as far as the page has a geometry."""
    lines = _segment_lines(page)
    for number, line in enumerate(lines):
        for at, label in enumerate(line):
            if len(label.text.split()) > LABEL_WORDS:
                continue
            beside = line[at + 1 : at + 2] if not _reads_leftward(label.text) else line[max(at - 1, 0) : at]
            for value in beside:
                gap = max(value.box.x0 - label.box.x1, label.box.x0 - value.box.x1)
                if not value.is_label and gap <= FARTHEST_RIGHT:
                    yield _made(page, label, value, RIGHT)
            below = _nearest_below(label, lines[number + 1 :])
            if below is not None and not below.is_label:
                yield _made(page, label, below, UNDER)


def _made(page: Page, label: PageSegment, value: PageSegment, weight: float) -> FieldCandidate:
    place = TextPlace(page.number, value.start, value.end)
    return FieldCandidate(page.text[value.start : value.end], place, label.text.rstrip(" :："), weight=weight)


def _nearest_below(label: PageSegment, lines: Sequence[Sequence[PageSegment]]) -> PageSegment | None:
    """`lines`: those below, from the top."""
    lowest = label.box.y1 + (1 + FARTHEST_BELOW) * label.height
    under = [
        one
        for line in takewhile(lambda line: line[0].box.y0 <= lowest, lines)
        for one in line
        if 0 <= one.box.y0 - label.box.y1 + label.height * 0.3 <= FARTHEST_BELOW * label.height
        and min(one.box.x1, label.box.x1) > max(one.box.x0, label.box.x0)
        and abs(one.box.x0 - label.box.x0) < 6 * label.height + 0.02
    ]
    return min(under, key=lambda one: (one.box.y0, abs(one.box.x0 - label.box.x0)), default=None)


def _segment_lines(page: Page) -> list[list[PageSegment]]:
    lines: list[list[Word]] = []
    for word in sorted(page.words[:MOST_WORDS], key=lambda one: (one.box.y0 + one.box.y1, one.box.x0)):
        if lines and _on_one_line(lines[-1][0].box, word.box):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [list(_segments(page, sorted(line, key=lambda one: one.box.x0))) for line in lines]


def _on_one_line(one: Box, other: Box) -> bool:
    shared = min(one.y1, other.y1) - max(one.y0, other.y0)
    return shared >= SAME_LINE * min(one.y1 - one.y0, other.y1 - other.y0)


def _segments(page: Page, line: Sequence[Word]) -> Iterator[PageSegment]:
    row: list[Word] = []
    for word in line:
        if row and not _continues(page, row[-1], word):
            yield _segment(page, row)
            row = []
        row.append(word)
    if row:
        yield _segment(page, row)


def _continues(page: Page, before: Word, after: Word) -> bool:
    height = before.box.y1 - before.box.y0
    between = page.text[before.start + len(before.text) : after.start]
    follows = after.start > before.start and not between.strip() and len(between) <= 3
    return follows and after.box.x0 - before.box.x1 <= GAP * height and not before.text.endswith(":")


def _segment(page: Page, row: Sequence[Word]) -> PageSegment:
    start, end = row[0].start, row[-1].start + len(row[-1].text)
    return PageSegment(page.text[start:end], start, end, bounding_box([word.box for word in row]))


def _reads_leftward(text: str) -> bool:
    """True of Hebrew and Arabic."""
    return any("\u0590" <= char <= "\u08ff" for char in text)
