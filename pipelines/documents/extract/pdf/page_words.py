"""Coordinates of a PDF page as fractions of the page as it is shown."""

import ctypes

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pipelines.documents.document import Box
from pipelines.documents.extract.pdf.glyphs import UNKNOWN, Glyph

_DEVICE = 1_000_000  # page coordinates as integers of this many steps, to get fractions from pdfium's own rotation
_MIN_BOX = 1e-4
_FAR = 10_000  # points
_MARGIN = 0.002  # of the page: letters on its very edge are shown


class PageMapper:
    """Page coordinates to fractions of the page as it is shown: cropped, rotated, origin top left."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        x, y = ctypes.c_int(), ctypes.c_int()

        def device(px: float, py: float) -> tuple[float, float]:
            raw.FPDF_PageToDevice(page, 0, 0, _DEVICE, _DEVICE, 0, px, py, x, y)
            return x.value / _DEVICE, y.value / _DEVICE

        # pdfium is asked for three points only: the map is affine, and a page has thousands.
        self._x0, self._y0 = device(0, 0)
        (x1, y1), (x2, y2) = device(_FAR, 0), device(0, _FAR)
        self._ax, self._ay = (x1 - self._x0) / _FAR, (y1 - self._y0) / _FAR
        self._bx, self._by = (x2 - self._x0) / _FAR, (y2 - self._y0) / _FAR
        media, shown = page.get_mediabox(), page.get_bbox()
        self.shows_all = all(abs(a - b) < 1 for a, b in zip(media, shown, strict=True)) if media else False

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point in PDF units as fractions of width and height."""
        return self._x0 + self._ax * x + self._bx * y, self._y0 + self._ay * x + self._by * y

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """A rectangle in PDF units, kept on the page and never empty."""
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        if x0 > x1:
            x0, x1 = x1, x0
        if y0 > y1:
            y0, y1 = y1, y0
        x0, y0 = min(1.0, max(0.0, x0)), min(1.0, max(0.0, y0))
        return Box(x0, y0, max(min(1.0, x1), x0 + _MIN_BOX), max(min(1.0, y1), y0 + _MIN_BOX))

    def shows(self, glyph: Glyph) -> bool:
        """True if the middle of a character lies on the page as it is shown, and not in what is cropped."""
        x, y = self.point((glyph.left + glyph.right) / 2, (glyph.bottom + glyph.top) / 2)
        return glyph.run is None or (-_MARGIN <= x <= 1 + _MARGIN and -_MARGIN <= y <= 1 + _MARGIN)


def is_unread(char: str) -> bool:
    """True for a character that means nothing to a person."""
    return char == UNKNOWN or "\ue000" <= char < "\uf900" or char >= "\U000f0000"
