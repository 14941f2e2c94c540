"""From lines in pixels to a page: its text, and words that index it exactly."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pipelines.documents.document import Word
from pipelines.documents.layout.page_tokens import PageToken, compose_text
from pipelines.documents.ocr import geometry
from pipelines.documents.ocr.page_layout import with_tables
from pipelines.documents.ocr.preprocess import PreparedPage
from pipelines.documents.ocr.reading import LineTranscript, OcrToken, PixelArea, TextLine

# Marks and kana, signs of extension A and of the main block, of compatibility, and marks as wide as signs.
_UNSPACED = (("\u3000", "\u30ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"), ("\uff01", "\uff5e"))


def compose_page(
    lines: Sequence[TextLine], view: PreparedPage, width: int, height: int
) -> tuple[str, tuple[Word, ...]]:
    """Words joined by a space, lines by a line break, paragraphs by an empty line; tables as Markdown.

    Signs of East Asia are joined by nothing.

    Takes lines in reading order, in pixels of the prepared picture, and the size of the original in pixels; gives the
    text, and each word with its offset in it and its box as fractions of the original.
    """
    read = [token for line in lines for token in line.tokens]
    tokens = [
        token
        if token.box is None  # a mark of Markdown
        else replace(
            token,
            box=geometry.to_page(read[token.source - 1].area, view.to_prepared, width, height),
            confidence=round(token.confidence, 4),
        )
        for token in with_tables(lines, view)
    ]
    return compose_text(_close_up(tokens))


def _close_up(tokens: Sequence[PageToken]) -> list[PageToken]:
    """Without the blanks between signs of East Asia."""
    closed = list(tokens[:1])
    for last, token in pairwise(tokens):
        unspaced = token.gap == " " and is_unspaced(last.text[-1:]) and is_unspaced(token.text[:1])
        closed.append(replace(token, gap="") if unspaced else token)
    return closed


def is_unspaced(char: str) -> bool:
    """True for signs and marks of Chinese and Japanese, between which no blank is written."""
    return any(char and first <= char <= last for first, last in _UNSPACED)


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
