"""Candidates for fields: texts of a document that may be values, each with the words that say what they are."""

from dataclasses import dataclass

from serve_apps.retrieval.extraction.extraction_result import TextPlace


@dataclass(frozen=True, slots=True)
class FieldCandidate:
    """A text that may be a field's value."""

    text: str  # as it is written
    place: TextPlace
    label: str  # what it is called
    around: str = ""  # what it stands under: column, section, the elements around
    weight: float = 1.0  # how surely the label is its label, 0 to 1
    beside: tuple[str, ...] = ()  # texts of its column, which tell its notation
