"""Edges of words by their ink, for engines that read a line as a whole and tell only roughly where its words stand."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from pipelines.documents.ocr.compose import is_unspaced
from pipelines.documents.ocr.reading import OcrToken, Picture, PixelArea, TextLine

_INK = 0.5  # of the way from the paper to the darkest: what is darker is ink
_LEAST_CONTRAST = 25  # of 255, between the two
_GRAIN = 0.03  # of a column's pixels: so few that are dark are no ink; the arm of a T is more
_LEAST_GAP = 2  # pixels between words


def fit_edges(line: TextLine, image: Picture) -> TextLine:
    """The words of a line that runs across, each as wide as its ink in the picture (grey or RGB).

    Two words are parted by the widest blank from the first's left edge to the middle of the second. Words without one
    between them, and signs that are written without blanks, keep their edges.
    """
    tokens = list(line.tokens)
    for at in range(len(tokens) - 1):
        tokens[at : at + 2] = _part_words(tokens[at], tokens[at + 1], image)
    return TextLine(tuple(_trim_word(token, image) for token in tokens), line.opens)


def _part_words(left: OcrToken, right: OcrToken, image: Picture) -> tuple[OcrToken, OcrToken]:
    one, other = left.area, right.area
    between = PixelArea(one.x0, min(one.y0, other.y0), (other.x0 + other.x1) / 2, max(one.y1, other.y1))
    if _is_sign(left) or _is_sign(right):
        return left, right
    blank = max(_blank_runs(_inked_columns(image, between)), key=lambda run: run[1] - run[0], default=(0, 0))
    if blank[1] - blank[0] < _LEAST_GAP:
        return left, right
    start = max(int(between.x0), 0)
    return _with_edges(left, one.x0, start + blank[0]), _with_edges(right, start + blank[1], other.x1)


def _trim_word(token: OcrToken, image: Picture) -> OcrToken:
    """Without the blank at its edges; as it was where there is no ink under it."""
    inked = np.flatnonzero(_inked_columns(image, token.area))
    if _is_sign(token) or not len(inked):
        return token
    start = max(int(token.area.x0), 0)
    return _with_edges(token, start + float(inked[0]), start + float(inked[-1] + 1))


def _inked_columns(image: Picture, area: PixelArea) -> NDArray[np.bool_]:
    """Whether there is ink, for each column of pixels of an area; empty where that lies outside of the picture."""
    x0, y0 = max(int(area.x0), 0), max(int(area.y0), 0)
    part = image[y0 : int(area.y1) + 1, x0 : int(area.x1) + 1]
    if not part.size:
        return np.zeros(0, dtype=np.bool_)
    grey = part if part.ndim == 2 else part.min(axis=2)
    paper, darkest = (float(level) for level in np.percentile(grey, (75, 1)))
    if paper - darkest < _LEAST_CONTRAST:
        return np.zeros(grey.shape[1], dtype=np.bool_)
    dark = grey < paper - _INK * (paper - darkest)
    return np.asarray(dark.mean(axis=0) > _GRAIN)


def _blank_runs(inked: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First column and the one after the last of each run without ink that comes after ink."""
    at = 0
    for is_inked, run in groupby(inked.tolist()):
        end = at + len(list(run))
        if not is_inked and at:
            yield at, end
        at = end


def _with_edges(token: OcrToken, x0: float, x1: float) -> OcrToken:
    """The word with other edges, as long as it keeps a width."""
    return replace(token, area=replace(token.area, x0=x0, x1=x1)) if x0 < x1 else token


def _is_sign(token: OcrToken) -> bool:
    return any(map(is_unspaced, token.text))
