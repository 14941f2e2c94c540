"""Read side and commands of jobs for people: show, list, cancel, resume, retry, follow."""

from pathlib import Path
from uuid import UUID

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from cluster.state.work import wait_reasons
from cluster.state.work.job_counts import append_event, read_job_counters
from cluster.state.work.jobs import JobId, JobState


class JobQueries:
    """Reads and requests; a worker writes through Jobs instead."""

    def __init__(self, database: Database, most_pages: int | None = None) -> None:
        """Queries are those of jobs.sql; `most_pages` is what a tenant may have."""
        self._db, self._most_pages = database, most_pages
        self._sql = load_queries(Path(__file__).with_name("jobs.sql"))

    async def show(self, scope: Scope, job: JobId) -> Row:
        """The job with its counters, its failures by reason and its documents by kind of caveat.

        Raises:
            NotFound: no such job in this scope.
        """
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["show"], job=_require_uuid(job), workspace=scope.workspace)
            if row is None:
                raise NotFound(f"job {job}")
            failures = await tx.all(self._sql["failures"], job=job, workspace=scope.workspace)
            caveats = await tx.all(self._sql["caveats"], job=job, workspace=scope.workspace)
            await self._add_counters(tx, scope, row)
            await self._explain(tx, scope, [row])
        row["caveats"] = {c["kind"]: c["count"] for c in caveats}
        row["failures"] = {f["reason"] or "unknown": f["count"] for f in failures}
        return row

    async def page(self, scope: Scope, *, state: str | None, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of the workspace's jobs, newest first, and how many there are."""
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["list"], workspace=scope.workspace, state=state, skip=skip, limit=limit)
            total = await tx.one(self._sql["count"], workspace=scope.workspace, state=state)
            for row in rows:
                await self._add_counters(tx, scope, row)
            await self._explain(tx, scope, rows)
        return rows, int(total["total"]) if total else 0

    async def failed_units(self, scope: Scope, job: JobId, *, skip: int = 0, limit: int = 100) -> list[Row]:
        """Documents and pages that failed, and why; those of documents that the scope may not see are left out."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(
                self._sql["failed_units"], job=_require_uuid(job), workspace=scope.workspace, skip=skip, limit=limit
            )

    async def doubtful_units(self, scope: Scope, job: JobId, *, skip: int = 0, limit: int = 100) -> list[Row]:
        """Documents that the job left degraded, partial or without a page, and their caveats; as `failed_units`."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(
                self._sql["doubtful_units"], job=_require_uuid(job), workspace=scope.workspace, skip=skip, limit=limit
            )

    async def cancel(self, tx: Transaction, scope: Scope, job: JobId) -> bool:
        """Ask for an end; True where the job waited and has ended with this, so that no worker tidies up after it.

        Raises:
            NotFound, Conflict: no such job, or it has ended.
        """
        row = await self._request_change(tx, scope, job, "ask_cancel")
        return bool(row["state"] == JobState.CANCELLED)

    async def supersede(self, tx: Transaction, scope: Scope, job: JobId) -> None:
        """End the re-indexes of the whole workspace that were asked for before this one: it does their work."""
        await tx.run(self._sql["supersede"], job=job, workspace=scope.workspace)

    async def resume(self, tx: Transaction, scope: Scope, job: JobId) -> None:
        """Go on with the units that are left, with new attempts."""
        await self._request_change(tx, scope, job, "resume")
        await tx.run(self._sql["fresh_attempts"], job=job, workspace=scope.workspace)

    async def retry(self, tx: Transaction, scope: Scope, job: JobId, *, last_stage: str) -> int:
        """Do failed units again, and the last stage of what they belong to; returns how many subjects that touches."""
        await self._request_change(tx, scope, job, "resume")
        rows = await tx.all(self._sql["reopen_failed"], job=job, workspace=scope.workspace)
        subjects = [row["subject"] for row in rows]
        await tx.run(
            self._sql["reopen_subjects"], job=job, workspace=scope.workspace, stage=last_stage, subjects=subjects
        )
        return len(subjects)

    async def events_after(self, scope: Scope, job: JobId, after: int, limit: int = 500) -> list[Row]:
        """The job's events with a number above `after`."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(
                self._sql["events_after"], stream=f"job:{job}", workspace=scope.workspace, after=after, limit=limit
            )

    async def _add_counters(self, tx: Transaction, scope: Scope, row: Row) -> None:
        counted = await read_job_counters(tx, self._sql["progress"], scope, JobId(str(row["id"])))
        row["progress"], row["ended"] = counted.progress, counted.ended

    async def _explain(self, tx: Transaction, scope: Scope, rows: list[Row]) -> None:
        """Say of each what it waits for."""
        open_ones = [str(row["id"]) for row in rows if row["state"] in (JobState.QUEUED, JobState.RUNNING)]
        places, quota = list[Row](), None
        if open_ones:
            places = await tx.all(self._sql["places"], jobs=open_ones, fresh=wait_reasons.ALIVE_SECONDS)
            used = await tx.one(self._sql["pages_used"], tenant=scope.tenant)
            quota = (int(used["pages"]), self._most_pages) if used and self._most_pages is not None else None
        found = {str(place["id"]): wait_reasons.list_wait_reasons(place, quota) for place in places}
        for row in rows:
            row["waits"] = found.get(str(row["id"]), [])

    async def _request_change(self, tx: Transaction, scope: Scope, job: JobId, query: str) -> Row:
        row = await tx.one(self._sql[query], job=_require_uuid(job), workspace=scope.workspace)
        if row is not None:
            await append_event(tx, self._sql["event"], job, query, {})
            return row
        found = await tx.one(self._sql["show"], job=job, workspace=scope.workspace)
        if found is None:
            raise NotFound(f"job {job}")
        raise Conflict(f"job {job} is {found['state']}")


def _require_uuid(job: JobId) -> str:
    """An id that is no UUID names no job."""
    try:
        return str(UUID(job))
    except ValueError:
        raise NotFound(f"job {job}") from None
