"""Comparisons of two values: growth between periods, the larger of two, their difference; each a plain question."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum

from serve_apps.retrieval.tables.calculation import (
    CalculatedLine,
    Calculation,
    calculate,
    format_number,
    query_value,
    table_name,
)
from serve_apps.retrieval.tables.chart import ChartColumn, chart_of
from serve_apps.retrieval.tables.column_kinds import RATE
from serve_apps.retrieval.tables.query_planning import QueryPlan
from serve_apps.retrieval.tables.table_query import Aggregate

_PERIOD = r"(?:q[1-4] (?:of )?)?(?:[a-z]+ )?(?:19|20)\d{2}(?:-\d\d)?"
_END = r"\s*[?.!]*\s*"
_SPAN = rf"(?:from|between) (?P<first>{_PERIOD}) (?:to|and) (?P<last>{_PERIOD})"
_LATER = rf"(?:,? (?P<later>(?:in|for) {_PERIOD}))?{_END}"
_PAIR = r"(?P<first>.+?),? or (?P<last>.+?)"
_MORE = r"(?P<how>higher|larger|bigger|greater|more|lower|smaller|less|fewer)"
_HAVE = r"(?:is|was|were|had|has|have|got|paid|made|earned|spent|sold|received|used)"
_MOVE = r"(?:grow|rise|fall|drop|shrink|increase|decrease|change|decline)"
_CHANGES = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:(?:by )?how much|how|by what percent(?:age)?) did (?P<what>.+?) {_MOVE} {_SPAN}{_END}",
        rf"what (?:is|was) the (?:change|growth|increase|decrease|difference) (?:in|of) (?P<what>.+?) {_SPAN}{_END}",
    )
]
_LARGER = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:which|who)(?: [a-z]+)? {_HAVE} (?:the )?{_MORE}(?: (?:in )?(?P<what>(?!(?:in|for) )[^,:]+?))?"
        rf"(?: (?P<period>(?:in|for) [^,:]+?))?[,:] {_PAIR}{_LATER}",
        rf"(?:is|was|were) (?P<what>.+?) of (?P<first>.+?) {_MORE} than (?:that|those) of (?P<last>.+?){_LATER}",
    )
]
_DIFFERENCES = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"what (?:is|was) the difference in (?P<what>.+?) between (?P<first>.+?) and (?P<last>.+?){_LATER}",
        rf"what (?:is|was) the difference between (?P<what>.+?) of (?P<first>.+?) and (?P<last>.+?){_LATER}",
        rf"how much (?:more|less|higher|lower) (?P<what>.+?) did (?P<first>.+?) (?:have|make|get|pay|earn) than"
        rf" (?P<last>.+?){_LATER}",
        rf"compare (?P<what>.+?) of (?P<first>.+?) (?:and|with|to) (?P<last>.+?){_LATER}",
    )
]
_LESS = frozenset(("lower", "smaller", "less", "fewer"))
_ARTICLE = re.compile(r"^(?:the|our|their|its|a|an)\s+", re.IGNORECASE)


class ComparisonKind(StrEnum):
    """What is asked of two values."""

    CHANGE = "change"  # from the first to the last
    LARGER = "larger"
    SMALLER = "smaller"
    DIFFERENCE = "difference"


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """Two values that a question asks to be compared, each as a question of its own."""

    kind: ComparisonKind
    names: tuple[str, str]
    questions: tuple[str, str]


def find_comparison(question: str) -> ValueComparison | None:
    """The comparison that a question asks for in so many words; None of every other question."""
    text = " ".join(question.split())
    if found := _match_first(_CHANGES, text):
        what = _ARTICLE.sub("", found["what"])
        ends = found["first"], found["last"]
        asked = tuple(f"What is the total {what} in {one}?" for one in ends)
        return ValueComparison(ComparisonKind.CHANGE, ends, (asked[0], asked[1]))
    if found := _match_first(_LARGER, text):
        kind = ComparisonKind.SMALLER if found["how"].casefold() in _LESS else ComparisonKind.LARGER
        when = found.groupdict().get("period") or found["later"]
        return _of_names(kind, found["what"], (found["first"], found["last"]), when)
    if found := _match_first(_DIFFERENCES, text):
        return _of_names(ComparisonKind.DIFFERENCE, found["what"], (found["first"], found["last"]), found["later"])
    return None


def _match_first(forms: Sequence[re.Pattern[str]], text: str) -> re.Match[str] | None:
    return next((found for form in forms if (found := form.fullmatch(text))), None)


def _of_names(kind: ComparisonKind, what: str | None, names: tuple[str, str], when: str | None) -> ValueComparison:
    said = [_ARTICLE.sub("", name) for name in names]
    behind = f" {when}" if when else ""
    measure = f"{_ARTICLE.sub('', what)} " if what else ""  # else the only one that there is
    asked = [f"What is the total {measure}of {name}{behind}?" for name in said]
    return ValueComparison(kind, (said[0], said[1]), (asked[0], asked[1]))


def compare_values(comparison: ValueComparison, plans: Sequence[QueryPlan]) -> Calculation | None:
    """Both values and what lies between them; None where they are not the same measure of one table.

    Raises BadQuery: a query takes too long, or a number is too large.
    """
    first, last = plans
    same = first.relation is last.relation and first.query.aggregate is last.query.aggregate is Aggregate.SUM
    period = comparison.kind is ComparisonKind.CHANGE  # years may head columns of one row
    if not same or first.query == last.query or not (period or first.query.measure == last.query.measure):
        return None
    parts = [calculate(one) for one in plans]
    if parts[0] is None or parts[1] is None:
        return None
    column = first.relation.column(first.query.measure or "")
    if RATE.search(column.name) and any(one is not None and one.rows != 1 for one in parts):
        return None  # prices of several rows are not added up
    values = [query_value(one) for one in plans]
    if column.unit != last.relation.column(last.query.measure or "").unit:
        return None
    both = parts[0], parts[1]
    lines = [one.lines[0] for one in both]
    text = _conclusion(comparison, values, lambda number: format_number(number, column))
    places = tuple(dict.fromkeys(place for line in lines for place in line.places))
    lines.insert(0, CalculatedLine(text, places))
    chart = chart_of(
        [ChartColumn("of", "text"), ChartColumn(column.name, "number", column.unit)],
        [(name, float(value)) for name, value in zip(comparison.names, values, strict=True)],
    )
    return Calculation(
        "\nunion all\n".join(one.sql for one in both),
        table_name(first.relation),
        both[0].columns,
        both[0].rows + both[1].rows,
        both[0].totals_left_out,
        tuple(dict.fromkeys(name for one in both for name in one.documents)),
        tuple(lines),
        tuple(dict.fromkeys(id_ for one in both for id_ in one.document_ids)),
        tuple(dict.fromkeys(note for one in both for note in one.notes)),
        chart,
    )


def _conclusion(comparison: ValueComparison, values: Sequence[Decimal], shown: Callable[[Decimal], str]) -> str:
    before, after = values
    change = after - before
    first, last = comparison.names
    if comparison.kind is ComparisonKind.CHANGE:
        sign = "+" if change > 0 else ""
        share = f" ({sign}{_percent(100 * change / abs(before))})" if before else ""
        return f"Change from {first} to {last}: {sign}{shown(change)}{share}"
    if comparison.kind is ComparisonKind.DIFFERENCE or not change:
        return f"Difference between {first} and {last}: {shown(abs(change))}"
    larger, smaller = (last, first) if change > 0 else (first, last)
    if comparison.kind is ComparisonKind.LARGER:
        return f"{larger}, by {shown(abs(change))}"
    return f"{smaller}, by {shown(abs(change))}"


def _percent(value: Decimal) -> str:
    return f"{value.quantize(Decimal('0.1'), ROUND_HALF_UP):f} %"
