"""Tables between ruling lines: the cells that level and upright lines enclose (Nurminen's algorithm)."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.documents.document import Box
from pipelines.documents.layout.table_grids import TableGrid

SNAP = 3.0  # points, pdfplumber's own default
_MIN_LINES = 5  # two columns and two rows share at least three uprights and three crossings, or a box and two lines
_MAX_LINES = 1_500
_MAX_CROSSINGS = 40_000  # more are a drawing
_MAX_TRIES = 400  # corners that are looked at for one cell


class RuleLine(NamedTuple):
    """A level or upright line of a page, in points from its top left corner."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def level(self) -> bool:
        """True for one that goes from left to right."""
        return self.x1 - self.x0 >= self.y1 - self.y0


Point = tuple[float, float]
Rectangle = tuple[float, float, float, float]
"""x0, y0, x1, y1."""


@dataclass(slots=True)
class _Crossings:
    """Points where lines cross, with the lines that do; and the points on each upright and each level."""

    lines: dict[Point, frozenset[int]] = field(default_factory=dict)
    below: dict[float, list[float]] = field(default_factory=lambda: defaultdict(list))
    beside: dict[float, list[float]] = field(default_factory=lambda: defaultdict(list))


def grids_of_lines(lines: Iterable[RuleLine], width: float, height: float) -> list[TableGrid]:
    """The tables of at least two rows and two columns on a page of this size in points; from the top down."""
    merged = _merge_lines(lines)
    if not _MIN_LINES <= len(merged) <= _MAX_LINES:
        return []
    crossings = _cross_lines(merged)
    if crossings is None:
        return []
    grids = []
    for cells in _joined_cells(_enclosed_cells(crossings)):
        rows = _cell_rows(cells, width, height)
        if len(rows) >= 2 and max(map(len, rows)) >= 2:
            outline = tuple(f(edge) for f, edge in zip((min, min, max, max), zip(*cells, strict=True), strict=True))
            grids.append(TableGrid(rows, _fraction_box(outline, width, height)))
    return grids


def _merge_lines(lines: Iterable[RuleLine]) -> list[RuleLine]:
    """Lines that lie on each other, or go on where another ends, as one."""
    edges = [
        {
            "x0": line.x0,
            "x1": line.x1,
            "top": line.y0,
            "bottom": line.y1,
            "orientation": "h" if line.level else "v",
            "width": line.x1 - line.x0,
            "height": line.y1 - line.y0,
        }
        for line in lines
    ]
    from pdfplumber import table  # ten megabytes, which whoever looks at no page need not hold

    merged = table.merge_edges(edges, *[SNAP] * 4) if edges else []
    found = (RuleLine(edge["x0"], edge["top"], edge["x1"], edge["bottom"]) for edge in merged)
    return [line for line in found if max(line.x1 - line.x0, line.y1 - line.y0) >= SNAP]


def _cross_lines(lines: Sequence[RuleLine]) -> _Crossings | None:
    """Every crossing of an upright with a level; None where there are too many."""
    levels = sorted((line.y0, at) for at, line in enumerate(lines) if line.level)
    heights = [height for height, _ in levels]
    met: dict[Point, set[int]] = defaultdict(set)
    for at, upright in enumerate(lines):
        if upright.level:
            continue
        first, last = bisect_left(heights, upright.y0 - SNAP), bisect_right(heights, upright.y1 + SNAP)
        for height, other in levels[first:last]:
            if lines[other].x0 - SNAP <= upright.x0 <= lines[other].x1 + SNAP:
                met[upright.x0, height] |= {at, other}
        if len(met) > _MAX_CROSSINGS:
            return None
    crossings = _Crossings({point: frozenset(of) for point, of in met.items()})
    for x, y in sorted(met):
        crossings.below[x].append(y)
    for y, x in sorted((y, x) for x, y in met):
        crossings.beside[y].append(x)
    return crossings


def _enclosed_cells(crossings: _Crossings) -> list[Rectangle]:
    """The smallest rectangle below and right of each crossing whose four sides are lines."""
    return [cell for point in sorted(crossings.lines) if (cell := _smallest_cell(crossings, *point)) is not None]


def _smallest_cell(crossings: _Crossings, x: float, y: float) -> Rectangle | None:
    known = crossings.lines
    down, right = crossings.below[x], crossings.beside[y]
    begin, begin_right = bisect_right(down, y), bisect_right(right, x)
    for low in down[begin : begin + _MAX_TRIES]:
        if not known[x, y] & known[x, low]:
            continue
        for far in right[begin_right : begin_right + _MAX_TRIES]:
            corner = known.get((far, low))
            joined = corner is not None and known[x, y] & known[far, y]
            if corner is not None and joined and corner & known[far, y] and corner & known[x, low]:
                return x, y, far, low
    return None


def _joined_cells(cells: Sequence[Rectangle]) -> list[list[Rectangle]]:
    """Cells that share a corner with another of the same table, for each table; single cells are none."""
    parents = list(range(len(cells)))

    def root(at: int) -> int:
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    corners: dict[Point, int] = {}
    for at, (x0, y0, x1, y1) in enumerate(cells):
        for corner in ((x0, y0), (x0, y1), (x1, y0), (x1, y1)):
            parents[root(at)] = root(corners.setdefault(corner, at))
    tables: dict[int, list[Rectangle]] = defaultdict(list)
    for at, cell in enumerate(cells):
        tables[root(at)].append(cell)
    return sorted((of for of in tables.values() if len(of) > 1), key=lambda of: min((y0, x0) for x0, y0, _, _ in of))


def _cell_rows(cells: Sequence[Rectangle], width: float, height: float) -> tuple[tuple[Box | None, ...], ...]:
    """The cells by their top and their left edge, None where another reaches over."""
    places = {(cell[1], cell[0]): _fraction_box(cell, width, height) for cell in cells}
    lefts = sorted({x for _, x in places})
    return tuple(tuple(places.get((y, x)) for x in lefts) for y in sorted({y for y, _ in places}))


def _fraction_box(edges: Sequence[float], width: float, height: float) -> Box:
    x0, y0, x1, y1 = edges
    return Box(x0 / width, y0 / height, x1 / width, y1 / height)
