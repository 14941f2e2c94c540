"""Tables that no rules divide: rows and columns by how the words of a page stand under each other."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import mean, median

from pipelines.documents.document import Box
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.row_breaks import count_heads, whole_rows
from pipelines.documents.layout.table_grids import TableGrid
from pipelines.documents.layout.text_rows import TextCell, TextRow, cells_of, column_of, lies_in, rows_of

_ROW_GAP = 3.2  # heights between two rows of one table
_LEAST_ROWS, _MOST_COLUMNS = 3, 24
_SHORT, _LONG, _WORDS = 14, 40, 7  # letters and words of a cell on average
NUMBERS = 0.3  # of the cells behind the first column, in a table of longer cells
_PAIRNUMBERS = 0.5  # of the second of two columns
_SPANNING = 0.25  # of the rows may hold a cell over several columns
_CROSSED = 0.5  # of the rows whose gaps between cells one cell lies over: it spans columns
_ROUNDS = 8  # in which wide cells are set aside until no column holds two cells of a row
_STRIPE = 0.55  # heights of a line: what stays white between two columns in every row
_BOTH = 0.6  # of the rows that have something on both sides of such a stripe
_ALIGNED = 0.8  # heights: as near do a cell and the one above it begin
_MARKER = re.compile(r"[•▪–*·■●-]|\(?[0-9ivxlc]{1,4}[.)]|\(?[a-zA-Z][.)]|\d{1,2}(?:\.\d{1,2})+\.?")
_FIELD = re.compile(r"[^:]{1,60}:\s+\S")
_FIELDS = 0.5  # of the cells of a form are a label and its value
_LEADERS = re.compile(r"\.{4,}|…{2,}|_{4,}")

Interval = tuple[float, float]
"""Where a column begins and ends across the page."""


def find_columns(
    tokens: Sequence[PageToken], known: Sequence[TableGrid], aspect: float, least_columns: int = 2
) -> tuple[list[TableGrid], int]:
    """Tables by alignment alone, and in how many of them a cell may stand under the wrong head.

    Args:
        known: ruled tables, whose words are left alone.
        aspect: the page's height by its width, both in points.
        least_columns: that a table has.
    """
    free = [t for t in tokens if t.box and not t.hidden and not any(lies_in(t.box, g.box) for g in known)]
    rows = rows_of(free, aspect)
    grids: list[TableGrid] = []
    unsure = 0
    for block in _row_blocks(rows, aspect):
        found = _build_table(block, aspect)
        if found is not None and max(map(len, found[0].rows)) >= least_columns:
            grids.append(found[0])
            unsure += found[1]
    return grids, unsure


def _row_blocks(rows: Sequence[TextRow], aspect: float) -> Iterator[list[TextRow]]:
    """Rows that follow each other closely, from the first with several cells to the last."""
    block: list[TextRow] = []
    anchor: TextRow | None = None  # the last row of several cells
    for row in rows:
        apart = block and row.y0 - block[-1].y1 > _ROW_GAP * (block[-1].y1 - block[-1].y0)
        alone = len(row.cells) == 1 and (
            not block or (len(row.cells[0].text) > _LONG and not _hangs(row, anchor, aspect))
        )
        if apart or alone:
            yield from _trim_block(block, aspect)
            block, anchor = [], None
        if not alone:
            block.append(row)
            anchor = row if len(row.cells) > 1 else anchor
    yield from _trim_block(block, aspect)


def _hangs(row: TextRow, above: TextRow | None, aspect: float) -> bool:
    """True for a line of one cell below a cell of the row above that is not its first."""
    if above is None or len(row.cells) > 1:
        return False
    near = _ALIGNED * (row.y1 - row.y0) * aspect
    return any(abs(cell.x0 - row.cells[0].x0) <= near for cell in above.cells[1:])


def _trim_block(block: list[TextRow], aspect: float) -> Iterator[list[TextRow]]:
    last = next((row for row in reversed(block) if len(row.cells) > 1), None)
    while block and len(block[-1].cells) < 2 and not _hangs(block[-1], last, aspect):
        block.pop()
    while block and len(block[0].cells) < 2:
        block.pop(0)
    several, lines = 0, 0
    above: TextRow | None = None
    for row in block:
        if len(row.cells) > 1:
            several, lines, above = several + 1, lines + 1, row
        else:
            lines += not _hangs(row, above, aspect)
    if several >= _LEAST_ROWS and several >= 0.6 * lines:
        yield block


def _build_table(rows: list[TextRow], aspect: float) -> tuple[TableGrid, bool] | None:
    cells = [cell for row in rows for cell in row.cells]
    if mean([len(cell.tokens) for cell in cells]) > _WORDS:
        return None
    heads = count_heads(rows)
    # Heads over several columns would join them: the last row of heads is above its columns.
    upper = max(0, heads - 1) if len(rows) - heads >= _LEAST_ROWS else 0
    spanning: set[int] = set()
    columns = _column_intervals(rows[upper:], spanning)
    if columns is None or len(spanning) > _SPANNING * len(rows):
        return None
    columns = _parted_columns(rows[upper:], columns, spanning, aspect)
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        return None
    rows, upper = whole_rows(rows, columns, heads, upper)
    if len(rows) < _LEAST_ROWS or not reads_as_table(rows, columns):
        return None
    columns, unsure = _under_heads(rows[upper:], columns)
    unsure = unsure or any(cell.is_number for row in rows[upper:] for cell in row.cells if id(cell) in spanning)
    height = median([row.y1 - row.y0 for row in rows]) * aspect
    return (_build_grid(rows, columns, upper, spanning, _STRIPE * height), unsure) if len(columns) > 1 else None


def _column_intervals(rows: Sequence[TextRow], spanning: set[int]) -> list[Interval] | None:
    """Column intervals over the cells of all rows; cells over several columns are put into `spanning`."""
    _set_crossing_apart(rows, spanning)
    for _ in range(_ROUNDS):
        columns = _united_cells(rows, spanning)
        crowded = [c for c in columns if len({number for _, number in c}) < len(c)]
        if not crowded:
            return [(min(c.x0 for c, _ in column), max(c.x1 for c, _ in column)) for column in columns]
        spanning.update(id(max(column, key=lambda pair: pair[0].x1 - pair[0].x0)[0]) for column in crowded)
        if len(spanning) > _SPANNING * len(rows):
            return None
    return None


def _set_crossing_apart(rows: Sequence[TextRow], spanning: set[int]) -> None:
    """Put cells into `spanning` that lie over the gaps between two cells of most rows."""
    middles = sorted((left.x1 + right.x0) / 2 for row in rows for left, right in pairwise(row.cells))
    several = sum(len(row.cells) > 1 for row in rows)
    found = [
        id(cell)
        for row in rows
        for cell in row.cells
        if bisect_left(middles, cell.x1) - bisect_right(middles, cell.x0) > _CROSSED * several
    ]
    if len(found) <= _SPANNING * len(rows):
        spanning.update(found)


def _united_cells(rows: Sequence[TextRow], spanning: set[int]) -> list[list[tuple[TextCell, int]]]:
    """Cells that lie above each other, with the numbers of their rows, for each column."""
    cells = sorted(
        ((cell, number) for number, row in enumerate(rows) for cell in row.cells if id(cell) not in spanning),
        key=lambda pair: pair[0].x0,
    )
    columns: list[list[tuple[TextCell, int]]] = []
    end = -1.0
    for cell, number in cells:
        if columns and cell.x0 < end:
            columns[-1].append((cell, number))
        else:
            columns.append([(cell, number)])
        end = max(end, cell.x1) if columns[-1][:-1] else cell.x1
    return columns


def _parted_columns(
    rows: Sequence[TextRow], columns: Sequence[Interval], spanning: set[int], aspect: float
) -> list[Interval]:
    """Columns with those divided in which a stripe stays white in every row, though it is no wider than some blanks.

    The cells of the rows are divided with them.
    """
    height = median([row.y1 - row.y0 for row in rows]) * aspect
    result: list[Interval] = []
    for column in columns:
        own = [
            (row, cell)
            for row in rows
            for cell in row.cells
            if id(cell) not in spanning and cell.x0 >= column[0] and cell.x1 <= column[1]
        ]
        cuts = _white_stripes([cell for _, cell in own], _STRIPE * height)
        edges = [column[0], *cuts, column[1]]
        result += [
            (min(boxes)[0], max(box[1] for box in boxes))
            for left, right in pairwise(edges)
            if (
                boxes := [
                    (token.box.x0, token.box.x1)
                    for _, cell in own
                    for token in cell.tokens
                    if token.box and left <= token.box.x0 and token.box.x1 <= right
                ]
            )
        ]
        if cuts:
            for row, cell in own:
                at = row.cells.index(cell)
                row.cells[at : at + 1] = _cut_cell(cell, cuts)
    return result


def _white_stripes(cells: Sequence[TextCell], least: float) -> list[float]:
    """Middles of the stripes that no word of these cells lies in, with words of most on both sides."""
    if len(cells) < _LEAST_ROWS + 1:
        return []
    boxes = sorted((token.box.x0, token.box.x1) for cell in cells for token in cell.tokens if token.box)
    cuts, end = [], boxes[0][1] if boxes else 0.0
    for x0, x1 in boxes:
        if x0 - end >= least:
            middle = (x0 + end) / 2
            both = sum(cell.x0 < middle < cell.x1 for cell in cells)
            if both >= _BOTH * len(cells):
                cuts.append(middle)
        end = max(end, x1)
    return cuts


def _cut_cell(cell: TextCell, cuts: Sequence[float]) -> list[TextCell]:
    pieces: dict[int, list[PageToken]] = {}
    for token in cell.tokens:
        assert token.box is not None
        pieces.setdefault(bisect_right(cuts, (token.box.x0 + token.box.x1) / 2), []).append(token)
    return [one for tokens in pieces.values() for one in cells_of(tokens, 1.0)]


def reads_as_table(rows: Sequence[TextRow], columns: Sequence[Interval]) -> bool:
    """Short cells, or figures among longer ones: no columns of prose, no list, no contents, no fields side by side."""
    cells = [cell for row in rows for cell in row.cells]
    fields = sum(_FIELD.match(cell.text) is not None for cell in cells)
    if fields >= _FIELDS * len(cells) or any(_LEADERS.search(cell.text) for cell in cells):
        return False
    by_column: list[list[TextCell]] = [[] for _ in columns]
    for cell in cells:
        by_column[column_of(cell, columns)].append(cell)
    if any(not column for column in by_column):
        return False
    first = by_column[0]
    if len(columns) == 2 and sum(bool(_MARKER.fullmatch(cell.text)) for cell in first) > len(first) / 2:
        return False
    behind = [cell for column in by_column[1:] for cell in column]
    numbers = sum(cell.is_number for cell in behind) / len(behind)
    if len(columns) == 2:
        return numbers >= _PAIRNUMBERS and mean(len(cell.text) for cell in first) <= _LONG
    length = mean(len(cell.text) for cell in cells)
    return length <= _SHORT or (numbers >= NUMBERS and length <= _LONG)


def _under_heads(rows: Sequence[TextRow], columns: list[Interval]) -> tuple[list[Interval], bool]:
    """A head that stands beside its column joined with it; and whether it is not clear which head a column has."""
    if any(cell.is_number for cell in rows[0].cells):
        return columns, False  # no head at all
    filled: list[set[int]] = [set() for _ in columns]
    figures = [False] * len(columns)
    for number, row in enumerate(rows):
        for cell in row.cells:
            at = column_of(cell, columns)
            filled[at].add(number)
            figures[at] = figures[at] or cell.is_number
    unsure = False
    joined = list(columns)
    at = 0
    while at < len(joined):
        # The first column may do without a head, and a column may be empty: neither is joined with the other.
        beside = [n for n in (at - 1, at + 1) if 0 < n < len(joined) and filled[n] and 0 not in filled[n]]
        if filled[at] == {0} and len(beside) == 1:
            low, high = sorted((at, beside[0]))
            joined[low : high + 1] = [(joined[low][0], joined[high][1])]
            filled[low : high + 1] = [filled[low] | filled[high]]
            figures[low : high + 1] = [figures[low] or figures[high]]
            at = low
        else:
            unsure = unsure or (filled[at] == {0} and len(beside) > 1)
            at += 1
    heads = sum(0 in places for places in filled)
    headless = any(figure and 0 not in places for figure, places in zip(figures[1:], filled[1:], strict=True))
    return joined, unsure or (headless and heads > 1)


def _build_grid(
    rows: Sequence[TextRow], columns: Sequence[Interval], upper: int, spanning: set[int], gap: float
) -> TableGrid:
    """Cells between the middles of the gaps; one over several columns reaches over all of them.

    Args:
        upper: how many rows of heads stand above those of single columns.
        spanning: cells that are known to be of several columns.
        gap: what parts two cells, in widths of the page.
    """
    ys = [rows[0].y0, *((above.y1 + below.y0) / 2 for above, below in pairwise(rows)), rows[-1].y1]
    left, right = min(cell.x0 for row in rows for cell in row.cells), max(cell.x1 for row in rows for cell in row.cells)
    inner = [(before[1] + after[0]) / 2 for before, after in pairwise(columns)]
    xs = [min(left, columns[0][0]), *inner, max(right, columns[-1][1])]
    lines: list[tuple[Box | None, ...]] = []
    for row, number, (y0, y1) in zip(rows, range(len(rows)), pairwise(ys), strict=True):
        edges = _row_edges(row, columns, xs)
        line: list[Box | None] = [Box(x0, y0, x1, y1) for x0, x1 in pairwise(edges)]
        for cell in row.cells:
            if number < upper or id(cell) in spanning:
                for first, last in _crossed_columns(cell, columns, gap):
                    line[first : last + 1] = [Box(edges[first], y0, edges[last + 1], y1), *[None] * (last - first)]
        lines.append(tuple(line))
    return TableGrid(tuple(lines), Box(xs[0], ys[0], xs[-1], ys[-1]))


def _row_edges(row: TextRow, columns: Sequence[Interval], edges: Sequence[float]) -> list[float]:
    """The edges of columns in one row, where a cell that is wider than its column reaches over them."""
    own = list(edges)
    held = [(cell, column_of(cell, columns)) for cell in row.cells]
    for cell, at in held:
        before = max((one.x1 for one, other in held if other < at), default=edges[0])
        after = min((one.x0 for one, other in held if other > at), default=edges[-1])
        if before <= cell.x0 < own[at]:
            own[at] = max(own[max(0, at - 1)], (before + cell.x0) / 2)
        if own[at + 1] < cell.x1 <= after:
            own[at + 1] = (cell.x1 + after) / 2
    return own if own == sorted(own) else list(edges)


def _crossed_columns(cell: TextCell, columns: Sequence[Interval], gap: float) -> Iterator[tuple[int, int]]:
    """Runs of columns, from the first to the last, that words of a cell lie over without a gap between them."""
    for piece in cells_of(cell.tokens, gap):
        over = [at for at, (x0, x1) in enumerate(columns) if piece.x0 < x1 and x0 < piece.x1]
        if len(over) > 1:
            yield over[0], over[-1]
