"""The words of a question that ask for a calculation: sums, counts, ends of an order, comparisons and periods."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from serve_apps.retrieval.tables.cell_values import parse_number
from serve_apps.retrieval.tables.table_query import Aggregate, Operator
from serve_apps.retrieval.text.values import TextValue, find_dates, find_values

Place = tuple[int, int]  # characters [start, end) of the question

_NO_SUPERLATIVE = (
    "interest|request|forest|honest|modest|harvest|protest|invest|arrest|digest|manifest|contest|conquest|priest"
)
_AGGREGATES: tuple[tuple[Aggregate, str], ...] = (
    (
        Aggregate.LATEST,
        r"latest|most recent(?:ly)?|newest|last(?! (?:day|week|month|quarter|year|name)\b|\s+\d)"
        r"|neueste[rns]?|letzte[rns]?",
    ),
    (
        Aggregate.EARLIEST,
        r"earliest|first(?! (?:day|week|month|quarter|half|name|aid|class|floor)\b|\s+\d)|früheste[rns]?|erste[rns]?",
    ),
    (Aggregate.AVERAGE, r"averages?|mean|on average|durchschnitt(?:lich\w*)?|mittelwert"),
    (Aggregate.COUNT, r"how many|how often|wie ?viele|wie oft"),
    (
        Aggregate.HIGHEST,
        r"maximum|max|most(?: [a-z]+(?:able|ible|ful|sive|tive|ous))?|top"
        r"|älteste[rns]?|höchste[rns]?|größte[rns]?|meisten|teuerste[rns]?",
    ),
    (
        Aggregate.LOWEST,
        r"lowest|smallest|least(?: expensive)?|fewest|minimum|min|cheapest|shortest|lightest|slowest|youngest|thinnest"
        r"|narrowest|shallowest|coldest|nearest|quietest|jüngste[rns]?|niedrigste[rns]?|kleinste[rns]?|wenigsten|billigste[rns]?",
    ),
    (Aggregate.HIGHEST, rf"(?!(?:{_NO_SUPERLATIVE})\b)[a-z]{{3,}}est"),  # the others: longest, steepest, busiest
    (
        Aggregate.SUM,
        r"totals?|sum(?: of)?|altogether|combined|in all|overall|together"
        r"|add(?:ed|s)? up(?: to)?|(?:come|came|amount(?:s|ed)?) to(?=\W*$)"
        r"|(?:over|across) all|everything|in sum|summe|gesamt\w*|insgesamt|zusammen",
    ),
    (Aggregate.COUNT, r"(?:the )?number of(?= [a-z]+s\b)|count(?: of)?|anzahl(?: der)?"),
)
_AGGREGATE = [(kind, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for kind, words in _AGGREGATES]
_LIST = re.compile(
    r"\b(?:which|who|whose|what are|welche[rns]?|wer)\b|^\W*(?:please )?(?:list|show(?: me)?|name|give me|i need)\b",
    re.IGNORECASE,
)
_HOW = re.compile(r"\bhow (?!many\b|much\b|often\b)[a-z]+", re.IGNORECASE)  # the adjective stands for an attribute
_MUCH = re.compile(r"\b(?:how much|wie ?viel)\b", re.IGNORECASE)
_MOST = re.compile(
    r"\b(?:most(?! recent| [a-z]+(?:able|ible|ful|sive|tive|ous)\b)|least(?! expensive)|fewest|meisten|wenigsten)\b",
    re.IGNORECASE,
)
_DISTINCT = re.compile(r"\b(?:different|distinct|unique|verschiedene)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\W*(?:(?:in|on|at|for|from|to|by|of|with)\s+)?(?:what|which|who|whose|whom|when|where"
    r"|how (?:many|much)|was|welche[rsnm]?|list|show|name|give me|i need|wer|wann|wo|wie ?viele?)\b",
    re.IGNORECASE,
)
_UNPLAIN = re.compile(
    r"n't\b|\b(?:not|no|never|none|neither|nor|without|except\w*|excluding|exclude[sd]?|other than|but|besides"
    r"|apart from|instead|or|either|nicht|kein\w*|ohne|außer|oder|second|third|fourth|fifth|half"
    r"|top (?:\d|two|three|four|five|ten))\b"
)
_GROUP = re.compile(r"\b(?:per|by|for each|for every|in each|pro|je)\s+(?:the\s+)?(?=[^\W\d_])", re.IGNORECASE)
_COMPARISONS: tuple[tuple[Operator, str], ...] = (
    (Operator.AT_LEAST, r"at least|no less than|not less than|>=|≥|from|mindestens"),
    (Operator.AT_MOST, r"at most|no more than|not more than|up to|<=|≤|höchstens|bis zu"),
    (
        Operator.OVER,
        r"over|above|(?:more|greater|higher|larger|bigger|longer|older) than|exceed(?:s|ed|ing)?|beyond|>|über|mehr als"
        r"|größer als|höher als",
    ),
    (
        Operator.UNDER,
        r"under|below|(?:less|fewer|lower|smaller|shorter|younger|cheaper) than|<|unter|weniger als|kleiner als",
    ),
)
_COMPARE = [
    (operator, re.compile(rf"(?<!\w)(?:{words})\s*(?:the\s+|of\s+)?$", re.IGNORECASE))
    for operator, words in _COMPARISONS
]
_BEHIND = (
    (
        Operator.AT_LEAST,
        re.compile(r"(?:[^\W\d_]{1,12}\s+)?(?:or|and) (?:more|over|above|up|higher|later)\b", re.IGNORECASE),
    ),
    (
        Operator.AT_MOST,
        re.compile(r"(?:[^\W\d_]{1,12}\s+)?(?:or|and) (?:less|fewer|under|below|lower)\b", re.IGNORECASE),
    ),
)
_BETWEEN = re.compile(r"\b(?:between|from|zwischen|von)\s*$", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|to|und|bis|-|–)\s*", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|later than|nach)\s*$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|from|starting|seit|ab)\s*$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|earlier than|prior to|vor)\s*$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|through|by|bis)\s*$", re.IGNORECASE)
_QUARTER = re.compile(
    r"\b(?:q(?P<digit>[1-4])|(?P<word>first|second|third|fourth|1st|2nd|3rd|4th) quarter)"
    r"(?:\s+(?:of\s+)?(?P<year>\d{4}))?\b",
    re.IGNORECASE,
)
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
LAST_YEAR = 9998  # after which no day comes
LONGEST_UNIT = 4  # letters, in the singular
_SCALED = frozenset(("money", "percent", "quantity", "number", "year"))


@dataclass(frozen=True, slots=True)
class NumberBound:
    """A bound that a number has to keep."""

    operator: Operator
    bound: Decimal
    unit: str  # of money its currency, of a quantity its unit; empty where none is said
    place: Place


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` up to, without, `stop`; None where it is open on that side."""

    first: date | None
    stop: date | None
    place: Place
    shown: str  # as it is written, for headings that say it: `2023`, `Q3 2023`


