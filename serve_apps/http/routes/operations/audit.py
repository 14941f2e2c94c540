"""The tenant's audit trail, for its administrators."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from cluster.state.audit import AuditFilter, Outcome
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT
from serve_apps.http.fields import Limit, Skip, Text

router = APIRouter(route_class=GuardedRoute, tags=["audit"])

Short = Annotated[Text | None, Query(max_length=300)]
Verify = Annotated[Literal["page", "chain"], Query(description="`chain` checks every entry there is: it takes longer.")]


class Entry(BaseModel):
    """An act: who (`actor` is a user's id, or `worker`) did what to which object, and how it ended.

    `intact`: it was not altered, and the entry before it is the one that it was written after.
    """

    seq: int
    at: datetime
    actor: str
    actor_email: str | None
    action: str
    object: str
    outcome: str
    detail: dict[str, Any]
    hash: str
    intact: bool


class Trail(BaseModel):
    """A page of the trail.

    `intact` and `first_broken` are about what was `verified`: the entries of this page, each with its link to the one
    before it, or the whole chain. `newest` is the number of the newest entry; numbers have no gap. `next_before` is
    `before` of the next page, null on the last one.
    """

    items: list[Entry]
    newest: int
    next_before: int | None
    verified: Literal["page", "chain"]
    intact: bool
    first_broken: int | None


@router.get("/api/audit", dependencies=[AUDIT])
async def audit(
    me: Me,
    parts: Its,
    actor: Annotated[Short, Query(description="A user's id or e-mail address, or worker.")] = None,
    action: Annotated[Short, Query(description="Such as user.add, or user for everything about users.")] = None,
    object: Short = None,
    outcome: Outcome | None = None,
    since: Annotated[datetime | None, Query(alias="from")] = None,
    until: Annotated[datetime | None, Query(alias="to")] = None,
    before: Annotated[int | None, Query(ge=1, description="Only entries with a smaller number.")] = None,
    verify: Verify = "page",
    skip: Skip = 0,
    limit: Limit = 100,
) -> Trail:
    """The newest entries first, those that fit; the entries that are shown are checked, or on request all."""
    which = AuditFilter(actor, action, object, outcome, _default_to_utc(since), _default_to_utc(until), before)
    rows = await parts.audit.page(me.scope, which=which, skip=skip, limit=limit)
    if verify == "chain":
        broken = await parts.audit.first_broken(me.scope)
    else:
        broken = min((row["seq"] for row in rows if not row["intact"]), default=None)
    older = rows[-1]["seq"] if len(rows) == limit else None
    newest, items = await parts.audit.newest(me.scope), [Entry(**row) for row in rows]
    checked = {"verified": verify, "intact": broken is None, "first_broken": broken}
    return Trail(items=items, newest=newest, next_before=older, **checked)


def _default_to_utc(moment: datetime | None) -> datetime | None:
    """A time without a zone is UTC."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
