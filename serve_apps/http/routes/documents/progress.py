"""Progress of jobs: each stage and engine, pages a second, the time left, and failures with their remedies."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel

from cluster.state.db.postgres import Row
from pipelines.documents.ingest.reading_rate import JobPaces
from pipelines.documents.ingest.remedies import find_remedy
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.fields import JobInPath
from serve_apps.http.response_shapes import Counts

router = APIRouter(route_class=GuardedRoute, tags=["jobs"])


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


@router.get("/api/jobs/about")
async def about(me: Me, parts: Its, job: Annotated[list[UUID], Query(min_length=1, max_length=200)]) -> Abouts:
    """Describe these jobs: what each is about."""
    return Abouts(items=dict(await JobPaces(parts.database).about(me.scope, [str(one) for one in job])))


@router.get("/api/jobs/{job_id}/progress")
async def progress(
    job_id: JobInPath,
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
