"""Operator overview: the health of every part, and the workspace's activity now and in the last day."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cluster.state.db.postgres import Row
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, SYSTEM_HEALTH
from serve_apps.http.response_shapes import copy_fields
from serve_apps.http.routes.operations import health_checks

router = APIRouter(route_class=GuardedRoute, tags=["admin"])


class DeploymentShape(BaseModel):
    """A Serve deployment; `queued` and `ongoing` requests are null where Ray does not tell them."""

    application: str
    name: str
    status: str
    running: int
    wanted: int
    queued: int | None
    ongoing: int | None


class VitalShape(BaseModel):
    """One part: green works, amber works with something to know, red does not, grey is not in use."""

    part: str
    kind: health_checks.Kind
    colour: health_checks.Light
    detail: str
    fix: str
    ms: int
    deployment: DeploymentShape | None


class Vitals(BaseModel):
    """Every part, and the colour of all together; it was asked at `at`."""

    colour: health_checks.Light
    at: datetime
    parts: list[VitalShape]


class Reason(BaseModel):
    """Failure reason with its count, and the address where it can be looked at."""

    reason: str
    count: int
    path: str


class Failures(BaseModel):
    """Failures of the last 24 hours by reason, the most frequent first; `path` is the list's."""

    total: int
    reasons: list[Reason]
    path: str


class JobLine(BaseModel, extra="ignore"):
    """A job that waits or runs."""

    id: str
    kind: str
    lane: str
    state: str
    phase: str
    created_at: datetime
    started_at: datetime | None
    path: str


class Jobs(BaseModel):
    """The newest of those that wait or run, and how many there are."""

    total: int
    items: list[JobLine]
    path: str


class Approvals(BaseModel):
    """Number of pending approval requests, and since when the oldest waits."""

    total: int
    since: datetime | None
    path: str


class Series(BaseModel):
    """A figure by hour, oldest first: `hours` are their beginnings (UTC), the last one is not over."""

    total: float
    values: list[float]
    path: str


class Now(BaseModel):
    """The workspace now, and within the last 24 hours; every figure with the path of what it counts."""

    at: datetime
    jobs: Jobs
    approvals: Approvals
    page_failures: Failures
    run_failures: Failures
    hours: list[datetime]
    requests: Annotated[Series, Field(description="Turns of agents.")]
    failed: Series
    tokens_in: Series
    tokens_out: Series
    cost_usd: Series
    pages: Annotated[Series, Field(description="Pages that were read.")]


@router.get("/api/admin/health", dependencies=[SYSTEM_HEALTH])
async def health(me: Me, parts: Its) -> Vitals:
    """Ask every part how it is: databases, Ray and its deployments, queues, models, disk. Takes seconds at most."""
    at = parts.clock()
    found = await health_checks.run_health_checks(parts, me.scope)
    return Vitals(colour=health_checks.worst_colour(found), at=at, parts=[_vital_shape(one) for one in found])


@router.get("/api/admin/now", dependencies=[OPERATE])
async def now(me: Me, parts: Its) -> Now:
    """Summarise the workspace: what runs and waits, what failed lately, and the use of models."""
    at = parts.clock()
    day = await parts.operating.system.day(me.scope, at)
    runs = "/api/runs"
    return Now(
        at=at,
        jobs=Jobs(
            total=day.jobs_total,
            items=[JobLine(**{**row, "id": str(row["id"])}, path=f"/api/jobs/{row['id']}") for row in day.jobs],
            path="/api/jobs",
        ),
        approvals=Approvals(total=day.approvals, since=day.approvals_since, path="/api/approvals"),
        page_failures=_failures_shape(day.failures, "job", "/api/jobs/{id}/failures", "/api/jobs"),
        run_failures=_failures_shape(day.broken, "run", "/api/runs/{id}", f"{runs}?state=failed"),
        hours=[row["hour"] for row in day.hours],
        requests=_series_shape(day.hours, "requests", runs),
        failed=_series_shape(day.hours, "failed", f"{runs}?state=failed"),
        tokens_in=_series_shape(day.hours, "prompt_tokens", runs),
        tokens_out=_series_shape(day.hours, "completion_tokens", runs),
        cost_usd=_series_shape(day.hours, "cost_usd", runs),
        pages=_series_shape(day.pages, "pages", "/api/documents/"),
    )


def _vital_shape(one: health_checks.PartHealth) -> VitalShape:
    shape = None if one.deployment is None else copy_fields(DeploymentShape, one.deployment)
    return copy_fields(VitalShape, one, deployment=shape)


def _failures_shape(rows: Sequence[Row], column: str, path: str, all_: str) -> Failures:
    reasons = [
        Reason(reason=row["reason"] or "unknown", count=row["count"], path=path.format(id=row[column])) for row in rows
    ]
    return Failures(total=sum(reason.count for reason in reasons), reasons=reasons, path=all_)


def _series_shape(rows: Sequence[dict[str, Any]], column: str, path: str) -> Series:
    values = [float(row[column]) for row in rows]
    return Series(total=sum(values), values=values, path=path)
