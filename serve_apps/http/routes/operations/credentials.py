"""Credentials of skills: what there is and who may use it. Secrets go in, and no answer ever holds one."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import AwareDatetime, BaseModel, Field

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role
from cluster.state.db.postgres import Row
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER, OPERATE
from serve_apps.http.fields import JsonObject, Limit, Name, RequestBody, Skip
from serve_apps.http.response_shapes import copy_fields
from skills.framework.credential_store import CredentialGrant, CredentialReplacement, NewCredential
from skills.framework.credentials import MOST_CHARACTERS, MOST_FIELDS, SECRET_WORDS, SORTS
from skills.framework.manifest import CredentialType

router = APIRouter(route_class=GuardedRoute, tags=["credentials"])

_SIZE = f"At most {MOST_FIELDS} fields of {MOST_CHARACTERS:,} characters."
# What is in them is judged by `divide`, which quotes no value.
_SEALED = f"Stored sealed, never shown. {_SIZE}"
Values = Annotated[
    JsonObject, Field(max_length=MOST_FIELDS, description=_SEALED, json_schema_extra={"writeOnly": True})
]
Extra = Annotated[
    JsonObject,
    Field(max_length=MOST_FIELDS, description=f"Shown; what looks like a secret is sealed all the same. {_SIZE}"),
]


class CredentialRequest(RequestBody):
    """A credential. `context_id` is the session that it is of, if it is not the workspace's."""

    name: Name
    type: CredentialType
    values: Values = Field(default_factory=dict)
    extra: Extra = Field(default_factory=dict)
    is_active: bool = True
    bound: Annotated[bool, Field(description="Only calls that a binding fits may use it.")] = False
    context_id: UUID | None = None
    expires_at: AwareDatetime | None = None


class CredentialPatch(RequestBody):
    """Changes to a credential. `values` and `extra` are replaced together, and only with `values`."""

    name: Name | None = None
    values: Values | None = None
    extra: Extra | None = None
    is_active: bool | None = None
    bound: bool | None = None
    expires_at: AwareDatetime | None = None


class CredentialShape(BaseModel):
    """A credential without its secrets; `fields` are their names."""

    id: UUID
    name: str
    type: CredentialType
    fields: list[str]
    extra: dict[str, Any]
    is_active: bool
    bound: bool
    bindings: int
    context_id: UUID | None
    expires_at: datetime | None
    created_by: UUID | None
    created_at: datetime
    updated_at: datetime


class CredentialList(BaseModel):
    """The workspace's credentials by name."""

    items: list[CredentialShape]
    total: int


class TypeShape(BaseModel):
    """A type; of each group in `needs` one field has to be given."""

    type: CredentialType
    secret: list[str]
    open: list[str]
    needs: list[list[str]]


class TypeList(BaseModel):
    """The types, and the words that make a field a secret one."""

    items: list[TypeShape]
    secret_words: list[str]


class BindingRequest(RequestBody):
    """Binding of a credential: to calls of this agent, of this skill, made with this role, where each is given."""

    agent_id: UUID | None = None
    skill: Name | None = None
    role: Role | None = None


class BindingShape(BaseModel):
    """Binding of a credential to an agent, a skill or a role."""

    id: UUID
    agent_id: UUID | None
    agent: str | None
    skill: str | None
    role: Role | None
    created_by: UUID | None
    created_at: datetime


class BindingList(BaseModel):
    """All who may use it; where the credential is `bound`, nobody else may."""

    items: list[BindingShape]


