"""Tenants, workspaces, users and API keys."""

import secrets
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field

from cluster.basics.errors import Forbidden
from cluster.basics.scope import Role
from cluster.state.identity.identity import least_role
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.login_routes import check_password
from serve_apps.http.auth.permissions import ADMINISTER, BUILD, KEYS, READ, TENANT, check_access
from serve_apps.http.auth.tokens import new_key
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Email, Limit, Name, Password, RequestBody, Skip, Text
from serve_apps.http.response_shapes import (
    ApiKey,
    ApiKeys,
    KeyOfUser,
    NewApiKey,
    NewPassword,
    NewTenant,
    NewUser,
    Tenant,
    Tenants,
    User,
    Users,
    Workspace,
    Workspaces,
)

router = APIRouter(route_class=GuardedRoute, tags=["accounts"])

Given = Annotated[
    Password | None, Field(description="Left out, one is made and shown once; either must be changed at first login.")
]


PartOfEmail = Annotated[Text | None, Query(max_length=254, description="Part of the e-mail address.")]
Everywhere = Annotated[bool, Query(description="Everybody of the tenant.")]


class TenantRequest(RequestBody):
    """A tenant below one's own, and who administers it."""

    name: Name
    admin_email: Email
    password: Given = None


class WorkspaceRequest(RequestBody):
    """A workspace of the own tenant."""

    name: Name


class UserRequest(RequestBody):
    """Somebody and their role in the workspace; who is in the tenant already keeps their password."""

    email: Email
    role: Role = Role.VIEWER
    tenant_role: Annotated[
        Role | None, Field(description="Across the tenant; left out, a new user is a viewer there, a known one stays.")
    ] = None
    password: Given = None


class UserPatch(RequestBody):
    """Changes to a user; `role` is that in this workspace, and makes somebody of the tenant a member of it."""

    role: Role | None = None
    tenant_role: Role | None = None
    disabled: bool | None = None


class PasswordReset(RequestBody):
    """A new first password, and whether API keys that were made in sessions of the present one go on."""

    password: Given = None
    keep_keys: bool = False


class ApiKeyRequest(RequestBody):
    """A key for a machine; it never has more rights than its owner."""

    name: Name
    role: Role | None = None
    may_impersonate: Annotated[
        bool, Field(description="For a front end: it acts for members whom X-OpenWebUI-User-Email names.")
    ] = False


