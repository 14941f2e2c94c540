"""Retry policy of units: which are tried next and together, and what becomes of slow or often tried ones."""

from collections.abc import Sequence

from cluster.state.work.jobs import ClaimedJob, JobLane, WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import Failure, FailureReason, Page, VersionId
from pipelines.documents.ingest.slices import ReadPage


class TooSlow(Exception):
    """A file or page costs more than those that wait beside it should wait for."""


def refuse_slow(job: ClaimedJob, failure: Failure | None) -> None:
    """In the small lane a limit that was overrun is no answer yet: raises TooSlow."""
    if job.lane is JobLane.SMALL and failure is not None and failure.reason is FailureReason.TIMEOUT:
        raise TooSlow(failure.detail)


def suspects_apart(pending: Sequence[WorkUnit], read: ReadSettings) -> list[WorkUnit]:
    """The next units to do together: one that has a single attempt left is done alone.

    Attempts are counted for a whole batch. Without this, three restarts would make every page that waited beside them
    look as if it had ended its worker.
    """
    left = [unit for unit in pending if unit.attempts < read.max_attempts]
    last_chance = [unit for unit in left if unit.attempts + 1 == read.max_attempts and unit.attempts > 0]
    return last_chance[:1] or left


def given_up(unit: WorkUnit) -> ReadPage:
    """A page whose worker died each time it was tried."""
    failure = Failure("read", FailureReason.CRASHED, f"reading this page ended its worker {unit.attempts} times")
    return ReadPage(VersionId(unit.subject), Page(int(unit.payload["number"]), "", engine="none", failure=failure))
