"""Prose in columns on a page whose content goes line by line over all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import mean

from pipelines.documents.document import Box, bounding_box
from pipelines.documents.layout.aligned_columns import by_aligned_column
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.reading_order import LinePiece, column_blocks
from pipelines.documents.layout.table_grids import CellIndex, TableGrid

_GUTTER = 0.012  # of the page's width: the least between two columns
_LEAST_STEPS = 5  # from one column to the other, before anything is put in another order
_PROSE_LETTERS, _INSET_LETTERS = 18, 10  # of a line on average, in one column and in the other; less are cells
_MIXED = 0.5  # of the shorter column's lines are followed by a step to the other


def by_column(tokens: Sequence[PageToken], tables: Sequence[TableGrid], aspect: float) -> tuple[PageToken, ...]:
    """Prose in columns whose content goes line by line over all of them: one column after the other.

    Args:
        tables: whose words stay together.
        aspect: the page's height by its width, both in points.
    """
    runs = list(_line_runs(tokens, tables))
    steps = sum(_steps_aside(before, after) for before, after in pairwise(runs))
    if steps < _LEAST_STEPS:
        return tuple(tokens)
    pieces = [
        LinePiece(number, Box(box.x0, box.y0 * aspect, box.x1, box.y1 * aspect), len(words))
        for number, (words, box) in enumerate(runs)
    ]

    def letters(side: list[LinePiece]) -> float:
        return mean(sum(len(word.text) + 1 for word in runs[one.number][0]) for one in side)

    def accept(left: list[LinePiece], right: list[LinePiece]) -> bool:
        narrow, wide = sorted((letters(left), letters(right)))
        return _is_mixed(left, right) and narrow >= _INSET_LETTERS and wide >= _PROSE_LETTERS

    result: list[PageToken] = []
    last = -1
    blocks = list(column_blocks(pieces, accept))
    if len(blocks) == 1:
        return by_aligned_column(tokens, tables, aspect)
    for block in blocks:
        for order, piece in enumerate(block):
            first, *rest = runs[piece.number][0]
            if piece.number != last + 1 or (order == 0 and result):
                gap = "\n\n" if order == 0 or "\n\n" in first.gap else "\n"
                first = replace(first, gap=gap)
            result += [first, *rest]
            last = piece.number
    return tuple(result)


def _line_runs(tokens: Sequence[PageToken], tables: Sequence[TableGrid]) -> Iterator[tuple[list[PageToken], Box]]:
    """Words that follow each other on a line without a step, with their box; the words of a table are one run."""
    indexes = [CellIndex(table) for table in tables]
    run: list[PageToken] = []
    boxes: list[Box] = []
    table: int | None = None

    def outline() -> Box:
        return tables[table].box if table is not None else bounding_box(boxes)

    for token in tokens:
        inside = next((at for at, one in enumerate(indexes) if token.box and one.cell_at(token.box)), None)
        if run and boxes and token.box and (inside != table or (inside is None and not _goes_on(run[-1], token))):
            yield run, outline()
            run, boxes = [], []
        run.append(token)
        if token.box:
            boxes.append(token.box)
            table = inside
    if run and boxes:
        yield run, outline()


def _goes_on(last: PageToken, token: PageToken) -> bool:
    """True for a word behind another on one line, no further away than words are."""
    box, after = last.box, token.box
    if box is None or after is None:
        return "\n" not in token.gap
    level = after.y0 < (box.y0 + box.y1) / 2 < after.y1 or box.y0 < (after.y0 + after.y1) / 2 < box.y1
    return level and -_GUTTER < after.x0 - box.x1 <= _GUTTER


def _steps_aside(before: tuple[list[PageToken], Box], after: tuple[list[PageToken], Box]) -> bool:
    """True where the next words stand right of a line and not below it, or go back to the left and not up."""
    one, other = before[1], after[1]
    return other.x0 - one.x1 > _GUTTER and other.y1 > one.y0 and other.y0 < one.y1 + (one.y1 - one.y0)


def _is_mixed(left: Sequence[LinePiece], right: Sequence[LinePiece]) -> bool:
    """True if the content goes from one side to the other again and again."""
    sides = sorted([(one.number, 0) for one in left] + [(one.number, 1) for one in right])
    changes = sum(before[1] != after[1] for before, after in pairwise(sides))
    return changes >= max(_LEAST_STEPS, 2 * _MIXED * min(len(left), len(right)))
