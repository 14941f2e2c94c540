"""Words of a page by the heights that they stand on, and the cells that they make where they stand apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from pipelines.documents.document import Box
from pipelines.documents.layout.page_tokens import PageToken

_CELL_GAP = 1.15  # of the words' height: what stands further apart on one line are two cells
_NUMBER = re.compile(
    r"[(+\-−–]?\s?[$€£¥]?\s?[\d.,'\s]*\d[\d.,'\s]*\)?\s?(?:%|‰|[a-zA-Z€$£°µ²³]{1,4})?|[-–—]|n/?a", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d\d(?:[/–-]\d\d(?:\d\d)?)?")
_LONGEST_NUMBER = 40  # characters; what is longer is none, and the pattern takes the square of its length


def is_year(text: str) -> bool:
    """True for a year or two of them, which a head may be."""
    return _YEAR.fullmatch(text) is not None


def is_figure(text: str) -> bool:
    """True for a figure, with its sign and its unit, or a mark for none."""
    return len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) is not None


@dataclass(slots=True)
class TextCell:
    """Words of one line that stand close together, and where they begin and end across the page."""

    tokens: list[PageToken]
    x0: float
    x1: float

    @property
    def text(self) -> str:
        """Its words with single blanks."""
        return " ".join([token.text for token in self.tokens])

    @property
    def is_number(self) -> bool:
        """True for a figure, with its sign and its unit, or a mark for none."""
        return is_figure(self.text)


@dataclass(slots=True)
class TextRow:
    """Words on one height, from left to right, and the cells that they make."""

    y0: float
    y1: float
    tokens: list[PageToken] = field(default_factory=list)
    cells: list[TextCell] = field(default_factory=list)


def rows_of(tokens: Sequence[PageToken], aspect: float, gap: float = _CELL_GAP) -> list[TextRow]:
    """The words (all with boxes) by lines from the top down.

    Args:
        aspect: the page's height by its width, both in points.
        gap: heights of a line's words, beyond which they are of two cells.
    """
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
        row.cells = cells_of(row.tokens, gap * height)
    return rows


def cells_of(tokens: Sequence[PageToken], gap: float) -> list[TextCell]:
    """The words of a line, from left to right, by cells that stand further apart than `gap`, in widths of the page."""
    cells: list[TextCell] = []
    for token in tokens:
        box = token.box
        assert box is not None
        if cells and box.x0 - cells[-1].x1 <= gap:
            cells[-1].tokens.append(token)
            cells[-1].x1 = max(cells[-1].x1, box.x1)
        else:
            cells.append(TextCell([token], box.x0, box.x1))
    return cells


def lies_in(box: Box, other: Box) -> bool:
    """True if the middle of a box lies in another."""
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    return other.x0 <= x <= other.x1 and other.y0 <= y <= other.y1


def column_of(cell: TextCell, columns: Sequence[tuple[float, float]]) -> int:
    """The column that holds most of the cell; where none does, the nearest."""
    return max(range(len(columns)), key=lambda n: min(cell.x1, columns[n][1]) - max(cell.x0, columns[n][0]))
