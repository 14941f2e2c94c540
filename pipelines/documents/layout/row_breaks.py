"""Rows of a table whose cells go on in their next lines, told from lines that are rows of their own."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from pipelines.documents.layout.text_rows import TextCell, TextRow, column_of, is_year

_MOST_HEADS = 4  # lines of labels above one another
_TIGHT = 0.88  # of the usual distance of rows: a cell goes on in its next line
_EVEN = 1.08  # of it: as far may a line stand that goes on a full one, where nothing else stands on its height
_FULL = 0.8  # of its column's width that a line fills which goes on
_BELOW = frozenset("gjpqyQ,;()[]{}|/@$§_")  # signs that reach below the base line
_DESCENT = 0.22  # of a word's height that they do so


def count_heads(rows: Sequence[TextRow]) -> int:
    """How many lines of labels stand above the first figure; 0 where there is none below, or nothing above it."""
    for at, row in enumerate(rows[: _MOST_HEADS + 1]):
        if any(cell.is_number and not is_year(cell.text) for cell in row.cells):
            return at
    return 0


def whole_rows(
    rows: Sequence[TextRow], columns: Sequence[tuple[float, float]], heads: int = 0, upper: int = 0
) -> tuple[list[TextRow], int]:
    """Lines that only go on what stands above them joined with that row.

    Args:
        columns: where each begins and ends.
        heads: how many lines of labels stand at the top.
        upper: how many of the first lines are heads over several columns.

    Returns:
        The rows, and how many of the first are heads over several columns.
    """
    places = [[column_of(cell, columns) for cell in row.cells] for row in rows]
    usual = _usual_distance(rows, places)
    result, last, above = [rows[0]], set(places[0]), 0
    for at in range(1, len(rows)):
        row = rows[at]
        ratio = (_level(row) - _level(rows[at - 1])) / usual if usual else 1.0
        labels = at < heads and ratio < _TIGHT
        if labels or (
            _goes_on(row.cells, places[at], last, ratio) and not _is_short(rows[at - 1], row, ratio, columns)
        ):
            before = result[-1]
            result[-1] = TextRow(before.y0, row.y1, before.tokens + row.tokens, before.cells + row.cells)
            last |= set(places[at])
        else:
            result.append(row)
            last = set(places[at])
            above += at <= upper
    return result, above if upper else 0


def _usual_distance(rows: Sequence[TextRow], places: Sequence[Sequence[int]]) -> float:
    """The distance from the line above of those lines that are sure to begin a row; 0 where there are none."""
    distances = [
        _level(below) - _level(above)
        for (above, below), filled in zip(pairwise(rows), places[1:], strict=True)
        if len(filled) > 1 and (0 in filled or any(cell.is_number for cell in below.cells))
    ]
    return median(distances) if distances else 0.0


def _level(row: TextRow) -> float:
    """The base line of a row: the lower edge of words that do not reach below it, where there are such."""
    boxes = [(token.box, token.text) for token in row.tokens if token.box]
    bottoms = [box.y1 for box, text in boxes if _BELOW.isdisjoint(text)]
    return median(bottoms or [box.y1 - _DESCENT * (box.y1 - box.y0) for box, _ in boxes])


def _goes_on(cells: Sequence[TextCell], places: Sequence[int], above: set[int], ratio: float) -> bool:
    """True for words below cells of the row above, closer than rows are, or as close as rows and all alone."""
    if any(cell.is_number for cell in cells) or not above.issuperset(places):
        return False
    if ratio < _TIGHT:
        return 0 not in places or len(cells) == 1
    return ratio < _EVEN and len(cells) == 1 and places[0] > 0


def _is_short(above: TextRow, row: TextRow, ratio: float, columns: Sequence[tuple[float, float]]) -> bool:
    """True for a line at a row's distance below a cell that had room for its first word."""
    if ratio < _TIGHT:
        return False
    at = column_of(row.cells[0], columns)
    x0, x1 = columns[at]
    return not any(column_of(cell, columns) == at and cell.x1 - x0 >= _FULL * (x1 - x0) for cell in above.cells)
