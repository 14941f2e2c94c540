"""The lines of a page as people correct them: a line of its text, with the words that stand in it."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.documents.document import Box, Page, Word, bounding_box


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of a page's text, without the white space around it."""

    number: int  # 0-based among all lines of the text, empty ones included
    start: int  # offset of its first character in the page's text
    text: str
    words: tuple[Word, ...] = ()  # that stand in it, in order; none where the format has no geometry

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.text)

    @property
    def box(self) -> Box | None:
        """A rectangle around its words."""
        return bounding_box([word.box for word in self.words]) if self.words else None

    @property
    def confidence(self) -> float | None:
        """Mean confidence of its words, 0 to 1; None without words."""
        return sum(word.confidence for word in self.words) / len(self.words) if self.words else None


def split_lines(page: Page) -> list[PageLine]:
    """The lines that have text; numbers count the empty ones too, so they are those of the text."""
    words = sorted(page.words, key=lambda word: word.start)
    starts = [word.start for word in words]
    lines, offset = [], 0
    for number, raw in enumerate(page.text.split("\n")):
        text, start = raw.strip(), offset + len(raw) - len(raw.lstrip())
        if text:
            own = words[bisect_left(starts, start) : bisect_left(starts, start + len(text))]
            lines.append(PageLine(number, start, text, tuple(own)))
        offset += len(raw) + 1
    return lines


def weak_lines(lines: Sequence[PageLine], threshold: float) -> list[PageLine]:
    """Those that OCR was less sure of than `threshold`, in order."""
    return [line for line in lines if line.confidence is not None and line.confidence < threshold]
