"""Plans the query that a question asks of a relation; none where its wording is not plain enough to be sure."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables.cell_values import ColumnType, looks_like_year
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

_CODES = re.compile(r"(?:\b|_)(?:no|nr|num|number|id|code|key|zip|plz|phone|fax|index|rank|#)\b|#", re.IGNORECASE)
_AMOUNT = re.compile(
    r"\b(?:amount|total|sum|value|price|cost|paid|due|betrag|summe|wert|preis|kosten)\b", re.IGNORECASE
)
_RATE = re.compile(r"\b(?:price|rate|per|each|unit|average|preis|je)\b|%", re.IGNORECASE)  # what is never added up
_QUANTITY = re.compile(r"\b(?:quantity|qty|count|units|pieces|stock|number|menge|anzahl|stück)\b", re.IGNORECASE)
_YEAR_NAMES = re.compile(r"\b(?:year|jahr)\b", re.IGNORECASE)
_PERIODS = re.compile(r"\b(?:month|period|quarter|monat|quartal)\b", re.IGNORECASE)
MOST_KEYS = 2  # columns that tell which row a value is of


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query and how much of the question it accounts for."""

    relation: Relation
    query: TableQuery
    share: float  # of the question's content words
    links: int  # columns, values and bounds of the relation that the question names


class _Unplain(Exception):
    """The question does not say plainly what it asks of this relation."""


