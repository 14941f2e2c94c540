"""Relations: the tables of one head as one set of typed rows, wherever they stand; forms of one kind as a row each."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import takewhile

from pipelines.documents.facts.page_table import PageTable, TableKind, TableRow
from serve_apps.retrieval.tables.cell_values import ColumnType, TypedColumn, looks_like_year, type_column

SAME_FORM = 0.5  # share of the labels of the smaller of two forms that both have
LEAST_OF_LARGER = 0.3  # and of the labels of the larger
LEAST_SUMMED = 2  # rows that make a sum
OWN_COLUMNS = ("row", "document", "page", "section", "is_total")  # that every relation has beside its own

Value = str | Decimal | date | None
_TOTAL_WORDS = (
    r"(?:(?:grand|sub|running|net|overall)[\s-]?)?totals?|sum"
    r"|(?:gesamt|zwischen|end)?summe|gesamtbetrag|insgesamt|gesamt"
)
_TOTAL = re.compile(rf"(?:{_TOTAL_WORDS}|carried forward|balance|average|mean|σ|∑)\W*", re.IGNORECASE)
_NAMES_TOTAL = re.compile(rf"(?:^\W*(?:{_TOTAL_WORDS})\b|\b(?:{_TOTAL_WORDS})\W*$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentTables:
    """The tables of one document version."""

    document_id: str
    version_id: str
    filename: str
    tables: tuple[PageTable, ...]


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A row's place: characters [start, end) of a page."""

    document_id: str
    version_id: str
    filename: str
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation."""

    name: str  # as it is headed, unique in its relation
    type: ColumnType
    values: tuple[Value, ...]  # one a row
    shown: tuple[str, ...]  # as they are written
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """Typed rows under common headings."""

    kind: TableKind
    columns: tuple[Column, ...]
    places: tuple[tuple[RowPlace, ...], ...]  # of each row; several for a form, one a field in the order of `columns`
    sections: tuple[str, ...]  # caption above each row of a grid
    captions: tuple[str, ...]  # all that its rows and fields stand under, each once
    totals: frozenset[int]  # rows that sum others up
    # Rows that may sum others up: their numbers do, and nothing says so. What they are part of is not added up.
    doubtful: frozenset[int] = frozenset()

    @property
    def rows(self) -> int:
        """How many there are, totals among them."""
        return len(self.places)

    @property
    def filenames(self) -> tuple[str, ...]:
        """The documents of its rows, each once."""
        return tuple(dict.fromkeys(row[0].filename for row in self.places))

    def column(self, name: str) -> Column:
        """Column by its name."""
        return next(one for one in self.columns if one.name == name)


def build_relations(documents: Sequence[DocumentTables]) -> list[Relation]:
    """Grids of the same head are one relation, in the order of their pages; forms that share most labels, too."""
    grids: dict[tuple[str, ...], list[tuple[DocumentTables, PageTable]]] = defaultdict(list)
    documents = _without_copies(documents)
    for document in documents:
        for table in join_table_parts(document.tables):
            if table.kind is TableKind.GRID and table.rows and any(table.columns):
                grids[tuple(" ".join(name.casefold().split()) for name in table.columns)].append((document, table))
    found = [_grid_relation(some) for some in grids.values()]
    return found + [_form_relation(group) for group in _like_forms(documents)]


def _without_copies(documents: Sequence[DocumentTables]) -> list[DocumentTables]:
    """Documents whose tables another one has cell by cell count once."""
    once: dict[object, DocumentTables] = {}
    for document in documents:
        cells = tuple((table.kind, table.columns, tuple(row.cells for row in table.rows)) for table in document.tables)
        once.setdefault(cells, document)
    return list(once.values())


def join_table_parts(tables: Sequence[PageTable]) -> list[PageTable]:
    """A table that has no head or a row of data for it goes on from the page before, and has the head of that page."""
    found: list[PageTable] = []
    for table in sorted(tables, key=lambda one: one.kind is TableKind.FORM):
        before = found[-1] if found else None
        if before is not None and _continues_table(before, table):
            head = [TableRow(table.columns, *table.head)] if any(table.columns) else []
            found.append(replace(table, columns=before.columns, rows=(*head, *table.rows)))
        else:
            found.append(table)
    return found


def _continues_table(before: PageTable, table: PageTable) -> bool:
    """True where each number and day of the table before has one in this table's first row, head or not."""
    if not (before.kind is table.kind is TableKind.GRID and table.page == before.page + 1 and before.rows):
        return False
    headless = not any(table.columns)
    first = table.columns if not headless else table.rows[0].cells if table.rows else ()
    if len(table.columns) != len(before.columns) or len(first) != len(before.columns):
        return False
    kinds = [
        type_column([row.cells[at] for row in before.rows if at < len(row.cells)]).type
        for at in range(len(table.columns))
    ]
    typed = [(kind, cell) for kind, cell in zip(kinds, first, strict=True) if kind is not ColumnType.TEXT and cell]
    named = not headless and any(looks_like_year(cell) for cell in first)
    return bool(typed) and not named and all(type_column([cell]).type is kind for kind, cell in typed)


