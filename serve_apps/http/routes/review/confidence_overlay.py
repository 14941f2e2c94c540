"""The boxes of words over the picture of their page, coloured by how sure OCR was of each."""

from collections.abc import Sequence
from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw

from pipelines.documents.document import Word

Colour = tuple[int, int, int]

# Confidence from which on a word has a colour, the best first; one below the threshold has the last.
COLOURS: Final[tuple[tuple[float, Colour], ...]] = ((0.95, (46, 125, 50)), (0.8, (192, 152, 0)), (0.0, (230, 112, 0)))
WEAK: Final[Colour] = (198, 40, 40)
FILLED, OUTLINED = 60, 220  # opacity of 255: the letters stay readable
LEAST_PIXELS = 2  # of a side: a hairline would not be seen


def draw_confidence(picture: bytes, words: Sequence[Word], threshold: float) -> bytes:
    """The PNG with a rectangle over each word; below `threshold` it is red."""
    with Image.open(BytesIO(picture)) as opened:
        image = opened.convert("RGB")
    pen = ImageDraw.Draw(image, "RGBA")
    width, height = image.size
    for word in words:
        colour = word_colour(word.confidence, threshold)
        x0, y0 = word.box.x0 * width, word.box.y0 * height
        x1, y1 = max(word.box.x1 * width, x0 + LEAST_PIXELS), max(word.box.y1 * height, y0 + LEAST_PIXELS)
        pen.rectangle((x0, y0, x1, y1), fill=(*colour, FILLED), outline=(*colour, OUTLINED))
    made = BytesIO()
    image.save(made, "PNG")
    return made.getvalue()


def word_colour(confidence: float, threshold: float) -> Colour:
    """The colour of a word."""
    if confidence < threshold:
        return WEAK
    return next(colour for least, colour in COLOURS if confidence >= least or least == 0.0)
