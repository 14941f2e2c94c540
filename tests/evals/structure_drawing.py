"""Drawn pages: words, rules and shades at points, written as PDF or as a scanner would see them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from tests.evals.cases.drawn import FONTS

SANS, SERIF, CONDENSED = "DejaVuSans", "DejaVuSerif", "DejaVuSansCondensed"
FACES = tuple(f"{face}{weight}" for face in (SANS, SERIF, CONDENSED) for weight in ("", "-Bold"))
A4, LETTER, LANDSCAPE = (595.0, 842.0), (612.0, 792.0), (842.0, 595.0)


@dataclass(frozen=True, slots=True)
class Scanner:
    """The way in which a page is scanned: dots per inch, standard deviation of the grain, degrees of skew."""

    dpi: int = 200
    grain: float = 6.0
    skew: float = 0.0
    blur: float = 0.4


@dataclass(slots=True)
class DrawnPage:
    """What is on a page; all in points, y from the top to the base line."""

    size: tuple[float, float] = A4
    texts: list[tuple[float, float, str, str, float]] = field(default_factory=list)  # x, y, text, face, size
    rules: list[tuple[float, float, float, float, float]] = field(default_factory=list)  # x0, y0, x1, y1, width
    shades: list[tuple[float, float, float, float, float]] = field(default_factory=list)  # x0, y0, x1, y1, grey 0 to 1

    def write(self, x: float, y: float, text: str, face: str, size: float, align: str = "left") -> None:
        """Put a line of text; x is its left end, its right one, or its middle."""
        wide = text_width(text, face, size)
        self.texts.append((x - wide * {"left": 0.0, "right": 1.0, "center": 0.5}[align], y, text, face, size))

    def paragraph(self, x: float, y: float, text: str, face: str, size: float, width: float) -> float:
        """Put a text in lines of this width, and give the y of the line that would follow."""
        for line in wrapped_lines(text, face, size, width):
            self.write(x, y, line, face, size)
            y += 1.3 * size
        return y


def register_faces() -> None:
    """Make the fonts known that measure and draw all pages."""
    for face in FACES:
        if face not in pdfmetrics.getRegisteredFontNames():
            pdfmetrics.registerFont(TTFont(face, str(FONTS / f"{face}.ttf")))


def text_width(text: str, face: str, size: float) -> float:
    """In points."""
    return float(pdfmetrics.stringWidth(text, face, size))


def wrapped_lines(text: str, face: str, size: float, width: float) -> list[str]:
    """The text in lines of at most this width."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", face, size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def write_native(path: Path, pages: Sequence[DrawnPage]) -> Path:
    """A born-digital PDF; its text is drawn in the order in which it was put."""
    canvas = Canvas(str(path), pagesize=pages[0].size, invariant=1)
    for page in pages:
        width, height = page.size
        canvas.setPageSize((width, height))
        for x0, y0, x1, y1, grey in page.shades:
            canvas.setFillGray(grey)
            canvas.rect(x0, height - y1, x1 - x0, y1 - y0, stroke=0, fill=1)
        canvas.setFillGray(0)
        for x0, y0, x1, y1, wide in page.rules:
            canvas.setLineWidth(wide)
            canvas.line(x0, height - y0, x1, height - y1)
        for x, y, text, face, size in page.texts:
            canvas.setFont(face, size)
            canvas.drawString(x, height - y, text)
        canvas.showPage()
    canvas.save()
    return path


def write_scan(path: Path, pages: Sequence[DrawnPage], scanner: Scanner, seed: int) -> Path:
    """A PDF of pictures only, or one picture, by the path's suffix."""
    images = [scanned_image(page, scanner, seed + at) for at, page in enumerate(pages)]
    if path.suffix != ".pdf":
        images[0].save(path, dpi=(scanner.dpi, scanner.dpi))
        return path
    canvas = Canvas(str(path), pagesize=pages[0].size, invariant=1)
    for page, image in zip(pages, images, strict=True):
        held = io.BytesIO()
        image.save(held, "JPEG", quality=80)
        canvas.setPageSize(page.size)
        canvas.drawImage(ImageReader(held), 0, 0, *page.size)
        canvas.showPage()
    canvas.save()
    return path


def scanned_image(page: DrawnPage, scanner: Scanner, seed: int) -> Image.Image:
    """The page in grey, blurred, turned, and with the grain of paper."""
    scale = scanner.dpi / 72
    width, height = (round(side * scale) for side in page.size)
    image = Image.new("L", (width, height), 250)
    draw = ImageDraw.Draw(image)
    for x0, y0, x1, y1, grey in page.shades:
        draw.rectangle((x0 * scale, y0 * scale, x1 * scale, y1 * scale), fill=round(250 * grey))
    for x0, y0, x1, y1, wide in page.rules:
        ends = (x0 * scale, y0 * scale, x1 * scale, y1 * scale)
        draw.line(ends, fill=30, width=max(1, round(wide * scale)))
    for x, y, text, face, size in page.texts:
        font = ImageFont.truetype(str(FONTS / f"{face}.ttf"), round(size * scale))
        # Each word at its own place: whole pixels of letters add up along a line.
        at = x
        for word in text.split(" "):
            draw.text((at * scale, y * scale), word, fill=20, font=font, anchor="ls")
            at += text_width(f"{word} ", face, size)
    if scanner.blur:
        image = image.filter(ImageFilter.GaussianBlur(scanner.blur))
    if scanner.skew:
        image = image.rotate(scanner.skew, Image.Resampling.BICUBIC, fillcolor=250)
    grain = np.random.default_rng(seed).normal(0.0, scanner.grain, (height, width))
    return Image.fromarray(np.clip(np.asarray(image, np.float64) + grain, 0, 255).astype(np.uint8))
