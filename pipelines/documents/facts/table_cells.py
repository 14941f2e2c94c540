"""The cells of a Markdown table and where each stands in its page's text."""

import re
from dataclasses import dataclass

from pipelines.documents.chunk.blocks import TextBlock

_CELL = re.compile(r"(?:\\.|[^|\\\n])*")
_RULE = re.compile(r"[\s|:\-]+")


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: its words, and characters [start, end) of them in the page's text."""

    text: str
    start: int
    end: int


def table_rows(text: str, block: TextBlock) -> list[list[TableCell]]:
    """The rows of a table block, the header first; the rule beneath it is none."""
    rows, at = [], block.start
    for line in text[block.start : block.end].splitlines(keepends=True):
        if not (_RULE.fullmatch(line) and "-" in line):
            rows.append(_row_cells(line, at))
        at += len(line)
    return rows


def _row_cells(line: str, offset: int) -> list[TableCell]:
    inner = line.rstrip()
    first = inner.find("|") + 1
    cells, at = [], first
    while at < len(inner):
        found = _CELL.match(inner, at)
        end = found.end() if found else at
        piece = inner[at:end]
        start = at + len(piece) - len(piece.lstrip())
        words = piece.strip()
        cells.append(TableCell(words.replace(r"\|", "|"), offset + start, offset + start + len(words)))
        at = end + 1
    return cells
