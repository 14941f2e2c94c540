"""Rows of a table that has rules between its columns, and few or none between its rows."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from pipelines.documents.document import Box
from pipelines.documents.layout.column_tables import reads_as_table
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.row_breaks import whole_rows
from pipelines.documents.layout.table_grids import CellIndex, TableGrid
from pipelines.documents.layout.text_rows import TextCell, TextRow, rows_of

_HEAD_LINES = 2
_LEAST_LINES = 3  # between two rules, before they are looked at as rows
_SEVERAL = 0.6  # of these lines stand in several columns, those aside that go on a cell

Cells = Sequence[Box | None]


def divided_bands(grids: Sequence[TableGrid], tokens: Sequence[PageToken], aspect: float) -> list[TableGrid]:
    """The grids with each band between two rules divided that holds several rows.

    Args:
        aspect: the page's height by its width, both in points.
    """
    return [_divide_grid(grid, tokens, aspect) for grid in grids]


def _divide_grid(grid: TableGrid, tokens: Sequence[PageToken], aspect: float) -> TableGrid:
    index = CellIndex(grid)
    bands: dict[int, list[tuple[int, PageToken]]] = defaultdict(list)
    for token in tokens:
        place = index.cell_at(token.box) if token.box else None
        if place is not None:
            bands[place[0]].append((place[1], token))
    lines: list[tuple[Box | None, ...]] = []
    edges = _column_edges(grid)
    for number, cells in enumerate(grid.rows):
        if number == 0 and (heads := _head_rows(cells, edges, [token for _, token in bands[0]], aspect)):
            lines += heads
            continue
        heights = _row_edges(cells, bands[number], aspect)
        for y0, y1 in pairwise(heights):
            lines.append(tuple(box and Box(box.x0, y0, box.x1, y1) for box in cells))
        if not heights:
            lines.append(tuple(cells))
    return TableGrid(tuple(lines), grid.box)


def _column_edges(grid: TableGrid) -> list[float]:
    """The left edge of each column, and the right one of the last."""
    lefts: dict[int, float] = {}
    for row in grid.rows:
        for at, box in enumerate(row):
            if box:
                lefts[at] = box.x0
    return [*(lefts[at] for at in sorted(lefts)), grid.box.x1]


def _head_rows(
    cells: Cells, edges: Sequence[float], tokens: Sequence[PageToken], aspect: float
) -> list[tuple[Box | None, ...]]:
    """A head over several columns and the heads of these as two rows, where no rule parts them; else nothing."""
    wide = [box for box in cells if box and sum(box.x0 < edge < box.x1 for edge in edges)]
    lines = rows_of(tokens, aspect) if wide and len(edges) == len(cells) + 1 else []
    if len(lines) != _HEAD_LINES or len({(box.y0, box.y1) for box in cells if box}) > 1:
        return []
    upper, lower = lines
    below = [cell for cell in lower.cells if any(box.x0 <= cell.x0 and cell.x1 <= box.x1 for box in wide)]
    apart = len({bisect_right(edges, (cell.x0 + cell.x1) / 2) for cell in below}) == len(below) > len(wide)
    if not apart or any(bisect_right(edges, cell.x0) != bisect_right(edges, cell.x1) for cell in below):
        return []
    top, bottom, border = wide[0].y0, wide[0].y1, (upper.y1 + lower.y0) / 2
    first = tuple(box and Box(box.x0, top, box.x1, border) for box in cells)
    return [first, tuple(Box(x0, border, x1, bottom) for x0, x1 in pairwise(edges))]


def _row_edges(cells: Cells, placed: Sequence[tuple[int, PageToken]], aspect: float) -> list[float]:
    """Where the rows of a band begin and end; empty where it is one row."""
    boxes = [box for box in cells if box]
    if len(boxes) < 2 or len({(box.y0, box.y1) for box in boxes}) > 1:
        return []
    columns = [(box.x0, box.x1) for box in boxes]
    order = {at: n for n, at in enumerate(at for at, box in enumerate(cells) if box)}
    column_at = {id(token): order[at] for at, token in placed}
    lines = rows_of([token for _, token in placed], aspect)
    for line in lines:
        line.cells = _cells_by_column(line, column_at)
    several = [line for line in lines if len(line.cells) > 1]
    begin = sum(len(line.cells) > 1 or column_at[id(line.tokens[0])] == 0 for line in lines)
    if len(several) < _LEAST_LINES or len(several) < _SEVERAL * begin:
        return []
    rows, _ = whole_rows(lines, columns)
    used = [columns[at] for at in sorted({column_at[id(token)] for line in lines for token in line.tokens})]
    if len(rows) < _LEAST_LINES or len(used) < 2 or not reads_as_table(rows, used):
        return []
    return [boxes[0].y0, *((above.y1 + below.y0) / 2 for above, below in pairwise(rows)), boxes[0].y1]


def _cells_by_column(line: TextRow, column_at: dict[int, int]) -> list[TextCell]:
    """The words of a line by the columns that they stand in."""
    cells: dict[int, TextCell] = {}
    for token in line.tokens:
        assert token.box is not None
        cell = cells.setdefault(column_at[id(token)], TextCell([], token.box.x0, token.box.x1))
        cell.tokens.append(token)
        cell.x1 = max(cell.x1, token.box.x1)
    return [cells[at] for at in sorted(cells)]
