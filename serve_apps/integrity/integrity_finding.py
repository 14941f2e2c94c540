"""Findings of the deep examination: how many of a kind, examples, what was mended, and what mends the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

EXAMPLES: Final = 5


class Family(StrEnum):
    """The sort of place that a check looks at, in the order in which they are looked at."""

    ROWS = "rows"
    DOCUMENTS = "documents"
    VECTORS = "vectors"
    GRAPH = "graph"
    JOURNALS = "journals"
    INDEXES = "indexes"
    CACHE = "cache"
    BLOBS = "blobs"
    UPLOADS = "uploads"


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """What one check has found in one place.

    Attributes:
        place: the table, the key of Redis or the folder.
        mends: whether a repair mends it by itself.
        mended: how many were mended; `held` of the rest a legal hold keeps, `busy` are locked by live work.
        fix: what somebody has to do where it is not mended.
    """

    family: Family
    check: str
    what: str
    place: str
    count: int
    examples: Sequence[str]
    mends: bool
    mended: int = 0
    held: int = 0
    busy: int = 0
    fix: str = ""

    @property
    def left(self) -> int:
        """How many are still there."""
        return self.count - self.mended


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """All findings; `failed` could not be looked at, and `notes` say what was not looked at and why."""

    findings: Sequence[IntegrityFinding]
    checks: int
    failed: Sequence[str]
    notes: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "checks": self.checks,
            "found": sum(one.count for one in self.findings),
            "mended": sum(one.mended for one in self.findings),
            "left": sum(one.left for one in self.findings),
            "findings": [{**asdict(one), "examples": list(one.examples), "left": one.left} for one in self.findings],
            "failed": list(self.failed),
            "notes": list(self.notes),
        }


def some(names: Iterable[str]) -> tuple[str, ...]:
    """The first few."""
    return tuple(name for name, _ in zip(names, range(EXAMPLES), strict=False))
