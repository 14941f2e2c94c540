"""Calculations: the query that a question asks of tables, run, with the rows that it takes in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables.cell_values import EMPTY, ColumnType, decimal_mark, looks_like_year
from serve_apps.retrieval.tables.chart import Chart, ChartColumn, chart_of
from serve_apps.retrieval.tables.query_planning import QueryPlan
from serve_apps.retrieval.tables.relation import Column, Relation, RowPlace, Value
from serve_apps.retrieval.tables.sandboxed_sql import BadQuery, run_queries
from serve_apps.retrieval.tables.table_query import (
    Aggregate,
    Filter,
    RangeFilter,
    TableQuery,
    ValueFilter,
    rows_sql,
    select_sql,
)

MOST_LINES = 20  # of an answer; a longer list ends with how many more there are
MOST_CITED = 10  # rows of a sum or a count
_OPERATORS = {">": "over", ">=": "at least", "<": "under", "<=": "at most"}
_EXACT = Context(prec=50)
_MORE_DIGITS = 2  # of an average behind those of its column


@dataclass(frozen=True, slots=True)
class CalculatedLine:
    """A line of a calculated answer and the rows that it is from."""

    text: str
    places: tuple[RowPlace, ...]


@dataclass(frozen=True, slots=True)
class Calculation:
    """A query over the tables of documents and what it gave."""

    sql: str  # as it was run
    table: str  # the name that the query has for the rows
    columns: tuple[str, ...]  # of the table
    rows: int  # that the query takes in
    totals_left_out: int  # rows of the table that sum others up
    documents: tuple[str, ...]  # filenames of the rows taken in
    lines: tuple[CalculatedLine, ...]
    document_ids: tuple[str, ...]  # of the rows taken in
    notes: tuple[str, ...] = ()  # what a reader has to know beside it: what is left out, and how much more there is
    chart: Chart | None = None  # where its lines are a measure over a label

    def with_unseen(self, documents: int) -> "Calculation":
        """Itself, with a line that so many documents are not in it."""
        count = _count_in_words(documents, "document")
        told = f"Not in this: {count} indexed before tables were kept; `aos generations build` adds them."
        return replace(self, notes=(*self.notes, told))


def calculate(plan: QueryPlan) -> Calculation | None:
    """Run a plan; None where no row fits, or the rows that fit have no value.

    Raises BadQuery: it takes too long, or a number is too large.
    """
    relation, query, name = plan.relation, plan.query, table_name(plan.relation)
    # Where nothing fits, what was looked at and fits but for the bounds shows that it is nothing.
    looked_at = replace(query, filters=tuple(one for one in query.filters if isinstance(one, ValueFilter)))
    whatever = replace(query, measure=None, aggregate=Aggregate.NONE)
    statements = [select_sql(query, name), *(rows_sql(one, name) for one in (query, looked_at, whatever))]
    found, *numbers = run_queries({name: relation}, statements)
    rows, others, fitting = ([int(one) for (one,) in some] for some in numbers)
    shown = rows
    if not rows and query.aggregate is Aggregate.COUNT and not query.group:
        shown = others
    if not found or not shown or (found[0][-1] is None and not query.group):
        return None
    left_out = _count_unread(relation, query, set(fitting) - set(rows))
    notes = [f"{_count_in_words(left_out, 'row')} left out: {query.measure} is no number there"] if left_out else []
    try:
        lines, more = _answer_lines(relation, query, found, shown)
    except ArithmeticError as error:
        raise BadQuery("its numbers are too large to be added up exactly") from error
    if more:
        notes.append(f"and {more} more")
    return Calculation(
        select_sql(query, name),
        name,
        tuple(one.name for one in relation.columns),
        len(rows),
        len(relation.totals),
        tuple(dict.fromkeys(relation.places[row][0].filename for row in shown)),
        tuple(lines),
        tuple(dict.fromkeys(relation.places[row][0].document_id for row in shown)),
        tuple(notes),
        _chart_lines(relation, query, found, shown),
    )


def query_value(plan: QueryPlan) -> Decimal:
    """The one number that a sum gives. Raises BadQuery: it takes too long."""
    name = table_name(plan.relation)
    (rows,) = run_queries({name: plan.relation}, [select_sql(plan.query, name)])
    return Decimal(str(rows[0][0]))


def _chart_lines(
    relation: Relation, query: TableQuery, found: Sequence[tuple[Any, ...]], rows: Sequence[int]
) -> Chart | None:
    """The lines of groups, or of the rows that are listed, as a chart."""
    if query.group:
        measure = query.measure or "Number"
        unit = relation.column(measure).unit if query.measure else ""
        label = relation.column(query.group)
        columns = [ChartColumn(label.name, label.type), ChartColumn(measure, "number", unit)]
        return chart_of(columns, [(name, float(value)) for name, value in found if None not in (name, value)])
    if query.aggregate is not Aggregate.NONE:
        return None
    known = {one.name: one for one in relation.columns}
    named = [known[name] for name in dict.fromkeys((*query.shown, query.measure or "")) if name in known]
    listed = [[_plain_value(one.values[row]) for one in named] for row in rows]
    return chart_of([ChartColumn(one.name, one.type, one.unit) for one in named], listed)


def _plain_value(value: Value) -> str | float | None:
    match value:
        case Decimal():
            return float(value)
        case date():
            return value.isoformat()
    return value


def _count_unread(relation: Relation, query: TableQuery, rows: set[int]) -> int:
    """Rows that fit, and in which something stands that is no number where one is asked for."""
    if query.measure is None or query.aggregate is Aggregate.NONE:
        return 0
    shown = relation.column(query.measure).shown
    return sum(shown[row].strip().casefold() not in EMPTY for row in rows)


def table_name(relation: Relation) -> str:
    """The file of a relation's rows, and how many more there are."""
    first, *others = relation.filenames
    return f"{first} and {len(others)} more" if others else first


