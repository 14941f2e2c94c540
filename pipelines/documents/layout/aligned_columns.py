"""Columns of short lines whose rows stand on one height, and whose content goes row by row over all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import mean

from pipelines.documents.layout.column_tables import NUMBERS
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.table_grids import TableGrid
from pipelines.documents.layout.text_rows import TextRow, lies_in, rows_of

_MOST_CELLS = 1_200  # of a page of columns: with more it is a listing, and to look for gutters takes their square
_LEAST_LINES, _PROSE_CELL, _MIXED = 5, 18, 0.7  # rows of two columns of prose; letters of a cell; of these rows


def by_aligned_column(tokens: Sequence[PageToken], tables: Sequence[TableGrid], aspect: float) -> tuple[PageToken, ...]:
    """Columns whose content goes row by row over all of them: one column after the other.

    Args:
        tables: whose words are left alone.
        aspect: the page's height by its width, both in points.
    """
    free = [t for t in tokens if t.box and not any(lies_in(t.box, g.box) for g in tables)]
    rows = rows_of(free, aspect)
    if sum(len(row.cells) > 1 for row in rows) < _LEAST_LINES or sum(len(row.cells) for row in rows) > _MOST_CELLS:
        return tuple(tokens)
    # Tokens are told by their numbers here: one whose gap changed is another object, and the next band knows the first.
    number = {id(token): at for at, token in enumerate(tokens)}
    order, gaps = list(range(len(tokens))), [token.gap for token in tokens]
    for gutter, start, end in _find_gutters(rows):
        sides = [_parted_row(row, gutter, number) for row in rows[start:end]]
        order = _divide_columns(order, gaps, sides)
    return tuple(replace(tokens[at], gap=gaps[at]) if gaps[at] != tokens[at].gap else tokens[at] for at in order)


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


def _parted_row(row: TextRow, gutter: float, number: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """The numbers of a row's words left of a gutter and right of it, by the ids of the words."""
    left = [number[id(token)] for token in row.tokens if token.box and token.box.x1 <= gutter]
    right = [number[id(token)] for token in row.tokens if token.box and token.box.x1 > gutter]
    return left, right


def _divide_columns(order: list[int], gaps: list[str], rows: Sequence[tuple[list[int], list[int]]]) -> list[int]:
    """The order with all words of these rows that stand left first, if their content mixes both sides.

    Args:
        order: numbers of the page's words as they are read.
        gaps: what stands before each word, by its number; those of words that open a line are changed.
        rows: the words of each row left and right of a gutter.
    """
    place = {word: at for at, word in enumerate(order)}
    both = [(left, right) for left, right in rows if left and right]
    if sum(place[right[0]] == place[left[-1]] + 1 for left, right in both) < _MIXED * len(both):
        return order
    moved: list[int] = []
    for side in range(2):
        for at, line in enumerate(row[side] for row in rows if row[side]):
            gaps[line[0]] = "\n\n" if at == 0 or "\n\n" in gaps[line[0]] else "\n"
            moved += line
    inside = set(moved)
    first = min(place[word] for word in moved)
    after = [word for word in order[first:] if word not in inside]
    if after:
        gaps[after[0]] = "\n\n"
    return [*order[:first], *moved, *after]
