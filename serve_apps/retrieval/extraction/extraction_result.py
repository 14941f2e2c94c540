"""Result of an extraction: a value of each field, where it stands, and how far it can be relied on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from cluster.basics.storable import replace_unstorable
from pipelines.documents.document import Page, PageBox
from serve_apps.retrieval.answers.quote import describe_quote
from serve_apps.retrieval.extraction.schema_fields import FieldKind, SchemaField

Json = Any
Source = Literal["facts", "model"]


class FieldState(StrEnum):
    """How far a field's value can be relied on."""

    FOUND = "found"  # the document states it
    UNSURE = "unsure"  # a person should look at it; the reason says why
    MISSING = "missing"  # there is no value
    INVALID = "invalid"  # the document states something that the schema does not allow


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Characters [start, end) of a page's text."""

    page: int  # 1-based
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """A place as a reader is shown it."""

    page: int
    start: int
    end: int
    quote: str  # the page's text there
    boxes: tuple[PageBox, ...]  # a rectangle a line; empty where the format has no geometry
    ocr_confidence: float | None  # of its words, 0 to 1; None for born-digital text


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value for a field, before it is judged."""

    value: Json
    place: TextPlace | None
    source: Source = "facts"
    doubt: str = ""  # why a person should look at it; empty where nothing speaks against it
    flaw: str = ""  # why the schema does not allow it


Found = (
    FoundValue | Mapping[str, "Found"] | Sequence["Found"]
)  # in the shape of the schema; None where nothing is found


@dataclass(frozen=True, slots=True)
class ExtractedField:
    """A value of the result; `path` is a JSON pointer (RFC 6901) into it."""

    path: str
    value: Json
    state: FieldState
    reason: str = ""  # why it is not `found`
    place: FieldPlace | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """JSON of a schema's form, and what there is to say of each value in it."""

    data: Json
    fields: tuple[ExtractedField, ...]
    flaws: tuple[str, ...] = ()  # what of the schema the data as a whole does not fit
    notes: tuple[str, ...] = ()  # what was not done, and why

    def count(self, state: FieldState) -> int:
        """Number of fields in a state."""
        return sum(one.state is state for one in self.fields)


def describe_place(page: Page, place: TextPlace) -> FieldPlace:
    """A place with the rectangles and the confidence of its words."""
    boxes, confidence = describe_quote(page, place.start, place.end)
    quote = page.text[place.start : place.end]
    return FieldPlace(page.number, place.start, place.end, quote, boxes, confidence)


def judge_found(root: SchemaField, found: Any, pages: Iterable[Page], least_confidence: float) -> Extraction:
    """The result: values in the form of the schema, each with its place and state."""
    judge = _Judge({page.number: page for page in pages}, least_confidence)
    data = judge.read(root, found, "")
    return Extraction(data, tuple(judge.fields))


class _Judge:
    """Walks what was found beside the schema."""

    def __init__(self, pages: Mapping[int, Page], least_confidence: float) -> None:
        self._pages, self._least = pages, least_confidence
        self.fields: list[ExtractedField] = []

    def read(self, field: SchemaField, found: Any, path: str) -> Json:
        if field.kind is FieldKind.OBJECT:
            inside = found if isinstance(found, Mapping) else {}
            made = {one.name: self.read(one, inside.get(one.name), _below(path, one.name)) for one in field.properties}
            return {name: value for name, value in made.items() if value is not None or _keeps_null(field, name)}
        if field.kind is FieldKind.ARRAY:
            assert field.items is not None
            items = found if isinstance(found, list | tuple) else ()
            if not items:
                reason = "not found"
                self.fields.append(ExtractedField(path, [], FieldState.MISSING, reason))
            return [self.read(field.items, one, _below(path, str(at))) for at, one in enumerate(items)]
        return self._value(found if isinstance(found, FoundValue) else None, path)

    def _value(self, found: FoundValue | None, path: str) -> Json:
        if found is None or (found.value is None and not found.flaw):
            reason = found.doubt if found is not None and found.doubt else "not found"
            self.fields.append(ExtractedField(path, None, FieldState.MISSING, reason))
            return None
        page = None if found.place is None else self._pages.get(found.place.page)
        place = None if found.place is None or page is None else describe_place(page, found.place)
        state, reason = self._state_of(found, place)
        # Escapes of JSON, in a document as in a reply, may stand for what is no text.
        value = replace_unstorable(found.value) if isinstance(found.value, str) else found.value
        self.fields.append(ExtractedField(path, value, state, reason, place, found.source))
        return value

    def _state_of(self, found: FoundValue, place: FieldPlace | None) -> tuple[FieldState, str]:
        if found.flaw:
            return FieldState.INVALID, found.flaw
        if place is None:
            return FieldState.UNSURE, found.doubt or "stands nowhere in the document"
        sure = place.ocr_confidence
        if sure is not None and sure < self._least:
            low = f"low OCR confidence {sure:.2f}"
            return FieldState.UNSURE, f"{found.doubt}; {low}" if found.doubt else low
        return (FieldState.UNSURE, found.doubt) if found.doubt else (FieldState.FOUND, "")


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


def _keeps_null(parent: SchemaField, name: str) -> bool:
    """True where null is a value that the schema has for what is missing."""
    return any(one.name == name and one.nullable and one.kind is FieldKind.VALUE for one in parent.properties)