def _answer_lines(
    relation: Relation, query: TableQuery, found: Sequence[tuple[Any, ...]], rows: Sequence[int]
) -> tuple[list[CalculatedLine], int]:
    """The lines of an answer, and how many more there are."""
    if query.group:
        return _group_lines(relation, query, found, rows)
    if query.aggregate is Aggregate.NONE or query.aggregate.ranks:
        fits = _first_rows(relation, query, rows) if query.aggregate.ranks else rows
        return [_describe_row(relation, query, row) for row in fits[:MOST_LINES]], max(0, len(fits) - MOST_LINES)
    value = _exact_average(relation, query, rows) if query.aggregate is Aggregate.AVERAGE else found[0][0]
    text = f"{_describe_result(relation, query)}: {_shown_result(relation, query, value)}"
    if query.aggregate is not Aggregate.COUNT:
        files = len({relation.places[row][0].document_id for row in rows})
        of = f" of {_count_in_words(files, 'document')}" if files > 1 else ""
        text += f" ({_count_in_words(len(rows), 'row')}{of})"
    return [CalculatedLine(text, _cited_places(relation, query, rows[:MOST_CITED]))], 0


def _exact_average(relation: Relation, query: TableQuery, rows: Sequence[int]) -> Decimal:
    """The mean with all of its digits, which that of SQL has not."""
    values = relation.column(query.measure or "").values
    numbers = [value for row in rows if isinstance(value := values[row], Decimal)]
    return _EXACT.divide(sum(numbers, Decimal(0)), Decimal(len(numbers)))


def _first_rows(relation: Relation, query: TableQuery, rows: Sequence[int]) -> list[int]:
    """The row at the end of the order, and those that stand there with it."""
    values = relation.column(query.measure or "").values
    return [row for row in rows if values[row] == values[rows[0]]]


