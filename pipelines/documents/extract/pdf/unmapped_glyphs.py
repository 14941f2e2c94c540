"""Signs of a PDF whose font does not tell what they mean: read by OCR on the picture, and always said."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.documents.document import Box, Caveat, CaveatKind, Page, bounding_box
from pipelines.documents.extract.pdf.glyphs import UNKNOWN
from pipelines.documents.extract.pdf.merge import as_tokens
from pipelines.documents.extract.pdf.page_pictures import overlap_share
from pipelines.documents.extract.pdf.page_words import is_unread
from pipelines.documents.layout.page_tokens import PageToken

_SURE = 0.7
_ON = 0.5  # of a read word's box on that of the word in question
_WHOLE = Box(0, 0, 1, 1)
_ROWS_BESIDE, _WORDS_BESIDE = 3, 12  # heights of a word: OCR tells a line by what is around it
_MOST_OF_PAGE = 0.5
_ALIKE = frozenset("+-–—−~<>=.,'")  # signs that OCR takes others for (± ≤ ≥ ≠ ÷): better none than a wrong one


def in_question(token: PageToken) -> bool:
    """True for a word with unmapped signs; an icon or a bullet of an unknown font by itself does not count."""
    if token.hidden:
        return False
    if token.doubtful or UNKNOWN in token.text:
        return True
    return any(map(is_unread, token.text)) and any(char.isalnum() for char in token.text)


def glyph_area(tokens: Sequence[PageToken], aspect: float) -> Box:
    """The part of a page, in fractions of it, in which words in question stand, with what is around them.

    To read all of a page for one sign costs seconds. Where they stand all over it, that is all of it.

    Args:
        aspect: the page's height by its width.
    """
    boxes = [token.box for token in tokens if token.box and in_question(token)]
    if not boxes:
        return _WHOLE
    high = max(box.y1 - box.y0 for box in boxes)
    around = bounding_box(boxes)
    if around.y1 - around.y0 + 2 * _ROWS_BESIDE * high > _MOST_OF_PAGE:
        return _WHOLE
    beside = _WORDS_BESIDE * high * aspect
    return Box(
        max(0.0, around.x0 - beside),
        max(0.0, around.y0 - _ROWS_BESIDE * high),
        min(1.0, around.x1 + beside),
        min(1.0, around.y1 + _ROWS_BESIDE * high),
    )


def resolve_glyphs(
    tokens: Sequence[PageToken], read: Page | None, area: Box = _WHOLE
) -> tuple[tuple[PageToken, ...], Caveat]:
    """The words, those in question as OCR read them where it is sure, and the remark that belongs to the page.

    Args:
        tokens: at least one of them is in question.
        read: the page, or this part of it, None where it could not be read.
    """
    words = [word for word in as_tokens(read, area) if word.box] if read else []
    result = list(tokens)
    asked = settled = 0
    for at, token in enumerate(tokens):
        if not in_question(token):
            continue
        asked += 1
        found = [word for word in words if token.box and word.box and overlap_share(word.box, token.box) >= _ON]
        text = " ".join(word.text for word in found)
        known = "".join(char for char in token.text if not is_unread(char))
        sure = bool(found) and min(word.confidence for word in found) >= _SURE
        if sure and text != known and len(text) >= len(known) and not set(text) - set(known) & _ALIKE:
            result[at] = replace(token, text=text, confidence=min(word.confidence for word in found))
            settled += 1
        else:
            signs = "".join(UNKNOWN if is_unread(char) else char for char in token.text)
            result[at] = replace(token, text=signs)
    by_ocr = f", {settled} of them read by OCR from the picture" if settled else ""
    detail = f"{asked} words hold signs whose meaning the font does not tell{by_ocr}; compare them with the picture"
    return tuple(result), Caveat(CaveatKind.GLYPHS_UNMAPPED, detail, asked)
