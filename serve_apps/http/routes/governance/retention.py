"""Retention: how long each class is kept, here and in the tenant, and what is due."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from cluster.basics.errors import Invalid
from cluster.basics.scope import WorkspaceId
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.governance.retention import RetentionClass
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT, TENANT
from serve_apps.http.fields import RequestBody

router = APIRouter(route_class=GuardedRoute, tags=["governance"])

DryRun = Annotated[bool, Query(description="Only count what is due.")]


class ClassPeriod(BaseModel):
    """How long a class is kept, null for good; `source` says whose rule that is."""

    days: int | None
    source: Literal["workspace", "tenant", "default"]


class RetentionPeriods(BaseModel):
    """Every class, as the workspace keeps it; the audit trail is the tenant's."""

    periods: dict[RetentionClass, ClassPeriod]


class RuleBody(RequestBody):
    """A rule: `days`, null to keep for good whatever stands above it; `inherit` takes the rule away."""

    kind: Annotated[RetentionClass, Field(alias="class")]
    level: Literal["workspace", "tenant"] = "tenant"
    days: Annotated[int | None, Field(ge=1, le=36_500)] = None
    inherit: bool = False


class DueClass(BaseModel):
    """What of a class is older than its period; held rows are counted apart, and stay."""

    kind: RetentionClass
    workspace: str | None
    days: int
    due: int
    held: int
    deleted: int


class RetentionReport(BaseModel):
    """Every class that has a period."""

    dry_run: bool
    items: list[DueClass]


@router.get("/api/retention", dependencies=[AUDIT])
async def periods(me: Me, parts: Its) -> RetentionPeriods:
    """How long each class is kept."""
    found = await parts.retention_rules.periods(me.scope, me.workspace)
    return RetentionPeriods.model_validate(
        {"periods": {kind: {"days": one.days, "source": one.source} for kind, one in found.items()}}
    )


@router.put("/api/retention", dependencies=[TENANT])
async def set_period(body: RuleBody, me: Me, parts: Its) -> RetentionPeriods:
    """Set or take away one rule of the workspace, or of the tenant."""
    workspace = _its_workspace(body, me)
    detail = {"class": body.kind, "level": body.level, "days": body.days, "inherit": body.inherit}
    async with parts.audited(me, "retention.change", workspace or me.tenant, detail) as tx:
        if body.inherit:
            await parts.retention_rules.drop(tx, me.scope, workspace, body.kind)
        else:
            await parts.retention_rules.set(tx, me.scope, workspace, body.kind, body.days)
    return await periods(me, parts)


@router.post("/api/retention/preview", dependencies=[TENANT])
async def preview(body: RuleBody, me: Me, parts: Its) -> RetentionReport:
    """Count what would be due at once under a rule that is not set yet; nothing is changed."""
    workspace, days = _its_workspace(body, me), body.days
    if body.inherit:
        days = await parts.retention_rules.above(me.scope, workspace, body.kind)
    found = await parts.retention.preview(me.scope, workspace, body.kind, days)
    return RetentionReport(dry_run=True, items=[DueClass.model_validate(one, from_attributes=True) for one in found])


@router.post("/api/retention/run", dependencies=[TENANT])
async def run(me: Me, parts: Its, dry_run: DryRun = True) -> RetentionReport:
    """Count what is due in the tenant, by class and workspace; with `dry_run=false` delete it now."""
    found = await parts.retention.run(me.scope, dry_run=dry_run)
    items = [DueClass.model_validate(one, from_attributes=True) for one in found]
    return RetentionReport(dry_run=dry_run, items=items)


def _its_workspace(body: RuleBody, me: WorkspaceMember) -> WorkspaceId | None:
    """The workspace whose rule it is; None for the tenant's. Raises Invalid: the trail is of no workspace."""
    if body.kind is RetentionClass.AUDIT and body.level == "workspace":
        raise Invalid("level: the audit trail is the tenant's")
    return me.workspace if body.level == "workspace" else None
