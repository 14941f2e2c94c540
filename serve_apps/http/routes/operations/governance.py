"""Policies of data governance: those that are shipped, and those of the tenant and the workspace, in versions."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from cluster.basics.errors import Forbidden
from cluster.basics.scope import Role
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.privacy.policy_rules import (
    AnswerScope,
    DataClass,
    PolicyBody,
    StandardReference,
    parse_policy,
    policy_of_request,
)
from serve_apps.governance.policy_effects import PolicyEffect
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER, READ
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import JsonObject, Name, RequestBody

router = APIRouter(route_class=GuardedRoute, tags=["governance"])


class ResolvedReference(BaseModel):
    """A standard that a policy answers to."""

    standard: str
    title: str
    description: str


class PolicyShape(BaseModel):
    """A policy. `reach`: `shipped` holds for all, `tenant` for all workspaces of it, `workspace` for this one."""

    id: str
    version: int
    name: str
    reach: str
    description: str
    pii: dict[str, str]
    answers: AnswerScope
    classes: list[DataClass]
    references: list[str]
    references_resolved: list[ResolvedReference]
    active: bool = True
    created_by: UUID | None = None
    created_at: datetime | None = None


class PolicyList(BaseModel):
    """Those that hold here; `effective` is what is done at each place under all of them."""

    items: list[PolicyShape]
    total: int
    effective: dict[str, str]


class PolicyVersions(BaseModel):
    """Every version of a policy, the newest first."""

    items: list[PolicyShape]


class ReferenceShape(ResolvedReference):
    """A standard of the catalogue; policies name it by its `id`."""

    id: str


class ReferenceList(BaseModel):
    """The catalogue."""

    items: list[ReferenceShape]
    total: int


class EffectShape(BaseModel):
    """What a policy would touch in this workspace; `samples` say where, and never what stands there."""

    documents: int
    documents_looked_at: int
    pages_looked_at: int
    complete: bool
    pages_with_finds: int
    page_finds: dict[str, int]
    classes: dict[str, int]
    messages: int
    runs: int
    message_finds: dict[str, int]
    samples: list[dict[str, Any]]


class PolicyOutcome(BaseModel):
    """A policy as it is now; of a dry run only what it would touch."""

    policy: PolicyShape | None = None
    effect: EffectShape | None = None


class PolicyRequest(RequestBody):
    """A policy: `body` has `description`, `references`, `pii`, `answers`, `classes`, as in configs/governance.yaml."""

    name: Name
    body: JsonObject
    dry_run: Annotated[bool, Field(description="Only tell what it would touch; nothing is changed.")] = False


class NewPolicyRequest(PolicyRequest):
    """A new policy, of the workspace or of the whole tenant."""

    tenant_wide: bool = False


class PolicyChangeRequest(PolicyRequest):
    """A change; `version` is the one that was read."""

    version: Annotated[int, Field(ge=1)]


@router.get("/api/data-governance/references", dependencies=[READ])
async def references(me: Me, parts: Its) -> ReferenceList:
    """The standards and laws that policies may name."""
    found = parts.governance.policies.rules.references
    return ReferenceList(items=[ReferenceShape(**one.model_dump()) for one in found], total=len(found))


@router.get("/api/data-governance/policies", dependencies=[READ])
async def policies(me: Me, parts: Its) -> PolicyList:
    """The policies that hold here, each with the standards that it answers to, and what they come to."""
    store = parts.governance.policies
    rules = store.rules
    shipped = [
        _policy_shape(parts, one.body, id=one.id, version=1, name=one.name, reach="shipped") for one in rules.policies
    ]
    stored = [_stored_shape(parts, row) for row in await store.page(me.scope)]
    items = shipped + stored
    return PolicyList(items=items, total=len(items), effective=dict(await store.effective(me.scope)))


@router.get("/api/data-governance/policies/{policy_id}/versions", dependencies=[ADMINISTER])
async def policy_versions(policy_id: UUID, me: Me, parts: Its) -> PolicyVersions:
    """Every version of a policy, and who made it."""
    rows = await parts.governance.policies.versions(me.scope, str(policy_id))
    return PolicyVersions(items=[_stored_shape(parts, row) for row in rows])


@router.post("/api/data-governance/policies", status_code=201, dependencies=[ADMINISTER])
async def add_policy(body: NewPolicyRequest, me: Me, parts: Its, response: Response) -> PolicyOutcome:
    """Make a policy; with `dry_run` only tell what it would touch in this workspace."""
    said, store = _checked_body(parts, body), parts.governance.policies
    _require_reach(me, tenant_wide=body.tenant_wide)
    if body.dry_run:
        response.status_code = 200
        return await _dry_run(parts, me, said)
    policy = uuid4()
    async with parts.audited(me, "policy.add", str(policy), _audit_detail(body, said, 1)) as tx:
        row = await store.add(tx, me.scope, policy, body.name, said, tenant_wide=body.tenant_wide)
    return PolicyOutcome(policy=_stored_shape(parts, row))


@router.put("/api/data-governance/policies/{policy_id}", dependencies=[ADMINISTER])
async def change_policy(policy_id: UUID, body: PolicyChangeRequest, me: Me, parts: Its) -> PolicyOutcome:
    """Make another version of a policy; with `dry_run` only tell what it would touch in this workspace."""
    said, store = _checked_body(parts, body), parts.governance.policies
    last = await store.last(me.scope, str(policy_id))
    _require_reach(me, tenant_wide=last["workspace_id"] is None)
    if body.dry_run:
        return await _dry_run(parts, me, said)
    async with parts.audited(me, "policy.change", str(policy_id), _audit_detail(body, said, body.version + 1)) as tx:
        row = await store.change(tx, me.scope, str(policy_id), body.version, body.name, said)
    return PolicyOutcome(policy=_stored_shape(parts, row))


@router.delete("/api/data-governance/policies/{policy_id}", status_code=204, dependencies=[ADMINISTER])
async def retire_policy(policy_id: UUID, me: Me, parts: Its) -> None:
    """Let a policy hold no longer, from now on; its versions stay on record."""
    store = parts.governance.policies
    last = await store.last(me.scope, str(policy_id))
    _require_reach(me, tenant_wide=last["workspace_id"] is None)
    async with parts.audited(me, "policy.retire", str(policy_id), {"name": last["name"]}) as tx:
        await store.retire(tx, me.scope, str(policy_id))


def _checked_body(parts: AppDependencies, body: PolicyRequest) -> PolicyBody:
    said = policy_of_request(body.body)
    parts.governance.policies.rules.resolve(said.references)
    return said


def _require_reach(me: WorkspaceMember, *, tenant_wide: bool) -> None:
    if tenant_wide and me.tenant_role is not Role.ADMIN:
        raise Forbidden("a policy of the whole tenant needs the role admin in the tenant")


async def _dry_run(parts: AppDependencies, me: WorkspaceMember, said: PolicyBody) -> PolicyOutcome:
    found: PolicyEffect = await parts.governance.effects.effect(me.scope, said)
    return PolicyOutcome(effect=EffectShape(**vars(found)))


def _audit_detail(body: PolicyRequest, said: PolicyBody, version: int) -> dict[str, Any]:
    return {"name": body.name, "version": version, "pii": said.pii, "classes": [one.name for one in said.classes]}


def _stored_shape(parts: AppDependencies, row: Row) -> PolicyShape:
    reach = "tenant" if row["workspace_id"] is None else "workspace"
    more = {key: row[key] for key in ("version", "name", "active", "created_by", "created_at")}
    return _policy_shape(parts, parse_policy(row["body"]), id=str(row["id"]), reach=reach, **more)


def _policy_shape(parts: AppDependencies, body: PolicyBody, **about: Any) -> PolicyShape:
    resolved = [_resolved(one) for one in parts.governance.policies.rules.resolve(body.references)]
    names = ("description", "pii", "answers", "classes", "references")
    said = {name: getattr(body, name) for name in names}
    return PolicyShape(**about, **said, references_resolved=resolved)


def _resolved(one: StandardReference) -> ResolvedReference:
    return ResolvedReference(standard=one.standard, title=one.title, description=one.description)
