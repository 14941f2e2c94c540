"""Kinds of columns: those that measure, those that number or name rows, years, and a record's own date."""

import re
from collections.abc import Sequence
from decimal import Decimal

from serve_apps.retrieval.tables.cell_values import ColumnType, looks_like_year
from serve_apps.retrieval.tables.relation import Column, Relation
from serve_apps.retrieval.text.units import same_unit
from serve_apps.retrieval.text.words import content_words

# Headings of columns that name rows, and measure nothing.
IS_CODE = re.compile(r"(?:\b|_)(?:no|nr|num|number|id|code|key|zip|plz|phone|fax|index|rank|#)\b|#", re.IGNORECASE)
RATE = re.compile(r"\b(?:price|rate|per|each|unit|average|preis|je)\b|%", re.IGNORECASE)  # what is never added up
_IN_BRACKETS = re.compile(r"[(\[][^)\]]*[)\]]")
_YEAR_NAMES = re.compile(r"\b(?:year|jahr)\b", re.IGNORECASE)


def measures_of(relation: Relation) -> list[Column]:
    """Columns of numbers that measure something: no codes, no years, none that only numbers the rows."""
    return [
        one
        for one in relation.columns
        if one.type is ColumnType.NUMBER and not IS_CODE.search(one.name) and not is_year(one)
        if not (one is relation.columns[0] and _numbers_rows(one))
    ]


def _numbers_rows(column: Column) -> bool:
    """True for whole numbers of which none comes twice: they number the rows."""
    numbers = [one for one in column.values if isinstance(one, Decimal)]
    return (
        len(numbers) > 1
        and len(set(numbers)) == len(numbers)
        and all(one == one.to_integral_value() for one in numbers)
    )


def own_dates(dates: Sequence[Column]) -> list[Column]:
    """The column that is headed `date` and what of, where there is just one: of several days a record's own."""
    own = [one for one in dates if re.match(r"date\b|datum\b", one.name, re.IGNORECASE)]
    return own if len(own) == 1 else list(dates)


def has_unit(column: Column, unit: str) -> bool:
    """True for numbers in this unit, whichever of its names is said."""
    return any(unit.casefold() == one.casefold() or same_unit(unit, one) for one in units_of(column))


def is_year(column: Column) -> bool:
    """True for a column of years, by its heading or by all of its cells."""
    filled = [cell for cell in column.shown if cell]
    return bool(filled) and (_YEAR_NAMES.search(column.name) is not None or all(map(looks_like_year, filled)))


def heading_words(name: str) -> list[str]:
    """Folded words of a heading without its unit."""
    return content_words(_IN_BRACKETS.sub(" ", name)) or content_words(name)


def units_of(column: Column) -> list[str]:
    """The units of a column's numbers, by its cells and by its heading."""
    behind = [part for found in _IN_BRACKETS.findall(column.name) for part in found.strip("()[] ").split()]
    last = column.name.replace("_", " ").split()[-1:]
    return [one for one in (column.unit, *behind, *(one for one in last if same_unit(one, one))) if one]
