"""Scans made by a seed: pictures of dense text that cost an OCR engine a second each and come out the same."""

import random
from contextlib import suppress
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

NAME = "chaos-"  # how the files begin
PAGES_EACH = 4  # of a document: many documents, so that readers work beside each other
WIDTH, HEIGHT, DPI = 1654, 1170, 200  # half of A4
LINES, LINE_HEIGHT, MARGIN = 20, 48, 120
WORDS: tuple[str, ...] = (
    "harbour",
    "bridge",
    "winter",
    "ledger",
    "copper",
    "valley",
    "signal",
    "engine",
    "garden",
    "letter",
)
WORDS += ("window", "station", "paper", "market", "circle", "branch", "summer", "travel", "button", "silver")
WORDS += ("corner", "bottle", "record", "island", "morning", "teacher", "village", "picture", "weather", "factory")


def generate_pages(folder: Path, pages: int, seed: int) -> int:
    """Write PDFs of so many pictures, unless all are there; how many pages.

    The same seed writes the same words. A document that was half written by one who was killed is written again.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    font = ImageFont.load_default(27)
    for first in range(0, pages, PAGES_EACH):
        target = folder / f"{NAME}{first // PAGES_EACH:05}.pdf"
        if target.exists():
            continue
        numbers = range(first, min(first + PAGES_EACH, pages))
        sheets = [_sheet(random.Random(f"{seed}:{number}"), number + 1, font) for number in numbers]
        unfinished = target.with_suffix(".part")
        sheets[0].save(unfinished, format="PDF", save_all=True, append_images=sheets[1:], resolution=DPI)
        unfinished.replace(target)
    return pages


def forget_pages(folder: Path) -> None:
    """Remove what `generate_pages` wrote there, and the folder unless something else lies in it."""
    for ending in ("pdf", "part"):
        for path in folder.glob(f"{NAME}[0-9]*.{ending}"):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _sheet(rng: random.Random, number: int, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> Image.Image:
    sheet = Image.new("1", (WIDTH, HEIGHT), 1)
    draw = ImageDraw.Draw(sheet)
    draw.text((MARGIN, 80), f"Sheet {number}", fill=0, font=font)
    for line in range(LINES):
        words = " ".join([*rng.choices(WORDS, k=10), str(rng.randrange(1_000, 9_999))])
        draw.text((MARGIN, 150 + LINE_HEIGHT * line), words, fill=0, font=font)
    return sheet
