"""People of the tenant by SCIM: list, make, change, deactivate, delete. Administrators by hand are only shown."""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from scim2_models import Context, MutabilityException, PatchOp, SearchRequest

from cluster.basics.errors import NotFound
from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.identity.provisioned_people import AttributeQuery, DisabledByHand
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import PROVISION
from serve_apps.http.deps import AppDependencies
from serve_apps.http.scim.attribute_filters import attribute_query
from serve_apps.http.scim.scim_models import ScimUser
from serve_apps.http.scim.scim_payloads import (
    ScimResponse,
    check_effort,
    leaves_out,
    list_response,
    read_parameters,
    read_patch,
    read_query,
    read_resource,
    read_search,
    resource_response,
    scim_reading,
)
from serve_apps.http.scim.scim_places import address_of, as_person, as_user, check_person, id_in_path

router = APIRouter(prefix="/scim/v2/Users", route_class=GuardedRoute, tags=["scim"])

UserPatch = PatchOp[ScimUser]
Change = Callable[[ScimUser], ScimUser]


@router.get("", dependencies=[PROVISION], response_class=ScimResponse)
async def list_users(request: Request, me: Me, parts: Its) -> ScimResponse:
    """List people: `filter`, `sortBy`, `startIndex`, `count`, `attributes`, as RFC 7644 has them."""
    return await _answer(request, me, parts, read_query(request, ScimUser))


@router.post("/.search", dependencies=[PROVISION], response_class=ScimResponse)
async def search_users(request: Request, me: Me, parts: Its) -> ScimResponse:
    """The same, asked in a body."""
    return await _answer(request, me, parts, await read_search(request, ScimUser))


@router.post("", dependencies=[PROVISION], response_class=ScimResponse, status_code=201)
async def add_user(request: Request, me: Me, parts: Its) -> ScimResponse:
    """Make somebody, who has no password and no right but what a rule gives. 409 where name or address is taken."""
    user, asked = await read_resource(request, ScimUser, Context.RESOURCE_CREATION_REQUEST), _asked(request)
    check_person(user)
    person, email, active = as_person(user), address_of(user), user.active is not False
    rules, scim = await parts.scim.rules(me), parts.scim.people
    async with parts.database.transaction(me.scope) as tx:
        unknown = parts.passwords.nobodys
        id_ = await scim.add(tx, me.tenant, person, email, active=active, unknown=unknown)
        await scim.grant(tx, me.tenant, [id_], rules)
        await parts.audit.record(tx, me.scope, "scim.user.add", id_, detail={"email": email, "active": active})
        made = await _read(request, tx, me, parts, id_)
    return await resource_response(made, Context.RESOURCE_CREATION_RESPONSE, asked, status=201)


@router.get("/{user_id}", dependencies=[PROVISION], response_class=ScimResponse)
async def get_user(user_id: str, request: Request, me: Me, parts: Its) -> ScimResponse:
    """Show somebody."""
    asked, id_ = _asked(request), id_in_path(user_id)
    async with parts.database.transaction(me.scope) as tx:
        found = await _read(request, tx, me, parts, id_)
    return await resource_response(found, Context.RESOURCE_QUERY_RESPONSE, asked)


@router.put("/{user_id}", dependencies=[PROVISION], response_class=ScimResponse)
async def replace_user(user_id: str, request: Request, me: Me, parts: Its) -> ScimResponse:
    """Say anew what somebody is like; who is inactive from now on is signed out at once, keys included."""
    wanted = await read_resource(request, ScimUser, Context.RESOURCE_REPLACEMENT_REQUEST)

    def change(before: ScimUser) -> ScimUser:
        wanted.replace(before)
        wanted.active = before.active if wanted.active is None else wanted.active
        return wanted

    after = await _change(request, me, parts, id_in_path(user_id), change)
    return await resource_response(after, Context.RESOURCE_REPLACEMENT_RESPONSE, _asked(request))


