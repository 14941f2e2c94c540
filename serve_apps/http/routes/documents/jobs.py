"""Jobs: how far they are, what failed, and what to do about it."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import JobId, JobState
from pipelines.documents.document import CaveatKind, Failure, FailureReason
from pipelines.documents.ingest.reading_rate import JobPaces
from pipelines.documents.ingest.remedies import find_remedy
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.documents.store.revisions import VersionRevisions
from pipelines.documents.store.vision_budget import renew_job_budget
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Limit, Skip
from serve_apps.http.response_shapes import Counts, DoubtfulDocument, FailedUnit, FailedUnits, JobList, JobShape
from serve_apps.http.streams.response import CancellingStreamResponse
from serve_apps.http.streams.sse import ENDS, JobFeed, stream_stored_events

router = APIRouter(route_class=GuardedRoute, tags=["jobs"])

READ_STAGE, LAST_STAGE = "read", "index"
# Doubts of a page that another reading may end: a model, or the data of its language, is there by now.
READ_BETTER = (CaveatKind.READING_WEAK, CaveatKind.LANGUAGE_MISSING)
CANCELLED = Failure("job", FailureReason.ABANDONED, "the job was cancelled", retryable=True)
_STREAM = {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events; id = number."}


class Stage(Counts):
    """Progress of one stage; surveys count files, reading counts pages, indexing counts documents."""

    stage: str


class Engine(BaseModel):
    """Pages that one engine read; `confidence` is 0 to 1, null where it has none, `ms` the mean of a page."""

    engine: str
    pages: int
    confidence: float | None
    ms: float


class FailureGroup(BaseModel):
    """Failures of one stage with one reason: what that means, and what mends it."""

    stage: str
    reason: str | None
    count: int
    retryable: bool
    title: str
    fix: str


class Progress(BaseModel):
    """A job's pace: `pages_per_second` of the last minute, or of the whole once it has ended; times in seconds."""

    job_id: UUID
    about: str | None
    elapsed_seconds: float | None
    pages_per_second: float | None
    seconds_left: float | None
    stages: list[Stage]
    engines: list[Engine] | None
    failures: list[FailureGroup]


class Abouts(BaseModel):
    """By job: the folder or the document's name; null where one may not see it."""

    items: dict[str, str | None]


@router.get("/api/jobs", dependencies=[READ])
async def jobs(
    me: Me, parts: Its, state: Annotated[JobState | None, Query()] = None, skip: Skip = 0, limit: Limit = 50
) -> JobList:
    """The workspace's jobs, newest first."""
    rows, total = await parts.job_queries.page(me.scope, state=state, skip=skip, limit=limit)
    return JobList(items=[JobShape.of(row) for row in rows], total=total)


@router.get("/api/jobs/about", dependencies=[READ])
async def about(me: Me, parts: Its, job: Annotated[list[UUID], Query(min_length=1, max_length=200)]) -> Abouts:
    """Describe these jobs: what each is about."""
    return Abouts(items=dict(await JobPaces(parts.database).about(me.scope, [str(one) for one in job])))


@router.get("/api/jobs/{job_id}", dependencies=[READ])
async def job(job_id: UUID, me: Me, parts: Its) -> JobShape:
    """One job with its counters, and its failures by reason."""
    return JobShape.of(await parts.job_queries.show(me.scope, JobId(str(job_id))))


