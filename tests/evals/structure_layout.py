"""Tables of known cells drawn on a page: alignments, rules, cells of several lines and heads over several columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.evals.structure_drawing import SANS, DrawnPage, text_width, wrapped_lines

Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class TrueTable:
    """A table's cells by row and column; `spans` are cells (row, first, last) that stand over several columns."""

    rows: Rows
    spans: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The way in which a table is drawn."""

    face: str = SANS
    size: float = 9.0
    gutter: float = 16.0  # points between the widest cells of two columns
    leading: float = 1.5  # heights of type from row to row
    rules: str = "none"  # `none`, `head` (under the head and above a total), `rows`, `all`, `box`
    bold_head: bool = True
    shaded: bool = False  # every second row


@dataclass(slots=True)
class TableSketch:
    """A table that is not drawn yet.

    Attributes:
        aligns: of each column, `left`, `right`, `center` or `decimal`.
        total: its last row is one.
        wrap: points; longer cells go on in their next line.
    """

    rows: Rows
    aligns: tuple[str, ...]
    spans: tuple[tuple[int, int, int], ...] = ()
    heads: int = 1
    total: bool = False
    title: str = ""
    wrap: float = 130.0


def draw_table(page: DrawnPage, sketch: TableSketch, layout: TableLayout, x: float, y: float) -> float:
    """Draw a table from (x, y) down and give the y below it."""
    bold = f"{layout.face}-Bold"
    covered = {(row, column) for row, first, last in sketch.spans for column in range(first, last + 1)}
    lines = [
        [
            wrapped_lines(text, bold if at < sketch.heads else layout.face, layout.size, sketch.wrap) if text else []
            for text in row
        ]
        for at, row in enumerate(sketch.rows)
    ]
    widths = [
        max(
            max([text_width(line, bold, layout.size) for line in row[column]], default=0)
            for at, row in enumerate(lines)
            if (at, column) not in covered
        )
        for column in range(len(sketch.rows[0]))
    ]
    for row, first, last in sketch.spans:
        room = sum(widths[first : last + 1]) + layout.gutter * (last - first)
        need = max(text_width(line, bold, layout.size) for line in lines[row][first])
        widths[last] += max(0.0, need - room)
    lefts = [x + sum(widths[:at]) + layout.gutter * at for at in range(len(widths))]
    top = y
    edges = [top]
    for at, row in enumerate(lines):
        height = (max(1, *map(len, row)) - 1) * 1.15 * layout.size + layout.leading * layout.size
        last = sketch.total and at == len(lines) - 1
        face = bold if (at < sketch.heads and layout.bold_head) or last else layout.face
        if layout.shaded and at >= sketch.heads and at % 2:
            page.shades.append((x - 4, top, lefts[-1] + widths[-1] + 4, top + height, 0.9))
        base = top + (layout.leading * layout.size + 0.7 * layout.size) / 2
        for column, cell in enumerate(row):
            span = next(((first, end) for one, first, end in sketch.spans if (one, first) == (at, column)), None)
            left = lefts[column]
            right = lefts[span[1]] + widths[span[1]] if span else left + widths[column]
            align = "center" if span else sketch.aligns[column]
            for number, line in enumerate(cell):
                _draw_cell(page, line, (left, right), base + 1.15 * layout.size * number, align, face, layout.size)
        top += height
        edges.append(top)
    _draw_rules(page, sketch, layout, lefts, widths, edges)
    return top


def _draw_cell(
    page: DrawnPage, line: str, place: tuple[float, float], base: float, align: str, face: str, size: float
) -> None:
    left, right = place
    if align == "decimal" and line[-1:].isdigit():
        _, dot, after = line.partition(".")
        tail = text_width(f"{dot}{after}", face, size)
        most = text_width(".00", face, size)
        page.write(right - max(0.0, most - tail), base, line, face, size, "right")
    elif align in ("right", "decimal"):
        page.write(right, base, line, face, size, "right")
    elif align == "center":
        page.write((left + right) / 2, base, line, face, size, "center")
    else:
        page.write(left, base, line, face, size)


def _draw_rules(
    page: DrawnPage,
    sketch: TableSketch,
    layout: TableLayout,
    lefts: Sequence[float],
    widths: Sequence[float],
    edges: Sequence[float],
) -> None:
    left, right = lefts[0] - layout.gutter / 2, lefts[-1] + widths[-1] + layout.gutter / 2
    inner = [(lefts[at] + widths[at] + lefts[at + 1]) / 2 for at in range(len(lefts) - 1)]
    levels: list[float] = []
    match layout.rules:
        case "head":
            levels = [edges[sketch.heads], *([edges[-2]] if sketch.total else [])]
        case "rows":
            levels = list(edges)
        case "all" | "box":
            levels = list(edges) if layout.rules == "all" else [edges[0], edges[sketch.heads], edges[-1]]
            for at in (left, right):
                page.rules.append((at, edges[0], at, edges[-1], 0.8))
            for column, at in enumerate(inner):
                for row in range(len(edges) - 1):
                    if not any(one == row and first <= column < last for one, first, last in sketch.spans):
                        page.rules.append((at, edges[row], at, edges[row + 1], 0.6))
        case _:
            pass
    for level in levels:
        page.rules.append((left, level, right, level, 0.8))
