"""Heading detection and level: Markdown, CHAPTER/SECTION, numbered and UPPERCASE headings."""

import re
from collections import Counter
from collections.abc import Sequence

LONGEST_TITLE = 120
DEEPEST = 9

_MARKDOWN = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_NAMED = re.compile(
    r"(chapter|part|book|volume|section|article|appendix|annex)[ \t]+(\d+(?:\.\d+)*|[ivxlcdm]+|[a-z])\b(.*)", re.I
)
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?[ \t]+([^\W\d_].*)")
_OUTERMOST = frozenset({"chapter", "part", "book", "volume", "appendix", "annex"})


def heading_level(line: str, *, before: str, after: str, shouting: bool) -> int | None:
    """The depth of the title in `line`, 1 for the outermost, or None where it is no title.

    Args:
        line: the line, stripped.
        before: the line above, stripped; empty at the start of a page, and after another title.
        after: the line below, stripped; empty at the end of a page.
        shouting: upper case tells nothing on this page (receipts, telegrams), so it makes no titles.
    """
    if not line or len(line) > LONGEST_TITLE:
        return None
    if match := _MARKDOWN.fullmatch(line):
        return len(match[1])
    if before:
        return None
    upper = _is_upper(line)
    if match := _NAMED.fullmatch(line):
        # A paragraph may begin with "Section 5 of the Act …": a title stands alone or is written large.
        if upper or not after or not match[3].strip():
            return 1 if match[1].lower() in _OUTERMOST else 2
        return None
    if match := _NUMBERED.fullmatch(line):
        depth = match[1].count(".") + 1
        if line[-1] not in ".,;:!?" and (not after or upper) and (depth > 1 or match[2][0].isupper()):
            return min(depth + 1, DEEPEST)
        return None
    if upper and not shouting and (not after or not _is_upper(after) or len(line) <= 60):
        return 2
    return None


def title_text(line: str) -> str:
    """The words of a title line, without Markdown's marks."""
    match = _MARKDOWN.fullmatch(line)
    return (match[2].rstrip("#").rstrip() if match else line) or line


def is_marked(line: str) -> bool:
    """True for a stripped line that is a heading by Markdown's marks."""
    return _MARKDOWN.fullmatch(line) is not None


def is_shouting(lines: Sequence[str]) -> bool:
    """More than a third of the page's lines are upper case."""
    filled = [line for line in lines if line]
    return len(filled) > 2 and 3 * sum(map(_is_upper, filled)) > len(filled)


def find_running_lines(pages: Sequence[str]) -> frozenset[str]:
    """Page headers and footers: first or last lines that return on three pages or more, digits aside.

    They would otherwise start a new chunk on every page of a book.
    """
    seen: Counter[str] = Counter()
    for text in pages:
        lines = text.strip().split("\n")
        seen.update({without_digits(lines[0]), without_digits(lines[-1])})
    return frozenset(line for line, count in seen.items() if count >= 3 and line)


def without_digits(line: str) -> str:
    """The line as it is compared between pages: page numbers differ."""
    return "".join(sign for sign in line[:LONGEST_TITLE] if not sign.isdigit()).strip()


def _is_upper(line: str) -> bool:
    letters = sum(map(str.isalpha, line))
    return letters >= 4 and 2 * letters >= len(line.replace(" ", "")) and line.isupper()
