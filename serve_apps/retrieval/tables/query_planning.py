"""Plans the query that a question asks of a relation; none where its wording is not plain enough to be sure."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables.cell_values import ColumnType
from serve_apps.retrieval.tables.column_kinds import IS_CODE, RATE, has_unit, is_year, measures_of, own_dates, units_of
from serve_apps.retrieval.tables.question_cues import NumberBound, Period, Place, QuestionCues
from serve_apps.retrieval.tables.relation import OWN_COLUMNS, Column, Relation
from serve_apps.retrieval.tables.schema_links import (
    GENERIC,
    ColumnLink,
    SchemaLinks,
    ValueLink,
    WordMeanings,
    find_links,
)
from serve_apps.retrieval.tables.table_query import Aggregate, Filter, Operator, RangeFilter, TableQuery, ValueFilter
from serve_apps.retrieval.text.words import STOP, content_words

_AMOUNT = re.compile(
    r"\b(?:amount|total|sum|value|price|cost|paid|due|betrag|summe|wert|preis|kosten)\b", re.IGNORECASE
)
_QUANTITY = re.compile(r"\b(?:quantity|qty|count|units|pieces|stock|number|menge|anzahl|stück)\b", re.IGNORECASE)
_PERIODS = re.compile(r"\b(?:month|period|quarter|monat|quartal)\b", re.IGNORECASE)
MOST_NOUNS = 2  # words by which rows are called
MOST_KEYS = 2  # columns that tell which row a value is of


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query that accounts for all of a question, and by how much of its table."""

    relation: Relation
    query: TableQuery
    links: int  # columns, values and bounds of the relation that the question names


class _Unplain(Exception):
    """The question does not say plainly what it asks of this relation."""


def plan_query(question: str, cues: QuestionCues, relation: Relation, meanings: WordMeanings) -> QueryPlan | None:
    """The plan of a question over one relation.

    A word that nothing accounts for may be a condition: what it leaves out would be counted. So there is none then.
    """
    links = find_links(question, cues, relation, meanings)
    if links.unlinked or not cues.is_plain:
        return None
    try:
        planner = _Planner(cues, relation, links, meanings.about)
        query = planner.query()
        planner.refuse_doubts(query)
    except _Unplain:
        return None
    named = len(links.columns) + len(links.values) + len(cues.comparisons) + len(cues.periods)
    return QueryPlan(relation, replace(query, has_totals=bool(relation.totals)), named)