@dataclass(frozen=True, slots=True)
class QuestionCues:
    """The calculation that a question asks for, and where it says so."""

    aggregate: Aggregate
    most: bool  # it asks who has the most or the least of something, which may be spread over rows
    sums: bool  # it says `total`, whatever else it asks for
    lists: bool  # it asks which
    much: bool  # it asks how much
    distinct: bool
    asks: bool  # it asks for a value: what, which, who, when, where, how many or how much
    is_plain: bool  # all of its conditions hold together: nothing is excluded, nothing an alternative
    group: int | None  # where the word behind `per` or `by` begins
    comparisons: tuple[NumberBound, ...]
    periods: tuple[Period, ...]
    places: tuple[Place, ...]  # of all words that are spoken for


def find_cues(question: str) -> QuestionCues:
    """The cues of a question. The first of `most recent` and `most` counts, and `total` beside `how many` is a sum.

    Bounds come first, as `at least` is no end of an order; a capital within the question begins a name, and no cue.
    """
    periods = tuple(_find_periods(question))
    places = [one.place for one in periods]
    comparisons = tuple(one for one in _find_comparisons(question) if not _is_taken(one.place, places))
    places += [one.place for one in comparisons]
    kinds: list[Aggregate] = []
    for kind, form in _AGGREGATE:
        for found in form.finditer(question):
            named = found.start() > 0 and found[0][0].isupper()
            if not named and not _is_taken(found.span(), places):
                kinds.append(kind)
                places.append(found.span())
    left = "".join(" " if _is_taken((at, at + 1), places) else char for at, char in enumerate(question))
    group = next((one for one in _GROUP.finditer(question) if not _is_taken(one.span(), places)), None)
    for form in (_LIST, _MUCH, _DISTINCT, _HOW):
        places += [found.span() for found in form.finditer(question)]
    if group:
        places.append(group.span())
    ranked = [kind for kind in kinds if kind is not Aggregate.SUM]
    return QuestionCues(
        ranked[0] if ranked else Aggregate.SUM if kinds else Aggregate.NONE,
        _MOST.search(question) is not None,
        Aggregate.SUM in kinds,
        _LIST.search(question) is not None,
        _MUCH.search(question) is not None,
        _DISTINCT.search(question) is not None,
        _ASKS.match(question) is not None,
        _UNPLAIN.search(left) is None and len({one.place for one in periods}) < 2,
        group.end() if group else None,
        comparisons,
        periods,
        tuple(places),
    )


def _is_taken(place: Place, places: list[Place]) -> bool:
    return any(place[0] < end and start < place[1] for start, end in places)


