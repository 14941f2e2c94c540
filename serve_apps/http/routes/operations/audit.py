"""The tenant's audit trail, for its administrators: read, verified in slices, taken out, and how far collectors are."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from cluster.basics.scope import Scope
from cluster.state.audit import SLICE, AuditFilter, Outcome
from cluster.state.audit_export.cursors import AuditCursors
from cluster.state.audit_export.sinks import entry_line
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT
from serve_apps.http.fields import Limit, Skip, Text

router = APIRouter(route_class=GuardedRoute, tags=["audit"])

NDJSON = "application/x-ndjson"
EXPORT_BATCH = 500

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


class VerifiedEntries(BaseModel):
    """A slice of the chain, with every hash and every link computed anew.

    `checked`: how many entries, the last of which is `reached`. `next`: `from` of the next slice, null where all was
    checked up to `to` or, without it, to `newest`. `progress`: the share of the entries before `next`, 0 to 1.
    """

    checked: int
    reached: int
    intact: bool
    first_broken: int | None
    next: int | None
    newest: int
    progress: float


@router.get("/api/audit/verify", dependencies=[AUDIT])
async def verify_audit(
    me: Me,
    parts: Its,
    first: Annotated[int, Query(alias="from", ge=1, le=2**62, description="Number of the first entry.")] = 1,
    last: Annotated[int | None, Query(alias="to", ge=1, le=2**62, description="Number of the last; else all.")] = None,
    limit: Annotated[int, Query(ge=1, le=SLICE, description="Entries that are checked by this request.")] = SLICE,
) -> VerifiedEntries:
    """Check a slice of the chain, with its link to the entry before it; ask again with `next` to go on."""
    newest = await parts.audit.newest(me.scope)
    end = newest if last is None else min(last, newest)
    found = await parts.audit.verify(me.scope, after=first - 1, last=end, limit=limit)
    following = found.reached + 1 if found.checked and found.reached < end else None
    return VerifiedEntries(
        checked=found.checked,
        reached=found.reached,
        intact=found.first_broken is None,
        first_broken=found.first_broken,
        next=following,
        newest=newest,
        progress=found.reached / end if following else 1.0,
    )


@router.get(
    "/api/audit/export",
    dependencies=[AUDIT],
    response_class=Response,
    responses={200: {"content": {NDJSON: {}}, "description": "An entry a line, oldest first."}},
)
async def export_audit(
    me: Me,
    parts: Its,
    since: Annotated[datetime | None, Query(alias="from")] = None,
    until: Annotated[datetime | None, Query(alias="to")] = None,
    form: Annotated[Literal["ocsf", "jsonl"], Query(alias="format", description="OCSF events, or bare entries.")] = (
        "ocsf"
    ),
) -> StreamingResponse:
    """The trail as lines that `aos audit verify` checks without a server. That it was taken out is an entry itself."""
    after, last = await parts.audit.between(me.scope, _default_to_utc(since), _default_to_utc(until))
    detail = {"after": after, "last": last, "format": form}
    async with parts.audited(me, "audit.export", me.scope.tenant, detail):
        pass
    lines = _export_lines(parts.exporter.cursors, me.scope, after, last, form)
    return StreamingResponse(lines, media_type=NDJSON)


async def _export_lines(
    cursors: AuditCursors, scope: Scope, after: int, last: int, form: Literal["ocsf", "jsonl"]
) -> AsyncIterator[str]:
    while entries := await cursors.entries(scope, after=after, last=last, limit=EXPORT_BATCH):
        yield "".join(f"{entry_line(entry, form)}\n" for entry in entries)
        after = entries[-1].seq


class SinkStatus(BaseModel):
    """How far a collector has the tenant's trail.

    `seq`: the newest entry that it has confirmed, at `confirmed_at`. `lag_entries` and `lag_seconds`: what it lacks,
    and how old the oldest of that is. `failures` in a row, `error` of the last, and `next_at` of the next attempt; null
    where all is well.
    """

    name: str
    kind: str
    seq: int = 0
    lag_entries: int
    lag_seconds: float = 0
    confirmed_at: datetime | None = None
    failures: int = 0
    error: str | None = None
    next_at: datetime | None = None


class SinkList(BaseModel):
    """The collectors that get the tenant's trail."""

    items: list[SinkStatus]


@router.get("/api/audit/sinks", dependencies=[AUDIT])
async def audit_sinks(me: Me, parts: Its) -> SinkList:
    """The collectors that the trail is sent to: how far each has it, and what hinders it."""
    known = {row.pop("sink"): row for row in await parts.exporter.cursors.status(me.scope)}
    newest = await parts.audit.newest(me.scope)
    placed = parts.exporter.of_tenant(me.scope.tenant)
    fresh = {"lag_entries": newest}
    items = [SinkStatus(name=name, kind=one.kind, **known.get(name, fresh)) for name, one in placed.items()]
    return SinkList(items=items)


def _default_to_utc(moment: datetime | None) -> datetime | None:
    """A time without a zone is UTC."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
