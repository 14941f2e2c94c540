"""A reader whose pages were scanned: every word has a box, and a confidence that the text of the page tells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipelines.documents.document import Box, Page, Word
from pipelines.documents.sources.sniff import Kind
from tests.fakes.reading import FormFeedReader

COLUMNS, LINES = 100, 40
SURE, UNSURE = 0.95, 0.3


def scanned_page(number: int, text: str, unsure: Sequence[str] = ()) -> Page:
    """A page of one column of letters of one width; words that hold one of `unsure` were hard to read."""
    words, offset = [], 0
    for line, raw in enumerate(text.split("\n")):
        column = 0
        for token in raw.split(" "):
            if token and token.strip("|"):
                box = Box(column / COLUMNS, line / LINES, (column + len(token)) / COLUMNS, (line + 0.8) / LINES)
                sure = UNSURE if any(part in token for part in unsure) else SURE
                words.append(Word(token, offset + column, box, sure))
            column += len(token) + 1
        offset += len(raw) + 1
    mean = sum(word.confidence for word in words) / len(words) if words else None
    return Page(number, text, tuple(words), "tesseract", mean)


@dataclass
class ScannedReader(FormFeedReader):
    """Reads text files as scans; `misread` are words and what the engine takes them for, `unsure` those it doubts."""

    misread: dict[str, str] = field(default_factory=dict)
    unsure: tuple[str, ...] = ()

    def read(
        self,
        path: Path,
        kind: Kind,
        numbers: Sequence[int],
        *,
        encoding: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        for page in super().read(path, kind, numbers, encoding=encoding, language=language):
            text = page.text
            for right, wrong in self.misread.items():
                text = text.replace(right, wrong)
            read = scanned_page(page.number, text, self.unsure)
            yield page if page.failure is not None else replace(read, caveats=page.caveats, ms=page.ms)
