"""Scheduled jobs of agents: messages to them, and their examinations, by cron expressions."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from cluster.basics.errors import Forbidden, Invalid
from cluster.basics.scope import Role
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember, least_role
from cluster.state.work.schedules import Action, NewSchedule, ScheduleChange
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, READ
from serve_apps.http.fields import Limit, Name, Question, RequestBody, Skip, Text

router = APIRouter(route_class=GuardedRoute, tags=["scheduler"])

Cron = Annotated[Text, StringConstraints(strip_whitespace=True, max_length=200)]
Zone = Annotated[Text, StringConstraints(min_length=1, max_length=100)]
_KEEPERS = frozenset({Role.OPERATOR, Role.ADMIN})  # they stop what others left behind, and examine agents


class Payload(BaseModel):
    """Payload of a scheduled action: `message` for a message, nothing for the academy."""

    model_config = ConfigDict(extra="forbid")

    message: Question | None = None


class ScheduleRequest(RequestBody):
    """A job; `agent` is a UUID or a display name, `cron` has five fields on the wall clock of `timezone` (IANA)."""

    name: Name
    agent: Name
    cron: Annotated[Cron, Field(examples=["0 2 * * *"])]
    timezone: Zone = "UTC"
    action: Action = Action.MESSAGE
    payload: Payload = Payload()
    enabled: bool = True


class SchedulePatch(RequestBody):
    """Changes to a schedule. Only its owner says what it does and when; operators may switch it off.

    Whoever changes it with fewer rights than it has leaves it with theirs.
    """

    name: Name | None = None
    cron: Cron | None = None
    timezone: Zone | None = None
    payload: Payload | None = None
    enabled: bool | None = None


class ScheduleShape(BaseModel):
    """A job. `payload` is for its owner and for administrators; `running_since` is the due time it is at."""

    id: UUID
    name: str
    agent_id: UUID
    agent: str
    owner: str
    role: Role
    cron: str
    timezone: str
    action: Action
    payload: dict[str, Any] | None
    enabled: bool
    next_at: datetime | None
    running_since: datetime | None
    last_at: datetime | None
    last_status: str | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Row, me: WorkspaceMember) -> "ScheduleShape":
        """From the row, as this reader may see it."""
        seen = str(row["owner_id"]) == me.user or me.role is Role.ADMIN
        due = [at for at in (row["asked_at"], row["next_at"] if row["enabled"] else None) if at is not None]
        shown = {name: row[name] for name in cls.model_fields if name in row}
        shown |= {"next_at": min(due, default=None), "running_since": row["due_at"]}
        return cls(**{**shown, "payload": row["payload"] if seen else None})


class ScheduleList(BaseModel):
    """A page of jobs by name."""

    items: list[ScheduleShape]
    total: int


class Asked(BaseModel):
    """It is due from now on; a replica takes it up with its next look."""

    schedule_id: UUID
    due_at: datetime


class ScheduleRun(BaseModel):
    """One due time; `run_id` is the turn it led to, `job_id` the job."""

    id: UUID
    due_at: datetime
    attempts: int
    status: str
    run_id: UUID | None
    job_id: UUID | None
    error: str | None
    started_at: datetime
    ended_at: datetime | None


class ScheduleRuns(BaseModel):
    """A page of due times, latest first."""

    items: list[ScheduleRun]
    total: int


@router.get("/api/scheduler/jobs", dependencies=[READ])
async def schedules(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> ScheduleList:
    """The workspace's scheduled jobs by name."""
    rows, total = await parts.schedules.page(me.scope, skip, limit)
    return ScheduleList(items=[ScheduleShape.of(row, me) for row in rows], total=total)


@router.post("/api/scheduler/jobs", status_code=201, dependencies=[BUILD])
async def add_schedule(body: ScheduleRequest, me: Me, parts: Its) -> ScheduleShape:
    """Let something be done by the clock, as you, with the rights that you have when it runs and have now."""
    agent = await parts.agent_store.resolve(me.scope, body.agent)
    assert agent is not None
    payload = _validate_payload(body.action, body.payload, me)
    new = NewSchedule(body.name, agent, body.cron, body.action, body.timezone, payload, body.enabled)
    async with parts.database.transaction(me.scope) as tx:
        made = await parts.schedules.add(tx, me.scope, new, parts.clock())
        detail = {"name": body.name, "agent": agent, "action": str(body.action), "cron": body.cron}
        await parts.audit.record(tx, me.scope, "schedule.add", made, detail=detail)
    return ScheduleShape.of(await parts.schedules.show(me.scope, made), me)