@router.get("/api/tenants", dependencies=[TENANT])
async def tenants(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> Tenants:
    """The own tenant and those made below it."""
    rows = await parts.accounts.tenants(me.scope, skip, limit)
    return Tenants(items=[Tenant(**row) for row in rows])


@router.post("/api/tenants", status_code=201, dependencies=[TENANT])
async def add_tenant(body: TenantRequest, me: Me, parts: Its) -> NewTenant:
    """Make a tenant with a workspace `default` and an administrator."""
    made, hashed = await _first_password(parts, body.password)
    async with parts.database.transaction(me.scope) as tx:
        # First the record: from then on the transaction acts inside the new tenant, whose trail is another.
        await parts.audit.record(tx, me.scope, "tenant.add", body.name)
        row = await parts.accounts.add_tenant(tx, me.scope, body.name, body.admin_email, hashed)
    return NewTenant(**row, password=made)


@router.get("/api/workspaces", dependencies=[READ])
async def workspaces(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> Workspaces:
    """List the caller's workspaces."""
    rows = await parts.accounts.workspaces(me.scope, skip, limit)
    return Workspaces(items=[Workspace(**row) for row in rows])


@router.post("/api/workspaces", status_code=201, dependencies=[TENANT])
async def add_workspace(body: WorkspaceRequest, me: Me, parts: Its) -> Workspace:
    """Make a workspace in the own tenant."""
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.accounts.add_workspace(tx, me.scope, body.name)
        await parts.audit.record(tx, me.scope, "workspace.add", str(row["id"]), detail={"name": body.name})
    return Workspace(**row, role=Role.ADMIN)


@router.get("/api/users", dependencies=[ADMINISTER])
async def users(
    me: Me, parts: Its, q: PartOfEmail = None, everywhere: Everywhere = False, skip: Skip = 0, limit: Limit = 100
) -> Users:
    """List the workspace's members; an administrator of the tenant may list all of its users."""
    if everywhere:
        check_access(me, TENANT)
    rows, total = await parts.accounts.users(me.scope, skip, limit, part=q, everywhere=everywhere)
    return Users(items=[User(**row) for row in rows], total=total)


@router.post("/api/users", status_code=201, dependencies=[TENANT])
async def add_user(body: UserRequest, me: Me, parts: Its, response: Response) -> NewUser:
    """Give somebody a role in the workspace; 200 where they were in the tenant already."""
    made, hashed = await _first_password(parts, body.password)
    async with parts.database.transaction(me.scope) as tx:
        user, fresh = await parts.accounts.add_user(tx, me.scope, body.email, body.role, body.tenant_role, hashed)
        detail = {"email": body.email, "role": body.role, "tenant_role": body.tenant_role}
        await parts.audit.record(tx, me.scope, "user.add", user, detail=detail)
    response.status_code = 201 if fresh else 200
    return NewUser(id=user, email=body.email, role=body.role, fresh=fresh, password=made if fresh else None)


@router.patch("/api/users/{user_id}", dependencies=[TENANT])
async def change_user(user_id: UUID, body: UserPatch, me: Me, parts: Its) -> User:
    """Change somebody's roles, or whether they may sign in; who is disabled is signed out at once, keys included.

    Their access tokens end with any change; with other roles a refresh gives new ones.
    """
    detail = body.model_dump(include={"role", "tenant_role", "disabled"}, exclude_none=True)
    async with parts.audited(me, "user.change", str(user_id), detail) as tx:
        row = await parts.accounts.change_user(
            tx, me.scope, str(user_id), role=body.role, tenant_role=body.tenant_role, disabled=body.disabled
        )
    return User(**row)


@router.post("/api/users/{user_id}/password", dependencies=[TENANT])
async def reset_password(user_id: UUID, body: PasswordReset, me: Me, parts: Its) -> NewPassword:
    """Give somebody a new first password; every session of theirs ends, and they choose their own at the next login.

    API keys made in sessions of the last weeks are revoked with them and named in the answer, as whoever was in the
    account may have made them; `keep_keys` leaves them. Older ones go on and are named too.
    """
    made, hashed = await _first_password(parts, body.password)
    async with parts.database.transaction(me.scope) as tx:
        reset = await parts.accounts.reset_password(tx, me.scope, str(user_id), hashed, keep_keys=body.keep_keys)
        detail = {"revoked_keys": [str(key["id"]) for key in reset.revoked]}
        await parts.audit.record(tx, me.scope, "user.password", str(user_id), detail=detail)
    revoked, kept = ([KeyOfUser(**key) for key in keys] for keys in (reset.revoked, reset.kept))
    user, email = reset.user["id"], reset.user["email"]
    return NewPassword(id=user, email=email, password=made, revoked_keys=revoked, kept_keys=kept)


@router.delete("/api/users/{user_id}/sessions", status_code=204, dependencies=[TENANT])
async def sign_out(user_id: UUID, me: Me, parts: Its) -> None:
    """End every session of somebody, access tokens included; their password and API keys go on."""
    async with parts.audited(me, "session.end", str(user_id), {"everywhere": True}) as tx:
        await parts.accounts.sign_out(tx, me.scope, str(user_id))


@router.delete("/api/users/{user_id}", status_code=204, dependencies=[TENANT])
async def remove_user(user_id: UUID, me: Me, parts: Its) -> None:
    """Take somebody out of this workspace; their account and what they made stay, their access tokens end."""
    async with parts.audited(me, "user.leave", str(user_id)) as tx:
        await parts.accounts.leave(tx, me.scope, str(user_id))


@router.get("/api/api-keys", dependencies=[BUILD])
async def api_keys(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> ApiKeys:
    """The own keys of this workspace; an administrator sees everybody's."""
    owner = None if me.role is Role.ADMIN else me.user
    rows = await parts.accounts.keys(me.scope, owner, skip, limit)
    return ApiKeys(items=[ApiKey(**row) for row in rows])


@router.post("/api/api-keys", status_code=201, dependencies=[KEYS])
async def add_api_key(body: ApiKeyRequest, me: Me, parts: Its) -> NewApiKey:
    """Make a key for a machine. It is shown this once.

    One that may act for people is an administrator's of the tenant to make; they have no more rights than it has.
    """
    if body.may_impersonate:
        check_access(me, TENANT)
    role = me.role if body.role is None else body.role
    if least_role(role, me.role) is not role:
        raise Forbidden(f"a key cannot have the role {role}; yours here is {me.role}")
    key = new_key()
    async with parts.database.transaction(me.scope) as tx:
        acts = body.may_impersonate
        row = await parts.accounts.add_key(
            tx, me.scope, body.name, role, key.prefix, key.text, me.session, impersonate=acts
        )
        detail = {"role": role} | ({"may_impersonate": True} if acts else {})
        await parts.audit.record(tx, me.scope, "api_key.add", str(row["id"]), detail=detail)
    made = {"id": row["id"], "name": body.name, "key": key.text, "role": role, "created_at": row["created_at"]}
    return NewApiKey(**made, may_impersonate=acts)


@router.delete("/api/api-keys/{key_id}", status_code=204, dependencies=[KEYS])
async def revoke_api_key(key_id: UUID, me: Me, parts: Its) -> None:
    """End a key at once; one's own, or anybody's for an administrator."""
    owner = None if me.role is Role.ADMIN else me.user
    async with parts.audited(me, "api_key.revoke", str(key_id)) as tx:
        await parts.accounts.revoke_key(tx, me.scope, str(key_id), owner)


async def _first_password(parts: AppDependencies, given: str | None) -> tuple[str | None, str]:
    """First password to show (only one generated here), and its hash."""
    if given is not None:
        check_password(given)
        return None, await parts.passwords.hash(given)
    made = secrets.token_urlsafe(15)
    return made, await parts.passwords.hash(made)
