"""Spreadsheets: every sheet as a Markdown table of values; long ones in parts with the head repeated."""

import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import olefile
import xlrd
from xlrd.compdoc import CompDocError

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.office.embedded import EmbeddedDocuments, NestingBudget, open_package
from pipelines.documents.extract.office.zip_package import DAMAGED, Source, classify_package_error
from pipelines.documents.extract.opened import DocumentPart, ExtractionContext, OpenedDocument, UnpagedDocument
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector
from pipelines.documents.extract.sheets.extras import read_extras
from pipelines.documents.extract.sheets.grid import CellGrid, column_name, grid_parts
from pipelines.documents.extract.sheets.misnamed import open_misnamed
from pipelines.documents.extract.sheets.number_format import format_number, shown_text
from pipelines.documents.extract.sheets.xlsx import MOST_CELLS, XlsxWorkbook, open_book, read_cells

_FORMULA, _BOF, _OBJECT, _TEXT_OBJECT = 0x0006, 0x0809, 0x005D, 0x01B6
_CHART = 0x0020  # the kind of stream that a BOF record begins
_NOTE = 0x19  # the box of a comment
_CONTROLS = (0x0B, 0x0C, 0x0D, 0x12)  # boxes to tick, choices, fields, lists; of the arrows of filters there are many
_HEAD = struct.Struct("<HH")
_CELL = struct.Struct("<HHH8sH")  # row, column, format, result, options
_CALCULATE_ON_LOAD = 0x0002
_EMPTY_RESULT = 0x03  # in the first byte of a result that is no number, as the last two tell


def workbook_stream(data: bytes) -> bytes:
    """The records of a workbook of 1993 or later, in a container or without. Raises OSError or struct.error."""
    if not data.startswith(olefile.MAGIC):
        return data if data.startswith(_BIFF[-1]) else b""
    with olefile.OleFileIO(io.BytesIO(data)) as container:
        name = next((one for one in ("Workbook", "Book") if container.exists(one)), None)
        return container.openstream(name).read() if name else b""


def uncalculated_in(stream: bytes) -> int:
    """Count formula cells without a result that ask to be calculated on opening, or all if none has a result.

    An empty result alone may be right (`=""`). The layout is that of [MS-XLS] 2.4.127.
    """
    formulas = empty = asking = 0
    for kind, data in _records(stream):
        if kind == _FORMULA and len(data) >= _CELL.size:
            *_, result, options = _CELL.unpack_from(data)
            is_empty = result[0] == _EMPTY_RESULT and result[6:] == b"\xff\xff"
            formulas += 1
            empty += is_empty
            asking += is_empty and bool(options & _CALCULATE_ON_LOAD)
    return empty if empty == formulas else asking


def unread_objects_in(stream: bytes) -> int:
    """Count text boxes, charts and form controls, of which none is read ([MS-XLS] 2.5.143, 2.4.181, 2.4.329)."""
    count, kind_of_object = 0, _NOTE
    for kind, data in _records(stream):
        if kind == _BOF and len(data) >= 4:
            count += int.from_bytes(data[2:4], "little") == _CHART
        elif kind == _OBJECT and len(data) >= 6:
            kind_of_object = int.from_bytes(data[4:6], "little")
            count += kind_of_object in _CONTROLS
        elif kind == _TEXT_OBJECT and len(data) >= 12:
            count += int.from_bytes(data[10:12], "little") > 0 and kind_of_object not in (_NOTE, *_CONTROLS)
    return count


