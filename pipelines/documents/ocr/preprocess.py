"""Eleven repairs of a page's picture, each done only where a measurement says that the page needs it.

Over-processing costs more than it gains: Tesseract thresholds well by itself, so a clean page must pass untouched.
"""

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from pipelines.documents.layout.ruled_grids import RuleLine
from pipelines.documents.ocr import geometry
from pipelines.documents.ocr.bands import invert_bands, light_on_dark
from pipelines.documents.ocr.reading import Picture
from pipelines.documents.ocr.ruling_lines import find_rules
from pipelines.documents.ocr.survey import (
    InkSurvey,
    is_bilevel,
    niblack_threshold,
    paper_background,
    reduce_picture,
    skew_of,
    survey_ink,
)

WHITE = 255
REDUCTION = 4
# Below this height of letters Tesseract's network sees too few pixels (its documentation: x-height under 10).
SMALL_LETTERS, GOOD_LETTERS, HUGE_LETTERS = 12.0, 18.0, 80.0
MOST_ENLARGEMENT = 2.5
LONGEST_SIDE = 32_000  # Tesseract refuses more than 32,767
SMALLEST_SKEW, LARGEST_SKEW = 1.0, 15.0
LEAST_GRAIN, LEAST_CONTRAST = 2.5, 140.0  # of 255: the paper's standard deviation, and from the ink to it
MOST_GREY = 0.6  # of the ink that is grey: more is thin strokes, of which white levels would leave too little
SHADE = 0.2  # of the way from paper to ink: a ground that is no darker is white, too
THINNEST_BORDER = 3  # rows of the reduced picture; a thinner line at the edge disturbs nobody
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PreparedPage:
    """A page's picture as the engines get it."""

    image: Picture  # grey, H × W
    to_prepared: geometry.Matrix  # takes points of the original to this picture
    dpi: int | None  # after scaling, where it was known
    steps: tuple[str, ...] = ()  # the repairs that were needed, in order
    inked: bool = True  # whether there is anything on it that could be text
    rules: tuple[RuleLine, ...] = ()  # ruling lines that were painted over, in pixels of this picture

    def after(self, step: str, image: Picture, matrix: geometry.Matrix | None = None) -> "PreparedPage":
        """This picture with one more repair done."""
        to_prepared = self.to_prepared if matrix is None else matrix @ self.to_prepared
        rules = self.rules if matrix is None else tuple(_turned_rule(rule, matrix) for rule in self.rules)
        return replace(self, image=image, to_prepared=to_prepared, rules=rules, steps=(*self.steps, step))


def unrepaired_page(image: Picture, dpi: int | None) -> PreparedPage:
    """The page in grey, nothing else done to it."""
    return PreparedPage(to_grey(image), np.eye(3), dpi)


def prepare_page(image: Picture, dpi: int | None, most_pixels: int = 120_000_000) -> PreparedPage:
    """Every repair the page needs, in an order in which none disturbs the measurement of the next.

    Rotation by quarter turns is not among them: it shows only in a bad reading, see `rotate_page`.
    """
    page = unrepaired_page(image, dpi)
    for repair in (_repair_inversion, _repair_bands, _repair_border, _repair_contrast):
        page = repair(page)
    survey = survey_ink(page.image)
    page = _repair_specks(replace(page, inked=survey.letters > 0), survey)
    page = _repair_threshold(_repair_skew(_repair_scale(page, survey, most_pixels)))
    return _repair_rules(_repair_grain(page), survey)


