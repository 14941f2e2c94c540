"""CSV: a table cut where it is cut the same way all along, what stands before and after it as text."""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypedDict

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.opened import (
    ExtractionContext,
    OpenedDocument,
    UnpagedDocument,
    join_blocks,
    markdown_table,
    split_text,
    storable_text,
    table_parts,
)
from pipelines.documents.extract.text.plain_text import read_text

SAMPLE_CHARS: Final = 1 << 18
MOST_COLUMNS: Final = 16_384  # as spreadsheets have it
_DELIMITERS: Final = ";,\t|"
_SEP = re.compile(r"\ufeff?sep=(.)\r?\n?", re.IGNORECASE)
_UNCUT = re.compile(r"(?<!\d)[;,|\t](?!\s)|[;|\t](?!\s)|,(?![\s\d])")
_KEPT_AS_TEXT = re.compile(r'="(.*)"', re.DOTALL)  # how spreadsheets are told to leave the zeros in front

Row = list[str]


class CsvQuoting(TypedDict, total=False):
    """Quote options that `csv.reader` is called with."""

    quoting: Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE
    escapechar: str
    doublequote: bool


QUOTED: Final[CsvQuoting] = {}
ESCAPED: Final[CsvQuoting] = {"escapechar": "\\", "doublequote": False}
UNQUOTED: Final[CsvQuoting] = {"quoting": 3}


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """A CSV dialect: the delimiter, how quotes are meant, and the number of cells in the table's rows."""

    delimiter: str
    quoting: CsvQuoting
    width: int


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows that belong together: a table with its head, or lines of text."""

    rows: Sequence[Row]
    is_table: bool


def open_csv(path: Path, context: ExtractionContext) -> OpenedDocument:
    """The tables of the file and the lines around them, in their order.

    Raises:
        Unreadable: TOO_LARGE for a field of more than `part_chars` times 100 characters (a quote that never closes),
            or more columns than a sheet has.
    """
    read = read_text(path, context)
    text, limit = storable_text(read.text), context.read.part_chars
    csv.field_size_limit(limit * 100)
    named = _SEP.match(text)
    text = text[named.end() :] if named else text
    dialect = find_dialect(text[: _whole_lines(text)], named[1] if named else None)
    try:
        rows = [[_plain_cell(cell) for cell in row] for row in _parse_rows(text, dialect)]
    except csv.Error as error:
        raise Unreadable(FailureReason.TOO_LARGE, f"not a table: {error}") from error
    if max(map(len, rows), default=0) > MOST_COLUMNS:
        raise Unreadable(FailureReason.TOO_LARGE, f"a row of more than {MOST_COLUMNS} cells")
    blocks = list(blocks_of(rows, dialect.width))
    parts = [part for block in blocks for part in _block_parts(block, limit)]
    return UnpagedDocument(join_blocks(parts, limit), (*read.caveats, *_table_caveats(blocks, dialect)))


def find_dialect(sample: str, delimiter: str | None = None) -> CsvDialect:
    """The dialect in which the most lines have the same number of cells, each of them whole (van den Burg, Nazábal
    and Sutton 2019, doi:10.1007/s10618-019-00646-y, with one cell for each type)."""
    best, best_score = CsvDialect(delimiter or ",", QUOTED, 1), 0.0
    ways = [QUOTED, *([ESCAPED] if '\\"' in sample else []), *([UNQUOTED] if '"' in sample else [])]
    for quoting, cut_at in itertools.product(ways, delimiter or _DELIMITERS):
        try:
            rows = list(_parse_rows(sample, CsvDialect(cut_at, quoting, 0)))
        except csv.Error:
            continue
        if quoting is UNQUOTED and _pairs_up(sample, cut_at):
            continue
        width, score = _width_score(rows, cut_at)
        if score > best_score:
            best, best_score = CsvDialect(cut_at, quoting, width), score
    return best


def _pairs_up(sample: str, delimiter: str) -> bool:
    """True if cells that only begin with a quote and cells that only end with one balance: lines within cells."""
    cells = [cell for line in sample.split("\n") for cell in line.split(delimiter)]
    return sum(cell.startswith('"') - cell.endswith('"') for cell in cells) == 0


def blocks_of(rows: Sequence[Row], width: int) -> Iterator[RowBlock]:
    """Lines of text before the table, the table, further tables of another width, and lines after it."""
    text: list[Row] = []
    table: list[Row] = []
    apart = begun = False
    most = max((_count_filled(row) for row in rows if len(row) == width), default=0)
    for size, group in itertools.groupby(rows, key=len):
        run = list(group)
        if size == width and not table:
            lead = sum(1 for _ in itertools.takewhile(lambda row: _is_lead(row, most), run))
            text, run = [*text, *run[:lead]], run[lead:]
        another = begun and apart and size not in (0, 1, width) and len(run) > 1 and size == _count_filled(run[0])
        if another or (run and size == width and not table):
            yield from _close_blocks(text, table)
            text, table, begun = [], run, True
        elif size:
            (table if table else text).extend(run)
        apart = size == 0
    yield from _close_blocks(text, table)


def _close_blocks(text: list[Row], table: list[Row]) -> Iterator[RowBlock]:
    if text:
        yield RowBlock(text, is_table=False)
    if table:
        size = len(table[0])
        last = max((at for at, row in enumerate(table) if len(row) > 1 or size == 1), default=0)
        yield RowBlock(table[: last + 1], is_table=True)
        if table[last + 1 :]:
            yield RowBlock(table[last + 1 :], is_table=False)


def _is_lead(row: Row, most: int) -> bool:
    """A line of a preamble that was padded to the table's width: few cells, at its left, where rows have more."""
    count = _count_filled(row)
    return count * 2 <= len(row) and all(row[:count]) and count + 1 < most