@router.get("/api/jobs/{job_id}/failures", dependencies=[READ])
async def failures(job_id: UUID, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> FailedUnits:
    """List failed files and pages, and documents that lack something or may be wrong, each with the reason."""
    id_ = JobId(str(job_id))
    await parts.job_queries.show(me.scope, id_)
    rows = await parts.job_queries.failed_units(me.scope, id_, skip=skip, limit=limit)
    doubtful = await parts.job_queries.doubtful_units(me.scope, id_, skip=skip, limit=limit)
    return FailedUnits(items=[FailedUnit(**row) for row in rows], caveats=[DoubtfulDocument(**row) for row in doubtful])


@router.get(
    "/api/jobs/{job_id}/events", response_class=Response, responses={200: _STREAM, 204: {}}, dependencies=[READ]
)
async def events(
    job_id: UUID, me: Me, parts: Its, last_event_id: Annotated[int | None, Header(ge=0, le=2**62)] = None
) -> Response:
    """The job's events as server-sent events; `Last-Event-ID` goes on after that one, 204 where all is told."""
    id_ = JobId(str(job_id))
    row = await parts.job_queries.show(me.scope, id_)
    came_back = last_event_id is not None and row["state"] in ENDS
    if came_back and not await parts.job_queries.events_after(me.scope, id_, last_event_id or 0, 1):
        return Response(status_code=204)  # tells an EventSource not to come back
    stream = stream_stored_events(
        JobFeed(parts.job_queries, me.scope, id_), last_event_id or 0, parts.pace, time.monotonic
    )
    return CancellingStreamResponse(stream)


@router.post("/api/jobs/{job_id}/cancel", status_code=202, dependencies=[OPERATE])
async def cancel(job_id: UUID, me: Me, parts: Its) -> JobShape:
    """Stop a waiting job now, a running one after the pages it is at; what is done stays done."""
    id_ = JobId(str(job_id))
    # As the worker that would have done it: documents that the caller may not see end with the job, too.
    async with parts.database.transaction(Scope.of_worker(me.scope.tenant, me.scope.workspace)) as tx:
        if await parts.job_queries.cancel(tx, me.scope, id_):
            await DocumentStore(parts.database).abandon(tx, me.scope, id_, CANCELLED)
        await parts.audit.record(tx, me.scope, "job.cancel", id_)
    return JobShape.of(await parts.job_queries.show(me.scope, id_))


@router.post("/api/jobs/{job_id}/resume", status_code=202, dependencies=[OPERATE])
async def resume(job_id: UUID, me: Me, parts: Its) -> JobShape:
    """Go on with what is left of a job that was cancelled or failed.

    409 while another job reads what it would, and where newer versions have replaced all that is left.
    """
    id_ = JobId(str(job_id))
    async with _going_on(me, parts, "job.resume", id_) as (tx, vain):
        await parts.job_queries.resume(tx, me.scope, id_, vain=vain)
    return JobShape.of(await parts.job_queries.show(me.scope, id_))


@router.post("/api/jobs/{job_id}/retry", status_code=202, dependencies=[OPERATE])
async def retry(
    job_id: UUID,
    me: Me,
    parts: Its,
    degraded: Annotated[
        bool, Query(description="Read pages again that OCR read badly, or had no data for; no others.")
    ] = False,
) -> JobShape:
    """Try again what failed, and index the documents it belongs to once more.

    409 while another job reads what it would, and where newer versions have replaced all that failed.
    """
    id_ = JobId(str(job_id))
    async with _going_on(me, parts, "job.retry", id_) as (tx, vain):
        await renew_job_budget(tx, me.scope, id_)  # a person asks: a spent one would refuse the same pages for ever
        if degraded:
            told = {"stage": READ_STAGE, "last_stage": LAST_STAGE}
            await parts.job_queries.retry_doubtful(tx, me.scope, id_, **told, kinds=READ_BETTER, vain=vain)
        else:
            await parts.job_queries.retry(tx, me.scope, id_, last_stage=LAST_STAGE, vain=vain)
    return JobShape.of(await parts.job_queries.show(me.scope, id_))


@asynccontextmanager
async def _going_on(
    me: WorkspaceMember, parts: AppDependencies, action: str, job: JobId
) -> AsyncIterator[tuple[Transaction, Sequence[str]]]:
    """A transaction in which an ended job goes back to the queue, and versions that it would read in vain.

    Raises Conflict, which undoes it: another job reads what this one would.
    """
    revisions, scope = VersionRevisions(parts.database), Scope.of_worker(me.scope.tenant, me.scope.workspace)
    # As its worker: documents that the caller may not see are read by it, too.
    async with parts.database.transaction(scope) as tx:
        yield tx, await revisions.superseded(tx, scope, job)
        await revisions.refuse_beside(tx, scope, job)
        await parts.audit.record(tx, me.scope, action, job)


@router.get("/api/jobs/{job_id}/progress", dependencies=[READ])
async def progress(
    job_id: UUID,
    me: Me,
    parts: Its,
    engines: Annotated[bool, Query(description="Also count pages by engine, which looks at every page.")] = True,
) -> Progress:
    """Show the progress of one job."""
    pace = await JobPaces(parts.database).of(me.scope, str(job_id), engines=engines)
    return Progress(
        job_id=job_id,
        about=pace.about,
        elapsed_seconds=pace.elapsed,
        pages_per_second=pace.per_second,
        seconds_left=pace.left,
        stages=[Stage(**row) for row in pace.stages],
        engines=None if pace.engines is None else [Engine(**row) for row in pace.engines],
        failures=[FailureGroup(**_failure_with_fix(row)) for row in pace.failures],
    )


def _failure_with_fix(row: Row) -> dict[str, Any]:
    mended = find_remedy(row["reason"])
    return {**row, "title": mended.title, "fix": mended.fix}