def to_grey(image: Picture) -> Picture:
    """H × W luminance (ITU-R BT.601)."""
    return image if image.ndim == 2 else np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def rotate_page(page: PreparedPage, degrees: int) -> PreparedPage:
    """Rotation correction: a clockwise quarter turn (0, 90, 180, 270), then deskewed, for that hides under a turn."""
    height, width = page.image.shape
    upright = np.ascontiguousarray(np.rot90(page.image, k=-(degrees // 90)))
    return _repair_skew(page.after(f"rotation {degrees}", upright, geometry.quarter_turn(degrees, width, height)))


# Each repair below: what the page needs (None or False: nothing), then the doing.


def needs_deskew(image: Picture) -> float | None:
    """Degrees by which the lines fall to the right, where that is sure and more than Tesseract bears by itself."""
    angle, gain = skew_of(image, LARGEST_SKEW)
    return angle if SMALLEST_SKEW <= abs(angle) < LARGEST_SKEW and gain >= 1.3 else None


def deskew_picture(image: Picture, degrees: float) -> tuple[Picture, geometry.Matrix]:
    """Rotated counterclockwise on a larger white canvas, and the map onto it."""
    height, width = image.shape
    matrix, wide, high = geometry.rotation_matrix(degrees, width, height)
    onto = geometry.between_centres(matrix)[:2]
    turned = cv2.warpAffine(image, onto, (wide, high), flags=cv2.INTER_CUBIC, borderValue=(WHITE,))
    return np.asarray(turned, dtype=np.uint8), matrix


def needs_denoise(survey: InkSurvey) -> bool:
    """True where the ink of specks outweighs the letters by far."""
    return survey.speckled > 8 * survey.letters + 500


def remove_specks(image: Picture, specks: Mask) -> Picture:
    """Specks replaced by the median around them; the strokes of letters are not touched."""
    around = cv2.dilate(specks.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    return np.where(around, cv2.medianBlur(image, 5), image).astype(np.uint8)


def needs_contrast(paper: Picture) -> bool:
    """True where the paper (see `paper_background`) is dark or unevenly lit."""
    low, middle, high = np.percentile(paper, (5, 50, 95))
    return bool(middle < 240 or high - low > 20)


def flatten_contrast(image: Picture, paper: Picture) -> Picture:
    """Divided by the paper's brightness, so that paper is white everywhere."""
    height, width = image.shape
    full = cv2.resize(paper, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.divide(image, np.maximum(full, 1), scale=WHITE), dtype=np.uint8)


def needs_scaling(survey: InkSurvey, shape: tuple[int, ...], most_pixels: int) -> float | None:
    """The factor that brings small or huge letters to a size the engine reads, within its limits."""
    factor = 1.0
    if survey.letters >= 20 and survey.letter_height < SMALL_LETTERS:
        factor = min(GOOD_LETTERS / survey.letter_height, MOST_ENLARGEMENT)
    elif survey.letters >= 20 and survey.letter_height > HUGE_LETTERS:
        factor = HUGE_LETTERS / 2 / survey.letter_height
    factor = min(factor, LONGEST_SIDE / max(shape), max((most_pixels / (shape[0] * shape[1])) ** 0.5, 1.0))
    return None if abs(factor - 1) < 0.05 and max(shape) <= LONGEST_SIDE else factor


def scale_picture(image: Picture, factor: float) -> tuple[Picture, geometry.Matrix]:
    """Resized, and the exact map (sizes are whole pixels, so its factors differ a little from `factor`)."""
    height, width = image.shape
    wide, high = max(1, round(width * factor)), max(1, round(height * factor))
    how = cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA
    resized = np.asarray(cv2.resize(image, (wide, high), interpolation=how), dtype=np.uint8)
    return resized, np.diag([wide / width, high / height, 1.0])


def needs_border_removal(image: Picture) -> tuple[int, int, int, int] | None:
    """Pixels of dark scanner edge at the top, right, bottom and left; None where there is none."""
    dark = reduce_picture(image, REDUCTION) < 100
    top, right, bottom, left = (REDUCTION * _dark_rows(np.rot90(dark, turns)) for turns in range(4))
    return (top, right, bottom, left) if top or right or bottom or left else None


def remove_border(image: Picture, edges: tuple[int, int, int, int]) -> Picture:
    """The edges painted white; the size stays, so no place on the page moves."""
    top, right, bottom, left = edges
    height, width = image.shape
    clean, inside = np.full_like(image, WHITE), (slice(top, height - bottom), slice(left, width - right))
    clean[inside] = image[inside]
    return clean


def needs_whitening(image: Picture) -> tuple[float, float] | None:
    """Levels of black and white that leave grain and light shades white; None for paper without grain, or faint ink.

    Grain near letters costs figures: words still read by what is likely in a language, figures do not. On faint ink
    the levels would thin the letters.
    """
    sample = np.ascontiguousarray(image[::4, ::4])
    paper = float(np.median(sample[sample >= np.percentile(sample, 40)]))
    level, _ = cv2.threshold(sample, 0, WHITE, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    inked = sample[sample <= level]
    ink = float(inked.mean()) if inked.size else paper
    grain = 1.4826 * float(np.median(np.abs(sample[sample > paper - 60] - paper)))  # as a standard deviation
    contrast = paper - ink
    if grain < LEAST_GRAIN or contrast < LEAST_CONTRAST:
        return None
    grey = np.count_nonzero((sample > ink + contrast / 4) & (sample < paper - contrast / 4))
    if grey > MOST_GREY * inked.size:
        return None
    return ink / 2, paper - max(3 * grain, SHADE * contrast)


def whiten_paper(image: Picture, levels: tuple[float, float]) -> Picture:
    """The picture with these levels as black and white."""
    black, white = levels
    table = np.clip((np.arange(256) - black) * (WHITE / (white - black)), 0, WHITE).astype(np.uint8)
    return np.asarray(cv2.LUT(image, table), dtype=np.uint8)


def needs_threshold(image: Picture) -> bool:
    """True where a global threshold (Otsu 1979), Tesseract's own, loses ink that a local one keeps."""
    small = reduce_picture(image, 2)
    level, _ = cv2.threshold(small, 0, WHITE, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    local, whole = _ink_shares(small <= niblack_threshold(small)), _ink_shares(small <= level)
    inked = (local > 0.02) & (local < 0.5)
    lost = inked & (whole < 0.1 * local)
    return bool(inked.sum() >= 20 and lost.sum() > 0.25 * inked.sum())


def threshold_map(image: Picture) -> Picture:
    """The level of each place, found at half the size: at the full one a large page would cost gigabytes."""
    height, width = image.shape
    level = cv2.resize(niblack_threshold(reduce_picture(image, 2)), (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(level, dtype=np.uint8)


def _repair_inversion(page: PreparedPage) -> PreparedPage:
    """White on black is turned round: everything below takes paper for light."""
    if np.median(page.image[::REDUCTION, ::REDUCTION]) >= 90:
        return page
    return page.after("inversion", np.asarray(WHITE - page.image, dtype=np.uint8))


def _repair_bands(page: PreparedPage) -> PreparedPage:
    """Before the border, which a band across the top of the page would be taken for."""
    found = light_on_dark(page.image)
    return page.after(f"inversion of {len(found)} bands", invert_bands(page.image, found)) if found else page


def _repair_border(page: PreparedPage) -> PreparedPage:
    edges = needs_border_removal(page.image)
    return page if edges is None else page.after("border removal", remove_border(page.image, edges))


def _repair_contrast(page: PreparedPage) -> PreparedPage:
    if is_bilevel(page.image):
        return page
    paper = paper_background(page.image, REDUCTION)
    return page.after("contrast", flatten_contrast(page.image, paper)) if needs_contrast(paper) else page


def _repair_specks(page: PreparedPage, survey: InkSurvey) -> PreparedPage:
    return page.after("denoise", remove_specks(page.image, survey.specks)) if needs_denoise(survey) else page


def _repair_scale(page: PreparedPage, survey: InkSurvey, most_pixels: int) -> PreparedPage:
    factor = needs_scaling(survey, page.image.shape, most_pixels)
    if factor is None:
        return page
    scaled = page.after("DPI scaling", *scale_picture(page.image, factor))
    return replace(scaled, dpi=None if page.dpi is None else round(page.dpi * factor))


def _repair_skew(page: PreparedPage) -> PreparedPage:
    angle = needs_deskew(page.image)
    return page if angle is None else page.after(f"deskew {angle:.1f}", *deskew_picture(page.image, angle))


def _repair_threshold(page: PreparedPage) -> PreparedPage:
    if not page.inked or is_bilevel(page.image) or not needs_threshold(page.image):
        return page
    black_or_white = np.where(page.image <= threshold_map(page.image), 0, WHITE).astype(np.uint8)
    return page.after("threshold", page.image).after("binarisation", black_or_white)


def _repair_grain(page: PreparedPage) -> PreparedPage:
    if not page.inked or is_bilevel(page.image):
        return page
    levels = needs_whitening(page.image)
    return page if levels is None else page.after("grain", whiten_paper(page.image, levels))


def _repair_rules(page: PreparedPage, survey: InkSurvey) -> PreparedPage:
    """Rules of tables are painted over: engines take them for letters beside those that stand near them."""
    if not page.inked or not survey.letters:
        return page
    scale = abs(float(np.linalg.det(page.to_prepared[:2, :2]))) ** 0.5
    found = find_rules(page.image, survey.letter_height * scale)
    return page if found is None else replace(page.after("rules", found.image), rules=found.lines)


def _turned_rule(rule: RuleLine, matrix: geometry.Matrix) -> RuleLine:
    """The line on a picture that was turned or scaled."""
    (x0, x1), (y0, y1), _ = matrix @ np.array([[rule.x0, rule.x1], [rule.y0, rule.y1], [1, 1]])
    left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
    if right - left >= bottom - top:
        return RuleLine(float(left), float(y0 + y1) / 2, float(right), float(y0 + y1) / 2)
    return RuleLine(float(x0 + x1) / 2, float(top), float(x0 + x1) / 2, float(bottom))


def _dark_rows(dark: Mask) -> int:
    """Number of mostly dark rows from the top; 0 where they go on too far for a scanner edge."""
    most = max(1, len(dark) // 8)
    share = dark[: most + 1].mean(axis=1) > 0.6
    depth = int(np.argmin(share)) if not share.all() else len(share)
    return depth if THINNEST_BORDER <= depth <= most else 0


def _ink_shares(ink: Mask, side: int = 32) -> NDArray[np.float64]:
    high, wide = ink.shape[0] // side * side, ink.shape[1] // side * side
    tiles: NDArray[np.float64] = ink[:high, :wide].reshape(high // side, side, wide // side, side).mean(axis=(1, 3))
    return tiles
