"""Approval requests: decided by a button or a call, never by what somebody writes in a chat."""

from datetime import datetime
from typing import Annotated, Any, Literal, assert_never
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from cluster.basics.errors import Forbidden, Invalid, NotFound
from cluster.basics.scope import Role
from cluster.state.approvals import ApprovalCategory, ReconcileVerdict, ReviewVerdict
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.agents.intake.toolset import recorded_skills, recorded_specs
from serve_apps.agents.turn.tool_call import schema_error
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import AnyJson, JsonObject, Limit, Prose, RequestBody, Skip
from skills.framework.manifest import CredentialType

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])

State = Literal["pending", "approved", "rejected", "expired"]
Choice = Literal["approve", "reject", "happened", "run", "give_up"]
_DECIDERS = frozenset({Role.OPERATOR, Role.ADMIN})


class OthersAccount(Forbidden):
    """This call is made with the own account of whoever asked for it: somebody else approves it as it is, or not."""

    code = "others_account"
    fix = "Reject it and say in the notes what should be asked for instead."


class ApprovalShape(BaseModel):
    """An action that somebody has to decide, bound to tool and arguments by `digest` (SHA-256).

    `category` is `approval` (may it happen?) or `reconcile` (it was begun, and nobody knows whether it happened).
    """

    id: UUID
    run_id: UUID
    session_id: UUID
    agent_id: UUID
    requested_by: UUID
    category: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    reason: str
    state: str
    execution: str
    decided_arguments: dict[str, Any] | None
    decided_digest: str | None
    reviewer: UUID | None
    notes: str
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    executed_at: datetime | None


class ApprovalList(BaseModel):
    """A page of approvals, oldest first."""

    items: list[ApprovalShape]
    total: int


class Decision(RequestBody):
    """A decision.

    `approve` and `reject` are for approvals; `approve` may carry edited arguments. `happened` (with the result), `run`
    (it did not happen: run it) and `give_up` are for category `reconcile`.
    """

    decision: Choice
    arguments: JsonObject | None = None
    notes: Prose = ""
    result: AnyJson = None


class Review(RequestBody):
    """Remarks to a decision; who decides is in the token."""

    notes: Prose = ""
    reviewer_id: Annotated[str | None, Field(max_length=200, description="Compared with the token.")] = None