def _records(stream: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEAD.size <= len(stream):
        kind, size = _HEAD.unpack_from(stream, at)
        at += _HEAD.size
        yield kind, stream[at : at + size]
        at += size


_OLE = b"\xd0\xcf\x11\xe0"
_BIFF = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00", b"\x09\x08")  # how Excel 2 to 5 began
_OLD_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0\0\x10JFIF")  # as they begin, wherever they stand in the file


def open_xlsx(source: Source, context: ExtractionContext, nesting: NestingBudget | None = None) -> OpenedDocument:
    """Each sheet begins a part of its own with `## Sheet: name`; embedded documents follow behind."""
    return open_package(source, context, nesting, _book_parts)


def _book_parts(
    archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments
) -> Iterator[DocumentPart]:
    book = open_book(archive)
    for kind in book.missing:
        gathered.note(CaveatKind.PARTS_SKIPPED, f"the part “{kind}”: cells may show other values than they should")
    for sheet in book.sheets:
        yield from _sheet_parts(book, sheet, gathered, embedding)


def _sheet_parts(
    book: XlsxWorkbook, sheet: Any, gathered: PictureCollector, embedding: EmbeddedDocuments
) -> list[DocumentPart]:
    grid = CellGrid(sheet.get("name", ""), hidden=sheet.get("state") in ("hidden", "veryHidden"))
    relation = book.part_of(sheet)
    if relation is None or relation.external or not book.package.holds(relation.target):
        detail = f"sheet “{grid.name}” is listed and not there"
        return [DocumentPart(f"## Sheet: {grid.name}", (Caveat(CaveatKind.PARTS_SKIPPED, detail),))]
    if book.cells_left < 0:
        detail = f"sheet “{grid.name}” is not read: the sheets before it hold more than {MOST_CELLS} cells"
        return [DocumentPart(f"## Sheet: {grid.name}", (Caveat(CaveatKind.CUT_SHORT, detail),))]
    references = read_cells(book, relation.target, grid)
    read_extras(book.package, relation.target, grid, gathered, embedding)
    there = book.package.relations(relation.target)
    for what in (what for name, what in references.items() if name not in there):  # in the order of the file
        detail = f"{what} of sheet “{grid.name}” that is not in the file"
        gathered.note(CaveatKind.PARTS_SKIPPED, detail)
    grid.caveats += gathered.take_caveats()
    return grid_parts(grid, gathered.context.read.part_chars)


def open_xls(source: Source, context: ExtractionContext, nesting: NestingBudget | None = None) -> OpenedDocument:
    """Each sheet of a workbook from before 2007, in the same form; or what else bears its name."""
    if isinstance(source, Path):
        with source.open("rb") as file:
            if not file.read(8).startswith((_OLE, *_BIFF)):
                return open_misnamed(source, context)
    try:
        if isinstance(source, Path) and source.stat().st_size > context.read.max_unpacked_bytes:
            raise Unreadable(FailureReason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes} bytes")
        data = source.read_bytes() if isinstance(source, Path) else source.read()
        stream = workbook_stream(data)
        with xlrd.open_workbook(
            None, io.StringIO(), file_contents=data, formatting_info=True, ragged_rows=True
        ) as book:
            parts = [
                part for sheet in book.sheets() for part in grid_parts(_old_grid(book, sheet), context.read.part_chars)
            ]
    except (xlrd.XLRDError, CompDocError) as error:
        reason = FailureReason.ENCRYPTED if "encrypt" in str(error).lower() else FailureReason.CORRUPT
        raise Unreadable(reason, str(error)[:200]) from error
    except (*DAMAGED, struct.error) as error:
        raise classify_package_error(error) from error
    caveats = []
    if formulas := uncalculated_in(stream):
        detail = "formulas of which no value is stored: their cells are empty here; open and save it in Excel"
        caveats.append(Caveat(CaveatKind.FORMULAS_UNCALCULATED, detail, formulas))
    if objects := unread_objects_in(stream):
        detail = "text boxes, charts or form controls of an old workbook; save it as XLSX to have them read"
        caveats.append(Caveat(CaveatKind.PARTS_SKIPPED, detail, objects))
    if any(mark in data for mark in _OLD_PICTURES):
        caveats.append(
            Caveat(CaveatKind.PICTURES_UNREAD, "pictures of an old workbook; save it as XLSX to have them read")
        )
    return UnpagedDocument(parts, caveats)


def _old_grid(book: Any, sheet: Any) -> CellGrid:
    grid = CellGrid(sheet.name, hidden=bool(sheet.visibility))
    for row in range(sheet.nrows):
        for column, cell in enumerate(sheet.row(row)):
            grid.put(row, column, _old_cell(book, cell))
        if row in grid.rows and (facts := sheet.rowinfo_map.get(row)) is not None and facts.hidden:
            grid.hidden_rows.add(row)
    grid.merged = [(top, left, bottom - 1, right - 1) for top, bottom, left, right in sheet.merged_cells]
    grid.hidden_columns = [(column, column) for column, facts in sheet.colinfo_map.items() if facts.hidden]
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        if text := " ".join(note.text.split()):
            grid.comments.append(f"[{column_name(column)}{row + 1}] {text}")
    return grid


def _old_cell(book: Any, cell: Any) -> str:
    if cell.ctype in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
        return ""
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    style = book.xf_list[cell.xf_index] if cell.xf_index is not None and cell.xf_index < len(book.xf_list) else None
    found = book.format_map.get(style.format_key) if style is not None else None
    code = str(found.format_str) if found is not None else ""
    if cell.ctype == xlrd.XL_CELL_TEXT:
        return shown_text(str(cell.value), code)
    if cell.ctype == xlrd.XL_CELL_DATE and code in ("", "General"):
        code = "yyyy-mm-dd"
    return format_number(float(cell.value), code, base_1904=bool(book.datemode))
