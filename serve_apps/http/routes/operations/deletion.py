"""Deleting a workspace or a tenant: first what would go, then, with its name given, for good."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel

from cluster.basics.errors import Conflict, Invalid
from serve_apps.governance.workspace_eraser import WorkspaceInventory
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import TENANT
from serve_apps.http.fields import Text

router = APIRouter(route_class=GuardedRoute, tags=["accounts"])

Named = Annotated[
    Text | None, Query(max_length=200, description="The name, to delete it; without it only what would go is told.")
]


class YouAreHere(Conflict):
    """This is the workspace that you are signed in to."""

    code = "own_workspace"
    fix = "Choose another workspace first (header X-Workspace; in the console, the bar)."


class WorkspaceContents(BaseModel):
    """A workspace and what is in it; `open_jobs` and `open_runs` have not ended, and keep it from being deleted."""

    id: UUID
    name: str
    documents: int
    pages: int
    chunks: int
    agents: int
    conversations: int
    open_jobs: int
    open_runs: int


class Erased(BaseModel):
    """Contents that were deleted, or with `deleted` false would be. The tenant's audit trail stays."""

    id: UUID
    name: str
    deleted: bool
    workspaces: list[WorkspaceContents]


@router.delete("/api/workspaces/{workspace_id}", dependencies=[TENANT])
async def delete_workspace(workspace_id: UUID, me: Me, parts: Its, confirm: Named = None) -> Erased:
    """Delete a workspace of the own tenant with its documents, agents, conversations, jobs and keys.

    Without `confirm` nothing is deleted: 200, and what would go. Uploaded bytes are removed, scanned folders are left.
    """
    if str(workspace_id) == me.workspace:
        raise YouAreHere
    contents = await parts.erasure.contents(me.scope, str(workspace_id))
    if _is_confirmed(confirm, contents.name):
        await parts.erasure.erase_workspace(me.scope, contents)
    return Erased(
        id=workspace_id, name=contents.name, deleted=confirm is not None, workspaces=_workspace_shapes([contents])
    )


@router.delete("/api/tenants/{tenant_id}", dependencies=[TENANT])
async def delete_tenant(tenant_id: UUID, me: Me, parts: Its, confirm: Named = None) -> Erased:
    """Delete a tenant that was made below one's own, with its workspaces and people.

    Without `confirm` nothing is deleted: 200, and what would go. An interrupted deletion is finished by the same call.
    """
    id_ = str(tenant_id)
    name, workspaces = await parts.erasure.below(me.scope, id_)
    if _is_confirmed(confirm, name):
        await parts.erasure.erase_tenant(me.scope, id_, name, workspaces)
    return Erased(id=tenant_id, name=name, deleted=confirm is not None, workspaces=_workspace_shapes(workspaces))


def _is_confirmed(confirm: str | None, name: str) -> bool:
    if confirm is not None and confirm != name:
        raise Invalid(f"confirm: this is {name!r}", fix="Send the name exactly as it is, or leave confirm out to look.")
    return confirm is not None


def _workspace_shapes(workspaces: list[WorkspaceInventory]) -> list[WorkspaceContents]:
    return [WorkspaceContents.model_validate(one, from_attributes=True) for one in workspaces]