@router.get("/api/credentials", dependencies=[OPERATE])
async def credentials(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> CredentialList:
    """The workspace's credentials, without their secrets."""
    rows, total = await parts.credentials.page(me.scope, skip=skip, limit=limit)
    return CredentialList(items=[CredentialShape(**row) for row in rows], total=total)


@router.get("/api/credentials/types", dependencies=[OPERATE])
async def credential_types() -> TypeList:
    """List the credential types with their fields."""
    items = [
        TypeShape(type=name, secret=list(sort.secret), open=list(sort.open), needs=[list(one) for one in sort.needs])
        for name, sort in SORTS.items()
    ]
    return TypeList(items=items, secret_words=list(SECRET_WORDS))


@router.post("/api/credentials", status_code=201, dependencies=[ADMINISTER])
async def add_credential(body: CredentialRequest, me: Me, parts: Its) -> CredentialShape:
    """Store a credential."""
    context = None if body.context_id is None else str(body.context_id)
    wanted = copy_fields(NewCredential, body, context=context, expires=body.expires_at)
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.credentials.add(tx, me.scope, wanted)
        detail = {"name": body.name, "type": body.type, "fields": row["fields"]}
        await parts.audit.record(tx, me.scope, "credential.add", str(row["id"]), detail=detail)
    return CredentialShape(**row)


@router.patch("/api/credentials/{credential_id}", dependencies=[ADMINISTER])
async def change_credential(credential_id: UUID, body: CredentialPatch, me: Me, parts: Its) -> CredentialShape:
    """Rename it, switch it off or on, or give it other values; calls that have begun go on with the old ones."""
    given = body.model_fields_set - {"tenant_id", "workspace_id"}
    if body.extra is not None and body.values is None:
        raise Invalid("`extra` is replaced together with `values`", fix="Send the secrets again as well.")
    changes = {
        name: value
        for name in given & {"name", "is_active", "bound", "expires_at"}
        if (value := getattr(body, name)) is not None or name == "expires_at"
    }
    content = None if body.values is None else CredentialReplacement(body.values, body.extra or {})
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.credentials.change(tx, me.scope, str(credential_id), changes, content)
        detail = {"name": row["name"], "changed": sorted(given)}
        await parts.audit.record(tx, me.scope, "credential.change", str(credential_id), detail=detail)
    return CredentialShape(**row)


@router.delete("/api/credentials/{credential_id}", status_code=204, dependencies=[ADMINISTER])
async def delete_credential(credential_id: UUID, me: Me, parts: Its) -> Response:
    """Forget a credential with its bindings."""
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.credentials.remove(tx, me.scope, str(credential_id))
        detail = {"name": row["name"], "type": row["type"]}
        await parts.audit.record(tx, me.scope, "credential.delete", str(credential_id), detail=detail)
    return Response(status_code=204)


@router.get("/api/credentials/{credential_id}/bindings", dependencies=[OPERATE])
async def bindings(credential_id: UUID, me: Me, parts: Its) -> BindingList:
    """List the bindings of a credential."""
    async with parts.database.transaction(me.scope) as tx:
        rows = await parts.credentials.bindings(tx, me.scope, str(credential_id))
    return BindingList(items=[BindingShape(**row) for row in rows])


@router.post("/api/credentials/{credential_id}/bindings", status_code=201, dependencies=[ADMINISTER])
async def bind(credential_id: UUID, body: BindingRequest, me: Me, parts: Its) -> BindingShape:
    """Let an agent, a skill or a role use it; with the first binding it is closed to all others."""
    grant = CredentialGrant(None if body.agent_id is None else str(body.agent_id), body.skill, body.role)
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.credentials.bind(tx, me.scope, str(credential_id), grant)
        await parts.audit.record(tx, me.scope, "credential.bind", str(credential_id), detail=_binding_detail(row))
    return BindingShape(**row)


@router.delete("/api/credentials/{credential_id}/bindings/{binding_id}", status_code=204, dependencies=[ADMINISTER])
async def unbind(credential_id: UUID, binding_id: UUID, me: Me, parts: Its) -> Response:
    """Take a binding back. Without any nobody may use it, until `bound` is set to false."""
    async with parts.audited(me, "credential.unbind", str(credential_id), {"binding": str(binding_id)}) as tx:
        await parts.credentials.unbind(tx, me.scope, str(credential_id), str(binding_id))
    return Response(status_code=204)


def _binding_detail(row: Row) -> dict[str, str]:
    return {name: str(row[name]) for name in ("agent_id", "skill", "role") if row[name] is not None}
