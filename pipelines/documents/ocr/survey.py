"""Measurements of a page's picture: letters, specks, paper, skew. Milliseconds a page."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from pipelines.documents.ocr.reading import Picture

SKEW_SIDE = 1000
SKEW_POINTS = 20_000
HALVED_ABOVE = 3_000_000


@dataclass(frozen=True, slots=True)
class InkSurvey:
    """Measurements of a page's ink."""

    letters: int  # how many connected pieces look like a letter
    letter_height: float  # their median height in pixels; 0 without letters
    specks: NDArray[np.bool_]  # H × W, pixels of ink that have next to none around them
    speckled: int  # how many those are


def survey_ink(image: Picture) -> InkSurvey:
    """Measure the ink of a grey picture on light paper."""
    ink = _ink_mask(image)
    # Otsu splits whatever there is: without contrast there is no ink, only the grain of the paper.
    if not ink.any() or cv2.mean(image, ink)[0] > cv2.mean(image, 1 - ink)[0] - 30:
        return InkSurvey(0, 0.0, np.zeros(image.shape, dtype=np.bool_), 0)
    letters, height = _measure_letters(ink)
    crowd = cv2.boxFilter(ink, cv2.CV_8U, (5, 5), normalize=False)
    specks = (ink > 0) & (crowd <= 4)
    return InkSurvey(letters, height, specks, int(np.count_nonzero(specks)))


def is_bilevel(image: Picture) -> bool:
    """True where a grey picture holds nothing but 0 and 255; a sample of its rows settles most pictures."""
    return all(bool(((rows == 0) | (rows == 255)).all()) for rows in (image[:: max(1, len(image) // 16)], image))


def _ink_mask(image: Picture) -> Picture:
    """1 where it is darker than the best single threshold (Otsu 1979), else 0."""
    _, ink = cv2.threshold(image, 0, 1, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU)
    return np.asarray(ink, dtype=np.uint8)


def _measure_letters(ink: Picture) -> tuple[int, float]:
    factor = 2 if ink.size > HALVED_ABOVE else 1
    small = ink if factor == 1 else cv2.resize(ink, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_NEAREST)
    _, _, facts, _ = cv2.connectedComponentsWithStats(small, connectivity=8, ltype=cv2.CV_32S)
    wide, high = facts[1:, cv2.CC_STAT_WIDTH] * factor, facts[1:, cv2.CC_STAT_HEIGHT] * factor
    area = facts[1:, cv2.CC_STAT_AREA] * factor**2
    tallest = max(ink.shape[0] / 10, 40)
    letter = (high > 4) & (high < tallest) & (wide < 4 * high) & (wide > 0.15 * high) & (area > 8)
    return int(letter.sum()), float(np.median(high[letter])) if letter.any() else 0.0


def reduce_picture(image: Picture, factor: int) -> Picture:
    """The picture at 1/factor of its size, averaged."""
    height, width = image.shape
    size = (max(1, width // factor), max(1, height // factor))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def paper_background(image: Picture, factor: int) -> Picture:
    """The paper without its ink, at 1/factor of the size: the brightest nearby, smoothed by a median."""
    bright = cv2.dilate(reduce_picture(image, factor), np.ones((9, 9), np.uint8))
    return np.asarray(cv2.medianBlur(bright, 15), dtype=np.uint8)


def niblack_threshold(image: Picture, side: int = 41, grain: float = 8.0) -> Picture:
    """A threshold for every pixel: the mean around it less one standard deviation (Niblack 1986, k = -1).

    For letters that cover a sixth of the place that is half way between paper and ink, however faint the ink. Where
    the deviation is that of bare paper the level is 0: no ink is made out of `grain`.
    """
    values = image.astype(np.float32)
    mean = cv2.blur(values, (side, side))
    deviation = np.sqrt(np.maximum(cv2.sqrBoxFilter(values, cv2.CV_32F, (side, side)) - mean * mean, 0))
    return np.where(deviation < grain, 0, np.maximum(mean - deviation, 0)).astype(np.uint8)


def skew_of(image: Picture, largest: float) -> tuple[float, float]:
    """Degrees by which lines of text fall to the right, and how much sharper the profile is there than at 0.

    Ink is projected along each angle; lines of text give the profile with the steepest edges (Postl 1986). Text that
    runs upwards has no such angle: the gain stays near 1.
    """
    small = reduce_picture(image, max(1, round(max(image.shape) / SKEW_SIDE)))
    y, x = (points.astype(np.float32) for points in np.nonzero(_ink_mask(small)))
    if len(x) < 50:
        return 0.0, 1.0
    if len(x) > SKEW_POINTS:
        # A fixed seed: the same page must give the same reading.
        chosen = np.random.default_rng(0).choice(len(x), SKEW_POINTS, replace=False)
        x, y = x[chosen], y[chosen]
    steps = int(largest) + 1
    best = float(max(range(-steps, steps + 1), key=lambda degrees: _profile_sharpness(x, y, degrees)))
    for step in (0.25, 0.05):
        best = max((best + step * k for k in range(-4, 5)), key=lambda degrees: _profile_sharpness(x, y, degrees))
    return best, _profile_sharpness(x, y, best) / max(_profile_sharpness(x, y, 0.0), 1e-9)


def _profile_sharpness(x: NDArray[np.float32], y: NDArray[np.float32], degrees: float) -> float:
    angle = np.deg2rad(degrees)
    along = y * np.float32(np.cos(angle)) - x * np.float32(np.sin(angle))
    profile = np.bincount((along - along.min()).astype(np.int32)).astype(np.float64)
    return float((np.diff(profile, prepend=0, append=0) ** 2).sum())
