"""Grounds values: where a page states a value that somebody else gave, in whatever notation it is written there."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.extraction_result import FoundValue, TextPlace
from serve_apps.retrieval.extraction.schema_fields import SchemaField
from serve_apps.retrieval.extraction.typed_values import find_days, is_day, wants_positive
from serve_apps.retrieval.tables.cell_values import parse_number

Json = Any
NOWHERE: Final = "stands nowhere in the document"
OTHER_SIGN: Final = "stands in the document with the other sign only"
_NUMERAL = re.compile(r"(?<![\w.,])[(\-−–]?[$€£¥₹]?\s?[\-−]?\d[\d.,'’\u00a0\u202f]*(?: \d{3}(?!\d))*\)?")
_DASHED = re.compile(r"[\-−–]\s+")  # a sign, or what parts a number from its label
_LETTERS = re.compile(r"[^\W_]+")
_INSIDE_BEFORE = re.compile(r"\d[.,]\Z")
_INSIDE_BEHIND = re.compile(r"[.,]\d")
_MINUS = re.compile(r"(?<!\w)[\-−–][$€£¥₹]?\Z")  # before digits; behind a word it is a joint, as in `INV-12`
_DASHES = re.compile(r"[‐‑‒–—−]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


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
        self._known: dict[Json, list[TextPlace]] = {}

    def find_value(self, value: Json) -> list[TextPlace]:
        """All places that state a value: a text word by word, a number and a day in any notation."""
        if value not in self._known:
            self._known[value] = list(self._places_of(value))
        return self._known[value]

    def find_text(self, text: str) -> Iterator[TextPlace]:
        """Places at which these words stand in a row, whatever is between them: punctuation, blanks, line ends.

        Between digits the same has to be between them, and the same sign before them: `1-5` is not `1.5`.
        """
        found = list(_LETTERS.finditer(text))
        if not found:
            return
        wanted = [one[0].casefold() for one in found]
        joints, minus = _digit_joints(text, [one.span() for one in found]), _minus_before(text, found[0].start())
        for number, at in self._starts.get(wanted[0], ()):
            words = self._pages[number].words[at : at + len(wanted)]
            if len(words) == len(wanted) and [word for word, _, _ in words] == wanted:
                page, start, end = self._pages[number].page, words[0][1], words[-1][2]
                # `12` is no part of `12.50`.
                if _INSIDE_BEFORE.search(page.text, max(0, start - 2), start) or _INSIDE_BEHIND.match(page.text, end):
                    continue
                sign = _minus_before(page.text, start)
                alike = joints == _digit_joints(page.text, [(begin, stop) for _, begin, stop in words])
                if alike and (sign is None) == (minus is None):
                    yield TextPlace(page.number, start if sign is None else sign, end)

    def find_number(self, number: Decimal) -> Sequence[TextPlace]:
        """Places of a number in any notation, with its sign."""
        return self._numbers.get(number, ())

    def find_day(self, day: date) -> Sequence[TextPlace]:
        """Places of a day in any notation that is known."""
        return self._days.get(day.isoformat(), ())

    @cached_property
    def _numbers(self) -> Mapping[Decimal, Sequence[TextPlace]]:
        """The numerals of all pages, read once: a reply may ask for thousands."""
        made: dict[Decimal, list[TextPlace]] = {}
        for one in self._pages:
            for found in _NUMERAL.finditer(one.page.text):
                start, piece = _paired(found.start(), found[0].rstrip(".,"))
                for number in _readings(piece):
                    made.setdefault(number, []).append(_placed(one.page, start, piece))
        return made

    @cached_property
    def _days(self) -> Mapping[str, Sequence[TextPlace]]:
        """The days of all pages by each of their readings."""
        made: dict[str, list[TextPlace]] = {}
        for one in self._pages:
            for found in find_days(one.page.text):
                readings = {str(found.value), found.doubt[-10:]} if found.doubt else {str(found.value)}
                for day in readings:
                    made.setdefault(day, []).append(TextPlace(one.page.number, found.start, found.end))
        return made

    def _places_of(self, value: Json) -> Iterable[TextPlace]:
        if isinstance(value, int | float):
            return self.find_number(Decimal(str(value)))
        text = str(value).strip()
        if found := list(self.find_text(text)):
            return found
        if _DAY.fullmatch(text) and is_day(text):
            return self.find_day(date.fromisoformat(text))
        cell = parse_number(text)
        # What it counts is part of the text: `12 kg` is not where `12 lb` stands.
        return self.find_number(cell.value) if cell is not None and not cell.unit else ()


def opposite_places(value: Json, words: DocumentWords) -> Sequence[TextPlace]:
    """Places of the number that a value is, with the other sign."""
    if isinstance(value, int | float):
        return words.find_number(-Decimal(str(value)))
    cell = parse_number(str(value))
    return words.find_number(-cell.value) if cell is not None else ()


class ClaimedPlaces:
    """Places at which the document's own labels and columns state fields, by the fields' names."""

    def __init__(self, found: Any = None) -> None:
        """`found`: values in the form of a schema; those in doubt claim nothing."""
        self._claims: dict[tuple[int, int], str] = {}  # by page and character
        self._collect("", found)

    def _collect(self, name: str, found: Any) -> None:
        if isinstance(found, FoundValue):
            if found.place is not None and not found.doubt:
                for at in range(found.place.start, found.place.end):
                    self._claims.setdefault((found.place.page, at), name)
        elif isinstance(found, Mapping):
            for key, inner in found.items():
                self._collect(key, inner)
        elif isinstance(found, list | tuple):
            for inner in found:
                self._collect(name, inner)

    def claimant(self, place: TextPlace) -> str | None:
        """The field that is stated at a place; None where none is."""
        keys = ((place.page, at) for at in range(place.start, place.end))
        return next((self._claims[key] for key in keys if key in self._claims), None)


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
    places, turned = words.find_value(value), False
    if not places:
        places, turned = list(opposite_places(value, words)), not wants_positive(field)
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
    if turned:
        doubt = f"{OTHER_SIGN}; {doubt}" if doubt else OTHER_SIGN
    return FoundValue(value, chosen, "model", doubt)


def _digit_joints(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """What is between words in a row that end and begin with a digit; blanks at its sides do not count."""
    made = []
    for (_, end), (start, _) in pairwise(spans):
        if text[end - 1].isdigit() and text[start].isdigit():
            made.append(_DASHES.sub("-", text[end:start].strip()))
        else:
            made.append("")
    return made


def _minus_before(text: str, start: int) -> int | None:
    """Where the sign of a number that begins at `start` stands; None where it has none."""
    if not text[start : start + 1].isdigit():
        return None
    found = _MINUS.search(text, max(0, start - 2), start)
    return None if found is None else found.start()


def _paired(start: int, piece: str) -> tuple[int, str]:
    """A numeral without a bracket whose other half is not its own: `(12 pieces)`."""
    if piece.startswith("(") and not piece.endswith(")"):
        return start + 1, piece[1:]
    return start, piece if piece.startswith("(") else piece.rstrip(")")


def _readings(piece: str) -> set[Decimal]:
    """What a numeral may mean: with point and comma, and without a dash that stands apart from it."""
    texts = {piece.strip(), _DASHED.sub("", piece.strip(), count=1)}
    return {cell.value for text in texts for mark in ".," if (cell := parse_number(text, mark)) is not None}


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
