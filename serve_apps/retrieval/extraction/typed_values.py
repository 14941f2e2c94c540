"""Typed values: a text as it is written, as the number, day, truth value or choice that a field wants."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, Final

from babel.numbers import list_currencies

from serve_apps.retrieval.extraction.field_words import split_name
from serve_apps.retrieval.extraction.schema_fields import SchemaField
from serve_apps.retrieval.tables.cell_values import NumberCell, decimal_mark, parse_number
from serve_apps.retrieval.text.values import date_readings, find_dates
from serve_apps.retrieval.text.words import fold_word

Json = Any
LONGEST_VALUE: Final = 600  # characters; more is a text, not a field
_TRUE_TEXT = "yes y true x ja oui si sim sì on ✓ ✔ ☑ ☒ [x] checked selected 1 wahr vrai vero verdadero כן да 是"
_FALSE_TEXT = "no n false nein non off ☐ [] unchecked 0 falsch faux falso não לא нет 否"
_TRUE, _FALSE = frozenset(_TRUE_TEXT.split()), frozenset(_FALSE_TEXT.split())
# A run that may be a number in a longer text: digits with their marks, its sign and its currency.
_NUMERAL = re.compile(
    r"(?<![\w.,])[(\-−–+]?\s?(?:[$€£¥₹]|[A-Z]{3}(?=\s?\d))?\s?[\-−]?\d[\d.,'’\u00a0\u202f]*(?:\s\d{3}(?!\d))*\)?-?"
)
_STAMP = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}")
_SHORT_DAY = re.compile(r"(?<!\d)(\d{1,2})([./-])(\d{1,2})\2(\d{2}|\d{4})(?!\d)")
# The first letters of each month in turn, without accents, in some more languages than English.
_MONTH_STARTS = (
    "jan ene gen|feb fev|mar mrz maer|apr avr abr|mai may mag mei|jun juin giu|jul juil lug|aug aou ago|sep set"
)
_MONTHS = dict(enumerate((_MONTH_STARTS + "|oct okt ott out|nov|dec dez dic").split("|"), 1))
_NAMED_DAY = re.compile(
    r"(?<!\d)(\d{1,2})(?:\.|er|º|o)?\s+(?:de\s+|di\s+)?([^\W\d_]{3,12})\.?,?\s+(?:de\s+|del\s+)?(\d{4})(?!\d)"
)
_WANTS_DAY = re.compile(r"\bdate\b|\bday\b|yyyy-mm-dd|\biso[ -]?8601\b", re.IGNORECASE)
_POSITIVE = re.compile(r"\bpositive (?:number|amount|value)\b|\babsolute\b|drop the (?:leading )?minus", re.IGNORECASE)
_EXAMPLE = re.compile(r"\be\.?g\.?,?:?\s+['\"“]?([^\s'\"“”();,]+)")
_PREFIX = re.compile(r"without .{0,40}\bprefix", re.IGNORECASE)
_ENUMERATOR = re.compile(r"\s*(?:\(\w{1,3}\)|\w{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value as the field wants it, and the characters of the text that it was made of."""

    value: Json
    start: int
    end: int
    doubt: str = ""  # why it may be another one


def convert_text(field: SchemaField, text: str, cells: Sequence[str] = ()) -> TypedValue | None:
    """The value that a text states for a field; None where it states none.

    Args:
        cells: texts beside it, such as those of its column, which tell its notation of numbers and days.
    """
    inner = text.strip()
    start = len(text) - len(text.lstrip())
    # What ends as a label does is the next one: this field is empty.
    if not inner or len(inner) > LONGEST_VALUE or inner.endswith((":", "：")):
        return None
    found = _convert(field, inner, cells or (inner,))
    return None if found is None else TypedValue(found.value, start + found.start, start + found.end, found.doubt)


def _convert(field: SchemaField, text: str, cells: Sequence[str]) -> TypedValue | None:
    if field.choices:
        return _find_choice(field.choices, text)
    if "boolean" in field.types:
        return _find_truth(text)
    if field.types & {"number", "integer"}:
        return _find_number(field, text, cells)
    if wants_iso_day(field):
        return find_day(text, cells)
    if field.types and "string" not in field.types:
        return None
    return _trim_text(field, text)


