"""Scanned PDFs and pictures to be, and the pages that OCR would have read on them."""

import io
from collections.abc import Sequence
from pathlib import Path

import pypdfium2 as pdfium
from PIL import Image, ImageDraw

from pipelines.documents.document import Box, EngineAttempt, Page, Word

WIDE, HIGH = 0.15, 0.03
RIGHT_TO_LEFT = range(0x590, 0x900)


def scanned_page(lines: Sequence[str], number: int = 1, engine: str = "tesseract") -> Page:
    """A page of words on a grid, a line of Arabic or Hebrew letters from right to left."""
    text, words = "", []
    for row, line in enumerate(lines):
        parts = line.split()
        backwards = any(ord(char) in RIGHT_TO_LEFT for char in line)
        for at, part in enumerate(parts):
            column = len(parts) - 1 - at if backwards else at
            x, y = 0.1 + 0.2 * column, 0.08 + 0.08 * row
            words.append(Word(part, len(text), Box(x, y, x + WIDE, y + HIGH), 0.9))
            text += part + ("\n" if at == len(parts) - 1 else " ")
    return Page(number, text.rstrip("\n"), tuple(words), engine, 0.9)


def drawn_page(number: int = 1) -> Image.Image:
    """A picture of a page with something on it that tells its corners apart."""
    image = Image.new("L", (400, 600), 255)
    draw = ImageDraw.Draw(image)
    draw.rectangle((20, 20, 120, 60), fill=0)
    draw.text((50, 300), f"page {number}", fill=0, font_size=40)
    return image


def write_scan(
    path: Path, pages: int = 1, rotation: int = 0, crop: tuple[float, float, float, float] | None = None
) -> Path:
    """A PDF whose pages are pictures."""
    pdf = pdfium.PdfDocument.new()
    for number in range(1, pages + 1):
        page = pdf.new_page(400, 600)
        picture = pdfium.PdfImage.new(pdf)
        picture.set_bitmap(pdfium.PdfBitmap.from_pil(drawn_page(number)))
        picture.set_matrix(pdfium.PdfMatrix().scale(400, 600))
        page.insert_obj(picture)
        page.gen_content()
        page.set_rotation(rotation)
        if crop is not None:
            page.set_cropbox(*crop)
    pdf.save(path)
    return path


def write_native(path: Path, text: str, picture: bool = False, hidden: str = "") -> Path:
    """A PDF with a text of its own near its top, a picture if that is asked for, and invisible words on it."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=(400, 600))
    if picture:
        from reportlab.lib.utils import ImageReader

        buffer = io.BytesIO()
        drawn_page().save(buffer, "PNG")
        canvas.drawImage(ImageReader(buffer), 0, 0, 400, 600)
    if text:
        canvas.drawString(40, 540, text)
    if hidden:
        line = canvas.beginText(40, 500)
        line.setTextRenderMode(3)
        line.textLine(hidden)
        canvas.drawText(line)
    canvas.showPage()
    canvas.save()
    return path


def replaced_layer() -> EngineAttempt:
    """What a page says whose own OCR layer was not believed."""
    return EngineAttempt("ocr layer", 0.2, 0, False, "the text that the file has behind its picture")
