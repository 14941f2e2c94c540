"""Grounds values: where a page states a value that somebody else gave, in whatever notation it is written there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.extraction_result import FoundValue, TextPlace
from serve_apps.retrieval.extraction.schema_fields import SchemaField
from serve_apps.retrieval.extraction.typed_values import find_day
from serve_apps.retrieval.tables.cell_values import parse_number

Json = Any
NOWHERE: Final = "stands nowhere in the document"
_NUMERAL = re.compile(r"(?<![\w.,])[(\-−–]?[$€£¥₹]?\s?[\-−]?\d[\d.,'’\u00a0\u202f]*(?: \d{3}(?!\d))*\)?")
_LETTERS = re.compile(r"[^\W_]+")
_INSIDE_BEFORE = re.compile(r"\d[.,]\Z")
_INSIDE_BEHIND = re.compile(r"[.,]\d")
MOST_READ: Final = 400  # numerals and days of a page that are compared


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of a page, folded, with their places."""

    page: Page
    words: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, page: Page) -> "PageWords":
        """Letters and digits in a row, in order."""
        return cls(page, tuple((found[0].casefold(), *found.span()) for found in _LETTERS.finditer(page.text)))


class DocumentWords:
    """The words of a document, in which values are looked for."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = [PageWords.of(page) for page in pages]
        self._starts: dict[str, list[tuple[int, int]]] = {}
        for number, page in enumerate(self._pages):
            for at, (word, _, _) in enumerate(page.words):
                self._starts.setdefault(word, []).append((number, at))

    def find_text(self, text: str) -> Iterator[TextPlace]:
        """Places at which these words stand in a row, whatever is between them: punctuation, blanks, line ends."""
        wanted = [found[0].casefold() for found in _LETTERS.finditer(text)]
        if not wanted:
            return
        for number, at in self._starts.get(wanted[0], ()):
            words = self._pages[number].words[at : at + len(wanted)]
            if len(words) == len(wanted) and [word for word, _, _ in words] == wanted:
                page, start, end = self._pages[number].page, words[0][1], words[-1][2]
                # `12` is no part of `12.50`.
                if not (_INSIDE_BEFORE.search(page.text, 0, start) or _INSIDE_BEHIND.match(page.text, end)):
                    yield TextPlace(page.number, start, end)

    def find_number(self, number: Decimal) -> Iterator[TextPlace]:
        """Places of a number in any notation; with another sign last."""
        opposite: list[TextPlace] = []
        for one in self._pages:
            for found in _NUMERAL.finditer(one.page.text):
                piece = found[0].rstrip(".,")
                readings = {cell.value for mark in ".," if (cell := parse_number(piece.strip(), mark)) is not None}
                if number in readings:
                    yield _placed(one.page, found.start(), piece)
                elif -number in readings:
                    opposite.append(_placed(one.page, found.start(), piece))
        yield from opposite

    def find_day(self, day: date) -> Iterator[TextPlace]:
        """Places of a day in any notation that is known."""
        for one in self._pages:
            at, text = 0, one.page.text
            for _ in range(MOST_READ):
                found = find_day(text[at:])
                if found is None:
                    break
                if day.isoformat() == found.value or found.doubt.endswith(day.isoformat()):
                    yield TextPlace(one.page.number, at + found.start, at + found.end)
                at += max(found.end, 1)


class ClaimedPlaces:
    """Places at which the document's own labels and columns state fields, by the fields' names."""

    def __init__(self, found: Any = None) -> None:
        """`found`: values in the form of a schema; those in doubt claim nothing."""
        self._claims: dict[int, list[tuple[int, int, str]]] = {}
        self._collect("", found)

    def _collect(self, name: str, found: Any) -> None:
        if isinstance(found, FoundValue):
            if found.place is not None and not found.doubt:
                self._claims.setdefault(found.place.page, []).append((found.place.start, found.place.end, name))
        elif isinstance(found, Mapping):
            for key, inner in found.items():
                self._collect(key, inner)
        elif isinstance(found, list | tuple):
            for inner in found:
                self._collect(name, inner)

    def claimant(self, place: TextPlace) -> str | None:
        """The field that is stated at a place; None where none is."""
        claims = self._claims.get(place.page, ())
        return next((name for start, end, name in claims if start < place.end and place.start < end), None)


def ground_value(
    field: SchemaField,
    value: Json,
    words: DocumentWords,
    near: Sequence[TextPlace] = (),
    claims: ClaimedPlaces | None = None,
) -> FoundValue:
    """A model's value with the place where the document states it, or with the reason why a person should look.

    Args:
        near: places of the values beside it; of several places of the same words the nearest is taken.
        claims: a value that stands only where the document states another field is in doubt.
    """
    if value is None:
        return FoundValue(None, None, "model")
    if isinstance(value, bool):
        return FoundValue(value, None, "model", "a truth value has no words of its own to be checked by")
    places = value_places(value, words)
    if not places:
        return FoundValue(value, None, "model", NOWHERE)
    claimants = {place: claims.claimant(place) for place in places} if claims is not None else {}
    own = [place for place in places if claimants.get(place) == field.name]
    free = own or [place for place in places if claimants.get(place) is None]
    chosen = min(free or places, key=lambda one: _distance(one, near)) if near else (free or places)[0]
    doubt = ""
    if not free:
        doubt = f"stands only where the document states {claimants[chosen]!r}"
    elif len(free) > 1 and not near and _is_short(value):
        doubt = f"stands at {len(free)} places, and nothing tells which is meant"
    return FoundValue(value, chosen, "model", doubt)


def value_places(value: Json, words: DocumentWords) -> list[TextPlace]:
    """All places that state a value: a text word by word, a number and a day in any notation."""
    return list(_places_of(value, words))


def _places_of(value: Json, words: DocumentWords) -> Iterator[TextPlace]:
    if isinstance(value, int | float):
        try:
            yield from words.find_number(Decimal(str(value)))
        except InvalidOperation:
            return
        return
    text = str(value)
    found = list(words.find_text(text))
    yield from found
    if found:
        return
    try:
        yield from words.find_day(date.fromisoformat(text.strip()[:10]))
    except ValueError:
        cell = parse_number(text, ".")
        if cell is not None:
            yield from words.find_number(cell.value)


def _distance(place: TextPlace, near: Sequence[TextPlace]) -> int:
    """Characters to the nearest of others; another page is far away."""
    return min(abs(place.start - one.start) + 100_000 * abs(place.page - one.page) for one in near)


def _is_short(value: Json) -> bool:
    """True for what stands in many places by chance: a number of one or two digits, a word of a few letters."""
    return len(str(value)) <= 2


def _placed(page: Page, start: int, piece: str) -> TextPlace:
    inner = piece.strip()
    first = start + len(piece) - len(piece.lstrip())
    return TextPlace(page.number, first, first + len(inner))
