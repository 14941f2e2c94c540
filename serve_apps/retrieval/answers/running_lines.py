"""Running lines: headers, footers and page numbers, known by their return at the edges of pages and documents."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

EDGE = 3  # lines at the top and at the bottom of a page
LEAST_LINES = 8  # of a page; a shorter one is all content
LEAST_SEEN = 3  # pages of one document, or documents, on which a line has to stand there
LEAST_SHARE = 0.7  # of the documents of a form: what only some of them say there is what they say

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
                if _plain(line) and not _PAGE_NUMBER.fullmatch(line):  # these say nothing of the form of a document
                    across[_plain(line)].add(version)
        repeated = {form for form, count in within.items() if count >= LEAST_SEEN and form[1]}
        alike = _documents_alike(across)
        everywhere = {
            ("", line)
            for line, versions in across.items()
            if len(versions) >= max(LEAST_SEEN, LEAST_SHARE * len(alike[next(iter(versions))]))
        }
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


def _documents_alike(across: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """For each document those of its form: which share a line at an edge with it, or with one that does."""
    alike: dict[str, set[str]] = {}
    for versions in across.values():
        joined = set[str]().union(versions, *(alike.get(one, ()) for one in versions))
        alike.update(dict.fromkeys(joined, joined))
    return alike


def without_figures(line: str) -> str:
    """A line without case, blanks and marks, figures made alike: page numbers differ."""
    return re.sub(r"\d+", "#", _plain(line))


def _plain(line: str) -> str:
    return re.sub(r"\W+", "", line.casefold())
