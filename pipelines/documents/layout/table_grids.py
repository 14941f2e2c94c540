"""Grids of cells on a page, and its words as Markdown in the order of their cells."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pipelines.documents.document import Box
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.table_heads import lacks_head

_MIN_FILLED = 0.4
_COLUMN_WORDS = 30  # cells with more on average are columns of lines without rules between the rows
_FRAME_WORDS = 40  # a cell with more, that holds most of the table, is a frame around a text

_RIM = 0.02  # of the page's width: the rim between a rule and the edge of a shade is no wider

CellPlace = tuple[int, int]
"""Row and column of a cell, from 0."""


@dataclass(frozen=True, slots=True)
class TableGrid:
    """A table's cells by row, None where a cell spans; boxes in fractions of the page."""

    rows: tuple[tuple[Box | None, ...], ...]
    box: Box


class CellIndex:
    """Finds the cell that a place of the page lies in."""

    def __init__(self, grid: TableGrid) -> None:
        """Note the cells of each band between two edges of rows, from left to right."""
        self._box = grid.box
        boxes = [(box, (row, at)) for row, cells in enumerate(grid.rows) for at, box in enumerate(cells) if box]
        self._edges = sorted({edge for box, _ in boxes for edge in (box.y0, box.y1)})
        band = {edge: at for at, edge in enumerate(self._edges)}
        self._bands: list[list[tuple[float, float, CellPlace]]] = [[] for _ in self._edges]
        for box, place in boxes:
            for at in range(band[box.y0], band[box.y1]):
                self._bands[at].append((box.x0, box.x1, place))
        for cells in self._bands:
            cells.sort()

    def cell_at(self, box: Box) -> CellPlace | None:
        """The cell that holds the middle of a box."""
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        if not (self._box.x0 <= x <= self._box.x1 and self._box.y0 <= y <= self._box.y1):
            return None
        cells = self._bands[max(0, bisect_right(self._edges, y) - 1)]
        at = bisect_right(cells, x, key=lambda cell: cell[0]) - 1
        return cells[at][2] if at >= 0 and x <= cells[at][1] else None


def place_tables(tokens: Sequence[PageToken], grids: Sequence[TableGrid]) -> tuple[PageToken, ...]:
    """The tokens with those of each table moved into its Markdown form, where its first word stood.

    Every token stays in the result exactly once, so nothing is lost where a cell was found wrongly.
    """
    for grid in grids:
        tokens = _place_table(tokens, grid)
    return tuple(tokens)


def _place_table(tokens: Sequence[PageToken], grid: TableGrid) -> Sequence[PageToken]:
    index = CellIndex(grid)
    cells: dict[CellPlace, list[PageToken]] = {}
    first = None
    rest: list[PageToken] = []
    for token in tokens:
        at = index.cell_at(token.box) if token.box else None  # a mark of another table has none
        if at is None:
            rest.append(token)
            continue
        if first is None:
            first = len(rest)
        cells.setdefault(at, []).append(token)
    cells = _without_rims(cells, grid)
    rows = sorted({row for row, _ in cells})
    used = sorted({column for _, column in cells})
    largest, total = max(map(len, cells.values()), default=0), sum(map(len, cells.values()))
    framed = largest > _FRAME_WORDS and (largest > total / 2 or total > _COLUMN_WORDS * len(cells))
    if first is None or len(rows) < 2 or len(used) < 2 or framed or len(cells) < _MIN_FILLED * len(rows) * len(used):
        return tokens
    after = rest[first:]
    if after:
        after[0] = replace(after[0], gap="\n\n")
    return [*rest[:first], *_markdown_tokens(cells, rows, used), *after]


def _without_rims(cells: dict[CellPlace, list[PageToken]], grid: TableGrid) -> dict[CellPlace, list[PageToken]]:
    """The cells with columns joined that begin next to each other and never stand in one row.

    Such a column is the rim between a rule and the edge of a shade.
    """
    lefts: dict[int, float] = {}
    for row, at in cells:
        box = grid.rows[row][at]
        assert box is not None
        lefts[at] = min(box.x0, lefts.get(at, 1.0))
    joined: dict[int, int] = {}
    columns = sorted(lefts)
    for left, right in pairwise(columns):
        begins = joined.get(left, left)
        apart = {row for row, at in cells if joined.get(at, at) == begins} & {row for row, at in cells if at == right}
        if lefts[right] - lefts[begins] < _RIM and not apart:
            joined[right] = begins
    return {(row, joined.get(at, at)): words for (row, at), words in cells.items()}


def _markdown_tokens(
    cells: dict[CellPlace, list[PageToken]], rows: Sequence[int], columns: Sequence[int]
) -> list[PageToken]:
    result: list[PageToken] = []
    rule = PageToken("|" + " --- |" * len(columns), None, "\n")
    headless = lacks_head([[_cell_text(cells.get((row, column), [])) for column in columns] for row in rows])
    if headless:
        # Markdown takes the first row for the head: an empty one keeps that row among the data.
        result += [PageToken("|" + " |" * len(columns), None, "\n\n"), rule]
    for order, row in enumerate(rows):
        opening = "\n" if order or headless else "\n\n"
        for column in columns:
            result.append(PageToken("|", None, opening))
            opening = " "
            words = cells.get((row, column), [])
            result += [
                PageToken(
                    word.text.replace("|", "\\|"),
                    word.box,
                    _joint_gap(word, at),
                    source=word.source,
                    confidence=word.confidence,
                )
                for at, word in enumerate(words)
            ]
        result.append(PageToken("|", None, " "))
        if order == 0 and not headless:
            result.append(rule)
    return result


def _cell_text(words: Sequence[PageToken]) -> str:
    return "".join(_joint_gap(word, at) + word.text for at, word in enumerate(words)).strip()


def _joint_gap(word: PageToken, at: int) -> str:
    """Inside a cell every gap is one space, except where two tokens are two halves of one word."""
    return "" if at and not word.gap else " "
