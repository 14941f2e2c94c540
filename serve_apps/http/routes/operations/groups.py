"""Groups of people: list, make, delete, and who belongs to them. Documents may name them among their readers."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from cluster.basics.scope import UserId
from cluster.state.identity.groups import LONGEST_NAME, is_group_name
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT, BUILD, TENANT
from serve_apps.http.fields import Limit, RequestBody, Skip, Text, storable_text

router = APIRouter(route_class=GuardedRoute, tags=["accounts"])


def _checked_name(name: str) -> str:
    if not is_group_name(name):
        raise ValueError("a group's name is printable, has no comma, and at most 100 characters")
    return name


GroupName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, to_lower=True, max_length=LONGEST_NAME),
    AfterValidator(storable_text),
    AfterValidator(_checked_name),
]
PartOfName = Annotated[Text | None, Query(max_length=100, description="Part of the name.")]


class Group(BaseModel):
    """A group of the tenant; documents name it as `group:<name>`."""

    id: UUID
    name: str
    members: int
    created_at: datetime


class Groups(BaseModel):
    """A page of them by name."""

    items: list[Group]
    total: int


class GroupMember(BaseModel):
    """Somebody who belongs to a group."""

    id: UUID
    email: str
    disabled: bool
    added_at: datetime


class GroupMembers(BaseModel):
    """A page of them by e-mail address."""

    items: list[GroupMember]
    total: int


class GroupRequest(RequestBody):
    """A new group; its name is kept in lower case."""

    name: GroupName
    restore: Annotated[bool, Field(description="Bring back a deleted group; documents may still name it.")] = False


@router.get("/api/groups", dependencies=[BUILD])
async def groups(me: Me, parts: Its, q: PartOfName = None, skip: Skip = 0, limit: Limit = 100) -> Groups:
    """List the tenant's groups."""
    rows, total = await parts.groups.page(me.scope, skip, limit, q)
    return Groups(items=[Group(**row) for row in rows], total=total)


@router.post("/api/groups", status_code=201, dependencies=[TENANT])
async def add_group(body: GroupRequest, me: Me, parts: Its) -> Group:
    """Make a group without members, or bring back one that was deleted."""
    async with parts.database.transaction(me.scope) as tx:
        row = await parts.groups.add(tx, me.scope, body.name, restore=body.restore)
        await parts.audit.record(tx, me.scope, "group.add", str(row["id"]), detail={"name": body.name})
    return Group(**row)


@router.delete("/api/groups/{group_id}", status_code=204, dependencies=[TENANT])
async def delete_group(group_id: UUID, me: Me, parts: Its) -> None:
    """Delete a group: nobody reads anything as its member any more, at once. Its name stays taken."""
    async with parts.database.transaction(me.scope) as tx:
        name = await parts.groups.delete(tx, me.scope, str(group_id))
        await parts.audit.record(tx, me.scope, "group.delete", str(group_id), detail={"name": name})


@router.get("/api/groups/{group_id}/members", dependencies=[AUDIT])
async def group_members(group_id: UUID, me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> GroupMembers:
    """Who belongs to a group."""
    rows, total = await parts.groups.members(me.scope, str(group_id), skip, limit)
    return GroupMembers(items=[GroupMember(**row) for row in rows], total=total)


@router.put("/api/groups/{group_id}/members/{user_id}", status_code=204, dependencies=[TENANT])
async def add_group_member(group_id: UUID, user_id: UUID, me: Me, parts: Its) -> None:
    """Let somebody of the tenant belong to the group; a second time is no error."""
    async with parts.audited(me, "group.join", str(group_id), {"user": str(user_id)}) as tx:
        await parts.groups.add_member(tx, me.scope, str(group_id), UserId(str(user_id)))


@router.delete("/api/groups/{group_id}/members/{user_id}", status_code=204, dependencies=[TENANT])
async def remove_group_member(group_id: UUID, user_id: UUID, me: Me, parts: Its) -> None:
    """Take somebody out of the group: what only its members may read is gone for them at once, open streams end."""
    async with parts.audited(me, "group.leave", str(group_id), {"user": str(user_id)}) as tx:
        await parts.groups.remove_member(tx, me.scope, str(group_id), UserId(str(user_id)))
