"""Outcomes of a job's documents: each that it looked at counts once, so the counts add up."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cluster.state.work.jobs import UnitOutcome, UnitStatus
from pipelines.documents.document import Caveat, CaveatWeight, Status, VersionId
from pipelines.documents.ingest.job_plan import INDEX, READ, SURVEY

Counters = Mapping[str, Mapping[str, int]]
DOUBTFUL = frozenset({Status.DEGRADED, Status.PARTIAL, Status.FAILED})


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Documents of a job; the first six add up to those it is about."""

    completed: int = 0  # nothing is missing or doubtful
    degraded: int = 0  # everything was looked at, and some of it may be wrong
    partial: int = 0  # something was not read
    failed: int = 0  # nothing of it was read this time
    unchanged: int = 0  # as it was, and nothing was missing or doubtful then
    pending: int = 0  # still to be done; also what a job left that was ended early
    pages_with_caveats: int = 0  # pages that were read and have something missing or doubtful

    @classmethod
    def of(cls, progress: Counters, ended: Counters) -> "OutcomeCounts":
        """From the counters of a job's stages, see `cluster.state.work.job_counts.JobCounters`."""
        survey, index = progress.get(SURVEY, {}), progress.get(INDEX, {})
        looked, made, read = (ended.get(stage, {}) for stage in (SURVEY, INDEX, READ))
        both = {name: looked.get(name, 0) + made.get(name, 0) for name in ("degraded", "partial", "failed")}
        settled = {
            "completed": index.get("done", 0) - sum(made.values()),
            "degraded": both["degraded"],
            "partial": both["partial"],
            "failed": survey.get("failed", 0) + index.get("failed", 0) + both["failed"],
            "unchanged": survey.get("unchanged", 0) + index.get("unchanged", 0) - sum(looked.values()),
        }
        expected = max(survey.get("expected", 0), index.get("expected", 0))
        return cls(
            **settled,
            pending=max(0, expected - sum(settled.values())),
            pages_with_caveats=read.get("degraded", 0) + read.get("partial", 0),
        )

    @property
    def doubtful(self) -> bool:
        """True if anything is missing or may be wrong."""
        return bool(self.degraded or self.partial or self.failed)

    def as_json(self) -> dict[str, Any]:
        """As events tell it."""
        return asdict(self)


def outcome_of(status: str | None) -> str | None:
    """The outcome of a unit by its document's status: None where nothing is missing or doubtful."""
    return status if status in DOUBTFUL else None


def index_settled(version: VersionId, standing: Mapping[str, Any] | None) -> UnitOutcome:
    """The end of an index unit; a document that is gone or superseded meanwhile is none that was done."""
    if standing is None:
        return UnitOutcome(version, UnitStatus.UNCHANGED)
    outcome = outcome_of(standing["status"])
    return UnitOutcome(version, UnitStatus.DONE, None, outcome, standing["caveats"] if outcome else ())


def outcome_of_page(caveats: tuple[Caveat, ...]) -> str | None:
    """The status that a page's caveats would give its document."""
    weights = {caveat.kind.weight for caveat in caveats}
    if CaveatWeight.UNREAD in weights:
        return Status.PARTIAL
    return Status.DEGRADED if CaveatWeight.UNSURE in weights else None
