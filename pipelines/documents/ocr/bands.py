"""Bands, buttons and table heads with light letters on a dark ground: turned round where they are, or contrast and
threshold, which take the brightest nearby for paper, would wipe the letters out."""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from pipelines.documents.ocr.reading import Picture
from pipelines.documents.ocr.survey import reduce_picture

REDUCTION = 4
WHITE = 255
DARKEST_PAPER = 165  # a ground darker than this is none that letters are printed on in black
STROKE = 7  # pixels of the reduced picture: no stroke of a letter is as wide, so that text is no ground
RIM = 3
LEAST_WIDE, LEAST_HIGH = 25, 8  # of the reduced picture
LEAST_CONTRAST = 60  # between letters and ground
MOST_SPREAD = 60  # of the ground's brightness: a photograph has more
LEAST_LETTERS = 3
OFTEN, MOSTLY = 0.25, 0.6
SPECK = 6  # pixels
EDGE = 2  # pixels of the reduced picture at a band's edge that are neither ground nor paper


@dataclass(frozen=True, slots=True)
class DarkBand:
    """A dark ground with light letters on it, by its rectangle in pixels of the picture."""

    left: int
    top: int
    right: int
    bottom: int
    shape: NDArray[np.uint8]  # rows and columns of that rectangle, reduced: 1 inside, 0 outside
    ground: float  # its brightness


def light_on_dark(image: Picture) -> tuple[DarkBand, ...]:
    """The bands of a grey picture on light paper, none on most pages."""
    small = reduce_picture(image, REDUCTION)
    dark = (small < DARKEST_PAPER).astype(np.uint8)
    if not dark.any():
        return ()
    solid = _open_mask(dark, STROKE)
    if not solid.any():
        return ()
    # The whole of what is dark around such a place: a line of letters leaves a narrow rim of its band above and below.
    _, pieces = cv2.connectedComponents(_open_mask(dark, RIM), connectivity=8, ltype=cv2.CV_32S)
    whole = np.isin(pieces, np.setdiff1d(pieces[solid > 0], [0])).astype(np.uint8)
    outlines, _ = cv2.findContours(whole, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    return tuple(_find_bands(image, small, outlines))


def invert_bands(image: Picture, bands: tuple[DarkBand, ...]) -> Picture:
    """Dark letters on white in each band; the rest as it is."""
    done = image.copy()
    for band in bands:
        place = (slice(band.top, band.bottom), slice(band.left, band.right))
        part = image[place].astype(np.float32)
        turned = np.clip((WHITE - part) * (WHITE / (WHITE - band.ground)), 0, WHITE).astype(np.uint8)
        kernel = np.ones((2 * EDGE + 1, 2 * EDGE + 1), np.uint8)
        wide = (band.right - band.left, band.bottom - band.top)
        inside = cv2.resize(cv2.erode(band.shape, kernel, borderValue=0), wide, interpolation=cv2.INTER_NEAREST)
        edge = cv2.resize(cv2.dilate(band.shape, kernel), wide, interpolation=cv2.INTER_NEAREST)
        done[place] = np.where(inside > 0, turned, np.where(edge > 0, WHITE, image[place]))
    return done


def _open_mask(mask: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((side, side), np.uint8)), dtype=np.uint8)


def _find_bands(image: Picture, small: Picture, outlines: object) -> Iterator[DarkBand]:
    for outline in outlines:  # type: ignore[attr-defined]
        x, y, wide, high = cv2.boundingRect(outline)
        if wide < LEAST_WIDE or high < LEAST_HIGH:
            continue
        # With a margin, in which its edge is painted over.
        left, top = max(0, x - EDGE - 1), max(0, y - EDGE - 1)
        right, bottom = min(small.shape[1], x + wide + EDGE + 1), min(small.shape[0], y + high + EDGE + 1)
        shape = np.zeros((bottom - top, right - left), np.uint8)
        cv2.drawContours(shape, [outline], -1, (1,), cv2.FILLED, offset=(-left, -top))
        part = small[top:bottom, left:right]
        if shape.sum() < 0.6 * wide * high:
            continue
        ground = part[(shape > 0) & (part < DARKEST_PAPER)]
        if len(ground) < 0.5 * shape.sum() or np.subtract(*np.percentile(ground, (90, 10))) > MOST_SPREAD:
            continue
        height, width = image.shape
        ends = width if right == small.shape[1] else right * REDUCTION
        lower = height if bottom == small.shape[0] else bottom * REDUCTION
        band = DarkBand(left * REDUCTION, top * REDUCTION, ends, lower, shape, float(np.median(ground)))
        if _has_letters(image, band):
            yield band


def _has_letters(image: Picture, band: DarkBand) -> bool:
    """True where its light pixels are letters: pieces of similar height, and little else; in a photograph not."""
    part = image[band.top : band.bottom, band.left : band.right]
    size = (part.shape[1], part.shape[0])
    inside = cv2.resize(cv2.erode(band.shape, np.ones((3, 3), np.uint8)), size, interpolation=cv2.INTER_NEAREST)
    light = ((part > band.ground + LEAST_CONTRAST) & (inside > 0)).astype(np.uint8)
    _, _, facts, _ = cv2.connectedComponentsWithStats(light, connectivity=8, ltype=cv2.CV_32S)
    wide, high, area = (facts[1:, key] for key in (cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT, cv2.CC_STAT_AREA))
    # A letter covers a part of its box, and stands on the ground with some of it above and below.
    fits = (high >= 10) & (high < 0.9 * part.shape[0]) & (wide < 4 * high) & (wide > 0.1 * high)
    fits &= area > 0.1 * wide * high
    few = fits.sum() < max(LEAST_LETTERS, OFTEN * (area >= SPECK).sum())
    if few or area[fits].sum() < MOSTLY * area.sum():
        return False
    ratio = high[fits] / np.median(high[fits])
    return bool(((ratio > 0.5) & (ratio < 2)).mean() > MOSTLY)
