"""Lines of a page from pieces that an engine found on it: rows from top to bottom, columns of prose one by one."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from pipelines.documents.ocr.reading import OcrToken, PixelArea, TextLine

_SAME_ROW = 0.5  # of the lower height: as far apart the middles of pieces of one row may be
_GUTTER = 0.8  # heights of a line: the least width of what parts two columns
_LEAST_LINES = 5  # of a column
_MOST_PIECES = 1_000  # of a page of columns: with more it is a drawing, and to look for gutters takes their square
_LEAST_WORDS = 3  # that half of a column's pieces have: shorter ones are cells, which are read row by row
_FILLED = 0.6  # of a column's width that half of its pieces fill
_TALL = 2.0  # widths: a piece of several signs that is so high is a column of a text that runs downwards
_PARAGRAPH = 1.0  # heights of a line between the last row and one that opens a paragraph


def arrange_lines(pieces: Sequence[TextLine]) -> tuple[TextLine, ...]:
    """Lines in reading order of the pieces that an engine found, in any order; each word once."""
    return tuple(line for block in _blocks([piece for piece in pieces if piece.tokens]) for line in _block_lines(block))


def arrange_found(pieces: Sequence[TextLine]) -> tuple[TextLine, ...]:
    """As `arrange_lines`; where most of the text stands in columns, as Japanese may, these from right to left."""
    inked = [piece for piece in pieces if piece.tokens]
    tall = sum(len(piece.tokens) for piece in inked if _stands_upright(piece))
    if 2 * tall <= sum(len(piece.tokens) for piece in inked):
        return arrange_lines(inked)
    laid = [_turn_line(piece, lambda a: PixelArea(a.y0, -a.x1, a.y1, -a.x0)) for piece in inked]
    return tuple(_turn_line(line, lambda a: PixelArea(-a.y1, a.x0, -a.y0, a.x1)) for line in arrange_lines(laid))


def _stands_upright(piece: TextLine) -> bool:
    area = piece.area
    return len(piece.tokens) > 1 and area.y1 - area.y0 > _TALL * (area.x1 - area.x0)


def _turn_line(line: TextLine, turn: Callable[[PixelArea], PixelArea]) -> TextLine:
    return TextLine(tuple(OcrToken(one.text, turn(one.area), one.confidence) for one in line.tokens), line.opens)


def _blocks(pieces: Sequence[TextLine]) -> Iterator[list[TextLine]]:
    """Columns of prose side by side as blocks of their own; what lies over both, such as a headline, parts them."""
    at = _column_border(pieces)
    if at is None:
        yield list(pieces)
        return
    wide = sorted((one for one in pieces if _crosses(one, at)), key=lambda one: one.area.y0)
    rest = [one for one in pieces if not _crosses(one, at)]
    for over in (*wide, None):
        edge = float("inf") if over is None else over.area.y0
        above = [one for one in rest if one.area.y1 <= edge or over is None]
        rest = [one for one in rest if one not in above]
        left = [one for one in above if one.area.x1 <= at]
        for side in (left, [one for one in above if one not in left]):
            if side:
                yield from _blocks(side)
        if over is not None:
            yield [over]


def _column_border(pieces: Sequence[TextLine]) -> float | None:
    """Where a gutter parts two columns of prose; None where there is none."""
    areas = [piece.area for piece in pieces]
    if not 2 * _LEAST_LINES <= len(areas) <= _MOST_PIECES:
        return None
    height = median(area.y1 - area.y0 for area in areas)
    left, right = min(area.x0 for area in areas), max(area.x1 for area in areas)
    for at in sorted({area.x0 - height * _GUTTER / 2 for area in areas}, key=lambda x: abs(x - (left + right) / 2)):
        clear = [one for one in areas if one.x1 <= at or one.x0 >= at]
        sides = [one for one in clear if one.x1 <= at], [one for one in clear if one.x0 >= at]
        few = len(areas) - len(clear) <= len(areas) / 5
        if few and all(map(_reads_as_column, sides)) and _words_of(pieces, at) and _gap(sides) >= _GUTTER * height:
            return at
    return None


def _gap(sides: tuple[list[PixelArea], list[PixelArea]]) -> float:
    return min(one.x0 for one in sides[1]) - max(one.x1 for one in sides[0])


def _reads_as_column(areas: Sequence[PixelArea]) -> bool:
    if len(areas) < _LEAST_LINES:
        return False
    width = max(one.x1 for one in areas) - min(one.x0 for one in areas)
    return median(one.x1 - one.x0 for one in areas) >= _FILLED * width


def _words_of(pieces: Sequence[TextLine], at: float) -> bool:
    """True where the pieces on both sides are lines of prose and no cells."""
    sides: tuple[list[int], list[int]] = ([], [])
    for piece in pieces:
        if not _crosses(piece, at):
            sides[piece.area.x0 >= at].append(len(piece.tokens))
    return all(side and median(side) >= _LEAST_WORDS for side in sides)


def _crosses(piece: TextLine, at: float) -> bool:
    area = piece.area
    return area.x0 < at < area.x1


def _block_lines(pieces: Sequence[TextLine]) -> Iterator[TextLine]:
    """Rows of a block; pieces that stand beside each other are one line."""
    rows: list[list[TextLine]] = []
    for piece in sorted(pieces, key=lambda one: _middle(one.area)):
        row = next((row for row in reversed(rows[-3:]) if _is_beside(piece, row)), None)
        if row is None:
            rows.append([piece])
        else:
            row.append(piece)
    below: float | None = None
    for row in rows:
        ordered = sorted(row, key=lambda one: one.area.x0)
        line = TextLine(tuple(token for piece in ordered for token in piece.tokens))
        area = line.area
        opens = below is not None and area.y0 - below > _PARAGRAPH * (area.y1 - area.y0)
        below = area.y1
        yield TextLine(line.tokens, opens=opens)


def _is_beside(piece: TextLine, row: Sequence[TextLine]) -> bool:
    """True where a piece lies at the height of a row, and over none of its pieces."""
    area, last = piece.area, row[-1].area
    near = _SAME_ROW * min(area.y1 - area.y0, last.y1 - last.y0)
    apart = all(_overlap(area, one.area) < near for one in row)
    return abs(_middle(area) - _middle(last)) < near and apart


def _overlap(one: PixelArea, other: PixelArea) -> float:
    return min(one.x1, other.x1) - max(one.x0, other.x0)


def _middle(area: PixelArea) -> float:
    return (area.y0 + area.y1) / 2