def wants_iso_day(field: SchemaField) -> bool:
    """True for a day that is to be written as 2024-05-01."""
    says = re.search(r"yyyy-mm-dd|iso[ -]?8601", field.description, re.IGNORECASE)
    return "string" in (field.types or {"string"}) and (field.format == "date" or bool(says))


def wants_day(field: SchemaField) -> bool:
    """True where a field's value is a day, however it is written."""
    name = " ".join(split_name(field.name))
    return wants_iso_day(field) or (
        field.types <= {"string"} and (bool(_WANTS_DAY.search(name)) or field.format == "date-time")
    )


def wants_positive(field: SchemaField) -> bool:
    """True where a number is wanted without its sign."""
    return _POSITIVE.search(field.description) is not None


def states_day(text: str) -> bool:
    """True where a text has a date."""
    return find_day(text, (text,)) is not None


def find_day(text: str, cells: Sequence[str] = ()) -> TypedValue | None:
    """The first day of a text, as 2024-05-01; with a doubt where it can be read in two ways."""
    return next(iter(find_days(text, cells)), None)


def find_days(text: str, cells: Sequence[str] = ()) -> list[TypedValue]:
    """All days of a text in their order, in whatever notation each is written."""
    found = [*_stamped_days(text), *_written_days(text, cells), *_named_days(text), *_short_days(text, cells)]
    made: list[TypedValue] = []
    for one in sorted(found, key=lambda one: one.start):  # of several that begin together the first notation's
        if not made or one.start >= made[-1].end:
            made.append(one)
    return made


def _stamped_days(text: str) -> Iterator[TypedValue]:
    """2024-05-01T10:00."""
    return (TypedValue(one[1], *one.span(1)) for one in _STAMP.finditer(text) if is_day(one[1]))


def _written_days(text: str, cells: Sequence[str]) -> Iterator[TypedValue]:
    """2024-05-01, 1 May 2024, 1.5.2024."""
    for one in find_dates(re.sub(r"(?<=\d)\.(?=\s\d{4})", ",", text)):
        readings = date_readings(one)
        if one.kind != "date" or len(one.amount) != 10:
            continue
        # Where days are written with points the day comes first.
        both = len(readings) > 1 and readings[0] != readings[-1] and "/" in one.shown
        month_first = both and _is_month_first(cells)
        day = readings[-1] if month_first else readings[0]
        if is_day(day):
            doubt = (
                "" if not both or _notation_is_told(cells) else f"could also be {readings[0 if month_first else -1]}"
            )
            yield TypedValue(day, one.start, one.end, doubt)


def _named_days(text: str) -> Iterator[TypedValue]:
    """3. März 2024, 3 de mayo de 2024."""
    for found in _NAMED_DAY.finditer(text):
        word = "".join(split_name(found[2]))
        month = next((n for n, starts in _MONTHS.items() if word.startswith(tuple(starts.split()))), None)
        if month is not None and is_day(day := f"{found[3]}-{month:02d}-{int(found[1]):02d}"):
            yield TypedValue(day, found.start(), found.end())


def _short_days(text: str, cells: Sequence[str]) -> Iterator[TypedValue]:
    """03.05.24 and 3/5/24; the day first where nothing tells."""
    for found in _SHORT_DAY.finditer(text):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        year += 2000 if year < 70 else 1900 if year < 100 else 0
        swapped = second > 12 or (found[2] == "/" and _is_month_first(cells))
        month, day = (first, second) if swapped else (second, first)
        if is_day(made := f"{year}-{month:02d}-{day:02d}"):
            both = first <= 12 and second <= 12 and first != second and found[2] == "/"
            doubt = f"could also be {year}-{day:02d}-{month:02d}" if both and not _notation_is_told(cells) else ""
            yield TypedValue(made, found.start(), found.end(), doubt)


