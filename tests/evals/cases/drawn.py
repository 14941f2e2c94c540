"""Pictures with text on them, drawn the way a scanner would see a page."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONTS = Path("/usr/share/fonts/truetype/dejavu")


def lines_image(
    lines: Sequence[str],
    width: int,
    height: int,
    *,
    size: int = 34,
    top: int = 120,
    noise: float = 0.0,
    serif: bool = True,
) -> Image.Image:
    """Black lines on white (8-bit grey), `width` x `height` pixels; `noise` is the standard deviation of its grain."""
    image = Image.new("L", (width, height), 255)
    font = ImageFont.truetype(str(FONTS / ("DejaVuSerif.ttf" if serif else "DejaVuSans.ttf")), size)
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((width // 12, top + number * size * 8 // 5), line, fill=0, font=font)
    if not noise:
        return image
    grain = np.random.default_rng(7).normal(-noise, noise, (height, width))
    return Image.fromarray(np.clip(np.asarray(image, np.float64) + grain, 0, 255).astype(np.uint8))


def lines_picture(lines: Sequence[str], width: int) -> io.BytesIO:
    """The same as a PNG that is as high as its lines need."""
    held = io.BytesIO()
    lines_image(lines, width, 160 + 60 * len(lines), top=50).save(held, "PNG")
    held.seek(0)
    return held
