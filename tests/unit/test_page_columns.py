"""Columns of a page: many of them cost little, several are parted, and no word of them is doubled or lost."""

import time
from collections import Counter

import pytest

from pipelines.documents.document import Box
from pipelines.documents.layout.aligned_columns import by_aligned_column
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.reading_order import LinePiece, column_blocks
from tests.unit.test_page_structure import bounded


def lines_of(columns: int, rows: int, words: int) -> list[LinePiece]:
    """Lines row by row over all columns, each a hundredth high."""
    wide = 1 / columns
    return [
        LinePiece(row * columns + at, Box(at * wide, row / 60, (at + 0.8) * wide, row / 60 + 0.01), words)
        for row in range(rows)
        for at in range(columns)
    ]


@pytest.mark.parametrize("words", [1, 2, 6])
def test_a_page_of_many_columns_is_looked_through_in_seconds(words: int) -> None:
    began = time.process_time()
    pieces = lines_of(26, 12, words)
    found = [one.number for block in column_blocks(pieces) for one in block]
    assert sorted(found) == list(range(len(pieces))) and bounded(5, began)


@pytest.mark.parametrize("columns", [2, 4, 6])
def test_several_columns_of_prose_are_parted(columns: int) -> None:
    blocks = list(column_blocks(lines_of(columns, 20, 6)))
    assert [[one.number % columns for one in block] for block in blocks] == [[at] * 20 for at in range(columns)]


def two_cells(row: int, gutter: float) -> list[PageToken]:
    y = 0.02 * row
    texts = (f"left side of the line {row}", f"right side of the line {row}")
    places = ((0.05, gutter - 0.03), (gutter + 0.03, 0.95))
    pairs = zip(texts, places, ("\n", " "), strict=True)
    return [PageToken(text, Box(x0, y, x1, y + 0.01), gap) for text, (x0, x1), gap in pairs]


def test_bands_that_follow_each_other_have_each_word_once() -> None:
    bands = [(row, 0.5 if row < 7 else 0.62) for row in range(14)]
    tokens = [token for row, gutter in bands for token in two_cells(row, gutter)]
    found = by_aligned_column(tokens, [], 1.4)
    assert Counter(one.text for one in found) == Counter(one.text for one in tokens)
    sides = [one.text.split()[0] for one in found]
    assert sides == ["left"] * 7 + ["right"] * 7 + ["left"] * 7 + ["right"] * 7
    assert [at for at, one in enumerate(found) if one.gap == "\n\n"] == [0, 7, 14, 21]


def test_a_listing_of_thousands_of_short_cells_costs_little() -> None:
    began = time.process_time()
    tokens = [
        PageToken("ab", Box(x / 4, row / 1_000, x / 4 + 0.1, (row + 0.5) / 1_000), " " if x else "\n")
        for row in range(1_000)
        for x in range(4)
    ]
    assert by_aligned_column(tokens, [], 1.4) == tuple(tokens) and bounded(3, began)