def _count_in_words(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _group_lines(
    relation: Relation, query: TableQuery, found: Sequence[tuple[Any, ...]], rows: Sequence[int]
) -> tuple[list[CalculatedLine], int]:
    lines = []
    group = relation.column(query.group or "")
    told = [(name, value) for name, value in found if value is not None]
    for name, value in told[:MOST_LINES]:
        own = [row for row in rows if group.values[row] == name]
        result = _exact_average(relation, query, own) if query.aggregate is Aggregate.AVERAGE else value
        said = f"{name if name is not None else '–'}: {_shown_result(relation, query, result)}"
        text = f"{group.name} {said}" if query.aggregate.ranks else said
        lines.append(CalculatedLine(text, _cited_places(relation, query, own[:MOST_CITED])))
    return lines, max(0, len(told) - MOST_LINES)


def _describe_row(relation: Relation, query: TableQuery, row: int) -> CalculatedLine:
    """What is shown of a row, each value under its heading."""
    names = dict.fromkeys((*query.shown, *([query.measure] if query.measure else [])))
    parts = [f"{name}: {_cell_as_shown(relation, name, row)}" for name in names if _cell_as_shown(relation, name, row)]
    return CalculatedLine(", ".join(parts), _cited_places(relation, query, [row]))


def _cell_as_shown(relation: Relation, name: str, row: int) -> str:
    match name:
        case "document":
            return relation.places[row][0].filename
        case "section":
            return relation.sections[row]
        case _:
            return relation.column(name).shown[row]


def _cited_places(relation: Relation, query: TableQuery, rows: Sequence[int]) -> tuple[RowPlace, ...]:
    """Of a grid the rows; of a form the fields that the query is about."""
    if relation.kind is TableKind.GRID:
        return tuple(relation.places[row][0] for row in rows)
    names = [one.name for one in relation.columns]
    used = [names.index(name) for name in query.columns if name in names] or [0]
    return tuple(dict.fromkeys(relation.places[row][at] for row in rows for at in used))


def _describe_result(relation: Relation, query: TableQuery) -> str:
    """What was calculated, in words."""
    match query.aggregate:
        case Aggregate.COUNT:
            said = f"Number of different {query.distinct}" if query.distinct else f"Number of {_noun_of_rows(relation)}"
        case Aggregate.AVERAGE:
            said = f"Average {query.measure}"
        case _:
            said = query.measure or ""
            said = said if said.casefold().startswith("total") else f"Total {said}"
    conditions = ", ".join(map(_describe_filter, query.filters))
    return f"{said} ({conditions})" if conditions else said


def _noun_of_rows(relation: Relation) -> str:
    return "documents" if relation.kind is TableKind.FORM else "rows"


def _describe_filter(one: Filter) -> str:
    match one:
        case ValueFilter(column, values):
            return f"{column} is {' or '.join(values)}"
        case RangeFilter(column, operator, bound):
            is_year = re.search(r"year|jahr", column, re.IGNORECASE) and looks_like_year(str(bound))
            said = bound.isoformat() if isinstance(bound, date) else str(bound) if is_year else f"{bound:,}"
            return f"{column} {_OPERATORS[operator]} {said}"


def _shown_result(relation: Relation, query: TableQuery, value: Any) -> str:
    if query.aggregate is Aggregate.COUNT or not query.measure:
        return str(value)
    column = relation.column(query.measure)
    digits = max((-int(one.as_tuple().exponent) for one in column.values if isinstance(one, Decimal)), default=0)
    number = Decimal(str(value))
    if query.aggregate is Aggregate.AVERAGE:
        number = number.quantize(Decimal(1).scaleb(-(max(digits, 0) + _MORE_DIGITS)), ROUND_HALF_UP, _EXACT)
    return format_number(number, column)


def format_number(number: Decimal, column: Column) -> str:
    """A number as the cells of a column are written: its grouping, its decimal mark and its unit."""
    cells = [cell for cell in column.shown if cell]
    mark = decimal_mark(cells)
    grouped = any(any(f"{sep}" in cell for sep in ("," if mark == "." else ".", " ", "'", "\u00a0")) for cell in cells)
    text = f"{number:,f}" if grouped or abs(number) >= 1_000_000 else f"{number:f}"
    if mark == ",":
        text = text.translate(str.maketrans(",.", ".,"))
    if not column.unit or column.type is not ColumnType.NUMBER:
        return text
    before = any(cell.strip("(-+ ").startswith(column.unit) for cell in cells)
    gap = "" if column.unit in "$€£¥₹%" else " "
    return f"{column.unit}{gap}{text}" if before else f"{text}{gap}{column.unit}"
