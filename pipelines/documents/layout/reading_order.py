"""Reading order of lines of text on a page: columns of prose one after the other, and headlines over both."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pipelines.documents.document import Box

_GUTTER = 0.6  # heights of a line: the least width of what parts two columns
_LEAST_LINES = 5  # of a column
_MOST_PIECES = 1_000  # of a page of columns: with more it is a drawing, and to look for gutters takes their square
_MOST_GUTTERS = 60  # that are looked at
_LEAST_WORDS = 3  # that half of a column's pieces have: shorter ones are cells, which are read row by row
_FILLED = 0.6  # of a column's width that half of its pieces fill
_LEVEL = 0.25  # heights between the middles of two pieces of one row
_LEADING = 2.2  # heights from one line of an inset to the next
_NESTED = (
    4  # gutters within a column that are looked for: each may have two that part it, so the cost doubles with each
)
_BESIDE = 0.5  # of the shorter side's pieces stand in a row with one of the other: cells of a table do


@dataclass(frozen=True, slots=True)
class LinePiece:
    """A line of text, or the part of one that stands apart, by its number among those of the page."""

    number: int
    area: Box  # in one unit across and down
    words: int


Accept = Callable[[list[LinePiece], list[LinePiece]], bool]


def column_blocks(pieces: Sequence[LinePiece], accept: Accept = lambda left, right: True) -> Iterator[list[LinePiece]]:
    """Columns of prose side by side as blocks of their own; what lies over both, such as a headline, parts them.

    Args:
        pieces: in any order, which each block keeps.
        accept: whether two sides are to be read one after the other.
    """
    gutter = _column_gutter(pieces, accept)
    if gutter is None:
        yield list(pieces)
        return
    left_side, right_side, wide = _part_pieces(pieces, gutter)
    for over in (*sorted(wide, key=lambda one: one.area.y0), None):
        for side in (left_side, right_side):
            # A line belongs above a headline with its middle: letters of both may reach into each other.
            above = [one for one in side if over is None or (one.area.y0 + one.area.y1) / 2 <= over.area.y0]
            if above:
                side[:] = [one for one in side if one not in above]
                yield from column_blocks(above, accept)
        if over is not None:
            yield [over]


def _column_gutter(pieces: Sequence[LinePiece], accept: Accept, nested: int = _NESTED) -> tuple[float, float] | None:
    """From where to where a gutter parts two columns of prose; None where there is none.

    Args:
        pieces: in any order.
        accept: whether two sides are to be read one after the other.
        nested: how many gutters deep a side that is no column is looked through for columns.
    """
    if not 2 * _LEAST_LINES <= len(pieces) <= _MOST_PIECES:
        return None
    height = median(piece.area.y1 - piece.area.y0 for piece in pieces)
    left, right = min(piece.area.x0 for piece in pieces), max(piece.area.x1 for piece in pieces)
    # Lines of a column begin at about the same place: one border for all of them.
    begins: dict[int, float] = {}
    for piece in pieces:
        near = round((piece.area.x0 - left) / max(height * _GUTTER, 1e-9))
        begins[near] = min(piece.area.x0, begins.get(near, right))
    found: list[tuple[int, float, tuple[float, float]]] = []
    for at in sorted(begins.values(), key=lambda x: abs(x - (left + right) / 2))[:_MOST_GUTTERS]:
        gutter = at - height * _GUTTER, at
        one, other, wide = _part_pieces(pieces, gutter)
        if not one or not other or len(wide) > len(pieces) / 5:
            continue
        if _holds_prose(one, other) and _read_as_columns(one, other, nested):
            found.append((len(wide), abs(at - (left + right) / 2), gutter))
    if not found:
        return None
    _, _, gutter = min(found)
    *sides, _ = _part_pieces(pieces, gutter)
    return gutter if accept(sides[0], sides[1]) else None


def _part_pieces(
    pieces: Sequence[LinePiece], gutter: tuple[float, float]
) -> tuple[list[LinePiece], list[LinePiece], list[LinePiece]]:
    """Those on the left of a gutter, those on the right, and those that lie over it."""
    parts: tuple[list[LinePiece], list[LinePiece], list[LinePiece]] = ([], [], [])
    for piece in pieces:
        parts[0 if piece.area.x1 <= gutter[0] else 1 if piece.area.x0 >= gutter[1] else 2].append(piece)
    return parts


def _read_as_columns(left: list[LinePiece], right: list[LinePiece], nested: int) -> bool:
    """True where each side is a column, or one is and the other holds several, such as a column with an inset."""
    alone = [_reads_as_column(side) for side in (left, right)]
    if all(alone):
        return True
    if nested <= 0 or not any(alone):
        return False
    return _column_gutter(right if alone[0] else left, lambda _, __: True, nested - 1) is not None


def _reads_as_column(side: Sequence[LinePiece]) -> bool:
    if len(side) < _LEAST_LINES:
        return False
    width = max(one.area.x1 for one in side) - min(one.area.x0 for one in side)
    return median(one.area.x1 - one.area.x0 for one in side) >= _FILLED * width


def _holds_prose(left: Sequence[LinePiece], right: Sequence[LinePiece]) -> bool:
    """True where the pieces on both sides are lines of prose and no cells; a narrow inset is in no row with others."""
    usual = min(median(one.words for one in side) for side in (left, right))
    if usual >= _LEAST_WORDS:
        return True
    fewer, others = sorted((left, right), key=len)
    middles = [(one.area.y0 + one.area.y1) / 2 for one in others]
    beside = 0
    for one in fewer:
        middle, near = (one.area.y0 + one.area.y1) / 2, _LEVEL * (one.area.y1 - one.area.y0)
        beside += any(abs(other - middle) <= near for other in middles)
    return usual >= _LEAST_WORDS - 1 and beside < _BESIDE * len(fewer) and _is_compact(fewer)


def _is_compact(side: Sequence[LinePiece]) -> bool:
    """True where most lines follow each other closely; the labels of a drawing are scattered."""
    tops = sorted(one.area.y0 for one in side)
    height = median(one.area.y1 - one.area.y0 for one in side)
    return median(below - above for above, below in pairwise(tops)) <= _LEADING * height
