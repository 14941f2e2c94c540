"""Checks of chunks that hold whatever cut them, lines that make chunkers err, and vectors of letters."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipelines.documents.document import Chunk, Page

HARD_LINES = [
    "",
    "  ",
    "# Title",
    "## Sub title",
    "SAFETY RULES",
    "CHAPTER IV",
    "Section 2",
    "3.1 Scope",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "```",
    "def f(x):",
    "    return x;",
    "}",
    "====",
    "---",
    "A short one. Another one! 这是一句。再来一句。",
    "word " * 60,
    "x" * 450,
    "...",
    ' ."' * 30,
    "Dr. No met Mr. J. Doe. He left.",
    "- item\u2028",
    "\x0c",
    "tail",
]


def assert_no_text_lost(pages: Sequence[Page], chunks: Sequence[Chunk]) -> None:
    """Every character that is not blank stands in a chunk, every span is exact, ordinals are 0-based."""
    texts = {page.number: page.text for page in pages if page.failure is None}
    covered = {number: bytearray(len(text)) for number, text in texts.items()}
    for chunk in chunks:
        assert chunk.spans and chunk.text.strip()
        assert chunk.text == "\n".join(texts[span.page][span.start : span.end] for span in chunk.spans)
        for span in chunk.spans:
            covered[span.page][span.start : span.end] = b"\1" * (span.end - span.start)
    for number, text in texts.items():
        lost = [sign for sign, seen in zip(text, covered[number], strict=True) if not seen and not sign.isspace()]
        assert not lost
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


def letter_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """One unit row a text, by its letters."""
    counts = np.array([[1 + text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)
    return counts.reshape(-1, 26) / np.linalg.norm(counts.reshape(-1, 26), axis=1, keepdims=True)
