"""What a PDF page draws besides text: straight lines for tables, and how much of it its pictures cover."""

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw

_DEPTH = 5
_MAX_SEGMENTS = 20_000  # more is a drawing, not a table
_STRAIGHT = 1.0  # points that a line may lean


def placed(item: pdfium.PdfObject) -> pdfium.PdfMatrix:
    """From an object's own space to the page's, through the forms that it is nested in."""
    matrix = item.get_matrix()
    while item.container is not None:
        item = item.container
        matrix = matrix.multiply(item.get_matrix())
    return matrix


def straight_lines(page: pdfium.PdfPage) -> list[tuple[float, float, float, float]]:
    """Level and upright strokes and edges as (x0, y0, x1, y1) in page points; none where the page is a drawing."""
    lines = []
    for count, (start, end) in enumerate(_segments(page)):
        if count >= _MAX_SEGMENTS:
            return []
        if min(abs(start[0] - end[0]), abs(start[1] - end[1])) <= _STRAIGHT:
            lines.append((*start, *end))
    return lines


def picture_share(page: pdfium.PdfPage) -> float:
    """The part of the page that its pictures cover, 0 to 1; what overlaps is counted again, up to the whole."""
    left, bottom, right, top = page.get_bbox()
    area = max(1.0, (right - left) * (top - bottom))
    covered = 0.0
    for item in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=_DEPTH):
        x0, y0, x1, y1 = placed(item).on_rect(0, 0, 1, 1)
        covered += max(0.0, min(right, x1) - max(left, x0)) * max(0.0, min(top, y1) - max(bottom, y0))
    return min(1.0, covered / area)


def draws_something(page: pdfium.PdfPage) -> bool:
    """Whether there is anything to see besides text, form fields and stamps included."""
    if raw.FPDFPage_GetAnnotCount(page) > 0:
        return True
    return any(item.type != raw.FPDF_PAGEOBJ_TEXT for item in page.get_objects(max_depth=_DEPTH))


def _segments(page: pdfium.PdfPage) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Straight segments of every path that is stroked or filled, in page points."""
    x, y = ctypes.c_float(), ctypes.c_float()
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    for item in page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=_DEPTH):
        raw.FPDFPath_GetDrawMode(item, fill, stroke)
        if not (fill.value or stroke.value):
            continue
        matrix = placed(item)
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