def _grid_relation(tables: Sequence[tuple[DocumentTables, PageTable]]) -> Relation:
    width = len(tables[0][1].columns)
    names = _unique_names(tables[0][1].columns)
    rows = [
        (RowPlace(of.document_id, of.version_id, of.filename, table.page, row.start, row.end), row)
        for of, table in tables
        for row in table.rows
    ]
    cells = [[*row.cells[:width], *[""] * (width - len(row.cells))] for _, row in rows]
    parts = [(place.version_id, at) for at, (of, table) in enumerate(tables) for place in _places_of_rows(of, table)]
    totals, doubtful = find_total_rows(cells, parts)
    versions = [place.version_id for place, _ in rows]
    columns = [
        _typed_column(name, [row[at] for row in cells], totals, versions)
        for at, name in enumerate(names)
        if name and any(row[at] for row in cells)
    ]
    places = tuple((place,) for place, _ in rows)
    sections = _sections_of_rows(tables)
    captions = tuple(dict.fromkeys(sections))
    return Relation(TableKind.GRID, tuple(columns), places, sections, captions, totals, doubtful)


def _sections_of_rows(tables: Sequence[tuple[DocumentTables, PageTable]]) -> tuple[str, ...]:
    """The caption above each row; what goes on at the top of the next page stands under that of the page before."""
    found: list[str] = []
    before: tuple[DocumentTables, PageTable] | None = None
    for of, table in tables:
        goes_on = before is not None and before[0] is of and before[1].page + 1 == table.page
        untitled = sum(1 for _ in takewhile(lambda row: not row.section, table.rows))
        found += [found[-1] if goes_on else ""] * untitled
        found += [row.section for row in table.rows[untitled:]]
        before = (of, table)
    return tuple(found)


def _places_of_rows(of: DocumentTables, table: PageTable) -> list[RowPlace]:
    return [RowPlace(of.document_id, of.version_id, of.filename, table.page, row.start, row.end) for row in table.rows]


def _like_forms(
    documents: Sequence[DocumentTables],
) -> list[list[tuple[DocumentTables, dict[str, tuple[str, RowPlace]]]]]:
    """Documents with fields, those together that share most of their labels."""
    groups: list[list[tuple[DocumentTables, dict[str, tuple[str, RowPlace]]]]] = []
    for document in documents:
        fields = _form_fields(document)
        if not fields:
            continue
        for group in groups:
            known = group[0][1]
            common = len(known.keys() & fields.keys())
            few, many = sorted((len(known), len(fields)))
            if common >= SAME_FORM * few and common >= LEAST_OF_LARGER * many:
                group.append((document, fields))
                break
        else:
            groups.append([(document, fields)])
    return groups


def _form_fields(document: DocumentTables) -> dict[str, tuple[str, RowPlace]]:
    """The fields of a document by label; what comes again under it and says something else goes by its section, too."""
    rows = [(table.page, row) for table in document.tables if table.kind is TableKind.FORM for row in table.rows]
    found: dict[str, tuple[str, RowPlace]] = {}
    for page, row in rows:
        value = row.cells[1]
        label = next((name for name in found if name.casefold() == row.cells[0].casefold()), row.cells[0])
        place = RowPlace(document.document_id, document.version_id, document.filename, page, row.start, row.end)
        if label in found and found[label][0] != value:
            if row.section and f"{row.section}: {label}" not in found:
                label = f"{row.section}: {label}"
            else:  # which of them is meant nobody can tell
                value, place = f"{found[label][0]} | {value}", found[label][1]
                found[label] = (value, place)
        found.setdefault(label, (value, place))
    return found


