"""Affine maps, as 3 × 3 matrices, between pixels of the original page and of its prepared picture."""

import numpy as np
from numpy.typing import NDArray

from pipelines.documents.document import Box
from pipelines.documents.ocr.reading import PixelArea

Matrix = NDArray[np.float64]
"""3 × 3, takes (x, y, 1) of edges in one picture to those in another; a picture w wide spans x from 0 to w."""


def quarter_turn(degrees: int, width: int, height: int) -> Matrix:
    """A clockwise turn by 0, 90, 180 or 270 of a picture of this size, onto the turned picture."""
    turns = {
        0: [[1, 0, 0], [0, 1, 0]],
        90: [[0, -1, height], [1, 0, 0]],
        180: [[-1, 0, width], [0, -1, height]],
        270: [[0, 1, 0], [-1, 0, width]],
    }
    return np.array([*turns[degrees % 360], [0, 0, 1]], dtype=np.float64)


def rotation_matrix(degrees: float, width: int, height: int) -> tuple[Matrix, int, int]:
    """A small counterclockwise rotation (as seen) about the centre onto a canvas that holds every corner, and the
    new width and height in pixels."""
    angle = np.deg2rad(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    wide = int(np.ceil(width * abs(cos) + height * abs(sin)))
    high = int(np.ceil(width * abs(sin) + height * abs(cos)))
    turn = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
    return _translation_matrix(wide / 2, high / 2) @ turn @ _translation_matrix(-width / 2, -height / 2), wide, high


def between_centres(matrix: Matrix) -> Matrix:
    """The same map for indices of pixels, whose centres lie half a pixel inside their edges (cv2.warpAffine)."""
    return _translation_matrix(-0.5, -0.5) @ matrix @ _translation_matrix(0.5, 0.5)


def to_page(area: PixelArea, to_prepared: Matrix, width: int, height: int) -> Box:
    """An area, in pixels of the prepared picture, as fractions of the original of this size, clipped to it."""
    corners = np.array([[area.x0, area.x1, area.x1, area.x0], [area.y0, area.y0, area.y1, area.y1], [1, 1, 1, 1]])
    x, y, _ = np.linalg.inv(to_prepared) @ corners
    x, y = np.clip(x / width, 0, 1), np.clip(y / height, 0, 1)
    return Box(float(x.min()), float(y.min()), float(x.max()), float(y.max()))


def _translation_matrix(x: float, y: float) -> Matrix:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]], dtype=np.float64)