@router.get("/api/approvals", dependencies=[OPERATE])
async def approvals(
    me: Me,
    parts: Its,
    state: Annotated[State | None, Query()] = None,
    run_id: Annotated[UUID | None, Query()] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> ApprovalList:
    """The workspace's approvals, oldest first."""
    run = None if run_id is None else str(run_id)
    rows, total = await parts.approvals.page(me.scope, state=state, run=run, skip=skip, limit=limit)
    return ApprovalList(items=[ApprovalShape(**row) for row in rows], total=total)


@router.get("/api/v1/agents/approvals/pending", dependencies=[OPERATE])
async def pending(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> ApprovalList:
    """List pending approval requests."""
    rows, total = await parts.approvals.page(me.scope, state="pending", skip=skip, limit=limit)
    return ApprovalList(items=[ApprovalShape(**row) for row in rows], total=total)


@router.get("/api/approvals/{approval_id}", dependencies=[READ])
async def approval(approval_id: UUID, me: Me, parts: Its) -> ApprovalShape:
    """Show an approval request; who may not decide sees those of their own turns."""
    row = await parts.approvals.show(me.scope, str(approval_id))
    seen = me.role in _DECIDERS and row["category"] != ApprovalCategory.INPUT  # a question is part of a conversation
    if not seen and str(row["requested_by"]) != me.user:
        raise NotFound(f"approval {approval_id}")
    return ApprovalShape(**row)


@router.post("/api/approvals/{approval_id}", dependencies=[OPERATE])
async def decide(approval_id: UUID, body: Decision, me: Me, parts: Its) -> ApprovalShape:
    """Decide. Whoever comes first wins, the run goes on by itself, and the audit trail keeps who did what."""
    return ApprovalShape(**await _apply_decision(parts, me, str(approval_id), body))


@router.post("/api/v1/agents/approvals/{approval_id}/approve", dependencies=[OPERATE])
async def approve(approval_id: UUID, me: Me, parts: Its, body: Review | None = None) -> ApprovalShape:
    """Approve as it is."""
    return await _review_approval(parts, me, approval_id, "approve", body)


@router.post("/api/v1/agents/approvals/{approval_id}/reject", dependencies=[OPERATE])
async def reject(approval_id: UUID, me: Me, parts: Its, body: Review | None = None) -> ApprovalShape:
    """Reject: the agent is told, and goes on without it."""
    return await _review_approval(parts, me, approval_id, "reject", body)


async def _review_approval(
    parts: AppDependencies, me: WorkspaceMember, id_: UUID, choice: Choice, body: Review | None
) -> ApprovalShape:
    said = body or Review()
    require_same_scope(me, None, None, said.reviewer_id)
    return ApprovalShape(**await _apply_decision(parts, me, str(id_), Decision(decision=choice, notes=said.notes)))


async def _apply_decision(parts: AppDependencies, me: WorkspaceMember, id_: str, body: Decision) -> Row:
    if body.arguments is not None and body.decision != "approve":
        raise Invalid("arguments are edited by approving them")
    if body.result is not None and body.decision != "happened":
        raise Invalid("a result belongs to `happened`")
    match body.decision:
        case "approve":
            if body.arguments is not None:
                row = await parts.approvals.show(me.scope, id_)
                if row["category"] == ApprovalCategory.APPROVAL:
                    await _check_edited(parts, me, row, body.arguments)
            return await parts.approvals.decide(
                me.scope, id_, ReviewVerdict.APPROVED, arguments=body.arguments, notes=body.notes
            )
        case "reject":
            return await parts.approvals.decide(me.scope, id_, ReviewVerdict.REJECTED, notes=body.notes)
        case "happened" | "run" | "give_up":
            found = ReconcileVerdict(body.decision)
            return await parts.approvals.reconcile(me.scope, id_, found, result=body.result, notes=body.notes)
        case _:
            assert_never(body.decision)


async def _check_edited(parts: AppDependencies, me: WorkspaceMember, row: Row, arguments: dict[str, Any]) -> None:
    """As `check_arguments`, of what placeholders stand for; what is wrong is told of the placeholders.

    Raises OthersAccount: it would be done as somebody else, who has asked for something else.
    """
    if str(row["requested_by"]) != me.user:
        given = recorded_skills(await parts.runs.recording(me.scope, str(row["run_id"])))
        if any(one.name == row["tool"] and one.credential is CredentialType.OAUTH for one in given):
            raise OthersAccount
    try:
        await check_arguments(parts, me, row, arguments)
    except Invalid as wrong:
        plain = await parts.approvals.plain_arguments(me.scope, row, arguments)
        try:
            await check_arguments(parts, me, row, plain)
        except Invalid:
            raise wrong from None


async def check_arguments(parts: AppDependencies, me: WorkspaceMember, row: Row, arguments: dict[str, Any]) -> None:
    """Edited arguments have to be valid against the tool's schema, as the model's had to be: that of the tools which
    every agent has, or of the skills that the run's agents were given when it began.

    Raises Invalid: naming the first field that is wrong, or that there is no such tool any more.
    """
    tool = row["tool"]
    specs = [spec for spec in parts.toolbox.specs() if spec.name == tool]
    if not specs:
        given = recorded_specs(await parts.runs.recording(me.scope, str(row["run_id"])))
        specs = [spec for spec in given if spec.name == tool]
    if not specs:
        raise Invalid(f"there is no tool {tool} here any more, so its arguments cannot be checked")
    found = [schema_error(spec, arguments) for spec in specs]
    if None not in found:
        raise Invalid(str(found[0]))
