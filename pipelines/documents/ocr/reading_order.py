"""Lines of a page from pieces that an engine found on it: rows from top to bottom, columns of prose one by one."""

from collections.abc import Iterator, Sequence

from pipelines.documents.document import Box
from pipelines.documents.layout.reading_order import LinePiece, column_blocks
from pipelines.documents.ocr.reading import PixelArea, TextLine

_SAME_ROW = 0.5  # of the lower height: as far apart the middles of pieces of one row may be
_PARAGRAPH = 1.0  # heights of a line between the last row and one that opens a paragraph


def arrange_lines(pieces: Sequence[TextLine]) -> tuple[TextLine, ...]:
    """Lines in reading order of the pieces that an engine found, in any order; each word once."""
    found = [piece for piece in pieces if piece.tokens]
    blocks = column_blocks([_line_piece(number, piece) for number, piece in enumerate(found)])
    return tuple(line for block in blocks for line in _block_lines([found[one.number] for one in block]))


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