def _count_filled(row: Row) -> int:
    return sum(map(bool, row))


def _block_parts(block: RowBlock, limit: int) -> Iterator[str]:
    if block.is_table:
        yield from table_parts(markdown_table(list(block.rows)), limit)
    else:
        yield from split_text("\n".join(map(_row_line, block.rows)), limit)


def _row_line(row: Row) -> str:
    """`Balance: 12.50` of two cells."""
    cells = [cell for cell in row if cell]
    if len(cells) == 2 and not cells[0].endswith(":"):
        return f"{cells[0]}: {cells[1]}"
    return " ".join(cells) if cells and cells[0].endswith(":") else "; ".join(cells)


def _table_caveats(blocks: Sequence[RowBlock], dialect: CsvDialect) -> Iterator[Caveat]:
    if dialect.quoting is UNQUOTED:
        yield Caveat(CaveatKind.TABLE_UNSURE, "its quotes do not close; every line was taken as a row of its own")
    wider = sum(
        _count_filled(row[len(block.rows[0]) :]) > 0 for block in blocks if block.is_table for row in block.rows[1:]
    )
    if wider:
        detail = f"{wider} rows have more cells than their table's head; some cells may stand in the wrong column"
        yield Caveat(CaveatKind.TABLE_UNSURE, detail, wider)


def _parse_rows(text: str, dialect: CsvDialect) -> Iterator[Row]:
    """Cells without the space around them; a row of nothing has none."""
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter, **dialect.quoting):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            yield []
        else:
            yield [cell.strip('"') for cell in cells] if dialect.quoting is UNQUOTED else cells


def _width_score(rows: Sequence[Row], delimiter: str) -> tuple[int, float]:
    """The commonest width, and how many rows have it, each counting as far as its cells look whole."""
    sizes = Counter(len(row) for row in rows if len(row) > 1)
    best = (1, 0.0)
    for width, _ in sizes.most_common(5):
        own = [row for row in rows if len(row) == width]
        whole = sum(1 for row in own for cell in row if not _looks_uncut(cell, delimiter))
        score = whole / width * (1 - 1 / width)
        best = max(best, (width, score), key=lambda one: one[1])
    return best


def _looks_uncut(cell: str, delimiter: str) -> bool:
    """True if another delimiter was left in a cell."""
    return any(found[0] != delimiter for found in _UNCUT.finditer(cell))


def _plain_cell(cell: str) -> str:
    return found[1] if (found := _KEPT_AS_TEXT.fullmatch(cell)) else cell


def _whole_lines(text: str) -> int:
    """The offset at which a sample ends: after a line."""
    if len(text) <= SAMPLE_CHARS:
        return len(text)
    end = text.rfind("\n", 0, SAMPLE_CHARS)
    return end + 1 if end > 0 else SAMPLE_CHARS
