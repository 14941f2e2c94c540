"""Bounding boxes of a chunk on the picture of its page: one rectangle a line."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.documents.document import Box, Page, PageBox, Span, Word


@dataclass(frozen=True, slots=True)
class PageGeometry:
    """A page's words in reading order, ready to be looked up by offset."""

    page: Page
    words: Sequence[Word]
    ends: Sequence[int]

    @classmethod
    def of(cls, page: Page) -> "PageGeometry":
        """Sort once: a page is looked up for every chunk on it."""
        words = sorted(page.words, key=lambda word: word.start)
        return cls(page, words, [word.start + len(word.text) for word in words])

    def lines(self, span: Span) -> Iterator[PageBox]:
        """A rectangle around the words of each line that the span touches."""
        first = bisect_left(self.ends, span.start + 1)
        line: list[Word] = []
        for at in range(first, len(self.words)):
            word = self.words[at]
            if word.start >= span.end:
                break
            if line and self._breaks_line(line[-1], word):
                yield PageBox(span.page, _bounding_box(line))
                line = []
            line.append(word)
        if line:
            yield PageBox(span.page, _bounding_box(line))

    def _breaks_line(self, last: Word, word: Word) -> bool:
        """A new line in the text, or a word that stands above or below."""
        if "\n" in self.page.text[last.start + len(last.text) : word.start]:
            return True
        middle = (word.box.y0 + word.box.y1) / 2
        return not last.box.y0 <= middle <= last.box.y1


def _bounding_box(words: Sequence[Word]) -> Box:
    boxes = [word.box for word in words]
    return Box(min(b.x0 for b in boxes), min(b.y0 for b in boxes), max(b.x1 for b in boxes), max(b.y1 for b in boxes))
