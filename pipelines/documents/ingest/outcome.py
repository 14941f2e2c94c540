"""Outcomes of documents, counted; a job's progress events and final state by them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from cluster.state.work.jobs import JobLease, JobLedger, JobState, UnitOutcome, UnitStatus, WorkUnit
from pipelines.documents.document import Caveat, CaveatWeight, Status
from pipelines.documents.ingest.job_plan import INDEX, READ, SURVEY
from pipelines.documents.ingest.slices import ReadPage
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.documents.store.page_codec import caveats_from_json
from pipelines.documents.sync.sync_units import FETCH

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
        """From the counters of a job's stages, see `cluster.state.work.jobs.JobCounters`."""
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


def index_settled(key: str, standing: Mapping[str, Any] | None, *, same: bool = False) -> UnitOutcome:
    """The end of an index unit; a document that is gone or superseded meanwhile is none that was done.

    `same`: its pages were read again and came to what was there, which is no change where nothing is doubtful.
    """
    outcome = None if standing is None else outcome_of(standing["status"])
    if standing is None or (same and outcome is None):
        return UnitOutcome(key, UnitStatus.UNCHANGED)
    return UnitOutcome(key, UnitStatus.DONE, None, outcome, standing["caveats"] if outcome else ())


def outcome_of_page(caveats: tuple[Caveat, ...]) -> str | None:
    """The status that a page's caveats would give its document."""
    weights = {caveat.kind.weight for caveat in caveats}
    if CaveatWeight.UNREAD in weights:
        return Status.PARTIAL
    return Status.DEGRADED if CaveatWeight.UNSURE in weights else None


class JobReporter:
    """Tells a job's readers, and gives it its end."""

    def __init__(self, jobs: JobLedger, store: DocumentStore) -> None:
        self._jobs, self._store = jobs, store

    async def tell(self, lease: JobLease) -> None:
        """Tell its readers how far it is."""
        counted = await self._jobs.tally(lease)
        outcome = OutcomeCounts.of(counted.progress, counted.ended)
        await self._jobs.note(lease, "progress", {**counted.progress, "outcome": outcome.as_json()})

    async def finish(self, lease: JobLease) -> None:
        """Give a job whose units are all settled its last state, and say what became of its documents."""
        state, outcome = await self._final_state(lease)
        await self._jobs.finish(lease, state, told={"outcome": outcome.as_json()})

    async def _final_state(self, lease: JobLease) -> tuple[JobState, OutcomeCounts]:
        """The job's final state: surveys answer for all that their files hold, an index job for its own work."""
        counted = await self._jobs.tally(lease)
        outcome = OutcomeCounts.of(counted.progress, counted.ended)
        failed = any(c["failed"] for c in counted.progress.values())
        if not failed and not (SURVEY in counted.progress and outcome.doubtful):
            return JobState.COMPLETED, outcome
        # Opening a file is no success: something new to search is, or nothing new to read.
        survey, ended = counted.progress.get(SURVEY, {}), counted.ended.get(SURVEY, {})
        unchanged = survey.get("unchanged", 0) - ended.get("failed", 0)
        # What a sync could not fetch says nothing of all that is there already.
        good = unchanged or FETCH in counted.progress or await self._store.any_good(lease.scope, lease.job)
        return JobState.PARTIAL if good else JobState.FAILED, outcome


def with_file_caveats(page: ReadPage, unit: WorkUnit) -> ReadPage:
    """The first page says what the survey of its file found out."""
    told = caveats_from_json(unit.payload.get("caveats", ()))
    return replace(page, page=replace(page.page, caveats=(*told, *page.page.caveats))) if told else page
