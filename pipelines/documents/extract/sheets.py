"""Spreadsheets: every sheet as a Markdown table of values; long ones in parts with the head repeated."""

import datetime
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import xlrd
from xlrd.compdoc import CompDocError

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.extract.opened import Context, Opened, Parts, markdown_table, table_parts
from pipelines.documents.extract.package import DAMAGED, check_package, damaged

_WHOLE_BYTES = 30 * 2**20  # up to here a workbook is opened with its comments, above it row by row


def open_xlsx(path: Path, context: Context) -> Opened:
    """Each sheet begins a part of its own with `## Sheet: name`."""
    check_package(path, context.read.max_unpacked_bytes)
    try:
        with path.open("rb") as file:  # by its path the library would refuse one whose name has no suffix: an upload's
            with zipfile.ZipFile(file) as archive:
                size = sum(part.file_size for part in archive.infolist())
            book = openpyxl.load_workbook(file, data_only=True, keep_links=False, read_only=size > _WHOLE_BYTES)
            parts: list[str] = []
            for sheet in book.worksheets:
                parts += _sheet_parts(sheet, context.read.part_chars)
            book.close()
    except DAMAGED as error:
        raise damaged(error) from error
    return Parts(parts)


def open_xls(path: Path, context: Context) -> Opened:
    """Each sheet of a workbook from before 2007, in the same form."""
    try:
        with xlrd.open_workbook(str(path)) as book:
            parts: list[str] = []
            for sheet in book.sheets():
                rows = [[_old_cell(cell, book.datemode) for cell in row] for row in sheet.get_rows()]
                parts += _table_parts(sheet.name, rows, context.read.part_chars)
    except (xlrd.XLRDError, CompDocError) as error:
        reason = Reason.ENCRYPTED if "encrypt" in str(error).lower() else Reason.CORRUPT
        raise Unreadable(reason, str(error)[:200]) from error
    except (*DAMAGED, struct.error) as error:
        raise damaged(error) from error
    return Parts(parts)


def _old_cell(cell: Any, datemode: int) -> str:
    if cell.ctype == xlrd.XL_CELL_DATE:
        return show(xlrd.xldate_as_datetime(cell.value, datemode))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return show(bool(cell.value))
    return str(xlrd.error_text_from_code.get(cell.value, "")) if cell.ctype == xlrd.XL_CELL_ERROR else show(cell.value)


def _sheet_parts(sheet: Any, limit: int) -> list[str]:
    rows, comments = [], []
    for row in sheet.iter_rows():
        rows.append([show(cell.value, str(cell.number_format or "")) for cell in row])
        comments += [f"[{cell.coordinate}] {text}" for cell in row if (text := _comment(cell))]
    parts = _table_parts(sheet.title, rows, limit)
    if comments:
        parts[-1:] = _with_comments(parts[-1], comments, limit)
    return parts


def _table_parts(name: str, rows: list[list[str]], limit: int) -> list[str]:
    title = f"## Sheet: {name}"
    table = markdown_table(_trimmed(rows))
    return table_parts(table, limit, title) if table else [title]


def _with_comments(part: str, comments: list[str], limit: int) -> Iterator[str]:
    for line in ("Comments:", *comments):
        if len(part) + len(line) + 2 > limit:
            yield part
            part = line[:limit]
        else:
            part += ("\n\n" if line == "Comments:" else "\n") + line
    yield part


def _comment(cell: Any) -> str:
    """The comment at a cell; cells of a workbook that is read row by row have none."""
    comment = getattr(cell, "comment", None)
    return " ".join(comment.text.split()) if comment is not None else ""


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Without the rows and columns that hold nothing."""
    filled = [row for row in rows if any(row)]
    used = sorted({column for row in filled for column, value in enumerate(row) if value})
    return [[row[column] if column < len(row) else "" for column in used] for row in filled]


def show(value: object, number_format: str = "") -> str:
    """A cell's value as a person reads it: whole numbers whole, percentages as such, midnight left out."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float) and number_format.endswith("%"):
        return f"{value * 100:.10g}%"
    if isinstance(value, float):
        return f"{value:.15g}" if abs(value) < 1e15 or value % 1 else str(int(value))
    if isinstance(value, datetime.datetime):
        return str(value.date()) if value.time() == datetime.time() else value.isoformat(" ", "seconds")
    return str(value)
