"""Drawings of a PDF page besides its text: matrices of objects, straight lines for tables, letters drawn as shapes."""

import ctypes
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import pypdfium2 as pdfium
import pypdfium2.raw as raw

DEPTH = 5
"""How deep forms are nested that are looked into."""
_MAX_SEGMENTS = 20_000  # more is a drawing, not a table
_STRAIGHT = 1.0  # points that a line may lean
_THICKEST_RULE = 4.0  # points: what is filled and thicker is a shade
_MOST_SHAPES = 20_000  # of a page; more are a drawing, too
_FEWEST_CORNERS = 8  # of a letter; bars, cells and arrows have fewer
_MANY_CORNERS, _CORNERS_A_LETTER = 100, 30  # of a shape that holds a word or a line of letters
_LEAST_HIGH, _MOST_HIGH = 3.0, 60.0  # points that a letter is high
_FEW_KINDS = 5  # of shapes, beside the commonest: the marks of a chart are all alike

Rectangle = tuple[float, float, float, float]
"""Left, bottom, right and top, in page points."""
Point = tuple[float, float]


def page_matrix(item: pdfium.PdfObject) -> pdfium.PdfMatrix:
    """From an object's own space to the page's, through the forms that it is nested in."""
    matrix = item.get_matrix()
    while item.container is not None:
        item = item.container
        matrix = matrix.multiply(item.get_matrix())
    return matrix


def straight_lines(objects: Iterable[pdfium.PdfObject]) -> tuple[list[Rectangle], list[Rectangle]]:
    """Level and upright strokes, and edges of shades, as (x0, y0, x1, y1) in page points; none of a drawing."""
    rules: list[Rectangle] = []
    edges: list[Rectangle] = []
    count = 0
    for shade, segments in _path_segments(objects):
        for start, end in segments:
            count += 1
            if count > _MAX_SEGMENTS:
                return [], []
            if min(abs(start[0] - end[0]), abs(start[1] - end[1])) <= _STRAIGHT:
                (edges if shade else rules).append((*start, *end))
    return rules, edges


def _path_segments(objects: Iterable[pdfium.PdfObject]) -> Iterator[tuple[bool, list[tuple[Point, Point]]]]:
    """Straight segments of each path that is stroked or filled, in page points; and whether it is a shade."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    for item in objects:
        if item.type != raw.FPDF_PAGEOBJ_PATH:
            continue
        raw.FPDFPath_GetDrawMode(item, fill, stroke)
        if fill.value or stroke.value:
            segments = list(islice(_straight_parts(item), _MAX_SEGMENTS + 1))
            xs, ys = (
                zip(*(point for segment in segments for point in segment), strict=True) if segments else ((0,), (0,))
            )
            thick = min(max(xs) - min(xs), max(ys) - min(ys)) > _THICKEST_RULE
            yield thick and not stroke.value, segments


def _straight_parts(item: pdfium.PdfObject) -> Iterator[tuple[Point, Point]]:
    x, y = ctypes.c_float(), ctypes.c_float()
    matrix = page_matrix(item)
    begin = last = (0.0, 0.0)
    for index in range(raw.FPDFPath_CountSegments(item)):
        segment = raw.FPDFPath_GetPathSegment(item, index)
        if not raw.FPDFPathSegment_GetPoint(segment, x, y):
            continue
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield last, point
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield last, begin
            last = begin


def outlined_letters(objects: Sequence[pdfium.PdfObject], least: int) -> Rectangle | None:
    """The place of filled shapes that are as small and as unlike each other as letters; None for fewer than `least`.

    This only counts, and a drawing may have such shapes as well: whoever reads them looks first.
    """
    paths = [item for item in objects if item.type == raw.FPDF_PAGEOBJ_PATH]
    places: list[Rectangle] = []
    kinds: Counter[int] = Counter()
    in_words = 0
    for corners, place in _filled_shapes(paths if len(paths) <= _MOST_SHAPES else ()):
        left, bottom, right, top = place
        if corners >= _MANY_CORNERS:
            in_words += corners // _CORNERS_A_LETTER
        elif _LEAST_HIGH <= top - bottom <= _MOST_HIGH and right - left <= 4 * (top - bottom):
            kinds[corners] += 1
        else:
            continue
        places.append(place)
    unlike = sum(kinds.values()) - max(kinds.values(), default=0)
    if in_words < least and (unlike < least or len(kinds) <= _FEW_KINDS):
        return None
    return min(p[0] for p in places), min(p[1] for p in places), max(p[2] for p in places), max(p[3] for p in places)


def _filled_shapes(paths: Iterable[pdfium.PdfObject]) -> Iterator[tuple[int, Rectangle]]:
    """Corners and place of the shapes that have as many as letters have."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    for item in paths:
        corners = raw.FPDFPath_CountSegments(item)
        raw.FPDFPath_GetDrawMode(item, fill, stroke)
        if corners < _FEWEST_CORNERS or fill.value == raw.FPDF_FILLMODE_NONE:
            continue
        place, holder = item.get_bounds(), item.container
        while holder is not None:
            place, holder = holder.get_matrix().on_rect(*place), holder.container
        yield corners, place
