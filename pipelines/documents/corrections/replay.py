"""Corrections on another reading of their page: each is put where its line stands by now."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pipelines.documents.corrections.line_edit import LineEdit, TokenGroup, align_tokens, apply_edit
from pipelines.documents.corrections.page_lines import PageLine, split_lines
from pipelines.documents.document import Box, Page, bounding_box

MOST_OF_LINE = 0.6  # of a line's area, for it to be part of the line that was corrected
SAME_PLACE = 0.5  # intersection over union of two rectangles of one line; engines cut lines a little differently
_TOKEN = re.compile(r"\S+")
SAME_TEXT = 0.6  # `difflib` ratio of two readings of one line that has no place on a picture


@dataclass(frozen=True, slots=True)
class KeptCorrection:
    """A correction as it is kept: what a line of a page of some bytes said, and what it says."""

    id: str
    line: int  # its number in the text that was corrected
    before: str
    after: str
    box: Box | None  # of the line, None where the format has no geometry
    whole: bool


@dataclass(frozen=True, slots=True)
class ReplayedPage:
    """A page with the corrections that have a place on it, and the ids of the others."""

    page: Page
    placed: tuple[str, ...]
    unplaced: tuple[str, ...]


def replay_corrections(page: Page, kept: Sequence[KeptCorrection]) -> ReplayedPage:
    """Put corrections, the oldest first, on a reading of the page they were made on."""
    placed, unplaced = [], []
    for one in kept:
        edit = None if page.failure is not None else place_correction(page, one)
        if edit is None:
            unplaced.append(one.id)
        else:
            page = apply_edit(page, edit)
            placed.append(one.id)
    return ReplayedPage(page, tuple(placed), tuple(unplaced))


def place_correction(page: Page, kept: KeptCorrection) -> LineEdit | None:
    """The edit that a correction is on this reading; None where its line is not there any more."""
    lines = split_lines(page)
    for text in (kept.before, kept.after):
        if found := _same_line([line for line in lines if line.text == text], kept):
            return LineEdit(found.start, found.text, kept.after, kept.whole)
    found_lines = _lines_at(lines, kept.box) if kept.box is not None else _lines_like(lines, kept)
    if not found_lines:
        return None
    start, end = found_lines[0].start, found_lines[-1].end
    read = page.text[start:end]
    if kept.whole:
        return LineEdit(start, read, kept.after)
    moved = transplant_words(kept.before, kept.after, read)
    return None if moved is None else LineEdit(start, read, moved, whole=False)


def transplant_words(before: str, after: str, read: str) -> str | None:
    """What another reading of a line says with only the words replaced in it that a correction replaced.

    None where it has no words in their place: nobody has looked at the others, so they are not taken along.
    """
    old, tokens, new = before.split(), list(_TOKEN.finditer(read)), list(_TOKEN.finditer(after))
    pairs = align_tokens(old, [token[0] for token in tokens])
    for same, first, last, begin, stop in reversed(align_tokens(old, after.split())):
        if same:
            continue
        place = _matching_tokens(pairs, first, last)
        if place is None:
            return None
        there = read[tokens[place[0]].start() : tokens[place[1] - 1].end()]
        written = after[new[begin].start() : new[stop - 1].end()] if begin < stop else ""
        if not written or not there:
            return None
        read = read[: tokens[place[0]].start()] + written + read[tokens[place[1] - 1].end() :]
    return read


def _matching_tokens(pairs: Sequence[TokenGroup], first: int, last: int) -> tuple[int, int] | None:
    """The tokens [begin, stop) of a reading that stand for [first, last) of another one; None where that is unsure."""
    begin = stop = None
    for _, start, end, at, until in pairs:
        if start >= last or end <= first:
            continue
        if end - start == until - at:  # one for one
            lower, upper = at + max(first - start, 0), until - max(end - last, 0)
        elif first <= start and end <= last:
            lower, upper = at, until
        else:
            return None
        begin, stop = lower if begin is None else begin, upper
    return None if begin is None or stop is None or begin >= stop else (begin, stop)


def _same_line(lines: Sequence[PageLine], kept: KeptCorrection) -> PageLine | None:
    """Of lines that say the same, the one at the same place."""
    if kept.box is not None:
        near = [(overlap_ratio(line.box, kept.box), line) for line in lines if line.box is not None]
        best = max(near, key=lambda one: one[0], default=(0.0, None))
        return best[1] if best[0] >= SAME_PLACE else None
    return next((line for line in lines if line.number == kept.line), lines[0] if len(lines) == 1 else None)


def _lines_at(lines: Sequence[PageLine], box: Box) -> list[PageLine]:
    """The lines that together stand where the corrected one stood; none where they hold more or less than it."""
    found = [line for line in lines if line.box is not None and _covered(line.box, box) >= MOST_OF_LINE]
    numbers = [line.number for line in found]
    if not found or numbers != list(range(numbers[0], numbers[0] + len(found))):
        return []
    union = bounding_box([line.box for line in found if line.box is not None])
    return found if overlap_ratio(union, box) >= SAME_PLACE else []


def _lines_like(lines: Sequence[PageLine], kept: KeptCorrection) -> list[PageLine]:
    """The line with the same number, where it reads alike."""
    here = [line for line in lines if line.number == kept.line]
    return [line for line in here if SequenceMatcher(None, line.text, kept.before).ratio() >= SAME_TEXT]


def overlap_ratio(one: Box | None, other: Box) -> float:
    """Intersection over union of two rectangles, 0 to 1."""
    if one is None:
        return 0.0
    shared = _area(_intersection(one, other))
    union = _area(one) + _area(other) - shared
    return shared / union if union > 0 else 0.0


def _covered(one: Box, other: Box) -> float:
    area = _area(one)
    return _area(_intersection(one, other)) / area if area > 0 else 0.0


def _intersection(one: Box, other: Box) -> Box:
    x0, y0 = max(one.x0, other.x0), max(one.y0, other.y0)
    return Box(x0, y0, max(x0, min(one.x1, other.x1)), max(y0, min(one.y1, other.y1)))


def _area(box: Box) -> float:
    return (box.x1 - box.x0) * (box.y1 - box.y0)
