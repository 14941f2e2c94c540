"""A query over a relation, and its SQL: what is asked for, of which rows, in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

AS_WRITTEN = " as written"  # behind the name of a column of numbers: its cells as text


class Aggregate(StrEnum):
    """The calculation over the rows that fit."""

    SUM = "sum"
    COUNT = "count"
    AVERAGE = "average"
    HIGHEST = "highest"
    LOWEST = "lowest"
    LATEST = "latest"
    EARLIEST = "earliest"
    NONE = "none"  # the rows themselves

    @property
    def ranks(self) -> bool:
        """True where the answer is the row at one end of an order."""
        return self in (Aggregate.HIGHEST, Aggregate.LOWEST, Aggregate.LATEST, Aggregate.EARLIEST)


class Operator(StrEnum):
    """A comparison of a number or day."""

    OVER = ">"
    AT_LEAST = ">="
    UNDER = "<"
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class ValueFilter:
    """Rows whose column has one of these values, as they are written."""

    column: str
    values: tuple[str, ...]
    as_written: bool = False  # words in a column of numbers, such as `declined`


@dataclass(frozen=True, slots=True)
class RangeFilter:
    """Rows whose number or day compares so."""

    column: str
    operator: Operator
    bound: Decimal | date


Filter = ValueFilter | RangeFilter


@dataclass(frozen=True, slots=True)
class TableQuery:
    """What is asked of a relation."""

    aggregate: Aggregate
    measure: str | None = None  # column that is summed, averaged, ordered by, or shown
    shown: tuple[str, ...] = ()  # columns that tell which row it is
    filters: tuple[Filter, ...] = ()
    group: str | None = None  # column whose values are told apart
    distinct: str | None = None  # column of which each value counts once
    has_totals: bool = False  # the relation has rows that sum others up; they are left out

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs, each once."""
        named = (self.measure, *self.shown, *(one.column for one in self.filters), self.group, self.distinct)
        return tuple(dict.fromkeys(name for name in named if name))


def select_sql(query: TableQuery, table: str) -> str:
    """The query as it is run, in the SQL of DuckDB, for a reader to understand."""
    wanted, tail = _select_list(query)
    where = " and ".join(_conditions(query))
    parts = [f"select {wanted}", f"from {quoted(table)}", f"where {where}" if where else "", *tail]
    return "\n".join(part for part in parts if part)


def rows_sql(query: TableQuery, table: str) -> str:
    """The numbers of the rows that the query takes in, in the order in which it shows them."""
    where = _conditions(query)
    if query.measure and query.aggregate is not Aggregate.COUNT:
        where.append(f"{quoted(query.measure)} is not null")
    condition = f" where {' and '.join(where)}" if where else ""
    order = (
        f"{quoted(query.measure)} {_sort_direction(query.aggregate)}, row"
        if query.measure and query.aggregate.ranks
        else "row"
    )
    return f"select row from {quoted(table)}{condition} order by {order}"


def _conditions(query: TableQuery) -> list[str]:
    return [*(["not is_total"] if query.has_totals else []), *map(filter_sql, query.filters)]


def quoted(name: str) -> str:
    """A name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | Decimal | date) -> str:
    """A value of SQL."""
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case Decimal():
            return format(value, "f")
        case date():
            return f"date '{value.isoformat()}'"


def filter_sql(one: Filter) -> str:
    """A condition."""
    match one:
        case ValueFilter(column, values, as_written):
            name = quoted(column + AS_WRITTEN if as_written else column)
            return (
                f"{name} = {literal(values[0])}"
                if len(values) == 1
                else f"{name} in ({', '.join(map(literal, values))})"
            )
        case RangeFilter(column, operator, bound):
            return f"{quoted(column)} {operator} {literal(bound)}"
    assert_never(one)


def _select_list(query: TableQuery) -> tuple[str, Sequence[str]]:
    """What is selected, and the clauses behind the condition."""
    measure = quoted(query.measure) if query.measure else "*"
    match query.aggregate:
        case Aggregate.SUM | Aggregate.AVERAGE:
            wanted = f"{'sum' if query.aggregate is Aggregate.SUM else 'avg'}({measure})"
        case Aggregate.COUNT:
            wanted = f"count(distinct {quoted(query.distinct)})" if query.distinct else "count(*)"
        case Aggregate.HIGHEST | Aggregate.LOWEST | Aggregate.LATEST | Aggregate.EARLIEST if not query.group:
            shown = ", ".join(map(quoted, dict.fromkeys((*query.shown, query.measure or ""))))
            order = f"order by {measure} {_sort_direction(query.aggregate)} nulls last"
            return shown, [f"qualify {measure} = first_value({measure}) over ({order})"]
        case Aggregate.HIGHEST | Aggregate.LOWEST | Aggregate.LATEST | Aggregate.EARLIEST:
            group = quoted(query.group or "")
            order = f"order by sum({measure}) {_sort_direction(query.aggregate)} nulls last"
            first = f"qualify sum({measure}) = first_value(sum({measure})) over ({order})"
            return f"{group}, sum({measure})", [f"group by {group}", first]
        case Aggregate.NONE:
            return ", ".join(
                map(quoted, dict.fromkeys((*query.shown, *([query.measure] if query.measure else []))))
            ), []
    if query.group:
        return f"{quoted(query.group)}, {wanted}", [
            f"group by {quoted(query.group)}",
            f"order by {quoted(query.group)}",
        ]
    return wanted, []


def _sort_direction(aggregate: Aggregate) -> str:
    return "asc" if aggregate in (Aggregate.LOWEST, Aggregate.EARLIEST) else "desc"
