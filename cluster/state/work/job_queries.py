"""Read side and commands of jobs for people: show, list, cancel, resume, retry, follow."""

from collections.abc import Mapping, Sequence
from typing import Any

from cluster.basics.errors import Conflict
from cluster.basics.ids import scoped_id
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction
from cluster.state.work import wait_reasons
from cluster.state.work.job_counters import read_job_counters
from cluster.state.work.job_events import append_event
from cluster.state.work.job_partitions import JobPartitions
from cluster.state.work.jobs import JobId, JobState


class JobQueries(SqlStore, queries="jobs.sql"):
    """Reads and requests; a worker writes through Jobs instead."""

    def __init__(self, database: Database, most_pages: int | None = None) -> None:
        """`most_pages` is what a tenant may have."""
        super().__init__(database)
        self._most_pages, self._partitions = most_pages, JobPartitions(database)

    async def show(self, scope: Scope, job: JobId) -> Row:
        """The job with its counters, partitions, failures by reason and documents by kind of caveat.

        Raises NotFound where there is none.
        """
        async with self._db.transaction(scope) as tx:
            row = await tx.required(f"job {job}", self._sql["show"], **(named := scoped_id(scope, "job", job)))
            failures = await tx.all(self._sql["failures"], **named)
            caveats = await tx.all(self._sql["caveats"], **named)
            row["partitions"] = await self._partitions.counts(tx, named)
            await self._add_counters(tx, scope, row)
            await self._explain(tx, scope, [row])
        row["caveats"] = {c["kind"]: c["count"] for c in caveats}
        row["failures"] = {f["reason"] or "unknown": f["count"] for f in failures}
        return row

    async def page(
        self,
        scope: Scope,
        *,
        state: str | None,
        skip: int,
        limit: int,
        kind: str | None = None,
        source: str | None = None,
    ) -> tuple[list[Row], int]:
        """A page of the workspace's jobs, newest first, and how many; of one `kind` or `source`, or of all."""
        async with self._db.transaction(scope) as tx:
            values = {**scope.keys, "state": state, "kind": kind, "source": source}
            rows, total = await tx.page(self._sql["list"], self._sql["count"], **values, skip=skip, limit=limit)
            for row in rows:
                await self._add_counters(tx, scope, row)
            await self._explain(tx, scope, rows)
        return rows, total

    async def failed_units(self, scope: Scope, job: JobId, *, skip: int = 0, limit: int = 100) -> list[Row]:
        """Documents and pages that failed, and why; those of documents that the scope may not see are left out."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["failed_units"], **scoped_id(scope, "job", job), skip=skip, limit=limit)

    async def doubtful_units(self, scope: Scope, job: JobId, *, skip: int = 0, limit: int = 100) -> list[Row]:
        """Documents that the job left degraded, partial or without a page, and their caveats; as `failed_units`."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["doubtful_units"], **scoped_id(scope, "job", job), skip=skip, limit=limit)

    async def cancel(self, tx: Transaction, scope: Scope, job: JobId) -> bool:
        """Ask for an end; True where the job waited and has ended with this, so that no worker tidies up after it.

        Raises NotFound or Conflict: no such job, or it has ended.
        """
        row = await self._request_change(tx, scope, job, "ask_cancel")
        return bool(row["state"] == JobState.CANCELLED)

    async def supersede(self, tx: Transaction, scope: Scope, job: JobId) -> None:
        """End the re-indexes of the whole workspace that were asked for before this one: it does their work."""
        await tx.run(self._sql["supersede"], job=job, workspace=scope.workspace)

    async def resume(self, tx: Transaction, scope: Scope, job: JobId, *, vain: Sequence[str] = ()) -> None:
        """Go on with the units that are left, with new attempts.

        Raises Conflict where nothing is left but what belongs to `vain` subjects.
        """
        await self._request_change(tx, scope, job, "resume")
        named = scoped_id(scope, "job", job)
        await tx.run(self._sql["fresh_attempts"], **named)
        if vain:
            await self._refuse_vain(tx, named, vain)

    async def retry(
        self, tx: Transaction, scope: Scope, job: JobId, *, last_stage: str, vain: Sequence[str] = ()
    ) -> int:
        """Do failed units again, and the last stage of what they belong to; returns how many subjects that touches.

        Those of `vain` subjects stay failed; raises Conflict where nothing else is left.
        """
        await self._request_change(tx, scope, job, "resume")
        named = scoped_id(scope, "job", job)
        subjects = [r["subject"] for r in await tx.all(self._sql["reopen_failed"], **named, vain=list(vain))]
        if vain:
            await self._refuse_vain(tx, named, vain)
        await tx.run(self._sql["reopen_subjects"], **named, stage=last_stage, subjects=subjects)
        return len(subjects)

    async def retry_doubtful(
        self,
        tx: Transaction,
        scope: Scope,
        job: JobId,
        *,
        stage: str,
        last_stage: str,
        kinds: Sequence[str],
        vain: Sequence[str] = (),
    ) -> int:
        """Do pages again that have a caveat of these kinds, and the last stage of what they belong to.

        `stage` is the one that read them. Units that failed stay so. Returns how many subjects that touches; raises
        Conflict where there is none.
        """
        await self._request_change(tx, scope, job, "resume")
        named = scoped_id(scope, "job", job)
        rows = await tx.all(self._sql["reopen_degraded"], **named, stage=stage, kinds=list(kinds), vain=list(vain))
        if not rows:
            why = f"nothing that job {job} read is degraded in a way that another reading may mend"
            raise Conflict(why, fix="See its caveats: aos jobs show ID.")
        subjects = sorted({row["subject"] for row in rows})
        await tx.run(self._sql["reopen_subjects"], **named, stage=last_stage, subjects=subjects)
        return len(subjects)

    async def events_after(self, scope: Scope, job: JobId, after: int, limit: int = 500) -> list[Row]:
        """The job's events with a number above `after`."""
        values = {**scope.keys, "stream": f"job:{job}", "after": after, "limit": limit}
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["events_after"], **values)

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

    async def _refuse_vain(self, tx: Transaction, named: Mapping[str, Any], vain: Sequence[str]) -> None:
        if await tx.one(self._sql["worthwhile"], **named, vain=list(vain)) is None:
            raise Conflict(
                "what is left of this job belongs to versions that newer ones have replaced",
                fix="Read the document again: POST /api/documents/{id}/reprocess.",
            )

    async def _request_change(self, tx: Transaction, scope: Scope, job: JobId, query: str) -> Row:
        named = scoped_id(scope, "job", job)
        if query == "resume":  # before the job's row, as whoever works at one locks them
            await self._partitions.begin_again(tx, named)
        if (row := await tx.one(self._sql[query], **named)) is not None:
            await append_event(tx, self._sql["event"], job, query, {})
            return row
        found = await tx.required(f"job {job}", self._sql["show"], **named)
        raise Conflict(f"job {job} is {found['state']}")
