"""Drawings of a PDF page besides its text: the matrices of its objects, and straight lines for tables."""

import ctypes
from collections.abc import Iterable, Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw

DEPTH = 5
"""How deep forms are nested that are looked into."""
_MAX_SEGMENTS = 20_000  # more is a drawing, not a table
_STRAIGHT = 1.0  # points that a line may lean


def page_matrix(item: pdfium.PdfObject) -> pdfium.PdfMatrix:
    """From an object's own space to the page's, through the forms that it is nested in."""
    matrix = item.get_matrix()
    while item.container is not None:
        item = item.container
        matrix = matrix.multiply(item.get_matrix())
    return matrix


def straight_lines(objects: Iterable[pdfium.PdfObject]) -> list[tuple[float, float, float, float]]:
    """Level and upright strokes and edges as (x0, y0, x1, y1) in page points; none where the page is a drawing."""
    lines = []
    for count, (start, end) in enumerate(_path_segments(objects)):
        if count >= _MAX_SEGMENTS:
            return []
        if min(abs(start[0] - end[0]), abs(start[1] - end[1])) <= _STRAIGHT:
            lines.append((*start, *end))
    return lines


def _path_segments(objects: Iterable[pdfium.PdfObject]) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Straight segments of every path that is stroked or filled, in page points."""
    x, y = ctypes.c_float(), ctypes.c_float()
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    for item in objects:
        if item.type != raw.FPDF_PAGEOBJ_PATH:
            continue
        raw.FPDFPath_GetDrawMode(item, fill, stroke)
        if not (fill.value or stroke.value):
            continue
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
