"""A case: a file, what its text must and must not hold, and which marks are right instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pipelines.documents.document import Caveat, CaveatKind, CaveatWeight, Failure, FailureReason, Page

Wanted = str | tuple[str, ...]
"""A string that must stand in the text, or several of which one must."""


class Verdict(StrEnum):
    """What became of a case."""

    RIGHT = "right"
    MARKED = "marked"  # not as it should be, and the document says so
    SILENT = "silent"  # wrong or incomplete, and `completed`


@dataclass(frozen=True, slots=True)
class Case:
    """A file and what is right for it.

    Attributes:
        kind: the fault it stands for; variants of one kind share it.
        name: its own name within the kind.
        path: the file.
        includes: what its text must hold; white space counts as one space.
        excludes: what its text must not hold.
        instead: marks (kinds of caveats, reasons of failures) that are right instead of the text.
        needs: marks that must be there although the text is right.
        members: files that must come out of it, as documents of their own, each with what its text must hold.
        clean: no mark of weight `unread` or `unsure` may be there: a false alarm is a fault, too.
        seconds: the most its reading may take.
    """

    kind: str
    name: str
    path: Path
    includes: tuple[Wanted, ...] = ()
    excludes: tuple[str, ...] = ()
    instead: frozenset[CaveatKind | FailureReason] = frozenset()
    needs: frozenset[CaveatKind | FailureReason] = frozenset()
    members: Mapping[str, Wanted] = field(default_factory=dict)
    clean: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader made of a file: its pages, or why there are none; `seconds` it took.

    `members` are the texts of what came out of it, `said` what its survey says of the rest.
    """

    pages: tuple[Page, ...] = ()
    failure: Failure | None = None
    seconds: float = 0.0
    members: Mapping[str, str] = field(default_factory=dict)
    said: tuple[Caveat, ...] = ()

    @property
    def text(self) -> str:
        """Page after page, white space folded."""
        return " ".join(" ".join(page.text for page in self.pages).split())

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Those of its survey and of all pages."""
        return (*self.said, *(caveat for page in self.pages for caveat in page.caveats))

    @property
    def marks(self) -> frozenset[CaveatKind | FailureReason]:
        """Kinds of caveats that change the document's status, and reasons of failures."""
        failures = [page.failure for page in self.pages] + [self.failure]
        heavy = {caveat.kind for caveat in self.caveats if caveat.kind.weight is not CaveatWeight.NOTE}
        blank = {CaveatKind.NO_TEXT} if self.pages and not self.text else set()
        return frozenset(heavy | blank | {failure.reason for failure in failures if failure})

    @property
    def all_marks(self) -> frozenset[CaveatKind | FailureReason]:
        """The same with the kinds that are only notes."""
        return self.marks | {caveat.kind for caveat in self.caveats}


def judge(case: Case, reading: Reading) -> tuple[Verdict, str]:
    """The verdict, and why it is not `right`."""
    faults = complaints(case, reading)
    if not faults:
        return Verdict.RIGHT, ""
    why = "; ".join(faults)
    return (Verdict.MARKED if reading.marks else Verdict.SILENT), why


def complaints(case: Case, reading: Reading) -> list[str]:
    """What is not as it should be; nothing where an accepted mark stands instead."""
    slow = case.seconds is not None and reading.seconds > case.seconds
    faults = [f"took {reading.seconds:.1f} s"] if slow else []
    if case.instead & reading.all_marks:
        return faults
    text = reading.text
    faults += [f"lacks {_shown(wanted)}" for wanted in case.includes if not _stands(wanted, text)]
    faults += [f"has {unwanted!r}" for unwanted in case.excludes if fold(unwanted) in text]
    faults += [f"lacks the mark {mark}" for mark in sorted(case.needs - reading.all_marks)]
    faults += [
        f"lacks the member {name} with {_shown(wanted)}"
        for name, wanted in case.members.items()
        if name not in reading.members or not _stands(wanted, fold(reading.members[name]))
    ]
    if case.clean and reading.marks:
        faults.append(f"is marked {', '.join(sorted(reading.marks))} without a reason")
    return faults


def fold(text: str) -> str:
    """White space as single spaces."""
    return " ".join(text.split())


def _stands(wanted: Wanted, text: str) -> bool:
    return any(fold(one) in text for one in ((wanted,) if isinstance(wanted, str) else wanted))


def _shown(wanted: Wanted) -> str:
    return repr(wanted) if isinstance(wanted, str) else " or ".join(map(repr, wanted))


def table_row(*cells: str) -> str:
    """A row as it stands in a Markdown table."""
    return " | ".join(cells)


def kinds_of(cases: Sequence[Case]) -> list[str]:
    """The kinds, each once, in order."""
    return list(dict.fromkeys(case.kind for case in cases))