def is_day(text: str) -> bool:
    """True for a day of the calendar as 2024-05-01."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _slashed(cells: Sequence[str]) -> list[tuple[int, int]]:
    return [(int(one[1]), int(one[3])) for cell in cells for one in _SHORT_DAY.finditer(cell) if one[2] == "/"]


def _is_month_first(cells: Sequence[str]) -> bool:
    pairs = _slashed(cells)
    return any(second > 12 for _, second in pairs) and not any(first > 12 for first, _ in pairs)


def _notation_is_told(cells: Sequence[str]) -> bool:
    return any(max(pair) > 12 for pair in _slashed(cells))


def _find_number(field: SchemaField, text: str, cells: Sequence[str]) -> TypedValue | None:
    point = decimal_mark(cells)
    numeral = None
    number = _read_number(text, point)
    start, end = 0, len(text)
    if number is None:
        for numeral in _NUMERAL.finditer(text):
            piece = numeral[0].strip().rstrip(".,")
            number = _read_number(piece, point)
            if number is not None:
                start = numeral.start() + len(numeral[0]) - len(numeral[0].lstrip())
                end = start + len(piece)
                break
    if number is None:
        return None
    value = abs(number.value) if wants_positive(field) else number.value
    whole = value == value.to_integral_value()
    if "integer" in field.types and "number" not in field.types and not whole:
        return None
    several = len(_NUMERAL.findall(text)) > 1 if numeral is not None else False
    return TypedValue(plain_number(value), start, end, "one of several numbers there" if several else "")


def _read_number(text: str, point: str) -> NumberCell | None:
    """A number in the notation of its column, or else in the other one; `SKU-77` is none, as SKU is no currency."""
    number = parse_number(text, point) or parse_number(text, "," if point == "." else ".")
    code = number is not None and re.match(r"\W*([A-Z]{3})\b", text)
    return None if code and code[1] not in _currencies() else number


@cache
def _currencies() -> frozenset[str]:
    return frozenset(list_currencies())


def plain_number(value: Decimal) -> int | float:
    """As JSON has it: without a fraction where it has none."""
    return int(value) if value == value.to_integral_value() else float(value)


def _find_truth(text: str) -> TypedValue | None:
    word = text.strip(" .:;").casefold()
    if word in _TRUE or word in _FALSE:
        return TypedValue(word in _TRUE, 0, len(text))
    return None


def _find_choice(choices: Sequence[Json], text: str) -> TypedValue | None:
    """The choice that a text names: as it is written, or by its words."""
    for one in choices:
        if isinstance(one, bool):
            truth = _find_truth(text)
            if truth is not None and truth.value == one:
                return truth
        elif str(one).casefold() == text.casefold():
            return TypedValue(one, 0, len(text))
    said = _all_words(text)
    fitting = [one for one in choices if isinstance(one, str) and (words := _all_words(one)) and words <= said]
    if len(fitting) == 1:
        return TypedValue(fitting[0], 0, len(text))
    return None


def _all_words(text: str) -> set[str]:
    """Its words, single letters and stop words among them."""
    return {fold_word(found) for found in re.findall(r"[^\W_]+", text)}


def _trim_text(field: SchemaField, text: str) -> TypedValue:
    """The text, cut to what the field's description says of its form: an example's shape, no enumerator in front."""
    start, end = 0, len(text)
    if _PREFIX.search(field.description) and (found := _ENUMERATOR.match(text)):
        start = found.end()
    if example := _EXAMPLE.search(field.description):
        cut = _cut_to_shape(text[start:], example[1].rstrip(".,"))
        if cut is not None:
            start, end = start + cut[0], start + cut[1]
    value = re.sub(r"\s*\n\s*", ", " if "one line" in field.description else " ", text[start:end])
    return TypedValue(value, start, end)


def _cut_to_shape(text: str, example: str) -> tuple[int, int] | None:
    """The first token that is written as a code of an example is, in a longer text: `HO-3` of `HO-3 - Special`."""
    if not any(char.isdigit() for char in example) or len(text.split()) < 2:
        return None
    pattern = re.sub(r"[A-Z]+", "[A-Z]+", re.sub(r"\d+", r"\\d+", re.escape(example)))
    found = re.match(rf"{pattern}(?=[\s,;:]|$)", text)
    return found.span() if found else None
