"""Progress events and final state of a job, by the outcomes of its documents."""

from cluster.state.work.jobs import JobLease, JobLedger, JobState
from pipelines.documents.ingest.job_plan import SURVEY
from pipelines.documents.ingest.outcome import OutcomeCounts
from pipelines.documents.store.document_writes import DocumentStore


class JobReporter:
    """Tells a job's readers, and gives it its end."""

    def __init__(self, jobs: JobLedger, store: DocumentStore) -> None:
        """Both hold rows of the same database."""
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
        good = unchanged or await self._store.any_good(lease.scope, lease.job)
        return JobState.PARTIAL if good else JobState.FAILED, outcome
