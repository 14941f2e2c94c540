"""A fact of a page: a value that a form or a table states, and the headings that it stands under."""

from dataclasses import dataclass
from enum import StrEnum


class FactKind(StrEnum):
    """The form in which a page states a fact."""

    FIELD = "field"  # a label and its value
    CELL = "cell"  # a cell of a table, under its column and beside its row


@dataclass(frozen=True, slots=True)
class PageFact:
    """A value and what it is the value of; characters [start, end) of the page's text hold the label and the value."""

    kind: FactKind
    label: str  # of a field, or the heading of a cell's row
    value: str  # as it is written
    start: int
    end: int
    section: str = ""  # the title or caption above
    column: str = ""  # the heading of a cell's column

    @property
    def heading(self) -> str:
        """All that says what the value is of, the outermost first."""
        return ", ".join(part for part in (self.section, self.label, self.column) if part)

    @property
    def sentence(self) -> str:
        """The fact for a reader."""
        names = (self.label, self.column) if self.kind is FactKind.CELL else (self.label,)
        return f"{', '.join(part for part in names if part)}: {self.value}"
