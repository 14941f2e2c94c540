"""Legal holds: list them, put one on a document, a person or a workspace, and release it for a reason."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from cluster.basics.scope import Scope
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT, TENANT
from serve_apps.http.fields import Limit, RequestBody, Skip, Text

router = APIRouter(route_class=GuardedRoute, tags=["governance"])

Name = Annotated[Text, Field(min_length=1, max_length=200)]
Reason = Annotated[Text, Field(min_length=1, max_length=500)]


class Hold(BaseModel):
    """A hold; `released_at` is null while it stands."""

    id: UUID
    kind: Literal["document", "person", "workspace"]
    object_id: str
    name: str
    reason: str
    held_by: UUID
    held_by_email: str | None = None
    held_at: datetime
    released_by: UUID | None
    released_by_email: str | None = None
    released_at: datetime | None
    release_reason: str | None


class Holds(BaseModel):
    """A page of them, the newest first."""

    items: list[Hold]
    total: int


class HoldBody(RequestBody):
    """A new hold on a document of the workspace, or on a person or a workspace of the tenant."""

    kind: Literal["document", "person", "workspace"]
    object_id: Annotated[Text, Field(min_length=1, max_length=64)]
    name: Name
    reason: Reason


class ReleaseBody(RequestBody):
    """The reason for which a hold ends."""

    reason: Reason


@router.get("/api/legal-holds", dependencies=[AUDIT])
async def holds(
    me: Me,
    parts: Its,
    standing: Annotated[bool, Query(description="Without those that were released.")] = False,
    object_id: Annotated[Text | None, Query(max_length=64, description="Of one object.")] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> Holds:
    """List the tenant's holds, also those that were released."""
    rows, total = await parts.holds.page(me.scope, skip, limit, standing=standing, object_id=object_id)
    return Holds(items=[Hold(**row) for row in rows], total=total)


@router.post("/api/legal-holds", status_code=201, dependencies=[TENANT])
async def hold(body: HoldBody, me: Me, parts: Its) -> Hold:
    """Hold an object: it is not deleted, erased, overwritten or due until every hold on it is released."""
    # As the system itself: also what the administrator may not read can be held.
    async with parts.database.transaction(Scope.of_worker(me.scope.tenant, me.scope.workspace)) as tx:
        row = await parts.holds.put(tx, me.scope, body.kind, body.object_id, body.name, body.reason)
        detail = {"kind": body.kind, "object": row["object_id"], "name": body.name}
        await parts.audit.record(tx, me.scope, "legal_hold.put", str(row["id"]), detail=detail)
    return Hold.model_validate(row)


@router.post("/api/legal-holds/{hold_id}/release", dependencies=[TENANT])
async def release(hold_id: UUID, body: ReleaseBody, me: Me, parts: Its) -> Hold:
    """Release a hold. It stays on the list, with who released it and why."""
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.holds.release(tx, me.scope, str(hold_id), body.reason)
        detail = {"kind": row["kind"], "object": row["object_id"], "reason": body.reason}
        await parts.audit.record(tx, me.scope, "legal_hold.release", str(hold_id), detail=detail)
    return Hold.model_validate(row)
