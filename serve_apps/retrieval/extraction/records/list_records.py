"""Records outside of tables: the items of lists under their headings, and runs of lines that each end in a price."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import FoundValue, TextPlace
from serve_apps.retrieval.extraction.field_words import FieldWords, share_covered, split_name
from serve_apps.retrieval.extraction.records.table_records import RecordTable
from serve_apps.retrieval.extraction.schema_fields import FieldKind, SchemaField
from serve_apps.retrieval.extraction.typed_values import convert_text

LEAST_NAMED: Final = 0.5  # share of an array's words that the heading of its list has
LONGEST_PRICED: Final = 400  # characters of a line with a price, the blanks before it among them
LEAST_LINES: Final = 3  # with a price, that are records
COLUMNS: Final = ("quantity", "description item", "price", "amount total price")
_ITEM = re.compile(r"[ \t]*(?:[-*•–·▪]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?P<text>\S.*)")
_PRICE = r"[(\-−]?[$€£¥₹]?\s?[\-−]?\d{1,3}(?:[,.' ]?\d{3})*[.,]\d{1,2}\)?\s?(?:[$€£]|EUR|USD)?"
_PRICED = re.compile(
    rf"[ \t]*+(?:(?P<count>\d{{1,4}}(?:[.,]\d{{1,3}})?)\s*(?:x|X|×|Stk|pcs)?\.?\s+)?(?P<text>[^\W\d_][^|\n]{{1,80}}?)"
    rf"(?:\s*[(@]\s*(?P<each>{_PRICE})\)?)?(?:\s+|\s*\.{{2,}}\s*)(?P<price>{_PRICE})(?:[ \t]*[A-Z*])?"
)
_NO_ITEM = re.compile(
    r"\b(?:(?:sub|grand)?[\s-]?totals?|(?:gesamt|zwischen)?summe|gesamt(?:betrag)?|tax|vat|mwst|ust|tva|iva|balance|change|cash"
    r"|visa|master\s?card|amex|debit|credit|netto|brutto|rabatt|discount|rounding|total\s?ttc|payment|paid|bar|rückgeld)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextList:
    """The items of a list and what stands above them."""

    heading: str
    items: tuple[FieldCandidate, ...]


def find_text_lists(pages: Sequence[Page]) -> list[TextList]:
    """The lists of a document, each with the last line above it that is no item."""
    return [one for page in pages for one in _page_lists(page)]


def _page_lists(page: Page) -> Iterator[TextList]:
    heading, items = "", list[FieldCandidate]()
    for start, line in _lines(page.text):
        if not line.strip():
            continue
        found = _ITEM.fullmatch(line.rstrip())
        if found:
            at = start + found.start("text")
            place = TextPlace(page.number, at, at + len(found["text"]))
            items.append(FieldCandidate(found["text"], place, heading))
            continue
        if items:
            yield TextList(heading, tuple(items))
            items = []
        heading = line.strip(" #*:_")
    if items:
        yield TextList(heading, tuple(items))


def choose_list(field: SchemaField, lists: Sequence[TextList]) -> TextList | None:
    """The list whose heading names an array of texts."""
    assert field.items is not None
    if _text_field(field.items) is None:
        return None
    words = FieldWords.of(field)

    def rate(one: TextList) -> float:
        heading = split_name(one.heading)
        named = max(share_covered(words.name, heading), 0.9 * share_covered(words.description, heading))
        return named * (0.5 + 0.5 * share_covered(heading, (*words.name, *words.description)))

    best = max(lists, key=rate, default=None)
    return best if best is not None and rate(best) >= LEAST_NAMED else None


def read_list(field: SchemaField, chosen: TextList) -> list[FoundValue | dict[str, FoundValue]]:
    """The items of a list as values, or as objects of the one field that they have."""
    assert field.items is not None
    text = _text_field(field.items)
    made: list[FoundValue | dict[str, FoundValue]] = []
    for one in chosen.items:
        typed = convert_text(text, one.text) if text is not None else None
        if text is not None and typed is not None:
            start = one.place.start
            place = TextPlace(one.place.page, start + typed.start, start + typed.end)
            value = FoundValue(typed.value, place, "facts", typed.doubt)
            made.append(value if field.items.kind is FieldKind.VALUE else {text.name: value})
    return made


def _text_field(items: SchemaField) -> SchemaField | None:
    """The field that a list of texts fills: the items themselves, or the only field that they have."""
    if items.kind is FieldKind.VALUE:
        return items
    return items.properties[0] if len(items.properties) == 1 else None


def find_priced_lines(pages: Sequence[Page]) -> list[RecordTable]:
    """Runs of lines that end in a price, as a table: quantity, description, price of one, amount."""
    made = []
    for page in pages:
        lines = [(start, line) for start, line in _lines(page.text) if line.strip()]
        for priced, run in groupby(lines, key=lambda one: _priced(one[1]) is not None):
            rows = [_priced_row(page, start, line) for start, line in run] if priced else []
            if len(rows) >= LEAST_LINES:
                made.append(rows)
    rows = [row for some in made for row in some]
    return [RecordTable("items lines", COLUMNS, tuple(rows), (None,) * len(rows))] if rows else []


def _priced(line: str) -> re.Match[str] | None:
    line = line.rstrip()
    # Most lines end in no price; asked first, as the rest of the form is tried at each of a line's blanks.
    if len(line) > LONGEST_PRICED or not any(map(str.isdigit, line[-12:])):
        return None
    found = _PRICED.fullmatch(line)
    return None if found is None or _NO_ITEM.search(found["text"]) else found


def _priced_row(page: Page, start: int, line: str) -> tuple[FieldCandidate | None, ...]:
    found = _priced(line)
    assert found is not None
    return tuple(
        None
        if found[group] is None
        else FieldCandidate(
            found[group], TextPlace(page.number, start + found.start(group), start + found.end(group)), name
        )
        for group, name in zip(("count", "text", "each", "price"), COLUMNS, strict=True)
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, line.rstrip("\r\n")
        at += len(line)
