"""Running lines: headers, footers and page numbers, known by their return at the edges of pages and documents."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

EDGE = 3  # lines at the top and at the bottom of a page
LEAST_LINES = 8  # of a page; a shorter one is all content
LEAST_SEEN = 3  # pages of one document, or documents, on which a line has to stand there

_PAGE_NUMBER = re.compile(r"\W*(?:page|p|seite|página)?\W*\d{1,4}(?:\s*(?:of|/|von|de)\s*\d{1,4})?\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunningLines:
    """Running lines as they are compared."""

    forms: frozenset[tuple[str, str]]  # (version, line without figures) within a document, ("", line) across them

    @classmethod
    def of(cls, pages: Iterable[tuple[str, str, str]]) -> "RunningLines":
        """Those of pages: (document version, beginning, end) of each."""
        within: Counter[tuple[str, str]] = Counter()
        across: dict[str, set[str]] = defaultdict(set)
        for version, top, bottom in pages:
            first, last = ([line for line in text.splitlines() if line.strip()] for text in (top, bottom))
            if len(first) < LEAST_LINES and len(last) < LEAST_LINES:
                continue
            edges = {*first[:EDGE], *last[-EDGE:]}
            within.update({(version, without_figures(line)) for line in edges})
            for line in edges:
                across[_plain(line)].add(version)
        repeated = {form for form, count in within.items() if count >= LEAST_SEEN and form[1]}
        everywhere = {("", line) for line, versions in across.items() if len(versions) >= LEAST_SEEN and line}
        return cls(frozenset(repeated | everywhere))

    def has(self, version: str, text: str) -> bool:
        """True where nothing but running lines stands in a text of a document version."""
        return all(
            (version, without_figures(line)) in self.forms
            or ("", _plain(line)) in self.forms
            or _PAGE_NUMBER.fullmatch(line)
            for line in text.splitlines()
            if line.strip()
        )


def without_figures(line: str) -> str:
    """A line without case, blanks and marks, figures made alike: page numbers differ."""
    return re.sub(r"\d+", "#", _plain(line))


def _plain(line: str) -> str:
    return re.sub(r"\W+", "", line.casefold())
