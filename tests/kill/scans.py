"""Image-only PDFs with a given number of pages, each page saying which one it is."""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WORDS = ("harbour", "bridge", "winter", "ledger", "copper", "valley", "signal", "engine", "garden", "letter")


def make_scans(folder: Path, documents: int, pages: int) -> int:
    """Write `documents` PDFs of `pages` pictures and return how many pages that is."""
    folder.mkdir(parents=True, exist_ok=True)
    font = ImageFont.load_default(28)
    for document in range(documents):
        sheets = [_sheet(document, page, font) for page in range(1, pages + 1)]
        sheets[0].save(folder / f"scan-{document:03}.pdf", save_all=True, append_images=sheets[1:], resolution=150)
    return documents * pages


def _sheet(document: int, page: int, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> Image.Image:
    sheet = Image.new("L", (1000, 700), 255)
    draw = ImageDraw.Draw(sheet)
    draw.text((80, 80), f"Document {document} page {page}", fill=0, font=font)
    for line in range(8):
        words = " ".join(WORDS[(document + page * 3 + line * 7 + n) % len(WORDS)] for n in range(6))
        draw.text((80, 160 + 55 * line), f"{words} {document * 1000 + page * 10 + line}", fill=0, font=font)
    return sheet
