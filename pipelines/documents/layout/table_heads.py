"""Heads of tables: told from a first row of data, under which a table has no head at all."""

import re
from collections.abc import Sequence
from itertools import pairwise

from pipelines.documents.layout.text_rows import is_figure, is_year

_DECIMALS = re.compile(r"\d[.,]\d{1,2}(?!\d)\D*")
_LEAST_COUNTED = 3  # columns that are numbered, or named by sizes


def lacks_head(rows: Sequence[Sequence[str]]) -> bool:
    """True where the first row has a figure such as stand below it; years and numbers in even steps are heads.

    Args:
        rows: of as many cells each, empty ones among them.
    """
    first, *below = rows
    figures = [at for at, text in enumerate(first) if is_figure(text) and _has_digit(text) and not is_year(text)]
    if _counts_on([first[at] for at in figures]):
        return False
    return any(
        _figure_kind(row[at]) == _figure_kind(first[at])
        for at in figures
        for row in below
        if is_figure(row[at]) and _has_digit(row[at])
    )


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


def _figure_kind(text: str) -> tuple[bool, str]:
    """Whether a figure has decimals, and its unit: `10 kg` over prices is a head, and `2.18` over them is none."""
    unit = "".join(char for char in text.casefold() if char.isalpha() or char in "%‰€$£¥°")
    return _DECIMALS.search(text) is not None, unit


def _counts_on(figures: Sequence[str]) -> bool:
    """True for whole numbers in even steps, such as the days of a week or sizes of shoes."""
    if len(figures) < _LEAST_COUNTED or not all(text.isdecimal() for text in figures):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(figures)}
    return len(steps) == 1 and min(steps) > 0
