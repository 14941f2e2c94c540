"""HTML tables: rows with every merged cell in its place, and tables that only lay a page out."""

from collections.abc import Callable, Iterator
from typing import Final

from bs4.element import Tag

from pipelines.documents.extract.opened import markdown_table

MOST_COLUMNS_A_CELL: Final = 100
Blocks = Callable[[Tag], list[str]]
"""The blocks of text in an element."""


def table_blocks(table: Tag, inner: Blocks, is_hidden: Callable[[Tag], bool]) -> Iterator[str]:
    """A table of data as Markdown; one that holds tables, or lays a page out, row by row with what is in its cells."""
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table and not is_hidden(row)]
    cells = [[cell for cell in row.find_all(("td", "th"), recursive=False) if not is_hidden(cell)] for row in rows]
    if table.find("table") is None:
        if max(map(len, cells), default=0) > 1:
            yield "\n".join(markdown_table(spread_cells(cells, inner)))
        else:
            yield from (block for row in cells for cell in row for block in inner(cell))
        return
    waiting: list[list[Tag]] = []
    for row in cells:
        if any(cell.find("table") for cell in row):
            yield from _simple_table(waiting, inner)
            waiting = []
            yield from _mixed_blocks(row, inner)
        else:
            waiting.append(row)
    yield from _simple_table(waiting, inner)


def _simple_table(rows: list[list[Tag]], inner: Blocks) -> Iterator[str]:
    """Rows without tables in them: a table of their own where there are several, else a line."""
    if len(rows) > 1 and max(map(len, rows)) > 1:
        yield "\n".join(markdown_table(spread_cells(rows, inner)))
    else:
        yield from (block for row in rows for block in _mixed_blocks(row, inner))


def _mixed_blocks(row: list[Tag], inner: Blocks) -> Iterator[str]:
    """Short cells beside each other as a line, the others as they are."""
    line: list[str] = []
    for cell in row:
        blocks = inner(cell)
        if len(blocks) == 1 and "\n" not in blocks[0]:
            line += blocks
            continue
        if line:
            yield " | ".join(line)
        line = []
        yield from blocks
    if line:
        yield " | ".join(line)


def spread_cells(cells: list[list[Tag]], inner: Blocks) -> list[list[str]]:
    """Rows of texts; a cell merged downwards repeats in every row, and one merged across keeps its columns."""
    rows: list[list[str]] = []
    waiting: dict[int, tuple[int, str]] = {}
    for row in cells:
        texts: list[str] = []
        queue = list(row)
        while queue or (waiting and max(waiting) >= len(texts)):
            column = len(texts)
            if column in waiting:
                left, text = waiting.pop(column)
                if left > 1:
                    waiting[column] = (left - 1, text)
                texts.append(text)
            elif queue:
                cell = queue.pop(0)
                text = " ".join(inner(cell))
                down = _cell_span(cell, "rowspan", 65_534)
                for offset in range(_cell_span(cell, "colspan", MOST_COLUMNS_A_CELL)):
                    shown = text if offset == 0 else ""
                    if down > 1:
                        waiting[column + offset] = (down - 1, shown)
                    texts.append(shown)
            else:
                texts.append("")
        if any(texts):
            rows.append(texts)
    return rows


def _cell_span(cell: Tag, name: str, most: int) -> int:
    value = str(cell.get(name) or "1").strip()
    if not value.isdecimal():
        return 1
    if int(value) == 0:
        return most if name == "rowspan" else 1  # to the end of the table
    return min(int(value), most)
