"""Ruling lines of a scanned page: found in its picture as long thin runs of ink, and painted over before it is read."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from pipelines.documents.layout.ruled_grids import RuleLine
from pipelines.documents.ocr.reading import Picture

_DARKER = 40  # than the paper: a thin line is grey where it is scanned
_SHORTEST = 0.012  # of the longer side of the page
_LEVEL, _UPRIGHT = 5.0, 3.5  # heights of a letter: shorter lines may be strokes of a title
_THICKEST = 0.5  # heights of a letter; thicker is a bar or a shade
_MOST_LINES = 3_000  # of one direction: more are a drawing or a photograph
_LEAST_OF_TABLE = 2  # uprights and levels that a table has
_WIDE = 0.25  # of the page: a level that is as long parts rows of a table without uprights, or a head
_LARGE = 20.0  # pixels that a letter is high, from which on half the scale tells lines from letters
_EDGE = 1  # pixels around the ink of a line that are grey

_STEP = 41  # pixels: how much of a leaning line is too short, at both its ends, to be found
_STROKE = 0.45  # heights of a letter: ink that is as high goes through the line and is a letter's
_TOUCH = 24.0  # pixels from an upright to the level that it belongs to, where both lean

Mask = NDArray[np.uint8]
Lines = NDArray[np.float64]
"""A row a line: x0, y0, x1, y1 in pixels."""
Region = tuple[slice, slice]
"""Rows and columns of a picture."""


@dataclass(frozen=True, slots=True)
class PageRules:
    """Ruling lines of a page in pixels of its picture, and the picture without them."""

    lines: tuple[RuleLine, ...]
    image: Picture


@dataclass(frozen=True, slots=True)
class _Runs:
    """Connected pieces of ink: their number at each pixel, and of those that are lines number and ends."""

    pieces: NDArray[np.int32]
    numbers: NDArray[np.intp]
    lines: Lines

    def only(self, chosen: NDArray[np.bool_]) -> "_Runs":
        """Some of the lines."""
        return _Runs(self.pieces, self.numbers[chosen], self.lines[chosen])

    def mask(self, region: Region) -> Mask:
        """1 where a line is, in a part of the picture."""
        kept = np.zeros(max(int(self.numbers.max(initial=0)), int(self.pieces.max())) + 1, np.uint8)
        kept[self.numbers] = 1
        return np.asarray(kept[self.pieces[region]], dtype=np.uint8)


def find_rules(image: Picture, letter_height: float) -> PageRules | None:
    """The lines of a grey picture on light paper; None where they are too few, or short.

    Args:
        letter_height: the median height of a letter in pixels.
    """
    height, width = image.shape
    half = max(1, width // 2), max(1, height // 2)
    small = np.asarray(cv2.resize(image, half, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    least = max(_SHORTEST * max(image.shape), 8.0)
    # Most pages have no rule: half the scale tells that at a quarter of the cost.
    if not _open_runs(_ink_mask(small), round(max(least, _LEVEL * letter_height) / 2), across=True).any():
        return None
    factor = 2 if letter_height >= _LARGE else 1
    ink = _ink_mask(small if factor > 1 else image)
    tall, least = letter_height / factor, least / factor
    levels = _long_runs(ink, round(max(least, _LEVEL * tall)), tall, across=True)
    wide = levels.lines[:, 2] - levels.lines[:, 0] >= _WIDE * ink.shape[1]
    if len(levels.lines) < _LEAST_OF_TABLE and not wide.any():
        return None
    uprights = _long_runs(ink, round(max(least, _UPRIGHT * tall)), tall, across=False)
    uprights = uprights.only(_meet(uprights.lines, levels.lines))
    if len(uprights.lines) < _LEAST_OF_TABLE and not wide.any():
        return None
    lines = np.concatenate([levels.lines, uprights.lines])
    left, top = (max(0, int(edge) - _STEP) for edge in lines[:, :2].min(axis=0))
    right, bottom = (int(edge) + _STEP for edge in lines[:, 2:].max(axis=0))
    region = slice(top, bottom), slice(left, right)
    mask = _rule_ink(levels.mask(region), uprights.mask(region), ink[region], tall)
    clean = image.copy()
    part = clean[top * factor : bottom * factor, left * factor : right * factor]
    if factor > 1:
        mask = np.asarray(cv2.resize(mask, part.shape[::-1], interpolation=cv2.INTER_NEAREST), dtype=np.uint8)
    part[cv2.dilate(mask, np.ones((2 * _EDGE + 1, 2 * _EDGE + 1), np.uint8)) > 0] = 255
    return PageRules(tuple(RuleLine(*line) for line in (factor * lines).tolist()), clean)


def _rule_ink(level: Mask, upright: Mask, ink: Mask, letter_height: float) -> Mask:
    """What is to be painted over."""
    mask = _line_ink(level, ink & ~upright, letter_height, across=True)
    return mask | _line_ink(upright, ink & ~level, letter_height, across=False) if upright.any() else mask


def _ink_mask(image: Picture) -> Mask:
    paper = int(np.median(image[::8, ::8]))
    _, ink = cv2.threshold(image, max(0, paper - _DARKER), 1, cv2.THRESH_BINARY_INV)
    return np.asarray(ink, dtype=np.uint8)


def _long_runs(ink: Mask, least: int, letter_height: float, across: bool) -> _Runs:
    """Ink that goes on for `least` pixels, and the thin lines that it makes; a leaning line is a stair of runs."""
    long = _open_runs(ink, least, across)
    count, pieces, facts, _ = cv2.connectedComponentsWithStats(long, connectivity=8, ltype=cv2.CV_32S)
    left, top, wide, high, area = (facts[:, key].astype(np.float64) for key in range(5))
    # The dilation has added a pixel on either side.
    thin = area / (wide if across else high) - 2 <= max(_THICKEST * letter_height, 2)
    thin &= np.arange(count) > 0
    if count - 1 > _MOST_LINES:
        thin[:] = False
    if across:
        lines = np.stack([left, top + high / 2, left + wide, top + high / 2], axis=1)
    else:
        lines = np.stack([left + wide / 2, top, left + wide / 2, top + high], axis=1)
    return _Runs(np.asarray(pieces, dtype=np.int32), np.flatnonzero(thin), lines[thin])


def _open_runs(ink: Mask, least: int, across: bool) -> Mask:
    thick = cv2.dilate(ink, np.ones((3, 1) if across else (1, 3), np.uint8))
    run = np.ones((1, least) if across else (least, 1), np.uint8)
    return np.asarray(cv2.morphologyEx(thick, cv2.MORPH_OPEN, run), dtype=np.uint8)


def _line_ink(mask: Mask, ink: Mask, letter_height: float, across: bool) -> Mask:
    """The ink of lines to their very ends, without that of letters which touch them.

    Args:
        ink: less that of lines in the other direction.
    """
    longer = np.asarray(cv2.dilate(mask, np.ones((3, _STEP) if across else (_STEP, 3), np.uint8)), dtype=np.uint8)
    high = max(5, round(_STROKE * letter_height))
    stroke = np.ones((high, 1) if across else (1, high), np.uint8)
    through = np.asarray(cv2.morphologyEx(ink, cv2.MORPH_OPEN, stroke), dtype=np.uint8)
    return ((longer & ink) | mask) & ~through


def _meet(uprights: Lines, levels: Lines) -> NDArray[np.bool_]:
    """Which of the uprights cross a level, or end at one: others are strokes of large letters."""
    x, y = uprights[:, 0, None], levels[None, :, 1]
    across = (levels[None, :, 0] - _TOUCH <= x) & (x <= levels[None, :, 2] + _TOUCH)
    down = (uprights[:, 1, None] - _TOUCH <= y) & (y <= uprights[:, 3, None] + _TOUCH)
    return np.asarray((across & down).any(axis=1), dtype=np.bool_)
