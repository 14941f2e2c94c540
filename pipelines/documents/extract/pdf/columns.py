"""Tables of a PDF page that no rules divide: rows and columns by how the words stand under each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, median

from pipelines.documents.document import Box
from pipelines.documents.extract.pdf.page_words import PageToken
from pipelines.documents.extract.pdf.tables import TableGrid

_CELL_GAP = 1.15  # of the words' height: what stands further apart on one line are two cells
_ROW_GAP = 3.2  # heights between two rows of one table
_LEAST_ROWS, _MOST_COLUMNS = 3, 24
_SHORT, _LONG, _WORDS = 14, 40, 7  # letters and words of a cell on average
NUMBERS = 0.3  # of the cells behind the first column, in a table of longer cells
_PAIRNUMBERS = 0.5  # of the second of two columns
_SPANNING = 0.25  # of the rows may hold a cell over several columns
_TIGHT = 0.75  # of the usual distance of rows: a cell goes on in its next line
_NUMBER = re.compile(
    r"[(+\-−–]?\s?[$€£¥]?\s?[\d.,'\s]*\d[\d.,'\s]*\)?\s?(?:%|‰|[a-zA-Z€$£°µ²³]{1,4})?|[-–—]|n/?a", re.IGNORECASE
)
_MARKER = re.compile(r"[•▪–*·■●-]|\(?[0-9ivxlc]{1,4}[.)]|\(?[a-zA-Z][.)]|\d{1,2}(?:\.\d{1,2})+\.?")
_LEADERS = re.compile(r"\.{4,}|…{2,}|_{4,}")


@dataclass(slots=True)
class TextCell:
    """Words of one line that stand close together, and where they begin and end across the page."""

    tokens: list[PageToken]
    x0: float
    x1: float

    @property
    def text(self) -> str:
        """Its words with single blanks."""
        return " ".join(token.text for token in self.tokens)

    @property
    def is_number(self) -> bool:
        """True for a figure, with its sign and its unit, or a mark for none."""
        return _NUMBER.fullmatch(self.text) is not None


@dataclass(slots=True)
class TextRow:
    """Words on one height, from left to right, and the cells that they make."""

    y0: float
    y1: float
    tokens: list[PageToken] = field(default_factory=list)
    cells: list[TextCell] = field(default_factory=list)


def find_columns(tokens: Sequence[PageToken], known: Sequence[TableGrid], aspect: float) -> tuple[list[TableGrid], int]:
    """Tables by alignment alone, and in how many of them a cell may stand under the wrong head.

    Args:
        known: ruled tables, whose words are left alone.
        aspect: the page's height by its width, both in points.
    """
    free = [t for t in tokens if t.box and not t.hidden and not any(lies_in(t.box, g.box) for g in known)]
    rows = rows_of(free, aspect)
    grids: list[TableGrid] = []
    unsure = 0
    for block in _row_blocks(rows):
        found = _build_table(block)
        if found is not None:
            grids.append(found[0])
            unsure += found[1]
    return grids, unsure


def rows_of(tokens: Sequence[PageToken], aspect: float) -> list[TextRow]:
    """The words (all with boxes) by lines from the top down; `aspect` as in `find_columns`."""
    rows: list[TextRow] = []
    for token in sorted(tokens, key=lambda t: (t.box.y0 + t.box.y1, t.box.x0)):  # type: ignore[union-attr]
        box = token.box
        assert box is not None
        middle = (box.y0 + box.y1) / 2
        if rows and rows[-1].y0 <= middle <= rows[-1].y1 and box.y1 - box.y0 <= 3 * (rows[-1].y1 - rows[-1].y0):
            row = rows[-1]
            row.y0, row.y1 = min(row.y0, box.y0), max(row.y1, box.y1)
        else:
            row = TextRow(box.y0, box.y1)
            rows.append(row)
        row.tokens.append(token)
    for row in rows:
        row.tokens.sort(key=lambda t: t.box.x0)  # type: ignore[union-attr]
        height = median([t.box.y1 - t.box.y0 for t in row.tokens]) * aspect  # type: ignore[union-attr]
        for token in row.tokens:
            box = token.box
            assert box is not None
            if row.cells and box.x0 - row.cells[-1].x1 <= _CELL_GAP * height:
                row.cells[-1].tokens.append(token)
                row.cells[-1].x1 = max(row.cells[-1].x1, box.x1)
            else:
                row.cells.append(TextCell([token], box.x0, box.x1))
    return rows


def _row_blocks(rows: Sequence[TextRow]) -> Iterator[list[TextRow]]:
    """Rows that follow each other closely, from the first with several cells to the last."""
    block: list[TextRow] = []
    for row in rows:
        apart = block and row.y0 - block[-1].y1 > _ROW_GAP * (block[-1].y1 - block[-1].y0)
        alone = len(row.cells) == 1 and (len(row.cells[0].text) > _LONG or not block)
        if apart or alone:
            yield from _trim_block(block)
            block = []
        if not alone:
            block.append(row)
    yield from _trim_block(block)


def _trim_block(block: list[TextRow]) -> Iterator[list[TextRow]]:
    while block and len(block[-1].cells) < 2:
        block.pop()
    while block and len(block[0].cells) < 2:
        block.pop(0)
    several = sum(len(row.cells) > 1 for row in block)
    if several >= _LEAST_ROWS and several >= 0.6 * len(block):
        yield block


def _build_table(rows: list[TextRow]) -> tuple[TableGrid, bool] | None:
    cells = [cell for row in rows for cell in row.cells]
    if mean([len(cell.tokens) for cell in cells]) > _WORDS:
        return None
    spanning: set[int] = set()
    columns = _column_intervals(rows, spanning)
    if not 2 <= len(columns) <= _MOST_COLUMNS or len(spanning) > _SPANNING * len(rows):
        return None
    rows = _whole_rows(rows, columns)
    if len(rows) < _LEAST_ROWS or not _reads_as_table(rows, columns):
        return None
    columns, unsure = _under_heads(rows, columns)
    unsure = unsure or any(cell.is_number for row in rows for cell in row.cells if id(cell) in spanning)
    return (_build_grid(rows, columns), unsure) if len(columns) > 1 else None


def _column_intervals(rows: Sequence[TextRow], spanning: set[int]) -> list[tuple[float, float]]:
    """Column intervals over the cells of all rows; cells over several columns are put into `spanning`."""
    while True:
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
        crowded = next((c for c in columns if len({number for _, number in c}) < len(c)), None)
        if crowded is None or len(spanning) > _SPANNING * len(rows):
            return [(min(c.x0 for c, _ in column), max(c.x1 for c, _ in column)) for column in columns]
        spanning.add(id(max(crowded, key=lambda pair: pair[0].x1 - pair[0].x0)[0]))


def _whole_rows(rows: Sequence[TextRow], columns: Sequence[tuple[float, float]]) -> list[TextRow]:
    """Lines that only go on what stands above them belong to that row."""
    distances = [below.y0 - above.y0 for above, below in pairwise(rows)]
    usual = median(distances)
    result = [rows[0]]
    for row, distance in zip(rows[1:], distances, strict=True):
        places = {_column_of(cell, columns) for cell in row.cells}
        goes_on = 0 not in places and distance < _TIGHT * usual and not any(cell.is_number for cell in row.cells)
        if goes_on:
            last = result[-1]
            result[-1] = TextRow(last.y0, row.y1, last.tokens + row.tokens, last.cells + row.cells)
        else:
            result.append(row)
    return result


def _reads_as_table(rows: Sequence[TextRow], columns: Sequence[tuple[float, float]]) -> bool:
    """Short cells, or figures among longer ones: neither columns of prose, nor a list, nor a table of contents."""
    cells = [cell for row in rows for cell in row.cells]
    if any(_LEADERS.search(cell.text) for cell in cells):
        return False
    by_column = [[cell for cell in cells if _column_of(cell, columns) == n] for n in range(len(columns))]
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


def _under_heads(rows: Sequence[TextRow], columns: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], bool]:
    """A head that stands beside its column joined with it; and whether it is not clear which head a column has."""
    if any(cell.is_number for cell in rows[0].cells):
        return columns, False  # no head at all
    filled: list[set[int]] = [set() for _ in columns]
    figures = [False] * len(columns)
    for number, row in enumerate(rows):
        for cell in row.cells:
            at = _column_of(cell, columns)
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


def _column_of(cell: TextCell, columns: Sequence[tuple[float, float]]) -> int:
    """The column that holds most of the cell."""
    return max(range(len(columns)), key=lambda n: min(cell.x1, columns[n][1]) - max(cell.x0, columns[n][0]))


def _build_grid(rows: Sequence[TextRow], columns: Sequence[tuple[float, float]]) -> TableGrid:
    ys = [rows[0].y0, *((above.y1 + below.y0) / 2 for above, below in pairwise(rows)), rows[-1].y1]
    xs = [columns[0][0], *((left[1] + right[0]) / 2 for left, right in pairwise(columns)), columns[-1][1]]
    lines = tuple(tuple(Box(x0, y0, x1, y1) for x0, x1 in pairwise(xs)) for y0, y1 in pairwise(ys))
    return TableGrid(lines, Box(xs[0], ys[0], xs[-1], ys[-1]))


def lies_in(box: Box, other: Box) -> bool:
    """True if the middle of a box lies in another."""
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    return other.x0 <= x <= other.x1 and other.y0 <= y <= other.y1
