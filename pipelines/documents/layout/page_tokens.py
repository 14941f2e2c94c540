"""Words of a page before their offsets in its text are known, and the text that they make."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.documents.document import Box, Word


@dataclass(frozen=True, slots=True)
class PageToken:
    """A word before its offset is known."""

    text: str
    box: Box | None  # None for marks of Markdown, which stand nowhere on the page
    gap: str  # what separates it from the word before
    size: float = 0.0  # of its type in points, 0 where that is not known or it is not shown
    bold: bool = False  # its font says so
    hidden: bool = False  # it is drawn invisibly, as OCR writes its text behind a picture
    source: int = 0  # the text object that its first letter belongs to; 0 where it has none
    doubtful: bool = False  # the font has no Unicode for one of its signs, and its code was taken instead
    confidence: float = 1.0  # 0 to 1


def compose_text(tokens: Sequence[PageToken]) -> tuple[str, tuple[Word, ...]]:
    """The page's text, and its words with the offsets at which they stand in it."""
    pieces: list[str] = []
    words: list[Word] = []
    length = 0
    for token in tokens:
        gap = token.gap if pieces else ""
        if token.box is not None:
            words.append(Word(token.text, length + len(gap), token.box, token.confidence))
        pieces += (gap, token.text)
        length += len(gap) + len(token.text)
    return "".join(pieces), tuple(words)