@router.patch("/{user_id}", dependencies=[PROVISION], response_class=ScimResponse)
async def patch_user(user_id: str, request: Request, me: Me, parts: Its) -> ScimResponse:
    """Change some of what somebody is like (RFC 7644, section 3.5.2); a second time changes nothing."""
    patch, asked = await read_patch(request, UserPatch), _asked(request)
    check_effort(patch.operations or (), 1)

    def change(before: ScimUser) -> ScimUser:
        after = before.model_copy(deep=True)
        patch.patch(after)
        if after.active is None:
            raise MutabilityException(attribute="active", detail="active is true or false, and cannot be removed")
        return after

    after = await _change(request, me, parts, id_in_path(user_id), change)
    return await resource_response(after, Context.RESOURCE_PATCH_RESPONSE, asked)


@router.delete("/{user_id}", dependencies=[PROVISION], status_code=204, response_class=Response)
async def delete_user(user_id: str, me: Me, parts: Its) -> None:
    """Let somebody in no more: every session, stream and API key of theirs ends. What they made stays.

    The account is disabled and hidden from SCIM; its address stays taken until an administrator enables it by hand.
    """
    id_, scim = id_in_path(user_id), parts.scim.people
    async with parts.audited(me, "scim.user.delete", id_) as tx:
        await scim.changeable_person(tx, me.tenant, id_)
        await parts.accounts.change_user(tx, me.scope, id_, disabled=True)
        await scim.forget(tx, me.tenant, id_)


async def _change(request: Request, me: WorkspaceMember, parts: AppDependencies, id_: str, change: Change) -> ScimUser:
    rules, scim = await parts.scim.rules(me), parts.scim.people
    async with parts.database.transaction(me.scope) as tx:
        row = await scim.changeable_person(tx, me.tenant, id_)
        before = await _read(request, tx, me, parts, id_)
        after = await asyncio.to_thread(_changed, before, change)
        person, active = as_person(after), after.active is not False
        if person != as_person(before):
            check_person(after)
            await scim.change(tx, me.tenant, id_, person)
        if active != row["active"]:
            if row["barred"]:
                raise DisabledByHand
            await parts.accounts.change_user(tx, me.scope, id_, disabled=not active)
            await scim.sign_disabled(tx, me.tenant, id_)
        await scim.grant(tx, me.tenant, [id_], rules)
        detail = {"userName": person.user_name, "active": active}
        await parts.audit.record(tx, me.scope, "scim.user.change", id_, detail=detail)
        return await _read(request, tx, me, parts, id_)


def _changed(before: ScimUser, change: Change) -> ScimUser:
    with scim_reading():
        return change(before)


async def _read(request: Request, tx: Transaction, me: WorkspaceMember, parts: AppDependencies, id_: str) -> ScimUser:
    """One of the people. Raises NotFound."""
    rows, _ = await parts.scim.people.search(tx, me.tenant, AttributeQuery(only=id_, limit=1))
    if not rows:
        raise NotFound(f"user {id_}")
    groups = await parts.scim.people.groups_of(tx, me.tenant, [id_])
    return as_user(request, rows[0], groups[id_])


async def find_users(
    request: Request, tx: Transaction, me: WorkspaceMember, parts: AppDependencies, asked: SearchRequest[Any]
) -> tuple[list[ScimUser], int]:
    """A page of people with what was asked of them, and how many there are."""
    rows, total = await parts.scim.people.search(tx, me.tenant, attribute_query(asked, ScimUser))
    ids = [] if leaves_out(asked, "groups") else [str(row["id"]) for row in rows]
    groups = await parts.scim.people.groups_of(tx, me.tenant, ids)
    shown = [(row, groups.get(str(row["id"]), ())) for row in rows]
    return await asyncio.to_thread(lambda: [as_user(request, *one) for one in shown]), total


async def _answer(
    request: Request, me: WorkspaceMember, parts: AppDependencies, asked: SearchRequest[Any]
) -> ScimResponse:
    async with parts.database.transaction(me.scope) as tx:
        found, total = await find_users(request, tx, me, parts, asked)
    return await list_response(found, total, asked.start_index or 1, asked, ScimUser)


def _asked(request: Request) -> Any:
    return read_parameters(request, ScimUser)
