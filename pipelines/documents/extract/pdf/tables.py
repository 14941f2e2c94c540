"""Ruled tables of a PDF page: where its cells are, and its words as Markdown in their order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2 as pdfium
from pdfplumber import table

from pipelines.documents.document import Box
from pipelines.documents.extract.pdf.page_words import PageMapper, PageToken
from pipelines.documents.extract.pdf.shapes import straight_lines

_SNAP = 3.0  # points, pdfplumber's own default
_MIN_LINES = 5  # two columns and two rows share at least three uprights and three crossings, or a box and two lines
_MAX_LINES = 1_500
_MIN_FILLED = 0.4
_COLUMN_WORDS = 30  # cells with more on average are columns of lines without rules between the rows
_FRAME_WORDS = 40  # a cell with more, that holds most of the table, is a frame around a text
_MAX_CELLS = 5_000


@dataclass(frozen=True, slots=True)
class TableGrid:
    """A table's cells by row, None where a cell spans; boxes in fractions of the page."""

    rows: tuple[tuple[Box | None, ...], ...]
    box: Box


def find_grids(page: pdfium.PdfPage, objects: Sequence[pdfium.PdfObject]) -> list[TableGrid]:
    """The ruled tables of at least two rows and two columns.

    The lines come from pdfium, the algorithm (Nurminen's) from pdfplumber: its own way to the lines parses the whole
    page a second time, which takes seconds where this takes milliseconds, and fails on other files.
    """
    width, height = page.get_size()
    edges = _line_edges(page, objects, width, height)
    merged = table.merge_edges(edges, *[_SNAP] * 4) if edges else []
    merged = [edge for edge in merged if max(edge["x1"] - edge["x0"], edge["bottom"] - edge["top"]) >= _SNAP]
    if not _MIN_LINES <= len(merged) <= _MAX_LINES:
        return []
    cells = table.intersections_to_cells(table.edges_to_intersections(merged, _SNAP, _SNAP))
    if len(cells) > _MAX_CELLS:
        return []

    def fraction(box: tuple[float, float, float, float]) -> Box:
        return Box(box[0] / width, box[1] / height, box[2] / width, box[3] / height)

    grids = []
    for group in table.cells_to_tables(cells):
        found = table.Table(None, group)  # type: ignore[arg-type]  # the page is only for texts, which we place
        rows = tuple(tuple(fraction(cell) if cell else None for cell in row.cells) for row in found.rows)
        if len(rows) >= 2 and max(map(len, rows)) >= 2:
            grids.append(TableGrid(rows, fraction(found.bbox)))
    return grids


def _line_edges(
    page: pdfium.PdfPage, objects: Sequence[pdfium.PdfObject], width: float, height: float
) -> list[dict[str, Any]]:
    """Lines as pdfplumber describes them: points, origin top left, of the page as it is shown."""
    mapper = PageMapper(page)
    edges = []
    for x0, y0, x1, y1 in straight_lines(objects):
        (ax, ay), (bx, by) = mapper.point(x0, y0), mapper.point(x1, y1)
        left, right = sorted((ax * width, bx * width))
        top, bottom = sorted((ay * height, by * height))
        flat = right - left >= bottom - top
        middle = (top + bottom) / 2 if flat else (left + right) / 2
        if flat:
            top = bottom = middle
        else:
            left = right = middle
        size = {"width": right - left, "height": bottom - top}
        edges.append(
            {"x0": left, "x1": right, "top": top, "bottom": bottom, "orientation": "h" if flat else "v", **size}
        )
    return edges


def place_tables(tokens: Sequence[PageToken], grids: Sequence[TableGrid]) -> tuple[PageToken, ...]:
    """The tokens with those of each table moved into its Markdown form, where its first word stood.

    Every token stays in the result exactly once, so nothing is lost where a cell was found wrongly.
    """
    for grid in grids:
        tokens = _place_table(tokens, grid)
    return tuple(tokens)


def _place_table(tokens: Sequence[PageToken], grid: TableGrid) -> Sequence[PageToken]:
    cells: dict[tuple[int, int], list[PageToken]] = {}
    first = None
    rest: list[PageToken] = []
    for token in tokens:
        at = _cell_of(token, grid)
        if at is None:
            rest.append(token)
            continue
        if first is None:
            first = len(rest)
        cells.setdefault(at, []).append(token)
    width = max(map(len, grid.rows))
    rows = [row for row in range(len(grid.rows)) if any((row, column) in cells for column in range(width))]
    used = [column for column in range(width) if any((row, column) in cells for row in rows)]
    largest, total = max(map(len, cells.values()), default=0), sum(map(len, cells.values()))
    framed = largest > _FRAME_WORDS and (largest > total / 2 or total > _COLUMN_WORDS * len(cells))
    if first is None or len(rows) < 2 or len(used) < 2 or framed or len(cells) < _MIN_FILLED * len(rows) * len(used):
        return tokens
    after = rest[first:]
    if after:
        after[0] = replace(after[0], gap="\n\n")
    return [*rest[:first], *_markdown_tokens(cells, rows, used), *after]


def _cell_of(token: PageToken, grid: TableGrid) -> tuple[int, int] | None:
    if token.box is None:
        return None  # a mark of another table
    x, y = (token.box.x0 + token.box.x1) / 2, (token.box.y0 + token.box.y1) / 2
    if not _is_inside(x, y, grid.box):
        return None
    for number, row in enumerate(grid.rows):
        for column, cell in enumerate(row):
            if cell is not None and _is_inside(x, y, cell):
                return number, column
    return None


def _is_inside(x: float, y: float, box: Box) -> bool:
    return box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1


def _markdown_tokens(
    cells: dict[tuple[int, int], list[PageToken]], rows: list[int], columns: list[int]
) -> list[PageToken]:
    result: list[PageToken] = []
    for order, row in enumerate(rows):
        opening = "\n\n" if order == 0 else "\n"
        for column in columns:
            result.append(PageToken("|", None, opening))
            opening = " "
            words = cells.get((row, column), [])
            result += [
                PageToken(word.text.replace("|", "\\|"), word.box, _joint_gap(word, at))
                for at, word in enumerate(words)
            ]
        result.append(PageToken("|", None, " "))
        if order == 0:
            result.append(PageToken("|" + " --- |" * len(columns), None, "\n"))
    return result


def _joint_gap(word: PageToken, at: int) -> str:
    """Inside a cell every gap is one space, except where two tokens are two halves of one word."""
    return "" if at and not word.gap else " "