@dataclass(frozen=True, slots=True)
class _Planner:
    cues: QuestionCues
    relation: Relation
    links: SchemaLinks
    about: Collection[str]

    def query(self) -> TableQuery:
        filters: list[Filter] = [self._value_filter(one) for one in self.links.values]
        columns = list(self.links.columns)
        for period in self.cues.periods:
            if headed := self._headed_by(period):
                columns = [ColumnLink(headed, 1.0, ()), *columns]
            else:
                filters += self._period_filters(period)
        bounded = [self._bounded_column(one, columns) for one in self.cues.comparisons]
        filters += [
            RangeFilter(column.name, one.operator, one.bound)
            for column, one in zip(bounded, self.cues.comparisons, strict=True)
        ]
        group = self._choose_group(columns)
        match self.cues.aggregate:
            case Aggregate.COUNT:
                return self._plan_count(columns, filters, group)
            case Aggregate.SUM if self.cues.lists and bounded:  # `which have a total over …` is no sum
                return self._plan_rows(columns, bounded, filters, group)
            case Aggregate.SUM | Aggregate.AVERAGE:
                measure = self._choose_measure(columns, bounded)
                return TableQuery(self.cues.aggregate, measure.name, filters=tuple(filters), group=group)
            case Aggregate.HIGHEST | Aggregate.LOWEST | Aggregate.LATEST | Aggregate.EARLIEST if group:
                raise _Unplain
            case Aggregate.HIGHEST | Aggregate.LOWEST:
                return self._plan_ranking(columns, bounded, filters)
            case Aggregate.LATEST | Aggregate.EARLIEST:
                return self._plan_latest(columns, filters)
            case Aggregate.NONE:
                return self._plan_rows(columns, bounded, filters, group)

    def refuse_doubts(self, query: TableQuery) -> None:
        """Raises where a column is named that the query does not use, or where what it adds up is in doubt."""
        used = set(query.columns)
        for link in self.links.columns:
            if link.at and link.column.name not in used and not self._says_little(link) and not self._names_rows(link):
                raise _Unplain
        if self.relation.doubtful and query.aggregate in (Aggregate.SUM, Aggregate.AVERAGE, Aggregate.COUNT):
            raise _Unplain
        ranged = [one.column for one in query.filters if isinstance(one, RangeFilter)]
        added = [query.measure] if query.measure and query.aggregate in (Aggregate.SUM, Aggregate.AVERAGE) else []
        if any(map(self._has_vague_numbers, {*ranged, *added})):
            raise _Unplain

    def _has_vague_numbers(self, name: str) -> bool:
        """True for a column in which something with figures stands that is no number or day: `ca. 300`."""
        column = self.relation.column(name)
        return any(
            value is None and any(char.isdigit() for char in cell) and at not in self.relation.totals
            for at, (value, cell) in enumerate(zip(column.values, column.shown, strict=True))
        )

    def _names_rows(self, link: ColumnLink) -> bool:
        """True for the noun that rows are called by: what is counted, or all of what the first column names."""
        if link.column.type is not ColumnType.TEXT:
            return False
        if self.cues.aggregate is Aggregate.COUNT and link.first == min(one.first for one in self.links.columns):
            return True  # it is what is counted
        before = self.links.tokens[link.at[0] - 1].text.casefold() if link.at[0] else ""
        is_key = link.column.name in self._key_columns() and len(set(link.column.shown)) == len(link.column.shown)
        return is_key or before in ("all", "every", "each", "any", "a", "an")

    def _value_filter(self, link: ValueLink) -> ValueFilter:
        """Codes in a column of numbers compare as numbers, words as they are written."""
        found = next((one for one in self.relation.columns if one.name == link.column), None)
        if found is None or found.type is not ColumnType.NUMBER:
            return ValueFilter(link.column, link.values)
        numbers = {str(found.values[at]) for at, cell in enumerate(found.shown) if cell in link.values} - {"None"}
        return ValueFilter(link.column, tuple(sorted(numbers)) or link.values, as_written=not numbers)

    def _headed_by(self, period: Period) -> Column | None:
        """The column of numbers whose heading says the period, as `2023` and `Q3 2023` do."""
        words = set(content_words(period.shown))
        fits = [
            one
            for one in self.relation.columns
            if one.type is ColumnType.NUMBER and words and words <= set(content_words(one.name))
        ]
        if len(fits) > 1:
            named = {link.column.name for link in self.links.columns}
            fits = [one for one in fits if one.name in named] or [min(fits, key=lambda one: len(one.name))]
        return fits[0] if fits else None

    def _period_filters(self, period: Period) -> list[Filter]:
        linked = [one.column for one in self.links.columns]
        named = [one for one in linked if one.type is ColumnType.DATE]
        years = [one for one in linked if one.type is ColumnType.NUMBER and is_year(one)]
        if years and not named:
            return _year_filters(years[0], period)
        dates = named or [one for one in self.relation.columns if one.type is ColumnType.DATE]
        dates = own_dates(dates) if not named else dates
        if len(dates) > 1:
            raise _Unplain  # of which of them the period is nobody says
        if dates:
            found: list[Filter] = []
            if period.first:
                found.append(RangeFilter(dates[0].name, Operator.AT_LEAST, period.first))
            if period.stop:
                found.append(RangeFilter(dates[0].name, Operator.UNDER, period.stop))
            return found
        for column in self.relation.columns:
            if column.type is ColumnType.NUMBER and is_year(column):
                return _year_filters(column, period)
            if column.type is ColumnType.TEXT and _PERIODS.search(column.name):
                words = content_words(period.shown)
                values = dict.fromkeys(cell for cell in column.shown if set(words) <= set(content_words(cell)))
                if values:
                    return [ValueFilter(column.name, tuple(values))]
        said = set(content_words(period.shown))
        files = [name for name in self.relation.filenames if said <= set(content_words(name))]
        if 0 < len(files) < len(self.relation.filenames):
            return [ValueFilter("document", tuple(files))]
        if said <= set(self.about):
            return []  # all of the table is of that time
        raise _Unplain

    def _bounded_column(self, one: NumberBound, columns: Sequence[ColumnLink]) -> Column:
        """The numbers that a bound is of: those named next to it, those of its unit, or the amounts."""
        measures = measures_of(self.relation)
        numbers = [link for link in columns if link.column in measures]
        if numbers:
            column = min(numbers, key=lambda link: self._bound_distance(link, one.place)).column
            if one.unit and units_of(column) and not has_unit(column, one.unit):
                raise _Unplain  # `over 2 tonnes` of a column in kilos
            return column
        with_unit = [column for column in measures if one.unit and has_unit(column, one.unit)]
        return with_unit[0] if len(with_unit) == 1 else self._default_measure()

    def _bound_distance(self, link: ColumnLink, place: Place) -> int:
        """Characters between a bound and the nearest word of a column's name; one that is implied stands beside it."""
        starts = [self.links.tokens[at].start for at in link.at]
        return min((abs(start - place[0]) for start in starts), default=0)

    def _choose_measure(self, columns: Sequence[ColumnLink], bounded: Sequence[Column]) -> Column:
        measures = measures_of(self.relation)
        numbers = [one for one in columns if one.column in measures]
        if not numbers and any(one.column.type is ColumnType.NUMBER and one.at for one in columns):
            raise _Unplain  # codes and years are not added up
        free = [one for one in numbers if one.column not in bounded] or numbers
        if not free:
            return self._default_measure()
        best = free[0]
        if any(one.at == best.at and one.share == best.share and one.at for one in free[1:]):
            raise _Unplain  # several columns are named by the same words
        return best.column

    def _default_measure(self) -> Column:
        """The only measure, or the only one that is headed as an amount."""
        fits = measures_of(self.relation)
        if len(fits) > 1:
            fits = [one for one in fits if _AMOUNT.search(one.name)]
        if len(fits) != 1:
            raise _Unplain
        return fits[0]

    def _choose_group(self, columns: Sequence[ColumnLink]) -> str | None:
        if self.cues.group is None:
            return None
        named = [one.column for one in columns if one.at and self.links.tokens[one.at[0]].start == self.cues.group]
        if not named:
            values = {self.links.tokens[at].start for one in self.links.values for at in one.at}
            if self.cues.group in values:
                return None  # `made by Ada`
            raise _Unplain
        # What each row has of its own is no group: `average passengers per crossing` of a table of crossings.
        own = self.cues.aggregate is Aggregate.AVERAGE and len(set(named[0].shown)) == len(named[0].shown)
        return None if own else named[0].name

    def _first_named(self, columns: Sequence[ColumnLink]) -> ColumnLink | None:
        """The column of the noun that comes first."""
        said = [one for one in columns if one.at]
        return min(said, key=lambda one: one.first, default=None)

    def _key_columns(self, *, besides: Collection[str] = ()) -> tuple[str, ...]:
        """The columns that tell which row it is: the first of texts or codes; the document of a form."""
        if self.relation.kind is TableKind.FORM:
            return ("document",)
        own = [one for one in self.relation.columns if one.name not in besides]
        texts = [one.name for one in own if one.type is ColumnType.TEXT or IS_CODE.search(one.name)]
        return tuple((texts or [one.name for one in own])[:1])

    def _plan_count(self, columns: Sequence[ColumnLink], filters: Sequence[Filter], group: str | None) -> TableQuery:
        asked = self._first_named([one for one in columns if not self._is_modifier(one)])
        filtered = {one.column for one in filters}
        if asked and asked.column in measures_of(self.relation) and asked.column.name not in filtered:
            # `how many wins` asks for a number that is there
            kind = Aggregate.SUM if self.cues.sums or not self.links.values else Aggregate.NONE
            shown = self._key_columns() if kind is Aggregate.NONE else ()
            return TableQuery(kind, asked.column.name, shown, tuple(filters), group)
        if self.links.units:
            raise _Unplain  # how many hours or kilos is a value, and no count of rows
        if self.cues.sums and self.links.values and (quantity := self._quantity_column()):
            return TableQuery(Aggregate.SUM, quantity.name, (), tuple(filters), group)
        distinct = self._distinct_column(asked, {*filtered, group})
        if not (filters or distinct or group or (self._noun_is_known(columns) and self._asks_nothing_else())):
            raise _Unplain
        return TableQuery(Aggregate.COUNT, None, self._key_columns(), tuple(filters), group, distinct)

    def _distinct_column(self, asked: ColumnLink | None, besides: Collection[str | None]) -> str | None:
        """The column whose values are counted, each once; a form is one, whatever is counted."""
        if asked is None or asked.column.type is not ColumnType.TEXT or asked.column.name in besides:
            return None
        if self.cues.distinct:
            return asked.column.name
        is_title = set(content_words(asked.column.name)) <= set(self.about)
        return None if is_title or self.relation.kind is TableKind.FORM else asked.column.name

    def _quantity_column(self) -> Column | None:
        """The only column that counts pieces; None where there is none, or several."""
        fits = [one for one in measures_of(self.relation) if _QUANTITY.search(one.name)]
        return fits[0] if len(fits) == 1 else None

    def _says_little(self, link: ColumnLink) -> bool:
        """True where the words that name a column say as well what all of the table is about, or nearly nothing."""
        return all(at in self.links.units or self.links.tokens[at].word in self.links.known for at in link.at)

    def _is_modifier(self, link: ColumnLink) -> bool:
        """True where another noun follows, as in `grant applications`: a column of grants is not counted there."""
        tokens, after = self.links.tokens, (link.at[-1] + 1 if link.at else len(self.links.tokens))
        if after >= len(tokens) or tokens[after].text.casefold() in STOP or tokens[after].word in GENERIC:
            return False
        return tokens[after].start - tokens[after - 1].end == 1

    def _asks_nothing_else(self) -> bool:
        """True for a count of all rows: a noun or two, and nothing that may be a condition."""
        cued = self.cues.places
        said = [
            one
            for one in self.links.tokens
            if one.text.casefold() not in STOP and one.word not in GENERIC
            if not any(start < one.end and one.start < end for start, end in cued)
        ]
        return len(said) <= MOST_NOUNS and not any(one.text[:1].isupper() and one.start for one in said)

    def _noun_is_known(self, columns: Sequence[ColumnLink]) -> bool:
        """True where what is counted is what the table is about, and not just any of its words."""
        said = {one.word for one in self.links.tokens}
        return bool(columns) or bool(said & set(self.about))

    def _plan_ranking(
        self, columns: Sequence[ColumnLink], bounded: Sequence[Column], filters: Sequence[Filter]
    ) -> TableQuery:
        asked = self._first_named(columns)
        if self.cues.most and not self.links.numbers:
            raise _Unplain  # who has the most orders: rows are counted there, and nothing is added up
        measure = self._choose_measure(columns, bounded)
        implied = [one.column.name for one in columns if not one.at and one.column.type is ColumnType.TEXT][:1]
        if asked is None or asked.column == measure:
            keys = tuple(implied) or self._key_columns(besides=(measure.name,))
            return TableQuery(self.cues.aggregate, measure.name, keys, tuple(filters))
        shown = asked.column.name
        cells = [cell for at, cell in enumerate(self.relation.column(shown).shown) if at not in self.relation.totals]
        repeated = len(set(cells)) < len(cells)
        group = shown if repeated and (self.cues.sums or self.cues.most) else None
        return TableQuery(self.cues.aggregate, measure.name, (*implied, shown), tuple(filters), group)

    def _plan_latest(self, columns: Sequence[ColumnLink], filters: Sequence[Filter]) -> TableQuery:
        named = [one.column for one in columns if one.column.type is ColumnType.DATE and one.at]
        ordered = named or own_dates([one for one in self.relation.columns if one.type is ColumnType.DATE])
        ordered = ordered or [one for one in self.relation.columns if is_year(one)]
        if len(ordered) != 1:
            raise _Unplain
        said = [one.column.name for one in columns if one.column != ordered[0]]
        shown = tuple(dict.fromkeys((*self._key_columns(besides=(ordered[0].name,)), *said)))
        return TableQuery(self.cues.aggregate, ordered[0].name, shown, tuple(filters))

    def _plan_rows(
        self, columns: Sequence[ColumnLink], bounded: Sequence[Column], filters: Sequence[Filter], group: str | None
    ) -> TableQuery:
        """The rows that fit, or what stands in them under the column that is asked for.

        Where neither a bound nor a period shows that rows are meant, texts say as much as cells do: then all of the
        question has to be of the table.
        """
        named = all(one.whole for one in self.links.values) and not any(one.is_near for one in columns)
        plain = named and self.cues.asks
        if not filters or not (bounded or self.cues.periods or group or plain):
            raise _Unplain
        filtered = {one.column for one in filters}
        asked = [one.column for one in columns if one.column.name not in filtered]
        if self.cues.much and not any(one.type is ColumnType.NUMBER for one in asked):
            asked = [self._default_measure()]
        if self.cues.much and asked[0].type is ColumnType.NUMBER and (group or not RATE.search(asked[0].name)):
            return TableQuery(Aggregate.SUM, asked[0].name, (), tuple(filters), group)
        keys = tuple(one for one in self._key_columns() if one not in filtered or not self.links.values)
        if self.cues.lists and (bounded or self.cues.periods or not asked):
            if filtered <= set(OWN_COLUMNS):
                raise _Unplain
            shown = dict.fromkeys(
                (*(one.name for one in asked[:1]), *self._key_columns(), *(one.name for one in bounded))
            )
            return TableQuery(Aggregate.NONE, None, tuple(shown), tuple(filters))
        links = [one for one in columns if one.column.name not in filtered]
        sure = bounded or self.cues.periods or group or not links or links[0].share == 1
        if not asked or not sure or any(one.at == links[0].at and one.share == links[0].share for one in links[1:]):
            raise _Unplain
        # `what is the species and who is the inspector` asks for both.
        also = [one.column.name for one in links[1:] if one.share == 1 and one.at][: MOST_KEYS - 1]
        return TableQuery(Aggregate.NONE, asked[0].name, (*keys[:MOST_KEYS], *also), tuple(filters))


def _year_filters(column: Column, period: Period) -> list[Filter]:
    """A period of whole years as bounds of a column of years; raises _Unplain of a shorter one."""
    ends = [day for day in (period.first, period.stop) if day is not None]
    if any((day.month, day.day) != (1, 1) for day in ends):
        raise _Unplain
    found: list[Filter] = []
    if period.first:
        found.append(RangeFilter(column.name, Operator.AT_LEAST, Decimal(period.first.year)))
    if period.stop:
        last = (period.stop - timedelta(days=1)).year
        found.append(RangeFilter(column.name, Operator.AT_MOST, Decimal(last)))
    return found
