"""Lines of a page as labels and values: `Label = value`, a label above its value, `ACME Corp., as Borrower`."""

import re
from collections.abc import Iterator
from typing import Final

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import TextPlace
from serve_apps.retrieval.text.values import find_values

LABEL_WORDS: Final = 7
LONGEST_LABEL: Final = 60  # characters
LONGEST_NAME: Final = 200  # characters before a role
MOST_LINES_OF_VALUE: Final = 4  # below a label: an address has some
# How surely a text is the value of its label, by how the two stand to each other.
ASSIGNED: Final = 0.95  # `Total = 12`
TRAILING: Final = 0.85  # `Total 12`
ROLE: Final = 0.9  # `ACME Corp., as Borrower`
BELOW: Final = 0.75  # on the next line
IN_PROSE: Final = 0.7  # the words before a date or a sum
TITLE: Final = 0.75

_ASSIGNED = re.compile(r"(?P<label>[^\W_][^=\n|]{0,58}?)\s*(?:=|\.{3,}|…|\t|\s{3,})\s*(?P<value>\S.*)")
_COLON = re.compile(r"(?P<label>[^\W_][^:|\n]{0,58}?)\s*[:：]\s*(?P<value>\S.*)")
_TRAILING = re.compile(
    r"(?P<label>[^\W\d_][^|\n]{0,58}?)\s+(?P<value>[(\-−]?(?:[$€£¥₹]|[A-Z]{3}(?=\s?\d))?\s?[\-−]?\d[\d.,'’\u00a0\u202f]*\s?(?:[$€£¥₹%]|[A-Z]{3})?\)?)"
)
_ROLE = re.compile(r"\bas (?:the |an? )?(?P<label>[A-Z][^,;.\n]{2,50}?)s?[ \t]{0,9}(?=[,;.\n]|$)")
_ADDRESS = re.compile(r"address|adresse|anschrift|direcci|indirizzo", re.IGNORECASE)
_NAME_AND_ADDRESS = re.compile(r"\bnames?\s*(?:and|&|und|et|y|,|/)\s*(?:address|anschrift|adresse)\b", re.IGNORECASE)
_HEADING_MARK = re.compile(r"#{1,6}\s+")
_TABLE_LINE = re.compile(r"\s*\|")


def find_line_candidates(page: Page) -> Iterator[FieldCandidate]:
    """The candidates of a page's lines."""
    lines = [(at, line) for at, line in _filled_lines(page.text) if not _TABLE_LINE.match(line)]
    for at, line in lines:
        yield from _within_line(page, at, line)
    yield from _below_labels(page, lines)
    yield from _roles(page)
    yield from _values_in_prose(page)
    if page.number == 1:
        yield from _titles(page, lines)


def _filled_lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            mark = _HEADING_MARK.match(line)
            lead = mark.end() if mark else len(line) - len(line.lstrip())
            yield at + lead, line[lead:].rstrip()
        at += len(line)


def _within_line(page: Page, at: int, line: str) -> Iterator[FieldCandidate]:
    for form, weight in ((_COLON, ASSIGNED), (_ASSIGNED, ASSIGNED), (_TRAILING, TRAILING)):
        found = form.fullmatch(line)
        if found and len(found["label"].split()) <= LABEL_WORDS:
            start, end = found.span("value")
            yield _made(page, at + start, at + end, found["label"], weight)


def _below_labels(page: Page, lines: list[tuple[int, str]]) -> Iterator[FieldCandidate]:
    """The line under each line that may be a label, alone and with those that follow it in its paragraph."""
    for number, (_, line) in enumerate(lines[:-1]):
        label = line.rstrip(" :=*")
        if not _may_be_label(line, label):
            continue
        under = lines[number + 1 : number + 1 + MOST_LINES_OF_VALUE]
        start, first = under[0]
        if first.endswith(":"):
            continue
        yield _made(page, start, start + len(first), label, BELOW)
        end = start + len(first)
        for other, text in under[1:]:
            if "\n\n" in page.text[end:other] or text.endswith(":"):
                break
            end = other + len(text)
            # Only an address goes on over lines as a rule.
            weight = BELOW + 0.05 if _ADDRESS.search(label) else BELOW * 0.9
            yield _made(page, start, end, label, weight)
            if _NAME_AND_ADDRESS.search(label):
                yield _made(page, other, end, _NAME_AND_ADDRESS.sub(" address ", label), BELOW + 0.1)
        if _NAME_AND_ADDRESS.search(label):
            yield _made(page, start, start + len(first), _NAME_AND_ADDRESS.sub(" name ", label), BELOW + 0.1)


def _roles(page: Page) -> Iterator[FieldCandidate]:
    """Names before `as Borrower`, behind a comma or on the line above."""
    for found in _ROLE.finditer(page.text):
        before = page.text[max(0, found.start() - LONGEST_NAME) : found.start()]
        name = before.rstrip().rstrip(",").rstrip()
        if name and before[len(name) :].strip(" \t") and before[len(name) :].count("\n") <= 1:
            line = name.rpartition("\n")[2].lstrip(" #*-")
            end = found.start() - len(before) + len(name)
            yield _made(page, end - len(line), end, found["label"], ROLE)


def _may_be_label(line: str, label: str) -> bool:
    """True of a few words that begin as a heading does and do not go on as a sentence does."""
    words = label.split()
    if not 0 < len(label) <= LONGEST_LABEL or len(words) > LABEL_WORDS or label.endswith((",", ".", ";", "-")):
        return False
    return line.endswith(":") or (not label[0].islower() and (len(words) <= 4 or label.isupper() or label.istitle()))


def _values_in_prose(page: Page) -> Iterator[FieldCandidate]:
    """Dates and sums with the words before them, on their line or alone on the one above."""
    text = page.text
    for one in find_values(text):
        if one.kind not in ("date", "money", "percent", "quantity"):
            continue
        before = text[max(0, one.start - LONGEST_LABEL) : one.start]
        line = before.rstrip().rpartition("\n")[2]
        words = re.split(r"[.;|]\s|\|", line)[-1].split()[-LABEL_WORDS:]
        if words:
            yield _made(page, one.start, one.end, " ".join(words), IN_PROSE)


def _titles(page: Page, lines: list[tuple[int, str]]) -> Iterator[FieldCandidate]:
    """The first lines of a document, which may be its title or who wrote it."""
    for number, (at, line) in enumerate(lines[:3]):
        for label in ("title name", "company name"):
            yield _made(page, at, at + len(line), label, TITLE * 0.95**number)


def _made(page: Page, start: int, end: int, label: str, weight: float) -> FieldCandidate:
    text = page.text[start:end]
    inner = text.strip(" *_")
    begin = start + text.find(inner) if inner else start
    return FieldCandidate(inner, TextPlace(page.number, begin, begin + len(inner)), label, weight=weight)
