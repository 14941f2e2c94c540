"""Tables as records: the grids of a document, with what stands above them, cell by cell with their places."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import PageTable, TableKind, TableRow
from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import TextPlace
from serve_apps.retrieval.tables.cell_values import EMPTY, looks_like_year
from serve_apps.retrieval.tables.relation import find_total_rows, join_table_parts

MOST_ROWS: Final = 2_000
MOST_HEADS: Final = 3  # rows that may head a table
LONGEST_CAPTION: Final = 100  # characters of a line above a table that is its caption


@dataclass(frozen=True, slots=True)
class RecordTable:
    """A table as records: a candidate a cell, None where the cell is empty."""

    title: str  # what stands above it
    columns: tuple[str, ...]
    rows: tuple[tuple[FieldCandidate | None, ...], ...]
    captions: tuple[FieldCandidate | None, ...]  # of each row

    def cells(self, column: int) -> list[str]:
        """The filled cells of a column."""
        return [cell.text for row in self.rows if (cell := row[column]) is not None]

    def variants(self) -> Iterator["RecordTable"]:
        """The table, and what it is where its heading goes on over the first rows, or is one of them alone."""
        yield self
        heads = list(self.columns)
        for count in range(1, min(MOST_HEADS, len(self.rows) - 1)):
            row = self.rows[count - 1]
            own = tuple("" if cell is None else cell.text for cell in row)
            heads = [f"{head} {cell}".strip() for head, cell in zip(heads, own, strict=True)]
            for columns in (tuple(heads), own):
                yield replace(self, columns=columns, rows=self.rows[count:], captions=self.captions[count:])


def find_record_tables(pages: Sequence[Page]) -> list[RecordTable]:
    """The grids of a document in order; one that goes on over pages is one, rows that sum others up are left out."""
    tables = [one for page in pages for one in find_tables(page) if one.kind is TableKind.GRID and one.rows]
    joined: list[list[PageTable]] = []
    for one in join_table_parts(tables):
        before = joined[-1][-1] if joined else None
        goes_on = before is not None and before.columns == one.columns and one.page - before.page in (0, 1)
        if (
            goes_on
            and before is not None
            and (before.page != one.page or before.rows[-1].section == one.rows[0].section)
        ):
            joined[-1].append(one)
        else:
            joined.append([one])
    texts = {page.number: page.text for page in pages}
    return [_record_table(parts, texts) for parts in joined]


def _record_table(parts: Sequence[PageTable], texts: Mapping[int, str]) -> RecordTable:
    columns = parts[0].columns
    width = len(columns)
    rows = [(part.page, row) for part in parts for row in part.rows][:MOST_ROWS]
    cells = [[*row.cells[:width], *[""] * (width - len(row.cells))] for _, row in rows]
    totals, _ = find_total_rows(cells, [("", 0)] * len(cells)) if cells else (frozenset(), frozenset())
    beside = [tuple(row[at] for row in cells if row[at])[:200] for at in range(width)]
    named = _named_years(columns)
    kept = [one for number, one in enumerate(rows) if number not in totals]
    made = tuple(_row_candidates(page, row, texts.get(page, ""), named, beside) for page, row in kept)
    captions = tuple(_caption(page, row, texts.get(page, "")) for page, row in kept)
    title = " ".join(dict.fromkeys(row.section for _, row in rows if row.section))
    return RecordTable(title, named, made, captions)


def _row_candidates(
    page: int, row: TableRow, text: str, named: Sequence[str], beside: Sequence[tuple[str, ...]]
) -> tuple[FieldCandidate | None, ...]:
    found: list[FieldCandidate | None] = [None] * len(named)
    for at, (cell, place) in enumerate(zip(row.cells[: len(named)], _cell_places(text, row), strict=False)):
        if place is not None and cell.strip().casefold() not in EMPTY:
            found[at] = FieldCandidate(cell, TextPlace(page, *place), named[at], row.section, beside=beside[at])
    return tuple(found)


def _named_years(columns: Sequence[str]) -> tuple[str, ...]:
    """Headings that are years with what a person calls the latest of them and the one before."""
    years = sorted({one.strip() for one in columns if looks_like_year(one)}, reverse=True)
    if len(years) < 2:
        return tuple(columns)
    said = {years[0]: "current latest this year", years[1]: "prior previous last year"}
    return tuple(f"{one} {said.get(one.strip(), '')}".strip() for one in columns)


def _cell_places(text: str, row: TableRow) -> Iterator[tuple[int, int] | None]:
    at = row.start
    for cell in row.cells:
        found = text.find(cell.replace("|", r"\|"), at, row.end) if cell else -1
        found = text.find(cell, at, row.end) if cell and found < 0 else found
        if found < 0:
            yield (row.start, row.end) if cell else None
        else:
            yield found, found + len(cell)
            at = found + len(cell)


def _caption(page: int, row: TableRow, text: str) -> FieldCandidate | None:
    """The caption that a table has, or the line above it."""
    said = row.section
    if not said:
        lines = [line for line in text[: row.start].split("\n") if line.strip()]
        above = [line.strip(" #*") for line in lines if "|" not in line]
        said = above[-1] if above and len(above[-1]) <= LONGEST_CAPTION else ""
    at = text.rfind(said, 0, row.start) if said else -1
    return FieldCandidate(said, TextPlace(page, at, at + len(said)), "section") if at >= 0 else None
