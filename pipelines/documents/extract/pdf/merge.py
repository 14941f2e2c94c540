"""Words that OCR read in a page's pictures, put among the page's own words where they are read."""

import re
from collections.abc import Sequence
from dataclasses import replace

from pipelines.documents.document import Box, Page, bounding_box
from pipelines.documents.layout.page_tokens import PageToken

_SAME_WORD = 0.5  # of its box
_MARK = re.compile(r"(\s*)(\S+)")


def as_tokens(page: Page, area: Box) -> tuple[PageToken, ...]:
    """OCR words of a part of a page, as tokens of the whole page.

    Args:
        page: its boxes are fractions of the part.
        area: the part, in fractions of the page.
    """
    if not page.words:
        return (PageToken(page.text.strip(), None, "\n\n"),) if page.text.strip() else ()
    wide, high = area.x1 - area.x0, area.y1 - area.y0
    tokens: list[PageToken] = []
    at = 0
    for word in page.words:
        own = word.box
        box = Box(area.x0 + own.x0 * wide, area.y0 + own.y0 * high, area.x0 + own.x1 * wide, area.y0 + own.y1 * high)
        between = page.text[at : word.start]
        marks = _mark_tokens(between)
        tokens += marks
        gap = between[len(between.rstrip()) :] if marks else between
        tokens.append(PageToken(word.text, box, gap, confidence=word.confidence))
        at = word.start + len(word.text)
    tokens += _mark_tokens(page.text[at:])
    tokens[0] = replace(tokens[0], gap="\n\n")
    return tuple(tokens)


def _mark_tokens(between: str) -> list[PageToken]:
    """The marks of Markdown between two words, such as the rules of a table."""
    return [PageToken(found[2], None, found[1]) for found in _MARK.finditer(between)]


def without_known(read: Sequence[PageToken], native: Sequence[PageToken]) -> tuple[PageToken, ...]:
    """OCR tokens less the words that the page has itself at the same place."""
    result: list[PageToken] = []
    gap = ""
    for token in read:
        if token.box is not None and any(
            word.box and _plain_letters(word.text) == _plain_letters(token.text) and _covers_box(word.box, token.box)
            for word in native
        ):
            gap = max(gap, token.gap, key=lambda g: g.count("\n"))
            continue
        result.append(replace(token, gap=max(gap, token.gap, key=lambda g: (g.count("\n"), len(g)))))
        gap = ""
    return tuple(result)


def insert_tokens(
    native: Sequence[PageToken], read: Sequence[PageToken], area: Box, leading: bool
) -> tuple[PageToken, ...]:
    """Both in reading order: whole lines of one between whole lines of the other.

    Args:
        native: the page's own words.
        read: what OCR read in the area.
        area: of the picture.
        leading: the picture is the page, and own words are put between its lines; else its text goes in as a block.
    """
    if not read:
        return tuple(native)
    if not native:
        return tuple(read)
    if leading:
        lines = _token_lines(read)
        for line in _token_lines(native):
            at = _outside_table(lines, _insertion_line(lines, line))
            lines.insert(at, [replace(line[0], gap="\n\n"), *line[1:]])
        return tuple(token for line in lines for token in line)
    lines = _token_lines(native)
    at = _outside_table(lines, _insertion_line(lines, read, area))
    block = [replace(read[0], gap="\n\n"), *read[1:]]
    after = lines[at:]
    if after:
        after[0] = [replace(after[0][0], gap="\n\n"), *after[0][1:]]
    return tuple(token for line in (*lines[:at], block, *after) for token in line)


def _insertion_line(lines: Sequence[Sequence[PageToken]], wanted: Sequence[PageToken], area: Box | None = None) -> int:
    """After which of the lines a line or a block comes: after the last that stands above it in its column."""
    box = area or tokens_box(wanted)
    if box is None:
        return len(lines)
    middle = box.y0 if area else (box.y0 + box.y1) / 2
    best = None
    for number, line in enumerate(lines):
        other = tokens_box(line)
        if other is None or min(box.x1, other.x1) <= max(box.x0, other.x0):
            continue
        if (other.y0 + other.y1) / 2 <= middle:
            best = number + 1
    if best is not None:
        return best
    # None of its column stands above it: before the first that stands lower.
    for number, line in enumerate(lines):
        other = tokens_box(line)
        if other is not None and (other.y0 + other.y1) / 2 > middle:
            return number
    return len(lines)


def _outside_table(lines: Sequence[Sequence[PageToken]], at: int) -> int:
    """A place among the lines, or the one before the table that it is in: a line between its rows would cut it."""
    while 0 < at < len(lines) and _is_table_row(lines[at]) and _is_table_row(lines[at - 1]):
        at -= 1
    return at


def _is_table_row(line: Sequence[PageToken]) -> bool:
    return line[0].box is None and line[0].text.startswith("|")


def _token_lines(tokens: Sequence[PageToken]) -> list[list[PageToken]]:
    lines: list[list[PageToken]] = []
    for token in tokens:
        if not lines or "\n" in token.gap:
            lines.append([])
        lines[-1].append(token)
    return lines


def tokens_box(tokens: Sequence[PageToken]) -> Box | None:
    """The box of all words that have one."""
    boxes = [token.box for token in tokens if token.box]
    return bounding_box(boxes) if boxes else None


def _plain_letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _covers_box(box: Box, other: Box) -> bool:
    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
    high = min(box.y1, other.y1) - max(box.y0, other.y0)
    return wide > 0 and high > 0 and wide * high >= _SAME_WORD * (other.x1 - other.x0) * (other.y1 - other.y0)
