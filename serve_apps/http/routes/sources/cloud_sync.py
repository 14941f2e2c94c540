"""Sources by the names that older clients have for them: folders, files and jobs of a cloud sync."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel

from cluster.state.db.postgres import Transaction
from cluster.state.work.jobs import EnqueuedJob
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE
from serve_apps.http.fields import Limit, RequestBody, Skip
from serve_apps.http.response_shapes import JobList, JobShape, Started
from serve_apps.http.routes.sources.source_shapes import SourceItems, Sources, SourceShape
from serve_apps.http.routes.sources.source_views import list_items
from serve_apps.http.routes.sources.started_sync import start_sync

router = APIRouter(route_class=GuardedRoute, tags=["sources"])


class CloudSyncRequest(RequestBody):
    """The source to synchronise (`folder_id` is its id)."""

    folder_id: UUID
    dry_run: bool = False


class SourceFolderShape(BaseModel):
    """A folder: `id` is what the setting `folder` of its kind takes."""

    id: str
    name: str


class SourceFolders(BaseModel):
    """Folders by name; `remembered`: they were listed less than five minutes ago, and not again."""

    items: list[SourceFolderShape]
    total: int
    remembered: bool


@router.get("/api/cloud-sync/folders", dependencies=[OPERATE])
async def cloud_folders(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> Sources:
    """List the sources of the workspace, as GET /api/sources does."""
    rows, total = await parts.sources.store.page(me.scope, skip=skip, limit=limit)
    return Sources(items=[SourceShape.of(row) for row in rows], total=total)


@router.get("/api/cloud-sync/folders/{source_id}", dependencies=[OPERATE])
async def browse_folders(
    source_id: UUID,
    me: Me,
    parts: Its,
    parent: Annotated[str | None, Query(max_length=1_024, description="Id of a folder; the source's own.")] = None,
) -> SourceFolders:
    """List the folders of a cloud right below one, for a source of kind composio: what its setting `folder` may be.

    They are remembered for five minutes.
    """
    row = await parts.sources.store.show(me.scope, str(source_id))
    found = await parts.sources.browser.browse(me.scope, row, parent)
    items = [SourceFolderShape(id=one.id, name=one.name) for one in found.folders]
    return SourceFolders(items=items, total=len(items), remembered=found.remembered)


@router.get("/api/cloud-sync/files", dependencies=[OPERATE])
async def cloud_files(
    me: Me,
    parts: Its,
    folder_id: Annotated[UUID, Query(description="Id of the source.")],
    skip: Skip = 0,
    limit: Limit = 100,
) -> SourceItems:
    """List a source's items with their state, as GET /api/sources/{source_id}/items does."""
    row = await parts.sources.store.show(me.scope, str(folder_id))
    return await list_items(parts, me, row, "all", skip=skip, limit=limit)


@router.get("/api/cloud-sync/jobs", dependencies=[OPERATE])
async def cloud_sync_jobs(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 50) -> JobList:
    """List the jobs of syncs, newest first."""
    rows, total = await parts.job_queries.page(me.scope, state=None, kind="sync", skip=skip, limit=limit)
    return JobList(items=[JobShape.of(row) for row in rows], total=total)


@router.post("/api/cloud-sync/sync", status_code=202, dependencies=[OPERATE])
async def cloud_sync(body: CloudSyncRequest, me: Me, parts: Its) -> Started:
    """Synchronise a source now, as POST /api/sources/{source_id}/sync does."""
    id_ = str(body.folder_id)

    async def start(tx: Transaction) -> EnqueuedJob:
        return await parts.sources.starter.sync(tx, me.scope, id_, dry_run=body.dry_run)

    return await start_sync(parts, me, "source.sync", id_, start, {"dry_run": body.dry_run})
