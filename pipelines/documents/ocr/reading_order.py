"""Lines of a page from pieces that an engine found on it: rows from top to bottom, columns of prose one by one."""

from collections.abc import Callable, Iterator, Sequence

from pipelines.documents.document import Box
from pipelines.documents.layout.reading_order import LinePiece, column_blocks
from pipelines.documents.ocr.reading import OcrToken, PixelArea, TextLine

_SAME_ROW = 0.5  # of the lower height: as far apart the middles of pieces of one row may be
_TALL = 2.0  # widths: a piece of several signs that is so high is a column of a text that runs downwards
_PARAGRAPH = 1.0  # heights of a line between the last row and one that opens a paragraph


def arrange_lines(pieces: Sequence[TextLine]) -> tuple[TextLine, ...]:
    """Lines in reading order of the pieces that an engine found, in any order; each word once."""
    found = [piece for piece in pieces if piece.tokens]
    blocks = column_blocks([_line_piece(number, piece) for number, piece in enumerate(found)])
    return tuple(line for block in blocks for line in _block_lines([found[one.number] for one in block]))


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


def _line_piece(number: int, piece: TextLine) -> LinePiece:
    area = piece.area
    return LinePiece(number, Box(area.x0, area.y0, area.x1, area.y1), len(piece.tokens))


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
