"""Spreadsheets of typed values under a merged title, in three formats, and the cells that a person sees in them."""

import csv
import random
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import xlsxwriter

Value = str | int | float | date

_HEADS = ("Depot", "Opened", "Staff", "Turnover", "Share", "Remark")
_REMARKS = ("", "closed on Mondays", "new roof, 2024", "lease ends", "a|b tested")
_OPEN = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.3">'
    "<office:body><office:spreadsheet>"
)
_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
_MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{_TYPE}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
)


@dataclass(frozen=True, slots=True)
class TrueSheet:
    """A file of one sheet: the title above its table, and the table as it is shown."""

    path: Path
    title: str
    rows: list[list[str]]


def write_sheets(folder: Path, seed: int) -> Iterator[TrueSheet]:
    """Twelve files, four of each format."""
    for at in range(4):
        rng = random.Random(f"{seed}/sheets/{at}")
        title = f"Depots of the {rng.choice(('northern', 'southern', 'western'))} region, {rng.randint(2015, 2026)}"
        values = [_sheet_row(rng) for _ in range(rng.randint(5, 40))]
        shown = [list(_HEADS), *([_shown(value, column) for column, value in enumerate(row)] for row in values)]
        yield TrueSheet(_write_xlsx(folder / f"sheet-{at}.xlsx", title, values), title, shown)
        yield TrueSheet(_write_ods(folder / f"sheet-{at}.ods", title, values), title, shown)
        yield TrueSheet(_write_csv(folder / f"sheet-{at}.csv", title, shown), title, shown)


def _sheet_row(rng: random.Random) -> list[Value]:
    opened = date(1990, 1, 1) + timedelta(days=rng.randint(0, 12_000))
    turnover = round(rng.uniform(100, 90_000), 2)
    name = f"{rng.choice(('Quay', 'Mill', 'Gate', 'Hill'))} {rng.randint(1, 99)}"
    return [name, opened, rng.randint(1, 400), turnover, round(rng.uniform(0, 1), 3), rng.choice(_REMARKS)]


def _shown(value: Value, column: int) -> str:
    """As its format shows a value: dates in ISO's order, two places for money, one for percent."""
    match value:
        case date():
            return value.isoformat()
        case float():
            return f"{value:,.2f}" if column == 3 else f"{100 * value:.1f}%"
        case _:
            return str(value)


def _write_xlsx(path: Path, title: str, values: Sequence[Sequence[Value]]) -> Path:
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("Depots")
    formats = [
        book.add_format({"num_format": form}) if form else None
        for form in ("", "yyyy-mm-dd", "0", "#,##0.00", "0.0%", "")
    ]
    sheet.merge_range(0, 0, 0, len(_HEADS) - 1, title)
    sheet.write_row(2, 0, _HEADS)
    for at, row in enumerate(values, 3):
        for column, value in enumerate(row):
            if isinstance(value, date):
                sheet.write_datetime(at, column, value, formats[column])
            else:
                sheet.write(at, column, value, formats[column])
    book.close()
    return path


def _write_ods(path: Path, title: str, values: Sequence[Sequence[Value]]) -> Path:
    wide = len(_HEADS)
    rows = [
        f'<table:table-cell table:number-columns-spanned="{wide}" office:value-type="string"><text:p>{escape(title)}'
        f'</text:p></table:table-cell><table:covered-table-cell table:number-columns-repeated="{wide - 1}"/>',
        f'<table:table-cell table:number-columns-repeated="{wide}"/>',
        "".join(_ods_cell(name, at) for at, name in enumerate(_HEADS)),
        *("".join(_ods_cell(value, column) for column, value in enumerate(row)) for row in values),
    ]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = f'{_OPEN}<table:table table:name="Depots">{body}</table:table></office:spreadsheet></office:body>'
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("mimetype", _TYPE)
        package.writestr("META-INF/manifest.xml", _MANIFEST)
        package.writestr("content.xml", f"{content}</office:document-content>")
    return path


def _ods_cell(value: Value, column: int) -> str:
    shown = escape(_shown(value, column))
    match value:
        case "":
            return "<table:table-cell/>"
        case date():
            kind = f'office:value-type="date" office:date-value="{value.isoformat()}"'
        case float():
            kind = f'office:value-type="{"float" if column == 3 else "percentage"}" office:value="{value}"'
        case int():
            kind = f'office:value-type="float" office:value="{value}"'
        case _:
            kind = 'office:value-type="string"'
    return f"<table:table-cell {kind}><text:p>{shown}</text:p></table:table-cell>"


def _write_csv(path: Path, title: str, shown: Sequence[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([title])
        writer.writerow([])
        writer.writerows(shown)
    return path
