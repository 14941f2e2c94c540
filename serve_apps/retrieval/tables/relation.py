"""Relations: the tables of one head as one set of typed rows, wherever they stand; forms of one kind as a row each."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from pipelines.documents.facts.page_table import PageTable, TableKind, TableRow
from serve_apps.retrieval.tables.cell_values import ColumnType, TypedColumn, type_column

SAME_FORM = 0.5  # share of the labels of the smaller of two forms that both have
LEAST_SUMMED = 2  # rows that make a sum
OWN_COLUMNS = ("row", "document", "page", "section", "is_total")  # that every relation has beside its own

Value = str | Decimal | date | None
_TOTAL = re.compile(
    r"(?:(?:grand|sub|running|net|overall)[\s-]?)?totals?\b|sum\b|(?:gesamt|zwischen|end)?summe\b|insgesamt\b|gesamt\b"
    r"|all (?:rows|regions|items)\b|σ|∑",
    re.IGNORECASE,
)


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
    for document in documents:
        for table in _joined_parts(document.tables):
            if table.kind is TableKind.GRID and table.rows:
                grids[tuple(" ".join(name.casefold().split()) for name in table.columns)].append((document, table))
    found = [_grid_relation(some) for some in grids.values()]
    return found + [_form_relation(group) for group in _like_forms(documents)]


def _joined_parts(tables: Sequence[PageTable]) -> list[PageTable]:
    """A table whose head is a row of data goes on from the page before, and has the head of that page."""
    found: list[PageTable] = []
    for table in tables:
        before = found[-1] if found else None
        if before is not None and _goes_on(before, table):
            head = TableRow(table.columns, *table.head)
            found.append(replace(table, columns=before.columns, rows=(head, *table.rows)))
        else:
            found.append(table)
    return found


def _goes_on(before: PageTable, table: PageTable) -> bool:
    """True where each number and day of the table before has one in this table's head, which names nothing then."""
    if not (before.kind is table.kind is TableKind.GRID and table.page == before.page + 1 and before.rows):
        return False
    if len(table.columns) != len(before.columns):
        return False
    kinds = [
        type_column([row.cells[at] for row in before.rows if at < len(row.cells)]).type
        for at in range(len(table.columns))
    ]
    typed = [
        (kind, cell) for kind, cell in zip(kinds, table.columns, strict=True) if kind is not ColumnType.TEXT and cell
    ]
    return bool(typed) and all(type_column([cell]).type is kind for kind, cell in typed)


def _grid_relation(tables: Sequence[tuple[DocumentTables, PageTable]]) -> Relation:
    width = len(tables[0][1].columns)
    names = _unique_names(tables[0][1].columns)
    rows = [
        (RowPlace(of.document_id, of.version_id, of.filename, table.page, row.start, row.end), row)
        for of, table in tables
        for row in table.rows
    ]
    cells = [[*row.cells[:width], *[""] * (width - len(row.cells))] for _, row in rows]
    totals = _total_rows(cells, [place.version_id for place, _ in rows])
    columns = [
        _typed(name, [row[at] for row in cells], totals)
        for at, name in enumerate(names)
        if name and any(row[at] for row in cells)
    ]
    places = tuple((place,) for place, _ in rows)
    sections = tuple(row.section for _, row in rows)
    return Relation(TableKind.GRID, tuple(columns), places, sections, tuple(dict.fromkeys(sections)), totals)


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
            if len(known.keys() & fields.keys()) >= SAME_FORM * min(len(known), len(fields)):
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
        if label in found and found[label][0] != value and row.section:
            label = f"{row.section}: {label}"
        found.setdefault(label, (value, place))
    return found


def _form_relation(group: Sequence[tuple[DocumentTables, dict[str, tuple[str, RowPlace]]]]) -> Relation:
    names = list(dict.fromkeys(name for _, fields in group for name in fields))
    columns = [
        _typed(shown, [fields[name][0] if name in fields else "" for _, fields in group])
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


def _typed(name: str, cells: Sequence[str], totals: Iterable[int] = ()) -> Column:
    """The column, its type told by the rows that are no totals."""
    skipped = set(totals)
    typed: TypedColumn = type_column(["" if at in skipped else cell for at, cell in enumerate(cells)])
    return Column(name, typed.type, typed.values, tuple(cells), typed.unit)


def _unique_names(columns: Sequence[str]) -> list[str]:
    """Names without white space around them; one that comes again has its number behind it."""
    found: list[str] = []
    for at, name in enumerate(columns):
        plain = " ".join(name.split())
        taken = {one.casefold() for one in (*found, *OWN_COLUMNS)}
        found.append(f"{plain} ({at + 1})" if plain and plain.casefold() in taken else plain)
    return found


def _total_rows(rows: Sequence[Sequence[str]], versions: Sequence[str]) -> frozenset[int]:
    """Rows that sum others up: by their name, or as each of their numbers is the sum of the rows before them."""
    columns = [type_column([row[at] for row in rows]) for at in range(len(rows[0]) if rows else 0)]
    numeric = [column for column in columns if column.type is ColumnType.NUMBER]
    found: set[int] = set()
    begin = 0
    for at, row in enumerate(rows):
        if at and versions[at] != versions[at - 1]:
            begin = at
        first = next((cell for cell in row if cell), "")
        numbers = [number for column in numeric if isinstance(number := column.values[at], Decimal)]
        if any(_TOTAL.match(cell.strip("*_ ")) for cell in row[:2]):
            found.add(at)
        elif not first or len(numbers) < LEAST_SUMMED or at - begin < LEAST_SUMMED:
            continue
        elif all(_sums_up(column, begin, at, found) for column in numeric):
            found.add(at)
        if at in found:
            begin = at + 1
    return frozenset(found)


def _sums_up(column: TypedColumn, begin: int, at: int, totals: set[int]) -> bool:
    before = [column.values[row] for row in range(begin, at) if row not in totals]
    numbers = [one for one in before if isinstance(one, Decimal)]
    return bool(numbers) and column.values[at] == sum(numbers) != 0
