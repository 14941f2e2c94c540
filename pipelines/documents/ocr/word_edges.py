"""Edges of words by their ink, for engines that read a line as a whole and tell only roughly where its words stand."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from pipelines.documents.ocr.compose import is_unspaced
from pipelines.documents.ocr.reading import OcrToken, Picture, PixelArea, TextLine, cut_area

_INK = 0.5  # of the way from the paper to the darkest: what is darker is ink
_LEAST_CONTRAST = 25  # of 255, between the two
_GRAIN = 0.03  # of a column's pixels, or a row's: so few that are dark are no ink; the arm of a T is more
_LEAST_GAP = 2  # pixels between words
_NEXT_LINE = 0.1  # of a box's height: a dot is nearer to its letter, another line is further away


def fit_edges(line: TextLine, image: Picture) -> TextLine:
    """The words of a line that runs across, each as wide and as high as its ink in the picture (grey or RGB).

    Two words are parted by the widest blank from the first's left edge to the middle of the second. Words without one
    between them, and signs that are written without blanks, keep their edges.
    """
    tokens = list(line.tokens)
    for at in range(len(tokens) - 1):
        tokens[at : at + 2] = _part_words(tokens[at], tokens[at + 1], image)
    return TextLine(tuple(_trim_word(token, image) for token in tokens), line.opens)


def _part_words(left: OcrToken, right: OcrToken, image: Picture) -> tuple[OcrToken, OcrToken]:
    if _is_sign(left) or _is_sign(right):
        return left, right
    one, other = left.area, right.area
    between = PixelArea(one.x0, min(one.y0, other.y0), (other.x0 + other.x1) / 2, max(one.y1, other.y1))
    inked = _dark_pixels(image, between).mean(axis=0) > _GRAIN
    blank = max(_blank_runs(inked), key=lambda run: run[1] - run[0], default=(0, 0))
    if blank[1] - blank[0] < _LEAST_GAP:
        return left, right
    start = max(int(between.x0), 0)
    return _with_area(left, x1=start + blank[0]), _with_area(right, x0=start + blank[1])


def _trim_word(token: OcrToken, image: Picture) -> OcrToken:
    """Without the blank at its edges, and the lines above and below; as it was where there is no ink under it."""
    if _is_sign(token):
        return token
    dark = _dark_pixels(image, token.area)
    columns = np.flatnonzero(dark.mean(axis=0) > _GRAIN)
    if not len(columns):
        return token
    left, top = max(int(token.area.x0), 0), max(int(token.area.y0), 0)
    first, last = int(columns[0]), int(columns[-1]) + 1
    rows = _middle_run(dark[:, first:last].mean(axis=1) > _GRAIN)
    if rows is None:
        return _with_area(token, x0=left + first, x1=left + last)
    return _with_area(token, x0=left + first, x1=left + last, y0=top + rows[0], y1=top + rows[1])


def _dark_pixels(image: Picture, area: PixelArea) -> NDArray[np.bool_]:
    """Which pixels of an area are ink; none outside of the picture."""
    part = cut_area(image, area)
    if not part.size:
        return np.zeros((1, 0), dtype=np.bool_)
    grey = part if part.ndim == 2 else part.min(axis=2)
    paper, darkest = (float(level) for level in np.percentile(grey, (75, 1)))
    return np.asarray(grey < paper - max(_INK * (paper - darkest), _LEAST_CONTRAST * _INK))


def _blank_runs(inked: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First column and the one after the last of each run without ink that comes after ink."""
    at = 0
    for is_inked, run in groupby(inked.tolist()):
        end = at + len(list(run))
        if not is_inked and at:
            yield at, end
        at = end


def _middle_run(inked: NDArray[np.bool_]) -> tuple[int, int] | None:
    """First row and the one after the last of the ink around the middle, up to a blank as between lines."""
    rows = np.flatnonzero(inked)
    if not len(rows):
        return None
    parts = np.split(rows, np.flatnonzero(np.diff(rows) > _NEXT_LINE * len(inked)) + 1)
    middle = len(inked) / 2
    nearest = min(parts, key=lambda part: max(part[0] - middle, middle - part[-1], 0))
    return int(nearest[0]), int(nearest[-1]) + 1


def _with_area(token: OcrToken, **edges: float) -> OcrToken:
    """The word with other edges, as long as it keeps a width and a height."""
    area = replace(token.area, **edges)
    return replace(token, area=area) if area.x0 < area.x1 and area.y0 < area.y1 else token


def _is_sign(token: OcrToken) -> bool:
    return any(map(is_unspaced, token.text))
