"""Columns of short lines whose rows stand on one height, and whose content goes row by row over all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import mean

from pipelines.documents.layout.column_tables import NUMBERS
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.table_grids import TableGrid
from pipelines.documents.layout.text_rows import TextRow, lies_in, rows_of

_LEAST_LINES, _PROSE_CELL, _MIXED = 5, 18, 0.7  # rows of two columns of prose; letters of a cell; of these rows


def by_aligned_column(tokens: Sequence[PageToken], tables: Sequence[TableGrid], aspect: float) -> tuple[PageToken, ...]:
    """Columns whose content goes row by row over all of them: one column after the other.

    Args:
        tables: whose words are left alone.
        aspect: the page's height by its width, both in points.
    """
    free = [t for t in tokens if t.box and not any(lies_in(t.box, g.box) for g in tables)]
    rows = rows_of(free, aspect)
    if sum(len(row.cells) > 1 for row in rows) < _LEAST_LINES:
        return tuple(tokens)
    for gutter, start, end in _find_gutters(rows):
        tokens = _divide_columns(tokens, rows[start:end], gutter)
    return tuple(tokens)


def _find_gutters(rows: Sequence[TextRow]) -> Iterator[tuple[float, int, int]]:
    """White stripes (x) that go down through rows [start, end), with prose on both sides."""
    start = 0
    while start < len(rows):
        if len(rows[start].cells) < 2:
            start += 1
            continue
        for left, right in pairwise(rows[start].cells):
            low, high, end = left.x1, right.x0, start + 1
            while end < len(rows) and (stripe := _narrow_stripe(low, high, rows[end])):
                low, high = stripe
                end += 1
            both = [row for row in rows[start:end] if len(row.cells) > 1]
            cells = [cell for row in both for cell in row.cells]
            if (
                len(both) >= _LEAST_LINES
                and mean(len(cell.text) for cell in cells) >= _PROSE_CELL
                and (sum(cell.is_number for cell in cells) < NUMBERS * len(cells))
            ):
                yield (low + high) / 2, start, end
                start = end - 1
                break
        start += 1


def _narrow_stripe(low: float, high: float, row: TextRow) -> tuple[float, float] | None:
    """The part of a white stripe that stays white in another row; None where a word lies across it."""
    for cell in row.cells:
        if cell.x1 <= (low + high) / 2:
            low = max(low, cell.x1)
        elif cell.x0 >= (low + high) / 2:
            high = min(high, cell.x0)
        else:
            return None
    return (low, high) if high - low > 0.004 else None


def _divide_columns(tokens: Sequence[PageToken], rows: Sequence[TextRow], gutter: float) -> Sequence[PageToken]:
    """The words of these rows with all that stand left of the gutter first, if their content mixes both sides."""
    place = {id(token): at for at, token in enumerate(tokens)}
    left = [[t for t in row.tokens if t.box and t.box.x1 <= gutter] for row in rows]
    right = [[t for t in row.tokens if t.box and t.box.x1 > gutter] for row in rows]
    both = [(a, b) for a, b in zip(left, right, strict=True) if a and b]
    mixed = sum(place[id(b[0])] == place[id(a[-1])] + 1 for a, b in both if id(b[0]) in place and id(a[-1]) in place)
    if mixed < _MIXED * len(both):
        return tokens
    moved: list[PageToken] = []
    for side in (left, right):
        lines = [line for line in side if line]
        for number, line in enumerate(lines):
            gap = "\n\n" if number == 0 or "\n\n" in line[0].gap else "\n"
            moved += [replace(line[0], gap=gap), *line[1:]]
    inside = {id(token) for row in rows for token in row.tokens}
    first = min(place[key] for key in inside if key in place)
    before = [token for token in tokens[:first] if id(token) not in inside]
    after = [token for token in tokens[first:] if id(token) not in inside]
    if after:
        after[0] = replace(after[0], gap="\n\n")
    return [*before, *moved, *after]
