"""Values that are known by how they are written: numbers behind `No.`, ranges of days, places with their postcode."""

import re
from collections.abc import Iterator
from typing import Final

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import TextPlace
from serve_apps.retrieval.extraction.typed_values import find_day

NUMBERED: Final = 0.9  # how surely a code behind `No.` is what the words before it say
RANGED: Final = 0.9
CALLED: Final = 0.95
FORMED: Final = 0.72  # a value that only its form tells

_NUMBERED = re.compile(
    r"(?P<label>(?:[A-ZÄÖÜÉ][\w.&/-]{0,24}[ \t]{1,4}){0,3}"
    r"(?:[Nn][OoRr]|[Nn]um(?:ber|mer|éro|ero)?|NUMBER|[Nn]º|N°|#|№|I[Dd])\.?)[ \t]*[:#]?[ \t]*"
    r"(?P<value>(?=[\w/-]*\d)[A-Za-z0-9][\w/-]{1,40}(?:\.\d+)*)"
)
_RANGE = re.compile(
    r"(?P<label>[^\W\d_][^:\n|]{0,50}?)[ \t]{0,9}:?[ \t]{0,9}(?:from|von|du|del|dal)?[ \t]{0,9}"
    r"(?P<first>\d{1,4}[./-]\d{1,2}[./-]\d{2,4})"
    r"[ \t]*(?:to|until|through|bis|au|al|[-–—])[ \t]*(?P<last>\d{1,4}[./-]\d{1,2}[./-]\d{2,4})"
)
# `ACME LLC, a Delaware company ("Seller")`, in as many lines as it takes.
_CALLED = re.compile(
    r"(?:^|(?<=and )|(?<=between )|(?<=among )|(?<=und )|(?<=zwischen )|(?<=by )|(?<=et )|(?<=entre )|(?<=y ))"
    r"(?P<value>[A-ZÄÖÜ](?:(?!\b(?:between|among|by and|zwischen|entre|dated)\b)[^()\"“„\n]){2,90}?),?"
    r"(?:\s{1,5}(?:an?|eine?[rn]?|une?|una?)\s{1,5}[^()\"“„]{3,120}?)?"
    r"\s{0,5}\(\s{0,5}(?:(?:hereinafter|herein|the|each|collectively|referred to as|im Folgenden|nachfolgend|ci-après"
    r"|en adelante|,)\s{0,5}){0,6}"
    r"[\"“„«]\s*(?:the |der |die |das |le |la |el )?(?P<label>[^\"”“»()]{2,40}?)\s*[\"”“»]",
    re.MULTILINE,
)
_FORMS: Final = (
    ("email mail", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")),
    ("website url web", re.compile(r"(?:https?://|www\.)[^\s,;)]+")),
    ("iban account", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    ("vat tax id number", re.compile(r"\b(?:DE|AT|FR|IT|ES|NL|BE|PL|SE|DK|FI|GB|CH|LU|CZ|PT|IE)[A-Z]?U?\d{8,11}\b")),
    ("time", re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?(?![\d:])")),
)
_CITY = re.compile(
    r"^[ \t]*(?P<city>[A-Z][A-Za-z.'\- ]{1,40}),[ \t]*(?P<state>[A-Z]{2})[ \t,]+(?P<zip>\d{5}(?:-\d{4})?)\b",
    re.MULTILINE,
)
_POSTCODE_CITY = re.compile(
    r"^[ \t]*(?:[A-Z]{1,2}-)?(?P<zip>\d{4,5})[ \t]+(?P<city>[A-ZÄÖÜÉ][^\d\n,|]{1,40}?)[ \t]*$", re.MULTILINE
)


def find_marked_candidates(page: Page) -> Iterator[FieldCandidate]:
    """The values of a page that their form or a mark before them tells."""
    text = page.text
    for found in _NUMBERED.finditer(text):
        yield _made(page, found, "value", found["label"], NUMBERED)
    for found in _RANGE.finditer(text):
        if find_day(found["first"]) and find_day(found["last"]):
            yield _made(page, found, "first", f"{found['label']} start", RANGED)
            yield _made(page, found, "last", f"{re.sub('(?i)effective|start|begin', '', found['label'])} end", RANGED)
    for found in _CALLED.finditer(text):
        yield _made(page, found, "value", found["label"], CALLED)
    for label, form in _FORMS:
        for found in form.finditer(text):
            yield _made(page, found, 0, label, FORMED)
    for form in (_CITY, _POSTCODE_CITY):
        for found in form.finditer(text):
            for name in form.groupindex:
                yield _made(page, found, name, "postal code zip" if name == "zip" else name, FORMED)


def _made(page: Page, found: re.Match[str], group: str | int, label: str, weight: float) -> FieldCandidate:
    start, end = found.span(group)
    return FieldCandidate(page.text[start:end], TextPlace(page.number, start, end), label, weight=weight)
