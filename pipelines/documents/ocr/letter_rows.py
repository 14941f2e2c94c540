"""Signs that stand side by side in a picture as letters do: told in milliseconds, before or after OCR is asked."""

from itertools import pairwise

import numpy as np

from pipelines.documents.ocr.reading import Picture

LOOK_DPI = 110  # at which pictures are looked at
MANY_LETTERS = 24  # side by side in a picture: so many should give a text
# Of a seal or a logo, whose few signs stand in a circle, any script may be detected. Drawn paragraphs of Russian,
# Chinese and English have 40 or more in 60 characters, Arabic, whose letters hang together, 15 to 26.
ENOUGH_FOR_SCRIPT = 15
_LONG_EDGE = 1_290  # pixels of a sheet of A4 at that resolution: of a picture that does not tell its own
_LETTER_LEAST, _LETTER_MOST = 4, 70  # pixels at that resolution
_PAIR, _WORD = 2, 4  # letters side by side that count in a drawing, and in a photo
_FLAT = 0.4  # of the pixels: a picture with so many of one shade is drawn, not taken
_CONTRAST = 25  # of 255, between ink and what is around it
_MUCH_OF_GRAIN = 0.1
_MANY_DOTS, _FEW_LETTERS = 6_000, 0.3  # pieces of ink, and the part of them that is as high as letters are


def letters_in(image: Picture) -> int:
    """Count the signs of a picture that stand side by side as letters do; on dark ground, too. Milliseconds.

    A drawing has its labels of two figures counted; in a photo, whose grain stands side by side as well, only words
    count, and only where they are more than a small part of the grain. `image` is at LOOK_DPI.
    """
    import cv2  # half of what a file may have in the smallest setting; most pages have no picture to look at

    grey = image if image.ndim == 2 else np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    if grey.size == 0 or grey.min() == grey.max():
        return 0
    shades = np.bincount((grey // 8).ravel(), minlength=32)
    drawn = shades.max() >= _FLAT * grey.size
    # Around each place, not for the whole: a light word on a dark band has its own paper.
    difference = grey.astype(np.int16) - cv2.blur(grey, (25, 25)).astype(np.int16)
    return max(_in_rows(ink.astype(np.uint8), drawn) for ink in (difference < -_CONTRAST, difference > _CONTRAST))


def is_grained(image: Picture) -> bool:
    """True for a picture (at LOOK_DPI) full of dots and dashes, as squared paper is: OCR would try for minutes."""
    import cv2

    grey = image if image.ndim == 2 else np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    difference = grey.astype(np.int16) - cv2.blur(grey, (25, 25)).astype(np.int16)
    ink = (difference < -_CONTRAST).astype(np.uint8)
    _, _, facts, _ = cv2.connectedComponentsWithStats(ink, connectivity=8, ltype=cv2.CV_32S)
    high = facts[1:, cv2.CC_STAT_HEIGHT]
    return len(high) > _MANY_DOTS and float((high >= _LETTER_LEAST).mean()) < _FEW_LETTERS


def _in_rows(ink: Picture, drawn: bool) -> int:
    import cv2

    _, _, facts, _ = cv2.connectedComponentsWithStats(ink, connectivity=8, ltype=cv2.CV_32S)
    left, top, wide, high, area = facts[1:].T
    fits = (high >= _LETTER_LEAST) & (high <= _LETTER_MOST) & (wide <= 3 * high) & (8 * wide >= high)
    fits &= area >= 0.12 * wide * high
    boxes = sorted(
        zip(left[fits].tolist(), top[fits].tolist(), wide[fits].tolist(), high[fits].tolist(), strict=True),
        key=lambda b: (b[1] + b[3], b[0]),
    )
    count = 0
    row: list[tuple[int, int, int, int]] = []
    for box in [*boxes, (0, 10**9, 1, 1)]:
        if row and box[1] + box[3] - (row[-1][1] + row[-1][3]) > max(2, 0.15 * row[-1][3]):
            count += _side_by_side(row, _PAIR if drawn else _WORD)
            row = []
        row.append(box)
    return count if drawn or count >= _MUCH_OF_GRAIN * len(boxes) else 0


def _side_by_side(row: list[tuple[int, int, int, int]], least: int) -> int:
    """Of signs on one base line, those in groups of so many that are close and of like height."""
    row.sort()
    count, group = 0, 1
    for last, box in pairwise([*row, (10**9, 0, 1, 1)]):
        gap = box[0] - (last[0] + last[2])
        tall = max(last[3], box[3])
        if -0.3 * tall <= gap <= 0.8 * tall and min(last[3], box[3]) >= 0.45 * tall:
            group += 1
            continue
        count += group if group >= least else 0
        group = 1
    return count


def seems_to_hold_text(image: Picture, dpi: int | None, least: int = MANY_LETTERS) -> bool:
    """True for a picture with at least so many signs in rows; `dpi` is its resolution where that is known."""
    import cv2

    height, width = image.shape[:2]
    factor = LOOK_DPI / dpi if dpi else _LONG_EDGE / max(1, height, width)
    size = max(1, round(factor * width)), max(1, round(factor * height))  # a strip of one pixel stays one
    small = image if factor >= 1 else cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return letters_in(np.asarray(small, np.uint8)) >= least
