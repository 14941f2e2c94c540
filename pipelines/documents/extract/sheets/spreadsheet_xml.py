"""Workbooks in the XML of Excel 2003 (SpreadsheetML), which many programs still export under the name `.xls`."""

import re
from pathlib import Path

from lxml import etree
from openpyxl.utils.datetime import from_ISO8601, to_excel

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.extract.office.zip_package import DAMAGED, classify_package_error
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument, UnpagedDocument
from pipelines.documents.extract.sheets.grid import CellGrid, column_name, grid_parts
from pipelines.documents.extract.sheets.number_format import format_number, number_of, shown_text

_SS = "{urn:schemas-microsoft-com:office:spreadsheet}"
_EXCEL = "{urn:schemas-microsoft-com:office:excel}"
_NAMED_FORMATS = {
    "General Number": "General",
    "General Date": "yyyy-mm-dd h:mm",
    "Long Date": "yyyy-mm-dd",
    "Medium Date": "d-mmm-yy",
    "Short Date": "yyyy-mm-dd",
    "Long Time": "h:mm:ss",
    "Medium Time": "h:mm AM/PM",
    "Short Time": "h:mm",
    "Currency": "#,##0.00",
    "Euro Currency": "#,##0.00 [$€-1]",
    "Fixed": "0.00",
    "Standard": "#,##0.00",
    "Percent": "0.00%",
    "Scientific": "0.00E+00",
}
_DECLARATION = re.compile(rb"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
_FURTHEST = 1_048_576 * 16
_DEEPEST_STYLE = 10


def open_spreadsheet_xml(path: Path, context: ExtractionContext) -> OpenedDocument:
    """Each sheet begins a part of its own with `## Sheet: name`.

    Raises Unreadable: TOO_LARGE, BOMB (it declares entities) or CORRUPT.
    """
    if path.stat().st_size > context.read.max_unpacked_bytes // 4:
        raise Unreadable(FailureReason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes // 4} bytes")
    data = path.read_bytes()
    if _DECLARATION.search(data[:4096].replace(b"\0", b"")):
        raise Unreadable(FailureReason.BOMB, "it declares XML entities")
    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        root = etree.fromstring(data, parser)
        formats = _style_formats(root)
        grids = [_sheet_grid(sheet, formats) for sheet in root.iterfind(f"{_SS}Worksheet")]
    except DAMAGED as error:
        raise classify_package_error(error) from error
    return UnpagedDocument(part for grid in grids for part in grid_parts(grid, context.read.part_chars))


def _style_formats(root: etree._Element) -> dict[str, str]:
    """Number formats by style, inherited where a style names none."""
    styles = {item.get(f"{_SS}ID", ""): item for item in root.iter(f"{_SS}Style")}
    found = {}
    for name in styles:
        style, code = styles.get(name), None
        for _ in range(_DEEPEST_STYLE):
            if style is None or code is not None:
                break
            number = style.find(f"{_SS}NumberFormat")
            code = number.get(f"{_SS}Format") if number is not None else None
            style = styles.get(style.get(f"{_SS}Parent", ""))
        found[name] = _NAMED_FORMATS.get(code or "", code or "General")
    return found


def _sheet_grid(sheet: etree._Element, formats: dict[str, str]) -> CellGrid:
    state = sheet.findtext(f"{_EXCEL}WorksheetOptions/{_EXCEL}Visible") or ""
    grid = CellGrid(sheet.get(f"{_SS}Name", ""), hidden="Hidden" in state)
    row = -1
    for line in sheet.iterfind(f"{_SS}Table/{_SS}Row"):
        row = _whole_attribute(line, "Index", row + 2) - 1
        column = -1
        for cell in line.iterfind(f"{_SS}Cell"):
            column = _whole_attribute(cell, "Index", column + 2) - 1
            style = cell.get(f"{_SS}StyleID") or line.get(f"{_SS}StyleID") or "Default"
            grid.put(row, column, _cell_text(cell, formats.get(style, "General"), grid))
            down, across = _whole_attribute(cell, "MergeDown", 0), _whole_attribute(cell, "MergeAcross", 0)
            if down or across:
                grid.merged.append((row, column, row + down, column + across))
            for note in cell.iterfind(f"{_SS}Comment"):
                if text := " ".join("".join(note.itertext()).split()):
                    grid.comments.append(f"[{column_name(column)}{row + 1}] {text}")
            column += across
        if line.get(f"{_SS}Hidden") == "1" and row in grid.rows:
            grid.hidden_rows.add(row)
        row += _whole_attribute(line, "Span", 0)
    return grid


def _cell_text(cell: etree._Element, code: str, grid: CellGrid) -> str:
    data = cell.find(f"{_SS}Data")
    text = "".join(data.itertext()) if data is not None else ""
    formula = cell.get(f"{_SS}Formula")
    if not text and formula and (data is None or data.get(f"{_SS}Type") != "String"):
        grid.formulas += 1
        return formula
    kind = data.get(f"{_SS}Type", "String") if data is not None else "String"
    try:
        if kind == "Number":
            return format_number(number_of(text), code)
        if kind == "DateTime":
            return format_number(float(to_excel(from_ISO8601(text))), "yyyy-mm-dd" if code == "General" else code)
    except (ValueError, OverflowError):
        return text
    return ("TRUE" if text == "1" else "FALSE") if kind == "Boolean" else shown_text(text, code)


def _whole_attribute(node: etree._Element, name: str, default: int) -> int:
    value = node.get(f"{_SS}{name}", "")
    return min(int(value), _FURTHEST) if value.isdecimal() and len(value) < 10 else default
