"""Scans that are rendered: a text on A4 paper, with the noise, the blur and the skew of a scanner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

DPI = 150
WIDTH, HEIGHT = 1240, 1754  # A4 at 150 dpi
MARGIN = 120
POINTS = 11.5  # of the letters
LEADING = 1.5  # heights of a letter from one line to the next
SPACELESS = ("zh", "ja", "th")  # written without blanks: a line may end anywhere


@dataclass(frozen=True, slots=True)
class PrintedText:
    """A text and how it is set.

    Attributes:
        language: ISO 639-1, by which lines are broken and the direction is chosen.
        vertical: in columns from right to left.
    """

    text: str
    language: str
    font: Path
    vertical: bool = False


def render_scan(printed: PrintedText, seed: int) -> tuple[Image.Image, str]:
    """A grey page at 150 dpi, and the text that stands on it: what does not fit is left out of both."""
    font = ImageFont.truetype(printed.font, round(POINTS * DPI / 72))
    page = Image.new("L", (WIDTH, HEIGHT), 255)
    lines = list(_break_columns(printed, font) if printed.vertical else _break_lines(printed, font))
    step = round(LEADING * font.size)
    most = ((WIDTH if printed.vertical else HEIGHT) - 2 * MARGIN) // step
    draw = ImageDraw.Draw(page)
    for at, line in enumerate(lines[:most]):
        if printed.vertical:
            _draw_column(draw, line, font, WIDTH - MARGIN - (at + 1) * step)
        elif printed.language in ("ar", "he", "fa"):
            draw.text((WIDTH - MARGIN, MARGIN + at * step), line, 0, font, anchor="ra", direction="rtl")
        else:
            draw.text((MARGIN, MARGIN + at * step), line, 0, font)
    scanned = scan_page(page, np.random.default_rng(seed))
    scanned.info["dpi"] = (DPI, DPI)
    return scanned, "\n".join(lines[:most])


def scan_page(page: Image.Image, rng: np.random.Generator) -> Image.Image:
    """What a scanner makes of it: up to a degree of skew, a little blur, grey paper and grain."""
    skewed = page.rotate(float(rng.uniform(-1.0, 1.0)), Image.Resampling.BICUBIC, fillcolor=255)
    soft = np.asarray(skewed.filter(ImageFilter.GaussianBlur(0.6)), dtype=np.float32)
    paper = 25 + soft * (rng.uniform(235, 250) - 25) / 255
    return Image.fromarray(np.clip(paper + rng.normal(0, 8, paper.shape), 0, 255).astype(np.uint8))


def _break_lines(printed: PrintedText, font: ImageFont.FreeTypeFont) -> Iterator[str]:
    wide, glue = WIDTH - 2 * MARGIN, "" if printed.language in SPACELESS else " "
    for paragraph in printed.text.splitlines():
        parts: Sequence[str] = list(paragraph) if not glue else paragraph.split()
        line = ""
        for part in parts:
            longer = f"{line}{glue}{part}" if line else part
            if line and font.getlength(longer) > wide:
                yield line
                longer = part
            line = longer
        if line.strip():
            yield line.strip()


def _break_columns(printed: PrintedText, font: ImageFont.FreeTypeFont) -> Iterator[str]:
    most = (HEIGHT - 2 * MARGIN) // round(1.05 * font.size)
    for paragraph in printed.text.splitlines():
        yield from (paragraph[at : at + most] for at in range(0, len(paragraph), most))


def _draw_column(draw: ImageDraw.ImageDraw, line: str, font: ImageFont.FreeTypeFont, x: int) -> None:
    # Marks that stand in the lower left of their square lie in the upper right of it where a text runs downwards.
    half = font.size // 2
    for at, sign in enumerate(line):
        shift = half if sign in "、。，" else 0
        draw.text((x + shift, MARGIN + at * round(1.05 * font.size) - shift), sign, 0, font)