def _find_comparisons(question: str) -> Iterator[NumberBound]:
    values = [one for one in find_values(question) if one.kind in _SCALED]
    used: set[int] = set()
    for at, one in enumerate(values):
        before = question[: one.start]
        between = _BETWEEN.search(before)
        following = values[at + 1] if at + 1 < len(values) else None
        if between and following and _AND.fullmatch(question, one.end, following.start):
            if one.kind == "year":
                continue
            used.add(at + 1)
            place = (between.start(), following.end)
            yield NumberBound(Operator.AT_LEAST, _bound_of(one), _unit_of(one, 0)[0], place)
            yield NumberBound(Operator.AT_MOST, _bound_of(following), _unit_of(following, 0)[0], place)
            continue
        if at in used:
            continue
        for operator, form in _COMPARE:
            if (found := form.search(before)) and found[0].strip().casefold() != "from":
                yield NumberBound(operator, _bound_of(one), *_unit_of(one, found.start()))
                break
        else:
            unit, (start, stop) = _unit_of(one, one.start)
            behind = [
                (operator, found) for operator, form in _BEHIND if (found := form.match(question[stop:].lstrip()))
            ]
            for operator, found in behind:
                gap = len(question[stop:]) - len(question[stop:].lstrip())
                yield NumberBound(operator, _bound_of(one), unit, (start, stop + gap + found.end()))


def _bound_of(one: TextValue) -> Decimal:
    """The number with all of its digits; `5 million` is more than these say."""
    said = Decimal(one.amount)
    digits = re.search(r"\d[\d.,'’\u00a0\u202f ]*", one.shown)
    number = parse_number(digits[0].strip()) if digits else None
    is_same = number is not None and abs(said - number.value) <= abs(said) * Decimal("0.00001")
    return number.value if number is not None and is_same else said


def _unit_of(one: TextValue, start: int) -> tuple[str, Place]:
    """The unit of a number and where both stand: a long word behind a number is what is counted, and no unit of it."""
    if one.kind != "quantity" or len(one.unit) <= LONGEST_UNIT:
        return one.unit, (start, one.end)
    number = re.match(r"\d[\d.,\s]*\d|\d", one.shown)
    return "", (start, one.start + (number.end() if number else len(one.shown)))


def _find_periods(question: str) -> Iterator[Period]:
    taken: list[Place] = []
    days = find_dates(question)
    for found in _QUARTER.finditer(question):
        number = int(found["digit"]) if found["digit"] else _QUARTERS[found["word"].lower()]
        if found["year"] and 1 < int(found["year"]) < LAST_YEAR:
            first = date(int(found["year"]), 3 * number - 2, 1)
            taken.append(found.span())
            yield _bounded_period(question, first, _next_month(first, 3), found.span(), found[0])
    at = 0
    while at < len(days):
        one = days[at]
        at += 1
        if _is_taken((one.start, one.end), taken):
            continue
        span, before = _day_span(one), question[: one.start]
        if span is None or (one.kind == "year" and _is_bound(before)):
            continue
        first, stop = span
        between, following = _BETWEEN.search(before), days[at] if at < len(days) else None
        if (
            between
            and following
            and _AND.fullmatch(question, one.end, following.start)
            and (until := _day_span(following))
        ):
            at += 1
            yield Period(first, until[1], (between.start(), following.end), question[one.start : following.end])
        else:
            yield _bounded_period(question, first, stop, (one.start, one.end), one.shown)


def _bounded_period(question: str, first: date, stop: date, place: Place, shown: str) -> Period:
    """The period itself, or what is after or before it, as the word in front says."""
    before = question[: place[0]]
    for form, begin, end in ((_AFTER, stop, None), (_SINCE, first, None), (_BEFORE, None, first), (_UNTIL, None, stop)):
        if found := form.search(before):
            return Period(begin, end, (found.start(), place[1]), shown)
    return Period(first, stop, place, shown)


def _is_bound(before: str) -> bool:
    """True behind `over` and the like: four digits are a number there, and no year."""
    found = [match[0].strip().casefold() for _, form in _COMPARE if (match := form.search(before))]
    return any(one != "from" for one in found)


def _day_span(one: TextValue) -> tuple[date, date] | None:
    """The days [first, stop) of a date, a month or a year."""
    try:
        match len(one.amount):
            case 4:
                return date(int(one.amount), 1, 1), date(int(one.amount) + 1, 1, 1)
            case 7:
                first = date.fromisoformat(f"{one.amount}-01")
                return first, _next_month(first, 1)
            case _:
                day = date.fromisoformat(one.amount)
                return day, day + timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _next_month(first: date, months: int) -> date:
    number = first.month - 1 + months
    return date(first.year + number // 12, number % 12 + 1, 1)