def plan_query(question: str, cues: QuestionCues, relation: Relation, meanings: WordMeanings) -> QueryPlan | None:
    """The plan of a question over one relation.

    A word that nothing accounts for may be a condition: what it leaves out would be counted. So there is none then.
    """
    links = find_links(question, cues, relation, meanings)
    if links.unlinked:
        return None
    try:
        query = _Planner(cues, relation, links, meanings.about).query()
    except _Unplain:
        return None
    named = len(links.columns) + len(links.values) + len(cues.comparisons) + len(cues.periods)
    return QueryPlan(relation, replace(query, has_totals=bool(relation.totals)), links.share, named)


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
        group = self._group(columns)
        match self.cues.aggregate:
            case Aggregate.COUNT:
                return self._count(columns, filters, group)
            case Aggregate.SUM if self.cues.lists and bounded:  # `which have a total over …` is no sum
                return self._rows(columns, bounded, filters, group)
            case Aggregate.SUM | Aggregate.AVERAGE:
                measure = self._measure(columns, bounded)
                return TableQuery(self.cues.aggregate, measure.name, filters=tuple(filters), group=group)
            case Aggregate.HIGHEST | Aggregate.LOWEST:
                return self._ranked(columns, bounded, filters)
            case Aggregate.LATEST | Aggregate.EARLIEST:
                return self._latest(columns, filters)
            case Aggregate.NONE:
                return self._rows(columns, bounded, filters, group)

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
        years = [one for one in linked if one.type is ColumnType.NUMBER and _is_year(one)]
        if years and not named:
            return _year_filters(years[0], period)
        dates = named or [one for one in self.relation.columns if one.type is ColumnType.DATE]
        if dates:
            found: list[Filter] = []
            if period.first:
                found.append(RangeFilter(dates[0].name, Operator.AT_LEAST, period.first))
            if period.stop:
                found.append(RangeFilter(dates[0].name, Operator.UNDER, period.stop))
            return found
        for column in self.relation.columns:
            if column.type is ColumnType.NUMBER and _is_year(column):
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
        measures = self._measures()
        numbers = [link for link in columns if link.column in measures]
        if numbers:
            return min(numbers, key=lambda link: self._distance(link, one.place)).column
        with_unit = [
            column
            for column in self._measures()
            if one.unit and one.unit in (column.unit.casefold(), *content_words(column.name))
        ]
        return with_unit[0] if len(with_unit) == 1 else self._default_measure()

    def _distance(self, link: ColumnLink, place: Place) -> int:
        """Characters between a bound and the nearest word of a column's name; one that is implied stands beside it."""
        starts = [self.links.tokens[at].start for at in link.at]
        return min((abs(start - place[0]) for start in starts), default=0)

    def _measure(self, columns: Sequence[ColumnLink], bounded: Sequence[Column]) -> Column:
        numbers = [one for one in columns if one.column.type is ColumnType.NUMBER]
        free = [one for one in numbers if one.column not in bounded] or numbers
        if not free:
            spoken_for = {*self._filtered(), self._asked_name(columns), self._group(columns)}
            if any(one.at and one.column.name not in spoken_for and not self._is_common(one) for one in columns):
                raise _Unplain  # what it asks for is a column, and no number
            return self._default_measure()
        best = free[0]
        if any(one.at == best.at and one.share == best.share and one.at for one in free[1:]):
            raise _Unplain  # several columns are named by the same words
        return best.column

    def _filtered(self) -> set[str]:
        """Columns whose values or days the question names."""
        dates = [one.name for one in self.relation.columns if one.type is ColumnType.DATE] if self.cues.periods else []
        return {*(one.column for one in self.links.values), *dates}

    def _asked_name(self, columns: Sequence[ColumnLink]) -> str | None:
        asked = self._asked(columns)
        return asked.column.name if asked and (self.cues.lists or self.cues.aggregate.ranks) else None

    def _measures(self) -> list[Column]:
        """Columns of numbers that measure something: no codes, no years."""
        return [
            one
            for one in self.relation.columns
            if one.type is ColumnType.NUMBER and not _CODES.search(one.name) and not _is_year(one)
            if not (one is self.relation.columns[0] and _numbers_rows(one))
        ]

    def _default_measure(self) -> Column:
        """The only measure, or the only one that is headed as an amount, or the last of these."""
        fits = self._measures()
        if len(fits) > 1:
            fits = [one for one in fits if _AMOUNT.search(one.name)]
        if not fits:
            raise _Unplain
        return fits[-1]

    def _group(self, columns: Sequence[ColumnLink]) -> str | None:
        if self.cues.group is None:
            return None
        named = [one.column for one in columns if one.at and self.links.tokens[one.at[0]].start == self.cues.group]
        # What each row has of its own is no group: `passengers per crossing` of a table of crossings.
        return next((one.name for one in named if len(set(one.shown)) < len(one.shown)), None)

    def _asked(self, columns: Sequence[ColumnLink]) -> ColumnLink | None:
        """The column of the noun that comes first."""
        said = [one for one in columns if one.at]
        return min(said, key=lambda one: one.first, default=None)

    def _keys(self, *, besides: Collection[str] = ()) -> tuple[str, ...]:
        """The columns that tell which row it is: the first of texts or codes; the document of a form."""
        if self.relation.kind is TableKind.FORM:
            return ("document",)
        own = [one for one in self.relation.columns if one.name not in besides]
        texts = [one.name for one in own if one.type is ColumnType.TEXT or _CODES.search(one.name)]
        return tuple((texts or [one.name for one in own])[:1])

    def _count(self, columns: Sequence[ColumnLink], filters: Sequence[Filter], group: str | None) -> TableQuery:
        asked = self._asked([one for one in columns if not self._modifies(one)])
        filtered = {one.column for one in filters}
        if asked and asked.column in self._measures() and asked.column.name not in filtered:
            # `how many wins` asks for a number that is there
            kind = Aggregate.SUM if self.cues.sums or not self.links.values else Aggregate.NONE
            shown = self._keys() if kind is Aggregate.NONE else ()
            return TableQuery(kind, asked.column.name, shown, tuple(filters), group)
        if self.links.units:
            raise _Unplain  # how many hours or kilos is a value, and no count of rows
        if self.cues.sums and self.links.values and (quantity := self._quantity()):
            return TableQuery(Aggregate.SUM, quantity.name, (), tuple(filters), group)
        distinct = self._distinct(asked, {*filtered, group})
        if not (filters or distinct or group or self._noun_is_known(columns)):
            raise _Unplain
        return TableQuery(Aggregate.COUNT, None, self._keys(), tuple(filters), group, distinct)

    def _distinct(self, asked: ColumnLink | None, besides: Collection[str | None]) -> str | None:
        """The column whose values are counted, each once; a form is one, whatever is counted."""
        if asked is None or asked.column.type is not ColumnType.TEXT or asked.column.name in besides:
            return None
        if self.cues.distinct:
            return asked.column.name
        is_title = set(content_words(asked.column.name)) <= set(self.about)
        return None if is_title or self.relation.kind is TableKind.FORM else asked.column.name

    def _quantity(self) -> Column | None:
        """The only column that counts pieces; None where there is none, or several."""
        fits = [one for one in self._measures() if _QUANTITY.search(one.name)]
        return fits[0] if len(fits) == 1 else None

    def _is_common(self, link: ColumnLink) -> bool:
        """True where the words that name a column say as well what all of the table is about, or nearly nothing."""
        return all(self.links.tokens[at].word in {*self.about, *GENERIC} for at in link.at)

    def _modifies(self, link: ColumnLink) -> bool:
        """True where another noun follows, as in `grant applications`: a column of grants is not counted there."""
        tokens, after = self.links.tokens, (link.at[-1] + 1 if link.at else len(self.links.tokens))
        if after >= len(tokens) or tokens[after].text.casefold() in STOP or tokens[after].word in GENERIC:
            return False
        return tokens[after].start - tokens[after - 1].end == 1

    def _noun_is_known(self, columns: Sequence[ColumnLink]) -> bool:
        """True where what is counted is what the table is about, and not just any of its words."""
        said = {one.word for one in self.links.tokens}
        return bool(columns) or bool(said & set(self.about))

    def _ranked(
        self, columns: Sequence[ColumnLink], bounded: Sequence[Column], filters: Sequence[Filter]
    ) -> TableQuery:
        asked = self._asked(columns)
        measure = self._measure(columns, bounded)
        implied = [one.column.name for one in columns if not one.at and one.column.type is ColumnType.TEXT][:1]
        if asked is None or asked.column == measure:
            keys = tuple(implied) or self._keys(besides=(measure.name,))
            return TableQuery(self.cues.aggregate, measure.name, keys, tuple(filters))
        shown = asked.column.name
        cells = [cell for at, cell in enumerate(self.relation.column(shown).shown) if at not in self.relation.totals]
        repeated = len(set(cells)) < len(cells)
        group = shown if repeated and (self.cues.sums or self.cues.most) else None
        return TableQuery(self.cues.aggregate, measure.name, (*implied, shown), tuple(filters), group)

    def _latest(self, columns: Sequence[ColumnLink], filters: Sequence[Filter]) -> TableQuery:
        ordered = [one.column for one in columns if one.column.type is ColumnType.DATE]
        ordered += [one for one in self.relation.columns if one.type is ColumnType.DATE or _is_year(one)]
        if not ordered:
            raise _Unplain
        said = [one.column.name for one in columns if one.column != ordered[0]]
        shown = tuple(dict.fromkeys((*self._keys(besides=(ordered[0].name,)), *said)))
        return TableQuery(self.cues.aggregate, ordered[0].name, shown, tuple(filters))

    def _rows(
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
        if self.cues.much and asked[0].type is ColumnType.NUMBER and (group or not _RATE.search(asked[0].name)):
            return TableQuery(Aggregate.SUM, asked[0].name, (), tuple(filters), group)
        keys = tuple(one for one in self._keys() if one not in filtered or not self.links.values)
        if self.cues.lists and (bounded or self.cues.periods or not asked):
            if filtered <= set(OWN_COLUMNS):
                raise _Unplain
            shown = dict.fromkeys((*(one.name for one in asked[:1]), *self._keys(), *(one.name for one in bounded)))
            return TableQuery(Aggregate.NONE, None, tuple(shown), tuple(filters))
        links = [one for one in columns if one.column.name not in filtered]
        sure = bounded or self.cues.periods or group or not links or links[0].share == 1
        if not asked or not sure or any(one.at == links[0].at and one.share == links[0].share for one in links[1:]):
            raise _Unplain
        # `what is the species and who is the inspector` asks for both.
        also = [one.column.name for one in links[1:] if one.share == 1 and one.at][: MOST_KEYS - 1]
        return TableQuery(Aggregate.NONE, asked[0].name, (*keys[:MOST_KEYS], *also), tuple(filters))


def _numbers_rows(column: Column) -> bool:
    """True for whole numbers of which none comes twice: they number the rows."""
    numbers = [one for one in column.values if isinstance(one, Decimal)]
    return (
        len(numbers) > 1
        and len(set(numbers)) == len(numbers)
        and all(one == one.to_integral_value() for one in numbers)
    )


def _year_filters(column: Column, period: Period) -> list[Filter]:
    """A period of whole years as bounds of a column of years."""
    found: list[Filter] = []
    if period.first:
        found.append(RangeFilter(column.name, Operator.AT_LEAST, Decimal(period.first.year)))
    if period.stop:
        last = (period.stop - timedelta(days=1)).year
        found.append(RangeFilter(column.name, Operator.AT_MOST, Decimal(last)))
    return found


def _is_year(column: Column) -> bool:
    filled = [cell for cell in column.shown if cell]
    return bool(filled) and (_YEAR_NAMES.search(column.name) is not None or all(map(looks_like_year, filled)))
