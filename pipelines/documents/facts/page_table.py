"""A table of a page: a grid of rows under columns, or the fields of a form, with the place of each row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from pipelines.documents.document import Box

Json = Any


class TableKind(StrEnum):
    """The form of a table."""

    GRID = "grid"  # rows of cells under the headings of their columns
    FORM = "form"  # a row a field: its label and its value


LONGEST_HEADING = 200  # characters; more is a text, and an index of it too large
FORM_COLUMNS = ("label", "value")


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells of a row as they are written; characters [start, end) of its page's text hold them."""

    cells: tuple[str, ...]
    start: int
    end: int
    section: str = ""  # the title or caption above
    boxes: tuple[Box | None, ...] = ()  # where each cell is, as far as its page has a geometry and it holds words


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of one page, or the part of a longer one that the page holds."""

    page: int  # 1-based
    kind: TableKind
    columns: tuple[str, ...]  # as they are headed; FORM_COLUMNS of a form
    rows: tuple[TableRow, ...]
    head: tuple[int, int] = (0, 0)  # characters [start, end) of the row of its columns; none of a form

    @property
    def headings(self) -> tuple[str, ...]:
        """What its values are called, without case: its columns, or the labels of a form."""
        names = self.columns if self.kind is TableKind.GRID else (row.cells[0] for row in self.rows)
        folded = (" ".join(name.casefold().split()) for name in names)
        return tuple(dict.fromkeys(name for name in folded if 0 < len(name) <= LONGEST_HEADING))


def table_to_json(table: PageTable) -> Json:
    """Page, kind, columns, place of their row, `[start, end, section, [cells]]` a row, and `boxes` of the rows if any.

    Those are a list a row of `[x0, y0, x1, y1]`, null for a cell without one. They stand beside the rows, so that who
    does not know of them reads these, and who does not need them leaves them out.
    """
    boxes = [_boxes_to_json(row) for row in table.rows]
    return {
        "page": table.page,
        "kind": str(table.kind),
        "columns": list(table.columns),
        "head": list(table.head),
        "rows": [[row.start, row.end, row.section, list(row.cells)] for row in table.rows],
        **({"boxes": boxes} if any(boxes) else {}),
    }


def table_from_json(row: Mapping[str, Json]) -> PageTable:
    """The inverse; without boxes where these were left out."""
    boxes = row.get("boxes", ())[: len(row["rows"])]
    rows = tuple(_row_from_json(line, own) for line, own in zip_longest(row["rows"], boxes, fillvalue=()))
    start, end = row["head"]
    return PageTable(row["page"], TableKind(row["kind"]), tuple(row["columns"]), rows, (start, end))


def _boxes_to_json(row: TableRow) -> list[Json]:
    boxes = [box and [round(edge, 4) for edge in (box.x0, box.y0, box.x1, box.y1)] for box in row.boxes]
    return boxes if any(boxes) else []


def _row_from_json(line: Sequence[Json], boxes: Sequence[Json]) -> TableRow:
    start, end, section, cells = line
    return TableRow(tuple(cells), start, end, section, tuple(Box(*box) if box else None for box in boxes))