def _form_relation(group: Sequence[tuple[DocumentTables, dict[str, tuple[str, RowPlace]]]]) -> Relation:
    names = list(dict.fromkeys(name for _, fields in group for name in fields))
    columns = [
        _typed_column(shown, [fields[name][0] if name in fields else "" for _, fields in group])
        for name, shown in zip(names, _unique_names(names), strict=True)
    ]
    places = tuple(
        tuple(fields[name][1] if name in fields else next(iter(fields.values()))[1] for name in names)
        for _, fields in group
    )
    captions = dict.fromkeys(
        row.section
        for document, _ in group
        for table in document.tables
        if table.kind is TableKind.FORM
        for row in table.rows
    )
    return Relation(TableKind.FORM, tuple(columns), places, ("",) * len(group), tuple(captions), frozenset())


def _typed_column(name: str, cells: Sequence[str], totals: Iterable[int] = (), versions: Sequence[str] = ()) -> Column:
    """The column, its type told by the rows that are no totals; each document has its own notation of numbers and days.

    Where documents have it as different types it is text.
    """
    skipped = set(totals)
    kept = ["" if at in skipped else cell for at, cell in enumerate(cells)]
    parts: dict[str, list[int]] = defaultdict(list)
    for at, version in enumerate(versions or [""] * len(cells)):
        parts[version].append(at)
    typed: dict[str, TypedColumn] = {of: type_column([kept[at] for at in rows]) for of, rows in parts.items()}
    filled = [typed[of] for of, rows in parts.items() if any(kept[at].strip() for at in rows)]
    alike = len({(one.type, one.unit) for one in filled}) <= 1
    values: list[Value] = [None] * len(cells)
    for of, rows in parts.items():
        for at, value in zip(rows, typed[of].values, strict=True):
            values[at] = value if alike else kept[at] or None
    first = filled[0] if filled and alike else TypedColumn(ColumnType.TEXT, ())
    return Column(name, first.type, tuple(values), tuple(cells), first.unit)


def _unique_names(columns: Sequence[str]) -> list[str]:
    """Names without white space around them; one that comes again has its number behind it."""
    found: list[str] = []
    for at, name in enumerate(columns):
        plain = " ".join(name.split())
        taken = {one.casefold() for one in (*found, *OWN_COLUMNS)}
        found.append(f"{plain} ({at + 1})" if plain and plain.casefold() in taken else plain)
    return found


def find_total_rows(
    rows: Sequence[Sequence[str]], parts: Sequence[tuple[str, int]]
) -> tuple[frozenset[int], frozenset[int]]:
    """Rows that sum others up, and those that may: by their name, and by numbers that are the sums of rows before.

    A firm may be called Total: a name of more words counts where numbers agree, numbers alone only raise a doubt.

    Args:
        parts: of each row its version and its table; sums begin anew with each.
    """
    columns = [type_column([row[at] for row in rows]) for at in range(len(rows[0]) if rows else 0)]
    numeric = [column for column in columns if column.type is ColumnType.NUMBER]
    totals: set[int] = set()
    doubtful: set[int] = set()
    begin = start = top = 0
    for at, row in enumerate(rows):
        if at and parts[at] != parts[at - 1]:
            start = at
        if at and parts[at][0] != parts[at - 1][0]:
            begin = top = at
        texts = [cell.strip("*_ ") for cell, column in zip(row, columns, strict=True) if cell and column not in numeric]
        sums = [_is_column_sum(column, first, at, totals) for column in numeric for first in {begin, start, top}]
        if any(_TOTAL.fullmatch(text) for text in texts) or (
            any(sums) and (any(_NAMES_TOTAL.search(text) for text in texts) or not texts)
        ):
            totals.add(at)
            begin = at + 1
        elif any(_NAMES_TOTAL.search(text) for text in texts) or _is_sum_of_rows(
            numeric, {begin, start, top}, at, totals
        ):
            doubtful.add(at)
    return frozenset(totals), frozenset(doubtful)


def _is_sum_of_rows(columns: Sequence[TypedColumn], starts: set[int], at: int, totals: set[int]) -> bool:
    """True where each of at least two numbers of a row is the sum of those since one of the starts."""
    filled = [column for column in columns if column.values[at] is not None]
    return len(filled) > 1 and any(all(_is_column_sum(one, first, at, totals) for one in filled) for first in starts)


def _is_column_sum(column: TypedColumn, begin: int, at: int, totals: set[int]) -> bool:
    """True where a number is the sum of at least two before it that are no totals."""
    before = [column.values[row] for row in range(begin, at) if row not in totals]
    numbers = [one for one in before if isinstance(one, Decimal)]
    return len(numbers) >= LEAST_SUMMED and column.values[at] == sum(numbers) != 0
