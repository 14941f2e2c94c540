"""Quotes: where they stand on a page, word for word, and what a reader is shown of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.documents.chunk.split import PageGeometry
from pipelines.documents.document import Page, PageBox, PlacedCaveat, Span
from pipelines.documents.store.page_codec import words_from_json

ANYWHERE = 0  # the number of no source: whichever says it
_LETTER = "[0-9A-Za-z\u00c0-\u024f]"  # of scripts that put spaces between words
LEAST_WORDS = 3  # a shorter quote stands anywhere and proves nothing, unless it is the whole of its line


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in a document that supports what the answer says."""

    n: int  # the number the answer refers to, from 1
    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    page: int  # 1-based
    quote: str  # the page's text at [start, end), character for character
    start: int
    end: int
    boxes: tuple[PageBox, ...]  # a rectangle a line, in fractions of the page; empty where a format has no geometry
    ocr_confidence: float | None  # mean confidence of the quoted words, 0 to 1; None for born-digital text
    caveats: tuple[PlacedCaveat, ...] = ()  # what the page's text does not hold, or may have wrong

    @property
    def url(self) -> str:
        """The page in the API, of the version that was quoted, whatever readers see by now."""
        return f"/api/documents/{self.document_id}/versions/{self.version_id}/pages/{self.page}"


def locate_quote(quote: str, text: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """Position of `quote` in text[start:end], white space folded; None where it is not there.

    A quote of less than three words has to be a whole line.
    """
    parts = quote.split()
    if not parts:
        return None
    words = r"\s+".join(map(re.escape, parts))
    # Nor does it begin or end within a word or number: `holds 12` is not what `holds 1200` says.
    pattern = rf"(?<!{_LETTER}){words}(?!{_LETTER})"
    if len(parts) < LEAST_WORDS:
        pattern = rf"(?m:^)[^\w\n]*{pattern}[^\w\n]*(?m:$)"
    found = re.compile(pattern).search(text, start, len(text) if end is None else end)
    return found.span() if found else None


def describe_quote(page: Page, start: int, end: int) -> tuple[tuple[PageBox, ...], float | None]:
    """The rectangles of page.text[start:end], and how sure the engine was of its words (None for native text)."""
    boxes = tuple(PageGeometry.of(page).lines(Span(page.number, start, end)))
    if page.is_native:
        return boxes, None
    sure = [word.confidence for word in page.words if start < word.start + len(word.text) and word.start < end]
    return boxes, sum(sure) / len(sure) if sure else page.confidence


def page_of(row: dict[str, object]) -> Page:
    """A stored page, as far as quotes need it."""
    words, number, text, engine = row["words"], row["number"], row["text"], row["engine"]
    assert isinstance(words, Sequence) and isinstance(number, int) and isinstance(text, str)
    confidence = row["confidence"]
    sure = float(confidence) if isinstance(confidence, int | float) else None
    return Page(number, text, words_from_json(words), str(engine), sure)
