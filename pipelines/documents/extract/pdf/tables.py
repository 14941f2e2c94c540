"""Ruled tables of a PDF page: where the lines that it draws enclose cells."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import pypdfium2 as pdfium

from pipelines.documents.extract.pdf.page_words import PageMapper
from pipelines.documents.extract.pdf.shapes import Rectangle, straight_lines
from pipelines.documents.layout.ruled_grids import SNAP, RuleLine, grids_of_lines
from pipelines.documents.layout.table_grids import TableGrid

RIM = 14.0  # points between a rule and the edge of a shade inside it


def find_grids(page: pdfium.PdfPage, objects: Sequence[pdfium.PdfObject]) -> list[TableGrid]:
    """The ruled tables of at least two rows and two columns.

    The lines come from pdfium: pdfplumber's own way to them parses the whole page a second time, which takes seconds
    where this takes milliseconds, and fails on other files.
    """
    width, height = page.get_size()
    mapper = PageMapper(page)
    rules, edges = straight_lines(objects)
    drawn = [_shown_line(mapper, line, width, height) for line in rules]
    shades = [_shown_line(mapper, line, width, height) for line in edges]
    return grids_of_lines([*drawn, *_without_rims(shades, drawn)], width, height)


def _shown_line(mapper: PageMapper, line: Rectangle, width: float, height: float) -> RuleLine:
    """In points, origin top left, of the page as it is shown."""
    (ax, ay), (bx, by) = mapper.point(*line[:2]), mapper.point(*line[2:])
    left, right = sorted((ax * width, bx * width))
    top, bottom = sorted((ay * height, by * height))
    if right - left >= bottom - top:
        return RuleLine(left, (top + bottom) / 2, right, (top + bottom) / 2)
    return RuleLine((left + right) / 2, top, (left + right) / 2, bottom)


def _without_rims(shades: Sequence[RuleLine], drawn: Sequence[RuleLine]) -> Iterator[RuleLine]:
    """Edges of shades, those that end next to an upright rule drawn out to it: there is no column between the two."""
    uprights = sorted((line.x0, line.y0, line.y1) for line in drawn if not line.level)
    places = [x for x, _, _ in uprights]

    def at_rule(x: float, y: float) -> float:
        near = uprights[bisect_left(places, x - RIM) : bisect_right(places, x + RIM)]
        beside = [rule for rule, top, bottom in near if top - SNAP <= y <= bottom + SNAP]
        return min(beside, key=lambda rule: abs(rule - x), default=x)

    for line in shades:
        middle = (line.y0 + line.y1) / 2
        yield RuleLine(at_rule(line.x0, middle), line.y0, at_rule(line.x1, middle), line.y1)
