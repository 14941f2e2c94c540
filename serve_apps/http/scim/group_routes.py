"""Groups of the tenant by SCIM: list, make, fill, delete. Whom an administrator has added by hand stays in them."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from scim2_models import Context, PatchOp, SearchRequest

from cluster.basics.errors import NotFound
from cluster.state.db.postgres import Row, Transaction
from cluster.state.identity.groups import LONGEST_NAME, is_group_name
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.identity.provisioned_people import AttributeQuery
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import PROVISION
from serve_apps.http.deps import AppDependencies
from serve_apps.http.scim.attribute_filters import attribute_query
from serve_apps.http.scim.member_changes import SplitPatch, apply_changes, split_patch
from serve_apps.http.scim.scim_models import ScimGroup
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
from serve_apps.http.scim.scim_places import as_group, checked_external_id, checked_name, id_in_path
from serve_apps.http.scim_errors import ScimRequestRefused

router = APIRouter(prefix="/scim/v2/Groups", route_class=GuardedRoute, tags=["scim"])

GroupPatch = PatchOp[ScimGroup]
MOST_MEMBERS: Final = 20_000  # on one page: it has fewer groups where they are large, and always one


@router.get("", dependencies=[PROVISION], response_class=ScimResponse)
async def list_groups(request: Request, me: Me, parts: Its) -> ScimResponse:
    """List groups: `filter`, `sortBy`, `startIndex`, `count`, `attributes`, as RFC 7644 has them."""
    return await _answer(request, me, parts, read_query(request, ScimGroup))


@router.post("/.search", dependencies=[PROVISION], response_class=ScimResponse)
async def search_groups(request: Request, me: Me, parts: Its) -> ScimResponse:
    """The same, asked in a body."""
    return await _answer(request, me, parts, await read_search(request, ScimGroup))


@router.post("", dependencies=[PROVISION], response_class=ScimResponse, status_code=201)
async def add_group(request: Request, me: Me, parts: Its) -> ScimResponse:
    """Make a group, which documents may name at once. 409 where one has, or had, the name."""
    group, asked = await read_resource(request, ScimGroup, Context.RESOURCE_CREATION_REQUEST), _asked(request)
    name, external_id = _checked_display(group), checked_external_id(group.external_id)
    members = _members(group)
    async with parts.database.transaction(me.scope) as tx:
        id_ = await parts.scim.groups.add(tx, me.scope, name, external_id)
        await _change_members(tx, me, parts, id_, joining=members, leaving=())
        detail = {"name": name, "members": len(members)}
        await parts.audit.record(tx, me.scope, "scim.group.add", id_, detail=detail)
        made = await _read(request, tx, me, parts, id_, asked)
    return await resource_response(made, Context.RESOURCE_CREATION_RESPONSE, asked, status=201)


@router.get("/{group_id}", dependencies=[PROVISION], response_class=ScimResponse)
async def get_group(group_id: str, request: Request, me: Me, parts: Its) -> ScimResponse:
    """Show a group with its members."""
    asked, id_ = _asked(request), id_in_path(group_id)
    async with parts.database.transaction(me.scope) as tx:
        found = await _read(request, tx, me, parts, id_, asked)
    return await resource_response(found, Context.RESOURCE_QUERY_RESPONSE, asked)


@router.put("/{group_id}", dependencies=[PROVISION], response_class=ScimResponse)
async def replace_group(group_id: str, request: Request, me: Me, parts: Its) -> ScimResponse:
    """Say anew how a group is shown and who belongs to it."""
    id_ = id_in_path(group_id)
    wanted, asked = await read_resource(request, ScimGroup, Context.RESOURCE_REPLACEMENT_REQUEST), _asked(request)
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.scim.groups.group(tx, me.tenant, id_)
        held = (await parts.scim.groups.members_of(tx, me.tenant, [id_]))[id_]
        await _save(tx, me, parts, row, wanted, _members(wanted), held)
        after = await _read(request, tx, me, parts, id_, asked)
    return await resource_response(after, Context.RESOURCE_REPLACEMENT_RESPONSE, asked)


@router.patch("/{group_id}", dependencies=[PROVISION], response_class=Response, status_code=204)
async def patch_group(group_id: str, request: Request, me: Me, parts: Its) -> Response:
    """Change some of a group (RFC 7644, section 3.5.2): mostly its members. Shown where `attributes` ask."""
    id_ = id_in_path(group_id)
    patch, asked = await read_patch(request, GroupPatch), _asked(request)
    split, groups = split_patch(patch.operations or []), parts.scim.groups
    async with parts.database.transaction(me.scope) as tx:
        row = await groups.group(tx, me.tenant, id_)
        if split.named is None:
            held = (await groups.members_of(tx, me.tenant, [id_]))[id_]
        else:
            held = await groups.some_members(tx, me.tenant, id_, split.named)
        before = as_group(request, row, held if split.whole else None)
        after, wanted = await asyncio.to_thread(_patched, split, before, held)
        await _save(tx, me, parts, row, after, wanted, held)
        if not asked.attributes:
            return Response(status_code=204)
        shown = await _read(request, tx, me, parts, id_, asked)
    return await resource_response(shown, Context.RESOURCE_PATCH_RESPONSE, asked)


@router.delete("/{group_id}", dependencies=[PROVISION], status_code=204, response_class=Response)
async def delete_group(group_id: str, me: Me, parts: Its) -> None:
    """Delete a group that SCIM has made; what only its members may read nobody reads by it. Its name stays taken."""
    id_, scim = id_in_path(group_id), parts.scim
    rules = await scim.rules(me)
    async with parts.database.transaction(me.scope) as tx:
        row = await scim.groups.group(tx, me.tenant, id_)
        members = await scim.groups.delete(tx, me.scope, row)
        await scim.people.lock(tx, me.tenant, members)
        await scim.people.grant(tx, me.tenant, members, rules)
        await parts.audit.record(tx, me.scope, "scim.group.delete", id_, detail={"name": row["name"]})


async def _save(
    tx: Transaction,
    me: WorkspaceMember,
    parts: AppDependencies,
    row: Row,
    after: ScimGroup,
    wanted: Sequence[str],
    held: Sequence[str],
) -> None:
    """The group as it is to be, with whom that is `wanted` in it; `held` are its members as far as they matter."""
    id_, name, external_id = str(row["id"]), _checked_display(after), checked_external_id(after.external_id)
    if (name, external_id) != (row["display_name"], row["external_id"]):
        await parts.scim.groups.change(tx, me.tenant, row, name, external_id)
    before, afterwards = set(held), set(wanted)
    joining = [user for user in wanted if user not in before]
    leaving = [user for user in held if user not in afterwards]
    left = await _change_members(tx, me, parts, id_, joining=joining, leaving=leaving)
    counts = {"joined_total": len(joining), "left_total": len(left)}
    detail = {"name": name, "joined": joining[:100], "left": left[:100], **counts}
    await parts.audit.record(tx, me.scope, "scim.group.change", id_, detail=detail)


async def _change_members(
    tx: Transaction,
    me: WorkspaceMember,
    parts: AppDependencies,
    group: str,
    *,
    joining: Sequence[str],
    leaving: Sequence[str],
) -> list[str]:
    """Who belongs to it from now on, with the rights that follow; those who have left."""
    if not joining and not leaving:
        return []
    scim, changed = parts.scim, [*joining, *leaving]
    rules = await scim.rules(me)
    await scim.groups.require_people(tx, me.tenant, joining)
    await scim.people.lock(tx, me.tenant, changed)
    left = await scim.groups.change_members(tx, me.tenant, group, joining, leaving)
    await scim.people.grant(tx, me.tenant, changed, rules)
    return left


def _patched(split: SplitPatch, group: ScimGroup, held: Sequence[str]) -> tuple[ScimGroup, list[str]]:
    """The group, and who belongs to it of those that were looked at."""
    if split.rest:
        check_effort(split.rest, len(held) if split.whole else 1)
        with scim_reading():
            GroupPatch(operations=list(split.rest)).patch(group)
    return group, _members(group) if split.whole else apply_changes(held, split.members)


def _members(group: ScimGroup) -> list[str]:
    return list(dict.fromkeys(one.value for one in group.members or () if one.value))


def _checked_display(group: ScimGroup) -> str:
    name = checked_name((group.display_name or "").strip(), "displayName", LONGEST_NAME)
    if not is_group_name(name.lower()):
        raise ScimRequestRefused("invalidValue", "displayName: documents name groups by it, so it has no comma")
    return name


async def _read(
    request: Request, tx: Transaction, me: WorkspaceMember, parts: AppDependencies, id_: str, asked: Any
) -> ScimGroup:
    """One group. Raises NotFound."""
    rows, _ = await parts.scim.groups.search(tx, me.tenant, AttributeQuery(only=id_, limit=1))
    if not rows:
        raise NotFound(f"group {id_}")
    if leaves_out(asked, "members"):
        return as_group(request, rows[0], None)
    members = (await parts.scim.groups.members_of(tx, me.tenant, [id_]))[id_]
    return await asyncio.to_thread(as_group, request, rows[0], members)


async def find_groups(
    request: Request, tx: Transaction, me: WorkspaceMember, parts: AppDependencies, asked: SearchRequest[Any]
) -> tuple[list[ScimGroup], int]:
    """A page of groups with what was asked of them, and how many there are."""
    rows, total = await parts.scim.groups.search(tx, me.tenant, attribute_query(asked, ScimGroup))
    if leaves_out(asked, "members"):
        return [as_group(request, row, None) for row in rows], total
    fits, room = 0, MOST_MEMBERS
    for row in rows:
        room -= row["members"]
        fits += room >= 0 or not fits
        if room < 0:
            break
    ids = [str(row["id"]) for row in rows[:fits]]
    members = await parts.scim.groups.members_of(tx, me.tenant, ids)
    shown = [(row, members[str(row["id"])]) for row in rows[:fits]]
    return await asyncio.to_thread(lambda: [as_group(request, *one) for one in shown]), total


async def _answer(
    request: Request, me: WorkspaceMember, parts: AppDependencies, asked: SearchRequest[Any]
) -> ScimResponse:
    async with parts.database.transaction(me.scope) as tx:
        found, total = await find_groups(request, tx, me, parts, asked)
    return await list_response(found, total, asked.start_index or 1, asked, ScimGroup)


def _asked(request: Request) -> Any:
    return read_parameters(request, ScimGroup)
