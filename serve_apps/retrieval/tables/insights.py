"""Insights: plain statements about a table's measures, each with the query that shows it and the rows it is about."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Any, Final

from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables.calculation import format_number
from serve_apps.retrieval.tables.cell_values import ColumnType
from serve_apps.retrieval.tables.column_kinds import IS_CODE, RATE, is_year, measures_of, own_dates
from serve_apps.retrieval.tables.relation import Column, Relation
from serve_apps.retrieval.tables.sandboxed_sql import run_queries
from serve_apps.retrieval.tables.table_query import quoted

LEAST_ROWS: Final = 3  # of which something can be said to stand out
LEAST_SPREAD: Final = 6  # rows from which on their spread tells what is far from them
FAR: Final = Decimal("3.5")  # robust z-score (Iglewicz and Hoaglin, 1993)
NORMAL: Final = "0.6745"  # the median absolute deviation of a normal distribution in standard deviations
MOST_MEASURES: Final = 5  # of a table
MOST_TIED: Final = 3  # rows that share an end
MOST_FAR: Final = 5  # rows that are named as far from the others
ADDITIVE_UNITS_BUT: Final = frozenset({"%", "°C", "°F"})  # what is in these is never added up
# Headings of what each row has of its own, and no rows have together.
NOT_ADDED: Final = re.compile(
    r"\b(?:ages?|alter|temp(?:erature|eratur)?s?|scores?|ratings?|grades?|noten?|levels?|ranks?|rang|speeds?|density"
    r"|ratio|share|anteil|index|heights?|h\u00f6he|depths?|tiefe|latitude|longitude|elevation|ph|voltage|pressure"
    r"|humidity|median|mean|mittel(?:wert)?|min(?:imum)?|max(?:imum)?|balance|saldo)\b",
    re.IGNORECASE,
)


class InsightKind(StrEnum):
    """The form of a statement."""

    LARGEST = "largest"
    SMALLEST = "smallest"
    SHARE = "share"
    CHANGE = "change"
    OUTLIER = "outlier"


@dataclass(frozen=True, slots=True)
class Insight:
    """A statement and the query that shows it; `rows` are those of the relation that it is about."""

    kind: InsightKind
    measure: str
    text: str
    sql: str
    rows: tuple[int, ...]


def find_insights(name: str, relation: Relation) -> tuple[list[Insight], list[str]]:
    """What stands out in a table, and why nothing is said of it or of a column.

    Raises BadQuery: it takes too long.
    """
    count = relation.rows - len(relation.totals)
    measures = [one for one in measures_of(relation) if _filled(relation, one) >= LEAST_ROWS]
    if count < LEAST_ROWS:
        return [], [f"Of {count} rows nothing can be said to stand out; {LEAST_ROWS} are needed."]
    if not measures:
        return [], ["No column of numbers measures something in three rows or more."]
    notes = []
    if relation.doubtful:
        notes.append("Some rows may sum others up, and nothing says so: no shares and no sums over periods are said.")
    if len(measures) > MOST_MEASURES:
        notes.append(f"Only the first {MOST_MEASURES} of {len(measures)} columns of numbers are looked at.")
    writers = [_MeasureInsights(name, relation, one) for one in measures[:MOST_MEASURES]]
    asked = [(writer, kind, sql) for writer in writers for kind, sql in writer.statements()]
    found = run_queries({name: relation}, [sql for _, _, sql in asked])
    said = [writer.tell(kind, sql, rows) for (writer, kind, sql), rows in zip(asked, found, strict=True)]
    return [one for one in said if one is not None], notes


def _filled(relation: Relation, column: Column) -> int:
    return sum(value is not None for at, value in enumerate(column.values) if at not in relation.totals)


@dataclass(frozen=True, slots=True)
class _MeasureInsights:
    """The statements about one column of numbers."""

    table: str
    relation: Relation
    column: Column

    def statements(self) -> list[tuple[InsightKind, str]]:
        """The queries, in the order in which a reader wants to know."""
        measure, source = quoted(self.column.name), self._source()
        columns = ["row", *map(quoted, self._keys()), measure]
        shown = ", ".join(columns)
        found = [
            (InsightKind.LARGEST, f"select {shown} {source} qualify {measure} = max({measure}) over () order by row"),
            (InsightKind.SMALLEST, f"select {shown} {source} qualify {measure} = min({measure}) over () order by row"),
        ]
        if self._is_additive() and min(self._numbers()) >= 0 and sum(self._numbers()) > 0:
            whole = f"sum({measure}) over ()"
            share = f"round(100 * {measure} / {whole}, 1) as share, {whole} as total, count(*) over () as counted"
            first = f"qualify row_number() over (order by {measure} desc, row) = 1"
            found.append((InsightKind.SHARE, f"select {shown}, {share} {source} {first}"))
        if period := self._period():
            ends = f"qualify {quoted(period)} in (min({quoted(period)}) over (), max({quoted(period)}) over ())"
            groups = f"and {quoted(period)} is not null group by {quoted(period)} {ends} order by {quoted(period)}"
            found.append(
                (InsightKind.CHANGE, f"select list(row), {quoted(period)}, sum({measure}), count(*) {source} {groups}")
            )
        if len(self._numbers()) >= LEAST_SPREAD:
            found.append((InsightKind.OUTLIER, self._outliers_sql(columns, measure)))
        return found

    def tell(self, kind: InsightKind, sql: str, rows: Sequence[tuple[Any, ...]]) -> Insight | None:
        """The statement that a query's rows make; None where they make none."""
        match kind:
            case InsightKind.LARGEST | InsightKind.SMALLEST:
                return self._tell_end(kind, sql, rows)
            case InsightKind.SHARE:
                row, *_, value, share, total, count = rows[0]
                said = f"{self._name_of(row)} has {_percent(Decimal(str(share)))} of all {self.column.name}: "
                told = f"{said}{self._shown(value)} of {self._shown(total)}, the sum of {count} rows."
                return self._insight(kind, told, sql, [row])
            case InsightKind.CHANGE:
                return self._tell_change(sql, rows)
            case InsightKind.OUTLIER:
                if not rows:
                    return None
                named = ", ".join(f"{self._name_of(row[0])} ({self._shown(row[-2])})" for row in rows)
                far = "is far from the others" if len(rows) == 1 else "are far from the others"
                return self._insight(kind, f"{self.column.name}: {named} {far}.", sql, [row[0] for row in rows])

    def _tell_end(self, kind: InsightKind, sql: str, rows: Sequence[tuple[Any, ...]]) -> Insight | None:
        if not rows or len(rows) > MOST_TIED:
            return None  # what many share does not stand out
        named = ", ".join(self._name_of(row[0]) for row in rows)
        text = f"The {kind} {self.column.name} is {self._shown(rows[0][-1])}: {named}."
        return self._insight(kind, text, sql, [row[0] for row in rows])

    def _tell_change(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> Insight | None:
        if len(rows) != 2 or (not self._is_additive() and any(row[3] > 1 for row in rows)):
            return None
        (first_rows, first, before, _), (last_rows, last, after, _) = rows
        change = Decimal(str(after)) - Decimal(str(before))
        sign = "+" if change > 0 else ""
        share = f", {sign}{_percent(100 * change / abs(Decimal(str(before))))}" if before else ""
        text = (
            f"{self.column.name} went from {self._shown(before)} ({first}) to {self._shown(after)} ({last}): "
            f"{sign}{self._shown(change)}{share}."
        )
        return self._insight(InsightKind.CHANGE, text, sql, [*first_rows, *last_rows])

    def _outliers_sql(self, shown: Sequence[str], measure: str) -> str:
        # A column may be called as one of these queries is: each name says whose it is.
        own = f"{quoted(self.table)}."
        number, named = f"{own}{measure}", ", ".join(f"{own}{one}" for one in shown)
        score = f"{NORMAL} * ({number} - middle.median) / spread.mad"
        return (
            f"with middle as (select median({measure}) as median {self._source()}), "
            f"spread as (select median(abs({number} - middle.median)) as mad {self._source('middle')}) "
            f"select {named}, {score} as z {self._source('middle', 'spread')} "
            f"and spread.mad > 0 and abs({score}) > {FAR} order by abs({score}) desc, {own}row limit {MOST_FAR}"
        )

    def _source(self, *others: str) -> str:
        tables = ", ".join((quoted(self.table), *others))
        own = f"{quoted(self.table)}." if others else ""
        return f"from {tables} where not {own}is_total and {own}{quoted(self.column.name)} is not null"

    def _insight(self, kind: InsightKind, text: str, sql: str, rows: Sequence[int]) -> Insight:
        return Insight(kind, self.column.name, text, sql, tuple(rows))

    def _numbers(self) -> list[Decimal]:
        return [
            one
            for at, one in enumerate(self.column.values)
            if isinstance(one, Decimal) and at not in self.relation.totals
        ]

    def _is_additive(self) -> bool:
        rate = (
            RATE.search(self.column.name)
            or NOT_ADDED.search(self.column.name)
            or self.column.unit in ADDITIVE_UNITS_BUT
        )
        return not rate and not self.relation.doubtful

    def _keys(self) -> list[str]:
        """Columns that tell which row it is: the first of texts or codes, and the period."""
        if self.relation.kind is TableKind.FORM:
            return ["document"]
        own = [one for one in self.relation.columns if one.name != self.column.name]
        keys = [one.name for one in own if one.type is ColumnType.TEXT or IS_CODE.search(one.name)][:1]
        return list(dict.fromkeys([*keys, *([period] if (period := self._period()) else [])]))

    def _period(self) -> str | None:
        """The column of days or years, where there is just one."""
        days = own_dates([one for one in self.relation.columns if one.type is ColumnType.DATE])
        years = [one for one in self.relation.columns if one.type is ColumnType.NUMBER and is_year(one)]
        found = days or years
        return found[0].name if len(found) == 1 else None

    def _name_of(self, row: int) -> str:
        if self.relation.kind is TableKind.FORM:
            return self.relation.places[row][0].filename
        cells = [self.relation.column(name).shown[row] for name in self._keys()]
        return " ".join(cell for cell in cells if cell) or f"row {row + 1}"

    def _shown(self, value: Any) -> str:
        return format_number(Decimal(str(value)), self.column)


def _percent(value: Decimal) -> str:
    return f"{value.quantize(Decimal('0.1'), ROUND_HALF_UP):f} %"
