"""From lines in pixels to a page: its text, and words that index it exactly."""

from collections.abc import Sequence

from pipelines.documents.document import Word
from pipelines.documents.ocr import geometry
from pipelines.documents.ocr.reading import LineTranscript, OcrToken, PixelArea, TextLine

# Marks and kana, signs of extension A and of the main block, of compatibility, and marks as wide as signs.
_UNSPACED = (("\u3000", "\u30ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"), ("\uff01", "\uff5e"))


def compose_page(
    lines: Sequence[TextLine], to_prepared: geometry.Matrix, width: int, height: int
) -> tuple[str, tuple[Word, ...]]:
    """Words joined by a space, lines by a line break, paragraphs by an empty line; signs of East Asia by nothing.

    Takes lines in reading order, in pixels of the prepared picture, and the size of the original in pixels; gives the
    text, and each word with its offset in it and its box as fractions of the original.
    """
    pieces: list[str] = []
    words: list[Word] = []
    offset = 0
    for number, line in enumerate(lines):
        glue = "" if number == 0 else "\n\n" if line.opens else "\n"
        last = ""
        for token in line.tokens:
            if last and is_unspaced(last[-1]) and is_unspaced(token.text[0]):
                glue = ""
            last = token.text
            pieces += [glue, token.text]
            offset += len(glue)
            box = geometry.to_page(token.area, to_prepared, width, height)
            words.append(Word(token.text, offset, box, round(token.confidence, 4)))
            offset += len(token.text)
            glue = " "
    return "".join(pieces), tuple(words)


def is_unspaced(char: str) -> bool:
    """True for signs and marks of Chinese and Japanese, between which no blank is written."""
    return any(first <= char <= last for first, last in _UNSPACED)


def as_line(
    transcript: LineTranscript, area: PixelArea, confidence: float, known: TextLine | None = None
) -> TextLine | None:
    """A transcript as words with boxes; None where it is empty.

    A line engine tells no boxes: where it sees as many words as are known already they keep theirs, else each gets
    its share of the width by its characters.
    """
    texts = transcript.text.split()
    if not texts:
        return None
    same = known is not None and len(known.tokens) == len(texts)
    areas = [token.area for token in known.tokens] if known and same else _share_width(texts, area)
    tokens = tuple(OcrToken(text, place, confidence) for text, place in zip(texts, areas, strict=True))
    return TextLine(tokens, opens=known.opens if known is not None else False)


def _share_width(texts: list[str], area: PixelArea) -> list[PixelArea]:
    letter = (area.x1 - area.x0) / (sum(map(len, texts)) + len(texts) - 1)
    areas, x = [], area.x0
    for text in texts:
        areas.append(PixelArea(x, area.y0, x + letter * len(text), area.y1))
        x += letter * (len(text) + 1)
    return areas
