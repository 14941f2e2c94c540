"""The tenant's audit trail, for its administrators."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from serve_apps.http.admit import Guarded, Its, Me
from serve_apps.http.fields import Limit, Skip

router = APIRouter(route_class=Guarded, tags=["audit"])


class Entry(BaseModel):
    """An act: who (`actor` is a user's id, or `worker`) did what to which object, and how it ended."""

    seq: int
    at: datetime
    actor: str
    action: str
    object: str
    outcome: str
    detail: dict[str, Any]
    hash: str


class Trail(BaseModel):
    """A page of the trail; `first_broken` is the first entry that was altered or follows a missing one, if any."""

    items: list[Entry]
    intact: bool
    first_broken: int | None


@router.get("/api/audit")
async def audit(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> Trail:
    """The newest entries first; the whole chain is checked each time."""
    rows = await parts.audit.page(me.scope, skip=skip, limit=limit)
    broken = await parts.audit.first_broken(me.scope)
    return Trail(items=[Entry(**row) for row in rows], intact=broken is None, first_broken=broken)
