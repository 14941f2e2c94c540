"""Tables of OpenDocument files, in texts, slides and sheets: repeated and covered cells, values as they are shown."""

import re
from collections.abc import Callable, Iterator

from lxml import etree

from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.extract.odf.namespaces import OFFICE, TABLE, TEXT, parse_count
from pipelines.documents.extract.odf.paragraphs import OdfText, annotation_text
from pipelines.documents.extract.sheets.grid import CellGrid, column_name, grid_blocks
from pipelines.documents.extract.sheets.number_format import format_general, number_of

MOST_CELLS = 2_000_000  # that hold something, in one table
_MOST_REPEATED = 10_000  # times that one row or cell which holds something is taken to repeat
_REFERENCE = re.compile(r"\[([^\[\]]*)\]")
_DURATION = re.compile(r"PT(\d+)H(\d+)M(\d+)(?:[.,]\d+)?S")

CellText = Callable[[etree._Element], str]


class TableReader:
    """Takes the rows of one table as they come, and keeps what is not empty."""

    def __init__(self, grid: CellGrid, text: OdfText, cell_text: CellText) -> None:
        """`cell_text` gives what a cell shows."""
        self.grid, self._odf, self._cell_text = grid, text, cell_text
        self._row = 0
        self._column_at = 0
        self._cells = 0

    def column(self, node: etree._Element) -> None:
        """A `table:table-column`: only whether it is hidden matters."""
        count = parse_count(node.get(f"{TABLE}number-columns-repeated"), 1)
        if node.get(f"{TABLE}visibility", "visible") != "visible":
            self.grid.hidden_columns.append((self._column_at, self._column_at + count - 1))
        self._column_at += count

    def row(self, node: etree._Element) -> None:
        """A `table:table-row`; one that holds nothing costs nothing, however often it repeats."""
        repeat = parse_count(node.get(f"{TABLE}number-rows-repeated"), 1)
        cells = list(self._stored_cells(node))
        if cells:
            taken = min(repeat, _MOST_REPEATED)
            if taken < repeat or self._cells + taken * len(cells) > MOST_CELLS:
                taken = max(1, min(taken, (MOST_CELLS - self._cells) // len(cells)))
                self._note_cut(f"row {self._row + 1} repeats {repeat} times")
            hidden = node.get(f"{TABLE}visibility", "visible") != "visible"
            for row in range(self._row, self._row + taken):
                for column, text in cells:
                    self.grid.put(row, column, text)
                if hidden:
                    self.grid.hidden_rows.add(row)
            self._cells += taken * len(cells)
        self._row += repeat

    def _stored_cells(self, node: etree._Element) -> Iterator[tuple[int, str]]:
        column = 0
        for cell in node:
            if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                continue
            repeat = parse_count(cell.get(f"{TABLE}number-columns-repeated"), 1)
            if len(cell) or cell.attrib:
                yield from self._cell_values(cell, column, repeat)
            column += repeat

    def _cell_values(self, cell: etree._Element, column: int, repeat: int) -> Iterator[tuple[int, str]]:
        down = parse_count(cell.get(f"{TABLE}number-rows-spanned"), 1)
        across = parse_count(cell.get(f"{TABLE}number-columns-spanned"), 1)
        if down > 1 or across > 1:
            self.grid.merged.append((self._row, column, self._row + down - 1, column + across - 1))
        for note in cell.iter(f"{OFFICE}annotation"):
            if text := annotation_text(note):
                self.grid.comments.append(f"[{column_name(column)}{self._row + 1}] {text}")
        text = self._cell_text(cell) or self._value_text(cell)
        if text.strip():
            if repeat > _MOST_REPEATED:
                self._note_cut(f"cell {column_name(column)}{self._row + 1} repeats {repeat} times")
            for at in range(column, column + min(repeat, _MOST_REPEATED)):
                yield at, text

    def _value_text(self, cell: etree._Element) -> str:
        """A value that is stored without the text that shows it; a formula where there is neither."""
        kind = cell.get(f"{OFFICE}value-type")
        if kind == "string":
            value = cell.get(f"{OFFICE}string-value", "")
        elif kind == "date":
            value = cell.get(f"{OFFICE}date-value", "").replace("T", " ").removesuffix(" 00:00:00")
        elif kind == "time":
            found = _DURATION.fullmatch(cell.get(f"{OFFICE}time-value", ""))
            value = f"{int(found[1])}:{found[2]}:{found[3]}" if found else cell.get(f"{OFFICE}time-value", "")
        elif kind == "boolean":
            value = cell.get(f"{OFFICE}boolean-value", "").upper()
        else:
            value = _number_text(cell, kind)
        formula = cell.get(f"{TABLE}formula")
        if value or not formula or kind == "string":
            return value
        self.grid.formulas += 1
        return _formula_text(formula)

    def _note_cut(self, detail: str) -> None:
        caveat = Caveat(CaveatKind.CUT_SHORT, f"table “{self.grid.name}” is cut short: {detail}")
        if caveat not in self.grid.caveats:
            self.grid.caveats.append(caveat)


def _number_text(cell: etree._Element, kind: str | None) -> str:
    try:
        value = number_of(cell.get(f"{OFFICE}value", ""))
    except ValueError:
        return ""
    if kind == "percentage":
        return f"{format_general(value * 100)}%"
    currency = cell.get(f"{OFFICE}currency", "")
    return f"{format_general(value)} {currency}".strip()


def _formula_text(formula: str) -> str:
    """`of:=SUM([.B2:.B9])` as `=SUM(B2:B9)`."""
    text = formula.partition(":")[2] if re.match(r"[a-z]+:=", formula) else formula
    return _REFERENCE.sub(lambda match: match[1].replace(":.", ":").removeprefix("."), text)


def rows_of(table: etree._Element) -> Iterator[etree._Element]:
    """Rows and columns of a table, looked for in its groups, not in its cells."""
    for child in table:
        if child.tag in (f"{TABLE}table-row", f"{TABLE}table-column"):
            yield child
        elif child.tag in {f"{TABLE}{name}" for name in _GROUPS}:
            yield from rows_of(child)


_GROUPS = (
    *("table-header-rows", "table-row-group", "table-rows", "table-columns", "table-column-group"),
    "table-header-columns",
)


def table_blocks(table: etree._Element, text: OdfText, cell_text: CellText | None = None) -> list[str]:
    """A table of a text or a slide as Markdown."""

    def shown(cell: etree._Element) -> str:
        return " ".join(text.inline(one) for one in cell.iterfind(f"{TEXT}p")).strip()

    grid = CellGrid(table.get(f"{TABLE}name", ""))
    reader = TableReader(grid, text, cell_text or shown)
    for row in rows_of(table):
        if row.tag == f"{TABLE}table-row":
            reader.row(row)
    for caveat in grid.caveats:
        text.gathered.note(caveat.kind, caveat.detail)
    return grid_blocks(grid)
