"""OCR readings in pixels of the picture (tokens, lines, transcripts), and the two ports that engines satisfy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Permanent

Picture = NDArray[np.uint8]
"""H × W grey, or H × W × 3 RGB."""

# A word under this confidence does more harm than good. Tesseract's is that of the worst letter of the word, so it lies
# under a half; on receipts anything from 0.35 to 0.5 chose well.
BREAK_EVEN = 0.4


_FAINTEST = 25  # of 255, from the paper to ink that can be seen


class EngineMissing(Permanent):
    """An OCR engine is not installed, or its models are not there."""

    code = "engine_missing"


@dataclass(frozen=True, slots=True)
class PixelArea:
    """A rectangle in pixels; edges, not pixel centres, so that x1 - x0 is its width."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class OcrToken:
    """A word as an engine read it; confidence 0 to 1."""

    text: str
    area: PixelArea
    confidence: float


@dataclass(frozen=True, slots=True)
class TextLine:
    """Words of one line, left to right; at least one."""

    tokens: tuple[OcrToken, ...]  # its words
    opens: bool = False  # whether a new paragraph or block begins here

    @property
    def text(self) -> str:
        """Its words with single spaces."""
        return " ".join(token.text for token in self.tokens)

    @property
    def confidence(self) -> float:
        """Mean over its words."""
        return sum(token.confidence for token in self.tokens) / len(self.tokens)

    @property
    def area(self) -> PixelArea:
        """The rectangle around its words."""
        return bounding_area([token.area for token in self.tokens])


@dataclass(frozen=True, slots=True)
class LineTranscript:
    """A crop's text as one string, where an engine reads lines as a whole; confidence 0 to 1, in its own measure."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class LetterSurvey:
    """How a page stands and in which letters it is, told in one look."""

    turns: tuple[int, ...]  # degrees clockwise that may bring it upright, the likeliest first; none if it stands
    script: str  # by Tesseract's names; "" where there is too little to tell it
    lies: bool  # whether it surely does not stand upright


class PageEngine(Protocol):
    """Reads a whole page: finds its lines and words."""

    name: str  # as it appears in a page's attempts

    def read(self, image: Picture, *, dpi: int | None, layout: int | None, seconds: float) -> tuple[TextLine, ...]:
        """Lines in reading order, empty for a blank page.

        Args:
            dpi: dots per inch where they are known.
            layout: Tesseract's page segmentation mode; None takes the engine's configured one.
            seconds: of the engine's CPU, after which it gives up.

        Raises:
            Unreadable: timeout (retryable where it hung without using CPU) or crashed.
            EngineMissing: not installed, or a language is missing.
        """

    def turns(self, image: Picture, *, seconds: float) -> tuple[int, ...]:
        """Degrees clockwise (90, 180, 270) that may bring the page upright, the likeliest first; none if it stands."""

    def script(self, image: Picture, *, seconds: float) -> str:
        """Script of an upright page, by Tesseract's names (`Latin`, `Cyrillic`); "" where unsure.

        Raises Unreadable, EngineMissing: as `read`.
        """


class WholePageEngine(Protocol):
    """Reads a whole page in one way of its own."""

    name: str  # as it appears in a page's attempts

    def read(self, image: Picture, *, seconds: float) -> tuple[TextLine, ...]:
        """Lines in reading order, empty for a blank page, for at most `seconds` of CPU.

        Raises Unreadable (timeout, crashed, bomb), EngineMissing (not installed, or no models).
        """

    def recognise(self, image: Picture, areas: Sequence[PixelArea], *, seconds: float) -> tuple[LineTranscript, ...]:
        """One transcript for each area, in their order; empty text where it sees none. Raises as `read`."""


class LineEngine(Protocol):
    """Reads given lines of a page, and can find them where nobody else did."""

    name: str  # as it appears in a page's attempts

    def recognise(self, image: Picture, areas: Sequence[PixelArea]) -> tuple[LineTranscript, ...]:
        """One transcript for each area, in their order; empty text where it sees none.

        Raises Unreadable (crashed), EngineMissing (not installed, or no models).
        """

    def detect(self, image: Picture) -> tuple[PixelArea, ...]:
        """Lines in reading order. Slow without a GPU: some seconds a page. Raises as `recognise`."""


def bounding_area(areas: Sequence[PixelArea]) -> PixelArea:
    """The smallest rectangle that holds all of them."""
    x0, y0, x1, y1 = zip(*((area.x0, area.y0, area.x1, area.y1) for area in areas), strict=True)
    return PixelArea(min(x0), min(y0), max(x1), max(y1))


def cut_area(image: Picture, area: PixelArea) -> Picture:
    """The part of a picture that holds an area, as a view; empty where that lies outside."""
    return image[max(int(area.y0), 0) : int(area.y1) + 1, max(int(area.x0), 0) : int(area.x1) + 1]


def inked_lines(lines: Sequence[TextLine], image: Picture) -> tuple[TextLine, ...]:
    """The lines without signs that an engine sees in a gap between words, where the grey picture holds no ink.

    Only what has neither letters nor figures is looked at.
    """
    lightest = int(np.median(image[::8, ::8])) - _FAINTEST if image.size else 0

    def holds_ink(token: OcrToken) -> bool:
        area = token.area
        part = image[max(0, int(area.y0)) : math.ceil(area.y1), max(0, int(area.x0)) : math.ceil(area.x1)]
        return bool(part.size) and int(part.min()) < lightest

    result = []
    for line in lines:
        kept = tuple(one for one in line.tokens if any(map(str.isalnum, one.text)) or holds_ink(one))
        if kept:
            result.append(line if len(kept) == len(line.tokens) else TextLine(kept, line.opens))
    return tuple(result)


def mean_confidence(lines: Sequence[TextLine]) -> float:
    """The page mean: the mean word confidence, 0 to 1; 0 where there is no word."""
    tokens = [token for line in lines for token in line.tokens]
    return sum(token.confidence for token in tokens) / len(tokens) if tokens else 0.0


def reading_worth(lines: Sequence[TextLine]) -> float:
    """Score to compare readings of one page: characters rightly read, less those that had better stayed away.

    The mean confidence alone would prefer a reading that skips half of the page; a sum alone one that is full of
    garbage.
    """
    return sum((token.confidence - BREAK_EVEN) * len(token.text) for line in lines for token in line.tokens)