@router.patch("/api/scheduler/jobs/{schedule_id}", dependencies=[BUILD])
async def change_schedule(schedule_id: UUID, body: SchedulePatch, me: Me, parts: Its) -> ScheduleShape:
    """Change a job; a due time that has begun is ended as it began."""
    row = await parts.schedules.show(me.scope, str(schedule_id))
    fields = sorted(body.model_fields_set - {"tenant_id", "workspace_id"})
    mine = str(row["owner_id"]) == me.user
    if not mine and not (me.role in _KEEPERS and fields == ["enabled"] and body.enabled is False):
        raise Forbidden(f"it runs as {row['owner']}", fix="Only its owner changes it; operators may switch it off.")
    payload = None if body.payload is None else _validate_payload(Action(row["action"]), body.payload, me)
    change = ScheduleChange(body.name, body.cron, body.timezone, payload, body.enabled)
    role = least_role(Role(row["role"]), me.role) if mine else None
    async with parts.audited(me, "schedule.change", str(schedule_id), {"fields": fields}) as tx:
        await parts.schedules.change(tx, me.scope, str(schedule_id), change, parts.clock(), role)
    return ScheduleShape.of(await parts.schedules.show(me.scope, str(schedule_id)), me)


@router.delete("/api/scheduler/jobs/{schedule_id}", status_code=204, dependencies=[BUILD])
async def remove_schedule(schedule_id: UUID, me: Me, parts: Its) -> Response:
    """Take a job away with its history; what it led to stays."""
    row = await parts.schedules.show(me.scope, str(schedule_id))
    if str(row["owner_id"]) != me.user and me.role not in _KEEPERS:
        raise Forbidden(f"it runs as {row['owner']}", fix="Its owner or an operator may take it away.")
    async with parts.audited(me, "schedule.remove", str(schedule_id), {"name": row["name"]}) as tx:
        await parts.schedules.remove(tx, me.scope, str(schedule_id))
    return Response(status_code=204)


@router.post("/api/scheduler/jobs/{schedule_id}/run", status_code=202, dependencies=[BUILD])
async def run_schedule(schedule_id: UUID, me: Me, parts: Its) -> Asked:
    """Let it be due now, enabled or not; its own times stay as they are."""
    row = await parts.schedules.show(me.scope, str(schedule_id))
    if str(row["owner_id"]) != me.user:
        raise Forbidden(f"it runs as {row['owner']}", fix="Only its owner lets it run.")
    if least_role(Role(row["role"]), me.role) is not Role(row["role"]):
        raise Forbidden(f"it has the rights of {row['role']}; yours here are fewer")
    async with parts.audited(me, "schedule.run", str(schedule_id), {"name": row["name"]}) as tx:
        due = await parts.schedules.ask(tx, me.scope, str(schedule_id))
    parts.wake()
    return Asked(schedule_id=schedule_id, due_at=due)


@router.get("/api/scheduler/jobs/{schedule_id}/runs", dependencies=[READ])
async def schedule_runs(schedule_id: UUID, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> ScheduleRuns:
    """List the due times of a schedule with their outcomes, latest first."""
    rows, total = await parts.schedules.runs(me.scope, str(schedule_id), skip, limit)
    return ScheduleRuns(items=[ScheduleRun(**row) for row in rows], total=total)


def _validate_payload(action: Action, given: Payload, me: WorkspaceMember) -> dict[str, Any]:
    """Validate the payload against the action, and give what is stored.

    Raises Invalid, Forbidden: it does not fit the action, or the action needs a role.
    """
    if action is Action.MESSAGE and given.message is None:
        raise Invalid("a message has no text", fix='Send payload: {"message": "..."}.')
    if action is Action.ACADEMY:
        if given.message is not None:
            raise Invalid("the academy takes no message")
        if me.role not in _KEEPERS:
            raise Forbidden("this needs the role operator or admin; an examination changes what its agent is")
    return given.model_dump(exclude_none=True)
