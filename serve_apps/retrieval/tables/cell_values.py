"""The values of cells: numbers and days as they are written, by what the whole column tells about its notation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from serve_apps.retrieval.text.units import same_unit
from serve_apps.retrieval.text.values import date_readings, find_dates

TYPED = 0.6  # share of the filled cells of a column from which on it is a column of numbers or days
MOST_DIGITS = 28  # of a number that can be summed exactly
EMPTY = frozenset(("", "-", "–", "—", "n/a", "na", "none", "nil", "null", "."))

_NUMBER = re.compile(
    r"(?P<open>\()?(?P<sign>[+\-−–])?\s*(?P<before>[$€£¥₹]|[A-Z]{3}\b|CHF|Rs\.?)?\s*(?P<inner>[+\-−])?"
    r"(?P<digits>\d[\d.,'’\u00a0\u202f ]*|[.,]\d+)\s*"
    r"(?P<after>%|[$€£¥₹]|°?[A-Za-zµ²³/]{1,12}\.?)?(?P<close>\))?(?P<trailing>-)?"
)
_MORE = re.compile(r"\s*\(|,\s+[^\W\d_]|\s+[/;]\s")  # what may stand behind the number of a cell that says more
_GROUPED = {  # notations of a number: digits in groups of three, or none, and the mark of its fraction
    ".": re.compile(r"(?:\d{1,3}(?:[,'’\u00a0\u202f ]\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d*)(?:\.\d+)?"),
    ",": re.compile(r"(?:\d{1,3}(?:[.'’\u00a0\u202f ]\d{3})+|\d*)(?:,\d+)?"),
}
_SCALES = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "bn": 9, "billion": 9}
_YEAR = re.compile(r"(?:19|20)\d{2}")


class ColumnType(StrEnum):
    """The type of a column."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class NumberCell:
    """A number and its unit as they are written."""

    value: Decimal
    unit: str  # `€`, `%`, `kg`; empty where none is written


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """The type of a column and its values, None where a cell is empty or is of another type."""

    type: ColumnType
    values: tuple[str | Decimal | date | None, ...]
    unit: str = ""  # of most of its numbers


def type_column(cells: Sequence[str]) -> TypedColumn:
    """A column's type by most of its filled cells; its notation of numbers and days by all of them."""
    filled = [cell for cell in cells if cell.strip().casefold() not in EMPTY]
    if filled and not _are_ambiguous(filled):
        days = parse_dates(filled)
        if sum(day is not None for day in days) >= TYPED * len(filled):
            return TypedColumn(ColumnType.DATE, tuple(parse_dates(cells, month_first=_is_month_first(filled))))
        point = decimal_mark(filled)
        numbers = [parse_number(cell, point) for cell in cells]
        found = [one for one in numbers if one is not None]
        if len(found) < TYPED * len(filled):
            numbers = [one or _leading_number(cell, point) for one, cell in zip(numbers, cells, strict=True)]
            found = [one for one in numbers if one is not None]
        units = [one.unit for one in found]
        named = list(dict.fromkeys(one for one in units if one))
        # What is in several units is neither added up nor compared.
        alike = all(same_unit(one, named[0]) or one.casefold() == named[0].casefold() for one in named)
        if len(found) >= TYPED * len(filled) and alike:
            unit = max(set(units), key=units.count)
            return TypedColumn(ColumnType.NUMBER, tuple(one.value if one else None for one in numbers), unit)
    known = set(filled)
    return TypedColumn(ColumnType.TEXT, tuple(cell if cell in known else None for cell in cells))


def _are_ambiguous(filled: Sequence[str]) -> bool:
    """True where a whole column can be read in two ways: 1.250 as thousands or not, 03/04/2024 as March or April."""
    pointed = [cell for cell in filled if "." in cell and _NUMBER.fullmatch(cell.strip())]
    thousands = bool(pointed) and all(re.search(r"(?<!\d)[1-9]\d{0,2}\.\d{3}(?!\d)", cell) for cell in pointed)
    if thousands and not any("," in cell for cell in filled):
        return True
    days = [found for cell in filled if (found := re.match(r"\s*(\d{1,2})/(\d{1,2})/\d{4}\b", cell))]
    both = all(int(one[1]) <= 12 and int(one[2]) <= 12 for one in days)
    return len(days) >= TYPED * len(filled) and both and any(one[1] != one[2] for one in days)


def decimal_mark(cells: Sequence[str]) -> str:
    """`.` or `,`: in which of both notations more of the cells are numbers; the point where they are as many."""
    fits = dict.fromkeys(_GROUPED, 0)
    for cell in cells:
        found = _NUMBER.fullmatch(cell.strip())
        for mark, form in _GROUPED.items():
            fits[mark] += bool(found and form.fullmatch(found["digits"].strip()))
    return "," if fits[","] > fits["."] else "."


def parse_number(text: str, point: str = ".") -> NumberCell | None:
    """The number of a cell: (1,200.50), 1.200,50 €, 12 % and -3; None where the cell is something else."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    digits = found["digits"].strip()
    if not _GROUPED[point].fullmatch(digits):
        return None
    plain = re.sub(r"[,'’\u00a0\u202f ]" if point == "." else r"[.'’\u00a0\u202f ]", "", digits).replace(",", ".")
    if sum(char.isdigit() for char in plain) > MOST_DIGITS or (len(plain) > 1 and plain[0] == "0" and plain[1] != "."):
        return None  # zeros in front belong to a code
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None
    after = (found["after"] or "").rstrip(".")
    if after.casefold() in _SCALES and (after.casefold() not in ("m", "k") or found["before"]):
        value, after = value.scaleb(_SCALES[after.casefold()]), ""
    minus = bool(found["open"]) or found["sign"] in ("-", "−", "–") or found["inner"] or found["trailing"]
    return NumberCell(-value if minus else value, after or found["before"] or "")


def _leading_number(text: str, point: str) -> NumberCell | None:
    """The number at the beginning of a cell that goes on, as in `85, male` and `1500 ft / 75 ft`."""
    more = _MORE.search(text)
    return parse_number(text[: more.start()], point) if more else None


def parse_dates(cells: Sequence[str], *, month_first: bool | None = None) -> list[date | None]:
    """The days of cells; 3/4/2024 as most of the column has to be read, the day first where nothing tells."""
    first = _is_month_first(cells) if month_first is None else month_first
    return [_parse_day(cell, month_first=first) for cell in cells]


def _parse_day(cell: str, *, month_first: bool) -> date | None:
    text = cell.strip()
    found = [one for one in find_dates(text) if one.kind == "date"]
    if len(found) != 1 or found[0].start > 4:
        return None  # a weekday may stand in front, a time behind
    if len(text) - len(found[0].shown) > 12:
        return None
    readings = date_readings(found[0])
    amount = readings[-1] if month_first else readings[0]
    try:
        return date.fromisoformat(amount if len(amount) == 10 else f"{amount}-01")
    except ValueError:
        return None


def _is_month_first(cells: Sequence[str]) -> bool:
    pairs = [found for cell in cells if (found := re.match(r"\s*(\d{1,2})/(\d{1,2})/\d{4}\b", cell))]
    return any(int(one[2]) > 12 for one in pairs) and not any(int(one[1]) > 12 for one in pairs)


def looks_like_year(text: str) -> bool:
    """True for four digits of this century or the last."""
    return _YEAR.fullmatch(text.strip()) is not None
